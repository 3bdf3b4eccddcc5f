"""Erasing a customer, or all that a tenant holds: the rows go, the counts stay."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Delete, and_, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from models import (
    audit,
    bulk,
    bulk_operations,
    connectors,
    endpoints,
    handling,
    idempotency,
    inbound_events,
    text,
)
from models.actors import Actor
from models.base import is_sqlite
from models.conversations import Conversation
from models.followups import contacts
from models.followups.records import (
    AgentTask,
    Contact,
    ContactState,
    ErasedOptOut,
    FollowUp,
    Outcome,
    RevokeEvent,
    TaskEvent,
)
from models.messages import Message
from models.tenants import Tenant

COUNTED = ("followups", "tasks", "contacts", "outcomes", "conversations", "messages", "tickets")
BATCH = 500
ERASED = (AgentTask, Contact, Conversation, FollowUp, Message, Outcome, RevokeEvent, TaskEvent)


def erase_customer(
    session: Session, tenant: Tenant, customer: str, *, actor: Actor, now: datetime
) -> dict[str, int]:
    """Erase all rows of `customer` under their contact's lock; how many of each kind there were.

    One audit event with the counts names them by their contact's id, or by a keyed hash where they have no
    contact. Of a customer who opted out a keyed hash stays, so that a booking does not reopen what they
    closed. Erasing again finds nothing, and writes nothing. Raises `Invalid`.
    """
    text.required(customer, "customer")
    mine = _Scope(tenant.id, customer)
    reasons = select(FollowUp.reason).where(mine.of(FollowUp)).distinct()
    bulk_operations.forget_customer(session, tenant.id, customer, reasons)
    # What was told of them and not applied yet, too, or it would bring them back. Locked before the rest.
    inbound_events.forget(session, tenant.id, customer)
    session.execute(
        select(Conversation.id).where(mine.of(Conversation)).order_by(Conversation.id).with_for_update()
    ).all()
    contact = contacts.lock(session, tenant.id, customer)
    if contact is not None and contact.state == ContactState.REVOKED:
        _keep_opt_outs(session, tenant, {customer: contact.revoked_at or now})
    resource = ("contact", str(contact.id)) if contact else ("customer", contacts.digest(tenant, customer))
    counts = _erase(session, mine)
    if any(counts.values()):
        _record(session, tenant, "customer.erased", resource, counts, actor=actor, now=now)
    return counts


def erase_tenant(session: Session, tenant: Tenant, *, actor: Actor, now: datetime) -> dict[str, int]:
    """Erase what `tenant` holds of all its customers, in the transaction at hand; the counts by kind.

    Its webhook endpoints and its connectors are removed with their secrets. The tenant itself stays, with its
    settings, its audit, and the keyed hashes of those who opted out.
    """
    everyone = _Scope(tenant.id, None)
    operations = bulk_operations.erase(session, tenant.id)
    inbound_events.forget(session, tenant.id, None)
    session.execute(
        select(Conversation.id).where(everyone.of(Conversation)).order_by(Conversation.id).with_for_update()
    ).all()
    closed = (
        select(Contact.customer, Contact.state, Contact.revoked_at)
        .where(everyone.of(Contact))
        .order_by(Contact.id)
        .with_for_update()
        .execution_options(yield_per=BATCH)
    )
    for part in session.execute(closed).partitions():
        revoked = {r.customer: r.revoked_at or now for r in part if r.state == ContactState.REVOKED}
        _keep_opt_outs(session, tenant, revoked)
    counts = _erase(session, everyone)
    counts["endpoints"] = endpoints.remove_all(session, tenant.id, actor=actor, now=now)
    if removed := connectors.remove_all(session, tenant.id, actor=actor, now=now):
        counts["connectors"] = removed
    if operations:
        counts["bulk_operations"] = operations
    if any(counts.values()):
        _record(session, tenant, "tenant.erased", ("tenant", tenant.key), counts, actor=actor, now=now)
    return counts


class _Scope:
    """One customer of a tenant, or all of them where `customer` is None."""

    def __init__(self, tenant_id: int, customer: str | None) -> None:
        self.tenant_id = tenant_id
        self.customer = customer

    def of(self, model: Any) -> ColumnElement[bool]:
        own: ColumnElement[bool] = model.tenant_id == self.tenant_id
        return own if self.customer is None else and_(own, model.customer == self.customer)

    def wrote(self) -> ColumnElement[bool]:
        """The messages that they wrote and that name another customer."""
        return and_(Message.tenant_id == self.tenant_id, Message.writer == self.customer)


def _erase(session: Session, scope: _Scope) -> dict[str, int]:
    session.flush()
    # In the order in which the sweep locks them, so that the two wait for each other, not both ways.
    ids = session.scalars(
        select(FollowUp.id).where(scope.of(FollowUp)).order_by(FollowUp.at, FollowUp.id).with_for_update()
    ).all()
    _forget_marks(session, scope, ids)
    tasks = select(AgentTask.id).where(scope.of(AgentTask))
    conversations = select(Conversation.id).where(scope.of(Conversation))
    _gone(
        session, delete(TaskEvent).where(TaskEvent.tenant_id == scope.tenant_id, TaskEvent.task_id.in_(tasks))
    )
    counts = dict.fromkeys(COUNTED, 0)
    counts["tasks"] = _gone(session, delete(AgentTask).where(scope.of(AgentTask)))
    counts["followups"] = _gone(session, delete(FollowUp).where(scope.of(FollowUp)))
    counts["outcomes"] = _gone(session, delete(Outcome).where(scope.of(Outcome)))
    # Their conversations with all that was said there, and what they wrote in those of others.
    for messages in (Message.conversation_id.in_(conversations), scope.of(Message), scope.wrote()):
        counts["messages"] += _gone(session, delete(Message).where(messages))
    counts["conversations"] = _gone(session, delete(Conversation).where(scope.of(Conversation)))
    _gone(session, delete(RevokeEvent).where(scope.of(RevokeEvent)))
    counts["contacts"] = _gone(session, delete(Contact).where(scope.of(Contact)))
    idempotency.forget(session, scope.tenant_id, scope.customer)
    _forget(session, scope)
    return counts


def _forget_marks(session: Session, scope: _Scope, followups: Sequence[UUID]) -> None:
    """Who was on it goes with what they were on."""
    if scope.customer is None:
        handling.forget(session, scope.tenant_id, None)
        return
    for start in range(0, len(followups), BATCH):
        ids = [str(id) for id in followups[start : start + BATCH]]
        handling.forget(session, scope.tenant_id, "followup", ids)


def _gone(session: Session, statement: Delete) -> int:
    """Rows deleted. What is erased leaves no event of its own: the one with the counts tells of it."""
    return bulk.execute_unaudited(session, statement.execution_options(synchronize_session=False))


def _forget(session: Session, scope: _Scope) -> None:
    """Let the session drop what it had read of the erased rows."""
    for row in list(session.identity_map.values()):
        if isinstance(row, ERASED) and row.tenant_id == scope.tenant_id:
            session.expunge(row)


def _keep_opt_outs(session: Session, tenant: Tenant, revoked: Mapping[str, datetime]) -> None:
    """Keep the keyed hash of each of the customers `revoked`, and when they opted out."""
    dialect = sqlite if is_sqlite(session) else postgresql
    rows: Sequence[dict[str, Any]] = [
        {"tenant_id": tenant.id, "digest": contacts.digest(tenant, customer), "revoked_at": at}
        for customer, at in revoked.items()
    ]
    if rows:
        insert = dialect.insert(ErasedOptOut).values(rows)
        session.execute(
            insert.on_conflict_do_update(
                index_elements=["tenant_id", "digest"], set_={"revoked_at": insert.excluded.revoked_at}
            )
        )


def _record(
    session: Session,
    tenant: Tenant,
    action: str,
    resource: tuple[str, str],
    counts: Mapping[str, int],
    *,
    actor: Actor,
    now: datetime,
) -> None:
    audit.append(
        session,
        tenant_id=tenant.id,
        actor=actor,
        action=action,
        resource=resource,
        now=now,
        detail={"counts": dict(counts)},
    )
