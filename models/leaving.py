"""What an account loses with its last role: whatever would let its holder, or its maker, in again."""

from datetime import datetime
from uuid import uuid4

from sqlalchemy import delete
from sqlalchemy.orm import Session

from models import operators
from models.operators import Operator
from models.second_factor import RecoveryCode, SecondFactor


def empty(session: Session, operator: Operator, now: datetime) -> None:
    """Take the account's password, second factor and unused links, and end its sessions.

    Any tenant may add it from now on, whose people must not find somebody else inside. Writes no audit event:
    that of the last role tells of it. The caller holds the lock on the account.
    """
    operator.password = None
    operator.fs_uniquifier = uuid4().hex
    operators.void_links(session, operator, now)
    for gone in (
        delete(RecoveryCode).where(RecoveryCode.operator_id == operator.id),
        delete(SecondFactor).where(SecondFactor.operator_id == operator.id),
    ):
        session.execute(gone.execution_options(synchronize_session="fetch"))
