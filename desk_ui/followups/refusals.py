"""Why an act on a follow-up can't be done: the button says it, and the route asks the same."""

from datetime import datetime, timedelta

from flask_babel import gettext as _

from desk_ui import words
from desk_ui.followups.asked import Task
from desk_ui.followups.queries import Row
from desk_ui.permissions import Permission, refusal
from models.errors import OptedOut
from models.followups import transitions
from models.followups.records import Contact, ContactState, FollowUp, Status, TaskStatus

MINUTE = timedelta(minutes=1)
_OPT_OUT = "opt-out ("


def to_cancel(row: Row | FollowUp) -> str | None:
    if row.status == Status.CANCELLED:
        return _("It is cancelled already.")
    return _role() or transitions.refusal_to_cancel(row)  # type: ignore[arg-type]


def to_reschedule(row: Row | FollowUp) -> str | None:
    return _role() or transitions.refusal_to_reschedule(row)  # type: ignore[arg-type]


def to_rearm(row: Row | FollowUp, contact: Contact | None, task: Task | None) -> str | None:
    """A customer who opted out is not booked for, however it ended. `task` is that of one that fired."""
    refused = _role() or _fired(row, task) or transitions.refusal_to_rearm(row)  # type: ignore[arg-type]
    if refused is None and contact is not None and contact.state == ContactState.REVOKED:
        return OptedOut().detail
    return refused


def _fired(row: Row | FollowUp, task: Task | None) -> str | None:
    """What the domain says of any that fired fits only where its task was taken."""
    if row.status != Status.FIRED or task is None or task.status != TaskStatus.QUEUED:
        return None
    return _(
        "This follow-up has fired: its task was not taken yet, and still may be, so it is never re-armed."
    )


def to_revoke(contact: Contact | None, now: datetime) -> str | None:
    if contact is not None and contact.state == ContactState.REVOKED:
        if contact.revoked_at is None or contact.revoked_by is None:
            return _("This customer opted out already.")
        who, when = opted_out_by(contact.revoked_by), just(contact.revoked_at, now)
        return _("Opted out by %(who)s, %(when)s.", who=who, when=when)
    return _role()


def opted_out_by(how: str) -> str:
    """Who or what opted a customer out, in words; a person by their own name."""
    return {
        "keyword": _("a message of theirs"),
        "channel": _("the channel"),
        "operator": _("an operator"),
        "api": _("the API"),
    }.get(how, how)


def just(at: datetime, now: datetime) -> str:
    """`just now` within the minute, then `4 min ago`."""
    return _("just now") if now - at < MINUTE else words.distance(at, now)


def with_opt_out(cancelled_by: str | None) -> str | None:
    """By whom the customer was opted out where that cancelled it; None where it was cancelled by itself."""
    if not cancelled_by or not cancelled_by.startswith(_OPT_OUT):
        return None
    return opted_out_by(cancelled_by.removeprefix(_OPT_OUT).removesuffix(")"))


def pending_already() -> str:
    return _("The same follow-up is pending already.")


def _role() -> str | None:
    return refusal(Permission.ACT_ON_FOLLOWUPS)
