"""What the audit templates show: each event in words."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from flask import g, url_for
from flask_babel import lazy_gettext as _l

from desk_ui import refreshing, words
from desk_ui.audit import changes, customers
from desk_ui.audit.changes import Change
from desk_ui.audit.customers import MOST
from desk_ui.audit.queries import Chain, Filters, Row, operators
from desk_ui.listing import Listing
from desk_ui.marks import Mark
from desk_ui.permissions import Permission, refusal
from desk_ui.translating import gettext as _
from models.actors import ActorType
from models.audit import AuditEvent, Result
from models.base import db

# The sealing runs every five minutes.
LATE = timedelta(minutes=15)
RESULTS = {Result.SUCCESS: _l("Done"), Result.REFUSED: _l("Refused"), Result.ERROR: _l("Failed")}
KINDS = {
    "agent": _l("Agent"),
    "audit": _l("Audit"),
    "bulk": _l("Bulk work"),
    "contact": _l("Contact"),
    "customer": _l("Customer"),
    "delivery": _l("Delivery"),
    "endpoint": _l("Endpoint"),
    "followup": _l("Follow-up"),
    "operator": _l("Operator"),
    "sweep": _l("Sweep"),
    "tenant": _l("Tenant"),
    "token": _l("API token"),
}


ACTORS = {
    ActorType.OPERATOR.value: _l("An operator"),
    ActorType.SYSTEM.value: _l("The desk itself"),
    ActorType.API.value: _l("A program, over the API"),
    ActorType.CUSTOMER.value: _l("A customer"),
    ActorType.ASSISTANT.value: _l("An assistant"),
}


def mark(result: str) -> Mark:
    shape, tone = {
        Result.SUCCESS: ("disc", "good"),
        Result.REFUSED: ("square", "warn"),
        Result.ERROR: ("triangle", "bad"),
    }[Result(result)]
    return Mark(shape, tone, str(RESULTS[Result(result)]))


def place_of(kind: str, id: str) -> str | None:
    """Where the thing that an event is about has its page, if it has one."""
    try:
        if kind == "followup":
            return url_for("followups.show", tenant=g.tenant.key, followup_id=UUID(id))
        if kind == "bulk":
            return url_for("bulk.show", tenant=g.tenant.key, operation_id=UUID(id))
        if kind == "endpoint":
            return url_for("endpoints.show", tenant=g.tenant.key, endpoint_id=UUID(id))
        if kind == "delivery":
            return url_for("deliveries.show", tenant=g.tenant.key, delivery_id=int(id))
    except ValueError:
        pass
    return None


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the list in words."""

    row: Row
    mark: Mark
    what: str
    who: str
    why: str
    kind: str
    about: str
    place: str | None
    url: str
    customer: str | None


@dataclass(frozen=True)
class AuditView(Listing[Filters, Row]):
    """The list of events."""

    endpoint = "audit.index"
    label = _l("Audit events")
    names = {
        "customer": _l("Customer"),
        "actor": _l("Who"),
        "action": _l("What"),
        "kind": _l("About"),
        "id": _l("Id"),
        "result": _l("Result"),
        "since": _l("From"),
        "until": _l("Before"),
    }

    chain: Chain = field(kw_only=True)
    people: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    removed: frozenset[str] = field(default_factory=frozenset, kw_only=True)
    customers: Mapping[tuple[str, str], str] = field(default_factory=dict, kw_only=True)

    @property
    def order(self) -> str:
        return _("newest first")

    def shown_value(self, name: str, value: str) -> str:
        if name == "result":
            return str(RESULTS[Result(value)])
        if name == "action":
            return words.action(value, refused=False)
        if name == "kind":
            return str(KINDS.get(value, value))
        return value.replace("T", " ") if name in ("since", "until") else value

    # An event never changes, and leaves a list only when it is purged.
    rows_url = ""

    def sign_of(self, row: Row) -> str:
        return refreshing.sign(row.id, g.zone)

    @property
    def beside(self) -> tuple[str]:
        return (self.chain_sign,)

    @property
    def chain_sign(self) -> str:
        return refreshing.sign(chain_says(self.chain), is_late(self.chain))

    @property
    def nothing(self) -> tuple[str, str]:
        return _("Nothing has happened yet"), _("Each change of state leaves one event here.")

    @property
    def lines(self) -> Iterator[Line]:
        for row in self.page.rows:
            refused = row.result == Result.REFUSED
            yield Line(
                row=row,
                mark=mark(row.result),
                what=words.action(row.action, refused),
                who=words.actor(row.actor_type, row.actor_label),
                why=words.purpose(row.purpose, row.action, refused),
                kind=str(KINDS.get(row.resource_type, row.resource_type)),
                about=self.people.get(row.resource_id, row.resource_id)
                if row.resource_type == "operator"
                else row.resource_id,
                place=None
                if row.resource_id in self.removed
                else place_of(row.resource_type, row.resource_id),
                url=url_for("audit.show", tenant=g.tenant.key, event_id=row.id, list=self.query or None),
                customer=self.customers.get((row.resource_type, row.resource_id)),
            )

    @property
    def refusal_to_verify(self) -> str | None:
        return refusal(Permission.VERIFY_AUDIT)

    @property
    def kinds(self) -> list[tuple[str, str]]:
        return [(kind, str(name)) for kind, name in KINDS.items()]

    @property
    def actions(self) -> list[tuple[str, str]]:
        return sorted(((action, str(name)) for action, name in words.AUDITED.items()), key=lambda one: one[1])

    @property
    def results(self) -> list[tuple[str, str]]:
        return [(result.value, str(name)) for result, name in RESULTS.items()]


def chain_says(chain: Chain) -> str:
    """How far the chain goes, in one or two sentences."""
    waits = words.count(chain.unsealed)
    if chain.sealed_at is None:
        return _("No event is sealed yet; %(n)s wait for the next sealing.", n=waits)
    when = words.relative(chain.sealed_at, g.now, g.zone)
    if chain.unsealed == 0:
        return _("All events are sealed, the newest %(when)s.", when=when)
    return _("Sealed %(when)s; %(n)s newer ones wait for the next sealing.", when=when, n=waits)


def is_late(chain: Chain) -> bool:
    """Whether events wait for longer than the sealing should take."""
    return chain.unsealed != 0 and (chain.sealed_at is None or g.now - chain.sealed_at > LATE)


def detail_of(event: AuditEvent) -> str:
    """What the event keeps beside its columns, as indented JSON."""
    return json.dumps(event.detail, ensure_ascii=False, indent=2, sort_keys=True)


def notes(filters: Filters) -> list[str]:
    """What the list under `filters` leaves out, so that nobody takes it for the whole."""
    found = []
    if filters.customer and customers.things_of(db.session(), g.tenant, filters.customer).more:
        found.append(_("They have more than %(n)s follow-ups: the newest are looked for here.", n=MOST))
    if filters.kind == "delivery":
        elsewhere = _("Each delivery keeps its own history: who re-armed or sent it stands on its page.")
        found.append(f"{elsewhere} {_('Here are only acts that were refused.')}")
    return found


def customer_of(event: AuditEvent) -> tuple[str, str] | None:
    """The customer whom an event is about, and where their follow-ups are; None where nobody is known."""
    named = customers.named(db.session(), g.tenant, [event])
    customer = named.get((event.resource_type, event.resource_id))
    return (customer, place_of_customer(customer)) if customer is not None else None


def place_of_customer(customer: str) -> str:
    """The search leads to the tab that holds something of theirs."""
    return url_for("search.find", tenant=g.tenant.key, q=customer)


def person_of(event: AuditEvent) -> str | None:
    """The mail address of the operator whom an event is about, where they have a role in the tenant."""
    return operators(db.session(), g.tenant, [event]).get(event.resource_id)


@dataclass(frozen=True, slots=True)
class EventView:
    """One event: where its thing has its page, and who it is about, with where their follow-ups are."""

    event: AuditEvent
    place: str | None
    customer: tuple[str, str] | None
    person: str | None

    @property
    def refused(self) -> bool:
        return self.event.result == Result.REFUSED

    @property
    def what(self) -> str:
        return words.action(self.event.action, self.refused)

    @property
    def why(self) -> str:
        return words.purpose(self.event.purpose, self.event.action, self.refused)

    @property
    def kind_of_actor(self) -> str:
        return str(ACTORS.get(self.event.actor_type, self.event.actor_type))

    @property
    def changes(self) -> list[Change]:
        return changes.of(self.event)
