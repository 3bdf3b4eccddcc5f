"""Applies what connectors were told: the conversation and its messages, then what follows from them.

Each event has two transactions: in the first its conversation and messages are written and what the areas
still have to hear is kept with it, in the second they hear of it. Who dies between leaves it to the next run.
An event's row is locked before any other, a conversation's included (models/locks.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import chatwoot_payloads, inbound_messages, inbound_order, intake, locks
from models.chatwoot_payloads import SOURCE, News
from models.chatwoot_values import clean
from models.conversations import Conversation
from models.declarations import Declared
from models.errors import DeskError
from models.happenings import Event as Happened
from models.happenings import Happening
from models.inbound_events import ERROR_LENGTH, MOST_ATTEMPTS, OPEN, InboundEvent, State, Told, set_state
from models.sweeping import Counts, backoff
from models.tenants import Tenant
from models.transactions import commit, rollback

OWN = ("applied", "armed", "failed")

# Told what changed in a conversation of ours: whether all of it was done by our own actions.
Ours = Callable[[Session, Happening, datetime], bool]
AtOnce = Callable[[Sequence[UUID]], None]


def read(raw: bytes, *, delivery_id: str | None) -> Told:
    """What a webhook of Chatwoot's brought, to be stored. Never raises: what can't be read says so."""
    try:
        document = chatwoot_payloads.document_of(raw)
    except DeskError as fault:
        return Told(SOURCE, "", raw, delivery_id, refused=f"The {fault.detail}")
    named = document.get("event")
    event = clean(named) if isinstance(named, str) else ""
    if event not in chatwoot_payloads.EVENTS:
        return Told(SOURCE, event, raw, delivery_id, ignored="Nothing here uses events of this name.")
    try:
        news = chatwoot_payloads.news_of(document)
    except DeskError as fault:
        return Told(SOURCE, event, raw, delivery_id, refused=f"It could not be read: {fault.detail}")
    return Told(
        source=SOURCE,
        event=event,
        raw=raw,
        delivery_id=delivery_id,
        key=_key(news),
        conversation=news.conversation_id,
        customer=news.customer,
    )


def _key(news: News) -> str | None:
    """By which an event without a delivery id is known again; a message is made once, whoever tells of it."""
    if news.event == "message_created":
        return f"{news.event}:{news.messages[0].id}"
    if news.told_at is None:
        return None
    of = news.messages[0].id if news.messages else news.conversation_id
    return f"{news.event}:{of}:{news.told_at.isoformat()}"


def process(
    session: Session,
    *,
    declared: Declared,
    now: datetime,
    limit: int,
    at_once: AtOnce | None = None,
    ours: Ours | None = None,
) -> Counts:
    """Apply up to `limit` events that wait, in the order in which they came.

    `at_once` gets the executions that are to run now, after their commit; without it a sweep finds them.
    Counts `applied`, `armed` and `failed`. One that fails waits longer each time, and stops no other; after
    12 attempts it is failed for good.
    """
    counts = Counts(own=dict.fromkeys(OWN, 0))
    due = session.execute(
        select(InboundEvent.id, InboundEvent.tenant_id)
        .where(InboundEvent.next_attempt_at <= now)
        .order_by(InboundEvent.next_attempt_at, InboundEvent.id)
        .limit(limit)
    ).all()
    rollback(session)
    for event_id, tenant_id in due:
        counts.examined += 1
        try:
            state = _apply(session, event_id, declared=declared, now=now, ours=ours)
            counts.add("applied", state is not None)
            ids = [] if state is State.DONE else _arm(session, event_id, now=now)
        except Exception as error:  # noqa: BLE001  whatever one event raises, the others go on
            rollback(session)
            counts.failed(tenant_id, f"inbound event {event_id}", error)
            _put_off(session, event_id, error, counts, now=now)
            continue
        if ids is not None:
            counts.changed += 1
            counts.add("armed", len(ids))
            if ids and at_once is not None:
                at_once(ids)
    counts.capped = len(due) == limit
    return counts


def _locked(session: Session, event_id: int, *states: State) -> InboundEvent | None:
    """The event, if it is in one of `states` and nobody else works on it."""
    query = select(InboundEvent).where(InboundEvent.id == event_id, InboundEvent.state.in_(states))
    locked = query.with_for_update(skip_locked=True).execution_options(populate_existing=True)
    return session.scalars(locked).one_or_none()


def _apply(
    session: Session, event_id: int, *, declared: Declared, now: datetime, ours: Ours | None
) -> State | None:
    """Write what the event says, in one transaction; its state then, or None where it was not applied now.

    It is done where there is nothing to hear of, as with most of what comes twice.
    """
    event = _locked(session, event_id, State.STORED)
    if event is None:
        rollback(session)
        return None
    tenant = session.get_one(Tenant, event.tenant_id)
    news = chatwoot_payloads.news_of(chatwoot_payloads.document_of(event.raw))
    happenings = _take(session, tenant, event, news, declared=declared, now=now)
    if ours is not None:
        happenings = [replace(one, by_rule=True) if ours(session, one, now) else one for one in happenings]
    if happenings:
        event.happenings = [one.to_json() for one in happenings]
    state = State.APPLIED if happenings else State.DONE
    set_state(event, state, now=now)
    commit(session, "inbound.apply")
    return state


def _take(
    session: Session,
    tenant: Tenant,
    event: InboundEvent,
    news: News,
    *,
    declared: Declared,
    now: datetime,
) -> list[Happening]:
    """The conversation first, as it was when the source told of it, then the messages, the oldest first."""
    event.told_at, event.told_status = news.told_at, news.given.get("status")
    event.told_change = news.status_changed
    before = _known(session, event, news)
    given = {**news.given, **inbound_order.clock(news, before)}
    late = inbound_order.is_late(news, before)
    received = intake.receive_conversation(
        session, tenant, news.conversation_id, given, now=now, source=event.source
    )
    conversation, found = received.conversation, [received.happening]
    if late and inbound_order.move_clock(session, tenant, event, conversation, now=now) and found == [None]:
        found = [_clock_moved(event, conversation)]
    said = inbound_messages.take(
        session, tenant, event, news.messages, conversation, declared=declared, now=now
    )
    return [one for one in (*found, *said) if one is not None]


def _known(session: Session, event: InboundEvent, news: News) -> Conversation | None:
    """The conversation, locked, if it was heard of before."""
    query = select(Conversation).where(
        Conversation.tenant_id == event.tenant_id,
        Conversation.external_id == news.conversation_id,
        Conversation.source == event.source,
    )
    return locks.one(session, query)


def _clock_moved(event: InboundEvent, conversation: Conversation) -> Happening:
    """What waits on the status has to hear since when it holds, which became known only now."""
    return Happening(
        origin=f"inbound:{event.id}",
        conversation_id=conversation.id,
        events=(Happened.CONVERSATION_UPDATED.value,),
    )


def _arm(session: Session, event_id: int, *, now: datetime) -> list[UUID] | None:
    """Let the areas hear of an applied event, in one transaction; what is to run at once. None: not now."""
    event = _locked(session, event_id, State.APPLIED)
    if event is None:
        rollback(session)
        return None
    # Read now: its switch decides what arms.
    tenant = session.get_one(Tenant, event.tenant_id, populate_existing=True)
    ids: list[UUID] = []
    for stored in event.happenings:
        ids += intake.arm(session, tenant, Happening.from_json(stored), now=now)
    set_state(event, State.DONE, now=now)
    commit(session, "inbound.arm")
    return ids


def _put_off(session: Session, event_id: int, error: Exception, counts: Counts, *, now: datetime) -> None:
    """Let an event that raised wait, longer each time, or give it up."""
    event = _locked(session, event_id, *OPEN)
    if event is None:
        rollback(session)
        return
    event.attempts += 1
    # Only what we said ourselves: another error's words may be a customer's.
    said = error.detail if isinstance(error, DeskError) else f"It raised {type(error).__name__}."
    event.error = said[:ERROR_LENGTH]
    if event.attempts >= MOST_ATTEMPTS:
        counts.add("failed")
        set_state(event, State.FAILED, now=now)
    else:
        event.next_attempt_at = now + backoff(event.attempts)
        event.updated_at = now
    commit(session, "inbound.put_off")
