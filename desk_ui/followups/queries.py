"""What the follow-ups pages read: the filter, a page of thin rows, the tabs' counts, and one timeline."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple, Self
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, select
from sqlalchemy.orm import Session

from desk_ui import filters, local_time, timelines
from desk_ui.paging import MOST_COUNTED, ROWS, Cursor, Page, TooSlow, time_limit
from desk_ui.timelines import Entry as Entry
from jobs.schedule import sweeps
from models.base import table_of
from models.declarations import Declared
from models.followups.policy import policy_of
from models.followups.records import Block, FollowUp, Status
from models.followups.standing import Standing
from models.followups.stranded import of_waiting_tasks
from models.tenants import Tenant


class Tab(StrEnum):
    PENDING = "pending"
    OVERDUE = "overdue"
    BLOCKED = "blocked"
    FIRED = "fired"
    CANCELLED = "cancelled"

    @property
    def status(self) -> Status:
        return Status.PENDING if self is Tab.OVERDUE else Status(self.value)

    @property
    def waits(self) -> bool:
        """Whether its rows still wait for something, so that the soonest comes first."""
        return self.status is Status.PENDING


class TaskState(StrEnum):
    UNFINISHED = "unfinished"


@dataclass(frozen=True)
class Filters(filters.Filters):
    """All that defines the list. `since` and `until` are in the page's zone, of what the tab orders by."""

    readers = {
        "tab": filters.one_of(Tab),
        "blocked": filters.one_of(Block),
        "task": filters.one_of(TaskState),
        "since": local_time.as_typed,
        "until": local_time.as_typed,
    }

    tab: Tab = Tab.PENDING
    agent: str | None = None
    arm: str | None = None
    reason: str | None = None
    customer: str | None = None
    blocked: Block | None = None
    task: TaskState | None = None
    since: str | None = None
    until: str | None = None

    @property
    def oldest_first(self) -> bool:
        """Of what waits for somebody, the longest waiting comes first."""
        return _is_oldest_first(self.tab, frozenset(self.narrows))


class Row(NamedTuple):
    """One follow-up as a list shows it; of fifty a page, tuples are by far the quickest to make."""

    id: UUID
    version: int
    status: str
    at: datetime
    due_at: datetime
    deferred_until: datetime | None
    attempts: int
    next_attempt_at: datetime | None
    customer: str
    reason: str
    agent: str
    arm: str
    blocked_reason: str | None
    cancelled_by: str | None
    fired_at: datetime | None
    updated_at: datetime
    task_id: UUID | None
    overdue: bool = False
    held: bool = False
    zone: str | None = None


# Columns of the table, not of the mapped class: rows of them need nothing of the mapper.
_OF = table_of(FollowUp).c
THIN = tuple(_OF[name] for name in Row._fields if name not in {"overdue", "held", "zone"})
_STATUS, _DUE_AT, _AGENT = ([one.key for one in THIN].index(name) for name in ("status", "due_at", "agent"))


@dataclass(frozen=True)
class Scene(Standing):
    """How the tenant's follow-ups stand while a page is made, whose times are read in `zone`."""

    zone: str = "UTC"
    attention_after: timedelta = timedelta()
    # Since when the sweep that fires is paused, for all tenants.
    halted: datetime | None = None
    # When the sweep that fires runs next; None where that is in doubt.
    next_run: datetime | None = None

    @classmethod
    def read(
        cls,
        session: Session,
        tenant: Tenant,
        declared: Declared,
        now: datetime,
        zone: str,
        attention_after: timedelta = timedelta(),
    ) -> Self:
        """A task that was not finished for `attention_after` is one that waits for too long."""
        found = cls.of(session, tenant, declared, sweeps(declared)["fire_followups"].interval, now)
        return replace(found, zone=zone, attention_after=attention_after)

    @property
    def waiting_since(self) -> datetime:
        """Since when a task must have waited to be named."""
        return self.now - self.attention_after

    def row(self, columns: Sequence[Any]) -> Row:
        status, due_at, agent = columns[_STATUS], columns[_DUE_AT], columns[_AGENT]
        policy = policy_of(self.declared, agent).policy
        zone = policy.quiet_hours.zone if policy and policy.quiet_hours else None
        return Row(*columns, self.is_overdue(status, due_at, agent), agent in self.held, zone)


def page(
    session: Session, scene: Scene, filters: Filters, after: Cursor | None, limit: timedelta
) -> Page[Row]:
    """One page of the list. Raises `TooSlow`."""
    query = selected(scene, filters, after)
    with time_limit(session, limit):
        found = session.execute(query, values(scene, filters)).all()
    rows = [scene.row(columns) for columns in found[:ROWS]]
    following = None
    if len(found) > ROWS:
        last = rows[-1]
        following = Cursor(last.due_at if filters.tab.waits else last.updated_at, last.id).encode()
    return Page(rows, following)


def selected(scene: Scene, filters: Filters, after: Cursor | None) -> Select[Any]:
    """One page, and one row more where there are more; `values` gives the parameters."""
    query = _rows_of(filters.tab, frozenset(filters.narrows))
    if filters.tab is Tab.OVERDUE:
        query = query.where(scene.overdue())
    if after is not None:
        order = order_of(filters.tab)
        query = query.where(after.after(order, _OF.id, newest_first=not filters.oldest_first))
    return query


def one(session: Session, scene: Scene, followup_id: UUID) -> Row | None:
    """One row as the list shows it, or None."""
    query = select(*THIN).where(_OF.tenant_id == scene.tenant.id, _OF.id == followup_id)
    found = session.execute(query).one_or_none()
    return scene.row(found) if found else None


def these(
    session: Session, scene: Scene, filters: Filters, ids: Sequence[UUID]
) -> tuple[list[Row], frozenset[UUID]]:
    """The rows `ids` that the tenant has, and which of them the list under `filters` does not hold."""
    if not ids:
        return [], frozenset()
    conditions = _conditions(filters.tab, frozenset(filters.narrows))
    if filters.tab is Tab.OVERDUE:
        conditions.append(scene.overdue())
    query = select(*THIN, and_(*conditions).label("holds"))
    query = query.where(_OF.tenant_id == scene.tenant.id, _OF.id.in_(ids))
    found = session.execute(query, values(scene, filters)).all()
    return [scene.row(one[:-1]) for one in found], frozenset(one.id for one in found if not one.holds)


def counts(session: Session, scene: Scene, filters: Filters, limit: timedelta) -> dict[Tab, int | None]:
    """The rows of each tab under the same filters, counted to one above the cap; None where too slow."""
    return {tab: _count(session, scene, replace(filters, tab=tab), limit) for tab in Tab}


def _count(session: Session, scene: Scene, filters: Filters, limit: timedelta) -> int | None:
    conditions = _conditions(filters.tab, frozenset(filters.narrows))
    if filters.tab is Tab.OVERDUE:
        conditions.append(scene.overdue())
    capped: Select[Any] = select(_OF.id).where(*conditions).limit(MOST_COUNTED + 1)
    if not filters.narrows:
        # Keeps the planner on the tab's own index: a scan that hopes to fill the cap soon may not.
        capped = capped.order_by(order_of(filters.tab))
    query = select(func.count()).select_from(capped.subquery())
    try:
        with time_limit(session, limit):
            return session.scalars(query, values(scene, filters)).one()
    except TooSlow:
        return None


@cache
def _rows_of(tab: Tab, names: frozenset[str]) -> Select[Any]:
    """The statement of a page, made once for each tab and each choice of filters: to make one takes long."""
    order = order_of(tab)
    by = (order, _OF.id) if _is_oldest_first(tab, names) else (order.desc(), _OF.id.desc())
    return select(*THIN).where(*_conditions(tab, names)).order_by(*by).limit(ROWS + 1)


def _is_oldest_first(tab: Tab, names: frozenset[str]) -> bool:
    return tab.waits or (tab is Tab.FIRED and "task" in names)


def _conditions(tab: Tab, names: frozenset[str]) -> list[ColumnElement[bool]]:
    """What a tab holds under the filters `names`, whose values `values` gives."""
    order = order_of(tab)
    by_name = {name: _OF[name] == bindparam(name) for name in ("agent", "arm", "reason", "customer")}
    by_name |= {"since": order >= bindparam("since"), "until": order < bindparam("until")}
    if tab is Tab.BLOCKED:
        by_name["blocked"] = _OF.blocked_reason == bindparam("blocked")
    if tab is Tab.FIRED:
        by_name["task"] = _OF.id.in_(of_waiting_tasks())
    own = [_OF.tenant_id == bindparam("tenant"), _OF.status == tab.status.value]
    return own + [condition for name, condition in by_name.items() if name in names]


def values(scene: Scene, filters: Filters) -> dict[str, Any]:
    """The values of the parameters in `selected`."""
    found: dict[str, Any] = {"tenant": scene.tenant.id, "before": scene.waiting_since, **filters.narrows}
    for name in {"since", "until"} & found.keys():
        found[name] = local_time.bound(found[name], scene.zone)
    return found


def order_of(tab: Tab) -> Any:
    """The column that the rows of `tab` stand by."""
    return _OF.due_at if tab.waits else _OF.updated_at


def agents(declared: Declared, filters: Filters) -> list[str]:
    """The agents that a person may choose: the declared ones, and the one that is chosen already."""
    return sorted({*declared.table("agents"), *([filters.agent] if filters.agent else [])})


def timeline(session: Session, tenant: Tenant, followup_id: UUID) -> list[Entry]:
    """The audit of one follow-up, oldest first; up to 200 events."""
    return timelines.timeline(session, tenant, ("followup", str(followup_id)))


def last_change(session: Session, tenant: Tenant, followup_id: UUID) -> Entry | None:
    """The newest audit event by which one follow-up changed."""
    return timelines.last_change(session, tenant, ("followup", str(followup_id)))
