"""Sweeps in words: what each does, what a run came to, and what waits while one is paused."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from flask_babel import lazy_gettext as _l
from flask_babel import ngettext

from desk_ui import words
from desk_ui.marks import Mark
from desk_ui.sweeps.lines import Line, Run
from desk_ui.translating import gettext as _
from models.needs import MOST
from models.sweeps import RunStatus

DOES = {
    "fire_followups": _l(
        "Takes follow-ups that are due: each fires, is put off, or is blocked for a reason."
    ),
    "run_executions": _l("Takes rules that are due: each runs, or is skipped for a reason."),
    "process_inbound": _l("Applies what came in from Chatwoot, and lets the rules hear of it."),
    "reconcile_chatwoot": _l("Reads again the conversations in which a rule runs soon, should news be lost."),
    "deliver": _l("Sends what happened to the endpoints that asked for it, and tries again what failed."),
    "run_bulk": _l("Goes on with bulk work that was broken off: each row is done once, whoever does it."),
    "seal_audit": _l("Seals the audit's newest events, so that no change of them goes unseen."),
    "retention": _l("Removes what is kept no longer than the retention rules say."),
}
WAITS = {
    "run_executions": _l("No delayed rule runs; what came due meanwhile is judged when it is resumed."),
    "process_inbound": _l("What comes in is stored and waits; no rule hears of it until it is resumed."),
    "reconcile_chatwoot": _l("Rules run on what the webhooks told; news that was lost stays unknown."),
    "run_bulk": _l("Bulk work goes on by itself; what is broken off waits until it is resumed."),
    "seal_audit": _l("Events are written as ever; the newest stay unsealed until it is resumed."),
    "retention": _l("Nothing is removed until it is resumed, even what is past its time."),
}
STATUSES = {
    RunStatus.OK: _l("Done"),
    RunStatus.ERROR: _l("Failed"),
    RunStatus.SKIPPED: _l("Skipped"),
    RunStatus.RUNNING: _l("Running"),
}
COUNTS = {
    "fired": _l("fired"),
    "blocked": _l("blocked"),
    "deferred": _l("put off"),
    "executed": _l("executed"),
    "skipped": _l("skipped"),
    "waiting": _l("put off"),
    "rearmed": _l("waiting anew"),
    "enqueued": _l("handed to workers"),
    "abandoned": _l("left by their worker"),
    "freed": _l("of changed rules removed"),
    "applied": _l("events applied"),
    "armed": _l("rules to run at once"),
    "read": _l("conversations read"),
    "gone": _l("conversations gone"),
    "published": _l("events published"),
    "delivered": _l("delivered"),
    "failed": _l("failed, to be tried again"),
    "dead": _l("given up"),
    "ranges": _l("ranges"),
    "sealed": _l("events sealed"),
    "purged": _l("follow-ups removed"),
    "lapsed": _l("lapsed"),
    "tasks": _l("tasks removed"),
    "outcomes": _l("outcomes removed"),
    "messages": _l("messages removed"),
    "conversations": _l("conversations removed"),
    "deliveries": _l("deliveries removed"),
    "events": _l("outbox events removed"),
    "runs": _l("old runs removed"),
    "slots": _l("old slots removed"),
    "idempotency_keys": _l("kept answers removed"),
    "sign_in_links": _l("spent links removed"),
    "inbound_events": _l("events from outside removed"),
    "audit_events": _l("audit events removed"),
}
ONE = {
    "applied": _l("event applied"),
    "armed": _l("rule to run at once"),
    "read": _l("conversation read"),
    "gone": _l("conversation gone"),
    "published": _l("event published"),
    "ranges": _l("range"),
    "sealed": _l("event sealed"),
    "purged": _l("follow-up removed"),
    "tasks": _l("task removed"),
    "outcomes": _l("outcome removed"),
    "messages": _l("message removed"),
    "conversations": _l("conversation removed"),
    "deliveries": _l("delivery removed"),
    "events": _l("outbox event removed"),
    "runs": _l("old run removed"),
    "slots": _l("old slot removed"),
    "idempotency_keys": _l("kept answer removed"),
    "sign_in_links": _l("spent link removed"),
    "inbound_events": _l("event from outside removed"),
    "audit_events": _l("audit event removed"),
}
GENERAL = {"examined", "changed", "errors", "capped"}


def does(line: Line) -> str:
    """What the sweep is for, in one sentence."""
    return str(DOES.get(line.key, ""))


def every(length: timedelta) -> str:
    """`every 30 s`."""
    return _("every %(span)s", span=words.span(length))


def mark_of_run(status: str) -> Mark:
    shape, tone = {
        RunStatus.OK: ("disc", "good"),
        RunStatus.ERROR: ("triangle", "bad"),
        RunStatus.SKIPPED: ("cross", "idle"),
        RunStatus.RUNNING: ("half", "good"),
    }[RunStatus(status)]
    return Mark(shape, tone, str(STATUSES[RunStatus(status)]))


def took(run: Run) -> str:
    """How long a run lasted: `0.2 s`, `4 min`; nothing while it goes on."""
    if run.finished_at is None:
        return ""
    length = max(run.finished_at - run.started_at, timedelta())
    if length < timedelta(seconds=10):
        return _("%(n)s s", n=f"{length.total_seconds():.1f}")
    return words.span(length)


def counts(given: Mapping[str, Any]) -> str:
    """What a run did: `12 fired, 3 blocked, 1 row failed`, or that there was nothing to do."""
    own = [(name, value) for name, value in given.items() if name not in GENERAL and value]
    found = [f"{words.number(value)} {_counted(name, value)}" for name, value in own]
    if not own and given.get("changed"):
        found.append(ngettext("%(num)s row changed", "%(num)s rows changed", given["changed"]))
    if given.get("errors"):
        found.append(ngettext("%(num)s row failed", "%(num)s rows failed", given["errors"]))
    return ", ".join(found) or _("nothing to do")


def _counted(name: str, value: int) -> str:
    many = COUNTS.get(name, name)
    return str(ONE.get(name, many) if value == 1 else many)


def why_skipped(run: Run) -> str:
    """Why a run was skipped, which names a person or a process, not a row; empty for any other."""
    return run.error or "" if run.status == RunStatus.SKIPPED else ""


def standing(line: Line, now: datetime) -> str:
    """What the state means, in a sentence or two."""
    if line.paused:
        because = _("“%(reason)s”.", reason=line.paused.reason) if line.paused.reason else ""
        return f"{_('%(who)s paused it.', who=line.paused.by)} {because}".strip()
    if line.late_since is not None:
        return _("No good run for three intervals. Whoever runs the desk must look at its workers.")
    if line.failed:
        return _("It is tried again by itself.")
    return ""


def number(count: int) -> str:
    """A count as far as it was counted: `12`, `1,000+`."""
    return f"{words.number(MOST)}+" if count > MOST else words.number(count)
