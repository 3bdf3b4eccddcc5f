"""The marks of who is on it, as pages show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from flask import g, url_for
from sqlalchemy import select
from sqlalchemy.orm import Session

from desk_ui import words
from desk_ui.permissions import Permission, actor, refusal
from desk_ui.refreshing import Watch
from desk_ui.translating import gettext as _
from models import handling
from models.audit import AuditEvent, Result
from models.handling import Mark

Id = TypeVar("Id")
HANDLED = frozenset(
    f"{kind}.{verb}" for kind in ("followup", "execution", "delivery") for verb in ("taken_on", "let_go")
)


@dataclass(frozen=True, slots=True)
class On:
    """Somebody is on it since `at`; `id` is theirs. On paper `who`, which may be `you`, is by `name`."""

    who: str
    mine: bool
    at: datetime
    id: str
    name: str

    @property
    def paper(self) -> str:
        return _("%(who)s is on it, taken on", who=self.name)

    @classmethod
    def of(cls, mark: Mark) -> "On":
        mine = mark.operator_id == actor().id
        return cls(_("you") if mine else mark.operator, mine, mark.at, mark.operator_id, mark.operator)


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
        "on_name": on.name,
        "on_at": on.at.isoformat(),
        "on_exact": words.exact(on.at, zone),
        "on_when": words.relative(on.at, now, zone),
    }


def one_on(session: Session, resource_type: str, id: object) -> On | None:
    """Who is on one resource of the tenant at hand, or was while it needed a person."""
    return those_on(session, resource_type, [id]).get(id)


class Happened(Protocol):
    """An event of the audit, as far as it matters here."""

    @property
    def at(self) -> datetime: ...


def last_change(session: Session, resource_type: str, id: object) -> Happened | None:
    """The newest event by which who is on one resource of the tenant at hand changed."""
    query = select(AuditEvent).where(
        AuditEvent.tenant_id == g.tenant.id,
        AuditEvent.resource_type == resource_type,
        AuditEvent.resource_id == str(id),
        AuditEvent.action.in_(HANDLED),
        AuditEvent.result == Result.SUCCESS.value,
    )
    return session.scalars(query.order_by(AuditEvent.at.desc(), AuditEvent.id.desc()).limit(1)).one_or_none()


def of_person() -> tuple[Sequence[object], ...]:
    """What a page shows otherwise to whoever looks: the parts of its sign that `names_of_person` names."""
    return (g.zone,), (g.role,)


def names_of_person() -> tuple[str, ...]:
    return _("the zone of its times"), _("what you may do")


def watch(sign: str, on: On | None, happened: Happened) -> Watch:
    """What a page that is open says where who is on it changed last."""
    if on is None:
        return Watch(sign, _("nobody is on it now"), happened.at)
    if on.mine:
        return Watch(sign, _("you are on it now"), happened.at)
    return Watch(sign, _("%(who)s is on it now", who=on.who), happened.at)


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
