"""A policy in words, and what desk.toml says of it."""

from collections.abc import Iterator, Mapping
from typing import Any

from flask_babel import gettext as _
from flask_babel import ngettext

from desk_ui import words
from models.declarations import Declared
from models.followups.policy import Parsed, Policy


def frequency(policy: Policy) -> str:
    if policy.ceiling is None:
        return _("no limit on messages")
    return ngettext(
        "at most %(num)s message a customer in %(span)s",
        "at most %(num)s messages a customer in %(span)s",
        policy.ceiling.fires,
        span=words.span(policy.ceiling.window),
    )


def quiet_hours(policy: Policy) -> str:
    hours = policy.quiet_hours
    if hours is None:
        return _("no quiet hours")
    return _(
        "quiet from %(start)s to %(end)s in %(zone)s",
        start=f"{hours.start:%H:%M}",
        end=f"{hours.end:%H:%M}",
        zone=hours.zone,
    )


def silence(policy: Policy) -> str:
    return ngettext(
        "stops after %(num)s message without a reply",
        "stops after %(num)s messages without a reply",
        policy.silence_after_sends,
    )


def keywords(parsed: Parsed) -> str:
    number = len(parsed.keywords)
    if not number:
        return _("no opt-out words")
    return ngettext("%(num)s opt-out phrase", "%(num)s opt-out phrases", number)


def in_one_line(parsed: Parsed) -> str:
    """The whole policy: `at most 2 messages a customer in 24 h; no quiet hours; …`."""
    if parsed.policy is None:
        return _(
            "No policy in force. What is due is blocked. %(keywords)s.", keywords=_capital(keywords(parsed))
        )
    parts = (
        frequency(parsed.policy),
        quiet_hours(parsed.policy),
        silence(parsed.policy),
        keywords(parsed),
    )
    return _capital("; ".join(parts)) + "."


def as_declared(declared: Declared, agent: str) -> list[tuple[str, str]]:
    """Each setting of the agent in desk.toml: its path below the agent, and its value as written there."""
    table = declared.table("agents").get(agent, {})
    return list(_flat("", table)) if isinstance(table, Mapping) else [("", _toml(table))]


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(f"{path}.{name}" if path else name, inner)
    else:
        yield path, _toml(value)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
