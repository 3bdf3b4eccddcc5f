"""What the executions pages read: the filter, a page of thin rows, the tabs' counts, how far runs came."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, or_, select
from sqlalchemy.orm import Session

from desk_ui import filters, local_time
from desk_ui.automations.scenes import Scene as Scene
from desk_ui.paging import MOST_COUNTED, ROWS, Cursor, Page, TooSlow, time_limit
from models.automations.records import ActionRun, AutomationRule, Execution, Skip, Status
from models.base import table_of
from models.conversations import Conversation
from models.errors import Invalid
from models.tenants import Tenant

# So many rules can be chosen from; the address can name any.
MOST_RULES = 200


class Tab(StrEnum):
    REVIEW = "review"
    WAITING = "waiting"
    RUNNING = "running"
    STALE = "stale"
    SKIPPED = "skipped"
    EXECUTED = "executed"

    @property
    def oldest_first(self) -> bool:
        """Whether its rows wait for something or somebody, so that the soonest or oldest comes first."""
        return self in (Tab.REVIEW, Tab.WAITING, Tab.STALE)


TAB_OF = {
    Status.PENDING: Tab.WAITING,
    Status.PROCESSING: Tab.RUNNING,
    Status.EXECUTING: Tab.RUNNING,
    Status.EXECUTED: Tab.EXECUTED,
    Status.SKIPPED: Tab.SKIPPED,
}


def _uuid(name: str, value: str) -> UUID:
    try:
        return UUID(value)
    except ValueError:
        raise Invalid(name, "is not the id of a rule") from None


@dataclass(frozen=True)
class Filters(filters.Filters):
    """All that defines the list. `since` and `until` are in the page's zone, of what the tab orders by."""

    readers = {
        "tab": filters.one_of(Tab),
        "rule": _uuid,
        "skipped": filters.one_of(Skip),
        "since": local_time.as_typed,
        "until": local_time.as_typed,
    }

    tab: Tab = Tab.REVIEW
    rule: UUID | None = None
    conversation: str | None = None
    skipped: Skip | None = None
    since: str | None = None
    until: str | None = None


class Row(NamedTuple):
    """One execution as a list shows it, with its rule and conversation as far as they are still there."""

    id: UUID
    version: int
    status: str
    skip_reason: str | None
    needs_review: bool
    resumed: bool
    at_once: bool
    episode_key: str
    due_at: datetime
    not_before: datetime | None
    attempts: int
    next_attempt_at: datetime | None
    locked_at: datetime | None
    run: int
    settled_by: str | None
    updated_at: datetime
    rule_id: UUID
    rule: str | None
    conversation: str | None
    customer: str | None

    @property
    def held_at(self) -> datetime:
        """When who holds it said something last."""
        return self.locked_at or self.updated_at


class Begun(NamedTuple):
    """One action of a present run, as far as a list needs it."""

    state: str
    native: bool
    name: str


# Columns of the tables, not of the mapped classes: rows of them need nothing of the mapper.
_OF, _RULE, _CONVERSATION = (table_of(kind).c for kind in (Execution, AutomationRule, Conversation))
_OTHERS: Mapping[str, Any] = {
    "rule": _RULE.name.label("rule"),
    "conversation": _CONVERSATION.external_id.label("conversation"),
    "customer": _CONVERSATION.customer,
}
THIN = tuple(_OTHERS[name] if name in _OTHERS else _OF[name] for name in Row._fields)
_OWN = tuple(name for name in Row._fields if name not in _OTHERS)
_HELD_AT = func.coalesce(_OF.locked_at, _OF.updated_at)


def page(
    session: Session, scene: Scene, filters: Filters, after: Cursor | None, limit: timedelta
) -> Page[Row]:
    """One page of the list. Raises `TooSlow`."""
    query = named(selected(filters, after), filters.tab, *_OWN)
    with time_limit(session, limit):
        found = session.execute(query, values(scene, filters)).all()
    rows = [Row(*columns) for columns in found[:ROWS]]
    following = Cursor(at(filters.tab, rows[-1]), rows[-1].id).encode() if len(found) > ROWS else None
    return Page(rows, following)


def at(tab: Tab, row: Row) -> datetime:
    """The moment that the tab orders by."""
    if tab is Tab.WAITING:
        return row.due_at
    return row.held_at if tab in (Tab.RUNNING, Tab.STALE) else row.updated_at


def named(
    selected: Select[Any], tab: Tab, *own: str, of_conversation: Sequence[str] = ("external_id", "customer")
) -> Select[Any]:
    """The columns `own` of the executions that are `selected`, the rule's name, and what is asked of the
    conversation; only those are looked up, whatever the planner makes of the rest."""
    found = selected.subquery("found")
    rule, conversation = table_of(AutomationRule), table_of(Conversation)
    joined = found.outerjoin(rule, _RULE.id == found.c.rule_id)
    joined = joined.outerjoin(conversation, _CONVERSATION.id == found.c.conversation_id)
    by = (found.c.place, found.c.id) if tab.oldest_first else (found.c.place.desc(), found.c.id.desc())
    columns = (
        *(found.c[name] for name in own),
        _RULE.name,
        *(_CONVERSATION[name] for name in of_conversation),
    )
    return select(*columns).select_from(joined).order_by(*by)


def selected(filters: Filters, after: Cursor | None) -> Select[Any]:
    """The executions of one page, each with its `place`, and one more where there are more; `values` gives
    the parameters."""
    query = _rows_of(filters.tab, frozenset(filters.narrows))
    if after is not None:
        order = order_of(filters.tab)
        query = query.where(after.after(order, _OF.id, newest_first=not filters.tab.oldest_first))
    return query


def one(session: Session, tenant: Tenant, execution_id: UUID) -> Row | None:
    """One row as the list shows it, or None."""
    found = session.execute(of_these(tenant).where(_OF.id == execution_id)).one_or_none()
    return Row(*found) if found else None


def of_these(tenant: Tenant) -> Select[Any]:
    """The columns of rows of the tenant, which the caller names."""
    return _thin().where(_OF.tenant_id == tenant.id)


def these(
    session: Session, scene: Scene, filters: Filters, ids: Sequence[UUID]
) -> tuple[list[Row], frozenset[UUID]]:
    """The rows `ids` that the tenant has, and which of them the list under `filters` does not hold."""
    if not ids:
        return [], frozenset()
    holds = and_(*_conditions(filters.tab, frozenset(filters.narrows))).label("holds")
    query = _thin().add_columns(holds).where(_OF.tenant_id == scene.tenant.id, _OF.id.in_(ids))
    found = session.execute(query, values(scene, filters)).all()
    return [Row(*one[:-1]) for one in found], frozenset(one.id for one in found if not one.holds)


def begun(session: Session, rows: Sequence[Row]) -> dict[UUID, list[Begun]]:
    """The actions of the present runs of `rows`, by execution, in their order; no query where none ran."""
    runs = {row.id: row.run for row in rows if row.run}
    if not runs:
        return {}
    query = select(ActionRun.execution_id, ActionRun.run, ActionRun.state, ActionRun.native, ActionRun.name)
    query = query.where(ActionRun.execution_id.in_(list(runs)))
    found: dict[UUID, list[Begun]] = {}
    for id, run, *action in session.execute(query.order_by(ActionRun.execution_id, ActionRun.position)):
        if runs[id] == run:
            found.setdefault(id, []).append(Begun(*action))
    return found


def counts(session: Session, scene: Scene, filters: Filters, limit: timedelta) -> dict[Tab, int | None]:
    """The rows of each tab under the same filters, counted to one above the cap; None where too slow."""
    return {tab: _count(session, scene, of_tab(filters, tab), limit) for tab in Tab}


def of_tab(filters: Filters, tab: Tab) -> Filters:
    """The same filters in another tab; the reason of a skip is one tab's alone."""
    return replace(filters, tab=tab, skipped=filters.skipped if tab is Tab.SKIPPED else None)


def _count(session: Session, scene: Scene, filters: Filters, limit: timedelta) -> int | None:
    conditions = _conditions(filters.tab, frozenset(filters.narrows))
    capped: Select[Any] = select(_OF.id).where(*conditions).limit(MOST_COUNTED + 1)
    if not filters.narrows and filters.tab not in (Tab.RUNNING, Tab.STALE):
        # Keeps the planner on the tab's own index: a scan that hopes to fill the cap soon may not.
        capped = capped.order_by(order_of(filters.tab))
    query = select(func.count()).select_from(capped.subquery())
    try:
        with time_limit(session, limit):
            return session.scalars(query, values(scene, filters)).one()
    except TooSlow:
        return None


def _thin() -> Select[Any]:
    execution, rule, conversation = (table_of(kind) for kind in (Execution, AutomationRule, Conversation))
    joined = execution.outerjoin(rule, _RULE.id == _OF.rule_id)
    joined = joined.outerjoin(conversation, _CONVERSATION.id == _OF.conversation_id)
    return select(*THIN).select_from(joined)


@cache
def _rows_of(tab: Tab, names: frozenset[str]) -> Select[Any]:
    """The statement of a page, made once for each tab and each choice of filters: to make one takes long."""
    order = order_of(tab)
    by = (order, _OF.id) if tab.oldest_first else (order.desc(), _OF.id.desc())
    query = select(table_of(Execution), order.label("place"))
    return query.where(*_conditions(tab, names)).order_by(*by).limit(ROWS + 1)


def _conditions(tab: Tab, names: frozenset[str]) -> list[ColumnElement[bool]]:
    """What a tab holds under the filters `names`, whose values `values` gives."""
    order = order_of(tab)
    called = select(_CONVERSATION.id).where(
        _CONVERSATION.tenant_id == bindparam("tenant"), _CONVERSATION.external_id == bindparam("conversation")
    )
    by_name: dict[str, ColumnElement[bool]] = {
        "rule": _OF.rule_id == bindparam("rule"),
        "conversation": _OF.conversation_id.in_(called),
        "since": order >= bindparam("since"),
        "until": order < bindparam("until"),
    }
    if tab is Tab.SKIPPED:
        by_name["skipped"] = _OF.skip_reason == bindparam("skipped")
    own = [_OF.tenant_id == bindparam("tenant"), *_in_tab(tab)]
    return own + [condition for name, condition in by_name.items() if name in names]


def _in_tab(tab: Tab) -> list[ColumnElement[bool]]:
    """Running and stale are told apart by a clock, and are no more than workers can hold at a time."""
    processing = _OF.status == Status.PROCESSING.value
    stale = or_(_OF.locked_at.is_(None), _OF.locked_at < bindparam("stale"))
    held = _OF.status.in_([Status.PROCESSING.value, Status.EXECUTING.value])
    runs = or_(_OF.status == Status.EXECUTING.value, _OF.locked_at >= bindparam("stale"))
    return {
        Tab.REVIEW: [_OF.needs_review.is_(True)],
        Tab.WAITING: [_OF.status == Status.PENDING.value],
        Tab.RUNNING: [held, _OF.needs_review.is_(False), runs],
        Tab.STALE: [processing, stale],
        Tab.SKIPPED: [_OF.status == Status.SKIPPED.value],
        Tab.EXECUTED: [_OF.status == Status.EXECUTED.value],
    }[tab]


def values(scene: Scene, filters: Filters) -> dict[str, Any]:
    """The values of the parameters in `selected`."""
    found: dict[str, Any] = {"tenant": scene.tenant.id, "stale": scene.stale_before, **filters.narrows}
    if filters.rule is not None:
        found["rule"] = filters.rule
    for name in {"since", "until"} & found.keys():
        found[name] = local_time.bound(found[name], scene.zone)
    return found


def order_of(tab: Tab) -> Any:
    """The column that the rows of `tab` stand by."""
    if tab is Tab.WAITING:
        return _OF.due_at
    return _HELD_AT if tab in (Tab.RUNNING, Tab.STALE) else _OF.updated_at


def rules(session: Session, tenant: Tenant, chosen: UUID | None) -> list[tuple[UUID, str]]:
    """The rules to choose from, by name: the first that were made, and the one that is chosen already."""
    own = AutomationRule.tenant_id == tenant.id
    query = select(AutomationRule.id, AutomationRule.name).where(own)
    first = query.order_by(AutomationRule.created_at, AutomationRule.id).limit(MOST_RULES)
    found = {id: name for id, name in session.execute(first)}  # noqa: C416  mypy knows the pair
    if chosen is not None and chosen not in found:
        found |= {id: name for id, name in session.execute(query.where(AutomationRule.id == chosen))}  # noqa: C416
    return sorted(found.items(), key=lambda one: (one[1].casefold(), str(one[0])))
