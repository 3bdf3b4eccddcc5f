"""What holds for every route of the console, by its map of addresses."""

from uuid import uuid4

import pytest

from desk_ui.addresses import outside_console
from desk_ui.permissions import MAY, OF_PLATFORM, Permission, requirement_of
from models.operators import Role

NAMES = {
    "tenant": "acme",
    "name": "fire_followups",
    "followup_id": str(uuid4()),
    "endpoint_id": str(uuid4()),
    "rule_id": str(uuid4()),
    "execution_id": str(uuid4()),
    "delivery_id": 1,
    "event_id": 1,
    "feature": "followups",
    "agent": "store-support",
    "operator_id": 2_000_000_000,
    "token_id": 2_000_000_000,
    "operation_id": str(uuid4()),
    "kind": "csv",
    "secret": "unknown",
}


def console_rules(app):
    return [
        rule
        for rule in app.url_map.iter_rules()
        if not outside_console(rule.rule) and rule.endpoint != "static"
    ]


def address(app, rule):
    with app.test_request_context():
        return rule.build({name: NAMES[name] for name in rule.arguments})[1]


def test_every_route_declares_its_permission(app):
    assert [r.rule for r in console_rules(app) if requirement_of(app, r.endpoint) is None] == []
    assert len(console_rules(app)) > 8


def test_every_route_that_acts_names_what_its_refusal_is_called(app):
    for rule in console_rules(app):
        required = requirement_of(app, rule.endpoint)
        if required.permission in MAY and "POST" in rule.methods:
            assert required.action and required.resource, rule.rule
            # What is made has no id before it is there.
            assert required.argument or rule.arguments == {"tenant"}, rule.rule


def test_every_route_with_a_permission_names_a_tenant(app):
    for rule in console_rules(app):
        if requirement_of(app, rule.endpoint).permission in MAY:
            assert rule.rule.startswith("/<tenant:tenant>"), rule.rule


def test_every_private_route_leads_to_sign_in_when_signed_out(app, desk, acme):
    client = app.test_client()
    for rule in console_rules(app):
        if requirement_of(app, rule.endpoint).permission is Permission.PUBLIC:
            continue
        method = "POST" if "POST" in rule.methods else "GET"
        answer = client.open(address(app, rule), method=method)
        assert answer.status_code == 303, rule.rule
        assert answer.headers["Location"].startswith("/sign-in"), rule.rule


def test_every_route_of_a_tenant_is_not_found_when_the_person_is_an_outsider(app, desk, acme):
    outsider = desk.visitor("admin@other.test", desk.tenant("other"), "admin")
    token = outsider.open("/other/followups").form("/sign-out").fields["csrf_token"]
    for rule in console_rules(app):
        if requirement_of(app, rule.endpoint).permission not in MAY:
            continue
        path = address(app, rule)
        method = "POST" if "POST" in rule.methods else "GET"
        seen = outsider.client.open(path, method=method, data={"csrf_token": token})
        absent = outsider.client.open(
            path.replace("/acme", "/nowhere"), method=method, data={"csrf_token": token}
        )
        assert seen.status_code == absent.status_code == 404, rule.rule


@pytest.mark.parametrize("role", list(Role))
def test_every_route_follows_the_table_of_roles(app, desk, acme, visitor, role):
    person = visitor(role)
    token = person.open("/acme/followups").form("/sign-out").fields["csrf_token"]
    for rule in console_rules(app):
        permission = requirement_of(app, rule.endpoint).permission
        if permission not in MAY:
            continue
        method = "POST" if "POST" in rule.methods else "GET"
        data = {"csrf_token": token} if method == "POST" else None
        answer = person.client.open(address(app, rule), method=method, data=data)
        # What concerns all tenants is asked of the role in `platform`, where this person has none.
        may = role in MAY[permission] and permission not in OF_PLATFORM
        assert (answer.status_code == 403) == (not may), rule.rule


def test_every_post_is_refused_when_it_has_no_token(app, lead):
    for rule in console_rules(app):
        if "POST" not in rule.methods:
            continue
        answer = lead.client.post(address(app, rule))
        assert answer.status_code == 400, rule.rule
        assert "too old to act on" in answer.text


def test_refusal_and_absence_keep_the_navigation_when_the_person_is_in_a_tenant(visitor):
    person = visitor(Role.MARKETER)
    for path, status in (("/acme/settings/tokens", 403), (f"/acme/followups/{uuid4()}", 404)):
        page = person.open(path)
        assert page.status == status
        assert 'href="/acme/deliveries"' in page.html
    text = person.open("/acme/settings/tokens").text
    assert "Your role in acme is marketer; this needs an admin. Ask an admin of acme." in text
    assert 'class="rail"' not in person.open("/nowhere/followups").html


def test_address_of_another_kind_is_no_tenant(lead):
    assert lead.open("/settings").status == 404
    assert lead.open("/settings/followups").status == 404
    assert lead.open("/no/such/page/at/all").status == 404
