"""What leaves a trace though nothing was done: an operator's act that the state or the scope forbade."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy.orm import Session

from desk_ui.api.paths import as_uuid
from models import audit
from models.audit import Result
from models.errors import Conflict, DeskError, Forbidden, NotFound
from models.transactions import commit, rollback

if TYPE_CHECKING:
    from desk_ui.api.operations import Call

Subject = Callable[[Session, int, Mapping[str, Any]], str]


@dataclass(frozen=True, slots=True)
class Refused:
    """The act that was refused, and how to find what it was refused on.

    `subject` takes the session, the tenant's id and the path's parameters, and gives the resource's id. It
    raises `NotFound` where there is no such row, which leaves no trace.
    """

    action: str
    resource_type: str
    subject: Subject


def by_id(get: Callable[[Session, int, UUID], Any], what: str) -> Subject:
    """The subject of a path with an `id`, which `get` finds."""
    return lambda session, tenant_id, path: str(get(session, tenant_id, as_uuid(path["id"], what)).id)


def record(refused: Refused | None, call: "Call", error: DeskError) -> None:
    """Append one event with the result `refused`, in a transaction of its own."""
    if refused is None or not isinstance(error, Conflict | Forbidden):
        return
    try:
        resource_id = refused.subject(call.session, call.tenant.id, call.path)
    except NotFound:
        rollback(call.session)
        return
    state = getattr(getattr(error, "current", None), "status", None)
    audit.append(
        call.session,
        tenant_id=call.tenant.id,
        actor=call.actor,
        action=refused.action,
        resource=(refused.resource_type, resource_id),
        now=call.now,
        purpose=error.code,
        detail={"status": state} if isinstance(state, str) else {},
        result=Result.REFUSED,
    )
    commit(call.session, "api.refused")
