"""Webhook endpoints over HTTP: where a tenant has its events sent."""

from typing import Annotated
from uuid import UUID

from pydantic import Field, StringConstraints
from sqlalchemy import select

from desk_ui.api import paging, rows
from desk_ui.api.fields import Given, Nothing, Paged, Shown, Text, Time, Version, Versioned
from desk_ui.api.operations import Call, Reply, operation
from desk_ui.api.paths import as_uuid
from desk_ui.api.refusals import Refused, by_id
from models import endpoint_urls, endpoints
from models.endpoints import EndpointState, WebhookEndpoint
from models.errors import Invalid

ORDER = paging.Order("endpoints", WebhookEndpoint.created_at, WebhookEndpoint.id)
_SUBJECT = by_id(endpoints.get, "endpoint")
Url = Annotated[str, StringConstraints(min_length=1, max_length=endpoint_urls.LENGTH)]
EventTypes = Annotated[
    list[Text], Field(min_length=1, max_length=100, description="Event types, or `*` alone for all.")
]


class EndpointShown(Shown):
    """Where events are sent. `failures` counts failed attempts in a row."""

    id: UUID
    tenant: str
    url: str
    event_types: list[str]
    active: bool
    failures: int
    created_at: Time
    updated_at: Time
    version: int


class EndpointMade(EndpointShown):
    """An endpoint with its secret, which is shown this once."""

    secret: str


class EndpointPage(Shown):
    items: list[EndpointShown]
    next_cursor: str | None


class EndpointGiven(Given):
    url: Url
    event_types: EventTypes = Field(default_factory=lambda: [endpoints.ALL])
    active: bool = True


class EndpointChange(Given):
    url: Url | None = None
    event_types: EventTypes | None = None
    active: bool | None = None
    version: Version | None = None


class EventSent(Shown):
    event_id: int


def show(endpoint: WebhookEndpoint, tenant: str) -> EndpointShown:
    return EndpointShown.of(endpoint, tenant=tenant)


@operation("endpoints.list", "GET", "/endpoints", scope="read", query=Paged, answers={200: EndpointPage})
def list_endpoints(call: Call) -> Reply:
    """List webhook endpoints, newest first."""
    given: Paged = call.query
    query = select(WebhookEndpoint).where(
        WebhookEndpoint.tenant_id == call.tenant.id, WebhookEndpoint.state != EndpointState.REMOVED
    )
    found, cursor = paging.page(call.session, query, ORDER, limit=given.limit, cursor=given.cursor)
    return Reply(200, EndpointPage(items=[show(one, call.tenant.key) for one in found], next_cursor=cursor))


@operation("endpoints.get", "GET", "/endpoints/<id>", scope="read", answers={200: EndpointShown})
def get(call: Call, id: str) -> Reply:
    """Read one webhook endpoint."""
    endpoint = endpoints.get(call.session, call.tenant.id, as_uuid(id, "endpoint"))
    return Reply(200, show(endpoint, call.tenant.key))


@operation(
    "endpoints.add",
    "POST",
    "/endpoints",
    scope="operate",
    body=EndpointGiven,
    answers={201: EndpointMade},
    point="api.endpoints.add",
    answers_secret=True,
    conflicts=True,
)
def add(call: Call) -> Reply:
    """Have events sent to an address. The answer holds the secret that signs them, this once."""
    given: EndpointGiven = call.body
    endpoint, secret = endpoints.add(
        call.session,
        call.tenant,
        url=given.url,
        event_types=given.event_types,
        active=given.active,
        settings=call.settings,
        actor=call.actor,
        now=call.now,
    )
    return Reply(201, EndpointMade.of(endpoint, tenant=call.tenant.key, secret=secret))


@operation(
    "endpoints.change",
    "PATCH",
    "/endpoints/<id>",
    scope="operate",
    body=EndpointChange,
    answers={200: EndpointShown},
    point="api.endpoints.change",
    refused=Refused("endpoint.updated", "endpoint", _SUBJECT),
    conflicts=True,
)
def change(call: Call, id: str) -> Reply:
    """Change an endpoint's address or event types, pause it or resume it."""
    given: EndpointChange = call.body
    for name in given.model_fields_set - {"version"}:
        if getattr(given, name) is None:
            raise Invalid(name, "must not be null")
    endpoint = endpoints.update(
        call.session,
        call.tenant.id,
        as_uuid(id, "endpoint"),
        url=given.url,
        event_types=given.event_types,
        active=given.active,
        settings=call.settings,
        actor=call.actor,
        now=call.now,
        expected_version=given.version,
    )
    return Reply(200, show(endpoint, call.tenant.key))


@operation(
    "endpoints.remove",
    "DELETE",
    "/endpoints/<id>",
    scope="operate",
    answers={204: None},
    point="api.endpoints.remove",
    refused=Refused("endpoint.removed", "endpoint", _SUBJECT),
)
def remove(call: Call, id: str) -> Reply:
    """Remove an endpoint and forget its secret. What still waits for it is given up."""
    endpoints.remove(call.session, call.tenant.id, as_uuid(id, "endpoint"), actor=call.actor, now=call.now)
    return Reply(204)


@operation(
    "endpoints.rotate_secret",
    "POST",
    "/endpoints/<id>/secret",
    scope="operate",
    body=Versioned,
    answers={200: EndpointMade},
    point="api.endpoints.rotate_secret",
    refused=Refused("endpoint.secret_rotated", "endpoint", _SUBJECT),
    answers_secret=True,
    conflicts=True,
)
def rotate_secret(call: Call, id: str) -> Reply:
    """Give an endpoint a new secret, in force from the next attempt on."""
    endpoint, secret = endpoints.rotate_secret(
        call.session,
        call.tenant.id,
        as_uuid(id, "endpoint"),
        settings=call.settings,
        actor=call.actor,
        now=call.now,
        expected_version=call.body.version,
    )
    return Reply(200, EndpointMade.of(endpoint, tenant=call.tenant.key, secret=secret))


@operation(
    "endpoints.test",
    "POST",
    "/endpoints/<id>/test",
    scope="operate",
    body=Nothing,
    answers={202: EventSent},
    point="api.endpoints.test",
    refused=Refused("endpoint.tested", "endpoint", _SUBJECT),
    conflicts=True,
)
def test(call: Call, id: str) -> Reply:
    """Send an `endpoint.test` event to this endpoint alone."""
    event = endpoints.test(
        call.session, call.tenant.id, as_uuid(id, "endpoint"), actor=call.actor, now=call.now
    )
    call.session.flush()
    return Reply(202, EventSent(event_id=event.id))


rows.shape(WebhookEndpoint, lambda endpoint: show(endpoint, rows.tenant_key()))
