"""Contacts and customers over HTTP: consent, opting out, erasing."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from sqlalchemy.orm import Session

from desk_ui.api import rows
from desk_ui.api.fields import Given, Shown, Time, Version
from desk_ui.api.operations import Call, Reply, operation
from desk_ui.api.paths import as_text
from desk_ui.api.refusals import Refused
from models import erasure
from models.errors import NotFound
from models.followups import contacts
from models.followups.records import Contact, ContactState
from models.transitions import check_version


class By(StrEnum):
    """How a customer opted out."""

    API = "api"
    CHANNEL = "channel"
    KEYWORD = "keyword"
    OPERATOR = "operator"


class ContactShown(Shown):
    """Consent, one cell for each customer."""

    customer: str
    state: ContactState
    sends_without_reply: int
    last_outbound_at: Time | None
    version: int


class Revoke(Given):
    by: By = By.API
    version: Version | None = None


class Revoked(Shown):
    customer: str
    state: ContactState
    cancelled: int


class Erased(Shown):
    """How many rows of each kind were erased."""

    followups: int
    tasks: int
    contacts: int
    outcomes: int
    conversations: int
    messages: int
    tickets: int


def _subject(session: Session, tenant_id: int, path: Mapping[str, Any]) -> str:
    """The contact's own id: the audit names no customer by theirs."""
    return str(contacts.get(session, tenant_id, as_text(path["customer"], "contact")).id)


@operation("contacts.get", "GET", "/contacts/<anything:customer>", scope="read", answers={200: ContactShown})
def get(call: Call, customer: str) -> Reply:
    """Read a customer's consent; 404 where they were never messaged."""
    contact = contacts.get(call.session, call.tenant.id, as_text(customer, "contact"))
    return Reply(200, ContactShown.of(contact))


@operation(
    "contacts.revoke",
    "POST",
    "/contacts/<anything:customer>/revoke",
    scope="operate",
    body=Revoke,
    answers={200: Revoked},
    point="api.contacts.revoke",
    refused=Refused("contact.revoked", "contact", _subject),
    conflicts=True,
)
def revoke(call: Call, customer: str) -> Reply:
    """Opt a customer out: their pending follow-ups and queued tasks are cancelled with it."""
    given: Revoke = call.body
    if given.version is not None:
        known = contacts.lock(call.session, call.tenant.id, as_text(customer, "contact"))
        if known is None:
            raise NotFound("contact")
        check_version(known, given.version, "contact")
    cancelled = contacts.revoke(
        call.session, call.tenant, customer, by=given.by.value, actor=call.actor, now=call.now
    )
    return Reply(200, Revoked(customer=customer, state=ContactState.REVOKED, cancelled=cancelled))


@operation(
    "customers.erase",
    "DELETE",
    "/customers/<anything:customer>",
    scope="operate",
    answers={200: Erased},
    point="api.customers.erase",
    refused=Refused("customer.erased", "contact", _subject),
)
def erase(call: Call, customer: str) -> Reply:
    """Erase all that is stored of a customer; an opt-out stays as a keyed hash."""
    counts = erasure.erase_customer(call.session, call.tenant, customer, actor=call.actor, now=call.now)
    return Reply(200, Erased(**counts))


rows.shape(Contact, ContactShown.of)
