"""A few executions under the locks that judging and acting need, and what both write, set-wise."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import bulk, set_wise
from models.automations.judging import Facts
from models.automations.records import ActionRun, AutomationRule, Execution, Status
from models.conversations import Conversation
from models.tenants import Tenant

Row = TypeVar("Row", Tenant, AutomationRule, Conversation)


def lock(session: Session, ids: Sequence[UUID], *, token: UUID, status: Status) -> list[Facts]:
    """Lock tenants and rules against a switch, then the conversations, then those of `ids` that `token` still
    holds in `status`; in the order of `ids`.

    Who changes a switch or a rule locks it first and the executions after, as here.
    """
    refs = session.execute(
        select(Execution.id, Execution.tenant_id, Execution.rule_id, Execution.conversation_id).where(
            bulk.is_among(session, Execution.id, ids),
            Execution.lock_token == token,
            Execution.status == status.value,
        )
    ).all()
    tenants = _held(session, Tenant, {row.tenant_id for row in refs}, shared=True)
    rules = _held(session, AutomationRule, {row.rule_id for row in refs}, shared=True)
    conversations = _held(session, Conversation, {row.conversation_id for row in refs})
    held = session.scalars(
        select(Execution)
        .where(
            bulk.is_among(session, Execution.id, [row.id for row in refs]),
            Execution.lock_token == token,
            Execution.status == status.value,
        )
        .order_by(Execution.id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    place = {id: number for number, id in enumerate(ids)}
    return [
        Facts(
            tenant=tenants[one.tenant_id],
            execution=one,
            rule=rules.get(one.rule_id),
            conversation=conversations.get(one.conversation_id),
        )
        for one in sorted(held, key=lambda one: place[one.id])
    ]


def _held(
    session: Session, model: type[Row], ids: Iterable[Any], *, shared: bool = False
) -> Mapping[Any, Row]:
    """The rows by id, locked in the order of their ids; `shared` keeps only those out that would write."""
    query = select(model).where(bulk.is_among(session, model.id, sorted(ids))).order_by(model.id)
    query = query.with_for_update(read=shared).execution_options(populate_existing=True)
    return {row.id: row for row in session.scalars(query)}


def writing(session: Session) -> AbstractContextManager[None]:
    """Write what judging or acting on locked rows adds and changes set-wise, at the end of the block."""
    return set_wise.writing(session, ActionRun, Conversation, Execution)
