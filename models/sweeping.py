"""What every sweep returns, and how long a row that failed waits for its next attempt."""

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

LONGEST_WAIT = timedelta(hours=1)
KEPT_ERRORS = 20


@dataclass
class Counts:
    """The counts of one run. `capped` says that the limit was reached and more rows are due."""

    examined: int = 0
    changed: int = 0
    errors: int = 0
    capped: bool = False
    own: dict[str, int] = field(default_factory=dict)
    faults: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, number: int = 1) -> None:
        """Add to one of the sweep's own counts."""
        self.own[name] = self.own.get(name, 0) + number

    def failed(self, tenant_id: int, row: str, error: BaseException) -> None:
        """Count a row that failed, keeping its id and traceback for the sweeps page."""
        self.errors += 1
        if len(self.faults) < KEPT_ERRORS:
            # PostgreSQL repeats the row under DETAIL: customers' words, which don't belong here.
            lines = [
                line
                for part in traceback.format_exception(error)
                for line in part.splitlines(keepends=True)
                if not line.startswith("DETAIL:")
            ]
            self.faults.append({"tenant_id": tenant_id, "row": row, "error": "".join(lines)[-4_000:]})

    def as_dict(self) -> Mapping[str, Any]:
        """One flat mapping: examined, changed, errors, capped and the sweep's own counts."""
        return {
            "examined": self.examined,
            "changed": self.changed,
            "errors": self.errors,
            "capped": self.capped,
            **self.own,
        }


def backoff(attempts: int) -> timedelta:
    """30 s after the first failed attempt, doubled after each, one hour at most."""
    return min(LONGEST_WAIT, timedelta(seconds=30 * 2 ** min(attempts - 1, 10)))
