"""How times, states and reasons read: short, calm, specific."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from babel.dates import get_day_names, get_month_names
from babel.numbers import format_decimal
from markupsafe import Markup

from desk_ui.audit_words import ACTIONS as ACTIONS
from desk_ui.audit_words import AUDITED as AUDITED
from desk_ui.audit_words import REFUSED_ACTIONS as REFUSED_ACTIONS
from desk_ui.paging import MOST_COUNTED
from desk_ui.translating import gettext as _
from desk_ui.translating import lazy_gettext as _l
from models.actors import ActorType
from models.automations.records import Skip
from models.followups.records import Block, ContactState
from models.operators import Role

LOCALE = "en_GB"
DAY = timedelta(days=1)
EXACT_HOURS = 10
_NEXT_RUN = Markup('<time datetime="{}" title="{}" data-expected data-next-run data-ticks>{}</time>')
# A list shows a hundred times and more, and formatting by pattern takes most of a page's time.
_DAYS = dict(get_day_names("abbreviated", locale=LOCALE))
_MONTHS = dict(get_month_names("abbreviated", locale=LOCALE))

BLOCKS = {
    Block.POLICY_INVALID: _l("the policy can't be used"),
    Block.CONSENT: _l("no consent on record"),
    Block.REVOKED: _l("the customer opted out"),
    Block.UNAVAILABLE: _l("earlier messages had no reply"),
    Block.DEDUP: _l("an older one was due first"),
    Block.FREQUENCY: _l("message limit reached"),
    Block.HOLDOUT: _l("held out by the experiment"),
}
SKIPS = {
    Skip.EXPIRED: _l("its time was over for too long"),
    Skip.RULE_INACTIVE: _l("its rule is off or gone"),
    Skip.CONVERSATION_GONE: _l("the conversation is gone"),
    Skip.EPISODE_MOVED: _l("the conversation moved on"),
    Skip.CONDITIONS_CHANGED: _l("the conditions don't hold any more"),
    Skip.CANCELLED: _l("cancelled by an operator"),
    Skip.DROPPED: _l("dropped by an operator"),
}
CONTACTS = {
    ContactState.GRANTED: _l("May be contacted"),
    ContactState.REVOKED: _l("Opted out"),
    ContactState.UNAVAILABLE: _l("Not answering"),
}
ROLES = {
    Role.VIEWER: _l("viewer"),
    Role.MARKETER: _l("marketer"),
    Role.LEAD: _l("lead"),
    Role.ADMIN: _l("admin"),
}
SWEEPS = {
    "fire_followups": _l("Firing"),
    "run_executions": _l("Running of rules"),
    "process_inbound": _l("Intake"),
    "deliver": _l("Delivery"),
    "reconcile_chatwoot": _l("Reading of Chatwoot"),
    "run_bulk": _l("Bulk work"),
    "seal_audit": _l("Sealing of the audit"),
    "retention": _l("Retention"),
}
DELIVERIES = {
    "pending": _l("waiting to be sent"),
    "delivering": _l("being sent"),
    "delivered": _l("delivered"),
    "failed": _l("failed, will be tried again"),
    "dead": _l("given up"),
}
EVENTS = {
    "attention.needed": _l("something needs a person"),
    "contact.revoked": _l("a customer opted out"),
    "execution.executed": _l("an execution ended"),
    "execution.needs_review": _l("an execution needs a person"),
    "followup.scheduled": _l("a follow-up was booked"),
    "followup.cancelled": _l("a follow-up was cancelled"),
    "followup.blocked": _l("a follow-up was blocked"),
    "followup.fired": _l("a follow-up fired"),
    "task.created": _l("an agent got a task"),
    "endpoint.test": _l("a test of an endpoint"),
}
PURPOSES = {
    "conflict": _l("it had moved"),
    "role": _l("role does not allow it"),
    "taken": _l("another was on it"),
    "opted_out": _l("the customer opted out"),
    "cancel_all": _l("all of this customer's were cancelled"),
    "consent": _l("with the booking"),
    "undo": _l("its cancel was taken back"),
    **{block.value: words for block, words in BLOCKS.items()},
}

EXECUTION_PURPOSES = {
    "abandoned": _l("its worker said nothing for over 15 min"),
    "needs_review": _l("not all of its actions are known to be done"),
    "done": _l("all of its actions are done"),
    "due": _l("its time had come"),
    "resumed": _l("what was left of it"),
    "activity": _l("somebody did something in the conversation"),
    "rule_changed": _l("its rule was changed"),
    "newer_message": _l("a newer message came"),
    "status": _l("by the conversation's status"),
    "awaiting_agent": _l("by a message that waits for an answer"),
    "reply_chase": _l("by a message that the customer has not answered"),
    "inactivity": _l("by the conversation being quiet"),
    "event": _l("to run at once"),
    **{skip.value: words for skip, words in SKIPS.items()},
}
SIGN_IN_PURPOSES = {
    "password": _l("by password"),
    "link": _l("by a link"),
}
REFUSED_SIGN_IN_PURPOSES = {
    "password": _l("the password was wrong"),
    "second_factor": _l("the code was wrong"),
}
CONTACT_PURPOSES = {
    "consent": _l("with the booking"),
    "silence_after_sends": _l("earlier messages had no reply"),
    "message": _l("by a message of theirs"),
    "keyword": _l("by a message of theirs"),
    "operator": _l("by an operator"),
    "channel": _l("by the channel"),
    "api": _l("over the API"),
}


def span(length: timedelta) -> str:
    """A length of time: `12 s`, `4 min`, `1 h 55 min`, `24 h`, `2 d`; below ten hours with its minutes."""
    seconds = int(abs(length).total_seconds())
    if seconds < 60:
        return _("%(n)s s", n=seconds)
    if seconds < 3_600:
        return _("%(n)s min", n=seconds // 60)
    hours, minutes = seconds // 3_600, seconds // 60 % 60
    if minutes and hours < EXACT_HOURS:
        return _("%(hours)s h %(minutes)s min", hours=hours, minutes=minutes)
    if seconds < 2 * 86_400:
        return _("%(n)s h", n=hours)
    return _("%(n)s d", n=number(seconds // 86_400))


def relative(at: datetime, now: datetime, zone: str) -> str:
    """`in 12 min`, `4 min ago`; from a day on, the day and the time in `zone`."""
    return day_and_time(at, now, zone) if abs(at - now) >= DAY else distance(at, now)


def distance(at: datetime, now: datetime) -> str:
    """`in 12 min`, `4 min ago`, `6 d ago`; within a second `now` for what comes, and `just now`."""
    if int(abs(at - now).total_seconds()) == 0:
        return _("now") if at > now else _("just now")
    return _("in %(span)s", span=span(at - now)) if at > now else _("%(span)s ago", span=span(now - at))


def ticking(at: datetime, now: datetime, zone: str | None = None) -> Markup:
    """The same for a sentence on a page, where a script lets it go on; with a `zone` as `relative` has it."""
    said = relative(at, now, zone) if zone else distance(at, now)
    return Markup('<time datetime="%s" data-ticks>%s</time>') % (at.isoformat(), said)


def lasting(since: datetime, now: datetime) -> Markup:
    """`42 min`, for how long it has been so; a script lets it go on."""
    length = span(max(now - since, timedelta()))
    return Markup('<time datetime="%s" data-ticks data-lasts>%s</time>') % (since.isoformat(), length)


def ahead(at: datetime, now: datetime) -> str:
    """`in 12 s` for what is expected, and `now` from its moment on: whether it came is not known here."""
    return distance(at, now) if int((at - now).total_seconds()) > 0 else _("now")


def next_run(at: datetime, now: datetime, zone: str) -> Markup:
    """The same of the next run: a script lets it go on, and begin anew with the run after it."""
    return _NEXT_RUN.format(at.isoformat(), exact(at, zone), ahead(at, now))


def day_and_time(at: datetime, now: datetime, zone: str) -> str:
    """`tomorrow 10:00`, `Fri 15 Aug 10:00`, with the year where it is another one."""
    local, today = at.astimezone(ZoneInfo(zone)), now.astimezone(ZoneInfo(zone))
    days = (local.date() - today.date()).days
    if days == 1:
        return _("tomorrow %(clock)s", clock=clock(at, zone))
    if days == -1:
        return _("yesterday %(clock)s", clock=clock(at, zone))
    if local.year == today.year:
        return f"{_DAYS[local.weekday()]} {local.day} {_MONTHS[local.month]} {_hour(local)}"
    return f"{local.day} {_MONTHS[local.month]} {local.year} {_hour(local)}"


def exact(at: datetime, zone: str) -> str:
    """`Thu 14 Aug 2031, 12:00:00 UTC`: what stands behind every relative time."""
    local = at.astimezone(ZoneInfo(zone))
    name = local.tzname() or zone
    # Where a zone has no letters of its own, its name is a bare offset.
    named = name if name.isalpha() else f"UTC{name}"
    day = f"{_DAYS[local.weekday()]} {local.day} {_MONTHS[local.month]} {local.year}"
    return f"{day}, {_hour(local)}:{local.second:02} {named}"


def clock(at: datetime, zone: str) -> str:
    """`14:03`, in `zone`."""
    return _hour(at.astimezone(ZoneInfo(zone)))


def clock_with_seconds(at: datetime, zone: str) -> str:
    """`14:03:22`, in `zone`."""
    local = at.astimezone(ZoneInfo(zone))
    return f"{_hour(local)}:{local.second:02}"


def _hour(local: datetime) -> str:
    # By strftime it takes four times as long.
    return f"{local.hour:02}:{local.minute:02}"


def number(value: int) -> str:
    return format_decimal(value, locale=LOCALE)


def count(value: int | None) -> str:
    """A capped count: `3,412`, `10,000+`, or `many` where counting took too long."""
    if value is None:
        return _("many")
    return f"{number(MOST_COUNTED)}+" if value > MOST_COUNTED else number(value)


def block(code: str | None) -> str:
    """Why a follow-up was blocked, in words; a code that has none yet as it is stored."""
    return str(BLOCKS.get(code, code)) if code else ""  # type: ignore[call-overload]


def skip(code: str | None) -> str:
    """Why an execution was skipped, in words; a code that has none yet as it is stored."""
    return str(SKIPS.get(code, code)) if code else ""  # type: ignore[call-overload]


def action(name: str, refused: bool) -> str:
    """An audit action as a timeline tells it; one that has no words yet is shown as it is stored."""
    words = REFUSED_ACTIONS.get(name) if refused else ACTIONS.get(name)
    return str(words or (_("%(name)s refused", name=name) if refused else name))


def event(name: str) -> str:
    """A type of event in words, its code beside: `a follow-up fired (followup.fired)`."""
    return f"{EVENTS[name]} ({name})" if name in EVENTS else name


def event_alone(name: str) -> str:
    """A type of event as a sentence begins with it: `A follow-up fired`."""
    said = str(EVENTS.get(name, name))
    return said[:1].upper() + said[1:] if name in EVENTS else name


def actor(kind: str, label: str) -> str:
    """Who did it, as a timeline tells it."""
    if kind == ActorType.SYSTEM and label == "sign-in":
        return _("the sign-in page")
    if kind == ActorType.SYSTEM and label == "arming":
        return _("its rule")
    if kind == ActorType.SYSTEM:
        return _("the sweep “%(name)s”", name=SWEEPS[label]) if label in SWEEPS else label
    return _("%(name)s over the API", name=label) if kind == ActorType.API else label


def purpose(code: str | None, action: str = "", refused: bool = False) -> str:
    """A stored reason in words, or as it is stored; of a contact the same codes say how it came about."""
    known: Mapping[str, Any] = PURPOSES
    if action.startswith("execution."):
        known = {**PURPOSES, **EXECUTION_PURPOSES}
    elif action.startswith("contact."):
        known = {**PURPOSES, **CONTACT_PURPOSES}
    elif action == "operator.signed_in":
        known = {**PURPOSES, **(REFUSED_SIGN_IN_PURPOSES if refused else SIGN_IN_PURPOSES)}
    return str(known.get(code, code)) if code else ""
