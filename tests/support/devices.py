"""A device with an app for one-time codes."""

import re
from dataclasses import dataclass

from passlib.totp import TOTP

from models import clock

STEP_SECONDS = 30


@dataclass
class Device:
    """Shows the code of now, or of some steps later: a desk takes one step of difference."""

    key: str

    @classmethod
    def of(cls, text: str) -> "Device":
        """From the key as a page shows it."""
        found = re.search(r"\b(?:[A-Z2-7]{4} ){7}[A-Z2-7]{4}\b", text)
        assert found is not None, text
        return cls(found.group().replace(" ", ""))

    def code(self, steps: int = 0) -> str:
        now = int(clock.now().timestamp()) + steps * STEP_SECONDS
        token: str = TOTP(key=self.key, format="base32").generate(time=now).token
        return token
