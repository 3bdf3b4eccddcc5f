"""Where a form says that it came from stands in headers, so a long one is left out of them."""

import pytest

from desk_ui.addresses import LONGEST, local_path
from models.deliveries import State
from tests.console.test_handling import make_overdue
from tests.console.visiting import HTMX, Visitor
from tests.support.deliver import create_delivery, create_endpoint

LONG = {"plain": "customer=" + "x" * 20_000, "not ASCII": "customer=" + "\U0001f4ee" * 2_000}


def header_bytes(answer):
    return max(len(value) for name, value in answer.headers if name != "Set-Cookie")


@pytest.mark.parametrize("name", LONG)
def test_headers_are_short_whatever_a_form_says_that_it_came_from(app, desk, acme, visitor, now, name):
    settings = app.extensions["desk_settings"]

    def make(session):
        endpoint, _secret = create_endpoint(session, acme, settings, now=now)
        return [
            create_delivery(session, acme, endpoint, now=now, state=state).id
            for state in (State.FAILED, State.DEAD)
        ]

    deliveries, followup = desk.tell(make), make_overdue(desk, acme)
    lead, list_query = visitor("lead"), LONG[name]
    token = lead.open("/profile").form("/sign-out").fields["csrf_token"]
    paths = [
        *(f"/acme/followups/{followup.id}/{act}" for act in ("handling", "handling/end", "cancellation")),
        *(f"/acme/deliveries/{id}/{act}" for id in deliveries for act in ("handling", "sending")),
        "/acme/followups/bulk",
        "/profile/theme",
        "/sign-in",
    ]
    for client in (lead.client, Visitor(app).client):
        for path in paths:
            for headers in (
                {},
                {**HTMX, "HX-Current-URL": f"http://localhost/acme?{list_query}".encode().decode("latin-1")},
            ):
                form = {
                    "csrf_token": token,
                    "list": list_query,
                    "version": "1",
                    "shown": "panel",
                    "theme": "auto",
                }
                form |= {"back": f"/acme/followups?{list_query}", "to": f"/acme?{list_query}"}
                answer = client.post(path, data=form, headers=headers)
                assert answer.status_code < 500
                assert header_bytes(answer) < 3 * LONGEST, (path, headers)
    for path in ("/acme/followups?", "/two-factor?to=/acme?", "/sign-in?to=/acme?"):
        assert header_bytes(Visitor(app).client.get(path + list_query)) < 3 * LONGEST


def test_path_is_local_up_to_its_longest():
    assert local_path("/" + "x" * (LONGEST - 1)) is not None
    assert local_path("/" + "x" * LONGEST) is None
    assert local_path("/" + "\u00e9" * (LONGEST // 2)) is None


def test_list_is_kept_where_its_query_is_short(desk, acme, lead):
    followup = make_overdue(desk, acme)
    page = lead.open(f"/acme/followups/{followup.id}?list=tab%3Doverdue")
    answer = lead.press(page.form("/handling"))
    assert answer.headers["Location"].endswith("list=tab%3Doverdue")
