"""Every address as signed out, as each role and from another tenant: one table, printed with `-s`."""

from uuid import uuid4

import click
import pytest

from desk_ui.permissions import MAY, OF_PLATFORM, Permission, requirement_of
from models import tenants
from models.operators import Role
from tests.console import world
from tests.support.api import on_sqlite

# Roles know nothing of the database.
pytestmark = [pytest.mark.slow, on_sqlite]


def test_every_address_answers_each_person_as_the_table_of_roles_says(app, desk, acme, visitor):
    there = world.make(desk, acme, app.extensions["desk_settings"])
    platform = desk.tell(lambda session: tenants.get(session, None))
    people = {"signed out": None, **{role.value: visitor(role) for role in Role}}
    people["platform admin"] = _platform_admin(desk, acme, platform)
    people["another tenant"] = desk.visitor("admin@other.test", desk.tenant("other"), "admin")
    lines, wrong = [], []
    for rule in sorted(world.console_rules(app), key=lambda one: one.rule):
        for method in sorted(rule.methods & {"GET", "POST"}):
            permission = requirement_of(app, rule.endpoint).permission
            answers = {}
            for name, person in people.items():
                answers[name] = _ask(app, there, rule, method, person)
                if not _is_right(name, permission, answers[name]):
                    wrong.append((method, rule.rule, name, permission, answers[name]))
            cells = " ".join(f"{answer:>8}" for answer in answers.values())
            lines.append(
                f"{method:4} {rule.rule.replace('<tenant:tenant>', 'acme'):62} {permission:18} {cells}"
            )
    header = " ".join(f"{name[:8]:>8}" for name in people)
    click.echo(f"\n{'':4} {'':62} {'needs':18} {header}\n" + "\n".join(lines))
    assert wrong == []
    assert len(lines) > 40


def _platform_admin(desk, acme, platform):
    """A viewer of acme who is an admin of platform: what concerns all tenants is theirs, the rest is not."""
    desk.give("root@platform.test", platform, Role.ADMIN)
    return desk.visitor("root@platform.test", acme, Role.VIEWER)


def _ask(app, there, rule, method, person):
    """The status of one request, with no fields but a token, about rows that nobody has where it acts."""
    arguments = there.arguments(rule)[0]
    if method == "POST" and "followup_id" in arguments:
        arguments["followup_id"] = uuid4()
    if person is None:
        client, token = app.test_client(), ""
    else:
        client = person.client
        token = person.open("/profile").form("/sign-out").fields["csrf_token"]
    with app.test_request_context():
        path = rule.build(arguments)[1]
    if rule.endpoint in ("account.sign_out", "account.sign_out_everywhere") and person is not None:
        return 303  # pressing it would end the person's part in the table; tests/console/test_sign_in.py does
    data = {"csrf_token": token} if method == "POST" else None
    return client.open(path, method=method, data=data).status_code


def _is_right(name, permission, status):
    if status == 500:
        return False
    if permission is Permission.PUBLIC:
        return True
    if name == "signed out":
        return status == 303
    if permission is Permission.SIGNED_IN:
        return status != 403
    if name == "another tenant":
        return status == 404
    if permission in OF_PLATFORM:
        return (status != 403) == (name == "platform admin")
    role = Role.VIEWER if name == "platform admin" else Role(name)
    return (status != 403) == (role in MAY[permission])
