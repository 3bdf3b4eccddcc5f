"""The reason for which an execution waits, in words: its episode, read from its key."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from desk_ui import words
from desk_ui.translating import gettext as _
from models.automations import episodes
from models.automations.episodes import Kind
from models.clock import EPOCH


def said(key: str, now: datetime, zone: str) -> str:
    """`waits since 10:00 for an answer`: what the episode `key` is a stretch of; an odd key as it is."""
    try:
        kind, stamp = episodes.kind_of(key), key.partition(":")[2]
        return _said(kind, stamp, now, zone)
    except (ValueError, OverflowError):
        return key


def _said(kind: Kind, stamp: str, now: datetime, zone: str) -> str:
    if kind is Kind.INACTIVITY:
        return _("nobody does anything in it")
    if kind is Kind.EVENT:
        return _("at once, by what happened in it")
    if kind is Kind.REPLY_CHASE:
        if int(stamp) == 0:
            return _("the customer has not written yet")
        return _("no reply after message %(n)s", n=int(stamp))
    if kind is Kind.AWAITING_AGENT and int(stamp) == 0:
        return _("waits for no answer")
    since = moment(EPOCH + timedelta(microseconds=int(stamp)), now, zone)
    if kind is Kind.AWAITING_AGENT:
        return _("waits since %(at)s for an answer", at=since)
    return _("in its status since %(at)s", at=since)


def now_said(key: str | None, now: datetime, zone: str) -> str:
    """The same of the episode that it is now, `key` being None where that is not known any more."""
    if key is None:
        return _("not known: the message that armed it is gone")
    return said(key, now, zone)


def to_the_second(at: datetime, now: datetime, zone: str) -> str:
    """`10:00:12` of today, else with its day and without the seconds."""
    local, today = at.astimezone(ZoneInfo(zone)), now.astimezone(ZoneInfo(zone))
    if local.date() == today.date():
        return words.clock_with_seconds(at, zone)
    return words.day_and_time(at, now, zone)


def moment(at: datetime, now: datetime, zone: str) -> str:
    """`10:00` of today, else with its day."""
    local, today = at.astimezone(ZoneInfo(zone)), now.astimezone(ZoneInfo(zone))
    return words.clock(at, zone) if local.date() == today.date() else words.day_and_time(at, now, zone)
