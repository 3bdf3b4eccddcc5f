"""Each list over 100,000 rows goes by an index, and fails to when that index is dropped."""

from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import case, select, text, tuple_

from desk_ui.api import audit as audit_api
from desk_ui.api import events as events_api
from desk_ui.api import followups as followups_api
from desk_ui.api import messages as messages_api
from desk_ui.api import tasks as tasks_api
from desk_ui.api.audit import AuditFilter
from desk_ui.api.followups import FollowUpFilter
from desk_ui.api.tasks import TaskFilter
from desk_ui.audit import exporting as audit_exporting
from desk_ui.audit import queries as audit_queries
from desk_ui.paging import Cursor
from models.audit import Result
from models.base import db
from models.followups.records import Status, TaskStatus
from models.messages import Message
from models.outbox import OutboxEvent
from models.tenants import Tenant
from tests.conftest import T
from tests.support.filling import any_uuid, bare, fill, moment, numbered
from tests.support.plans import analyze, assert_uses_index, without

pytestmark = pytest.mark.slow
ROWS = 100_000


TABLES = ("follow_up", "agent_task", "audit_event", "outbox_event", "message")


@pytest.fixture
def large(session):
    """A database with 100,000 rows of each kind: two tenants, and in each filter a rare value."""
    with db.engine.begin() as connection, bare(connection, *TABLES):
        _fill(connection)
    analyze(session)
    return session


def _fill(connection):
    metadata = db.metadata.tables
    tenant = metadata["tenant"]
    connection.execute(
        tenant.insert(),
        [{"key": f"t{n}", "name": "t", "timezone": "UTC", "features": {}, "created_at": T} for n in (1, 2)],
    )
    ids = list(connection.scalars(select(tenant.c.id).order_by(tenant.c.id)))[-2:]
    conversation = {
        "tenant_id": ids[0], "status": "open", "labels": [], "attributes": {}, "auto_reply": False,
        "replied_seq": 0, "created_at": T, "updated_at": T,
    }  # fmt: skip
    fill(
        connection,
        "conversation",
        100,
        lambda n: {**conversation, "id": n, "external_id": numbered("k", n)},
        first=1,
    )
    for table, row in zip(TABLES, (_followup, _task, _audit, _outbox, _message), strict=True):
        fill(connection, table, ROWS, lambda n: row(n, case((n % 200 == 0, ids[1]), else_=ids[0])))  # noqa: B023
    counter = metadata["position_counter"]
    connection.execute(counter.update().where(counter.c.stream == "outbox_event").values(last=ROWS))


def _rare(n):
    return case((n % 5_000 == 1, "rare"), else_=numbered("v", n % 7))


def _followup(n, tenant):
    at = moment(T, n)
    status = case((n % 5_000 == 1, "blocked"), (n % 3 > 0, "fired"), else_="cancelled")
    return {
        "tenant_id": tenant, "id": any_uuid(), "agent": _rare(n), "customer": numbered("c", n % 20_000),
        "at": at, "reason": _rare(n), "arm": _rare(n), "status": status, "attempts": 0, "created_at": at,
        "updated_at": at, "version": 1,
    }  # fmt: skip


def _task(n, tenant):
    at = moment(T, n)
    status = case((n % 5_000 == 1, "queued"), else_="done")
    return {
        "id": any_uuid(), "tenant_id": tenant, "agent": _rare(n), "customer": numbered("c", n % 20_000),
        "command": {}, "status": status, "created_at": at, "updated_at": at, "version": 1,
    }  # fmt: skip


def _audit(n, tenant):
    result = case((n % 5_000 == 1, "refused"), else_="success")
    return {
        "tenant_id": tenant, "at": moment(T, n), "actor_type": "api", "actor_id": _rare(n),
        "actor_label": "x", "action": _rare(n), "resource_type": _rare(n),
        "resource_id": numbered("r", n % 20_000), "result": result, "detail": {},
    }  # fmt: skip


def _outbox(n, tenant):
    """All of them published."""
    return {
        "id": n + 1, "tenant_id": tenant, "aggregate_type": "x", "aggregate_id": "x", "payload": {},
        "created_at": T, "event_type": case((n % 5_000 == 0, "rare"), else_=numbered("v", n % 7)),
        "position": n + 1,
    }  # fmt: skip


def _message(n, tenant):
    return {
        "tenant_id": tenant, "conversation_id": n % 100 + 1, "external_id": numbered("m", n),
        "seq": n, "metadata": {}, "direction": "incoming", "sender": {}, "private": False,
        "auto_reply": False, "text": "",
        "created_at": moment(T, n), "stored_at": T,
    }  # fmt: skip


def page_of(query, order):
    """A page in the middle, as `paging.page` asks for it."""
    at = T + timedelta(seconds=ROWS // 2)
    first = uuid4() if order.id.type.python_type.__name__ == "UUID" else 50_000
    query = query.where(tuple_(order.at, order.id) < tuple_(at, first))
    return query.order_by(order.at.desc(), order.id.desc()).limit(51)


def followups(session, tenant, **filters):
    return page_of(followups_api.filtered(tenant, FollowUpFilter(**filters)), followups_api.ORDER)


def audits(session, tenant, **filters):
    return page_of(audit_api.filtered(session, tenant, AuditFilter(**filters)), audit_api.ORDER)


def audit_files(session, tenant, **filters):
    """The pages of a file, which are larger and hold every column."""
    return audit_pages(session, tenant, **filters).with_only_columns(*audit_exporting.WHOLE).limit(1_000)


def audit_pages(session, tenant, **filters):
    after = Cursor(T + timedelta(seconds=ROWS // 2), 50_000)
    found = session.get_one(Tenant, tenant)
    return audit_queries.selected(session, found, "UTC", audit_queries.Filters(**filters), after)


def tasks(session, tenant, **filters):
    return page_of(tasks_api.filtered(tenant, TaskFilter(**filters)), tasks_api.ORDER)


def messages(session, tenant, **_filters):
    return page_of(select(Message).where(Message.conversation_id == 7), messages_api.ORDER)


def events(session, tenant, event_type=None):
    query = events_api.filtered(tenant, event_type).where(OutboxEvent.position > 50_000)
    return query.order_by(OutboxEvent.position).limit(51)


CASES = [
    (followups, {}, "follow_up", "ix_follow_up_created"),
    (followups, {"agent": "rare"}, "follow_up", "ix_follow_up_agent"),
    (followups, {"arm": "rare"}, "follow_up", "ix_follow_up_arm"),
    (followups, {"reason": "rare"}, "follow_up", "ix_follow_up_reason"),
    (followups, {"status": Status.BLOCKED}, "follow_up", "ix_follow_up_status_created"),
    (followups, {"customer": "c17"}, "follow_up", "ix_follow_up_customer"),
    (tasks, {}, "agent_task", "ix_agent_task_created"),
    (tasks, {"agent": "rare"}, "agent_task", "ix_agent_task_agent"),
    (tasks, {"status": TaskStatus.QUEUED}, "agent_task", "ix_agent_task_status"),
    (audits, {}, "audit_event", "ix_audit_event_tenant_at"),
    (audits, {"action": "rare"}, "audit_event", "ix_audit_event_tenant_action"),
    (audits, {"resource_type": "rare"}, "audit_event", "ix_audit_event_type"),
    (audits, {"resource_type": "v2", "resource_id": "r17"}, "audit_event", "ix_audit_event_resource"),
    (audits, {"actor": "rare"}, "audit_event", "ix_audit_event_tenant_actor"),
    (audit_pages, {}, "audit_event", "ix_audit_event_tenant_at"),
    (audit_files, {}, "audit_event", "ix_audit_event_tenant_at"),
    (audit_files, {"action": "rare"}, "audit_event", "ix_audit_event_tenant_action"),
    (audit_files, {"actor": "rare"}, "audit_event", "ix_audit_event_tenant_actor"),
    (audit_pages, {"action": "rare"}, "audit_event", "ix_audit_event_tenant_action"),
    (audit_pages, {"kind": "rare"}, "audit_event", "ix_audit_event_type"),
    (audit_pages, {"kind": "v2", "id": "r17"}, "audit_event", "ix_audit_event_resource"),
    (audit_pages, {"actor": "rare"}, "audit_event", "ix_audit_event_tenant_actor"),
    (audit_pages, {"result": Result.REFUSED}, "audit_event", "ix_audit_event_not_done"),
    (messages, {}, "message", "ix_message_conversation"),
    (events, {}, "outbox_event", "ix_outbox_event_tenant_position"),
    (events, {"event_type": "rare"}, "outbox_event", "ix_outbox_event_tenant_type_position"),
]
NAMES = [f"{make.__name__}-{'-'.join(filters) or 'all'}" for make, filters, _table, _index in CASES]


def check_list_goes_by_its_index_and_not_when_that_is_dropped(session, make, filters, table, index):
    # Of the events only those of the small tenant: for one that has nearly all, any order will do.
    key = "t2" if make is events else "t1"
    tenant = session.execute(text(f"SELECT id FROM tenant WHERE key = '{key}'")).scalar_one()
    statement = make(session, tenant, **filters)
    session.rollback()
    # What a rare value finds is few, and may be sorted after it was found.
    expected = {"table": table, "index": index, "is_sorted": not filters}
    assert_uses_index(session, statement, **expected)
    with without(session, index), pytest.raises(AssertionError):
        assert_uses_index(session, statement, **expected)


def test_each_list_goes_by_its_index_and_not_when_that_is_dropped(subtests, large):
    """All in one, since filling the tables takes most of the time."""
    for name, given in zip(NAMES, CASES, strict=True):
        with subtests.test(name):
            check_list_goes_by_its_index_and_not_when_that_is_dropped(large, *given)
