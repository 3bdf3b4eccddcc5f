"""What stands beside an answer for a while: to take back what was just done, as long as that is true."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Self

from flask import flash, g


@dataclass(frozen=True, slots=True)
class Offer:
    """A button that holds until `until`. From then on it reads `late`, and says `over` when it is pressed.

    `place` (a selector) is what its answer stands in for, so that the focus goes there.
    """

    verb: str
    about: str
    url: str
    until: datetime
    over: str
    fields: Mapping[str, str] = field(default_factory=dict)
    place: str = ""
    late: str = ""

    @property
    def left(self) -> int:
        """Whole seconds that are left; none where the time is over."""
        return max(0, math.floor((self.until - g.now).total_seconds()))

    def kept(self) -> dict[str, Any]:
        """As the session keeps it, for the page that comes next."""
        return {**asdict(self), "until": self.until.isoformat(), "fields": dict(self.fields)}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Self | None:
        """What was kept; None where its time is over."""
        found = cls(**{**kept, "until": datetime.fromisoformat(kept["until"])})
        return found if found.left else None


def flash_with(words: str, kind: str, offer: Offer | None) -> None:
    """Let the next page say `words`, and offer what there is to offer."""
    flash({"words": words, "offer": offer.kept()} if offer else words, kind)  # type: ignore[arg-type]


def flashed(kind: str, message: Any) -> tuple[str, str, Offer | None]:
    """What `flash_with` kept."""
    if not isinstance(message, dict):
        return kind, message, None
    return kind, message["words"], Offer.of(message["offer"])
