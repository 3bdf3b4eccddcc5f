"""What an action does to our own data, in the transaction at hand: exactly once, with its ledger."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import conversing, messages
from models.automations.actions import ActionName
from models.automations.records import ActionRun, AutomationRule
from models.clock import parse_time
from models.conversations import Conversation, ConversationStatus
from models.errors import Conflict
from models.messages import Direction, Message, SenderType


class Act:
    """One native action at work on its conversation, whose lock is held."""

    def __init__(
        self,
        session: Session,
        conversation: Conversation,
        action: ActionRun,
        rule: AutomationRule | None,
        now: datetime,
    ) -> None:
        self.session = session
        self.conversation = conversation
        self.action = action
        self.rule = rule
        self.now = now

    @property
    def value(self) -> Any:
        return self.action.params[0] if self.action.params else None

    def set(self, **values: Any) -> None:
        """Change the conversation; its status brings its clock along, as if its source had told."""
        conversing.take_news(self.session, self.conversation, values, made=False, now=self.now)

    def say(self, text: str, *, private: bool) -> str:
        """Store a message of the rule, once: its id is the action's key. Returns the id."""
        message = Message(
            tenant_id=self.conversation.tenant_id,
            conversation_id=self.conversation.id,
            source=self.conversation.source,
            external_id=self.action.idempotency_key,
            seq=messages.next_seq(self.session, self.conversation.id),
            direction=Direction.OUTGOING.value,
            sender=_sender(self.rule),
            private=private,
            auto_reply=False,
            customer=self.conversation.customer,
            text=text,
            created_at=self.now,
            stored_at=self.now,
        )
        self.session.add(message)
        conversing.take_message(self.session, self.conversation, message)
        return message.external_id


def _sender(rule: AutomationRule | None) -> dict[str, Any]:
    named = {"key": str(rule.id), "name": rule.name} if rule is not None else {}
    return {"type": SenderType.RULE.value, **named}


def apply(act: Act) -> str | None:
    """Do the action; its receipt. Raises `KeyError` for one that is not our own to do, and `DeskError` where
    it can't be done."""
    return _EFFECTS[ActionName(act.action.name)](act)


def _send_message(act: Act) -> str:
    return act.say(str(act.value), private=False)


def _add_private_note(act: Act) -> str:
    return act.say(str(act.value), private=True)


def _add_label(act: Act) -> None:
    act.set(labels=[*act.conversation.labels, *map(str, act.action.params)])


def _remove_label(act: Act) -> None:
    gone = {str(label).strip().casefold() for label in act.action.params}
    act.set(labels=[label for label in act.conversation.labels if label.strip().casefold() not in gone])


def _assign_agent(act: Act) -> None:
    if act.value == "last_responding_agent":
        act.set(assignee_id=_last_responding(act))
    else:
        act.set(assignee_id=None if act.value in (None, "nil") else act.value)


def _last_responding(act: Act) -> str:
    """Who of us answered last. Raises `Conflict` where nobody did, or nobody knows who."""
    query = (
        select(Message)
        .where(
            Message.conversation_id == act.conversation.id,
            Message.direction == Direction.OUTGOING.value,
            Message.private.is_(False),
        )
        .order_by(Message.seq.desc())
    )
    for message in act.session.scalars(query):
        if message.sender.get("type") == SenderType.AGENT and message.sender.get("key"):
            return str(message.sender["key"])
    raise Conflict("No person has answered in this conversation, so there is nobody to assign it to.")


def _assign_team(act: Act) -> None:
    act.set(team_id=None if act.value in (None, "nil") else act.value)


def _unassign_agent(act: Act) -> None:
    act.set(assignee_id=None)


def _unassign_team(act: Act) -> None:
    act.set(team_id=None)


def _to(status: ConversationStatus) -> Callable[[Act], None]:
    return lambda act: act.set(status=status.value)


def _change_status(act: Act) -> None:
    act.set(status=act.value)


def _snooze(act: Act) -> None:
    until = parse_time(str(act.value), "params") if act.value else None
    attributes = {**act.conversation.attributes, "snoozed_until": until.isoformat() if until else None}
    act.set(status=ConversationStatus.SNOOZED.value, attributes=attributes)


def _change_priority(act: Act) -> None:
    act.set(priority=None if act.value in (None, "none", "nil") else act.value)


def _mute(act: Act) -> None:
    act.set(attributes={**act.conversation.attributes, "muted": True})


_EFFECTS: Mapping[ActionName, Callable[[Act], str | None]] = {
    ActionName.SEND_MESSAGE: _send_message,
    ActionName.ADD_PRIVATE_NOTE: _add_private_note,
    ActionName.ADD_LABEL: _add_label,
    ActionName.REMOVE_LABEL: _remove_label,
    ActionName.ASSIGN_AGENT: _assign_agent,
    ActionName.ASSIGN_TEAM: _assign_team,
    ActionName.REMOVE_ASSIGNED_AGENT: _unassign_agent,
    ActionName.REMOVE_ASSIGNED_TEAM: _unassign_team,
    ActionName.RESOLVE_CONVERSATION: _to(ConversationStatus.RESOLVED),
    ActionName.OPEN_CONVERSATION: _to(ConversationStatus.OPEN),
    ActionName.PENDING_CONVERSATION: _to(ConversationStatus.PENDING),
    ActionName.SNOOZE_CONVERSATION: _snooze,
    ActionName.CHANGE_STATUS: _change_status,
    ActionName.CHANGE_PRIORITY: _change_priority,
    ActionName.MUTE_CONVERSATION: _mute,
}
