"""Episodes in which something is stranded for too long: announced once, when each begins."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ForeignKey, String, delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import outbox
from models.base import Base, is_sqlite, table_of
from models.clock import iso

EVENT_TYPE = "attention.needed"


@dataclass(frozen=True, slots=True)
class Stranded:
    """What has been waiting for too long: since when the oldest, and whose it is."""

    tenant_id: int
    reason: str
    since: datetime
    resource: tuple[str, str]


class AttentionEpisode(Base):
    """One thing that is stranded now; the row goes when nothing of its kind is any more."""

    __tablename__ = "attention_episode"

    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"), primary_key=True)
    reason: Mapped[str] = mapped_column(String(40), primary_key=True)
    began_at: Mapped[datetime]


def announce(session: Session, reason: str, found: dict[int, Stranded], *, now: datetime) -> list[Stranded]:
    """Open an episode of `reason` for each tenant in `found`, and close those of all others.

    Returns those that this call opened, each with its `attention.needed` event. The caller commits.
    """
    over = delete(AttentionEpisode).where(
        AttentionEpisode.reason == reason, AttentionEpisode.tenant_id.not_in(list(found))
    )
    session.execute(over.execution_options(synchronize_session=False))
    opened = [stranded for _tenant, stranded in sorted(found.items()) if _open(session, stranded, now)]
    for stranded in opened:
        kind, id = stranded.resource
        outbox.enqueue(
            session,
            tenant_id=stranded.tenant_id,
            event_type=EVENT_TYPE,
            aggregate=stranded.resource,
            payload={"reason": reason, "since": iso(stranded.since), f"{kind}_id": id},
            now=now,
        )
    return opened


def _open(session: Session, stranded: Stranded, now: datetime) -> bool:
    """Whether this call began the episode; another process may have been first."""
    insert = sqlite.insert if is_sqlite(session) else postgresql.insert
    table = table_of(AttentionEpisode)
    made = session.execute(
        insert(table)
        .values(tenant_id=stranded.tenant_id, reason=stranded.reason, began_at=now)
        .on_conflict_do_nothing()
        .returning(table.c.tenant_id)
    )
    return made.first() is not None
