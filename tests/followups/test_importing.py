from io import BytesIO
from json import dumps
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from models.audit import AuditEvent
from models.errors import Invalid
from models.followups import booking
from models.followups.exporting import PAGE, stream
from models.followups.importing import BATCH, import_file, import_records
from models.followups.reading import LONGEST_LINE, Format
from models.followups.records import Contact, FollowUp
from tests.followups.world import DAY, HOUR, World
from tests.support.create import API, create_tenant

FIRST = "00000000-0000-0000-0000-000000000001"


def take_lines(world: World, *lines: str | bytes, format: Format = Format.JSONL):
    result = import_records(world.session, world.tenant, lines, actor=API, now=world.now, format=format)
    world.commit()
    return result


def take_file(world: World, content: bytes, format: Format = Format.JSONL):
    parts = list(
        import_file(world.session, world.tenant, BytesIO(content), format=format, actor=API, now=world.now)
    )
    refused = [(refusal.line, refusal.detail) for part in parts for refusal in part.refused]
    return sum(part.imported for part in parts), sum(part.skipped for part in parts), refused


def test_import_takes_past_records_and_twins_as_they_are(world):
    ids = [str(uuid4()) for _ in range(3)]
    result = world.take(
        {"id": ids[0], "at": world.now - 30 * DAY, "session_id": "s-1", "transport": "mail", "arm": "b"},
        {"id": ids[1], "at": world.now - DAY},
        {"id": ids[2], "at": world.now + DAY},
    )
    assert (result.imported, result.skipped, result.refused) == (3, 0, [])
    row = booking.get(world.session, world.tenant.id, UUID(ids[0]))
    assert (row.at, row.session_id, row.transport, row.arm) == (world.now - 30 * DAY, "s-1", "mail", "b")
    assert (row.status, row.version, row.created_at, row.updated_at) == ("pending", 1, world.now, world.now)
    assert world.count(FollowUp) == 3


def test_import_writes_no_consent_and_one_event_for_each_record(world):
    world.take({"id": FIRST})
    assert world.count(Contact) == 0
    assert world.actions() == ["followup.imported"]
    assert world.told() == ["followup.scheduled"]
    [event] = world.session.scalars(select(AuditEvent).where(AuditEvent.action == "followup.imported"))
    assert event.detail == {"from": None, "to": "pending", "agent": "store-support", "arm": "schedule"}
    assert (event.resource_id, event.actor_id) == (FIRST, API.id)


def test_import_skips_a_record_when_its_id_is_known(world):
    world.take({"id": FIRST, "reason": "first"})
    result = world.take({"id": FIRST, "reason": "second"}, {"reason": "third"}, {"id": FIRST.upper()})
    assert (result.imported, result.skipped, result.refused) == (1, 2, [])
    assert booking.get(world.session, world.tenant.id, UUID(FIRST)).reason == "first"
    assert world.actions() == ["followup.imported"] * 2
    world.tenant = create_tenant(world.session, "globex", now=world.now)
    assert world.take({"id": FIRST}).imported == 1


def test_import_takes_the_first_when_a_file_holds_an_id_twice(world):
    result = world.take({"id": FIRST, "reason": "one"}, {"id": FIRST, "reason": "two"})
    assert (result.imported, result.skipped) == (1, 1)
    assert booking.get(world.session, world.tenant.id, UUID(FIRST)).reason == "one"


FAULTS = [
    ({"id": None}, "id"),
    ({"id": "7"}, "id"),
    ({"id": 7}, "id"),
    ({"id": FIRST + "0"}, "id"),
    ({"arm": None}, "arm"),
    ({"arm": " "}, "arm"),
    ({"agent": None}, "agent"),
    ({"agent": "x" * 201}, "agent"),
    ({"customer": ""}, "customer"),
    ({"customer": "a\x00b"}, "customer"),
    ({"customer": "\ud800"}, "customer"),
    ({"customer": ["c-1"]}, "customer"),
    ({"reason": ""}, "reason"),
    ({"reason": "x" * 201}, "reason"),
    ({"reason": {"a": 1}}, "reason"),
    ({"reason": True}, "reason"),
    ({"at": None}, "at"),
    ({"at": "+6h"}, "at"),
    ({"at": "2031-08-15T10:00:00"}, "at"),
    ({"at": "soon"}, "at"),
    ({"at": 1_946_000_000}, "at"),
    ({"at": 1e999}, "at"),
    ({"at": "9999-12-31T23:59:59-14:00"}, "at"),
    ({"session_id": 4}, "session_id"),
    ({"transport": "x" * 201}, "transport"),
    ({"status": "fired"}, "status"),
    ({"tenant": "globex"}, "tenant"),
    ({"\x1b[31m" + "x" * 500: "y"}, "x1b"),
]


@pytest.mark.parametrize(("fault", "field"), FAULTS)
def test_import_refuses_only_the_faulty_line(world, fault, field):
    good, bad = world.record(), {**world.record(), **fault}
    result = take_lines(world, dumps(good), dumps(bad), dumps(world.record()))
    assert result.imported == 2
    [refusal] = result.refused
    assert refusal.line == 2
    assert field in refusal.detail
    assert len(refusal.detail) < 200
    assert refusal.detail.isprintable()


HOSTILE = [
    b"not json",
    b"{",
    b"[]",
    b"null",
    b"7",
    b'"text"',
    b"\xff\xfe\x00",
    b"\x00",
    b'{"id": NaN}',
    b"[" * 60_000,
    b'{"a":' * 13_000,
    b"9" * 60_000,
    b'{"id": ' + b"9" * 50_000 + b"}",
    b'{"reason": "' + b"x" * (2 * LONGEST_LINE) + b'"}',
    b"x" * (LONGEST_LINE + 1),
]


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:12].decode("latin-1"))
def test_import_goes_on_when_a_line_is_hostile(world, line):
    good = dumps(world.record()).encode()
    result = take_lines(world, good, line, dumps(world.record()).encode())
    assert result.imported == 2
    assert [refusal.line for refusal in result.refused] == [2]
    imported, _skipped, refused = take_file(
        world, b"\n".join([dumps(world.record()).encode(), line, dumps(world.record()).encode()])
    )
    assert imported == 2
    assert [number for number, _detail in refused] == [2]


def test_import_passes_over_blank_lines_and_counts_them(world):
    good = dumps(world.record())
    result = take_lines(world, "", good, "   ", "\r\n", "broken")
    assert result.imported == 1
    assert [refusal.line for refusal in result.refused] == [5]


def test_import_takes_a_byte_order_mark_and_windows_line_ends(world):
    imported, _skipped, refused = take_file(
        world, b"\xef\xbb\xbf" + b"\r\n".join(dumps(world.record()).encode() for _ in range(2)) + b"\r\n"
    )
    assert (imported, refused) == (2, [])


def test_import_takes_the_earliest_and_latest_years(world):
    result = world.take({"at": "0001-01-01T00:00:00Z"}, {"at": "9999-12-31T23:59:59.999999Z", "id": FIRST})
    assert result.imported == 2
    assert booking.get(world.session, world.tenant.id, UUID(FIRST)).at.year == 9999
    world.session.expire_all()
    assert min(row.at.year for row in world.session.scalars(select(FollowUp))) == 1


def test_import_of_a_large_file_commits_in_batches_and_is_taken_up_again(world):
    records = [dumps(world.record(reason=f"r{n}")) for n in range(2 * BATCH + 7)]
    content = "\n".join([*records[: BATCH + 3], "broken", *records[BATCH + 3 :]]).encode()
    file = import_file(
        world.session, world.tenant, BytesIO(content), format=Format.JSONL, actor=API, now=world.now
    )
    assert next(file).imported == BATCH
    file.close()
    world.session.rollback()
    assert world.count(FollowUp) == BATCH
    imported, skipped, refused = take_file(world, content)
    assert (imported, skipped) == (BATCH + 7, BATCH)
    assert [line for line, _detail in refused] == [BATCH + 4]
    assert len(world.actions()) == 2 * BATCH + 7


def csv_of(world: World, *rows: str, header: str = "id,agent,customer,at,reason,arm,session_id") -> bytes:
    return "\n".join([header, *rows]).encode()


def csv_row(reason: str = "r", id: str | None = None) -> str:
    return f"{id or uuid4()},store-support,c-1,2031-08-15T10:00:00Z,{reason},schedule,"


def test_import_of_csv_reads_quoted_fields_over_lines(world):
    content = csv_of(world, csv_row('"a, ""quoted""\nreason"', FIRST), csv_row("ü"), "", csv_row())
    assert take_file(world, content, Format.CSV) == (3, 0, [])
    row = booking.get(world.session, world.tenant.id, UUID(FIRST))
    assert (row.reason, row.session_id) == ('a, "quoted"\nreason', None)


def test_import_of_csv_refuses_rows_by_the_number_of_their_first_line(world):
    rows = [
        csv_row('"two\nlines"'),
        "short",
        csv_row() + ",extra",
        csv_row(reason=""),
        csv_row(id="7"),
        csv_row('"bad"quote'),
        csv_row(),
    ]
    imported, _skipped, refused = take_file(world, csv_of(world, *rows), Format.CSV)
    assert imported == 2
    assert [line for line, _detail in refused] == [4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    "header",
    ["id,agent", "", "id,agent,customer,at,reason,arm,status", "id,id,agent,customer,at,reason,arm", "\x00"],
)
def test_import_of_csv_takes_nothing_when_the_header_is_faulty(world, header):
    imported, _skipped, refused = take_file(world, csv_of(world, csv_row(), header=header), Format.CSV)
    assert imported == 0
    assert len(refused) == 1


@pytest.mark.parametrize(
    "row",
    [
        b'"never closed',
        b"\xff\xfe",
        b"x" * (LONGEST_LINE + 5),
        b'"' + b"x" * (LONGEST_LINE * 3),
        b"\x00,\x00,\x00,\x00,\x00,\x00,\x00",
        b'"",""x',
    ],
    ids=lambda row: row[:10].decode("latin-1"),
)
def test_import_of_csv_never_raises_when_a_row_is_hostile(world, row):
    content = csv_of(world, csv_row()) + b"\n" + row + b"\n"
    imported, _skipped, refused = take_file(world, content, Format.CSV)
    assert imported == 1
    assert [line for line, _detail in refused] == [3]


def test_export_streams_all_that_match_newest_first(world):
    mine = world.tenant
    world.take(*({"reason": f"r{n}", "customer": f"c-{n % 2}"} for n in range(PAGE + 5)))
    late = world.book("c-1", now=world.now + HOUR)
    world.tenant = create_tenant(world.session, "globex", now=world.now)
    world.take({"reason": "theirs"})
    rows = list(stream(world.session, mine, {}))
    assert len(rows) == len({row["id"] for row in rows}) == PAGE + 6
    assert rows[0]["id"] == late.id
    assert rows[0]["at"] == late.at
    keys = [(row["created_at"], row["id"]) for row in rows]
    assert keys == sorted(keys, reverse=True)
    half = list(stream(world.session, mine, {"customer": "c-1", "status": "pending"}))
    assert len(half) == (PAGE + 5) // 2 + 1
    assert not world.session.in_transaction()


@pytest.mark.parametrize(("name", "value"), [("status", "lost"), ("colour", "red"), ("tenant_id", "1")])
def test_export_is_refused_when_a_filter_is_unknown(world, name, value):
    with pytest.raises(Invalid) as raised:
        stream(world.session, world.tenant, {name: value})
    assert raised.value.field == name
