"""What of a tenant's executions needs a person now, counted at a cost that does not grow with its rows."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models import needs
from models.automations.records import Execution
from models.needs import Need


def review(session: Session, tenant_id: int) -> Need:
    """The runs that were abandoned, or ended with an action that failed or whose end is unknown."""
    return needs.read(
        session,
        select(Execution.updated_at)
        .where(Execution.tenant_id == tenant_id, Execution.needs_review.is_(True))
        .order_by(Execution.updated_at),
    )


def review_among(session: Session, tenant_id: int, ids: Sequence[UUID]) -> int:
    """How many of `ids` need a person."""
    if not ids:
        return 0
    query = select(func.count()).where(
        Execution.tenant_id == tenant_id, Execution.id.in_(ids), Execution.needs_review.is_(True)
    )
    return session.scalars(query).one()


def refusal_to_take(needs_review: bool) -> str | None:
    """Why nobody takes this execution on: it needs nobody; None where it needs a person."""
    if needs_review:
        return None
    return "This execution needs nobody now, so there is nothing to take on."
