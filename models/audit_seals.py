"""The seals over the audit: a chain of digests that shows whether a sealed row was changed or removed."""

from datetime import datetime

from sqlalchemy import Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, BigId, Serial


class AuditSeal(Base):
    """One sealed range of positions, with the digest over its rows and the seal before."""

    __tablename__ = "audit_seal"

    id: Mapped[Serial]
    first_position: Mapped[int] = mapped_column(BigId, unique=True)
    last_position: Mapped[int] = mapped_column(BigId, unique=True)
    first_id: Mapped[int] = mapped_column(BigId)
    last_id: Mapped[int] = mapped_column(BigId)
    count: Mapped[int] = mapped_column(Integer)
    digest: Mapped[str] = mapped_column(String(64))
    sealed_at: Mapped[datetime]
