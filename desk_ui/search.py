"""Search that goes straight to what was meant: an id to its page; who or what has a list, to that list."""

import re
from typing import Any
from uuid import UUID

from flask import Flask, g, redirect, render_template, request, url_for
from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from desk_ui.addresses import path_of
from desk_ui.automations import executions_queries as executions
from desk_ui.followups.queries import Tab
from desk_ui.permissions import Permission, requires
from models import text
from models.automations.records import Execution, Status
from models.base import db
from models.conversations import Conversation
from models.followups.records import AgentTask, FollowUp
from models.tenants import Tenant

TABS = (Tab.PENDING, Tab.BLOCKED, Tab.FIRED, Tab.CANCELLED)
# Fewer characters name too many.
BEGINNING = re.compile(r"[0-9a-f]{4,31}")
Place = tuple[str, dict[str, Any]]


def register(app: Flask) -> None:
    app.add_url_rule("/<tenant:tenant>/search", "search.find", find)


@requires(Permission.SEE)
def find() -> Any:
    """To the one thing that `q` names, or a page that says that there is none."""
    wanted = request.args.get("q", "").strip()
    if not wanted:
        return redirect(_where_one_was(), 303)
    found = _place(db.session(), g.tenant, wanted) if text.is_storable(wanted) else None
    if found is not None:
        endpoint, values = found
        return redirect(url_for(endpoint, tenant=g.tenant.key, **values), 303)
    return render_template("search/nothing.html", wanted=wanted[: text.ID_LENGTH]), 404


def _where_one_was() -> str:
    """The page that nothing was asked for on; never this one, which would lead to itself."""
    back = path_of(request.referrer)
    here = back is None or back.partition("?")[0] == request.path
    return url_for("overview.index", tenant=g.tenant.key) if here or back is None else back


def _place(session: Session, tenant: Tenant, wanted: str) -> Place | None:
    """The endpoint and arguments of what `wanted` names in `tenant`."""
    named = _named(session, tenant, wanted)
    if named is not None:
        return named
    tab = tab_of_customer(session, tenant, wanted)
    if tab is not None:
        return "followups.index", _list({"customer": wanted}, tab)
    customer = session.scalars(written_otherwise(tenant, wanted)).first()
    if customer is not None:
        found = tab_of_customer(session, tenant, customer) or Tab.PENDING
        return "followups.index", _list({"customer": customer}, found)
    tab = _first_tab(session, tenant, FollowUp.reason == wanted)
    if tab is not None:
        return "followups.index", _list({"reason": wanted}, tab)
    return _conversation(session, tenant, wanted) or _beginning(session, tenant, wanted)


def _conversation(session: Session, tenant: Tenant, wanted: str) -> Place | None:
    """The executions on the conversation that is called so, in the tab of what changed last."""
    query = (
        select(Execution.status, Execution.needs_review)
        .join(Conversation, Conversation.id == Execution.conversation_id)
        .where(Conversation.tenant_id == tenant.id, Conversation.external_id == wanted)
        .order_by(Execution.needs_review.desc(), Execution.updated_at.desc())
    )
    found = session.execute(query.limit(1)).one_or_none()
    if found is None:
        return None
    tab = executions.Tab.REVIEW if found.needs_review else executions.TAB_OF[Status(found.status)]
    return "executions.index", executions.Filters(tab, conversation=wanted).as_params()


def written_otherwise(tenant: Tenant, customer: str) -> Select[Any]:
    """A customer who differs from `customer` by case alone: `c-1042` for `C-1042`."""
    same = func.lower(FollowUp.customer) == func.lower(customer)
    return select(FollowUp.customer).where(FollowUp.tenant_id == tenant.id, same).limit(1)


def _list(narrowed: dict[str, str], tab: Tab) -> dict[str, str]:
    return narrowed if tab is Tab.PENDING else {**narrowed, "tab": tab.value}


def _named(session: Session, tenant: Tenant, wanted: str) -> Place | None:
    """The follow-up or the execution with this id, or the follow-up that made the task with it."""
    try:
        id = UUID(wanted)
    except ValueError:
        return None
    own = select(FollowUp.id).where(FollowUp.tenant_id == tenant.id, FollowUp.id == id)
    tasks = select(AgentTask.followup_id).where(AgentTask.tenant_id == tenant.id, AgentTask.id == id)
    followup_id = session.scalars(own).one_or_none() or session.scalars(tasks).one_or_none()
    if followup_id is not None:
        return "followups.show", {"followup_id": followup_id}
    run = select(Execution.id).where(Execution.tenant_id == tenant.id, Execution.id == id)
    execution_id = session.scalars(run).one_or_none()
    return ("executions.show", {"execution_id": execution_id}) if execution_id is not None else None


def _beginning(session: Session, tenant: Tenant, wanted: str) -> Place | None:
    """The one follow-up or execution whose id begins so; None where there are several."""
    start = wanted.lower().replace("-", "")
    if not BEGINNING.fullmatch(start):
        return None
    first, last = UUID(start.ljust(32, "0")), UUID(start.ljust(32, "f"))
    found: list[Place] = []
    for kind, endpoint, name in (
        (FollowUp, "followups.show", "followup_id"),
        (Execution, "executions.show", "execution_id"),
    ):
        query = select(kind.id).where(kind.tenant_id == tenant.id, kind.id.between(first, last))
        found += [(endpoint, {name: id}) for id in session.scalars(query.order_by(kind.id).limit(2))]
    return found[0] if len(found) == 1 else None


def tab_of_customer(session: Session, tenant: Tenant, customer: str) -> Tab | None:
    """Where the customer's pending ones are; where none is pending, what changed last."""
    query = select(FollowUp.status, func.max(FollowUp.updated_at).label("at")).where(
        FollowUp.tenant_id == tenant.id, FollowUp.customer == customer
    )
    changed = {row.status: row.at for row in session.execute(query.group_by(FollowUp.status))}
    if not changed or Tab.PENDING.status.value in changed:
        return Tab.PENDING if changed else None
    return max(
        (tab for tab in TABS if tab.status.value in changed), key=lambda tab: changed[tab.status.value]
    )


def _first_tab(session: Session, tenant: Tenant, condition: ColumnElement[bool]) -> Tab | None:
    """The first tab that holds such rows."""
    for tab in TABS:
        query = select(FollowUp.id).where(
            FollowUp.tenant_id == tenant.id, FollowUp.status == tab.status.value, condition
        )
        if session.scalars(query.limit(1)).first() is not None:
            return tab
    return None
