"""What a run leaves behind for the checker: the answers, what the sink received, the faults."""

import time
from dataclasses import dataclass, field
from typing import Any

# A fault's effects may reach an answer this long after its end: connections are made anew, leases run out.
GRACE_S = 5.0
LOST = 0


@dataclass(frozen=True)
class Answer:
    """One request and what came back: `status` is 0 where no answer arrived. `facts` say what was asked."""

    kind: str
    facts: dict[str, Any]
    began: float
    ended: float
    status: int
    document: Any
    replayed: bool = False

    @property
    def done(self) -> bool:
        return 200 <= self.status < 300

    @property
    def code(self) -> str:
        """The problem's code, where it is one."""
        kind = self.document.get("type", "") if isinstance(self.document, dict) else ""
        return str(kind).removeprefix("/problems/")


@dataclass(frozen=True)
class Seen:
    """One webhook request: where it came, under which id, what it told, and whether it was answered well."""

    path: str
    webhook_id: str
    event_id: int
    body: bytes
    verified: bool
    accepted: bool


@dataclass
class Outage:
    """PostgreSQL was away, or its connections were cut, from `began` to `ended`."""

    began: float
    ended: float | None = None

    def covers(self, answer: Answer) -> bool:
        ended = time.time() if self.ended is None else self.ended
        return answer.ended >= self.began and answer.began <= ended + GRACE_S


@dataclass
class Evidence:
    """All that is not in the database."""

    answers: list[Answer] = field(default_factory=list)
    received: list[Seen] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    # Processes that ended without having been killed: name, return code and what they wrote last.
    deaths: list[str] = field(default_factory=list)
    # What `desk audit verify` said, where it did not hold.
    verify_fault: str | None = None
    # What did not come to rest in time.
    unsettled: list[str] = field(default_factory=list)

    def of(self, *kinds: str) -> list[Answer]:
        return [answer for answer in self.answers if answer.kind in kinds]
