"""Reading a rule's conditions: what can't be used is refused with its place and how to mend it."""

from collections.abc import Mapping
from typing import Any

from models import text
from models.automations import condition_values
from models.automations.condition_grammar import (
    ATTRIBUTES,
    CUSTOM,
    CUSTOMER_CUSTOM,
    SEEN_BY_EPISODES,
    Attribute,
    Condition,
    Joiner,
    Operator,
    attribute_of,
)
from models.automations.condition_values import Place
from models.automations.records import Trigger
from models.errors import Invalid
from models.happenings import Event

MOST_CONDITIONS, LONGEST_KEY = 100, 200
PARTS = ("attribute", "operator", "values", "joiner")


def parse(
    given: Any, *, event: str, execution_delay: int | None, trigger: str | None
) -> tuple[Condition, ...]:
    """The conditions of a rule with this event, delay (minutes) and trigger. `[]` lets everything pass.

    Raises `Invalid` on `conditions.<index>.<attribute|operator|values|joiner>`, the index from 0, and on
    `execution_delay` for a condition that can't wait. The text counts conditions from 1.
    """
    if not isinstance(given, list | tuple):
        raise Invalid("conditions", "must be a list; [] lets every conversation pass")
    if len(given) > MOST_CONDITIONS:
        raise Invalid("conditions", f"holds {len(given)} conditions; {MOST_CONDITIONS} is the most")
    found = []
    for index, one in enumerate(given):
        place = Place(index)
        condition = _condition(one, place, last=index == len(given) - 1, execution_delay=execution_delay)
        _refuse_what_cannot_wait(condition, place, event, execution_delay, trigger)
        found.append(condition)
    return tuple(found)


def _condition(given: Any, place: Place, *, last: bool, execution_delay: int | None) -> Condition:
    if not isinstance(given, Mapping):
        raise Invalid(
            f"conditions.{place.index}",
            f"must be an object with attribute, operator, values and joiner (condition {place.index + 1})",
        )
    for part in given:
        if part not in PARTS:
            shown = ascii(str(part)[:80])[1:-1]
            raise place.fault(shown, f"is not known here; a condition has {', '.join(PARTS)}")
    name, attribute = _attribute(given, place)
    operator = _operator(given, place)
    if operator is Operator.ATTRIBUTE_CHANGED and execution_delay is not None:
        raise Invalid(
            "execution_delay",
            f"can't go with attribute_changed (condition {place.index + 1}): what changed is not known any "
            "more when the rule fires. Leave the delay out, or compare the value instead",
        )
    if operator not in attribute.operators:
        can = ", ".join(sorted(attribute.operators))
        raise place.fault("operator", f"can't be {operator} for {shortened(name)}; it can be {can}")
    values = condition_values.checked(given.get("values"), place, attribute.kind, operator)
    return Condition(name, operator, values, _joiner(given.get("joiner"), place, last=last))


def shortened(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:59]}…"


def _attribute(given: Mapping[str, Any], place: Place) -> tuple[str, Attribute]:
    name = given.get("attribute")
    if name is None:
        raise place.fault("attribute", "is missing; it says what is looked at, such as status")
    if isinstance(name, str):
        try:
            text.storable(name, "attribute", longest=len(CUSTOMER_CUSTOM) + LONGEST_KEY)
        except Invalid as fault:
            raise place.fault("attribute", fault.detail.removeprefix("attribute ").rstrip(".")) from None
        attribute = attribute_of(name)
        if attribute is not None:
            return name, attribute
    known = ", ".join(ATTRIBUTES)
    raise place.fault(
        "attribute", f"is not known; use one of {known}, or {CUSTOM}<key> or {CUSTOMER_CUSTOM}<key>"
    )


def _operator(given: Mapping[str, Any], place: Place) -> Operator:
    name = given.get("operator")
    if name is None:
        raise place.fault("operator", "is missing; it says how it is compared, such as equal_to")
    if not isinstance(name, str) or name not in set(Operator):
        raise place.fault("operator", f"is not known; use one of {', '.join(Operator)}")
    return Operator(name)


def _joiner(given: Any, place: Place, *, last: bool) -> Joiner | None:
    if last:
        if given is not None:
            raise place.fault("joiner", "must be null, since this is the last condition")
        return None
    if not isinstance(given, str) or given not in set(Joiner):
        raise place.fault("joiner", 'must be "and" or "or", since another condition follows')
    return Joiner(given)


def _refuse_what_cannot_wait(
    condition: Condition, place: Place, event: str, execution_delay: int | None, trigger: str | None
) -> None:
    """Raise `Invalid` for a condition that an episode of this rule can't see."""
    number = place.index + 1
    if condition.operator is Operator.ATTRIBUTE_CHANGED and event == Event.MESSAGE_CREATED:
        raise place.fault("operator", "can't be attribute_changed on message_created, which changes none")
    if execution_delay is None or event == Event.MESSAGE_CREATED or trigger == Trigger.INACTIVITY:
        return
    if condition.attribute not in SEEN_BY_EPISODES:
        raise Invalid(
            "execution_delay",
            f"can't go with {shortened(condition.attribute)} (condition {number}): a delayed rule on {event} "
            "waits on the status, so its conditions may name only status and inbox_id. Take the condition "
            "out, leave the delay out, or use the event message_created or the trigger inactivity",
        )
