from models import clock, once, tenants
from models.base import db
from tests.support.deliver import create_endpoint

LIST = "/acme/followups"


def form_of(visitor, followup):
    return visitor.open(f"{LIST}/{followup.id}/rescheduling").form("/rescheduling")


def test_form_acts_once_when_it_is_sent_twice(desk, acme, visitor):
    admin = visitor("admin")
    form = admin.open("/acme/settings/tokens/adding").form("/adding")
    assert admin.press(form, name="shop", scopes="read").status == 200
    again = admin.press(form, name="another", scopes="read")
    assert again.status == 409
    assert "This was sent twice" in again.text
    assert [event.purpose for event in desk.audit("token.added") if event.result == "success"] == ["shop"]


def test_form_may_be_sent_again_when_nothing_was_done(desk, acme, lead):
    followup = desk.followup(acme)
    form = form_of(lead, followup)
    assert lead.press(form, at="2020-08-14T10:00").status == 422
    assert lead.press(form, at="2099-08-14T10:00").status == 303


def test_question_has_a_new_token_when_it_is_shown_again(desk, acme, lead):
    followup = desk.followup(acme)
    tokens = {form_of(lead, followup).fields["once"] for _ in range(3)}
    assert len(tokens) == 3


def test_tokens_go_after_a_day(app, desk, acme, lead):
    followup = desk.followup(acme)
    lead.press(form_of(lead, followup), at="2099-08-14T10:00")
    with app.app_context():
        session, now = db.session(), clock.now()
        assert once.purge(session, now=now, limit=10) == 0
        assert once.purge(session, now=now + once.KEPT_FOR, limit=10) == 1
        session.rollback()


def test_permission_is_asked_before_the_token_is_used(desk, acme, visitor):
    viewer, lead = visitor("viewer"), visitor("lead")
    form = form_of(lead, desk.followup(acme))
    own = viewer.open(LIST).form("/sign-out").fields["csrf_token"]
    assert viewer.press(form, csrf_token=own, at="2099-08-14T10:00").status == 403
    assert lead.press(form, at="2099-08-14T10:00").status == 303


def test_direct_form_acts_once_when_it_is_pressed_twice(desk, acme):
    root = desk.visitor("root@platform.test", desk.tell(lambda s: tenants.get(s, None)), "admin")
    desk.give("root@platform.test", acme, "admin")
    form = root.open("/acme/sweeps").form("/deliver/runs")
    assert root.press(form).status == 303
    again = root.press(form, htmx=True)
    assert again.status == 409
    assert "This was sent twice" in again.text
    assert [event.result for event in desk.audit("sweep.run_by_hand")] == ["success", "refused"]
    # What was shown anew is another form.
    assert root.press(root.open("/acme/sweeps").form("/deliver/runs")).status == 303


def test_test_of_an_endpoint_is_sent_once_when_it_is_pressed_twice(app, desk, acme, visitor):
    settings = app.extensions["desk_settings"]
    endpoint, _secret = desk.tell(lambda s: create_endpoint(s, acme, settings, now=clock.now()))
    admin = visitor("admin")
    form = admin.open(f"/acme/endpoints/{endpoint.id}").form("/testing")
    assert admin.press(form).status == 303
    assert "This was sent twice" in admin.follow(admin.press(form)).text
    assert [event.result for event in desk.audit("endpoint.tested")] == ["success", "refused"]
