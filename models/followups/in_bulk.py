"""What is done with many follow-ups at once: the verbs of a bulk operation, one row at a time."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, select

from models.bulk_running import Verb, Work
from models.clock import parse_time
from models.errors import Conflict
from models.followups import booking, contacts, since, transitions
from models.followups.records import REARMABLE, FollowUp, Status

_ENDED = {Status.FIRED: "Fired", Status.BLOCKED: "Blocked", Status.CANCELLED: "Cancelled"}
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def cancellable() -> ColumnElement[bool]:
    """The rows that a cancel of many takes."""
    return FollowUp.status == Status.PENDING.value


def rearmable() -> ColumnElement[bool]:
    """The rows that a re-arming of many takes: ended so, not booked again, and the same not fired since."""
    over = FollowUp.status.in_(sorted(status.value for status in REARMABLE))
    return over & ~booking.booked_again(FollowUp.tenant_id, FollowUp.id) & ~since.fired_since()


def _cancel(work: Work) -> None:
    """Cancel one. What was cancelled already was not cancelled by this operation."""
    try:
        transitions.cancel(
            work.session,
            work.tenant.id,
            UUID(work.row_id),
            actor=work.actor,
            now=work.now,
            reason=work.reason,
            detail=work.detail,
            expected_version=work.version,
            anew=True,
        )
    except Conflict as fault:
        raise _moved(fault, work.now) from fault


def _rearm(work: Work) -> None:
    """Book one again for the time that holds for all of them."""
    first = UUID(work.row_id)
    row = booking.get(work.session, work.tenant.id, first)
    if contacts.lock(work.session, work.tenant.id, row.customer) is None:
        raise Conflict("There is no consent on record. Re-arm it alone, which asks about that.")
    # Behind the lock, which whoever books it again holds until that is committed.
    if work.session.scalar(select(booking.booked_again(work.tenant.id, first))):
        raise Conflict("It was booked again already.")
    try:
        transitions.rearm(
            work.session,
            work.tenant,
            first,
            parse_time(str(work.options["at"]), "at"),
            declared=work.declared,
            actor=work.actor,
            now=work.now,
            reason=work.reason,
            detail=work.detail,
            expected_version=work.version,
        )
    except Conflict as fault:
        raise _moved(fault, work.now) from fault


def _moved(fault: Conflict, now: datetime) -> Conflict:
    """The same fault, with what became of the row where it ended meanwhile."""
    row = fault.current
    if not isinstance(row, FollowUp) or row.status == Status.PENDING:
        return fault
    return Conflict(became(row, now), current=row, code=fault.code)


def became(row: FollowUp, now: datetime) -> str:
    """`Fired 3 s before its turn came.`: as true later as when it is written."""
    passed = max(0, int((now - (row.fired_at or row.updated_at)).total_seconds()))
    if not passed:
        return f"{_ENDED[Status(row.status)]} just before its turn came."
    size, unit = next((size, unit) for size, unit in _UNITS if passed >= size)
    return f"{_ENDED[Status(row.status)]} {passed // size} {unit} before its turn came."


CANCEL = Verb("followup.cancel", "followup", UUID, _cancel)
REARM = Verb("followup.rearm", "followup", UUID, _rearm)
