import pytest

from models import tenants
from tests.console.test_cancel import cancel_form
from tests.support.triggers import MESSAGE, refusing


def test_cancel_answers_409_and_says_so_when_a_trigger_refuses_the_row(desk, acme, lead, capsys, caplog):
    followup = desk.followup(acme)
    form = cancel_form(lead, followup)
    with desk.app.app_context(), refusing("UPDATE", "follow_up"):
        page = lead.press(form, htmx=True)
    assert page.status == 409
    assert "The database refused to store it." in page.text
    assert desk.read(acme, followup.id).status == "pending"
    told = capsys.readouterr()
    # Where the log goes depends on what else this process has served.
    assert MESSAGE in told.out + told.err + caplog.text


@pytest.mark.parametrize(("typed", "kept"), [("a\0b", ""), ("store", "store")], ids=["nul", "key"])
def test_refusal_is_kept_when_what_it_names_could_not_be_stored(desk, acme, typed, kept):
    root = desk.visitor("root@platform.test", desk.tell(lambda s: tenants.get(s, None)), "admin")
    form = root.open("/platform/settings/tenants/adding").form("/adding")
    assert root.press(form, key="shop", timezone="UTC").status == 303
    assert root.press(form, key=typed, timezone="UTC").status == 409
    [event] = [event for event in desk.audit("tenant.added") if event.result == "refused"]
    assert event.resource_id == kept
