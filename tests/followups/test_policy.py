from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from models.followups.keywords import holds, keyword
from models.followups.policy import Case, QuietHours, judge, parse
from models.followups.records import Block

SAO_PAULO = "America/Sao_Paulo"
NIGHT = {"timezone": SAO_PAULO, "start": "21:30", "end": "09:00"}


def quiet(table: dict[str, str]) -> QuietHours:
    policy = parse("a", {"followup": {"quiet_hours": table}}).policy
    assert policy is not None
    assert policy.quiet_hours is not None
    return policy.quiet_hours


def local(clock: str, zone: str = SAO_PAULO, day: str = "2031-08-14", fold: int = 0) -> datetime:
    return datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=ZoneInfo(zone), fold=fold)


@pytest.mark.parametrize(
    ("clock", "expected"),
    [
        *(("23:59", True), ("00:01", True), ("15:00", False), ("21:30", True), ("09:00", False)),
        *(("21:29:59.999999", False), ("08:59:59.999999", True), ("00:00", True), ("09:00:00.000001", False)),
    ],
)
def test_quiet_hours_include_start_and_exclude_end_when_overnight(clock, expected):
    """Case 25."""
    assert (quiet(NIGHT).end_of(local(clock).astimezone(UTC)) is not None) == expected


@pytest.mark.parametrize(
    ("clock", "day_of_end"), [("23:59", "2031-08-15"), ("00:01", "2031-08-14"), ("21:30", "2031-08-15")]
)
def test_quiet_hours_end_in_the_morning_that_follows(clock, day_of_end):
    """Case 25."""
    assert quiet(NIGHT).end_of(local(clock)) == local("09:00", day=day_of_end)


@pytest.mark.parametrize(
    ("clock", "expected"),
    [("12:59:59.999999", False), ("13:00", True), ("13:29:59.999999", True), ("13:30", False)],
)
def test_quiet_hours_of_one_day_include_start_and_exclude_end(clock, expected):
    table = {"timezone": "UTC", "start": "13:00", "end": "13:30"}
    assert (quiet(table).end_of(local(clock, "UTC")) is not None) == expected


def test_quiet_hours_end_by_the_clock_when_it_goes_forward_in_the_night():
    """In Berlin on 2031-03-30 the clock leaps from 02:00 to 03:00: the night is an hour shorter."""
    night = quiet({"timezone": "Europe/Berlin", "start": "22:00", "end": "07:00"})
    begin = local("22:00", "Europe/Berlin", "2031-03-29").astimezone(UTC)
    assert night.end_of(begin) == begin + timedelta(hours=8)
    assert night.end_of(begin - timedelta(microseconds=1)) is None


def test_quiet_hours_end_by_the_clock_when_it_goes_back_in_the_night():
    """In Berlin on 2031-10-26 the clock goes from 03:00 back to 02:00: the night is an hour longer."""
    night = quiet({"timezone": "Europe/Berlin", "start": "22:00", "end": "07:00"})
    begin = local("22:00", "Europe/Berlin", "2031-10-25").astimezone(UTC)
    assert night.end_of(begin) == begin + timedelta(hours=10)


def test_quiet_hours_that_end_in_a_leap_end_when_the_clock_has_leapt():
    """02:30 does not exist on 2031-03-30 in Berlin: at 03:00, the first moment after, it is not quiet."""
    night = quiet({"timezone": "Europe/Berlin", "start": "22:00", "end": "02:30"})
    leap = datetime(2031, 3, 30, 1, 0, tzinfo=UTC)
    assert night.end_of(leap) is None
    end = night.end_of(leap - timedelta(minutes=1))
    assert end is not None
    assert leap <= end <= leap + timedelta(minutes=30)


@pytest.mark.parametrize("end", ["02:30", "02:00", "03:00"])
def test_quiet_hours_are_never_put_off_into_the_past_when_an_hour_repeats(end):
    """Between 02:00 and 03:00 on 2031-10-26 in Berlin each clock time comes twice."""
    night = quiet({"timezone": "Europe/Berlin", "start": "22:00", "end": end})
    at = datetime(2031, 10, 25, 22, 0, tzinfo=UTC)
    while at < datetime(2031, 10, 26, 3, 0, tzinfo=UTC):
        until = night.end_of(at)
        assert until is None or at < until <= at + timedelta(hours=12)
        at += timedelta(minutes=7, microseconds=13)


@pytest.mark.parametrize(
    ("followup", "path"),
    [
        ({"quiet_hours": {**NIGHT, "timezone": "Not/AZone"}}, "quiet_hours.timezone"),
        ({"quiet_hours": {**NIGHT, "timezone": "../../etc/passwd"}}, "quiet_hours.timezone"),
        ({"quiet_hours": {**NIGHT, "timezone": 3}}, "quiet_hours.timezone"),
        ({"quiet_hours": {"start": "21:30", "end": "09:00"}}, "quiet_hours.timezone"),
        ({"quiet_hours": {**NIGHT, "start": "9:00"}}, "quiet_hours.start"),
        ({"quiet_hours": {**NIGHT, "end": "9:00"}}, "quiet_hours.end"),
        ({"quiet_hours": {**NIGHT, "start": "25:00"}}, "quiet_hours.start"),
        ({"quiet_hours": {**NIGHT, "end": "24:00"}}, "quiet_hours.end"),
        ({"quiet_hours": {**NIGHT, "end": "09:60"}}, "quiet_hours.end"),
        ({"quiet_hours": {**NIGHT, "end": "09:00\n"}}, "quiet_hours.end"),
        ({"quiet_hours": {**NIGHT, "end": "٠٩:00"}}, "quiet_hours.end"),
        ({"quiet_hours": {**NIGHT, "end": "21:30"}}, "quiet_hours.end"),
        ({"quiet_hours": {**NIGHT, "extra": 1}}, "quiet_hours.extra"),
        ({"quiet_hours": "night"}, "quiet_hours"),
        *(
            ({"max_frequency": value}, "max_frequency")
            for value in (
                "2/",
                "x/24h",
                "2/3w",
                "0/24h",
                "2/0h",
                "-1/24h",
                "2",
                "",
                "2/24",
                "2/24hss",
                "2/24H",
            )
        ),
        *(
            ({"max_frequency": value}, "max_frequency")
            for value in (2, ["2/24h"], "٢/24h", "9/9999d", " 2/24h")
        ),
        *(
            ({"silence_after_sends": value}, "silence_after_sends")
            for value in (0, -1, True, 1.5, "3", 10**9)
        ),
        ({"cancel_keywords": ["x" * 201]}, "cancel_keywords[0]"),
        ({"cancel_keywords": ["stop", ""]}, "cancel_keywords[1]"),
        ({"cancel_keywords": ["   "]}, "cancel_keywords[0]"),
        ({"cancel_keywords": [7]}, "cancel_keywords[0]"),
        ({"cancel_keywords": "stop"}, "cancel_keywords"),
        ({"arm": ""}, "arm"),
        ({"arm": 4}, "arm"),
        ({"unknown": 4}, "unknown"),
    ],
)
def test_parse_names_the_path_when_a_field_is_faulty(followup, path):
    """Case 26."""
    parsed = parse("store-support", {"followup": followup})
    assert parsed.policy is None
    assert [fault.path for fault in parsed.faults] == [f"agents.store-support.followup.{path}"]


def test_parse_yields_every_fault_and_keeps_the_keywords_when_many_are_faulty():
    """Case 26."""
    table = {"max_frequency": "2/3w", "silence_after_sends": 0, "cancel_keywords": ["stop", " "]}
    parsed = parse("a", {"followup": table})
    assert [fault.path.rpartition(".")[2] for fault in parsed.faults] == [
        "cancel_keywords[1]",
        "max_frequency",
        "silence_after_sends",
    ]
    assert [fault.value for fault in parsed.faults] == [" ", "2/3w", 0]
    assert holds("please stop", parsed.keywords)


@pytest.mark.parametrize("table", [None, 3, "x", [], {"followup": 3}, {"followup": [1]}, {"other": {}}])
def test_parse_never_raises_when_the_table_is_no_policy(table):
    assert parse("a", table).policy is None


def test_parse_gives_the_defaults_when_nothing_is_declared():
    policy = parse("a", {}).policy
    assert (policy.arm, policy.ceiling, policy.quiet_hours) == ("schedule", None, None)
    assert policy.silence_after_sends == 3


@pytest.mark.parametrize(
    ("value", "fires", "seconds"),
    [
        *(("2/24h", 2, 86_400), ("2/24hs", 2, 86_400), ("1/30m", 1, 1_800), ("9/7d", 9, 604_800)),
        *(("1/1d", 1, 86_400), ("100/1ms", 100, 60)),
    ],
)
def test_parse_reads_the_window_as_what_stands_after_the_slash(value, fires, seconds):
    """Case 27."""
    ceiling = parse("a", {"followup": {"max_frequency": value}}).policy.ceiling
    assert (ceiling.fires, ceiling.window) == (fires, timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("word", "message", "expected"),
    [
        ("não quero mais contato", "NÃO quero  mais contato.", True),
        ("não quero mais contato", "nao quero\nmais\tcontato", True),
        ("não quero mais contato", "na\u0303o quero mais contato", True),
        ("não quero mais contato", "Olá! Eu não quero mais contato, obrigado", True),
        ("não quero mais contato", "quero mais contato", False),
        ("não quero mais contato", "não quero mais contatos", False),
        ("não quero mais contato", "não quero muito mais contato", False),
        ("não quero mais contato", "não quero mais", False),
        ("stop", "please STOP!", True),
        ("stop", "nonstop flights", False),
        ("stop", "stopped", False),
        ("stop", "s t o p", False),
        ("stop", "", False),
        ("stop", "(stop)", True),
        ("STRASSE", "die straße", True),
        ("straße", "DIE STRASSE", True),
        ("ΤΕΛΟΣ", "τελος", True),
        ("İstop", "istop", True),
        ("停止", "停止", True),
        ("🛑", "ok 🛑", True),
        ("🛑", "ok", False),
        ("stop it", "stop. It!", True),
        ("stop\u00a0it", "stop it", True),
    ],
)
def test_holds_finds_whole_words_in_sequence_whatever_their_case_and_accents(word, message, expected):
    """Case 28."""
    assert holds(message, (keyword(word),)) == expected


GATES = [
    ({"policy": None}, Block.POLICY_INVALID),
    ({"contact_state": None}, Block.CONSENT),
    ({"contact_state": "revoked"}, Block.REVOKED),
    ({"contact_state": "unavailable"}, Block.UNAVAILABLE),
    ({"quiet": True}, "deferred"),
    ({"oldest_of_pair": False}, Block.DEDUP),
    ({"fires": 2}, Block.FREQUENCY),
    ({"holdout": True}, Block.HOLDOUT),
    ({}, "fired"),
]


@pytest.mark.parametrize("first", range(len(GATES)))
def test_judge_goes_by_the_first_gate_when_all_after_it_apply_too(first, now):
    given = {}
    for fault, _outcome in reversed(GATES[first:]):
        given.update(fault)
    table = {"max_frequency": "2/24h"}
    if given.pop("quiet", False):
        table["quiet_hours"] = {"timezone": "UTC", "start": "11:00", "end": "13:00"}
    policy = given.pop("policy", parse("a", {"followup": table}).policy)
    fires = [now] * given.pop("fires", 0)
    verdict = judge(Case(policy, given.pop("contact_state", "granted"), fires=fires, **given), now)
    expected = GATES[first][1]
    outcome = verdict.block or ("deferred" if verdict.defer_until else "fired")
    assert outcome == expected
