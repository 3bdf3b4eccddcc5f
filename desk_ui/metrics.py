"""The figures of the installation as Prometheus reads them, each from an index and bounded in cost."""

from datetime import datetime, timedelta

import redis
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from jobs import queues, schedule
from jobs import redis as servers
from models import declarations, sweep_states
from models.base import db
from models.deliveries import Delivery, State
from models.followups.records import FollowUp, Status
from models.outbox import OutboxEvent
from models.settings import Settings
from models.sweeps import SweepRun

CONTENT_TYPE = CONTENT_TYPE_LATEST
# Counts stop here: beyond it only "very many" matters, and a scrape must stay cheap.
COUNTED = 10_000
RECENT = timedelta(hours=1)


def render(settings: Settings, now: datetime) -> bytes:
    """The text of one scrape."""
    registry = CollectorRegistry()
    session = db.session()
    _sweeps(registry, session, now)
    _followups(registry, session, now)
    _outbox(registry, session)
    _deliveries(registry, session)
    _queues(registry, settings, now)
    return generate_latest(registry)


def _sweeps(registry: CollectorRegistry, session: Session, now: datetime) -> None:
    age = Gauge("desk_sweep_age_seconds", "Since the last good run ended.", ["sweep"], registry=registry)
    late = Gauge("desk_sweep_late", "1 where late by three intervals.", ["sweep"], registry=registry)
    paused = Gauge("desk_sweep_paused", "1 where paused.", ["sweep"], registry=registry)
    cadences = schedule.cadences(declarations.current(session))
    for state in sweep_states.states(session, cadences, now=now):
        late.labels(state.name).set(state.late_since is not None)
        paused.labels(state.name).set(state.paused is not None)
        if state.last_ok_at is not None:
            age.labels(state.name).set((now - state.last_ok_at).total_seconds())
    runs = Gauge(
        "desk_sweep_runs_last_hour", "Runs begun in the last hour.", ["sweep", "status"], registry=registry
    )
    query = select(SweepRun.name, SweepRun.status, func.count())
    query = query.where(SweepRun.started_at > now - RECENT).group_by(SweepRun.name, SweepRun.status)
    for name, status, number in session.execute(query):
        runs.labels(name, status).set(number)


def _followups(registry: CollectorRegistry, session: Session, now: datetime) -> None:
    pending = select(FollowUp.id).where(FollowUp.status == Status.PENDING)
    number = Gauge("desk_followups_pending", f"Pending, at most {COUNTED}.", registry=registry)
    number.set(_count(session, pending))
    overdue = Gauge("desk_followups_overdue", f"Due and not fired, at most {COUNTED}.", registry=registry)
    overdue.set(_count(session, pending.where(FollowUp.due_at <= now)))


def _outbox(registry: CollectorRegistry, session: Session) -> None:
    waiting = Gauge("desk_outbox_unpublished", f"Not published yet, at most {COUNTED}.", registry=registry)
    waiting.set(_count(session, select(OutboxEvent.id).where(OutboxEvent.position.is_(None))))


def _deliveries(registry: CollectorRegistry, session: Session) -> None:
    by_state = Gauge("desk_deliveries", f"By state, at most {COUNTED} each.", ["state"], registry=registry)
    for state in State:
        query = select(Delivery.id).where(Delivery.state == state)
        by_state.labels(state.value).set(_count(session, query))


def _queues(registry: CollectorRegistry, settings: Settings, now: datetime) -> None:
    up = Gauge("desk_redis_up", "1 where Redis answers.", registry=registry)
    depth = Gauge("desk_queue_depth", "Jobs that wait.", ["queue"], registry=registry)
    workers = Gauge("desk_workers_alive", "Workers seen within a minute.", ["queue"], registry=registry)
    try:
        connection = servers.connect(settings, timeout=2)
        depths, alive = queues.depths(connection), queues.alive_workers(connection, now)
    except (redis.RedisError, servers.NoServer):
        up.set(0)
        return
    up.set(1)
    for name in queues.QUEUES:
        depth.labels(name).set(depths[name])
        workers.labels(name).set(alive[name])


def _count(session: Session, query: object) -> int:
    limited = query.limit(COUNTED).subquery()  # type: ignore[attr-defined]
    return session.scalars(select(func.count()).select_from(limited)).one()
