"""An agent's follow-up policy as a pure value, and the gates that judge one record."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from models import text
from models.clock import UNITS, zones
from models.declarations import Declared, Fault
from models.errors import Invalid
from models.followups.keywords import Keyword, keyword
from models.followups.records import Block, ContactState

DEFAULT_ARM = "schedule"
DEFAULT_SILENCE = 3
LONGEST_KEYWORD = 200
FIELDS = {"arm", "max_frequency", "cancel_keywords", "silence_after_sends", "quiet_hours"}
QUIET_FIELDS = {"timezone", "start", "end"}

_FREQUENCY = re.compile(r"([0-9]{1,6})/([0-9]{1,6})([mhd])s?")
_CLOCK_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From `start`, included, to `end`, excluded, on the clocks of `zone`; overnight where end < start."""

    zone: str
    start: time
    end: time

    def end_of(self, at: datetime) -> datetime | None:
        """When the quiet hours that hold at `at` end, in UTC; None outside them."""
        local = at.astimezone(ZoneInfo(self.zone))
        clock = local.time()
        if self.start < self.end:
            quiet = self.start <= clock < self.end
        else:
            quiet = clock >= self.start or clock < self.end
        if not quiet:
            return None
        day = local.date() + timedelta(days=1 if clock >= self.end else 0)
        ends = (
            datetime.combine(day, self.end, ZoneInfo(self.zone)).replace(fold=fold).astimezone(UTC)
            for fold in (0, 1)
        )
        # Where the clocks go back, the first of two like clock times may be over already.
        return next((end for end in ends if end > at), at + timedelta(minutes=1))


@dataclass(frozen=True, slots=True)
class Ceiling:
    """At most `fires` per customer in any `window`."""

    fires: int
    window: timedelta


@dataclass(frozen=True, slots=True)
class Policy:
    arm: str = DEFAULT_ARM
    ceiling: Ceiling | None = None
    quiet_hours: QuietHours | None = None
    silence_after_sends: int = DEFAULT_SILENCE


@dataclass(frozen=True, slots=True)
class Parsed:
    """`policy` is None where there are faults; the keywords stay in force even then."""

    policy: Policy | None
    keywords: tuple[Keyword, ...]
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What firing would do with a record now: `block`, or `defer_until`, or fire where both are None."""

    block: Block | None = None
    defer_until: datetime | None = None

    @property
    def fires(self) -> bool:
        return self.block is None and self.defer_until is None


@dataclass(frozen=True, slots=True)
class Case:
    """All that the gates judge a record by. `fires` are the customer's, whatever agent made them."""

    policy: Policy | None
    contact_state: str | None
    oldest_of_pair: bool = True
    fires: Sequence[datetime] = field(default=())
    holdout: bool = False


def judge(case: Case, now: datetime) -> Verdict:
    """The first gate that applies decides. The sweep and "what the gates would say" both call this."""
    policy = case.policy
    if policy is None:
        return Verdict(Block.POLICY_INVALID)
    if case.contact_state is None:
        return Verdict(Block.CONSENT)
    if case.contact_state == ContactState.REVOKED:
        return Verdict(Block.REVOKED)
    if case.contact_state == ContactState.UNAVAILABLE:
        return Verdict(Block.UNAVAILABLE)
    quiet_until = policy.quiet_hours.end_of(now) if policy.quiet_hours else None
    if quiet_until is not None:
        return Verdict(defer_until=quiet_until)
    if not case.oldest_of_pair:
        return Verdict(Block.DEDUP)
    if policy.ceiling is not None and used(policy.ceiling, case.fires, now) >= policy.ceiling.fires:
        return Verdict(Block.FREQUENCY)
    if case.holdout:
        return Verdict(Block.HOLDOUT)
    return Verdict()


def used(ceiling: Ceiling, fires: Sequence[datetime], now: datetime) -> int:
    """How many of `fires` count at `now`."""
    since = now - ceiling.window
    return sum(1 for fired_at in fires if fired_at >= since)


def policy_of(declared: Declared, agent: str) -> Parsed:
    """The policy of `agent` as declared: no policy and no faults for an agent that is not declared."""
    return policies(declared).get(agent, Parsed(None, (), ()))


def policies(declared: Declared) -> Mapping[str, Parsed]:
    """Every declared agent's policy, parsed once for each version of the declarations."""
    cached = _by_version.get(declared.version)
    if cached is None or cached[0] is not declared:
        cached = (declared, {key: parse(key, table) for key, table in declared.table("agents").items()})
        _by_version.clear()
        _by_version[declared.version] = cached
    return cached[1]


_by_version: dict[int, tuple[Declared, Mapping[str, Parsed]]] = {}


def longest_window(declared: Declared) -> timedelta:
    """The longest window of any agent's frequency ceiling: how far back fires still count."""
    ceilings = (parsed.policy.ceiling for parsed in policies(declared).values() if parsed.policy)
    return max((ceiling.window for ceiling in ceilings if ceiling), default=timedelta(0))


def parse(agent: str, table: Any) -> Parsed:
    """Parse `[agents.<agent>]`; each fault with its path in the file and the value."""
    path = f"agents.{agent}"
    try:
        text.required(agent, "key")
    except Invalid as fault:
        return Parsed(None, (), (Fault(f"agents.{agent[:40]}", "…", fault.detail.removeprefix("key ")),))
    if not isinstance(table, Mapping):
        return Parsed(None, (), (Fault(path, table, "must be a table"),))
    faults = [
        Fault(f"{path}.{name}", table[name], "is not a known field") for name in table if name != "followup"
    ]
    section = table.get("followup", {})
    path = f"{path}.followup"
    if not isinstance(section, Mapping):
        return Parsed(None, (), (*faults, Fault(path, section, "must be a table")))
    faults += [Fault(f"{path}.{n}", section[n], "is not a known field") for n in section if n not in FIELDS]
    keywords = _keywords(section, path, faults)
    policy = Policy(
        arm=_arm(section, path, faults),
        ceiling=_ceiling(section, path, faults),
        quiet_hours=_quiet_hours(section, path, faults),
        silence_after_sends=_silence(section, path, faults),
    )
    return Parsed(None if faults else policy, keywords, tuple(faults))


def _arm(section: Mapping[str, Any], path: str, faults: list[Fault]) -> str:
    arm = section.get("arm", DEFAULT_ARM)
    if isinstance(arm, str) and arm.strip() and len(arm) <= 200 and "\x00" not in arm:
        return arm
    faults.append(Fault(f"{path}.arm", arm, "must be a label of 1 to 200 characters"))
    return DEFAULT_ARM


def _ceiling(section: Mapping[str, Any], path: str, faults: list[Fault]) -> Ceiling | None:
    value = section.get("max_frequency")
    if value is None:
        return None
    match = _FREQUENCY.fullmatch(value) if isinstance(value, str) and value.isascii() else None
    if match is None or int(match[1]) == 0 or int(match[2]) == 0:
        faults.append(Fault(f"{path}.max_frequency", value, 'must be such as "2/24h", in m, h or d, from 1'))
        return None
    window = timedelta(seconds=int(match[2]) * UNITS[match[3]])
    if window > timedelta(days=3_660):
        faults.append(Fault(f"{path}.max_frequency", value, "has a window longer than ten years"))
        return None
    return Ceiling(int(match[1]), window)


def _silence(section: Mapping[str, Any], path: str, faults: list[Fault]) -> int:
    value = section.get("silence_after_sends", DEFAULT_SILENCE)
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 1_000_000:
        return value
    faults.append(Fault(f"{path}.silence_after_sends", value, "must be a whole number above 0"))
    return DEFAULT_SILENCE


def _keywords(section: Mapping[str, Any], path: str, faults: list[Fault]) -> tuple[Keyword, ...]:
    values = section.get("cancel_keywords", [])
    if not isinstance(values, list):
        faults.append(Fault(f"{path}.cancel_keywords", values, "must be a list of texts"))
        return ()
    found = []
    for index, value in enumerate(values):
        folded = keyword(value) if isinstance(value, str) and len(value) <= LONGEST_KEYWORD else None
        if folded:
            found.append(folded)
        else:
            fault = f"must be a text of 1 to {LONGEST_KEYWORD} characters that are not blank"
            faults.append(Fault(f"{path}.cancel_keywords[{index}]", value, fault))
    return tuple(found)


def _quiet_hours(section: Mapping[str, Any], path: str, faults: list[Fault]) -> QuietHours | None:
    table, path = section.get("quiet_hours"), f"{path}.quiet_hours"
    if table is None:
        return None
    if not isinstance(table, Mapping):
        faults.append(Fault(path, table, "must be a table with timezone, start and end"))
        return None
    faults += [Fault(f"{path}.{n}", table[n], "is not a known field") for n in table if n not in QUIET_FIELDS]
    zone = table.get("timezone")
    if not isinstance(zone, str) or zone not in zones():
        faults.append(Fault(f"{path}.timezone", zone, "is not a known IANA time zone"))
        zone = "UTC"
    start = _clock_time(table, "start", path, faults)
    end = _clock_time(table, "end", path, faults)
    if start is None or end is None:
        return None
    if start == end:
        faults.append(Fault(f"{path}.end", table["end"], "must differ from start"))
        return None
    return QuietHours(zone, start, end)


def _clock_time(table: Mapping[str, Any], name: str, path: str, faults: list[Fault]) -> time | None:
    value = table.get(name)
    match = _CLOCK_TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        faults.append(Fault(f"{path}.{name}", value, "must be HH:MM from 00:00 to 23:59"))
        return None
    return time(int(match[1]), int(match[2]))
