from tests.console.test_cancel import cancel_form
from tests.support.triggers import MESSAGE, refusing


def test_cancel_answers_409_and_says_so_when_a_trigger_refuses_the_row(desk, acme, lead, capsys):
    followup = desk.followup(acme)
    form = cancel_form(lead, followup)
    with desk.app.app_context(), refusing("UPDATE", "follow_up"):
        page = lead.press(form, htmx=True)
    assert page.status == 409
    assert "The database refused to store it." in page.text
    assert desk.read(acme, followup.id).status == "pending"
    told = capsys.readouterr()
    assert MESSAGE in told.out + told.err
