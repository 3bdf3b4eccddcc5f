"""Purge what the retention rules no longer keep."""

from collections.abc import Iterator
from datetime import datetime
from typing import Protocol

from sqlalchemy.orm import Session

from models import (
    audit_seals,
    bulk_operations,
    declarations,
    delivery_retention,
    handling,
    idempotency,
    inbound_events,
    link_retention,
    once,
    sweep_history,
)
from models import retention as rules
from models.declarations import Declared
from models.followups import retention as followups
from models.sweeping import Counts
from models.transactions import commit

BATCH = 500


def retention(session: Session, *, now: datetime, limit: int) -> Counts:
    """Purge what the retention rules no longer keep; `limit` holds for each of them."""
    whole = Counts()
    for counts in _purges(session, declarations.current(session), now, limit):
        whole.examined += counts.examined
        whole.changed += counts.changed
        whole.errors += counts.errors
        whole.faults += counts.faults
        whole.capped |= counts.capped
        for name, number in counts.own.items():
            whole.add(name, number)
    return whole


def _purges(session: Session, declared: Declared, now: datetime, limit: int) -> Iterator[Counts]:
    yield followups.purge(session, declared=declared, now=now, limit=limit)
    yield delivery_retention.purge(session, declared=declared, now=now, limit=limit)
    yield sweep_history.purge(session, now=now, limit=limit)
    for name, purge in (
        ("idempotency_keys", idempotency.purge),
        ("sign_in_links", link_retention.purge_links),
        ("sent_forms", once.purge),
        ("bulk_operations", bulk_operations.purge),
        ("handling_marks", handling.purge),
        ("inbound_events", inbound_events.purge),
    ):
        yield _in_batches(session, name, purge, now, limit)
    kept = None if rules.faults(declared) else rules.period(declared, "audit")
    if kept is not None:
        counts = audit_seals.purge(session, before=now - kept, now=now, limit=limit)
        counts.own = {"audit_events": counts.own["purged"]}
        yield counts


class _Purge(Protocol):
    """Deletes up to `limit` rows without a commit; how many there were."""

    def __call__(self, session: Session, *, now: datetime, limit: int) -> int: ...


def _in_batches(session: Session, name: str, purge: _Purge, now: datetime, limit: int) -> Counts:
    """Repeat `purge` until it finds less than a batch; each batch is a transaction. Counts `name`."""
    counts = Counts()
    while (room := min(BATCH, limit - counts.examined)) > 0:
        gone = purge(session, now=now, limit=room)
        commit(session, "retention.batch")
        counts.examined += gone
        if gone < room:
            break
    counts.changed = counts.own[name] = counts.examined
    counts.capped = counts.examined >= limit
    return counts
