"""Sign-in links that are over, and go."""

from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from models.operators import SignInLink


def purge_links(session: Session, *, now: datetime, limit: int) -> int:
    """Delete up to `limit` links that can't be used any more, 15 minutes after they were made.

    How many there were. The caller commits.
    """
    old = (
        select(SignInLink.id).where(SignInLink.expires_at <= now).order_by(SignInLink.expires_at).limit(limit)
    )
    ids = list(session.scalars(old))
    gone = delete(SignInLink).where(SignInLink.id.in_(ids))
    session.execute(gone.execution_options(synchronize_session=False))
    return len(ids)
