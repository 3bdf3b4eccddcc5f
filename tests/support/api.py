"""A client of the HTTP API in the same process, which checks what holds for every answer."""

from collections.abc import Sequence
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Select
from sqlalchemy.orm import Session
from werkzeug.test import TestResponse

from desk_ui.api.problems import KINDS

# For what is refused before a database is asked anything that the two could answer differently.
on_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


class Client:
    """Calls below /api/v1 with a bearer token, or with none."""

    def __init__(self, app: Flask, secret: str | None) -> None:
        self.secret = secret
        self._client = app.test_client()

    def get(self, path: str, **given: Any) -> TestResponse:
        return self.call("GET", path, **given)

    def post(self, path: str, json: Any = None, **given: Any) -> TestResponse:
        return self.call("POST", path, json=json, **given)

    def patch(self, path: str, json: Any = None, **given: Any) -> TestResponse:
        return self.call("PATCH", path, json=json, **given)

    def delete(self, path: str, **given: Any) -> TestResponse:
        return self.call("DELETE", path, **given)

    def call(self, method: str, path: str, **given: Any) -> TestResponse:
        headers = dict(given.pop("headers", {}))
        if self.secret is not None:
            headers["Authorization"] = f"Bearer {self.secret}"
        response = self._client.open(f"/api/v1{path}", method=method, headers=headers, **given)
        self._check(response)
        return response

    def _check(self, response: TestResponse) -> None:
        assert response.status_code != 500, response.text
        assert response.headers["X-Request-ID"]
        if response.status_code < 400:
            return
        assert response.content_type == "application/problem+json"
        document = response.get_json()
        code = document["type"].removeprefix("/problems/")
        assert document["status"] == response.status_code == KINDS[code].status
        assert document["title"] and document["detail"]


def code_of(response: TestResponse) -> str:
    """The problem's code."""
    kind: str = response.get_json()["type"]
    return kind.removeprefix("/problems/")


def read(session: Session, query: Select[Any]) -> Sequence[Any]:
    """What `query` finds now. Leaves no transaction open, which on SQLite would hold the write lock."""
    session.rollback()
    found = session.scalars(query).all()
    session.expunge_all()
    session.rollback()
    return found
