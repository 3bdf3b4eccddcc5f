"""Forms that act once: each carries a token of its own, and a second sending of it changes nothing."""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Index, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, mapped_column

from models.base import Base, is_sqlite
from models.errors import Conflict

KEPT_FOR = timedelta(hours=24)


class SentTwice(Conflict):
    """The form did act, the first time."""

    def __init__(self) -> None:
        super().__init__("This was sent twice: it was done the first time, and nothing more was done now.")


class SentForm(Base):
    """The token of a form that acted."""

    __tablename__ = "sent_form"

    token: Mapped[UUID] = mapped_column(primary_key=True)
    at: Mapped[datetime]

    __table_args__ = (Index("ix_sent_form_at", "at"),)


def claim(session: Session, token: UUID, *, now: datetime) -> None:
    """Use `token` up in the transaction at hand, with what the form does.

    One that is being used elsewhere is waited for. Raises `SentTwice` where it was used.
    """
    dialect = sqlite if is_sqlite(session) else postgresql
    made = dialect.insert(SentForm).values(token=token, at=now).on_conflict_do_nothing()
    if session.execute(made.returning(SentForm.token)).first() is None:
        raise SentTwice


def purge(session: Session, *, now: datetime, limit: int) -> int:
    """Delete up to `limit` tokens that are older than 24 hours; how many there were. The caller commits."""
    old = session.scalars(
        select(SentForm.token).where(SentForm.at <= now - KEPT_FOR).order_by(SentForm.at).limit(limit)
    ).all()
    session.execute(
        delete(SentForm).where(SentForm.token.in_(old)).execution_options(synchronize_session=False)
    )
    return len(old)
