"""Telling the demo's story: steps in the order of time."""

from collections.abc import Callable
from datetime import datetime
from heapq import heappop, heappush
from itertools import count

from sqlalchemy.orm import Session

from models.tenants import Tenant

Step = Callable[[datetime], None]


class Telling:
    """Steps, each through the domain with the time at which it is said to happen."""

    def __init__(self, session: Session, tenant: Tenant, now: datetime) -> None:
        self.session = session
        self.tenant = tenant
        self.now = now
        self.steps: list[tuple[datetime, int, Step]] = []
        self.numbers = count()

    def plan(self, at: datetime, step: Step) -> None:
        """Let `step` happen at `at`, unless that is still ahead."""
        if at < self.now:
            heappush(self.steps, (at, next(self.numbers), step))

    def tell(self) -> None:
        while self.steps:
            at, _number, step = heappop(self.steps)
            step(at)
        self.session.flush()
