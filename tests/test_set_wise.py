"""Writing what a block adds and changes set-wise, on both databases."""

from datetime import timedelta

import pytest
from sqlalchemy import delete, event, func, select

from models import audit, bulk, outbox, set_wise
from models.audit import AuditEvent
from models.base import table_of
from models.conversations import Conversation
from models.outbox import OutboxEvent
from models.transactions import commit, savepoint
from tests.support.create import API, create_tenant


@pytest.fixture
def conversations(session, now):
    tenant = create_tenant(session, now=now)
    made = [
        Conversation(
            tenant_id=tenant.id, external_id=f"v-{n}", priority="high", created_at=now, updated_at=now
        )
        for n in range(3)
    ]
    session.add_all(made)
    commit(session, "tests.set_wise")
    return made


def tell(session, conversation, now):
    audit.append(
        session,
        tenant_id=conversation.tenant_id,
        actor=API,
        action="conversation.seen",
        resource=("conversation", str(conversation.id)),
        now=now,
        detail={"labels": ["it's 100 %"], "nothing": None},
    )
    outbox.add(
        session,
        tenant_id=conversation.tenant_id,
        event_type="conversation.seen",
        aggregate=("conversation", str(conversation.id)),
        payload={"id": conversation.external_id},
        now=now,
    )


def stored(session, conversations):
    ids = [one.id for one in conversations]
    session.expunge_all()
    return [session.get_one(Conversation, id) for id in ids]


def events(session):
    query = select(AuditEvent).where(AuditEvent.action == "conversation.seen").order_by(AuditEvent.id)
    return list(session.scalars(query))


def test_writing_stores_what_was_added_and_changed(session, conversations, now):
    later = now + timedelta(microseconds=1)
    with set_wise.writing(session, Conversation):
        for conversation in conversations:
            conversation.labels = [f"of {conversation.external_id}"]
            conversation.waiting_since = later
            tell(session, conversation, now)
    commit(session, "tests.set_wise")

    found = stored(session, conversations)
    assert [one.labels for one in found] == [["of v-0"], ["of v-1"], ["of v-2"]]
    assert {one.waiting_since for one in found} == {later}
    assert [event.resource_id for event in events(session)] == [str(one.id) for one in found]
    assert events(session)[0].detail == {"labels": ["it's 100 %"], "nothing": None}
    assert events(session)[0].at == now
    assert session.scalar(select(func.count()).select_from(OutboxEvent)) == 3


def test_writing_takes_a_statement_for_each_table_and_set_of_columns(session, conversations, now):
    statements = []

    def note(_connection, _cursor, statement, *_more):
        statements.append(statement.split(maxsplit=2)[:2])

    engine = session.get_bind()
    event.listen(engine, "before_cursor_execute", note)
    with set_wise.writing(session, Conversation):
        for conversation in conversations:
            conversation.labels = ["seen"]
            tell(session, conversation, now)
    event.remove(engine, "before_cursor_execute", note)
    assert sorted(first for first, _second in statements if first in ("INSERT", "UPDATE")) == [
        "INSERT",
        "INSERT",
        "UPDATE",
    ]


def test_writing_keeps_the_type_of_a_value_when_its_column_has_an_encoding_of_its_own(
    session, conversations, now
):
    with set_wise.writing(session, Conversation):
        for value, conversation in zip((7, "7", None), conversations, strict=True):
            conversation.priority = value
            conversation.labels = ["seen"]
    commit(session, "tests.set_wise")
    found = stored(session, conversations)
    assert [one.priority for one in found] == [7, "7", None]
    assert [one.labels for one in found] == [["seen"]] * 3


def test_writing_stores_nothing_when_the_block_raises(session, conversations, now):
    with pytest.raises(ZeroDivisionError), savepoint(session), set_wise.writing(session, Conversation):
        tell(session, conversations[0], now)
        conversations[0].labels = ["seen"]
        raise ZeroDivisionError
    tell(session, conversations[1], now)
    commit(session, "tests.set_wise")
    assert [event.resource_id for event in events(session)] == [str(conversations[1].id)]
    assert stored(session, conversations)[0].labels == []


def test_writing_refuses_when_a_changed_row_is_gone(session, conversations):
    gone = delete(table_of(Conversation)).where(table_of(Conversation).c.id == conversations[0].id)
    session.connection().execute(gone)
    with pytest.raises(RuntimeError, match="1 rows"), set_wise.writing(session, Conversation):
        for conversation in conversations[:2]:
            conversation.labels = ["seen"]


def test_is_among_finds_those_rows_alone(session, conversations):
    wanted = [conversations[2].id, conversations[0].id]
    query = select(Conversation.id).where(bulk.is_among(session, Conversation.id, wanted))
    assert sorted(session.scalars(query)) == sorted(wanted)
    assert (
        list(session.scalars(select(Conversation.id).where(bulk.is_among(session, Conversation.id, []))))
        == []
    )
