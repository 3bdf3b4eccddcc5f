"""Live refresh as a script meets it: nothing where nothing changed, and how often a person wants it."""


import pytest

from models import preferences

LIST = "/acme/followups"


def test_interval_is_kept_for_the_person_and_audited_once_when_chosen(desk, lead):
    form = lead.open("/profile").form("/profile/refresh")
    answer = lead.press(form, refresh="30")
    assert "Lists are read again every 30 s now." in lead.follow(answer).text
    assert lead.press(form, refresh="30").status == 303
    [event] = desk.audit("operator.refresh_set")
    assert event.detail == {"before": preferences.USUAL, "after": 30}
    assert 'value="30" selected' in lead.open("/profile").html


def test_interval_is_off_when_nothing_is_to_be_read_again(lead):
    answer = lead.press(lead.open("/profile").form("/profile/refresh"), refresh="0")
    assert "only when you reload them" in lead.follow(answer).text
    assert 'value="0" selected' in lead.open("/profile").html


def test_interval_is_set_in_the_list_and_leads_back_to_it(lead):
    page = lead.open(f"{LIST}?tab=fired&agent=billing")
    assert 'data-every="10"' in page.html
    answer = lead.press(page.form("/profile/refresh"), refresh="60")
    assert answer.headers["Location"] == f"{LIST}?tab=fired&agent=billing"
    assert 'data-every="60"' in lead.follow(answer).html


def test_interval_is_set_without_a_new_page_when_a_script_asks(lead):
    answer = lead.press(lead.open(LIST).form("/profile/refresh"), htmx=True, refresh="5")
    assert answer.status == 200
    assert "every 5 s" in answer.text


@pytest.mark.parametrize("given", ["", "7", "-5", "1e1", "10 ", "\x00", "9" * 500, "<b>"])
def test_interval_is_refused_by_name_when_it_is_none_of_the_choices(desk, lead, given):
    answer = lead.press(lead.open("/profile").form("/profile/refresh"), refresh=given)
    assert answer.status == 422
    assert "refresh must be one of 5, 10, 30, 60, 0" in answer.text.lower()
    assert desk.audit("operator.refresh_set") == []
