"""Which conversations of a source are to be read again, because something that waits on them runs soon."""

from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models.automations.records import Execution, Status
from models.conversations import Conversation

SOON = timedelta(minutes=2)


def due_soon(session: Session, tenant_id: int, source: str, *, now: datetime, limit: int) -> list[str]:
    """The source's ids of up to `limit` conversations with armed executions that are looked at within 2
    minutes or are late, what comes first in front."""
    first = func.min(Execution.next_at)
    query = (
        select(Conversation.external_id)
        .join(Execution, Execution.conversation_id == Conversation.id)
        .where(
            Execution.tenant_id == tenant_id,
            Execution.status == Status.PENDING.value,
            Execution.at_once.is_(False),
            Execution.next_at <= now + SOON,
            Conversation.source == source,
        )
        .group_by(Conversation.external_id)
        .order_by(first, Conversation.external_id)
    )
    return list(session.scalars(query.limit(limit)))
