"""What became of the same promise since a follow-up was made: what whoever books it again must know."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session, aliased

from models.errors import Conflict
from models.followups import booking
from models.followups.records import FollowUp, Status


@dataclass(frozen=True, slots=True)
class Since:
    """`again` is the newest that was booked again from it.

    `fired` is the newest of the same agent, customer and reason that fired since it was made, at `fired_at`.
    """

    again: UUID | None = None
    fired: UUID | None = None
    fired_at: datetime | None = None

    @property
    def sign(self) -> str:
        """What a form carries, to show what its question said."""
        return f"{self.again or ''}.{self.fired or ''}"


def read(session: Session, followup: FollowUp) -> Since:
    """By the contact's lock, what is true until the caller's commit."""
    again = session.scalars(
        select(FollowUp.id)
        .where(FollowUp.tenant_id == followup.tenant_id, FollowUp.rearmed_from == followup.id)
        .order_by(FollowUp.created_at.desc(), FollowUp.id.desc())
        .limit(1)
    ).first()
    fired = session.execute(
        select(FollowUp.id, FollowUp.fired_at)
        .where(*_same_fired(FollowUp, followup))
        .order_by(FollowUp.fired_at.desc(), FollowUp.id.desc())
        .limit(1)
    ).first()
    return Since(again, *fired) if fired else Since(again)


def fired_since() -> ColumnElement[bool]:
    """Of a follow-up: whether the same fired since it was made."""
    other = aliased(FollowUp)
    # Looked up for each row by its customer: as an EXISTS, PostgreSQL would rather read all that ever fired.
    first = select(other.id).where(*_same_fired(other, FollowUp)).limit(1)
    return first.correlate(FollowUp).scalar_subquery().is_not(None)


def _same_fired(other: Any, of: Any) -> list[ColumnElement[bool]]:
    """That `other` is of the same promise as `of`, one follow-up or the columns of all, and fired since.

    Since the promise was first made: what was known when it was booked again is not known to whoever does so
    next.
    """
    same = [
        getattr(other, name) == getattr(of, name) for name in ("tenant_id", "customer", "agent", "reason")
    ]
    if isinstance(of, FollowUp):
        made_at: Any = of.promised_at or of.created_at
    else:
        made_at = func.coalesce(of.promised_at, of.created_at)
    return [*same, other.status == Status.FIRED.value, other.fired_at >= made_at]


def check(session: Session, followup: FollowUp, known: str | None) -> None:
    """Raises `Conflict` where there is more to know than the sign `known`, which a person's question showed.

    Without one nothing was shown, and the same must not have fired. The contact must be locked.
    """
    found = read(session, followup)
    if known == found.sign:
        return
    if found.fired is not None and not (known or "").endswith(f".{found.fired}"):
        raise Conflict(
            "The same follow-up fired since this one was booked, so its message may have gone out. "
            "Nothing was booked."
        )
    if known is not None and booking.pending_twin(session, followup.tenant_id, followup) is None:
        raise Conflict("It was booked again meanwhile, so nothing was done.")
