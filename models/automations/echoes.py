"""Whether a change that a source tells of is what an action of ours did there: then it arms nothing."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from models.automations.actions import ActionName
from models.automations.records import ActionRun, ActionState, Execution
from models.conversations import ConversationStatus
from models.happenings import Event, Happening

# How long after an action its source may still tell of it.
TOLD_WITHIN = timedelta(minutes=10)
DID = (ActionState.STARTED.value, ActionState.DONE.value, ActionState.UNKNOWN.value)

_STATUSES: Mapping[str, str] = {
    ActionName.RESOLVE_CONVERSATION: ConversationStatus.RESOLVED,
    ActionName.OPEN_CONVERSATION: ConversationStatus.OPEN,
    ActionName.PENDING_CONVERSATION: ConversationStatus.PENDING,
    ActionName.SNOOZE_CONVERSATION: ConversationStatus.SNOOZED,
}
_NOBODY = (None, "nil", "none")


def is_ours(session: Session, happening: Happening, now: datetime) -> bool:
    """Whether our own actions of the last minutes account for all that changed."""
    if not happening.changed or Event.CONVERSATION_CREATED in happening.events:
        return False
    query = (
        select(ActionRun.name, ActionRun.params)
        .join(Execution, Execution.id == ActionRun.execution_id)
        .where(
            Execution.conversation_id == happening.conversation_id,
            ActionRun.native.is_(False),
            ActionRun.state.in_(DID),
            ActionRun.started_at >= now - TOLD_WITHIN,
        )
    )
    done = [(name, list(params)) for name, params in session.execute(query)]
    return bool(done) and all(_accounts(name, change, done) for name, change in happening.changed.items())


Done = Sequence[tuple[str, list[Any]]]


def _accounts(name: str, change: Sequence[Any], done: Done) -> bool:
    before, after = change
    if name == "status":
        return after in _statuses(done)
    if name == "labels":
        return _labels_are_ours(before or [], after or [], done)
    if name == "assignee_id":
        # Who opens a conversation there is also assigned to it.
        return ConversationStatus.OPEN in _statuses(done) or _assigned(
            after, done, ActionName.ASSIGN_AGENT, ActionName.REMOVE_ASSIGNED_AGENT
        )
    if name == "team_id":
        return _assigned(after, done, ActionName.ASSIGN_TEAM, ActionName.REMOVE_ASSIGNED_TEAM)
    if name == "priority":
        given = [params[0] for action, params in done if action == ActionName.CHANGE_PRIORITY and params]
        return any(_same(one, after) for one in given)
    return False


def _statuses(done: Done) -> set[str]:
    named = {params[0] for action, params in done if action == ActionName.CHANGE_STATUS and params}
    return named | {_STATUSES[action] for action, _params in done if action in _STATUSES}


def _labels_are_ours(before: Sequence[str], after: Sequence[str], done: Done) -> bool:
    def of(action: ActionName) -> set[str]:
        return {str(label).strip().casefold() for name, params in done if name == action for label in params}

    was, now = {one.casefold() for one in before}, {one.casefold() for one in after}
    return now - was <= of(ActionName.ADD_LABEL) and was - now <= of(ActionName.REMOVE_LABEL)


def _assigned(after: Any, done: Done, assign: ActionName, remove: ActionName) -> bool:
    for action, params in done:
        if action == remove and after is None:
            return True
        if action == assign and params and (params[0] == "last_responding_agent" or _same(params[0], after)):
            return True
    return False


def _same(given: Any, after: Any) -> bool:
    if given in _NOBODY or after is None:
        return given in _NOBODY and after is None
    return str(given) == str(after)
