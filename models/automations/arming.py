"""Arming: what happened to a conversation makes rules wait on it, or run at once."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from models import audit, conversations, locks
from models.actors import Actor
from models.automations import conditions, episodes, inactivity
from models.automations.claiming import STALE_LOCK
from models.automations.conditions import Scene
from models.automations.episodes import Episode, Kind
from models.automations.records import (
    BY_OPERATOR,
    ActionRun,
    ActionState,
    AutomationRule,
    Execution,
    Status,
    Trigger,
)
from models.conversations import Conversation
from models.happenings import Event, Happening
from models.messages import Direction, Message
from models.tenants import Feature, Tenant
from models.transactions import savepoint
from models.transitions import move

ARMING = Actor.system("arming")


def arm(session: Session, tenant: Tenant, happening: Happening, *, now: datetime) -> list[UUID]:
    """Arm the tenant's rules that `happening` concerns, under the conversation's lock.

    Returns the executions that are to run at once, for whoever commits. What a rule caused, an activity, and
    an automatic mail arm nothing. Hearing the same again arms nothing anew.
    """
    if happening.by_rule:
        return []
    conversation = conversations.lock(session, happening.conversation_id)
    if conversation is None:
        return []
    at_once: list[UUID] = []
    for event in happening.events:
        message = _message(session, happening) if event == Event.MESSAGE_CREATED else None
        if not _concerns(event, conversation, message):
            continue
        for rule in _rules(session, tenant, event):
            made = _arm_rule(session, tenant, rule, event, conversation, message, happening, now)
            if made is not None and made.at_once:
                at_once.append(made.id)
    return at_once


def _message(session: Session, happening: Happening) -> Message | None:
    return session.get(Message, happening.message_id) if happening.message_id else None


def _concerns(event: str, conversation: Conversation, message: Message | None) -> bool:
    if event == Event.MESSAGE_CREATED:
        return message is not None and message.direction != Direction.ACTIVITY and not message.auto_reply
    born = event in (Event.CONVERSATION_CREATED, Event.CONVERSATION_OPENED)
    return not (born and conversation.auto_reply)


def _rules(session: Session, tenant: Tenant, event: str) -> Iterator[AutomationRule]:
    """The active rules that hear of `event`, the oldest first.

    A conversation that is born in a status would never arm a rule that waits on that status.
    """
    heard = {event}
    if event == Event.CONVERSATION_CREATED:
        heard.add(Event.CONVERSATION_UPDATED)
    query = (
        select(AutomationRule)
        .where(
            AutomationRule.tenant_id == tenant.id,
            AutomationRule.event.in_(heard),
            AutomationRule.active.is_(True),
        )
        .order_by(AutomationRule.created_at, AutomationRule.id)
        .execution_options(populate_existing=True)
    )
    for rule in session.scalars(query):
        if rule.event == event or rule.execution_delay is not None:
            yield rule
    if event == Event.MESSAGE_CREATED:
        yield from _of_inactivity(session, tenant)


def _of_inactivity(session: Session, tenant: Tenant) -> list[AutomationRule]:
    """The rules for whose clock each message is activity, though they are told of as updates."""
    query = select(AutomationRule).where(
        AutomationRule.tenant_id == tenant.id,
        AutomationRule.event == Event.CONVERSATION_UPDATED.value,
        AutomationRule.active.is_(True),
        AutomationRule.trigger == Trigger.INACTIVITY.value,
    )
    return list(session.scalars(query.order_by(AutomationRule.created_at, AutomationRule.id)))


def _arm_rule(
    session: Session,
    tenant: Tenant,
    rule: AutomationRule,
    event: str,
    conversation: Conversation,
    message: Message | None,
    happening: Happening,
    now: datetime,
) -> Execution | None:
    """Arm one rule; the execution that was made or armed again, or None."""
    delayed = rule.execution_delay is not None
    if delayed and not tenant.has(Feature.DELAYED_AUTOMATIONS):
        return None
    inactive = rule.trigger == Trigger.INACTIVITY
    scene = Scene.of(
        conversation,
        message=None if inactive else message,
        messages=() if delayed or message is not None else _said(session, conversation),
        changed={name: (old, new) for name, (old, new) in happening.changed.items()},
        now=now,
    )
    parsed = conditions.parse(
        rule.conditions, event=rule.event, execution_delay=rule.execution_delay, trigger=rule.trigger
    )
    if not conditions.matches(parsed, scene):
        return None
    if rule.execution_delay is None:
        episode = Episode(f"{Kind.EVENT}:{happening.origin}", now)
        return _made(session, rule, conversation, message, episode, now, now)
    begun = episodes.begun(session, rule, conversation, None if inactive else message)
    if begun is None:
        return None
    due_at = begun.anchor + timedelta(minutes=rule.execution_delay)
    made = _made(session, rule, conversation, None if inactive else message, begun, due_at, now)
    if made is not None:
        return made
    known = _known(session, rule, conversation, begun)
    if known is None:
        return None
    if inactive:
        return inactivity.heard(session, rule, known, begun.anchor, now=now)
    if message is None or not _may_arm_again(session, known, message, now):
        return None
    return _armed_again(session, rule, known, message, due_at, now)


def _said(session: Session, conversation: Conversation) -> list[Message]:
    query = select(Message).where(Message.conversation_id == conversation.id)
    return list(session.scalars(query.order_by(Message.created_at, Message.id)))


def _made(
    session: Session,
    rule: AutomationRule,
    conversation: Conversation,
    message: Message | None,
    episode: Episode,
    due_at: datetime,
    now: datetime,
) -> Execution | None:
    """A new execution, or None where the episode has one."""
    if _known(session, rule, conversation, episode) is not None:
        return None
    execution = Execution(
        tenant_id=rule.tenant_id,
        rule_id=rule.id,
        conversation_id=conversation.id,
        message_id=message.id if message else None,
        message_seq=message.seq if message else None,
        message_at=message.created_at if message else None,
        episode_key=episode.key,
        at_once=rule.execution_delay is None,
        armed_version=rule.armed_version,
        status=Status.PENDING.value,
        due_at=due_at,
        lapses_from=due_at,
        activity_seen_at=episode.anchor if rule.trigger == Trigger.INACTIVITY else None,
        created_at=now,
        updated_at=now,
    )
    try:
        with savepoint(session):
            session.add(execution)
            session.flush()
            audit.append(
                session,
                tenant_id=rule.tenant_id,
                actor=ARMING,
                action="execution.armed",
                resource=("execution", str(execution.id)),
                now=now,
                purpose=episodes.kind_of(episode.key).value,
                detail={"from": None, "to": Status.PENDING.value, "rule": str(rule.id)},
            )
    except IntegrityError as error:
        # Only the one key means that another was faster; the row is there now.
        if "uq_execution_episode" not in str(error.orig) and "episode_key" not in str(error.orig):
            raise
        return None
    return execution


def _known(
    session: Session, rule: AutomationRule, conversation: Conversation, episode: Episode
) -> Execution | None:
    """The execution of an episode, locked."""
    return locks.one(
        session,
        select(Execution).where(
            Execution.rule_id == rule.id,
            Execution.conversation_id == conversation.id,
            Execution.episode_key == episode.key,
        ),
    )


def _may_arm_again(session: Session, known: Execution, message: Message, now: datetime) -> bool:
    """Whether a newer message takes the place of the one that armed `known`: one run for each episode."""
    if known.message_seq is None or known.message_at is None:
        return False
    if message.seq <= known.message_seq or message.created_at < known.message_at:
        return False
    if known.status == Status.SKIPPED and known.skip_reason in BY_OPERATOR:
        return False
    if known.status == Status.PROCESSING and (known.locked_at or now) >= now - STALE_LOCK:
        return False
    if known.status in (Status.EXECUTING, Status.EXECUTED):
        return False
    begun = select(ActionRun.id).where(
        ActionRun.execution_id == known.id, ActionRun.state != ActionState.WAITING.value
    )
    return session.scalars(begun.limit(1)).first() is None


def _armed_again(
    session: Session,
    rule: AutomationRule,
    known: Execution,
    message: Message,
    due_at: datetime,
    now: datetime,
) -> Execution:
    """Let `known` wait anew, on `message`."""
    known.message_id, known.message_seq, known.message_at = message.id, message.seq, message.created_at
    known.due_at, known.lapses_from, known.armed_version = due_at, due_at, rule.armed_version
    known.not_before, known.next_attempt_at, known.attempts = None, None, 0
    known.lock_token, known.locked_at = None, None
    before, reason = known.status, known.skip_reason
    known.skip_reason, known.needs_review = None, False
    detail = {"message": str(message.id), **({"reason_before": reason} if reason else {})}
    if before == Status.PENDING:
        known.version += 1
        known.updated_at = now
        audit.append(
            session,
            tenant_id=known.tenant_id,
            actor=ARMING,
            action="execution.rearmed",
            resource=("execution", str(known.id)),
            now=now,
            purpose="newer_message",
            detail=detail,
        )
    else:
        move(
            session,
            known,
            Status.PENDING,
            actor=ARMING,
            now=now,
            action="execution.rearmed",
            purpose="newer_message",
            detail=detail,
        )
    session.flush()
    return known
