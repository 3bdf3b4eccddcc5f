"""Asking before an act: what will happen, to how many, what it needs; a page, or a dialog over one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self
from uuid import UUID, uuid4

from flask import g, request, url_for

from desk_ui.addresses import list_query
from desk_ui.htmx import is_htmx, render_page
from models.errors import Invalid


def once() -> str:
    """What lets a form act once, for one that is not asked about first."""
    return uuid4().hex


@dataclass(frozen=True, slots=True)
class Field:
    """One thing to fill in. `kind` is a type of input, or `textarea`, `choice`, `radios` or `choices`.

    `options` are the values and words of a choice; `value` is what stands in the field, for `choices` all
    that are ticked, divided by spaces. `warning` says what filling it in may do.
    """

    name: str
    label: str
    kind: str = "text"
    value: str = ""
    hint: str = ""
    warning: str = ""
    required: bool = True
    longest: int = 200
    options: Sequence[tuple[str, str]] = ()
    autocomplete: str = "off"
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question. `says` are its sentences, `facts` names and values, `note` what changed meanwhile.

    `verb` stands on the button and names the number where there are several; `kind` is `primary`, or
    `danger` for what reaches a customer or can't be undone. With `refusal` the note says why, the button is
    off, and there are no fields but what was `typed` already. `about` is the page of what it asks about, and
    `named` the part of its title that is not to be broken. `sample` are some of many that it asks about, and
    `rest` the number of the others. `hidden` goes with the form, the row's
    version among it; with `once` the form acts once.
    """

    title: str
    verb: str
    url: str
    back: str
    says: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()
    fields: Sequence[Field] = ()
    hidden: Mapping[str, str] = field(default_factory=dict)
    kind: str = "primary"
    refusal: str | None = None
    note: str = ""
    typed: bool = False
    once: UUID = field(default_factory=uuid4)
    about: str = ""
    named: str = ""
    sample: Sequence[str] = ()
    rest: int = 0

    def refilled(self, given: Mapping[str, str], fault: Invalid | None = None, note: str = "") -> Self:
        """The same with what was typed kept, and what is wrong said beside its field, or over all.

        After a `fault` what was seen stays what it was: who mends a field still acts on the row as it was
        asked about, and is told if that moved.
        """
        known = {one.name for one in self.fields}
        beside = fault.field if fault and fault.field in known else None
        fields = [
            replace(
                one,
                value=_typed(given, one),
                fault=fault.why if fault and one.name == beside else "",
            )
            for one in self.fields
        ]
        over = fault.detail if fault and beside is None else ""
        hidden = {name: self._seen(name, given, fault) for name in self.hidden}
        return replace(self, fields=fields, hidden=hidden, note=note or over, typed=True)

    def _seen(self, name: str, given: Mapping[str, str], fault: Invalid | None) -> str:
        anew = fault is None or fault.field == name or name in _PLACE or name not in given
        return self.hidden[name] if anew else given[name]


# Where the question came from, which says nothing of the row.
_PLACE = frozenset({"list", "shown"})


def _typed(given: Mapping[str, str], one: Field) -> str:
    if one.kind == "password":
        return ""
    if one.kind == "choices" and hasattr(given, "getlist"):
        return " ".join(given.getlist(one.name))
    return given.get(one.name, "")


def show(ask: Ask) -> str:
    """The page of `ask`, or its dialog alone for HTMX."""
    return render_page("components/ask.html", "dialog", ask=ask, in_dialog=is_htmx())


@dataclass(frozen=True, slots=True)
class Told:
    """What is shown once after an act: a secret, to be copied now."""

    title: str
    says: Sequence[str]
    label: str
    secret: str
    back: str


def tell(told: Told) -> str:
    """The page of `told`, or its dialog alone for HTMX."""
    return render_page("components/told.html", "dialog", told=told)


def seen(version: int) -> dict[str, str]:
    """What goes round with a question about one row: the row as it was seen, and where it was seen."""
    return {
        "version": str(version),
        "list": list_query(),
        "shown": "panel" if request.values.get("shown") == "panel" else "row",
    }


def came_from(area: str, **id: Any) -> str:
    """The page that a question about the row `id` came from: the row's own, or the list."""
    given = list_query()
    if request.values.get("shown") == "row":
        return url_for(f"{area}.index", tenant=g.tenant.key) + (f"?{given}" if given else "")
    return url_for(f"{area}.show", tenant=g.tenant.key, list=given or None, **id)
