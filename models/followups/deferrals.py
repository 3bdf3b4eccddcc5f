"""Quiet hours that no longer hold: a changed policy wakes the rows that the old one put off."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import String, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import bulk, text
from models.base import Base, is_sqlite
from models.declarations import Declared
from models.followups.records import FollowUp, Status

UNDECLARED = "undeclared"


class PolicySeen(Base):
    """The policy under which an agent's rows were judged last."""

    __tablename__ = "followup_policy_seen"

    agent: Mapped[str] = mapped_column(String(200), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64))


def forget_outdated(session: Session, declared: Declared, *, now: datetime) -> None:
    """Clear `deferred_until` of the pending rows of every agent whose policy changed since the last run."""
    seen = {row.agent: row.digest for row in session.execute(select(PolicySeen.agent, PolicySeen.digest))}
    stands = {
        agent: _digest(table) for agent, table in declared.table("agents").items() if text.is_storable(agent)
    }
    # In the order of their names, so that two runs wait for each other, not both ways.
    for agent in sorted({*seen, *stands}):
        digest = stands.get(agent, UNDECLARED)
        if seen.get(agent) == digest:
            continue
        _note(session, agent, digest)
        bulk.execute_unaudited(
            session,
            update(FollowUp)
            .where(
                FollowUp.agent == agent,
                FollowUp.status == Status.PENDING,
                FollowUp.deferred_until.is_not(None),
            )
            .values(deferred_until=None, updated_at=now)
            .execution_options(synchronize_session=False),
        )


def _note(session: Session, agent: str, digest: str) -> None:
    dialect = sqlite if is_sqlite(session) else postgresql
    statement = dialect.insert(PolicySeen).values(agent=agent, digest=digest)
    session.execute(
        statement.on_conflict_do_update(index_elements=["agent"], set_={"digest": statement.excluded.digest})
    )


def _digest(table: object) -> str:
    section = table.get("followup", {}) if isinstance(table, Mapping) else table
    return hashlib.sha256(json.dumps(section, sort_keys=True, default=str).encode()).hexdigest()
