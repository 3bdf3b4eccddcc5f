"""A list as a file, from the menu of a browser and from a real web process that fails in the middle."""

import json
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import expect
from sqlalchemy import insert, text

from models import clock
from models.base import db, table_of
from models.followups.records import FollowUp

pytestmark = pytest.mark.slow

ROWS = 3_000


@pytest.fixture(scope="module")
def filled(desk):
    """A tenant with more than a page of a file."""
    tenant, now = desk.tenant("files"), clock.now()

    row = {
        "tenant_id": tenant.id,
        "agent": "store-support",
        "at": now,
        "reason": "pix pending",
        "arm": "schedule",
        "status": "fired",
        "fired_at": now,
        "created_at": now,
        "updated_at": now,
        "attempts": 0,
        "version": 1,
    }
    rows = [{**row, "id": uuid4(), "customer": f"c-{number}"} for number in range(ROWS)]
    # Rows made for their number only, so that they go round the session and what it asks of the audit.
    with desk.app.app_context(), db.engine.begin() as connection:
        connection.execute(insert(table_of(FollowUp)), rows)
    return desk


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_menu_gives_the_whole_list_as_a_file(filled, open_page, scripts):
    with open_page(java_script_enabled=scripts) as page:
        filled.sign_in(page, "lead@files.test")
        page.goto(f"{filled.url}/files/followups?tab=fired")
        page.locator(".export > summary").click()
        if scripts:
            expect(page.locator("#matching")).to_have_text("All 3,000 that match, in this order")
        with page.expect_download() as given:
            page.get_by_role("link", name="JSON Lines").click()
        name = given.value.suggested_filename
        assert name.startswith("files-followups-fired-") and name.endswith(".jsonl")
        lines = Path(given.value.path()).read_text().splitlines()
        assert len({json.loads(line)["id"] for line in lines}) == len(lines) == ROWS


def test_download_fails_for_the_client_when_a_later_page_can_not_be_read(filled, open_page):
    """What a client has by then ends in a line that says so; and it is told that the answer was cut off."""
    with open_page() as page:
        filled.sign_in(page, "lead@files.test")
        cookies = {one["name"]: one["value"] for one in page.context.cookies()}
    taken = b""
    try:
        address = f"{filled.url}/files/followups/export.jsonl?tab=fired"
        with (
            httpx.stream("GET", address, cookies=cookies) as got,
            pytest.raises(httpx.RemoteProtocolError),
        ):
            for block in got.iter_raw(1_000):
                if not taken:
                    _rename(filled, "reason", "reason_away")
                taken += block
    finally:
        _rename(filled, "reason_away", "reason")
    assert got.status_code == 200 and taken.count(b"\n") < ROWS


def _rename(desk, before, after):
    with desk.app.app_context(), db.engine.begin() as connection:
        connection.execute(text(f"ALTER TABLE follow_up RENAME COLUMN {before} TO {after}"))
