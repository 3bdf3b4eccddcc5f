"""What is answered while the database is away: never a 500."""

import pytest

from desk_ui import create_app
from tests.conftest import settings_for
from tests.console.visiting import HTMX


@pytest.fixture
def away(visitor, tmp_path):
    """A client who signed in before the database went away."""
    cookie = visitor("lead").client.get_cookie("desk")
    client = create_app(settings_for("postgresql+psycopg://desk@127.0.0.1:1/desk", tmp_path)).test_client()
    client.set_cookie("desk", cookie.value)
    return client


def test_page_answers_503_when_the_database_is_away(away):
    answer = away.get("/acme/followups")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "Not available at the moment" in answer.text
    assert away.get("/acme/followups", headers=HTMX).status_code == 503


@pytest.mark.parametrize(
    ("path", "status"), [("/healthz", 200), ("/readyz/web", 503), ("/readyz", 503), ("/metrics", 503)]
)
def test_machines_are_told_when_the_database_is_away(away, path, status):
    # A balancer has no session.
    away.delete_cookie("desk")
    answer = away.get(path)
    assert answer.status_code == status
    if status == 503:
        assert answer.get_json()["faults"]["database"] == "The database can't be used (OperationalError)."
