"""How times, states and reasons read: short, calm, specific."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from babel.dates import get_day_names, get_month_names
from babel.numbers import format_decimal
from markupsafe import Markup

from desk_ui.paging import MOST_COUNTED
from desk_ui.translating import gettext as _
from desk_ui.translating import lazy_gettext as _l
from models.actors import ActorType
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
    "run_executions": _l("Rules"),
    "process_inbound": _l("Events from outside"),
    "deliver": _l("Delivery"),
    "reconcile_chatwoot": _l("Reading of Chatwoot"),
    "run_bulk": _l("Bulk work"),
    "seal_audit": _l("Sealing of the audit"),
    "retention": _l("Retention"),
}
AUDITED = {
    "followup.scheduled": _l("Booked"),
    "followup.imported": _l("Imported"),
    "followup.rearmed": _l("Booked again"),
    "followup.rescheduled": _l("Rescheduled"),
    "followup.cancelled": _l("Cancelled"),
    "followup.fired": _l("Fired"),
    "followup.blocked": _l("Blocked"),
    "followup.taken_on": _l("Taken on"),
    "followup.let_go": _l("Let go"),
    "followup.lapsed": _l("Removed as long past"),
    "contact.granted": _l("May be contacted"),
    "contact.revoked": _l("Opted out"),
    "contact.unavailable": _l("No longer answering"),
    "customer.erased": _l("Customer erased"),
    "agent.held": _l("Agent put on hold"),
    "agent.released": _l("Agent released"),
    "tenant.added": _l("Tenant added"),
    "tenant.changed": _l("Tenant changed"),
    "tenant.feature_on": _l("Switched on"),
    "tenant.feature_off": _l("Switched off"),
    "tenant.erased": _l("Tenant erased"),
    "operator.added": _l("Operator added"),
    "operator.role_changed": _l("Role changed"),
    "operator.role_revoked": _l("Role taken away"),
    "operator.link_made": _l("Sign-in link made"),
    "operator.signed_in": _l("Signed in"),
    "operator.password_set": _l("Password set"),
    "operator.link_used": _l("Sign-in link used"),
    "operator.factor_on": _l("Second factor on"),
    "operator.factor_off": _l("Second factor off"),
    "operator.factor_reset": _l("Second factor reset"),
    "operator.recovery_codes_made": _l("Recovery codes made"),
    "operator.signed_out_everywhere": _l("Signed out everywhere"),
    "operator.timezone_set": _l("Time zone set"),
    "operator.refresh_set": _l("Refresh of lists set"),
    "operator.switched_on": _l("Account switched on"),
    "operator.switched_off": _l("Account switched off"),
    "token.added": _l("API token added"),
    "token.revoked": _l("API token revoked"),
    "connector.set": _l("Connector set"),
    "connector.removed": _l("Connector removed"),
    "endpoint.added": _l("Endpoint added"),
    "endpoint.updated": _l("Endpoint changed"),
    "endpoint.paused": _l("Endpoint paused"),
    "endpoint.resumed": _l("Endpoint resumed"),
    "endpoint.secret_rotated": _l("Secret rotated"),
    "endpoint.tested": _l("Test event sent"),
    "endpoint.removed": _l("Endpoint removed"),
    "delivery.taken_on": _l("Delivery taken on"),
    "delivery.let_go": _l("Delivery let go"),
    "rule.created": _l("Rule made"),
    "rule.changed": _l("Rule changed"),
    "rule.switched_on": _l("Rule switched on"),
    "rule.switched_off": _l("Rule switched off"),
    "rule.deleted": _l("Rule deleted"),
    "sweep.paused": _l("Sweep paused"),
    "sweep.resumed": _l("Sweep resumed"),
    "sweep.run_by_hand": _l("Sweep run by hand"),
    "bulk.started": _l("Bulk work begun"),
    "bulk.stopped": _l("Bulk work stopped"),
    "bulk.finished": _l("Bulk work ended"),
    "audit.purged": _l("Old events purged"),
}
ACTIONS = {
    **AUDITED,
    # What `contact.granted` is on the page of the follow-up whose booking made the contact.
    "contact.consented": _l("Consent recorded"),
    "task.dispatched": _l("Task taken"),
    "task.done": _l("Task done"),
    "task.failed": _l("Task failed"),
    "task.cancelled": _l("Task cancelled"),
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
    "followup.scheduled": _l("a follow-up was booked"),
    "followup.cancelled": _l("a follow-up was cancelled"),
    "followup.blocked": _l("a follow-up was blocked"),
    "followup.fired": _l("a follow-up fired"),
    "task.created": _l("an agent got a task"),
    "endpoint.test": _l("a test of an endpoint"),
}
REFUSED_ACTIONS = {
    "followup.cancelled": _l("Cancel refused"),
    "followup.rescheduled": _l("Reschedule refused"),
    "followup.rearmed": _l("Re-arm refused"),
    # A cancel that is taken back is a booking; only its refusal has a name of its own.
    "followup.restored": _l("Undo refused"),
    "followup.taken_on": _l("Taking on refused"),
    "followup.let_go": _l("Letting go refused"),
    "delivery.taken_on": _l("Taking on of a delivery refused"),
    "delivery.let_go": _l("Letting go of a delivery refused"),
    "delivery.rearmed": _l("Re-arm of a delivery refused"),
    "delivery.sent_now": _l("Sending ahead of time refused"),
    "operator.signed_in": _l("Sign-in refused"),
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
    if kind == ActorType.SYSTEM:
        return _("the sweep “%(name)s”", name=SWEEPS[label]) if label in SWEEPS else label
    return _("%(name)s over the API", name=label) if kind == ActorType.API else label


def purpose(code: str | None, action: str = "", refused: bool = False) -> str:
    """A stored reason in words, or as it is stored; of a contact the same codes say how it came about."""
    known: Mapping[str, Any] = PURPOSES
    if action.startswith("contact."):
        known = {**PURPOSES, **CONTACT_PURPOSES}
    elif action == "operator.signed_in":
        known = {**PURPOSES, **(REFUSED_SIGN_IN_PURPOSES if refused else SIGN_IN_PURPOSES)}
    return str(known.get(code, code)) if code else ""
