"""A worker that is only slow: a thread with a session of its own, which stands until it may go on."""

import threading
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from flask import Flask

from models.automations.outside import Came, Errand
from models.automations.running import Worker
from models.base import db
from models.declarations import Declared
from models.sweeping import Counts
from models.transactions import rollback
from tests.automations.world import World, at

WITHIN_S = 30
# The calls of the clock after which it stands, with no transaction open, between two of its steps.
CLAIMED, JUDGED = 2, 3


@dataclass
class Slow:
    """It stops before its `clock`th look at the clock, or in its call number `call` (from 0).

    The receiver has got the call by then, unless `unsent`. `minutes` is the time on its clock.
    """

    app: Flask
    world: World
    execution_id: UUID
    clock: int | None = None
    calls: frozenset[int] = frozenset()
    unsent: bool = False
    minutes: float = 0
    looks: int = 0
    made: int = 0
    counts: Counts | None = None
    faults: list[BaseException] = field(default_factory=list)
    stopped: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    released: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __enter__(self) -> "Slow":
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()
        self.wait()
        return self

    def __exit__(self, *_raised: Any) -> None:
        for _ in range(10):
            self.released.release()
        self.thread.join(WITHIN_S)

    def wait(self) -> None:
        """Until it stands."""
        assert self.stopped.acquire(timeout=WITHIN_S), self.faults

    def go_on(self, minutes: float = 20) -> None:
        """Let it go on, with another time on its clock."""
        # Or what the test read last would hold the write lock of SQLite.
        rollback(self.world.session)
        self.minutes = minutes
        self.released.release()

    def end(self, minutes: float = 20) -> Counts:
        """Let it go on to its end; what it counted."""
        self.go_on(minutes)
        self.thread.join(WITHIN_S)
        assert not self.thread.is_alive()
        assert self.faults == []
        assert self.counts is not None
        return self.counts

    def _work(self) -> None:
        try:
            with self.app.app_context(), db.session.session_factory() as session:
                worker = Worker(session, Declared(), self._now, self._perform)
                self.counts = worker.work([self.execution_id])
        except BaseException as fault:  # noqa: BLE001  the test that waits for it is to say so
            self.faults.append(fault)

    def _now(self) -> datetime:
        self.looks += 1
        if self.looks == self.clock:
            self._stand()
        return at(self.minutes)

    def _perform(self, errand: Errand) -> Came:
        self.made += 1
        slow = self.made - 1 in self.calls
        if slow and self.unsent:
            self._stand()
        came = self.world.outside(errand)
        if slow and not self.unsent:
            self._stand()
        return came

    def _stand(self) -> None:
        self.stopped.release()
        assert self.released.acquire(timeout=2 * WITHIN_S)
