from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select

from models import tenants
from models.errors import AlreadyPending, Conflict, Invalid, OptedOut
from models.followups import booking, transitions
from models.followups.booking import parse_at
from models.followups.records import Contact, FollowUp
from models.outbox import OutboxEvent
from tests.followups.world import HOUR, World
from tests.support.create import API, create_tenant

MINUTES = timedelta(minutes=1)


def refused(world: World, error: type[Exception], **given):
    with pytest.raises(error) as raised:
        world.book(**given)
    world.session.rollback()
    return raised.value


def test_book_writes_nothing_when_at_is_past(world):
    """Case 1."""
    error = refused(world, Invalid, at=world.now - timedelta(seconds=1))
    assert error.field == "at"
    assert "already be due" in error.detail
    assert world.count(FollowUp) == world.count(Contact) == 0
    assert world.actions() == []


def test_book_is_refused_when_at_is_less_than_five_minutes_ahead(world):
    """Case 2."""
    assert refused(world, Invalid, at=world.now + timedelta(minutes=4, seconds=59)).field == "at"
    almost = world.now + 5 * MINUTES - timedelta(microseconds=1)
    assert refused(world, Invalid, at=almost).field == "at"
    assert world.book(at=world.now + 5 * MINUTES).status == "pending"


@pytest.mark.parametrize(
    ("given", "ahead"),
    [
        ("+6h", 6 * HOUR),
        ("+5m", 5 * MINUTES),
        ("+30d", timedelta(days=30)),
        (" +6h ", 6 * HOUR),
        ("+3660d", timedelta(days=3_660)),
        ("2031-08-14T18:00:00Z", 6 * HOUR),
        ("2031-08-14T15:00:00-03:00", 6 * HOUR),
        ("2031-08-14T18:00:00.000001+00:00", 6 * HOUR + timedelta(microseconds=1)),
    ],
)
def test_parse_at_takes_absolute_and_relative_times(now, given, ahead):
    """Case 2."""
    assert parse_at(given, now) == now + ahead


NO_TIMES = (
    *("+6w", "+6", "6h", "+h", "+-1h", "+1.5h", "+6H", "+6s", "+٦h", "+6h+6h", "+999999999d", "+3661d"),
    *(
        "\u2003+6h",
        "tomorrow",
        "now",
        "",
        " ",
        "\x00",
        "2031-08-15",
        "2031-08-15T10:00:00",
        "2031-02-30T10:00:00Z",
    ),
    *("0000-00-00T00:00:00Z", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"),
    "2031-08-15T10:00:00Z" * 1000,
)


@pytest.mark.parametrize("given", NO_TIMES)
def test_parse_at_is_refused_when_it_is_no_time(now, given):
    """Case 2."""
    with pytest.raises(Invalid) as raised:
        parse_at(given, now)
    assert raised.value.field == "at"


def test_book_is_refused_with_the_prior_id_when_the_pair_is_pending(world):
    """Case 3."""
    first = world.book()
    error = refused(world, AlreadyPending)
    assert error.prior_id == str(first.id)
    assert error.code == "already-pending"
    world.book(reason="cart left")
    world.book(agent="store-sales")
    world.book(customer="c-2")
    world.book(tenant=create_tenant(world.session, "globex", now=world.now))
    assert world.count(FollowUp) == 5


def test_book_is_taken_again_when_the_first_is_terminal(world):
    """Case 4."""
    first = world.book()
    transitions.cancel(world.session, world.tenant.id, first.id, actor=API, now=world.now)
    second = world.book()
    assert second.id != first.id
    world.fire(world.now + 2 * HOUR)
    assert world.outcome_of(second) == ("fired", None)
    later = world.now + 2 * HOUR
    assert world.book(now=later, at=later + HOUR).id not in (first.id, second.id)


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_book_is_stored_under_platform_when_the_tenant_is_blank(world, blank):
    """Case 5."""
    followup = world.book(tenant=tenants.get(world.session, blank))
    platform = tenants.get(world.session, "platform")
    assert world.session.scalars(select(FollowUp.tenant_id)).one() == platform.id == followup.tenant_id


def test_book_is_refused_when_the_customer_opted_out(world):
    """Case 6."""
    world.revoke()
    assert refused(world, OptedOut).code == "opted-out"
    assert world.count(FollowUp) == 0
    assert world.state() == ("revoked", 0)


def test_book_leaves_the_contact_when_it_is_unavailable(world):
    """Case 6."""
    world.declare(silence_after_sends=1)
    world.book()
    fired_at = world.now + 2 * HOUR
    world.fire(fired_at)
    before = world.contact()
    assert (before.state, before.sends_without_reply) == ("unavailable", 1)
    stamp = before.updated_at
    world.book(now=fired_at + HOUR, at=fired_at + 2 * HOUR)
    after = world.contact()
    assert (after.state, after.sends_without_reply, after.updated_at) == ("unavailable", 1, stamp)


def test_book_leaves_the_counter_when_the_contact_is_granted(world):
    """Case 6."""
    world.book()
    world.fire(world.now + 2 * HOUR)
    later = world.now + 3 * HOUR
    world.book(now=later, at=later + HOUR)
    assert world.state() == ("granted", 1)


@pytest.mark.parametrize("reason", ["", "x" * 201, "   ", "\t\n\u2003", "a\x00b", "\ud800"])
def test_book_is_refused_when_the_reason_is_blank_or_long(world, reason):
    """Case 7."""
    assert refused(world, Invalid, reason=reason).field == "reason"
    assert world.count(Contact) == 0


@pytest.mark.parametrize("reason", ["x", "x" * 200, "ü" * 200, "😀" * 200, " padded "])
def test_book_keeps_the_reason_when_it_has_up_to_200_characters(world, reason):
    """Case 7."""
    followup = world.book(reason=reason)
    world.session.expire_all()
    assert booking.get(world.session, world.tenant.id, followup.id).reason == reason


NAIVE = datetime.fromisoformat("2031-08-15T10:00:00")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("agent", ""), ("agent", "x" * 201), ("customer", " "), ("customer", "\x00"), ("arm", "")),
        *(("session_id", "x" * 201), ("transport", "\udfff"), ("at", NAIVE)),
    ],
)
def test_book_names_the_field_when_it_is_refused(world, field, value):
    assert refused(world, Invalid, **{field: value}).field == field
    assert world.count(FollowUp) == world.count(Contact) == 0


def test_book_returns_the_first_when_id_and_content_are_the_same(world):
    id = uuid4()
    first = world.book(id=id)
    again = world.book(id=id)
    assert again.id == first.id
    assert world.count(FollowUp) == 1
    assert world.actions("followup") == ["followup.scheduled"]
    assert world.told() == ["followup.scheduled"]


def test_book_returns_the_first_when_a_relative_time_moved_with_the_clock(world):
    id = uuid4()
    first = world.book(id=id, at=world.now + 6 * HOUR)
    later = world.now + timedelta(minutes=3)
    assert world.book(id=id, at=later + 6 * HOUR, now=later).at == first.at
    error = refused(world, Conflict, id=id, at=later + 7 * HOUR, now=later)
    assert error.current.at == first.at


@pytest.mark.parametrize("field", ["agent", "customer", "reason", "session_id", "transport", "arm"])
def test_book_is_a_conflict_when_one_field_of_a_known_id_differs(world, field):
    id = uuid4()
    world.book(id=id)
    assert refused(world, Conflict, id=id, **{field: "another"}).current.id == id


def test_book_returns_the_first_when_the_arm_is_the_same_or_left_out(world):
    id = uuid4()
    world.book(id=id, arm="hard")
    assert world.book(id=id, arm="hard").arm == world.book(id=id).arm == "hard"


def test_book_is_a_conflict_when_the_id_has_other_content(world):
    id = uuid4()
    world.book(id=id)
    error = refused(world, Conflict, id=id, reason="another")
    assert error.current.id == id
    world.book(id=id, tenant=create_tenant(world.session, "globex", now=world.now), reason="another")


def test_book_assigns_the_policy_arm_when_none_is_given(world):
    world.declare(arm="soft")
    assert world.book().arm == "soft"
    assert world.book(reason="other", arm="hard").arm == "hard"
    assert world.book(agent="undeclared").arm == "schedule"


def test_book_tells_ids_and_arm_but_no_words(world):
    world.book(reason="a very private reason", customer="somebody@acme.test", session_id="s-1")
    for event in world.session.scalars(select(OutboxEvent)):
        assert "private" not in str(event.payload)
        assert "somebody" not in str(event.payload)
    assert world.actions() == ["contact.granted", "followup.scheduled"]


def test_book_stores_utc_when_at_has_another_offset(world):
    at = datetime.fromisoformat("2031-08-15T10:00:00.123456-03:00")
    followup = world.book(at=at)
    world.session.expire_all()
    stored = booking.get(world.session, world.tenant.id, followup.id)
    assert stored.at == at
    assert stored.at.tzinfo is UTC
    assert stored.at.microsecond == 123456


def test_find_answers_with_the_row_as_it_stands_when_the_session_saw_it_before(world):
    seen = world.book()
    assert seen.version == 1
    world.session.connection().exec_driver_sql("UPDATE follow_up SET version = 7")
    assert booking.get(world.session, world.tenant.id, seen.id).version == 7
    world.session.rollback()
