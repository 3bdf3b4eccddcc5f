"""What can be done to many executions at once, in words, and the views that ask about it and do it."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from flask import g, url_for
from markupsafe import Markup
from sqlalchemy import ColumnElement, Select, and_, not_, select
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from desk_ui import words
from desk_ui.automations import executions_queries as queries
from desk_ui.automations import executions_routes as routes
from desk_ui.automations.executions_queries import Filters, Scene, Tab
from desk_ui.automations.executions_told import mark
from desk_ui.bulk import commands, starting
from desk_ui.bulk.kinds import Described, Kind, add
from desk_ui.bulk.selecting import Selection
from desk_ui.listing import Asked
from desk_ui.paging import Page
from desk_ui.permissions import Permission, requires
from desk_ui.translating import gettext as _
from desk_ui.translating import lazy_gettext as _l
from models.automations import in_bulk
from models.automations.records import AutomationRule, Execution, Skip, Status
from models.base import db, table_of
from models.bulk_operations import Rows
from models.conversations import Conversation
from models.errors import Invalid

SHOWN = 5
_OF = table_of(Execution).c


class _OfExecutions(Kind):
    area = "executions"
    columns = ("rule", "conversation")
    permission = Permission.ACT_ON_EXECUTIONS
    list_filters = Filters

    @abstractmethod
    def takes(self, now: datetime) -> ColumnElement[bool]:
        """The rows that the verb can be done to."""

    def rows(self, selection: Selection) -> Rows:
        filters: Filters = selection.filters(Filters)
        if filters.tab not in self.tabs:
            raise Invalid("list", _("holds what this can't be done to"))
        if selection.seen is not None:
            # What became stale since, by nothing but the time that passed, was not seen.
            scene = replace(routes.scene_at_hand(), now=selection.seen)
            return matching(scene, filters, selection.seen, self.takes(selection.seen))
        query = select(_OF.id, selection.version(_OF.id).label("version"))
        query = query.where(_OF.tenant_id == g.tenant.id, selection.among(_OF.id))
        return Rows(query, _by(filters.tab))

    def able(self, selection: Selection) -> Rows:
        all_of = self.rows(selection)
        return Rows(all_of.query.where(self._as_shown(selection)), all_of.by)

    def _as_shown(self, selection: Selection) -> ColumnElement[bool]:
        return and_(_OF.version == selection.version(_OF.id), self.takes(g.now))

    def lost(self, selection: Selection, most: int) -> Sequence[str]:
        query = queries.of_these(g.tenant).where(selection.among(_OF.id), not_(self._as_shown(selection)))
        query = query.order_by(_OF.updated_at.desc(), _OF.id).limit(most)
        return [_went(queries.Row(*row)) for row in db.session().execute(query)]

    def described(self, session: Session, tenant_id: int, ids: Sequence[Any]) -> Mapping[str, Described]:
        found = session.execute(_named(tenant_id).where(_OF.id.in_(ids)))
        return {str(id): {"rule": rule, "conversation": conversation} for id, rule, conversation in found}

    def narrowed(self, query: str) -> str:
        asked = Asked.of(Filters, dict(parse_qsl(query)))
        return routes.list_of(asked, Page([], None), [], routes.scene_at_hand()).in_words

    def sample(self, rows: Rows) -> Sequence[str]:
        first = rows.first(SHOWN).subquery()
        query = _named(g.tenant.id).where(_OF.id.in_(select(first.c.id))).order_by(*rows.by)
        return [_in_words(rule, talk) for _id, rule, talk in db.session().execute(query)]

    def named(self, ids: Sequence[str]) -> Mapping[str, tuple[str, str]]:
        by_id = {UUID(id): id for id in ids}
        query = _named(g.tenant.id).where(_OF.id.in_(list(by_id)))
        return {
            by_id[id]: (
                _in_words(rule, talk),
                url_for("executions.show", tenant=g.tenant.key, execution_id=id),
            )
            for id, rule, talk in db.session().execute(query)
        }


def _named(tenant_id: int) -> Select[Any]:
    """The id, the rule's name and what the conversation is called, as far as they are there."""
    joined = table_of(Execution).outerjoin(
        table_of(AutomationRule), table_of(AutomationRule).c.id == _OF.rule_id
    )
    joined = joined.outerjoin(table_of(Conversation), table_of(Conversation).c.id == _OF.conversation_id)
    query = select(_OF.id, table_of(AutomationRule).c.name, table_of(Conversation).c.external_id)
    return query.select_from(joined).where(_OF.tenant_id == tenant_id)


def _in_words(rule: str | None, conversation: str | None) -> str:
    name = rule if rule is not None else _("a rule that was deleted")
    return name if conversation is None else _("%(rule)s, conversation %(id)s", rule=name, id=conversation)


def _went(row: queries.Row) -> str:
    """What became of one that it can't be done to any more."""
    what = _in_words(row.rule, row.conversation)
    state, when = mark(row, g.now).word, words.distance(row.updated_at, g.now)
    if row.status == Status.SKIPPED and row.skip_reason != Skip.CANCELLED:
        state = _("Skipped, %(why)s", why=words.skip(row.skip_reason))
    return _("%(what)s changed %(when)s: %(state)s.", what=what, when=when, state=state)


def matching(scene: Scene, filters: Filters, seen: datetime, takes: ColumnElement[bool]) -> Rows:
    """All that a list holds of what `takes` says and of what did not change since it was `seen`."""
    query = queries.selected(filters, None).with_only_columns(_OF.id, _OF.version)
    query = query.where(_OF.updated_at <= seen, takes).order_by(None).limit(None)
    return Rows(query.params(queries.values(scene, filters)), _by(filters.tab))


def _by(tab: Tab) -> tuple[ColumnElement[Any], ...]:
    order = queries.order_of(tab)
    return (order, _OF.id) if tab.oldest_first else (order.desc(), _OF.id.desc())


class Cancel(_OfExecutions):
    verb = in_bulk.CANCEL
    noun = "cancellation"
    endpoint = "executions.bulk_cancel"
    tabs = frozenset({Tab.WAITING, Tab.STALE})
    name = _l("Cancel executions")
    one, many = _l("Cancel 1 execution"), _l("Cancel {} executions")
    every = _l("Cancel all that match")
    ticked = _l("Cancel the ticked ones")
    still = _l("{} of the {} selected can still be cancelled.")
    begun = _l("Cancelling {} executions.")
    done_one, done_many = _l("Cancelled 1 execution."), _l("Cancelled {} executions.")

    def takes(self, now: datetime) -> ColumnElement[bool]:
        return in_bulk.cancellable(now)

    def says(self, number: int, selection: Selection) -> Sequence[str]:
        if number == 1:
            return [
                _("It is not run, and nothing of it is sent. No later message arms it again."),
                _("It can be re-armed by hand as long as its conversation has not moved on."),
            ]
        return [
            _("They are not run, and nothing of them is sent. No later message arms them again."),
            _("Each can be re-armed by hand as long as its conversation has not moved on."),
            *_by_worker(number),
        ]


class Reclaim(_OfExecutions):
    verb = in_bulk.RECLAIM
    noun = "reclaim"
    endpoint = "executions.bulk_reclaim"
    tabs = frozenset({Tab.STALE})
    name = _l("Reclaim executions")
    one, many = _l("Reclaim 1 execution"), _l("Reclaim {} executions")
    every = _l("Reclaim all that match")
    ticked = _l("Reclaim the ticked ones")
    still = _l("{} of the {} selected can still be reclaimed.")
    begun = _l("Reclaiming {} executions.")
    done_one, done_many = _l("Reclaimed 1 execution."), _l("Reclaimed {} executions.")

    def takes(self, now: datetime) -> ColumnElement[bool]:
        return in_bulk.reclaimable(now)

    def says(self, number: int, selection: Selection) -> Sequence[str]:
        return [
            *_next_run(_("The next run, {}, reclaims them by itself.")),
            _("Each is taken from its worker and due now. Nothing was begun, so nothing can be done twice."),
            *_by_worker(number),
        ]


class Rearm(_OfExecutions):
    verb = in_bulk.REARM
    noun = "rearming"
    endpoint = "executions.bulk_rearm"
    tabs = frozenset({Tab.SKIPPED})
    name = _l("Re-arm executions")
    one, many = _l("Re-arm 1 execution"), _l("Re-arm {} executions")
    every = _l("Re-arm all that match")
    ticked = _l("Re-arm the ticked ones")
    still = _l("{} of the {} selected can still be re-armed.")
    begun = _l("Re-arming {} executions.")
    done_one, done_many = _l("Re-armed 1 execution."), _l("Re-armed {} executions.")

    def takes(self, now: datetime) -> ColumnElement[bool]:
        return in_bulk.rearmable()

    def says(self, number: int, selection: Selection) -> Sequence[str]:
        return [
            _("Each is due now: a run takes it, judges it once more, and does its actions."),
            _("Left as they are: those whose rule is off or whose conversation moved on."),
            _("What they send can't be taken back."),
            *_by_worker(number),
        ]


def _next_run(said: str) -> Iterable[str]:
    scene = routes.scene_at_hand()
    if scene.next_run is not None and not scene.paused:
        yield Markup(said).format(words.next_run(scene.next_run, scene.now, scene.zone))


def _by_worker(number: int) -> Iterable[str]:
    if number > starting.AT_ONCE:
        yield _("A worker does it; its page shows how far it is, and can stop it.")


CANCEL, RECLAIM, REARM = Cancel(), Reclaim(), Rearm()
add(CANCEL, RECLAIM, REARM)


@requires(Permission.ACT_ON_EXECUTIONS, action="bulk.started", resource="bulk")
def ask_bulk() -> Response:
    """What is to be done to the selected ones; changes nothing."""
    return starting.ask([CANCEL, RECLAIM, REARM])


@requires(Permission.ACT_ON_EXECUTIONS, action="bulk.started", resource="bulk")
def bulk_cancel() -> Response:
    return starting.start(CANCEL)


@requires(Permission.ACT_ON_EXECUTIONS, action="bulk.started", resource="bulk")
def bulk_reclaim() -> Response:
    return starting.start(RECLAIM)


@requires(Permission.ACT_ON_EXECUTIONS, action="bulk.started", resource="bulk")
def bulk_rearm() -> Response:
    return starting.start(REARM)


@requires(Permission.ACT_ON_EXECUTIONS, action="bulk.stopped", resource="bulk", argument="operation_id")
def bulk_stop(operation_id: UUID) -> Response:
    return commands.stop("executions", operation_id)
