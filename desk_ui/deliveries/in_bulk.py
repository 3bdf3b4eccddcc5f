"""What can be done to many deliveries at once, in words, and the views that ask about it and do it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from flask import g, url_for
from sqlalchemy import ColumnElement, and_, func, not_, select
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from desk_ui import words
from desk_ui.bulk import commands, starting
from desk_ui.bulk.kinds import Described, Kind, add
from desk_ui.bulk.selecting import Selection
from desk_ui.deliveries import addresses, queries
from desk_ui.deliveries.queries import Filters, Tab
from desk_ui.deliveries.views import ListView
from desk_ui.listing import Asked
from desk_ui.paging import Page
from desk_ui.permissions import Permission, requires
from desk_ui.translating import gettext as _
from desk_ui.translating import lazy_gettext as _l
from models import delivery_bulk, endpoint_urls
from models.base import db
from models.bulk_operations import MOST, BulkOperation, Rows
from models.deliveries import Delivery, State
from models.endpoints import EndpointState, WebhookEndpoint
from models.errors import Invalid
from models.outbox import OutboxEvent

SHOWN = 5
_BY = (Delivery.updated_at.desc(), Delivery.id.desc())


class Rearm(Kind):
    area = "deliveries"
    columns = ("event", "origin")
    permission = Permission.ACT_ON_DELIVERIES
    verb = delivery_bulk.REARM
    noun = "rearming"
    endpoint = "deliveries.bulk_rearm"
    tabs = frozenset({Tab.DEAD})
    list_filters = Filters
    name = _l("Re-arm deliveries")
    one, many = _l("Re-arm 1 delivery"), _l("Re-arm {} deliveries")
    every = _l("Re-arm all that match")
    ticked = _l("Re-arm the ticked ones")
    still = _l("{} of the {} selected can still be re-armed.")
    begun = _l("Re-arming {} deliveries.")
    done_one, done_many = _l("Re-armed 1 delivery."), _l("Re-armed {} deliveries.")

    def rows(self, selection: Selection) -> Rows:
        filters: Filters = selection.filters(Filters)
        if filters.tab not in self.tabs:
            raise Invalid("list", _("holds what this can't be done to"))
        if selection.seen is None:
            query = select(Delivery.id, selection.version(Delivery.id).label("version"))
            return Rows(query.where(Delivery.tenant_id == g.tenant.id, selection.among(Delivery.id)), _BY)
        matching = queries.selected(g.tenant, g.zone, filters, State.DEAD, None)
        matching = matching.with_only_columns(Delivery.id, Delivery.version, maintain_column_froms=True)
        matching = matching.where(Delivery.updated_at <= selection.seen, delivery_bulk.rearmable())
        return Rows(matching.order_by(None).limit(None), _BY)

    def narrowed(self, query: str) -> str:
        asked = Asked.of(Filters, dict(parse_qsl(query)), int)
        choices = queries.endpoint_choices(db.session(), g.tenant, asked.filters.receiver)
        view = ListView(asked, Page([], None), [], choices=choices)
        return view.in_words

    def able(self, selection: Selection) -> Rows:
        return Rows(self.rows(selection).query.where(_as_shown(selection)), _BY)

    def lost(self, selection: Selection, most: int) -> Sequence[str]:
        query = (
            select(OutboxEvent.event_type, WebhookEndpoint.url, WebhookEndpoint.state, Delivery.updated_at)
            .join(OutboxEvent, OutboxEvent.id == Delivery.event_id)
            .join(WebhookEndpoint, WebhookEndpoint.id == Delivery.endpoint_id)
            .where(Delivery.tenant_id == g.tenant.id, selection.among(Delivery.id))
            .where(not_(_as_shown(selection)))
        )
        found = db.session().execute(query.order_by(*_BY).limit(most))
        return [_went(event, endpoint_urls.origin(url), state, at) for event, url, state, at in found]

    def described(self, session: Session, tenant_id: int, ids: Sequence[Any]) -> Mapping[str, Described]:
        query = (
            select(Delivery.id, OutboxEvent.event_type, WebhookEndpoint.url)
            .join(OutboxEvent, OutboxEvent.id == Delivery.event_id)
            .join(WebhookEndpoint, WebhookEndpoint.id == Delivery.endpoint_id)
            .where(Delivery.tenant_id == tenant_id, Delivery.id.in_(ids))
        )
        return {
            str(id): {"event": event, "origin": endpoint_urls.origin(url)}
            for id, event, url in session.execute(query)
        }

    def further(self, operation: BulkOperation) -> str:
        waits = db.session().scalars(delivery_bulk.waiting_for_endpoints(operation)).one()
        if not waits:
            return ""
        if waits == 1:
            return _("1 waits until its endpoint, which is paused, is resumed.")
        return _("%(n)s wait until their endpoints, which are paused, are resumed.", n=words.number(waits))

    def sample(self, rows: Rows) -> Sequence[str]:
        first = rows.first(SHOWN).subquery()
        query = (
            select(OutboxEvent.event_type, WebhookEndpoint.url, Delivery.updated_at)
            .join(OutboxEvent, OutboxEvent.id == Delivery.event_id)
            .join(WebhookEndpoint, WebhookEndpoint.id == Delivery.endpoint_id)
            .where(Delivery.tenant_id == g.tenant.id, Delivery.id.in_(select(first.c.id)))
        )
        return [
            _(
                "%(event)s to %(origin)s, given up %(when)s",
                event=event,
                origin=endpoint_urls.origin(url),
                when=words.relative(at, g.now, g.zone),
            )
            for event, url, at in db.session().execute(query.order_by(*rows.by))
        ]

    def says(self, number: int, selection: Selection) -> Sequence[str]:
        if number == 1:
            return [
                _("It is sent at once, with its attempts as at first; to a paused endpoint it waits."),
                _("Its receiver may have it already; then it gets it again, under the same webhook-id."),
                _("It is left as it is if its endpoint was removed, or gets another address meanwhile."),
                _("Once sent, it can't be undone."),
            ]
        return [
            self._where_to(selection),
            _("Each is sent at once, with its attempts as at first; those to a paused endpoint wait."),
            _("A receiver may have taken one already; then it gets it again, under the same webhook-id."),
            _("Left as they are: those whose endpoint was removed, or gets another address meanwhile."),
            _("Once sent, it can't be undone."),
            *([_("A worker does it; its page shows how far it is.")] if number > starting.AT_ONCE else []),
        ]

    def _where_to(self, selection: Selection) -> str:
        """Every address that something goes to: the sample shows a few, and one may have moved since."""
        rows = self.able(selection) if selection.seen is None else self.rows(selection)
        first = rows.first(MOST).subquery()
        query = (
            select(WebhookEndpoint.url, func.count())
            .join(Delivery, Delivery.endpoint_id == WebhookEndpoint.id)
            .where(Delivery.tenant_id == g.tenant.id, Delivery.id.in_(select(first.c.id)))
            .group_by(WebhookEndpoint.id, WebhookEndpoint.url)
        )
        found: Counter[str] = Counter()
        for url, number in db.session().execute(query):
            found[endpoint_urls.origin(url)] += number
        told = [f"{origin} ({words.number(number)})" for origin, number in found.most_common()]
        return _("They go to %(where)s.", where=", ".join(told))

    def carried(self) -> dict[str, str]:
        versions = delivery_bulk.address_versions(db.session(), g.tenant.id)
        return {addresses.FIELD: addresses.written(versions)}

    def options(self, form: Mapping[str, str]) -> dict[str, Any]:
        return {"addresses": addresses.shown(form)}

    def named(self, ids: Sequence[str]) -> Mapping[str, tuple[str, str]]:
        query = (
            select(Delivery.id, OutboxEvent.event_type)
            .join(OutboxEvent, OutboxEvent.id == Delivery.event_id)
            .where(Delivery.tenant_id == g.tenant.id, Delivery.id.in_([int(id) for id in ids]))
        )
        return {
            str(id): (event, url_for("deliveries.show", tenant=g.tenant.key, delivery_id=id))
            for id, event in db.session().execute(query)
        }


def _as_shown(selection: Selection) -> ColumnElement[bool]:
    return and_(Delivery.version == selection.version(Delivery.id), delivery_bulk.rearmable())


def _went(event: str, origin: str, endpoint_state: str, at: datetime) -> str:
    """What became of one that can't be re-armed any more."""
    if endpoint_state == EndpointState.REMOVED:
        return _("The endpoint of %(event)s, %(origin)s, was removed.", event=event, origin=origin)
    when = words.distance(at, g.now)
    return _("%(event)s to %(origin)s changed %(when)s.", event=event, origin=origin, when=when)


REARM = Rearm()
add(REARM)


@requires(Permission.ACT_ON_DELIVERIES, action="bulk.started", resource="bulk")
def ask_bulk() -> Response:
    """What is to be done to the selected ones; changes nothing."""
    return starting.ask([REARM])


@requires(Permission.ACT_ON_DELIVERIES, action="bulk.started", resource="bulk")
def bulk_rearm() -> Response:
    return starting.start(REARM)


@requires(Permission.ACT_ON_DELIVERIES, action="bulk.stopped", resource="bulk", argument="operation_id")
def bulk_stop(operation_id: UUID) -> Response:
    return commands.stop("deliveries", operation_id)
