"""Arming: what happened to a conversation makes rules wait on it, or run at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from models import audit, conversations, locks
from models.automations import arming_again, conditions, episodes, inactivity, judging
from models.automations.conditions import Condition, Scene
from models.automations.episodes import Episode, Kind
from models.automations.records import AutomationRule, Execution, Status, Trigger
from models.conversations import Conversation
from models.errors import Invalid
from models.happenings import Event, Happening
from models.messages import Direction, Message
from models.tenants import Feature, Tenant
from models.transactions import savepoint

log = structlog.get_logger(__name__)


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
        heard = _Heard(session, tenant, conversation, message, happening, now)
        for rule in heard.rules(event):
            made = heard.arm(rule)
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


@dataclass(frozen=True, slots=True)
class _Heard:
    """One event of one conversation, as rules hear of it; `message` is the one that it tells of."""

    session: Session
    tenant: Tenant
    conversation: Conversation
    message: Message | None
    happening: Happening
    now: datetime

    def rules(self, event: str) -> Iterator[AutomationRule]:
        """The active rules that hear of `event`, the oldest first.

        A conversation that is born in a status would never arm a rule that waits on that status. For the
        clock of inactivity each message is activity, though its rules are told of as updates.
        """
        heard = {event}
        if event in (Event.CONVERSATION_CREATED, Event.MESSAGE_CREATED):
            heard.add(Event.CONVERSATION_UPDATED)
        query = (
            select(AutomationRule)
            .where(
                AutomationRule.tenant_id == self.tenant.id,
                AutomationRule.event.in_(sorted(heard)),
                AutomationRule.active.is_(True),
            )
            .order_by(AutomationRule.created_at, AutomationRule.id)
            .execution_options(populate_existing=True)
        )
        for rule in self.session.scalars(query):
            born = event == Event.CONVERSATION_CREATED and rule.execution_delay is not None
            active = event == Event.MESSAGE_CREATED and rule.trigger == Trigger.INACTIVITY
            if rule.event == event or born or active:
                yield rule

    def arm(self, rule: AutomationRule) -> Execution | None:
        """Arm one rule; the execution that was made or waits anew, or None."""
        delayed = rule.execution_delay is not None
        if delayed and not self.tenant.has(Feature.DELAYED_AUTOMATIONS):
            return None
        message = None if rule.trigger == Trigger.INACTIVITY else self.message
        parsed = _parsed(rule)
        if parsed is None or not conditions.matches(parsed, self._scene(rule, message)):
            return None
        if rule.execution_delay is None:
            episode = Episode(f"{Kind.EVENT}:{self.happening.origin}", self.now)
            return self._made(rule, message, episode, self.now)
        begun = episodes.begun(self.session, rule, self.conversation, message)
        if begun is None:
            return None
        due_at = begun.anchor + timedelta(minutes=rule.execution_delay)
        return self._made(rule, message, begun, due_at) or self._again(rule, message, begun, due_at)

    def _scene(self, rule: AutomationRule, message: Message | None) -> Scene:
        return Scene.of(
            self.conversation,
            message=message,
            messages=()
            if message is not None
            else judging.messages_of(self.session, rule, self.conversation),
            changed={name: (old, new) for name, (old, new) in self.happening.changed.items()},
            now=self.now,
        )

    def _made(
        self, rule: AutomationRule, message: Message | None, episode: Episode, due_at: datetime
    ) -> Execution | None:
        """A new execution, or None where the episode has one."""
        if self._known(rule, episode) is not None:
            return None
        execution = Execution(
            tenant_id=rule.tenant_id,
            rule_id=rule.id,
            conversation_id=self.conversation.id,
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
            created_at=self.now,
            updated_at=self.now,
        )
        try:
            with savepoint(self.session):
                self.session.add(execution)
                self.session.flush()
                self._tell(execution, episode)
        except IntegrityError as error:
            # Only the one key means that another was faster; its row is there now.
            if not is_taken(error):
                raise
            return None
        return execution

    def _tell(self, execution: Execution, episode: Episode) -> None:
        audit.append(
            self.session,
            tenant_id=execution.tenant_id,
            actor=arming_again.ARMING,
            action="execution.armed",
            resource=("execution", str(execution.id)),
            now=self.now,
            purpose=episodes.kind_of(episode.key).value,
            detail={"from": None, "to": Status.PENDING.value, "rule": str(execution.rule_id)},
        )

    def _known(self, rule: AutomationRule, episode: Episode) -> Execution | None:
        """The execution of an episode, locked."""
        return locks.one(
            self.session,
            select(Execution).where(
                Execution.rule_id == rule.id,
                Execution.conversation_id == self.conversation.id,
                Execution.episode_key == episode.key,
            ),
        )

    def _again(
        self, rule: AutomationRule, message: Message | None, episode: Episode, due_at: datetime
    ) -> Execution | None:
        """The episode's execution, if it waits anew."""
        known = self._known(rule, episode)
        if known is None:
            return None
        if rule.trigger == Trigger.INACTIVITY:
            return inactivity.heard(self.session, rule, known, episode.anchor, now=self.now)
        if message is None:
            return None
        return arming_again.arm(self.session, rule, known, message, due_at, now=self.now)


def _parsed(rule: AutomationRule) -> Sequence[Condition] | None:
    """The rule's conditions; None where they no longer read, which must not keep out what came in."""
    try:
        return conditions.parse(
            rule.conditions, event=rule.event, execution_delay=rule.execution_delay, trigger=rule.trigger
        )
    except Invalid as fault:
        log.error("a rule can't be read, so it arms nothing", rule=str(rule.id), fault=fault.detail)
        return None


def is_taken(error: IntegrityError) -> bool:
    """Whether the rule has an execution of this episode already, as each database says it."""
    said = str(error.orig)
    return "uq_execution_episode" in said or "execution.episode_key" in said
