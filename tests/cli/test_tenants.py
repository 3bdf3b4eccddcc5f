"""`desk tenant`."""

from sqlalchemy import select

from models.audit import AuditEvent


def test_add_makes_the_tenant_when_the_key_is_free(desk, session):
    ran = desk.ok("tenant", "add", "acme", "--name", "Acme", "--timezone", "Europe/Berlin", "--json")
    assert ran.json["key"] == "acme"
    assert ran.json["features"] == {"delayed_automations": True, "followups": True}
    event = session.scalars(select(AuditEvent).where(AuditEvent.action == "tenant.added")).one()
    assert event.actor_type == "operator"
    assert event.actor_label.endswith(" at the command line")


def test_add_says_how_somebody_comes_to_see_the_tenant(desk):
    out = desk.ok("tenant", "add", "acme").out
    hint = out.splitlines()[-1]
    assert "Nobody sees it in the console before they have a role in it:" in out
    command = hint.replace("EMAIL", "lead@acme.test").split()
    assert command[0] == "desk" and desk.ok(*command[1:]).out == "lead@acme.test is admin of acme.\n"


def test_add_is_refused_when_the_key_is_taken_or_cannot_be_used(desk):
    desk.ok("tenant", "add", "acme")
    assert desk("tenant", "add", "acme", "--json").error["code"] == "conflict"
    for key in ("api", "Acme", "", "a b", "sign-in"):
        ran = desk("tenant", "add", key, "--json")
        assert (ran.code, ran.error["code"]) == (1, "invalid"), key
    assert desk("tenant", "add", "other", "--timezone", "Not/AZone").code == 1


def test_feature_pauses_and_resumes_when_switched(desk, session):
    desk.ok("tenant", "add", "acme")
    assert desk.ok("tenant", "feature", "acme", "followups", "off").out == "followups is off for acme.\n"
    assert (
        desk.ok("tenant", "feature", "acme", "followups", "off", "--json").json["features"]["followups"]
        is False
    )
    desk.ok("tenant", "feature", "acme", "followups", "on")
    actions = session.scalars(select(AuditEvent.action).order_by(AuditEvent.id)).all()
    assert actions == ["tenant.added", "tenant.feature_off", "tenant.feature_on"]


def test_feature_is_refused_when_the_tenant_is_unknown(desk):
    ran = desk("tenant", "feature", "nobody", "followups", "on")
    assert (ran.code, ran.err) == (1, "There is no such tenant.\n")


def test_list_shows_every_tenant_when_asked(desk):
    desk.ok("tenant", "add", "acme")
    assert [item["key"] for item in desk.ok("tenant", "list", "--json").json["items"]] == ["acme", "platform"]
    assert desk.ok("tenant", "list").out.startswith("acme\tacme\tUTC\tfollowups on")
