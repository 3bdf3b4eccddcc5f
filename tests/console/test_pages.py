"""What holds for every page and file: headers, the vendored script, themes, faults, templates."""

import gzip
import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import desk_ui
from models import clock, tenants
from tests.console.visiting import Visitor

ROOT = Path(desk_ui.__file__).parent
VENDOR = ROOT / "static" / "vendor"


def test_vendored_files_are_those_of_the_manifest():
    manifest = json.loads((VENDOR / "manifest.json").read_text())
    named = {one["file"] for one in manifest["files"]} | {one["licence_file"] for one in manifest["files"]}
    assert {path.name for path in VENDOR.iterdir()} == named | {"manifest.json"}
    for one in manifest["files"]:
        content = (VENDOR / one["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == one["sha256"]
        assert one["version"].encode() in content


def test_script_and_style_stay_small_when_compressed():
    files = [*ROOT.glob("static/**/*.js"), *ROOT.glob("static/**/*.css")]
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < 60_000


def test_list_of_fifty_rows_stays_small_when_compressed(desk, acme, lead):
    for number in range(50):
        desk.followup(acme, customer=f"c-{number}")
    assert len(gzip.compress(lead.open("/acme/followups").html.encode())) < 30_000


def test_templates_hold_no_script_and_no_style_of_their_own():
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text()
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)|javascript:", text), path
        assert "|safe" not in text, path


def test_every_stylesheet_and_script_is_used():
    everything = "".join(path.read_text() for path in (ROOT / "templates").rglob("*.html"))
    for path in [*ROOT.glob("static/css/*.css"), *ROOT.glob("static/js/*.js")]:
        assert f'"{path.stem}"' in everything or f"/{path.name}" in everything, path


def test_scripts_share_no_names_since_all_stand_in_one_page():
    names = Counter()
    for path in ROOT.glob("static/js/*.js"):
        names.update(re.findall(r"^(?:async )?(?:function|const|let) (\w+)", path.read_text(), re.MULTILINE))
    assert [name for name, times in names.items() if times > 1] == []


def test_every_component_is_used():
    components = (ROOT / "templates" / "components" / "ui.html").read_text()
    everything = "".join(path.read_text() for path in (ROOT / "templates").rglob("*.html"))
    everything += "".join(path.read_text() for path in ROOT.rglob("*.py"))
    for name in re.findall(r"{% macro (\w+)\(", components):
        assert len(re.findall(rf"\b{name}\(", everything)) > 1, name


def test_static_files_never_change_when_their_digest_is_asked_for(app):
    visitor = Visitor(app)
    page = visitor.open("/sign-in")
    addresses = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.html)
    assert len(addresses) > 10
    for address in addresses:
        answer = visitor.client.get(address)
        assert answer.status_code == 200, address
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        path, _, digest = address.partition("?v=")
        content = (ROOT / path.removeprefix("/")).read_bytes()
        assert hashlib.sha256(content).hexdigest().startswith(digest)


def test_pages_carry_the_headers_that_keep_others_out(app):
    answer = Visitor(app).client.get("/sign-in")
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie


def test_cookie_is_only_sent_over_https_when_the_public_address_is(tmp_path):
    from tests.conftest import settings_for

    settings = settings_for(f"sqlite:///{tmp_path}/x.db", tmp_path, DESK_PUBLIC_URL="https://desk.test")
    app = desk_ui.create_app(settings)
    assert app.config["SESSION_COOKIE_SECURE"]
    assert app.config["SESSION_COOKIE_NAME"] == "__Host-desk"


def test_theme_is_kept_and_drawn_by_the_server_when_chosen(lead):
    page = lead.open("/acme/followups?tab=fired")
    assert "data-theme" not in page.html
    answer = lead.press(page.form("/profile/theme"), theme="dark")
    assert answer.headers["Location"] == "/acme/followups?tab=fired"
    assert '<html lang="en" data-theme="dark">' in lead.follow(answer).html
    assert lead.press(page.form("/profile/theme"), theme="pink").status == 422


def test_every_page_says_so_when_desk_toml_can_not_be_used(desk, acme, lead, config):
    assert "The last good version stays in force" not in lead.open("/acme/followups").text
    config.write_text("[agents.store-support\n")
    for path in ("/acme/followups", "/profile"):
        text = lead.open(path).text
        assert "desk.toml can't be used:" in text and "The last good version stays in force." in text
    assert "desk.toml" not in Visitor(lead.app).open("/sign-in").text


def test_every_page_says_so_when_a_sweep_is_late(app, desk, lead):
    def installed(at):
        """Lateness is judged from then on, while nothing has run."""
        desk.tell(lambda session: setattr(tenants.get(session, "platform"), "created_at", at))
        app.extensions["desk_sweep_lines"] = (clock.EPOCH, [])
        return lead.open("/acme/followups").text

    on_time = installed(clock.now())
    assert "Sweeps on time" in on_time and "Next run" in on_time
    late = installed(clock.EPOCH)
    assert "sweeps late" in late and "Next run" not in late


def test_fault_of_ours_is_a_page_with_the_requests_id_when_it_happens(app, lead, monkeypatch):
    def fail(*_args, **_more):
        raise ZeroDivisionError

    monkeypatch.setattr("desk_ui.followups.queries.page", fail)
    app.config["PROPAGATE_EXCEPTIONS"] = False
    answer = lead.client.get("/acme/followups")
    app.config["PROPAGATE_EXCEPTIONS"] = None
    assert answer.status_code == 500
    assert "Something went wrong here" in answer.text
    assert answer.headers["X-Request-ID"] in answer.text
    assert "ZeroDivisionError" not in answer.text


def test_error_is_a_toast_that_replaces_nothing_when_htmx_asked(lead):
    answer = lead.block("/acme/followups/not-an-id")
    assert answer.status == 404
    assert answer.html.strip().startswith("<hx-partial")


def test_api_keeps_its_own_errors(app):
    answer = Visitor(app).client.get("/api/v1/nothing-here")
    assert answer.content_type == "application/problem+json"
    assert answer.status_code == 404


def test_own_pages_keep_the_way_to_the_areas(desk, acme, lead):
    lead.open("/acme/followups")
    page = lead.open("/profile")
    assert page.links["Follow-ups"] == "/acme/followups"
    assert "Tenant acme" in page.text
