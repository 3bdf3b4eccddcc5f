"""The sweep over due follow-ups: pick without locks, lock the contacts, then the records, then judge."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, and_, bindparam, or_, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from models import bulk
from models.base import is_sqlite, table_of
from models.declarations import Declared
from models.followups import deferrals
from models.followups.firing_batch import Batch, Due
from models.followups.records import FollowUp, Status
from models.sweeping import Counts, backoff
from models.tenants import Feature, held_agents, with_feature
from models.transactions import commit, is_lost_race, rollback, savepoint

CHUNK = 1_000
# On SQLite a chunk keeps every other writer waiting. A small one is written as fast, row by row.
SQLITE_CHUNK = 200
ATTEMPTS = 3

Pair = tuple[int, str]  # tenant id, agent

# Made once, and of plain columns: making it anew took longer than its thousand rows.
_columns = table_of(FollowUp).c
_FIRST_DUE: Select[str] = (
    select(_columns.customer)
    .where(
        _columns.tenant_id == bindparam("of_tenant"),
        _columns.agent == bindparam("of_agent"),
        _columns.status == Status.PENDING,
        _columns.due_at <= bindparam("now"),
    )
    .order_by(_columns.due_at, _columns.at, _columns.id)
    .limit(bindparam("most"))
)


@dataclass
class _Run:
    """One run of the sweep."""

    session: Session
    declared: Declared
    now: datetime
    limit: int
    counts: Counts
    clock: Callable[[], datetime] | None = None

    def go_on(self) -> None:
        """Let the time be what it is now: what a chunk writes must not look older than the last one's."""
        if self.clock is not None:
            self.now = max(self.now, self.clock())

    @property
    def room(self) -> int:
        return max(0, self.limit - self.counts.examined)

    @property
    def chunk(self) -> int:
        return SQLITE_CHUNK if is_sqlite(self.session) else CHUNK


def fire_due(
    session: Session,
    *,
    declared: Declared,
    now: datetime,
    limit: int,
    clock: Callable[[], datetime] | None = None,
) -> Counts:
    """Fire, defer or block up to about `limit` due follow-ups of all tenants, in batches.

    Each (tenant, agent) gets an equal share of the limit, so that no backlog keeps another waiting; what one
    leaves goes to the others. A chunk that fails is done again one record at a time; a record that fails
    alone waits for its next attempt. Counts `fired`, `blocked`, `deferred`.

    With a `clock`, each chunk is judged and written by the time at which it begins.
    """
    counts = Counts(own={"fired": 0, "blocked": 0, "deferred": 0})
    run = _Run(session, declared, now, limit, counts, clock)
    deferrals.forget_outdated(session, declared, now=now)
    commit(session, "followups.fire.begin")
    claimed = True
    while claimed and run.room:
        pairs = list(agents_with_pending(session))
        share = max(1, run.room // max(1, len(pairs)))
        claimed = False
        for pair in _rotated(pairs, now):
            claimed |= _fire_share(run, pair, pairs, share)
    run.counts.capped = not run.room and any(
        _pick(session, pair, now, 1) for pair in agents_with_pending(session)
    )
    commit(session, "followups.fire.end")
    return run.counts


def _rotated(pairs: Sequence[Pair], now: datetime) -> Sequence[Pair]:
    """`pairs` from another start in each run, so that a small limit reaches all of them in time."""
    start = int(now.timestamp()) % len(pairs) if pairs else 0
    return [*pairs[start:], *pairs[:start]]


def _fire_share(run: _Run, pair: Pair, pairs: Sequence[Pair], share: int) -> bool:
    """The share of one (tenant, agent), in chunks; whether it claimed anything."""
    agents = [agent for tenant_id, agent in pairs if tenant_id == pair[0]]
    taken = 0
    while taken < share and run.room:
        claimed = _fire_chunk(run, pair, agents, min(run.chunk, share - taken, run.room))
        if not claimed:
            break
        taken += claimed
    return taken > 0


def _fire_chunk(run: _Run, pair: Pair, agents: Sequence[str], size: int) -> int:
    """One chunk in one transaction; how many records it claimed. Begins again where it lost a deadlock."""
    for _attempt in range(ATTEMPTS):
        try:
            return _claim_and_fire(run, pair, agents, size)
        except DBAPIError as error:
            if not is_lost_race(error):
                raise
            rollback(run.session)
    return 0


def _claim_and_fire(run: _Run, pair: Pair, agents: Sequence[str], size: int) -> int:
    run.go_on()
    customers = list(dict.fromkeys(_pick(run.session, pair, run.now, size)))
    if not customers:
        return 0
    batch = Batch(run.session, pair[0], run.declared, run.now)
    due = batch.lock(customers, agents, size)
    try:
        with savepoint(run.session):
            batch.fire(due)
        batch.count(due, run.counts)
    except Exception:  # noqa: BLE001  whatever one record raises, the others stand
        _fire_one_by_one(run, batch, due)
    run.counts.examined += len(due)
    commit(run.session, "followups.fire.chunk")
    return len(due)


def _fire_one_by_one(run: _Run, batch: Batch, due: Sequence[Due]) -> None:
    """Each record in a savepoint of its own, in the same order and under the locks held already."""
    batch.load(due)
    oldest = batch.oldest_of_pairs(due)
    for record in due:
        try:
            batch.fire_alone(record, oldest)
            batch.count([record], run.counts)
        except Exception as error:  # noqa: BLE001  the sweep goes on; the row keeps its error
            run.counts.failed(batch.tenant_id, str(record.id), error)
            _put_off(run, batch.tenant_id, record)


def agents_with_pending(session: Session) -> Iterator[Pair]:
    """The (tenant id, agent) pairs with pending rows that are neither switched off nor held.

    Skips from one pair to the next along the index, so that its cost is the number of pairs.
    """
    enabled = {tenant.id for tenant in with_feature(session, Feature.FOLLOWUPS)}
    held = held_agents(session, enabled)
    last: Pair | None = None
    while True:
        query = select(FollowUp.tenant_id, FollowUp.agent).where(FollowUp.status == Status.PENDING)
        if last is not None:
            tenant_id, agent = last
            query = query.where(
                FollowUp.tenant_id >= tenant_id,
                or_(
                    FollowUp.tenant_id > tenant_id,
                    and_(FollowUp.tenant_id == tenant_id, FollowUp.agent > agent),
                ),
            )
        row = session.execute(query.order_by(FollowUp.tenant_id, FollowUp.agent).limit(1)).first()
        if row is None:
            return
        last = (row.tenant_id, row.agent)
        if row.tenant_id in enabled and last not in held:
            yield last


def _pick(session: Session, pair: Pair, now: datetime, limit: int) -> Sequence[str]:
    """The customers of an agent's first due records, unlocked."""
    given = {"of_tenant": pair[0], "of_agent": pair[1], "now": now, "most": limit}
    return session.scalars(_FIRST_DUE, given).all()


def _put_off(run: _Run, tenant_id: int, record: Due) -> None:
    """Push a record that failed forward, so that bad rows never fill every batch."""
    bulk.execute_unaudited(
        run.session,
        update(FollowUp)
        .where(FollowUp.tenant_id == tenant_id, FollowUp.id == record.id, FollowUp.status == Status.PENDING)
        .values(
            attempts=record.attempts + 1,
            next_attempt_at=run.now + backoff(record.attempts + 1),
            updated_at=run.now,
        ),
    )
