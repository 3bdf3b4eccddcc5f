"""Reads conversations from Chatwoot before something runs on them, since its webhooks may be lost or late.

What is read is stored like a webhook and applied the same way, so that a process which dies in between loses
nothing. No transaction is open while Chatwoot is asked.
"""

import json
import time
from collections.abc import Iterator
from datetime import datetime

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from jobs.delivery.chatwoot import messages_in
from jobs.delivery.chatwoot_api import Account, NotDone
from models import connectors, inbound, inbound_events
from models.automations import echoes, reconciling
from models.chatwoot_payloads import POLLED, SOURCE, document_of, news_of
from models.connectors import Connector, Kind, Opened
from models.declarations import Declared
from models.errors import DeskError
from models.inbound import AtOnce
from models.inbound_events import Told
from models.settings import Settings
from models.sweeping import Counts
from models.tenants import Feature, Tenant
from models.transactions import assert_none_open, commit, rollback

# So that a run is over before the next one is due, whatever Chatwoot does.
RUN_FOR_S = 40.0
READ_WITHIN_S = 10.0
GONE = 404

log = structlog.get_logger(__name__)


def reconcile(
    session: Session,
    *,
    settings: Settings,
    declared: Declared,
    now: datetime,
    limit: int,
    at_once: AtOnce | None = None,
) -> Counts:
    """Read up to `limit` conversations again, those that are due first, and apply what is new in them.

    Counts `read` and `gone`. What can't be read is counted as an error, and its tenant left for the next run.
    """
    counts = Counts(own={"read": 0, "gone": 0})
    ends = time.monotonic() + RUN_FOR_S
    for tenant_id, connector in _connected(session, settings, counts):
        ids = reconciling.due_soon(session, tenant_id, SOURCE, now=now, limit=limit - counts.examined)
        rollback(session)
        _read_all(session, connector, settings, ids, counts, ends=ends, now=now)
        if counts.examined >= limit or time.monotonic() >= ends:
            counts.capped = True
            break
    ours = echoes.is_ours
    # Also what came in meanwhile: all that is known before anything runs, in its order.
    applied = inbound.process(
        session, declared=declared, now=now, limit=limit + 1_000, at_once=at_once, ours=ours
    )
    counts.changed, counts.errors = applied.changed, counts.errors + applied.errors
    counts.faults += applied.faults
    return counts


def _connected(session: Session, settings: Settings, counts: Counts) -> Iterator[tuple[int, Opened]]:
    """The connectors of the tenants whose delayed rules run."""
    query = select(Tenant).join(Connector, Connector.tenant_id == Tenant.id)
    tenants = session.scalars(query.where(Connector.kind == Kind.CHATWOOT.value).order_by(Tenant.id)).all()
    opened: list[tuple[int, Opened]] = []
    for tenant in tenants:
        if not tenant.has(Feature.DELAYED_AUTOMATIONS):
            continue
        try:
            opened.append((tenant.id, connectors.opened(session, tenant, settings)))
        except DeskError as fault:
            counts.failed(tenant.id, "connector", fault)
    rollback(session)
    yield from opened


def _read_all(
    session: Session,
    connector: Opened,
    settings: Settings,
    ids: list[str],
    counts: Counts,
    *,
    ends: float,
    now: datetime,
) -> None:
    for id in ids:
        if time.monotonic() >= ends:
            return
        counts.examined += 1
        assert_none_open(session)
        try:
            told = _read(id, connector, settings)
        except NotDone as fault:
            if fault.status != GONE:
                counts.failed(connector.tenant_id, f"conversation {id}", fault)
                return
            counts.add("gone")
            log.warning("a conversation is gone at its source", tenant=connector.tenant, conversation=id)
            told = Told(SOURCE, POLLED, b"", conversation=id, ignored="Chatwoot has it no more (404).")
        else:
            counts.add("read")
        inbound_events.store(session, connector.tenant_id, told, now=now)
        commit(session, "reconcile.store")


def _read(id: str, connector: Opened, settings: Settings) -> Told:
    """A conversation and its newest messages, as one event. Raises `NotDone`."""
    account = Account(connector, settings, seconds=READ_WITHIN_S)
    conversation = account.read(id)
    messages = messages_in(account.read(id, "messages"))
    raw = json.dumps({"event": POLLED, "conversation": conversation, "messages": messages}).encode()
    try:
        news = news_of(document_of(raw))
    except DeskError as fault:
        detail = f"Chatwoot's answer could not be read: {fault.detail}"
        raise NotDone(detail, had_effect=False) from None
    return Told(SOURCE, POLLED, raw, conversation=news.conversation_id, customer=news.customer)
