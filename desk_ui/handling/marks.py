"""The marks of who is on it, as pages show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from flask import g, url_for
from sqlalchemy.orm import Session

from desk_ui import words
from desk_ui.permissions import Permission, actor, refusal
from desk_ui.translating import gettext as _
from models import handling
from models.handling import Mark

Id = TypeVar("Id")


@dataclass(frozen=True, slots=True)
class On:
    """Somebody is on it since `at`; `id` is theirs."""

    who: str
    mine: bool
    at: datetime
    id: str

    @classmethod
    def of(cls, mark: Mark) -> "On":
        mine = mark.operator_id == actor().id
        return cls(_("you") if mine else mark.operator, mine, mark.at, mark.operator_id)


@dataclass(frozen=True, slots=True)
class Hand:
    """What the page of one thing that needs a person shows: who is on it, and what one may do about that."""

    on: On | None
    take_url: str
    ask_url: str
    let_go_url: str
    fields: Mapping[str, str]
    refusal: str | None


def those_on(session: Session, resource_type: str, ids: Sequence[Id]) -> dict[Id, On]:
    """Who is on the resources `ids` of the tenant at hand, all of which need a person; no query for none."""
    by_name = {str(id): id for id in ids}
    found = handling.of(session, g.tenant.id, resource_type, by_name.keys())
    return {by_name[name]: On.of(mark) for name, mark in found.items()}


def values(on: On | None, now: datetime, zone: str) -> dict[str, object]:
    """What `hands.line` shows in a row, by the names of its slots."""
    if on is None:
        return {}
    return {
        "on": on.who,
        "on_at": on.at.isoformat(),
        "on_exact": words.exact(on.at, zone),
        "on_when": words.relative(on.at, now, zone),
    }


def one_on(session: Session, resource_type: str, id: object) -> On | None:
    """Who is on one resource of the tenant at hand, or was while it needed a person."""
    return those_on(session, resource_type, [id]).get(id)


def hand(
    on: On | None, permission: Permission, area: str, fields: Mapping[str, str], **argument: object
) -> Hand:
    """The hand of one thing: `argument` is its id as the routes of its `area` name it."""
    return Hand(
        on=on,
        take_url=url_for(f"{area}.take_on", tenant=g.tenant.key, **argument),  # type: ignore[arg-type]
        ask_url=url_for(
            f"{area}.ask_take_over",
            tenant=g.tenant.key,
            list=fields.get("list") or None,
            **argument,  # type: ignore[arg-type]
        ),
        let_go_url=url_for(f"{area}.let_go", tenant=g.tenant.key, **argument),  # type: ignore[arg-type]
        fields=fields,
        refusal=refusal(permission),
    )
