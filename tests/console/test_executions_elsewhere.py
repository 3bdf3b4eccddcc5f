"""Executions on the overview, in search, and many of them at once."""

import pytest

from tests.console.running import LIST, TAB_OF, audited, read
from tests.support.executions import REVIEW


def test_somebody_is_on_one_that_needs_review_and_nobody_on_another(desk, made, lead, visitor):
    id, calm = made("abandoned"), made("waiting")
    page = lead.open(f"{LIST}/{id}")
    assert lead.press(page.form("/handling")).status == 303
    assert "You are on it" in lead.open(f"{LIST}/{id}").text
    assert "On it: you," in lead.open(LIST).text
    other = visitor("admin")
    assert "lead@acme.test is on it" in other.open(f"{LIST}/{id}").text
    assert 'id="hand"' not in lead.open(f"{LIST}/{calm}").html
    assert "Somebody is on it." in lead.open("/acme").text


def test_overview_counts_what_needs_review_and_leads_there(desk, made, lead):
    assert "need review" not in lead.open("/acme").text
    for state in REVIEW:
        made(state)
    page = lead.open("/acme")
    assert "3 Executions need review" in page.text
    assert 'href="/acme/executions"' in page.html
    assert '#need-executions">3<' in lead.block("/acme/needs").html


def test_search_leads_to_an_execution_by_its_id_and_to_those_of_a_conversation(desk, made, lead):
    id = made("abandoned", called="talk-77")
    for wanted in (str(id), str(id)[:8]):
        assert lead.open(f"/acme/search?q={wanted}").headers["Location"] == f"{LIST}/{id}"
    assert lead.open("/acme/search?q=talk-77").headers["Location"] == f"{LIST}?conversation=talk-77"


def ticked(visitor, query, ids, desk, do):
    page = visitor.open(f"{LIST}{query}")
    rows = [f"{id}.{read(desk, id).version}" for id in ids]
    form = page.form("/bulk")
    data = {**form.fields, "row": rows, "all": "", "do": do}
    return visitor._page(visitor.client.post(form.action, data=data))


@pytest.mark.parametrize(
    ("state", "do", "endpoint", "became"),
    [
        ("waiting", "cancellation", "/cancellation", "skipped"),
        ("stale", "cancellation", "/cancellation", "skipped"),
        ("stale", "reclaim", "/reclaim", "pending"),
        ("cancelled", "rearming", "/rearming", "pending"),
    ],
)
def test_bulk_does_it_to_the_ticked_ones(desk, made, lead, state, do, endpoint, became):
    ids = [made(state), made(state), made(state)]
    asked = ticked(lead, TAB_OF[state], ids[:2], desk, do)
    assert asked.status == 200 and "2 executions" in asked.text
    page = lead.press(asked.form(endpoint), reason="the shop moves")
    assert page.status == 303
    assert [read(desk, id).status for id in ids[:2]] == [became, became]
    assert read(desk, ids[2]).status != became
    action = {"cancellation": "cancelled", "reclaim": "reclaimed", "rearming": "rearmed"}[do]
    assert audited(desk, ids[0])[-1] == (f"execution.{action}", "success", "the shop moves")


def test_bulk_takes_all_that_match_and_leaves_what_moved_with_its_reason(desk, acme, made, lead):
    kept, gone = made("cancelled"), made("moved")
    page = lead.open(f"{LIST}?tab=skipped")
    form = page.form("/bulk")
    asked = lead._page(lead.client.post(form.action, data={**form.fields, "all": "1", "do": "rearming"}))
    assert "Re-arm 2 executions" in asked.text
    page = lead.press(asked.form("/bulk/rearming"), reason="again")
    text = lead.follow(page).text
    assert "The conversation moved on since, so it can't be re-armed." in text
    assert (read(desk, kept).status, read(desk, gone).status) == ("pending", "skipped")


def test_bulk_never_offers_to_settle_or_to_rearm_in_part(made, lead):
    made("abandoned")
    page = lead.open(LIST)
    assert 'name="row"' not in page.html
    made("dropped")
    assert 'name="row"' not in lead.open(f"{LIST}?tab=skipped").html
