"""Why an act on a follow-up can't be done: the button says it, and the route asks the same."""

from datetime import datetime

from flask_babel import gettext as _

from desk_ui import words
from desk_ui.followups.queries import Row
from desk_ui.permissions import Permission, refusal
from models.errors import OptedOut
from models.followups import transitions
from models.followups.records import Contact, ContactState, FollowUp, Status


def to_cancel(row: Row | FollowUp) -> str | None:
    if row.status == Status.CANCELLED:
        return _("It is cancelled already.")
    return _role() or transitions.refusal_to_cancel(row)  # type: ignore[arg-type]


def to_reschedule(row: Row | FollowUp) -> str | None:
    return _role() or transitions.refusal_to_reschedule(row)  # type: ignore[arg-type]


def to_rearm(row: Row | FollowUp, contact: Contact | None) -> str | None:
    """A customer who opted out is not booked for, however it ended before."""
    refused = _role() or transitions.refusal_to_rearm(row)  # type: ignore[arg-type]
    if refused is None and contact is not None and contact.state == ContactState.REVOKED:
        return OptedOut().detail
    return refused


def to_revoke(contact: Contact | None, now: datetime) -> str | None:
    if contact is not None and contact.state == ContactState.REVOKED:
        if contact.revoked_at is None:
            return _("This customer opted out already.")
        return _("This customer opted out already, %(when)s.", when=words.distance(contact.revoked_at, now))
    return _role()


def pending_already() -> str:
    return _("The same follow-up is pending already.")


def _role() -> str | None:
    return refusal(Permission.ACT_ON_FOLLOWUPS)
