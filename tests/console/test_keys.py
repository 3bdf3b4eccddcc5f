"""The keys: one list of them, on the page and on what they press, and a switch."""

import re

import pytest

from desk_ui import areas, keys
from tests.support.api import on_sqlite

pytestmark = on_sqlite


def said(group):
    return [" ".join(key.keys) for key in group]


def on_page(page):
    return set(re.findall(r'data-key="([^"]+)"', page.html))


def test_every_key_of_a_page_is_in_the_list(desk, acme, lead):
    desk.followup(acme)
    known = {key for _name, group in keys.groups() for key in said(group)}
    for path in ("/acme", "/acme/followups", "/acme/deliveries", "/acme/audit", "/acme/sweeps"):
        found = on_page(lead.open(path))
        assert {"/", "?", "g o", "g f", "g d", "g w", "g a"} <= found
        assert found <= known


def test_keys_differ_and_leave_those_of_areas_to_come(app):
    known = [key for _name, group in keys.groups() for key in said(group)]
    assert len(known) == len(set(known))
    assert not {"g s", "g l"} & set(known)
    firsts = {key.split()[0] for key in known if " " in key}
    assert not firsts & set(known)


def test_list_of_keys_names_each_area_that_has_one(lead):
    page = lead.open("/keys")
    for area in (*areas.WORK, *areas.SET_UP):
        if area.keys:
            first, second = area.keys.split()
            assert f"{first} then {second} {area.name}" in page.text
    assert "Next row" in page.text and "Switch keys off" in page.text
    block = lead.block("/keys")
    assert "ask-title" in block.ids and "Close" in block.text and "<html" not in block.html


def test_every_page_leads_to_the_list_of_keys(lead):
    for path in ("/acme", "/profile"):
        assert lead.open(path).links["Keys"] == "/keys"


def test_keys_are_switched_off_and_on_in_this_browser(lead):
    assert 'data-keys="off"' not in lead.open("/acme").html
    answer = lead.press(lead.open("/keys").form("/keys"), keys="off", back="/acme?x=1")
    assert (answer.status, answer.headers["Location"]) == (303, "/acme?x=1")
    assert 'data-keys="off"' in lead.open("/acme").html
    page = lead.open("/keys")
    assert "They are switched off in this browser." in page.text and "Switch keys on" in page.text
    lead.press(page.form("/keys"), keys="on")
    assert 'data-keys="off"' not in lead.open("/acme").html


@pytest.mark.parametrize("given", ["", "maybe"])
def test_switch_is_refused_when_it_is_neither_on_nor_off(lead, given):
    assert lead.press(lead.open("/keys").form("/keys"), keys=given).status == 422


def test_switch_leads_nowhere_else_when_the_way_back_is_forged(lead):
    form = lead.open("/keys").form("/keys")
    assert lead.press(form, keys="on", back="//evil.test").headers["Location"] == "/keys"
