"""The audit names people whom the tenant knows, and nobody else."""

import pytest

from models import clock, operators
from tests.console.visiting import SETTER_UP

LIST = "/acme/audit"
PEOPLE = "/acme/settings/operators"


def id_of(desk, email):
    return desk.tell(lambda session: operators.by_email(session, email)).id


def post(visitor, path, **typed):
    token = visitor.open("/profile").form("/sign-out").fields["csrf_token"]
    return visitor.client.post(path, data={"csrf_token": token, **typed})


def refused(desk, action):
    return [event.resource_id for event in desk.audit(action) if event.result == "refused"]


@pytest.mark.parametrize(
    ("act", "action"),
    [
        ("role", "operator.role_changed"),
        ("removal", "operator.role_revoked"),
        ("link", "operator.link_made"),
        ("factor-reset", "operator.factor_reset"),
        ("switching", "operator.switched"),
    ],
)
def test_refusal_tells_nothing_of_somebody_when_they_have_no_role_in_the_tenant(
    desk, acme, lead, visitor, act, action
):
    desk.give("far@beta.test", desk.tenant("beta"), "admin")
    viewer = visitor("viewer")
    own = id_of(desk, "lead@acme.test")
    for id in (id_of(desk, "far@beta.test"), 2_147_483_647, own):
        assert post(viewer, f"{PEOPLE}/{id}/{act}").status_code == 403
    assert refused(desk, action) == ["", "", str(own)]
    page = viewer.open(LIST).text
    assert "far@beta.test" not in page and "lead@acme.test" in page


@pytest.mark.parametrize("id", ["²", "٣", "9" * 20, "2147483648", "9" * 200, "a@b.test", ""])
def test_list_shows_an_event_when_its_operator_has_no_id_that_can_be_looked_up(desk, acme, lead, id):
    def work(session):
        operators.audit.append(
            session,
            tenant_id=acme.id,
            actor=SETTER_UP,
            action="operator.added",
            resource=("operator", id),
            now=clock.now(),
            result=operators.audit.Result.REFUSED,
        )

    desk.tell(work)
    assert id in lead.open(LIST).text


def test_list_shows_the_bare_id_when_somebody_has_no_role_any_more(desk, acme, lead, visitor):
    admin, gone = visitor("admin"), visitor("viewer")
    id = id_of(desk, "viewer@acme.test")
    form = admin.open(f"{PEOPLE}/{id}/removal").form("/removal")
    assert admin.press(form).status == 303
    # Their session ended with their last role.
    assert gone.open(LIST).status == 303
    assert f">{id}<" in lead.open(f"{LIST}?action=operator.role_revoked").html.replace("\n", "").replace(
        " ", ""
    )


def test_refusal_to_add_keeps_nothing_that_was_typed(desk, acme, lead, visitor):
    admin = visitor("admin")
    desk.give("far@beta.test", desk.tenant("beta"), "viewer")
    for email in ("²", "9" * 20, "far@beta.test", "lead@acme.test"):
        form = admin.open(f"{PEOPLE}/adding").form("/adding")
        # The form acted already, so that whatever is typed into it is refused.
        admin.press(form, email=f"{'x' * len(refused(desk, 'operator.added'))}y@acme.test", role="viewer")
        assert admin.press(form, email=email, role="viewer").status == 409
    assert refused(desk, "operator.added") == ["", "", "", str(id_of(desk, "lead@acme.test"))]
    assert admin.open(LIST).status == 200
