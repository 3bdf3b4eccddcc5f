"""Follow-ups over HTTP: book, read, cancel, re-arm, reschedule, import."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field
from sqlalchemy import Select, select

from desk_ui.api import paging, rows
from desk_ui.api.fields import Given, Id, OptionalText, Paged, Shown, Text, Time, Version, Versioned
from desk_ui.api.operations import Call, Reply, operation
from desk_ui.api.paths import as_uuid
from desk_ui.api.refusals import Refused, by_id
from models.followups import booking, importing, transitions
from models.followups.records import Block, FollowUp, Status

ORDER = paging.Order("followups", FollowUp.created_at, FollowUp.id)
_SUBJECT = by_id(booking.get, "follow-up")
At = Annotated[
    Text, Field(description="ISO 8601 with an offset, or relative: +90m, +6h, +2d.", examples=["+6h"])
]


class FollowUpShown(Shown):
    """One promised message to one customer."""

    id: UUID
    tenant: str
    agent: str
    customer: str
    session_id: str | None
    at: Time
    reason: str
    arm: str
    transport: str | None
    status: Status
    task_id: UUID | None
    blocked_reason: Block | None
    created_at: Time
    updated_at: Time
    fired_at: Time | None
    rearmed_from: UUID | None
    version: int


class FollowUpPage(Shown):
    items: list[FollowUpShown]
    next_cursor: str | None


class Booking(Given):
    agent: Text
    customer: Text
    at: At
    reason: Text
    id: Id | None = None
    session_id: OptionalText | None = None
    arm: Text | None = None
    transport: OptionalText | None = None


class FollowUpFilter(Paged):
    agent: Text | None = None
    customer: Text | None = None
    status: Status | None = None
    arm: Text | None = None
    reason: Text | None = None


class NewTime(Given):
    at: At
    version: Version | None = None


class LineRefused(Shown):
    line: int = Field(description="Counted from 1.")
    detail: str


class Imported(Shown):
    imported: int
    skipped: int = Field(description="Records whose id was known already.")
    refused: list[LineRefused]


def show(followup: FollowUp, tenant: str) -> FollowUpShown:
    return FollowUpShown.of(followup, tenant=tenant)


@operation(
    "followups.book",
    "POST",
    "/followups",
    scope="ingest",
    body=Booking,
    answers={201: FollowUpShown, 200: FollowUpShown},
    point="api.followups.book",
    conflicts=True,
)
def book(call: Call) -> Reply:
    """Promise a customer a message at a later time.

    Answers 200 with the first one where the same `id` is sent again with the same content.
    """
    given: Booking = call.body
    followup, made = booking.book(
        call.session,
        call.tenant,
        at=_at(call, given.at),
        **given.model_dump(exclude={"at"}),
        declared=call.declared,
        actor=call.actor,
        now=call.now,
    )
    return Reply(201 if made else 200, show(followup, call.tenant.key))


@operation(
    "followups.list",
    "GET",
    "/followups",
    scope="read",
    query=FollowUpFilter,
    answers={200: FollowUpPage},
)
def list_followups(call: Call) -> Reply:
    """List follow-ups, newest first."""
    given: FollowUpFilter = call.query
    found, cursor = paging.page(
        call.session, filtered(call.tenant.id, given), ORDER, limit=given.limit, cursor=given.cursor
    )
    items = [show(one, call.tenant.key) for one in found]
    return Reply(200, FollowUpPage(items=items, next_cursor=cursor))


def filtered(tenant_id: int, given: FollowUpFilter) -> Select[FollowUp]:
    """The tenant's follow-ups that pass the filters; each filter has an index in the list's order."""
    query = select(FollowUp).where(FollowUp.tenant_id == tenant_id)
    for name in ("agent", "customer", "status", "arm", "reason"):
        wanted = getattr(given, name)
        if wanted is not None:
            query = query.where(getattr(FollowUp, name) == wanted)
    return query


@operation("followups.get", "GET", "/followups/<id>", scope="read", answers={200: FollowUpShown})
def get(call: Call, id: str) -> Reply:
    """Read one follow-up."""
    followup = booking.get(call.session, call.tenant.id, as_uuid(id, "follow-up"))
    return Reply(200, show(followup, call.tenant.key))


@operation(
    "followups.cancel",
    "POST",
    "/followups/<id>/cancel",
    scope="operate",
    body=Versioned,
    answers={200: FollowUpShown},
    point="api.followups.cancel",
    refused=Refused("followup.cancelled", "followup", _SUBJECT),
    conflicts=True,
)
def cancel(call: Call, id: str) -> Reply:
    """Cancel a pending follow-up. Doing it again changes nothing."""
    followup = transitions.cancel(
        call.session,
        call.tenant.id,
        as_uuid(id, "follow-up"),
        actor=call.actor,
        now=call.now,
        expected_version=call.body.version,
    )
    return Reply(200, show(followup, call.tenant.key))


@operation(
    "followups.rearm",
    "POST",
    "/followups/<id>/rearm",
    scope="operate",
    body=NewTime,
    answers={201: FollowUpShown},
    point="api.followups.rearm",
    refused=Refused("followup.rearmed", "followup", _SUBJECT),
    conflicts=True,
)
def rearm(call: Call, id: str) -> Reply:
    """Book a cancelled or blocked follow-up again, as a new one at another time."""
    followup = transitions.rearm(
        call.session,
        call.tenant,
        as_uuid(id, "follow-up"),
        _at(call, call.body.at),
        declared=call.declared,
        actor=call.actor,
        now=call.now,
        expected_version=call.body.version,
    )
    return Reply(201, show(followup, call.tenant.key))


@operation(
    "followups.reschedule",
    "POST",
    "/followups/<id>/reschedule",
    scope="operate",
    body=NewTime,
    answers={200: FollowUpShown},
    point="api.followups.reschedule",
    refused=Refused("followup.rescheduled", "followup", _SUBJECT),
    conflicts=True,
)
def reschedule(call: Call, id: str) -> Reply:
    """Give a pending follow-up another time, ahead of now."""
    followup = transitions.reschedule(
        call.session,
        call.tenant.id,
        as_uuid(id, "follow-up"),
        _at(call, call.body.at),
        actor=call.actor,
        now=call.now,
        expected_version=call.body.version,
    )
    return Reply(200, show(followup, call.tenant.key))


@operation(
    "followups.import",
    "POST",
    "/followups/import",
    scope="ingest",
    takes_lines=True,
    answers={200: Imported},
    point="api.followups.import",
)
def import_followups(call: Call) -> Reply:
    """Take another scheduler's records: JSON Lines, each with `id, agent, customer, at, reason, arm`.

    Past times and repeated pairs are taken as they are, and no consent is written: firing decides. A line
    that can't be used is refused alone; a known id is skipped.
    """
    result = importing.import_records(
        call.session, call.tenant, call.raw.splitlines(keepends=True), actor=call.actor, now=call.now
    )
    refused = [LineRefused(line=one.line, detail=one.detail) for one in result.refused]
    return Reply(200, Imported(imported=result.imported, skipped=result.skipped, refused=refused))


def _at(call: Call, given: str) -> datetime:
    return booking.parse_at(given, call.now)


rows.shape(FollowUp, lambda followup: show(followup, rows.tenant_key()))
