"""A rule in plain sentences: when it acts, under which conditions, and what it does."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol

from desk_ui import words
from desk_ui.translating import gettext as _
from desk_ui.translating import lazy_gettext as _l
from models.automations import actions, conditions
from models.automations.condition_grammar import Condition, Joiner, Operator
from models.automations.records import OnFailure, Trigger
from models.happenings import Event
from models.messages import Direction

EVENTS = {
    Event.CONVERSATION_CREATED: _l("a conversation begins"),
    Event.CONVERSATION_UPDATED: _l("a conversation changes"),
    Event.CONVERSATION_OPENED: _l("a conversation is opened"),
    Event.CONVERSATION_RESOLVED: _l("a conversation is resolved"),
    Event.MESSAGE_CREATED: _l("a message is written"),
}
ON_FAILURE = {
    OnFailure.CONTINUE: _l("the rest is done all the same"),
    OnFailure.STOP: _l("the rest is left for a person"),
}


class Ruled(Protocol):
    """What a rule says, stored or only typed. `execution_delay` is in minutes."""

    event: Any
    conditions: Any
    actions: Any
    execution_delay: Any
    window_start: Any
    window_end: Any
    trigger: Any
    on_failure: Any


def whole(rule: Ruled) -> str:
    """All of it: `When a conversation is quiet for 2 h and the status is open: add the label “late”`."""
    says = _when(rule, _conditions(rule))
    does = ", ".join(action_lines(rule, lower=True)) or _("do nothing yet")
    return f"{says}: {does}"


def when(rule: Ruled) -> str:
    """Its first half alone, as a sentence."""
    return f"{_when(rule, _conditions(rule))}."


def action_lines(rule: Ruled, *, lower: bool = False) -> Iterator[str]:
    """Each action as a sentence without its full stop, whatever is stored of it."""
    for one in _mappings(rule.actions):
        params = one.get("params")
        said = actions.sentence(str(one.get("name")), params if isinstance(params, list) else [])
        yield said[:1].lower() + said[1:] if lower else said


def reaches_customers(rule: Ruled) -> bool:
    return any(one.get("name") in actions.CUSTOMER_FACING for one in _mappings(rule.actions))


def window(rule: Ruled) -> str:
    """`09:00 to 17:00`, or empty where it has none."""
    if rule.window_start is None or rule.window_end is None:
        return ""
    return _("%(start)s to %(end)s", start=hour(rule.window_start), end=hour(rule.window_end))


def hour(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def delay(minutes: int) -> str:
    """`2 h`, `45 min`, `3 d`."""
    return words.span(timedelta(minutes=minutes))


def _conditions(rule: Ruled) -> tuple[Condition, ...]:
    """Those that can be told; one that is stored in another shape is told of as a fault."""
    found = []
    for one in _mappings(rule.conditions):
        try:
            found += conditions.of_stored([one])
        except (KeyError, ValueError, TypeError):
            continue
    return tuple(found)


def _when(rule: Ruled, asked: tuple[Condition, ...]) -> str:
    begins = _at_once(rule, asked) if rule.execution_delay is None else _after(rule, asked)
    also = joined([one for one in asked if not _is_told(rule, one, asked)])
    if len(asked) < len(_listed(rule.conditions)):
        unread = _("a condition that can't be read holds")
        also = f"{also}{_(' and ')}{unread}" if also else unread
    said = _("%(begins)s and %(also)s", begins=begins, also=also) if also else begins
    if not window(rule):
        return said
    start, end = hour(rule.window_start), hour(rule.window_end)
    return _("%(said)s, between %(start)s and %(end)s", said=said, start=start, end=end)


def _at_once(rule: Ruled, asked: Sequence[Condition]) -> str:
    if rule.event == Event.MESSAGE_CREATED and _direction(asked) == Direction.INCOMING:
        return _("When a message comes in")
    if rule.event == Event.MESSAGE_CREATED and _direction(asked) == Direction.OUTGOING:
        return _("When a message goes out")
    happens = EVENTS.get(rule.event, rule.event)
    return _("When %(happens)s", happens=happens)


def _after(rule: Ruled, asked: Sequence[Condition]) -> str:
    """What a rule with a delay waits for: its episode, in words."""
    length = delay(rule.execution_delay)
    if rule.trigger == Trigger.INACTIVITY:
        return _("When a conversation is quiet for %(length)s", length=length)
    if rule.event == Event.MESSAGE_CREATED:
        told = {
            Direction.INCOMING: _("When a conversation waits for an answer for %(length)s", length=length),
            Direction.OUTGOING: _("When a customer does not reply for %(length)s", length=length),
        }
        any_message = _("When a message is followed by no reply for %(length)s", length=length)
        return told.get(_direction(asked), any_message)  # type: ignore[call-overload, no-any-return]
    if rule.event == Event.CONVERSATION_OPENED:
        return _("When an opened conversation keeps its status for %(length)s", length=length)
    if rule.event == Event.CONVERSATION_RESOLVED:
        return _("When a resolved conversation keeps its status for %(length)s", length=length)
    if rule.event == Event.CONVERSATION_CREATED:
        return _("When a new conversation keeps its status for %(length)s", length=length)
    return _("When a conversation keeps its status for %(length)s", length=length)


def _direction(asked: Sequence[Condition]) -> str | None:
    """The one kind of message that all that is asked goes for, or None."""
    if any(one.joiner is Joiner.OR for one in asked):
        return None
    for one in asked:
        if one.attribute == "message_type" and one.operator is Operator.EQUAL_TO and len(one.values) == 1:
            return str(one.values[0])
    return None


def _is_told(rule: Ruled, one: Condition, asked: Sequence[Condition]) -> bool:
    """Whether how the sentence begins says it already."""
    if rule.event != Event.MESSAGE_CREATED or rule.trigger is not None or one.attribute != "message_type":
        return False
    return _direction(asked) in (Direction.INCOMING, Direction.OUTGOING)


def joined(asked: Sequence[Condition]) -> str:
    """All conditions in one sentence; AND binds tighter, which brackets say where both occur."""
    groups: list[list[str]] = [[]]
    for one in asked:
        groups[-1].append(conditions.sentence(one))
        if one.joiner is Joiner.OR:
            groups.append([])
    told = [group for group in groups if group]
    if len(told) == 1:
        return _(" and ").join(told[0])
    return _(" or ").join(f"({_(' and ').join(group)})" if len(group) > 1 else group[0] for group in told)


def _mappings(stored: Any) -> Iterable[Mapping[str, Any]]:
    return [one for one in _listed(stored) if isinstance(one, Mapping)]


def _listed(stored: Any) -> Sequence[Any]:
    return stored if isinstance(stored, list) else ()
