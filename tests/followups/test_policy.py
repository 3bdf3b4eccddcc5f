from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from models.declarations import Declared
from models.followups.keywords import holds, keyword
from models.followups.policy import (
    Case,
    Ceiling,
    QuietHours,
    judge,
    longest_window,
    parse,
    policies,
    policy_of,
)
from models.followups.records import Block

SAO_PAULO = "America/Sao_Paulo"
HOUR = timedelta(hours=1)
MICROSECOND = timedelta(microseconds=1)
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


def test_quiet_hours_end_at_the_first_of_two_like_times_when_an_hour_repeats():
    """02:30 comes twice on 2031-10-26 in Berlin; within the second hour only the second is left."""
    night = quiet({"timezone": "Europe/Berlin", "start": "22:00", "end": "02:30"})
    first = datetime(2031, 10, 26, 0, 30, tzinfo=UTC)
    assert night.end_of(first - 2 * HOUR) == night.end_of(first - timedelta(microseconds=1)) == first
    assert night.end_of(first) is None
    assert night.end_of(first + HOUR / 2) == first + HOUR
    assert night.end_of(first - HOUR).tzinfo is UTC


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
        ({"quiet_hours": {**NIGHT, "start": 21}}, "quiet_hours.start"),
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


FAULTS = [
    ({"arm": ""}, "", "must be a label of 1 to 200 characters"),
    ({"arm": "x" * 201}, "x" * 201, "must be a label of 1 to 200 characters"),
    ({"arm": "a\x00b"}, "a\x00b", "must be a label of 1 to 200 characters"),
    ({"max_frequency": "2/3w"}, "2/3w", 'must be such as "2/24h", in m, h or d, from 1'),
    ({"max_frequency": "1/3661d"}, "1/3661d", "has a window longer than ten years"),
    ({"silence_after_sends": 0}, 0, "must be a whole number above 0"),
    ({"cancel_keywords": "stop"}, "stop", "must be a list of texts"),
    ({"cancel_keywords": [" "]}, " ", "must be a text of 1 to 200 characters that are not blank"),
    ({"quiet_hours": "night"}, "night", "must be a table with timezone, start and end"),
    ({"quiet_hours": {**NIGHT, "extra": 1}}, 1, "is not a known field"),
    ({"quiet_hours": {**NIGHT, "timezone": "Mars"}}, "Mars", "is not a known IANA time zone"),
    ({"quiet_hours": {**NIGHT, "start": "9:00"}}, "9:00", "must be HH:MM from 00:00 to 23:59"),
    ({"quiet_hours": {**NIGHT, "end": "21:30"}}, "21:30", "must differ from start"),
    ({"unknown": 4}, 4, "is not a known field"),
]


@pytest.mark.parametrize(("followup", "value", "words"), FAULTS)
def test_parse_says_what_is_wrong_when_a_field_is_faulty(followup, value, words):
    """Case 26."""
    [fault] = parse("a", {"followup": followup}).faults
    assert (fault.value, fault.fault) == (value, words)


@pytest.mark.parametrize(
    ("agent", "table", "path", "value", "words"),
    [
        ("a", 3, "agents.a", 3, "must be a table"),
        ("a", {"followup": [1]}, "agents.a.followup", [1], "must be a table"),
        ("a", {"other": 1}, "agents.a.other", 1, "is not a known field"),
        ("x" * 201, {}, f"agents.{'x' * 40}", "…", "has 201 characters; 200 is the most."),
    ],
)
def test_parse_says_what_is_wrong_when_the_table_is_faulty(agent, table, path, value, words):
    parsed = parse(agent, table)
    assert (parsed.policy, parsed.keywords) == (None, ())
    [fault] = parsed.faults
    assert (fault.path, fault.value, fault.fault) == (path, value, words)


@pytest.mark.parametrize(
    ("followup", "field", "value"),
    [
        ({"arm": "x" * 200}, "arm", "x" * 200),
        ({"silence_after_sends": 1}, "silence_after_sends", 1),
        ({"silence_after_sends": 1_000_000}, "silence_after_sends", 1_000_000),
        ({"max_frequency": "1/3660d"}, "ceiling", Ceiling(1, timedelta(days=3_660))),
    ],
)
def test_parse_takes_the_value_when_it_is_the_last_that_is_allowed(followup, field, value):
    assert getattr(parse("a", {"followup": followup}).policy, field) == value


def test_parse_takes_the_keyword_when_it_is_the_longest_that_is_allowed():
    assert parse("a", {"followup": {"cancel_keywords": ["x" * 200, "🛑"]}}).keywords == (
        ("x" * 200,),
        ("🛑",),
    )


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


@pytest.mark.parametrize(
    ("ago", "outcome"),
    [(timedelta(0), Block.FREQUENCY), (24 * HOUR, Block.FREQUENCY), (24 * HOUR + MICROSECOND, None)],
)
def test_judge_counts_the_fires_when_they_are_not_older_than_the_window(now, ago, outcome):
    policy = parse("a", {"followup": {"max_frequency": "2/24h"}}).policy
    assert judge(Case(policy, "granted", fires=[now - ago] * 2), now).block == outcome
    assert judge(Case(policy, "granted", fires=[now]), now).fires


def test_verdict_does_not_fire_when_it_blocks_or_waits(now):
    table = {"quiet_hours": {"timezone": "UTC", "start": "11:00", "end": "13:00"}}
    waits = judge(Case(parse("a", {"followup": table}).policy, "granted"), now)
    assert (waits.fires, waits.block, waits.defer_until) == (False, None, now + HOUR)
    assert not judge(Case(None, "granted"), now).fires
    assert judge(Case(parse("a", {}).policy, "granted"), now).fires


def test_policies_are_parsed_anew_only_when_the_declarations_change():
    first = Declared(1, {"agents": {"a": {"followup": {"max_frequency": "1/2d"}}, "b": {}}})
    assert set(policies(first)) == {"a", "b"}
    assert policies(first) is policies(first)
    same_version = Declared(1, {"agents": {"c": {}}})
    assert set(policies(same_version)) == {"c"}
    later = Declared(2, {"agents": {"d": {}}})
    assert set(policies(later)) == {"d"}
    assert set(policies(first)) == {"a", "b"}


def test_policy_of_is_empty_when_the_agent_is_not_declared():
    parsed = policy_of(Declared(1, {"agents": {"a": {}}}), "b")
    assert (parsed.policy, parsed.keywords, parsed.faults) == (None, (), ())


def test_longest_window_is_that_of_the_agent_that_looks_back_farthest():
    frequencies = {"a": "1/2h", "b": "9/3d", "c": "1/1m", "d": "broken"}
    agents = {agent: {"followup": {"max_frequency": value}} for agent, value in frequencies.items()}
    assert longest_window(Declared(1, {"agents": {**agents, "e": {}}})) == timedelta(days=3)
    assert longest_window(Declared(2, {"agents": {"e": {}, "d": agents["d"]}})) == timedelta(0)
