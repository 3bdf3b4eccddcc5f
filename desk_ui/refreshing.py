"""Live refresh: what counts as a change of a page, and an answer only where there is one."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from zlib import crc32

from flask import g, make_response, request
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response

from desk_ui import translating, words
from desk_ui.htmx import is_htmx
from desk_ui.paging import LARGEST_ID
from desk_ui.sweeps import lines
from desk_ui.translating import gettext as _
from models import preferences
from models.errors import Invalid

MOST_NAMED = 50
NEXT_RUN = "X-Next-Run"
FIRING = "fire_followups"
# `in 12 s`, `4 min ago`, `now`, `just now`: what a script lets go on is no change.
_TICKING = re.compile(r"\b(?:in )?[0-9,]+ (?:s|min|h|d)\b(?: [0-9]+ min\b)?(?: ago\b)?|\b(?:just )?now\b")


def sign(*shown: object) -> str:
    """A short sign of what is shown, which changes with it, but not with the time that passes meanwhile."""
    return _short(_TICKING.sub("", chr(0).join(map(str, shown))))


def sign_of_facts(*facts: object) -> str:
    """The same of what holds no words that time alone changes, which takes long to look for in each row."""
    return _short(chr(0).join(map(str, facts)))


def in_parts(*parts: Sequence[object]) -> str:
    """A sign of which it can be told in which of its `parts` it changed."""
    return "-".join(sign_of_facts(*part) for part in parts)


def _short(text: str) -> str:
    return f"{crc32(text.encode()):x}"


def answer(sign: str, draw: Callable[[], str], sweep: str = FIRING) -> Response:
    """The page that `draw` draws; 304 for a script that asks for a part of it, where `sign` is as it was.

    The page tells of the next run of `sweep`.
    """
    # Imported here, since it reads what the areas show, which are read again by this.
    from desk_ui import around

    if not is_htmx():
        return make_response(draw())
    unchanged = request.if_none_match.contains_weak(sign)
    found: Response = make_response("", 304) if unchanged else make_response(draw())
    found.set_etag(sign, weak=True)
    at = lines.next_of(sweep, g.now)
    if at is not None:
        found.headers[NEXT_RUN] = at.isoformat()
    found.headers[around.HEADER] = around.told(moved=not unchanged)
    return found


def named(args: MultiDict[str, str], kind: type[Any]) -> Sequence[Any]:
    """The ids of the rows that a script asks for; what is no id is as one that is not there.

    Raises `Invalid` on `id` for more than `MOST_NAMED`.
    """
    given = args.getlist("id")
    if len(given) > MOST_NAMED:
        raise Invalid("id", f"can be given up to {MOST_NAMED} times")
    found = (_as_id(text, kind) for text in given)
    return list(dict.fromkeys(id for id in found if id is not None))


def _as_id(text: str, kind: type[Any]) -> Any:
    try:
        found = kind(text)
    except ValueError:
        return None
    return None if isinstance(found, int) and not 0 < found <= LARGEST_ID else found


@dataclass(frozen=True, slots=True)
class Watch:
    """What the page of one thing says when that moved while it was open: what it became; when, if known."""

    sign: str
    became: str
    at: datetime | None

    @classmethod
    def of(cls, sign: str, became: str, at: datetime) -> "Watch":
        """`became` as a sentence of its own begins it."""
        return cls(sign, became[:1].lower() + became[1:], at)

    @classmethod
    def beside(cls, sign: str, *names: str) -> "Watch | None":
        """Where it stands as the script shows it, and what `names` call changed beside it; else None.

        `sign` is in parts, the first of the thing itself, then one for each of `names`.
        """
        parts = sign.split("-")
        for shown in request.if_none_match.as_set(include_weak=True):
            before = shown.split("-")
            if len(before) == len(parts) and before[0] == parts[0]:
                pairs = zip(names, before[1:], parts[1:], strict=True)
                changed = [name for name, was, now in pairs if was != now]
                return cls(sign, changed[0], None) if changed else None
        return None


def chosen() -> int:
    """After how many seconds the pages of the person at hand are read again; 0 for never."""
    return preferences.refresh_of(g.operator)


def choices() -> list[tuple[int, str]]:
    """What can be chosen, each with its words."""
    return [(seconds, span(seconds)) for seconds in preferences.REFRESHES]


def span(seconds: int) -> str:
    if not seconds:
        return _("off")
    return _("%(n)s s", n=seconds) if seconds < 60 else _("%(n)s min", n=seconds // 60)


def said() -> str:
    """What the script says, as JSON: it has no words of its own."""
    return _said(translating.language())


@cache
def _said(_language: str) -> str:
    found = {
        "read": _("Read at {}"),
        "off": _("Read at {}, refresh is off"),
        "tick": _("Paused while you select, read at {}"),
        "menu": _("Paused while a menu is open, read at {}"),
        "dialog": _("Paused while a question is open, read at {}"),
        "failed": _("Not refreshed for {}"),
        "signedOut": _("You are signed out."),
        "signIn": _("Sign in"),
        "refused": _("This page can't be read any more."),
        "newer": _("The desk was updated."),
        "reload": _("Reload"),
        "gone": _("no longer kept"),
        "new": [_("1 new, show"), _("{} new, show")],
        "other": _("More changed, show"),
        "changed": [_("1 row changed"), _("{} rows changed")],
        "moved": _("This changed: {}."),
        "show": _("Show it"),
    }
    return json.dumps(found, ensure_ascii=False)


def clock() -> str:
    """When the page was read, to the second, in its zone."""
    return words.clock_with_seconds(g.now, g.zone)
