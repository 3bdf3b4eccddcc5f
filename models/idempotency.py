"""Answers kept under an idempotency key, so that a call sent again has its effect once."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ForeignKey, Index, Integer, String, Text, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, mapped_column

from models.base import Base, is_sqlite
from models.errors import Invalid, NotFound

KEPT_FOR = timedelta(hours=24)
FIELD = "Idempotency-Key"


class KeptAnswer(Base):
    """The answer of one call. `call` is a digest of method, path and key; `answer` is null once forgotten."""

    __tablename__ = "kept_answer"

    token_id: Mapped[int] = mapped_column(ForeignKey("api_token.id"), primary_key=True)
    call: Mapped[str] = mapped_column(String(64), primary_key=True)
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    body_digest: Mapped[str] = mapped_column(String(64))
    status: Mapped[int] = mapped_column(Integer)
    answer: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime]

    __table_args__ = (
        Index("ix_kept_answer_created_at", "created_at"),
        Index("ix_kept_answer_tenant", "tenant_id", "created_at"),
    )


@dataclass(frozen=True, slots=True)
class Call:
    """What makes two calls the same: the token, the method, the path and the key; and the body's digest."""

    tenant_id: int
    token_id: int
    digest: str
    body_digest: str


def call_of(*, tenant_id: int, token_id: int, method: str, path: str, key: str, body: bytes) -> Call:
    """Raises `Invalid` for a key that is blank, long, or not of printable ASCII."""
    if not 1 <= len(key) <= 200 or not key.isascii() or not key.isprintable() or not key.strip():
        raise Invalid(FIELD, "must be 1 to 200 printable ASCII characters")
    name = "\n".join((method, path, key)).encode("utf-8", "surrogatepass")
    return Call(tenant_id, token_id, hashlib.sha256(name).hexdigest(), hashlib.sha256(body).hexdigest())


def begin(session: Session, call: Call, now: datetime) -> tuple[int, str] | None:
    """The first answer (status, body) of this call, or None if it is the first and may have its effect.

    The row is inserted before the effect, in its transaction: another process with the same key waits for
    that transaction's end, and then finds the answer, or takes the place of one that failed. Raises
    `Invalid` where the key was used with another body, and `NotFound` where the answer was erased since.
    """
    session.execute(
        delete(KeptAnswer).where(
            KeptAnswer.token_id == call.token_id,
            KeptAnswer.call == call.digest,
            KeptAnswer.created_at <= now - KEPT_FOR,
        )
    )
    if _insert(session, call, now):
        return None
    kept = session.get(KeptAnswer, (call.token_id, call.digest), populate_existing=True)
    if kept is None:
        raise RuntimeError("the kept answer went away while it was looked up")
    if kept.body_digest != call.body_digest:
        raise Invalid(FIELD, "was used with another body within the last 24 hours")
    if kept.answer is None:
        raise NotFound("answer any more: the customer it told of was erased")
    return kept.status, kept.answer


def keep(session: Session, call: Call, status: int, answer: str) -> None:
    """Keep the answer of a call that `begin` let through, in the effect's transaction."""
    kept = session.get(KeptAnswer, (call.token_id, call.digest), populate_existing=True)
    if kept is None:
        raise RuntimeError("an answer can be kept only after begin")
    kept.status, kept.answer = status, answer


def forget(session: Session, tenant_id: int, customer: str | None = None) -> int:
    """Blank the kept answers that tell of `customer`, or all of a tenant's; how many there were.

    The key stays, so that a call sent again after the erasing has no second effect.
    """
    statement = update(KeptAnswer).where(KeptAnswer.tenant_id == tenant_id, KeptAnswer.answer.is_not(None))
    if customer is not None:
        # As a JSON string of its own; by position, since LIKE on SQLite takes c-1 and C-1 for the same.
        position = func.instr if is_sqlite(session) else func.strpos
        statement = statement.where(position(KeptAnswer.answer, json.dumps(customer, ensure_ascii=False)) > 0)
    forgotten = session.scalars(
        statement.values(answer=None).returning(KeptAnswer.call),
        execution_options={"synchronize_session": False},
    )
    return len(forgotten.all())


def purge(session: Session, *, now: datetime, limit: int) -> int:
    """Delete up to `limit` answers that are older than 24 hours; how many there were. The caller commits."""
    old = session.execute(
        select(KeptAnswer.token_id, KeptAnswer.call)
        .where(KeptAnswer.created_at <= now - KEPT_FOR)
        .order_by(KeptAnswer.created_at)
        .limit(limit)
    ).all()
    for token_id, call in old:
        session.execute(delete(KeptAnswer).where(KeptAnswer.token_id == token_id, KeptAnswer.call == call))
    return len(old)


def _insert(session: Session, call: Call, now: datetime) -> bool:
    dialect = sqlite if is_sqlite(session) else postgresql
    statement = dialect.insert(KeptAnswer).values(
        token_id=call.token_id,
        call=call.digest,
        tenant_id=call.tenant_id,
        body_digest=call.body_digest,
        status=0,
        created_at=now,
    )
    # By the row that comes back: psycopg tells no row count of such an insert.
    made = statement.on_conflict_do_nothing().returning(KeptAnswer.call)
    return session.execute(made).first() is not None
