"""What a rule may do: the actions by name, what each is given, and whether its effect is on our own data."""

from collections.abc import Callable, Mapping
from typing import Any

from models import endpoint_urls
from models.automations import action_params
from models.automations.action_params import ActionName as ActionName
from models.automations.action_params import Params
from models.automations.action_words import sentence as sentence
from models.conversations import NATIVE
from models.errors import Invalid
from models.settings import Settings

MOST_ACTIONS = 50


# What a customer sees: it must never go out twice.
CUSTOMER_FACING = frozenset({ActionName.SEND_MESSAGE, ActionName.SEND_EMAIL_TRANSCRIPT})
# Outside for whatever source: mail and other systems.
ALWAYS_OUTSIDE = frozenset(
    {ActionName.SEND_EMAIL_TO_TEAM, ActionName.SEND_EMAIL_TRANSCRIPT, ActionName.SEND_WEBHOOK_EVENT}
)

_CHECKS: Mapping[ActionName, Callable[[Params], None]] = {
    ActionName.SEND_MESSAGE: action_params.one_text,
    ActionName.ADD_PRIVATE_NOTE: action_params.one_text,
    ActionName.ADD_LABEL: action_params.labels,
    ActionName.REMOVE_LABEL: action_params.labels,
    ActionName.ASSIGN_AGENT: action_params.agent,
    ActionName.ASSIGN_TEAM: action_params.team,
    ActionName.REMOVE_ASSIGNED_AGENT: action_params.nothing,
    ActionName.REMOVE_ASSIGNED_TEAM: action_params.nothing,
    ActionName.RESOLVE_CONVERSATION: action_params.nothing,
    ActionName.OPEN_CONVERSATION: action_params.nothing,
    ActionName.PENDING_CONVERSATION: action_params.nothing,
    ActionName.SNOOZE_CONVERSATION: action_params.perhaps_a_time,
    ActionName.CHANGE_STATUS: action_params.status,
    ActionName.CHANGE_PRIORITY: action_params.priority,
    ActionName.MUTE_CONVERSATION: action_params.nothing,
    ActionName.SEND_EMAIL_TO_TEAM: action_params.mail_to_teams,
    ActionName.SEND_EMAIL_TRANSCRIPT: action_params.addresses,
    ActionName.SEND_WEBHOOK_EVENT: action_params.url,
}


def parse(given: Any, *, settings: Settings | None = None) -> list[dict[str, Any]]:
    """The actions of a rule, at least one, each `{"name", "params": [...]}`, in the order of being done.

    Where `settings` are given, the address of a webhook is also held against them. Raises `Invalid` on
    `actions.<index>.<name|params>`, the index from 0; the text counts actions from 1.
    """
    if not isinstance(given, list | tuple):
        raise Invalid("actions", "must be a list of objects with name and params")
    if not given:
        raise Invalid("actions", "must hold at least one action, such as add_label")
    if len(given) > MOST_ACTIONS:
        raise Invalid("actions", f"holds {len(given)} actions; {MOST_ACTIONS} is the most")
    return [_action(one, index, settings) for index, one in enumerate(given)]


def is_native(name: str, source: str) -> bool:
    """Whether the effect is on our own data, and so in one transaction with what the ledger says of it."""
    return source == NATIVE and name not in ALWAYS_OUTSIDE


def _action(given: Any, index: int, settings: Settings | None) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise Invalid(f"actions.{index}", f"must be an object with name and params (action {index + 1})")
    for part in given:
        if part not in ("name", "params"):
            shown = ascii(str(part)[:80])[1:-1]
            raise _fault(index, shown, "is not known here; an action has name and params")
    name, listed = _name(given, index), given.get("params", [])
    if not isinstance(listed, list | tuple):
        raise _fault(index, "params", "must be a list")
    try:
        _CHECKS[name](listed)
        if name is ActionName.SEND_WEBHOOK_EVENT and settings is not None:
            endpoint_urls.check(listed[0], settings)
    except Invalid as fault:
        # What they name is the one parameter, whatever the helper that judged it calls that.
        why = fault.detail.removeprefix(f"{fault.field} ").rstrip(".")
        raise _fault(index, "params", f"{why}, for {name}") from None
    return {"name": name.value, "params": list(listed)}


def _name(given: Mapping[str, Any], index: int) -> ActionName:
    name = given.get("name")
    if name is None:
        raise _fault(index, "name", "is missing; it says what is done, such as add_label")
    if not isinstance(name, str) or name not in set(ActionName):
        raise _fault(index, "name", f"is not known; use one of {', '.join(ActionName)}")
    return ActionName(name)


def _fault(index: int, part: str, why: str) -> Invalid:
    return Invalid(f"actions.{index}.{part}", f"{why} (action {index + 1})")
