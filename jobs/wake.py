"""Wakes a sweep after a commit that wrote what it looks for, so that nobody waits for its next slot."""

import time
from collections.abc import Callable, Sequence
from uuid import UUID, uuid4

import redis
import structlog
from flask import current_app, has_app_context
from sqlalchemy import Insert, event
from sqlalchemy.orm import ORMExecuteState, Session, UOWTransaction

from jobs import queues
from jobs import redis as servers
from jobs.redis import Connection
from models.base import DeskSession, table_of
from models.outbox import OutboxEvent
from models.settings import Settings
from models.transactions import after_commit

SWEEP = "deliver"
# What can be woken: the queue of each, and what is said where it could not be.
WOKEN = {
    SWEEP: ("delivery", "the delivery could not be woken; its sweep will find the events"),
    "process_inbound": ("sweeps", "what came in could not be handed on; its sweep will find it"),
}
FORGOTTEN_AFTER_S = 30
TIMEOUT_S = 0.5
REST_AFTER_FAILURE_S = 5.0

log = structlog.get_logger(__name__)

_clients: dict[str, Connection] = {}
_resting_until = 0.0


def install() -> None:
    """From now on each commit of this process that wrote an outbox event wakes the delivery."""
    if not event.contains(DeskSession, "after_flush", _on_flush):
        event.listen(DeskSession, "after_flush", _on_flush)
        event.listen(DeskSession, "do_orm_execute", _on_execute)


def wake_delivery() -> None:
    """Enqueue a run of the delivery unless one waits already."""
    wake(SWEEP)


def wake(name: str) -> None:
    """Enqueue a run of one of `WOKEN` unless one waits already. Redis being down is logged and no more:
    the sweep finds what there is."""
    queue, otherwise = WOKEN[name]

    def enqueue(client: Connection) -> None:
        if client.set(_key(name), "1", nx=True, ex=FORGOTTEN_AFTER_S):
            queues.enqueue(client, queue, queues.RUN_WOKEN, name, job_id=f"wake-{uuid4().hex}")

    _ask(enqueue, otherwise)


def wake_executions(ids: Sequence[UUID]) -> None:
    """Enqueue executions that are to run at once. If Redis is down, their sweep finds them."""

    def enqueue(client: Connection) -> None:
        job_id = f"at-once-{uuid4().hex}"
        queues.enqueue(client, "runs", queues.RUN_EXECUTIONS, *map(str, ids), job_id=job_id)

    _ask(enqueue, "what runs at once could not be enqueued; its sweep will find it")


def wake_bulk(operation_id: UUID) -> None:
    """Enqueue a bulk operation. If Redis is down, its sweep finds it after a while."""

    def enqueue(client: Connection) -> None:
        job_id = f"bulk-{uuid4().hex}"
        queues.enqueue(client, "runs", queues.RUN_BULK, str(operation_id), job_id=job_id)

    _ask(enqueue, "a bulk operation could not be enqueued; its sweep will find it")


def _ask(enqueue: Callable[[Connection], None], otherwise: str) -> None:
    """Do something on Redis, unless none is configured or it was away a moment ago."""
    global _resting_until
    url = servers.url_of(_settings()) if has_app_context() else None
    if url is None or time.monotonic() < _resting_until:
        return
    try:
        enqueue(_client(url))
    except redis.RedisError as error:
        _resting_until = time.monotonic() + REST_AFTER_FAILURE_S
        log.warning(otherwise, error=str(error))


def forget(connection: Connection, name: str) -> None:
    """A woken run begins: what is written from now on may wake another. Raises `redis.RedisError`."""
    connection.delete(_key(name))


def _key(name: str) -> str:
    return f"desk:woken:{name}"


def _settings() -> Settings:
    found: Settings = current_app.extensions["desk_settings"]
    return found


def _client(url: str) -> Connection:
    if url not in _clients:
        _clients.clear()
        _clients[url] = servers.connect(_settings(), timeout=TIMEOUT_S)
    return _clients[url]


def _on_flush(session: Session, _context: UOWTransaction) -> None:
    if any(isinstance(row, OutboxEvent) for row in session.new):
        after_commit(session, SWEEP, wake_delivery)


def _on_execute(state: ORMExecuteState) -> None:
    if isinstance(state.statement, Insert) and state.statement.table is table_of(OutboxEvent):
        after_commit(state.session, SWEEP, wake_delivery)
