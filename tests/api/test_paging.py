import pytest
from sqlalchemy import event, update

from models.base import db
from models.followups.records import FollowUp
from models.transactions import commit
from tests.support.api import on_sqlite
from tests.support.create import create_followup, create_tenant


def book(api, number):
    given = {"agent": "a", "customer": f"c-{number}", "at": "+6h", "reason": "r"}
    return api.post("/followups", given).get_json()["id"]


def walk(api, limit, meanwhile=lambda: None):
    found, cursor = [], None
    while True:
        query = {"limit": limit, **({"cursor": cursor} if cursor else {})}
        answer = api.get("/followups", query_string=query).get_json()
        assert len(answer["items"]) <= limit
        found += [item["id"] for item in answer["items"]]
        cursor = answer["next_cursor"]
        if cursor is None:
            return found
        meanwhile()


def test_walk_sees_each_row_once_while_others_are_made(api):
    made = [book(api, number) for number in range(7)]
    more = iter(range(100, 200))
    assert walk(api, 2, meanwhile=lambda: book(api, next(more))) == made[::-1]


def test_walk_sees_each_row_once_when_all_are_of_one_microsecond(api, session, now):
    made = {book(api, number) for number in range(7)}
    session.execute(update(FollowUp).values(created_at=now), execution_options={"audited": True})
    commit(session, "tests.age")
    found = walk(api, 2)
    assert set(found) == made and len(found) == 7
    assert found == sorted(found, reverse=True)


def test_walk_tells_rows_apart_by_one_microsecond(api, session, now):
    from datetime import timedelta
    from uuid import UUID

    made = [book(api, number) for number in range(6)]
    for number, followup_id in enumerate(made):
        at = now.replace(microsecond=999_997) + timedelta(microseconds=number)
        session.execute(
            update(FollowUp).where(FollowUp.id == UUID(followup_id)).values(created_at=at),
            execution_options={"audited": True},
        )
    commit(session, "tests.age")
    assert walk(api, 1) == made[::-1]


def test_pages_hold_50_unless_a_limit_is_given(api, session, acme, now):
    for number in range(51):
        create_followup(session, acme, now=now, customer=f"c-{number}")
    session.rollback()
    assert len(api.get("/followups").get_json()["items"]) == 50
    assert len(api.get("/followups?limit=200").get_json()["items"]) == 51
    assert len(api.get("/followups?limit=51").get_json()["items"]) == 51
    assert api.get("/followups?limit=51").get_json()["next_cursor"] is None


@on_sqlite
@pytest.mark.parametrize("limit", ["0", "201", "-1", "x", "", "1.5", "1_0", " 5", "1e1", "9" * 50, "\u0665"])
def test_limit_answers_422_when_it_is_none(api, limit):
    response = api.get("/followups", query_string={"limit": limit})
    assert (response.status_code, response.get_json()["field"]) == (422, "limit")


@on_sqlite
@pytest.mark.parametrize("cursor", ["", "x", "W10.x", "a.b.c", "x" * 501, "\u0000", "eyJhIjoxfQ.aaaa"])
@pytest.mark.parametrize("path", ["/followups", "/tasks", "/audit", "/events", "/agents", "/endpoints"])
def test_cursor_answers_422_when_it_is_not_ours(api, path, cursor):
    response = api.get(path, query_string={"cursor": cursor})
    assert (response.status_code, response.get_json()["field"]) == (422, "cursor")


def test_cursor_answers_422_when_changed_or_from_another_list(api):
    book(api, 1), book(api, 2)
    cursor = api.get("/followups?limit=1").get_json()["next_cursor"]
    assert api.get("/followups", query_string={"cursor": cursor}).status_code == 200
    changed = ("B" if cursor[0] != "B" else "C") + cursor[1:]
    for path, value in (("/followups", changed), ("/audit", cursor), ("/tasks", cursor)):
        response = api.get(path, query_string={"cursor": value})
        assert (response.status_code, response.get_json()["field"]) == (422, "cursor")


@pytest.mark.parametrize("path", ["/followups", "/tasks", "/audit", "/sweeps", "/endpoints"])
def test_list_asks_as_many_queries_for_many_rows_as_for_one(api, session, acme, now, path):
    create_followup(session, acme, now=now, customer="one")
    session.rollback()
    api.get(path)
    with counted() as few:
        api.get(path)
    for number in range(40):
        create_followup(session, acme, now=now, customer=f"c-{number}")
    session.rollback()
    with counted() as many:
        api.get(path)
    assert many == few
    # The token, and the page; the sweeps ask a few for each of their fixed number.
    assert path == "/sweeps" or len(few) == 2


def counted():
    from contextlib import contextmanager

    @contextmanager
    def counting():
        statements = []

        def note(_connection, _cursor, statement, *_more):
            if statement.startswith("SELECT"):
                statements.append(statement)

        event.listen(db.engine, "before_cursor_execute", note)
        try:
            yield statements
        finally:
            event.remove(db.engine, "before_cursor_execute", note)

    return counting()


def test_list_shows_no_row_of_another_tenant(api, session, now):
    create_followup(session, create_tenant(session, "other", now=now), now=now)
    session.rollback()
    assert api.get("/followups").get_json() == {"items": [], "next_cursor": None}
