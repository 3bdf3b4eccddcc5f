"""What can be done to many deliveries at once, in words, and the views that ask about it and do it."""

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl
from uuid import UUID

from flask import g, url_for
from sqlalchemy import select
from werkzeug.wrappers import Response

from desk_ui import words
from desk_ui.bulk import commands, starting
from desk_ui.bulk.kinds import Kind, add
from desk_ui.bulk.selecting import Selection
from desk_ui.deliveries import queries
from desk_ui.deliveries.queries import Filters, Tab
from desk_ui.deliveries.views import TABS, ListView
from desk_ui.listing import Asked
from desk_ui.paging import Page
from desk_ui.permissions import Permission, requires
from desk_ui.translating import gettext as _
from desk_ui.translating import lazy_gettext as _l
from models import delivery_bulk, endpoint_urls
from models.base import db
from models.bulk_operations import Rows
from models.deliveries import Delivery, State
from models.endpoints import WebhookEndpoint
from models.errors import Invalid
from models.outbox import OutboxEvent

SHOWN = 5
_BY = (Delivery.updated_at.desc(), Delivery.id.desc())


class Rearm(Kind):
    area = "deliveries"
    permission = Permission.ACT_ON_DELIVERIES
    verb = delivery_bulk.REARM
    noun = "rearming"
    endpoint = "deliveries.bulk_rearm"
    tabs = frozenset({Tab.DEAD})
    name = _l("Re-arm deliveries")
    one, many = _l("Re-arm 1 delivery"), _l("Re-arm {} deliveries")
    every = _l("Re-arm all that match")
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
        tab = str(TABS[asked.filters.tab][0])
        return ", ".join([tab, *(f"{name}: {value}" for name, value, _url in view.chips)])

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
        return [
            _("Each is sent at once, with its attempts as at first; those to a paused endpoint wait."),
            _("A receiver may have taken one already; then it gets it again, under the same webhook-id."),
            _("Those whose endpoint was removed are left as they are. Once sent, it can't be undone."),
            *([_("A worker does it; its page shows how far it is.")] if number > starting.AT_ONCE else []),
        ]

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
