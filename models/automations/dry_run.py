"""What a rule would do about one conversation as things stand, read without a lock; nothing is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import inboxes
from models.automations import conditions, episodes, judging, windows
from models.automations.conditions import Explained, Scene
from models.automations.episodes import Episode
from models.automations.judging import LATENESS_CAP, Facts
from models.automations.records import AutomationRule, Execution, Skip, Status, Trigger
from models.automations.rule_checks import FIELDS
from models.conversations import Conversation
from models.declarations import Declared
from models.happenings import Event
from models.messages import Direction, Message
from models.tenants import Feature, Tenant

# So far back a message is looked for that the rule would have been armed by.
MOST_MESSAGES = 100


class Hindrance(StrEnum):
    """Why nothing would be armed, whatever the conditions say."""

    FEATURE_OFF = "feature_off"
    NO_MESSAGE = "no_message"
    AUTO_REPLY = "auto_reply"
    NO_CLOCK = "no_clock"


@dataclass(frozen=True, slots=True)
class DryRun:
    """What was found. `message` is the one looked at: the newest for which the conditions hold, or any.

    `episode` and `due_at` are of a rule with a delay, None where it has none or its clock is not known; the
    due time may be long past. `opens` is when its hours begin, where they are closed at the due time.
    `passes` is why it would be skipped if it were due now. `known` is the execution that there is already: of
    the episode, or the newest one of a rule that acts at once. `zone` is the inbox's.
    """

    conversation: Conversation
    message: Message | None
    explained: Sequence[Explained]
    matches: bool
    hindrance: Hindrance | None
    episode: Episode | None
    due_at: datetime | None
    opens: datetime | None
    passes: Skip | None
    known: Execution | None
    zone: ZoneInfo

    @property
    def arms(self) -> bool:
        """Whether it would be armed, or run at once, if what it listens to happened now."""
        return self.matches and self.hindrance is None


def copy_of(rule: AutomationRule) -> AutomationRule:
    """The stored rule as one that is on and that no session keeps."""
    return typed({name: getattr(rule, name) for name in FIELDS}, rule.tenant_id, rule.id)


def typed(given: Mapping[str, Any], tenant_id: int, rule_id: UUID | None) -> AutomationRule:
    """A rule of fields that were judged but not stored, as if it were on; `rule_id` is the one that it would
    become."""
    values = {**given, "active": True}
    return AutomationRule(id=rule_id, tenant_id=tenant_id, armed_version=1, version=1, **values)


def dry_run(
    session: Session,
    tenant: Tenant,
    rule: AutomationRule,
    conversation: Conversation,
    *,
    declared: Declared,
    now: datetime,
) -> DryRun:
    """Try `rule`, which no session keeps, on `conversation` as if its event happened now."""
    looked_at = _messages(session, rule, conversation)
    scenes = [(one, _scene(session, rule, conversation, one, now)) for one in looked_at]
    asked = conditions.parse(
        rule.conditions, event=rule.event, execution_delay=rule.execution_delay, trigger=rule.trigger
    )
    message, scene = next((one for one in scenes if conditions.matches(asked, one[1])), scenes[0])
    hindrance = _hindrance(tenant, rule, conversation, message)
    zone = inboxes.zone(declared, conversation.inbox_id, tenant)
    episode = due_at = opens = passes = None
    if rule.execution_delay is not None and hindrance is not Hindrance.NO_MESSAGE:
        episode = episodes.begun(session, rule, conversation, message)
        hindrance = hindrance or (Hindrance.NO_CLOCK if episode is None else None)
    if episode is not None and rule.execution_delay is not None:
        due_at = episode.anchor + timedelta(minutes=rule.execution_delay)
        opens = _opens(rule, max(due_at, now), zone)
        passes = _passes(session, tenant, rule, conversation, message, episode, due_at, now)
    return DryRun(
        conversation=conversation,
        message=message,
        explained=conditions.explain(asked, scene),
        matches=conditions.matches(asked, scene),
        hindrance=hindrance,
        episode=episode,
        due_at=due_at,
        opens=opens,
        passes=passes,
        known=_known(session, rule, conversation, episode),
        zone=zone,
    )


def _messages(session: Session, rule: AutomationRule, conversation: Conversation) -> Sequence[Message | None]:
    """The messages that could have armed the rule, the newest first; one None where it looks at none."""
    if rule.event != Event.MESSAGE_CREATED or rule.trigger == Trigger.INACTIVITY:
        return [None]
    query = select(Message).where(
        Message.conversation_id == conversation.id,
        Message.direction != Direction.ACTIVITY.value,
        Message.auto_reply.is_(False),
    )
    newest = query.order_by(Message.created_at.desc(), Message.id.desc()).limit(MOST_MESSAGES)
    return session.scalars(newest).all() or [None]


def _scene(
    session: Session, rule: AutomationRule, conversation: Conversation, message: Message | None, now: datetime
) -> Scene:
    """As arming looks at it. What changed is not known, since nothing does."""
    said: Sequence[Message] = ()
    if message is None and rule.execution_delay is None and rule.event != Event.MESSAGE_CREATED:
        query = select(Message).where(Message.conversation_id == conversation.id)
        said = session.scalars(query.order_by(Message.created_at, Message.id)).all()
    return Scene.of(conversation, message=message, messages=said, now=now)


def _hindrance(
    tenant: Tenant, rule: AutomationRule, conversation: Conversation, message: Message | None
) -> Hindrance | None:
    if rule.execution_delay is not None and not tenant.has(Feature.DELAYED_AUTOMATIONS):
        return Hindrance.FEATURE_OFF
    if rule.event == Event.MESSAGE_CREATED and message is None:
        return Hindrance.NO_MESSAGE
    born = rule.event in (Event.CONVERSATION_CREATED, Event.CONVERSATION_OPENED)
    return Hindrance.AUTO_REPLY if born and conversation.auto_reply else None


def _opens(rule: AutomationRule, at: datetime, zone: ZoneInfo) -> datetime | None:
    if rule.window_start is None or rule.window_end is None:
        return None
    return windows.next_start(at, rule.window_start, rule.window_end, zone)


def _passes(
    session: Session,
    tenant: Tenant,
    rule: AutomationRule,
    conversation: Conversation,
    message: Message | None,
    episode: Episode,
    due_at: datetime,
    now: datetime,
) -> Skip | None:
    """Why a run would skip it, as things stand; None where it would act."""
    if due_at < now - LATENESS_CAP:
        return Skip.EXPIRED
    execution = Execution(
        tenant_id=tenant.id,
        rule_id=rule.id,
        conversation_id=conversation.id,
        message_id=message.id if message else None,
        episode_key=episode.key,
        at_once=False,
        armed_version=rule.armed_version,
        status=Status.PENDING.value,
        due_at=due_at,
    )
    return judging.standing(session, Facts(tenant, execution, rule, conversation), now=now)


def _known(
    session: Session, rule: AutomationRule, conversation: Conversation, episode: Episode | None
) -> Execution | None:
    if rule.id is None:
        return None
    query = select(Execution).where(
        Execution.rule_id == rule.id, Execution.conversation_id == conversation.id
    )
    if rule.execution_delay is not None:
        return session.scalars(query.where(Execution.episode_key == (episode.key if episode else ""))).first()
    return session.scalars(query.order_by(Execution.created_at.desc(), Execution.id.desc()).limit(1)).first()
