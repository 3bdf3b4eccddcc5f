"""The values of a condition: of the right type for its attribute and operator, and such as can be stored."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from models import text
from models.automations import comparing
from models.automations.condition_grammar import PRESENCE, THRESHOLDS, Kind, Operator
from models.conversations import ConversationStatus
from models.errors import Invalid
from models.messages import Direction

MOST_VALUES, LONGEST_VALUE = 100, 1_000
LARGEST_WHOLE, LARGEST_NUMBER = 2**63 - 1, 1e15
MOST_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class Place:
    """Which condition is read: for people it counts from 1, in a field from 0."""

    index: int

    def fault(self, part: str, why: str) -> Invalid:
        return Invalid(f"conditions.{self.index}.{part}", f"{why} (condition {self.index + 1})")


def checked(given: Any, place: Place, kind: Kind, operator: Operator) -> tuple[Any, ...]:
    if operator in PRESENCE:
        if given is not None and given != [] and given != ():
            raise place.fault("values", f"must be [], since {operator} compares with nothing")
        return ()
    if operator is Operator.ATTRIBUTE_CHANGED:
        return _change(given, place, kind)
    if given is None:
        raise place.fault("values", "are missing; give a list with what is compared")
    listed = _listed(given, place, kind)
    if operator in THRESHOLDS or operator is Operator.DAYS_BEFORE:
        if len(listed) != 1:
            raise place.fault("values", f"must be one value for {operator}")
        _check_measure(listed[0], place, operator)
    elif not listed:
        raise place.fault("values", f"must hold at least one value for {operator}")
    return listed


def _listed(given: Any, place: Place, kind: Kind) -> tuple[Any, ...]:
    if not isinstance(given, list | tuple):
        raise place.fault("values", 'must be a list, such as ["open"]')
    if len(given) > MOST_VALUES:
        raise place.fault("values", f"holds {len(given)} values; {MOST_VALUES} is the most")
    return tuple(_value(one, place, kind) for one in given)


def _change(given: Any, place: Place, kind: Kind) -> tuple[Any, ...]:
    """What `attribute_changed` asks: nothing, what it changed to, or from what to what."""
    if isinstance(given, list | tuple) and len(given) == 1 and isinstance(given[0], Mapping):
        given = given[0]
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        return _listed(given, place, kind)
    if not set(given) <= {"from", "to"}:
        raise place.fault("values", 'may hold one object with "from" and "to", each a list')
    sides = {side: [] if given.get(side) is None else given[side] for side in ("from", "to")}
    return ({side: list(_listed(listed, place, kind)) for side, listed in sides.items()},)


def _value(given: Any, place: Place, kind: Kind) -> Any:
    if kind is Kind.STATUS or kind is Kind.DIRECTION:
        known: type[StrEnum] = ConversationStatus if kind is Kind.STATUS else Direction
        if not isinstance(given, str) or given not in set(known):
            raise place.fault("values", f"may hold only {', '.join(known)}")
        return given
    if kind is Kind.FLAG:
        if not isinstance(given, bool):
            raise place.fault("values", "must be true or false, without quotation marks")
        return given
    if isinstance(given, str):
        return _text(given, place)
    if isinstance(given, bool):
        if kind is Kind.CUSTOM:
            return given
    elif _is_whole(given) and kind is not Kind.LABEL:
        return given
    elif _is_fraction(given) and kind in (Kind.TEXT, Kind.CUSTOM):
        # Plus 0.0, since a database gives -0.0 back as 0.0.
        return given + 0.0
    raise place.fault("values", f"may hold only {_TAKES[kind]}")


def _is_whole(given: Any) -> bool:
    return isinstance(given, int) and abs(given) <= LARGEST_WHOLE


def _is_fraction(given: Any) -> bool:
    return isinstance(given, float) and math.isfinite(given) and abs(given) < LARGEST_NUMBER


_TAKES = {
    Kind.ID: "ids: texts or whole numbers",
    Kind.LABEL: "labels, as texts",
    Kind.TEXT: "texts or numbers",
    Kind.CUSTOM: "texts, numbers, true or false",
}


def _text(given: str, place: Place) -> str:
    try:
        return text.required(given, "values", longest=LONGEST_VALUE)
    except Invalid as fault:
        raise place.fault("values", fault.detail.removeprefix("values ").rstrip(".")) from None


def _check_measure(given: Any, place: Place, operator: Operator) -> None:
    if operator is Operator.DAYS_BEFORE:
        if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= MOST_DAYS:
            raise place.fault("values", f"must be a whole number of days, 0 to {MOST_DAYS}")
    elif comparing.number(given) is None and comparing.moment(given) is None:
        raise place.fault("values", "must be a number, or a date such as 2031-08-14")
