"""How stored values compare with what a condition names; whatever is stored, nothing here raises."""

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]{5,15}(?:[+-][0-9:]{2,8}|[Zz]| UTC)?")


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or a time; a date stands for its midnight in UTC."""

    at: datetime
    whole_day: bool


def texts(found: Any) -> list[str]:
    """`found`, or each member of a list, as it is compared; what is blank or no scalar is left out."""
    members = found if isinstance(found, list | tuple | set | frozenset) else (found,)
    return [one for one in map(text_of, members) if one]


def text_of(value: Any) -> str | None:
    """A scalar as text without case and outer space, `5` and `5.0` as "5"; None for what is none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value).casefold().strip()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, int):
        try:
            return str(value)
        except ValueError:
            # Python writes out no number of thousands of digits.
            return None
    return None


def number(value: Any) -> Decimal | None:
    """A number, or a text that is one; exact."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return Decimal(repr(value)) if math.isfinite(value) else None
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return Decimal(value.strip())
    return None


def moment(value: Any) -> Moment | None:
    """An ISO date, or an ISO time, which is in UTC where it names no offset."""
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, date):
        return Moment(datetime.combine(value, time(), UTC), whole_day=True)
    if not isinstance(value, str):
        return None
    written = value.strip()
    try:
        if _DATE.fullmatch(written):
            return Moment(datetime.combine(date.fromisoformat(written), time(), UTC), whole_day=True)
        if _TIME.fullmatch(written):
            return _moment(datetime.fromisoformat(written.upper().removesuffix(" UTC")))
    except ValueError:
        pass
    return None


def _moment(value: datetime) -> Moment | None:
    try:
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        return None
    return Moment(aware, whole_day=False)


def order(found: Any, wanted: Any) -> int | None:
    """-1, 0 or 1 for less, equal and greater; None where the two don't compare: not both numbers or dates.

    Where one is a whole day, days are compared, so that no hour of a day is after that day.
    """
    mine, theirs = number(found), number(wanted)
    if mine is not None and theirs is not None:
        return (mine > theirs) - (mine < theirs)
    at, than = moment(found), moment(wanted)
    if at is None or than is None:
        return None
    if at.whole_day or than.whole_day:
        return (at.at.date() > than.at.date()) - (at.at.date() < than.at.date())
    return (at.at > than.at) - (at.at < than.at)


def is_older_than(found: Any, days: Any, now: datetime) -> bool:
    """Whether a date or time lies before `now` minus `days` days."""
    at = moment(found)
    if at is None or isinstance(days, bool) or not isinstance(days, int):
        return False
    try:
        return at.at < now - timedelta(days=days)
    except OverflowError:
        return False


def equals_any(found: Any, wanted: Iterable[Any]) -> bool:
    """Whether `found`, or a member of it, is one of `wanted`."""
    return not set(texts(found)).isdisjoint(texts(list(wanted)))


def contains_any(found: Any, wanted: Iterable[Any]) -> bool:
    parts = texts(list(wanted))
    return any(part in one for one in texts(found) for part in parts)


def starts_with_any(found: Any, wanted: Iterable[Any]) -> bool:
    starts = tuple(texts(list(wanted)))
    return any(one.startswith(starts) for one in texts(found))
