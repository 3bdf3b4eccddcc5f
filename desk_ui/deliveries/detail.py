"""What the page of one delivery shows: its facts, what it says, and each attempt, in words."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode

from flask import g, url_for
from markupsafe import Markup
from sqlalchemy.orm import Session

from desk_ui import refreshing, words
from desk_ui.deliveries import answers, queries, views
from desk_ui.deliveries.queries import TAB_OF, Filters, Row
from desk_ui.deliveries.views import Line, Mark
from desk_ui.handling import marks
from desk_ui.handling.marks import Hand, On
from desk_ui.paging import place
from desk_ui.permissions import Permission
from desk_ui.refreshing import Watch
from desk_ui.translating import gettext as _
from models import deliveries, delivery_needs
from models.base import db
from models.deliveries import SENDER, DeliveryEvent, State
from models.sending import MOST_ATTEMPTS


@dataclass(frozen=True, slots=True)
class Step:
    """One attempt or one act of a person: what it was, what came of it, and how it went on."""

    at: datetime
    what: str
    says: str
    took: str
    bad: bool


@dataclass(frozen=True, slots=True)
class DetailView:
    """The page of one delivery."""

    row: Row
    filters: Filters
    place: dict[str, str]
    payload: dict[str, Any]
    steps: list[Step]

    most_attempts = MOST_ATTEMPTS

    @property
    def line(self) -> Line:
        return views.line(self.row, query=self.query)

    @property
    def mark(self) -> Mark:
        return views.mark(self.row)

    @property
    def query(self) -> str:
        return urlencode(self.filters.as_params() | self.place)

    @property
    def list_url(self) -> str:
        return url_for("deliveries.index", tenant=g.tenant.key, **self.filters.as_params(), **self.place)

    @property
    def list_name(self) -> str:
        return _("Deliveries, %(tab)s", tab=str(views.TABS[self.filters.tab][0]).lower())

    @property
    def webhook_id(self) -> str:
        return f"evt_{self.row.event_id}"

    @property
    def said(self) -> str:
        """The payload, laid out to be read."""
        return json.dumps(self.payload, indent=2, sort_keys=True, ensure_ascii=False)

    @property
    def waits_for_endpoint(self) -> bool:
        return views.waits_for_endpoint(self.row)

    @property
    def watch(self) -> Watch:
        sign = sign_of(self.row, self.on)
        if beside := Watch.beside(sign, _("its endpoint"), *marks.names_of_person()):
            return beside
        last = self.steps[-1] if self.steps else None
        what, at = (last.what, last.at) if last else (self.mark.word, self.row.updated_at)
        handled = marks.last_change(db.session(), "delivery", self.row.id)
        if handled is not None and handled.at > at:
            return marks.watch(sign, self.on, handled)
        return Watch.of(sign, what, at)

    @property
    def on(self) -> On | None:
        """Who is on it, or was while it needed a person."""
        return marks.one_on(db.session(), "delivery", self.row.id)

    @property
    def hand(self) -> Hand | None:
        """Who is on it; None where it needs nobody."""
        if not delivery_needs.needs_a_person(self.row.state, self.row.endpoint_state):
            return None
        fields = {"version": str(self.row.version), "list": self.query, "shown": "panel"}
        return marks.hand(
            self.on, Permission.ACT_ON_DELIVERIES, "deliveries", fields, delivery_id=self.row.id
        )

    @property
    def refusal_to_rearm(self) -> str | None:
        return views.refusal_to_rearm(self.row)

    @property
    def refusal_to_send(self) -> str | None:
        return views.refusal_to_send(self.row)

    @property
    def lead(self) -> Markup | str:
        """How it stands and what comes next, in one or two sentences."""
        row = self.row
        known = views.when(row)
        if known is None:
            return _("Its endpoint is paused, so it waits until that is resumed.")
        at = words.ticking(known, g.now)
        n = views.attempts(row.attempts)
        if row.state == State.DELIVERED:
            return Markup(_("Delivered %(when)s, after %(n)s.")) % {"when": at, "n": n}
        if row.state == State.DEAD:
            said = _("Given up %(when)s. Nothing more is sent unless it is re-armed.")
            return Markup(said) % {"when": at}
        if row.state == State.DELIVERING:
            return Markup(_("Taken to be sent %(when)s.")) % {"when": at}
        if row.order <= g.now:
            return _("It is due, and the next run takes it.")
        return Markup(_("The next attempt is %(when)s.")) % {"when": at}


def sign_of(row: Row, on: On | None) -> str:
    """Changes with each attempt and act, and with who is on it; in parts, with its endpoint and who looks."""
    itself = row.version, on and (on.id, on.at)
    return refreshing.in_parts(itself, (row.endpoint_state, row.url), *marks.of_person())


def detail(session: Session, row: Row, list_query: str) -> DetailView:
    """Read all that the page of `row` shows; `list_query` is the list that led to it."""
    given = dict(parse_qsl(list_query)) or {"tab": TAB_OF[State(row.state)].value}
    filters, _unusable = Filters.from_args(given)
    after = place(given, int)
    delivery = deliveries.get(session, g.tenant.id, row.id)
    return DetailView(
        row=row,
        filters=filters,
        place={"after": after} if after else {},
        payload=queries.payload(session, g.tenant, row.event_id),
        steps=[step(event) for event in deliveries.history(session, delivery)],
    )


def step(event: DeliveryEvent) -> Step:
    """One line of the history in words."""
    took = _("%(ms)s ms", ms=words.number(event.duration_ms)) if event.duration_ms else ""
    if event.actor != SENDER.label:
        return _act(event)
    what, bad = _attempt(event)
    return Step(event.at, what, answers.says(event.status, event.error), took, bad)


def _act(event: DeliveryEvent) -> Step:
    if event.to_state == State.PENDING and event.from_state == State.DEAD:
        return Step(event.at, _("Re-armed by %(who)s", who=event.actor), event.error or "", "", False)
    return Step(event.at, _("Sent ahead of its time by %(who)s", who=event.actor), "", "", False)


def _attempt(event: DeliveryEvent) -> tuple[str, bool]:
    """What an attempt was, and whether it went badly."""
    n = event.attempt
    if event.to_state == State.DELIVERED:
        return _("Attempt %(n)s: delivered", n=n), False
    if event.to_state == State.DELIVERING:
        return _("Attempt %(n)s: a late answer", n=n), True
    if event.from_state != State.DELIVERING:
        return _("Given up without an attempt"), True
    if event.to_state == State.DEAD:
        return _("Attempt %(n)s: failed, given up", n=n), True
    return _("Attempt %(n)s: failed", n=n), True
