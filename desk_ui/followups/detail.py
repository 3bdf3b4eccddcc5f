"""What the page of one follow-up shows: its facts, what each gate says, and its timeline, in words."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

from flask import g, url_for
from flask_babel import gettext as _
from markupsafe import Markup
from sqlalchemy.orm import Session

from desk_ui import search, words
from desk_ui.followups import (
    asked,
    customers,
    foretelling,
    hands,
    next_run,
    offers,
    queries,
    refusals,
    told,
    watching,
)
from desk_ui.followups.asked import Task
from desk_ui.followups.gates import GateLine, Judged, gate_lines, judged_as
from desk_ui.followups.marking import mark
from desk_ui.followups.queries import Filters, Row, Scene, Tab
from desk_ui.followups.views import TABS
from desk_ui.handling import marks
from desk_ui.handling.marks import Hand, On
from desk_ui.marks import Mark
from desk_ui.offering import Offer
from desk_ui.paging import place
from desk_ui.refreshing import Watch
from models import endpoint_urls
from models.followups.foresight import Foresight, foresee
from models.followups.records import REARMABLE, Contact, ContactState, FollowUp, Status
from models.tenants import AgentHold


@dataclass(frozen=True, slots=True)
class DetailView:
    """The page of one follow-up."""

    scene: Scene
    row: FollowUp
    thin: Row
    filters: Filters
    place: dict[str, str]
    foresight: Foresight | None
    contact: Contact | None
    timeline: list[queries.Entry]
    deliveries: list[Any]
    lines: list[GateLine] = field(default_factory=list)
    judged: Judged | None = None
    task: Task | None = None
    again: customers.Again | None = None
    attention_after: timedelta = timedelta()
    hold: AgentHold | None = None
    customer_tab: Tab | None = None
    opt_out: str | None = None
    undo: Offer | None = None
    hand: Hand | None = None
    on: On | None = None

    @property
    def mark(self) -> Mark:
        wants = self.task.wants(self.scene.now - self.attention_after) if self.task else None
        if wants:
            return Mark("half", "warn", wants)
        return mark(self.row.status, overdue=self.thin.overdue, held=self.thin.held or self.scene.paused)

    @property
    def task_state(self) -> str:
        return asked.state(self.task, self.scene.now) if self.task else _("no longer kept")

    origin = staticmethod(endpoint_urls.origin)

    @property
    def list_url(self) -> str:
        return url_for("followups.index", tenant=g.tenant.key, **self.filters.as_params(), **self.place)

    @property
    def customer_url(self) -> str:
        """What is kept of the customer: the tab that holds something."""
        filters = Filters(self.customer_tab or Tab.PENDING, customer=self.row.customer)
        return url_for("followups.index", tenant=g.tenant.key, **filters.as_params())

    @property
    def list_name(self) -> str:
        return _("Follow-ups, %(tab)s", tab=str(TABS[self.filters.tab][0]).lower())

    @property
    def query(self) -> str:
        return urlencode(self.filters.as_params() | self.place)

    @property
    def refusals(self) -> dict[str, str | None]:
        """Why each act is off, None where it can be done."""
        return {
            "reschedule": refusals.to_reschedule(self.row),
            "cancel": refusals.to_cancel(self.row),
            "rearm": refusals.to_rearm(self.row, self.contact, self.task),
            "revoke": refusals.to_revoke(self.contact, self.scene.now),
        }

    @property
    def watch(self) -> Watch:
        return watching.watch(self)

    @property
    def lead(self) -> Markup:
        """What will happen, or happened, in one or two sentences."""
        return lead(self)

    @property
    def acts_next(self) -> str:
        """Who will act on it by itself, and when, where that is known."""
        if self.foresight is None:
            return ""
        return next_run.will(self.row, self.scene, self.foresight.verdict, held=self.thin.held)

    @property
    def opted_out_by(self) -> str:
        how = self.contact.revoked_by if self.contact else None
        return _("by %(who)s", who=refusals.opted_out_by(how)) if how else ""

    def moved(self, entry: queries.Entry) -> str:
        """From which time to which, or from whom, an entry tells that it went; empty where of neither."""
        if from_whom := entry.detail.get("taken_over_from"):
            return _("over from %(who)s", who=from_whom)
        times = entry.detail.get("at_before"), entry.detail.get("at_after")
        if None in times:
            return ""
        before, after = (self._day_and_time(datetime.fromisoformat(time)) for time in times)
        return _("from %(before)s to %(after)s", before=before, after=after)

    def _day_and_time(self, at: datetime) -> str:
        # Never as `tomorrow`: what is told stays, and the day goes on.
        day = at if at.year == self.scene.now.year else self.scene.now
        return words.day_and_time(at, day, self.scene.zone)

    @property
    def contact_mark(self) -> Mark:
        if self.contact is None:
            return Mark("ring", "idle", _("Never messaged"))
        state = ContactState(self.contact.state)
        shape, tone = {
            ContactState.GRANTED: ("disc", "good"),
            ContactState.REVOKED: ("cross", "bad"),
            ContactState.UNAVAILABLE: ("square", "warn"),
        }[state]
        return Mark(shape, tone, str(words.CONTACTS[state]))


def detail(
    session: Session, scene: Scene, followup: FollowUp, list_query: str, attention_after: timedelta
) -> DetailView:
    """Read all that the page of `followup` shows; `list_query` is the list that led to it.

    A task that nobody took or finished for `attention_after` is marked."""
    given = dict(parse_qsl(list_query)) or {"tab": followup.status}
    filters, _unusable = Filters.from_args(given)
    after = place(given)
    over = followup.status in REARMABLE
    foresight = foresee(session, followup, declared=scene.declared, now=scene.now, consents=over)
    waits = followup.status == Status.PENDING
    judged = waits or over
    thin = queries.one(session, scene, followup.id)
    assert thin is not None
    task, history = asked.task_of(session, scene.tenant, followup)
    again = customers.rearmed_as(session, scene.tenant, followup.id)
    since = [*history, *(customers.booking_again(session, scene.tenant, again) if again else [])]
    since += customers.consent_of(session, scene.tenant, followup, foresight.contact)
    on = marks.one_on(session, "followup", followup.id)
    return DetailView(
        scene=scene,
        row=followup,
        thin=thin,
        filters=filters,
        place={"after": after} if after else {},
        foresight=foresight if judged else None,
        contact=foresight.contact,
        timeline=asked.merged(queries.timeline(session, scene.tenant, followup.id), since),
        deliveries=told.deliveries(session, scene.tenant, followup.id),
        lines=gate_lines(foresight, scene) if judged else [],
        judged=judged_as(foresight, scene, waits=waits, held=thin.held) if judged else None,
        task=task,
        again=again,
        attention_after=attention_after,
        hold=session.get(AgentHold, (scene.tenant.id, followup.agent)) if thin.held and waits else None,
        customer_tab=search.tab_of_customer(session, scene.tenant, followup.customer),
        opt_out=customers.opted_out_because(session, scene.tenant, foresight.contact),
        hand=hands.hand(on, thin, scene, task, again=again is not None, list_query=list_query),
        on=on,
        undo=offers.undo(followup, shown="panel", list_query=list_query),
    )


def _said(text: str, **values: object) -> Markup:
    """`text`, translated already, with `values` put in, escaped unless they are markup."""
    return Markup(text) % values


def lead(view: DetailView) -> Markup:
    row, scene = view.row, view.scene
    if row.status != Status.PENDING or view.foresight is None:
        return _ended(view)
    due = words.ticking(row.due_at, scene.now, scene.zone)
    said = _("Due %(when)s.") if row.due_at > scene.now else _("It was due %(when)s.")
    return Markup(" ").join([_said(said, when=due), *filter(None, _then(view, view.foresight))])


def _then(view: DetailView, foresight: Foresight) -> list[Markup | str]:
    """What comes next for one that is pending, by whom it waits first."""
    row, scene = view.row, view.scene
    if scene.paused:
        return [_("Follow-ups are switched off for this tenant, so it waits.")]
    if view.hold is not None:
        return [_on_hold(view.hold, scene)]
    if scene.halted:
        return [_("Firing is paused, so it waits.")]
    if view.acts_next and foresight.verdict.fires:
        return []
    return [foretelling.of_what_comes(row, foresight, scene)]


def _on_hold(hold: AgentHold, scene: Scene) -> Markup:
    when = words.ticking(hold.at, scene.now)
    if hold.reason:
        said = _("Its agent was put on hold %(when)s by %(who)s: %(why)s.")
        held = _said(said, when=when, who=hold.by, why=hold.reason.rstrip("."))
        return _said("%(held)s %(then)s", held=held, then=_("So it waits."))
    return _said(_("Its agent was put on hold %(when)s by %(who)s, so it waits."), when=when, who=hold.by)


def _ended(view: DetailView) -> Markup:
    row, scene = view.row, view.scene
    if row.status == Status.FIRED:
        at = words.ticking(row.fired_at or row.updated_at, scene.now)
        fired = _said(_("Fired %(when)s."), when=at)
        return fired + " " + asked.stands(view.task, scene.now) if row.task_id else fired
    when = words.ticking(row.updated_at, scene.now, scene.zone)
    if row.status == Status.BLOCKED:
        why = words.block(row.blocked_reason)
        return _said(_("Blocked %(when)s: %(why)s. Nothing was sent."), when=when, why=why)
    opted_out = refusals.with_opt_out(row.cancelled_by)
    if opted_out:
        said = _("Cancelled %(when)s: opted out by %(who)s. Nothing was sent.")
        return _said(said, when=when, who=opted_out)
    if row.cancelled_by:
        by = _("Cancelled %(when)s by %(who)s. Nothing was sent.")
        return _said(by, when=when, who=row.cancelled_by)
    return _said(_("Cancelled %(when)s. Nothing was sent."), when=when)
