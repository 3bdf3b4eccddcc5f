"""`desk erase`."""

from sqlalchemy import func, select

from models.followups.records import FollowUp
from tests.cli.test_import_export import two_records


def test_erase_does_nothing_when_not_confirmed(desk, session):
    desk.ok("import", "followups", "-", "--tenant", "platform", input=two_records())
    ran = desk("erase", "--tenant", "platform", "--customer", "c-1")
    assert ran.code == 2
    assert "Add --yes" in ran.err
    assert session.scalars(select(func.count()).select_from(FollowUp)).one() == 2


def test_erase_removes_one_customer_when_named(desk, session):
    desk.ok("import", "followups", "-", "--tenant", "platform", input=two_records())
    counts = desk.ok("erase", "--tenant", "platform", "--customer", "c-1", "--yes", "--json").json
    assert counts["followups"] == 1
    assert session.scalars(select(FollowUp.customer)).all() == ["=cmd()"]
    session.rollback()
    assert desk.ok("erase", "--tenant", "platform", "--customer", "c-1", "--yes").out == (
        "There was nothing to erase.\n"
    )


def test_erase_removes_a_whole_tenant_when_no_customer_is_named(desk, session):
    desk.ok("import", "followups", "-", "--tenant", "platform", input=two_records())
    assert desk.ok("erase", "--tenant", "platform", "--yes").out == "Erased 2 followups.\n"
    assert session.scalars(select(func.count()).select_from(FollowUp)).one() == 0


def test_erase_is_refused_when_the_customer_or_tenant_is_blank(desk):
    assert desk("erase", "--tenant", "platform", "--customer", "", "--yes").code == 1
    assert desk("erase", "--tenant", " ", "--yes").code == 2
    assert desk("erase", "--tenant", "nobody", "--yes").code == 1
