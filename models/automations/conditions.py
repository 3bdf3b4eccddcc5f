"""Conditions of a rule: plain values in, a decision out; no SQL and no session."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from models.automations import comparing
from models.automations.condition_grammar import CUSTOM, CUSTOMER_CUSTOM, About, Joiner, Operator
from models.automations.condition_grammar import Condition as Condition
from models.automations.condition_parsing import parse as parse
from models.automations.condition_words import sentence as sentence
from models.conversations import Conversation
from models.messages import Message

# Those that hold where their opposite does not, a missing value included.
OPPOSITES = {
    Operator.NOT_EQUAL_TO: Operator.EQUAL_TO,
    Operator.DOES_NOT_CONTAIN: Operator.CONTAINS,
    Operator.IS_NOT_PRESENT: Operator.IS_PRESENT,
}
_OF_ATTRIBUTES = ("browser_language", "referer", "mail_subject")


@dataclass(frozen=True, slots=True)
class Scene:
    """What conditions look at, as plain values.

    `conversation` and `customer` hold attributes by name, custom ones in a mapping under `custom`. On a
    message event `message` is that message; otherwise some one of `messages` must meet all message
    conditions together. `changed` gives the old and the new value by the attribute's name.
    """

    conversation: Mapping[str, Any]
    customer: Mapping[str, Any]
    now: datetime
    message: Mapping[str, Any] | None = None
    messages: Sequence[Mapping[str, Any]] = ()
    changed: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        conversation: Conversation,
        *,
        message: Message | None = None,
        messages: Iterable[Message] = (),
        changed: Mapping[str, Sequence[Any]] | None = None,
        now: datetime,
    ) -> Self:
        """The scene of stored rows. `changed` names columns; those in `attributes` are told apart here."""
        attributes = _mapping(conversation.attributes)
        return cls(
            conversation={
                "status": conversation.status,
                "inbox_id": conversation.inbox_id,
                "assignee_id": conversation.assignee_id,
                "team_id": conversation.team_id,
                "priority": conversation.priority,
                "labels": conversation.labels,
                "conversation_language": conversation.language or attributes.get("conversation_language"),
                **{name: attributes.get(name) for name in _OF_ATTRIBUTES},
                "custom": _mapping(attributes.get("custom")),
            },
            customer=_mapping(attributes.get("customer")),
            now=now,
            message=None if message is None else _values_of(message),
            messages=tuple(map(_values_of, messages)),
            changed=dict(_changes(changed or {})),
        )


@dataclass(frozen=True, slots=True)
class Explained:
    """One condition in a dry run: in words, the value that was found, and whether it holds.

    For `attribute_changed`, `found` is the pair of the old and the new value, or None.
    """

    condition: Condition
    sentence: str
    found: Any
    holds: bool


def of_stored(stored: Iterable[Mapping[str, Any]]) -> tuple[Condition, ...]:
    """The conditions that a rule keeps, without judging them again."""
    return tuple(
        Condition(
            one["attribute"],
            Operator(one["operator"]),
            tuple(one["values"]),
            Joiner(one["joiner"]) if one["joiner"] else None,
        )
        for one in stored
    )


def matches(conditions: Sequence[Condition], scene: Scene) -> bool:
    """Whether `conditions` let the scene pass: AND binds tighter than OR, and none lets all pass.

    Never raises for what is stored: a value of another kind than is asked for equals nothing.
    """
    groups = list(_groups(conditions))
    return not groups or any(_group_holds(group, scene) for group in groups)


def explain(conditions: Sequence[Condition], scene: Scene) -> list[Explained]:
    """Each condition with what it found, for a dry run.

    Where one of several messages must meet some conditions together, they are shown on the one that meets
    most of them.
    """
    return [one for group in _groups(conditions) for one in _explained(group, scene)]


def _groups(conditions: Sequence[Condition]) -> Iterator[list[Condition]]:
    """What AND joins; between them stands OR."""
    group: list[Condition] = []
    for condition in conditions:
        group.append(condition)
        if condition.joiner is not Joiner.AND:
            yield group
            group = []
    if group:
        yield group


def _group_holds(group: Sequence[Condition], scene: Scene) -> bool:
    of_message = [one for one in group if one.about is About.MESSAGE]
    others = (one for one in group if one.about is not About.MESSAGE)
    if not all(_holds(one, scene, None) for one in others):
        return False
    return not of_message or any(
        all(_holds(one, scene, message) for one in of_message) for message in _candidates(scene)
    )


def _explained(group: Sequence[Condition], scene: Scene) -> Iterator[Explained]:
    shown = _nearest([one for one in group if one.about is About.MESSAGE], scene)
    for one in group:
        message = shown if one.about is About.MESSAGE else None
        found = (
            _change(one, scene) if one.operator is Operator.ATTRIBUTE_CHANGED else _found(one, scene, message)
        )
        yield Explained(one, sentence(one), found, _holds(one, scene, message))


def _nearest(of_message: Sequence[Condition], scene: Scene) -> Mapping[str, Any] | None:
    """The message that meets most of the conditions, of several the last."""
    best: Mapping[str, Any] | None = None
    most = -1
    for message in _candidates(scene) if of_message else ():
        met = sum(_holds(one, scene, message) for one in of_message)
        if met >= most:
            best, most = message, met
    return best


def _candidates(scene: Scene) -> Sequence[Mapping[str, Any]]:
    return scene.messages if scene.message is None else (scene.message,)


def _holds(condition: Condition, scene: Scene, message: Mapping[str, Any] | None) -> bool:
    if condition.about is About.MESSAGE and message is None:
        return False
    if condition.operator is Operator.ATTRIBUTE_CHANGED:
        return _has_changed(condition, scene)
    found = _found(condition, scene, message)
    opposite = OPPOSITES.get(condition.operator)
    if opposite is not None:
        return not _COMPARE[opposite](found, condition.values, scene.now)
    return _COMPARE[condition.operator](found, condition.values, scene.now)


_COMPARE: Mapping[Operator, Callable[[Any, tuple[Any, ...], datetime], bool]] = {
    Operator.EQUAL_TO: lambda found, wanted, _now: comparing.equals_any(found, wanted),
    Operator.CONTAINS: lambda found, wanted, _now: comparing.contains_any(found, wanted),
    Operator.STARTS_WITH: lambda found, wanted, _now: comparing.starts_with_any(found, wanted),
    Operator.IS_PRESENT: lambda found, _wanted, _now: bool(comparing.texts(found)),
    Operator.IS_GREATER_THAN: lambda found, wanted, _now: comparing.order(found, wanted[0]) == 1,
    Operator.IS_LESS_THAN: lambda found, wanted, _now: comparing.order(found, wanted[0]) == -1,
    Operator.DAYS_BEFORE: lambda found, wanted, now: comparing.is_older_than(found, wanted[0], now),
}


def _found(condition: Condition, scene: Scene, message: Mapping[str, Any] | None) -> Any:
    name = condition.attribute
    if name.startswith(CUSTOMER_CUSTOM):
        return _mapping(scene.customer.get("custom")).get(name.removeprefix(CUSTOMER_CUSTOM))
    if name.startswith(CUSTOM):
        return _mapping(scene.conversation.get("custom")).get(name.removeprefix(CUSTOM))
    if condition.about is About.MESSAGE:
        return None if message is None else message.get(name)
    held = scene.customer if condition.about is About.CUSTOMER else scene.conversation
    return held.get(name)


def _change(condition: Condition, scene: Scene) -> tuple[Any, Any] | None:
    found = scene.changed.get(condition.attribute)
    return found if isinstance(found, tuple) and len(found) == 2 else None


def _has_changed(condition: Condition, scene: Scene) -> bool:
    """Whether the attribute changed, from and to what is asked; of a set, what left it and what came in."""
    change = _change(condition, scene)
    if change is None:
        return False
    old, new = change
    if isinstance(old, list | tuple | set | frozenset) or isinstance(new, list | tuple | set | frozenset):
        before, after = set(comparing.texts(old)), set(comparing.texts(new))
        old, new = list(before - after), list(after - before)
    first = condition.values[0] if condition.values else None
    asked = first if isinstance(first, Mapping) else {"to": condition.values}
    return all(
        not wanted or comparing.equals_any(side, wanted)
        for side, wanted in ((old, asked.get("from")), (new, asked.get("to")))
    )


def _values_of(message: Message) -> dict[str, Any]:
    return {"message_type": message.direction, "private_note": message.private, "content": message.text}


def _changes(changed: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """What changed, by the names that conditions use."""
    for name, (old, new) in changed.items():
        if name == "language":
            yield "conversation_language", (old, new)
        elif name == "attributes":
            before, after = _mapping(old), _mapping(new)
            yield from _differences("", before, after, _OF_ATTRIBUTES)
            own_before, own_after = _mapping(before.get("custom")), _mapping(after.get("custom"))
            yield from _differences(CUSTOM, own_before, own_after, {**own_before, **own_after})
        else:
            yield name, (old, new)


def _differences(
    prefix: str, before: Mapping[str, Any], after: Mapping[str, Any], names: Iterable[str]
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for name in names:
        old, new = before.get(name), after.get(name)
        if old != new:
            yield f"{prefix}{name}", (old, new)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
