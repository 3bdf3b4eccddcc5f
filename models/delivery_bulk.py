"""What is done with many deliveries at once: sending dead ones again, one row at a time."""

from sqlalchemy import ColumnElement, exists
from sqlalchemy.orm import aliased

from models import deliveries
from models.bulk_running import Verb, Work
from models.deliveries import Delivery, State
from models.endpoints import EndpointState, WebhookEndpoint


def rearmable() -> ColumnElement[bool]:
    """The rows that a re-arming of many takes: dead ones whose endpoint is still there."""
    # By a name of its own, since the list joins its endpoints already.
    its = aliased(WebhookEndpoint)
    removed = exists().where(its.id == Delivery.endpoint_id, its.state == EndpointState.REMOVED.value)
    return (Delivery.state == State.DEAD.value) & Delivery.next_attempt_at.is_(None) & ~removed


def _rearm(work: Work) -> None:
    deliveries.rearm(
        work.session,
        work.tenant.id,
        int(work.row_id),
        reason=work.reason,
        actor=work.actor,
        now=work.now,
        expected_version=work.version,
    )


REARM = Verb("delivery.rearm", "delivery", int, _rearm)
