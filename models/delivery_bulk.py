"""What is done with many deliveries at once: sending dead ones again, one row at a time."""

from sqlalchemy import BigInteger, ColumnElement, Select, cast, exists, func, select
from sqlalchemy.orm import Session, aliased

from models import deliveries
from models.bulk_operations import BulkItem, BulkOperation, ItemState
from models.bulk_running import Verb, Work
from models.deliveries import Delivery, State
from models.endpoints import EndpointState, WebhookEndpoint


def rearmable() -> ColumnElement[bool]:
    """The rows that a re-arming of many takes: dead ones whose endpoint is still there."""
    # By a name of its own, since the list joins its endpoints already.
    its = aliased(WebhookEndpoint)
    removed = exists().where(its.id == Delivery.endpoint_id, its.state == EndpointState.REMOVED.value)
    return (Delivery.state == State.DEAD.value) & Delivery.next_attempt_at.is_(None) & ~removed


def address_versions(session: Session, tenant_id: int) -> dict[str, int]:
    """The version of each address that a re-armed delivery may go to, by its endpoint's id."""
    query = select(WebhookEndpoint.id, WebhookEndpoint.address_version).where(
        WebhookEndpoint.tenant_id == tenant_id, WebhookEndpoint.state != EndpointState.REMOVED
    )
    return {str(id): version for id, version in session.execute(query)}


def waiting_for_endpoints(operation: BulkOperation) -> Select[int]:
    """Counts those that an operation re-armed, or has still to, which a paused endpoint holds back."""
    of_it = select(cast(BulkItem.row_id, BigInteger)).where(
        BulkItem.operation_id == operation.id,
        BulkItem.state.in_([ItemState.DONE.value, ItemState.WAITING.value]),
    )
    return (
        select(func.count())
        .select_from(Delivery)
        .join(WebhookEndpoint, WebhookEndpoint.id == Delivery.endpoint_id)
        .where(
            Delivery.tenant_id == operation.tenant_id,
            Delivery.id.in_(of_it),
            Delivery.state.in_([State.DEAD.value, State.PENDING.value]),
            WebhookEndpoint.state == EndpointState.PAUSED.value,
        )
    )


def _rearm(work: Work) -> None:
    deliveries.rearm(
        work.session,
        work.tenant.id,
        int(work.row_id),
        reason=work.reason,
        actor=work.actor,
        now=work.now,
        expected_version=work.version,
        addresses=work.options.get("addresses"),
    )


REARM = Verb("delivery.rearm", "delivery", int, _rearm)
