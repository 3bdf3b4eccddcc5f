"""What can be done to many follow-ups at once, in words, and the views that ask about it and do it."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from flask import g, url_for
from sqlalchemy import ColumnElement, and_, not_, select
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from desk_ui import local_time, refreshing, words
from desk_ui.asking import Field
from desk_ui.bulk import commands, starting
from desk_ui.bulk.kinds import Described, Kind, add
from desk_ui.bulk.selecting import Selection
from desk_ui.followups import queries, refusals, routes
from desk_ui.followups.queries import Filters, Scene, Tab
from desk_ui.followups.views import ListView
from desk_ui.listing import Asked
from desk_ui.paging import Page
from desk_ui.permissions import Permission, requires
from desk_ui.translating import gettext as _
from desk_ui.translating import lazy_gettext as _l
from models.base import db, table_of
from models.bulk_operations import Rows
from models.clock import iso, parse_time
from models.errors import Invalid
from models.followups import booking, in_bulk
from models.followups.records import REARMABLE, FollowUp, Status

LATER = timedelta(hours=1)
SHOWN = 5
_OF = table_of(FollowUp).c
_LOST = (_OF.customer, _OF.status, _OF.fired_at, _OF.updated_at, _OF.cancelled_by)


class _OfFollowUps(Kind):
    area = "followups"
    columns = ("customer", "reason")
    permission = Permission.ACT_ON_FOLLOWUPS
    list_filters = Filters

    @abstractmethod
    def takes(self) -> ColumnElement[bool]:
        """The rows that the verb can be done to."""

    def rows(self, selection: Selection) -> Rows:
        filters: Filters = selection.filters(Filters)
        if filters.tab not in self.tabs:
            raise Invalid("list", _("holds what this can't be done to"))
        if selection.seen is not None:
            # What became overdue since, by nothing but the time that passed, was not seen.
            scene = replace(routes.scene_at_hand(), now=selection.seen)
            return matching(scene, filters, selection.seen, self.takes())
        query = select(_OF.id, selection.version(_OF.id).label("version"))
        query = query.where(_OF.tenant_id == g.tenant.id, selection.among(_OF.id))
        return Rows(query, _by(filters.tab))

    def stands(self, selection: Selection) -> str:
        filters: Filters = selection.filters(Filters)
        if filters.tab is not Tab.OVERDUE:
            return ""
        scene = routes.scene_at_hand()
        return refreshing.sign_of_facts(scene.paused, sorted(scene.held), scene.declared.version)

    def able(self, selection: Selection) -> Rows:
        all_of = self.rows(selection)
        return Rows(all_of.query.where(self._as_shown(selection)), all_of.by)

    def _as_shown(self, selection: Selection) -> ColumnElement[bool]:
        return and_(_OF.version == selection.version(_OF.id), self.takes())

    def lost(self, selection: Selection, most: int) -> Sequence[str]:
        query = select(*_LOST).where(
            _OF.tenant_id == g.tenant.id, selection.among(_OF.id), not_(self._as_shown(selection))
        )
        found = db.session().execute(query.order_by(_OF.updated_at.desc(), _OF.id).limit(most))
        return [self.went(*row) for row in found]

    def went(self, customer: str, status: str, fired_at: datetime | None, at: datetime, by: str) -> str:
        """What became of one that it can't be done to any more."""
        said = {"customer": customer, "when": words.distance(fired_at or at, g.now), "who": by}
        opted_out = refusals.with_opt_out(by)
        if status == Status.CANCELLED and opted_out:
            return _(
                "%(customer)s was cancelled %(when)s: opted out by %(who)s.", **said | {"who": opted_out}
            )
        if status == Status.CANCELLED and by:
            return _("%(customer)s was cancelled %(when)s by %(who)s.", **said)
        return {
            Status.CANCELLED: _("%(customer)s was cancelled %(when)s.", **said),
            Status.FIRED: _("%(customer)s fired %(when)s.", **said),
            Status.BLOCKED: _("%(customer)s was blocked %(when)s.", **said),
            Status.PENDING: _("%(customer)s changed %(when)s.", **said),
        }[Status(status)]

    def described(self, session: Session, tenant_id: int, ids: Sequence[Any]) -> Mapping[str, Described]:
        query = select(_OF.id, _OF.customer, _OF.reason).where(_OF.tenant_id == tenant_id, _OF.id.in_(ids))
        return {
            str(id): {"customer": customer, "reason": reason}
            for id, customer, reason in session.execute(query)
        }

    def narrowed(self, query: str) -> str:
        asked = Asked.of(Filters, dict(parse_qsl(query)))
        view = ListView(asked, Page([], None), [], scene=routes.scene_at_hand())
        return view.in_words

    def sample(self, rows: Rows) -> Sequence[str]:
        first = rows.first(SHOWN).subquery()
        query = select(_OF.customer, _OF.reason, _OF.due_at).where(_OF.tenant_id == g.tenant.id)
        query = query.where(_OF.id.in_(select(first.c.id))).order_by(*rows.by)
        return [
            _(
                "%(customer)s, %(reason)s, due %(when)s",
                customer=customer,
                reason=reason,
                when=words.relative(due_at, g.now, g.zone),
            )
            for customer, reason, due_at in db.session().execute(query)
        ]

    def named(self, ids: Sequence[str]) -> Mapping[str, tuple[str, str]]:
        found = {UUID(id): id for id in ids}
        query = select(_OF.id, _OF.customer, _OF.reason).where(
            _OF.tenant_id == g.tenant.id, _OF.id.in_(list(found))
        )
        return {
            found[id]: (
                f"{customer}, {reason}",
                url_for("followups.show", tenant=g.tenant.key, followup_id=id),
            )
            for id, customer, reason in db.session().execute(query)
        }


def matching(scene: Scene, filters: Filters, seen: datetime, takes: ColumnElement[bool]) -> Rows:
    """All that a list holds of what `takes` says and of what did not change since it was `seen`."""
    query = queries.selected(scene, filters, None).with_only_columns(_OF.id, _OF.version)
    query = query.where(_OF.updated_at <= seen, takes).order_by(None).limit(None)
    return Rows(query.params(queries.values(scene, filters)), _by(filters.tab))


def _by(tab: Tab) -> tuple[ColumnElement[Any], ...]:
    order = queries.order_of(tab)
    return (order, _OF.id) if tab.waits else (order.desc(), _OF.id.desc())


class Cancel(_OfFollowUps):
    verb = in_bulk.CANCEL
    noun = "cancellation"
    endpoint = "followups.bulk_cancel"
    tabs = frozenset({Tab.PENDING, Tab.OVERDUE})
    name = _l("Cancel follow-ups")
    one, many = _l("Cancel 1 follow-up"), _l("Cancel {} follow-ups")
    every = _l("Cancel all that match")
    ticked = _l("Cancel the ticked ones")
    still = _l("{} of the {} selected can still be cancelled.")
    begun = _l("Cancelling {} follow-ups.")
    done_one, done_many = _l("Cancelled 1 follow-up."), _l("Cancelled {} follow-ups.")

    def takes(self) -> ColumnElement[bool]:
        return in_bulk.cancellable()

    def says(self, number: int, selection: Selection) -> Sequence[str]:
        one = _("It does not fire, and its customer is not written to.")
        return [
            one if number == 1 else _("They do not fire, and their customers are not written to."),
            _("It can't be undone; what was cancelled can be re-armed, for another time."),
            *_by_itself(number),
        ]


class Rearm(_OfFollowUps):
    verb = in_bulk.REARM
    noun = "rearming"
    endpoint = "followups.bulk_rearm"
    tabs = frozenset({Tab.BLOCKED, Tab.CANCELLED})
    name = _l("Re-arm follow-ups")
    one, many = _l("Re-arm 1 follow-up"), _l("Re-arm {} follow-ups")
    every = _l("Re-arm all that match")
    ticked = _l("Re-arm the ticked ones")
    still = _l("{} of the {} selected can still be re-armed.")
    begun = _l("Re-arming {} follow-ups.")
    done_one, done_many = _l("Re-armed 1 follow-up."), _l("Re-armed {} follow-ups.")

    def takes(self) -> ColumnElement[bool]:
        return in_bulk.rearmable()

    def says(self, number: int, selection: Selection) -> Sequence[str]:
        if number == 1:
            return [
                _("It is booked anew for the time below, and judged by the policy then."),
                _("It is left as it is if booked again or fired since, or if its customer opted out."),
                _("What is booked can be cancelled until it fires."),
            ]
        return [
            _("Each is booked anew for the time below, and judged by the policy then."),
            _("Left as they are: what was booked again or fired since, and customers who opted out."),
            _("What is booked can be cancelled until it fires."),
            *_by_itself(number),
        ]

    def went(self, customer: str, status: str, fired_at: datetime | None, at: datetime, by: str) -> str:
        if Status(status) in REARMABLE:
            return _("%(customer)s was booked again already, or the same fired since.", customer=customer)
        return super().went(customer, status, fired_at, at, by)

    def fields(self, number: int) -> Sequence[Field]:
        hint = _("In %(zone)s, at least 5 minutes ahead; the same for all of them.", zone=g.zone)
        if number == 1:
            hint = _("In %(zone)s, at least 5 minutes ahead.", zone=g.zone)
        at = local_time.typed(g.now + LATER, g.zone)
        return [Field("at", _("When"), kind="datetime-local", value=at, hint=hint)]

    def options(self, form: Mapping[str, str]) -> dict[str, Any]:
        at = local_time.instant("at", form.get("at", ""), g.zone)
        booking.check_ahead(at, g.now)
        return {"at": iso(at)}

    def told(self, options: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        return [(_("For"), words.exact(parse_time(str(options["at"]), "at"), g.zone))]


def _by_itself(number: int) -> Iterable[str]:
    if number > starting.AT_ONCE:
        yield _("A worker does it; its page shows how far it is, and can stop it.")


CANCEL, REARM = Cancel(), Rearm()
add(CANCEL, REARM)


@requires(Permission.ACT_ON_FOLLOWUPS, action="bulk.started", resource="bulk")
def ask_bulk() -> Response:
    """What is to be done to the selected ones; changes nothing."""
    return starting.ask([CANCEL, REARM])


@requires(Permission.ACT_ON_FOLLOWUPS, action="bulk.started", resource="bulk")
def bulk_cancel() -> Response:
    return starting.start(CANCEL)


@requires(Permission.ACT_ON_FOLLOWUPS, action="bulk.started", resource="bulk")
def bulk_rearm() -> Response:
    return starting.start(REARM)


@requires(Permission.ACT_ON_FOLLOWUPS, action="bulk.stopped", resource="bulk", argument="operation_id")
def bulk_stop(operation_id: UUID) -> Response:
    return commands.stop("followups", operation_id)
