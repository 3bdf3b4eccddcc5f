"""The page of all components is there for who works on the console, and for nobody else."""

import pytest

from desk_ui import create_app
from desk_ui.dev import samples
from models.base import db
from tests.conftest import settings_for
from tests.console.visiting import Desk, Visitor
from tests.support.api import on_sqlite

# Samples know nothing of the database.
pytestmark = on_sqlite

PAGE = "/dev/components"


@pytest.fixture
def served(database, config):
    """The application as `DESK_DEV=1` has it."""
    made = create_app(settings_for(database.url, config.parent, DESK_CONFIG=str(config), DESK_DEV="1"))
    yield made
    with made.app_context():
        db.engine.dispose()


@pytest.fixture
def viewer(app, served, desk, acme):
    """Somebody who may only look, where the page is served."""
    desk.give("viewer@acme.test", acme, "viewer")
    who = Visitor(served)
    link = desk.link("viewer@acme.test")
    assert who.press(who.open(link).form(link)).status == 303
    return who


def test_page_is_not_served_unless_it_is_asked_for(app, desk, acme, lead):
    for path in (PAGE, f"{PAGE}/asks/plain", f"{PAGE}/errors/500"):
        assert lead.open(path).status == 404
    assert [rule for rule in app.url_map.iter_rules() if rule.rule.startswith("/dev/")] == []


def test_page_is_for_who_is_signed_in(served, acme):
    assert Visitor(served).open(PAGE).headers["Location"].startswith("/sign-in")


def test_page_shows_every_mark_and_nothing_of_it_is_markup(viewer):
    page = viewer.open(PAGE)
    assert page.status == 200
    for shape in samples.SHAPES:
        for tone in samples.TONES:
            assert f"{shape}, {tone}" in page.text
    assert samples.MARKUP in page.text and "<b>bold" not in page.html


@pytest.mark.parametrize("name", samples.Sample.asks)
def test_each_question_is_a_page_and_a_dialog(viewer, name):
    page = viewer.open(f"{PAGE}/asks/{name}")
    assert page.status == 200 and 'id="ask-title"' in page.html
    dialog = viewer.block(f"{PAGE}/asks/{name}")
    assert "<main" not in dialog.html and 'id="ask-title"' in dialog.html


@pytest.mark.parametrize("code", [code for code in samples.ERRORS if code != 500])
def test_each_error_has_a_page_with_the_id_of_the_request(viewer, code):
    page = viewer.open(f"{PAGE}/errors/{code}")
    assert page.status == code
    assert f"Error {code}, request {page.headers['X-Request-ID']}" in page.text


def test_page_that_failed_says_so_with_the_id_of_the_request(viewer):
    answer = viewer.client.get(f"{PAGE}/errors/500")
    assert answer.status_code == 500
    assert answer.headers["X-Request-ID"] in answer.text and "It was written down" in answer.text
    toast = viewer.client.get(f"{PAGE}/errors/500", headers={"HX-Request": "true"})
    assert toast.status_code == 500 and "data-toast" in toast.text
    assert toast.headers["X-Request-ID"] in toast.text


def test_question_that_there_is_not_is_nothing(viewer: Visitor, desk: Desk):
    assert viewer.open(f"{PAGE}/asks/nonsense").status == 404
