"""A database connection that dies under a request takes neither its answer nor the thread with it."""

import psycopg
import pytest

from desk_ui import create_app
from models.base import is_read_only
from tests.conftest import settings_for
from tests.support.api import Client

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)

CUT = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.fixture
def cut_off(database, session, api, tmp_path):
    """A client whose reads lose their connection after the answer is made and before the transaction ends."""
    app = create_app(settings_for(database.url, tmp_path))
    session.close()

    def cut(response):
        if response.status_code == 200:
            with psycopg.connect(database.url, autocommit=True) as connection:
                connection.execute(CUT)
        return response

    app.after_request(cut)
    return Client(app, api.secret)


def test_answer_stands_and_the_thread_writes_again_when_the_connection_is_cut_under_a_read(cut_off):
    assert cut_off.get("/tenant").status_code == 200
    assert not is_read_only()
    booking = {"agent": "store-support", "customer": "c-1", "at": "+6h", "reason": "pix pending"}
    assert cut_off.post("/followups", booking).status_code == 201
    assert cut_off.get("/followups").get_json()["items"]
