"""What would come of a follow-up at its own time, or as things stand, in words."""

from datetime import datetime

from flask_babel import gettext as _

from desk_ui import words
from desk_ui.followups.queries import Row, Scene
from models.followups.foresight import Foresight
from models.followups.policy import Verdict
from models.followups.records import Block, FollowUp

# What blocks whenever it is judged, until somebody puts it right.
LASTING = frozenset({Block.POLICY_INVALID, Block.CONSENT, Block.REVOKED, Block.UNAVAILABLE, Block.HOLDOUT})


def at_its_time(row: FollowUp, foresight: Foresight, scene: Scene) -> str:
    """What would come of it at its own time, where that is ahead and other than now; else empty."""
    block = foresight.verdict.block
    if row.due_at <= scene.now:
        return ""
    if block in LASTING:
        return _blocked(row, block, unless(block))
    until = scene.quiet_until(row.agent, row.due_at)
    moment = until or row.due_at
    if foresight.full_until(moment):
        return _blocked(row, Block.FREQUENCY, also_waiting(len(foresight.waiting_by(moment))))
    if until is not None:
        end = words.day_and_time(until, scene.now, scene.zone)
        return _("In quiet hours then: it waits until %(at)s.", at=end)
    if block == Block.FREQUENCY:
        return _("The message limit is reached now, but not at its time.")
    return ""


def _blocked(row: FollowUp, block: Block, more: str) -> str:
    why = words.block(block)
    if row.rearmed_from:
        told = _("At its time it would be blocked again: %(why)s", why=why)
    else:
        told = _("At its time it would be blocked: %(why)s", why=why)
    return f"{told}, {more}." if more else f"{told}."


def unless(block: Block | None) -> str:
    """What would have to happen before, so that `block` no longer stops it; empty where nothing is known."""
    return {
        Block.POLICY_INVALID: _("unless the policy in desk.toml is corrected before"),
        Block.CONSENT: _("unless consent is recorded before"),
        Block.REVOKED: _("unless the customer writes before"),
        Block.UNAVAILABLE: _("unless the customer writes before"),
    }.get(block, "")  # type: ignore[call-overload, no-any-return]


def also_waiting(number: int) -> str:
    """That others which are pending for the customer come first; empty where there are none."""
    if not number:
        return ""
    if number == 1:
        return _("another one waits for then")
    return _("%(n)s others wait for then", n=words.number(number))


def of_what_comes(row: FollowUp, foresight: Foresight, scene: Scene) -> str:
    """One thing of one that is pending: what would come of it at its time, or else now.

    Quiet hours that end before it is due have nothing to do with it.
    """
    verdict, then = foresight.verdict, at_its_time(row, foresight, scene)
    if then:
        return then
    if verdict.defer_until is not None and verdict.defer_until < row.due_at:
        return _("As things stand it would fire.")
    return as_things_stand(verdict, scene)


def as_things_stand(verdict: Verdict, scene: Scene) -> str:
    if verdict.block is not None:
        return _("As things stand it would be blocked: %(why)s.", why=words.block(verdict.block))
    if verdict.defer_until is not None:
        until = words.day_and_time(verdict.defer_until, scene.now, scene.zone)
        return _("As things stand it would wait for the end of quiet hours, %(until)s.", until=until)
    return _("As things stand it would fire.")


def in_an_hour(foresight: Foresight, scene: Scene) -> str:
    """What firing would do at the time that stands in the field of a re-arming at first."""
    verdict = foresight.verdict
    if verdict.block is not None:
        return _("In an hour it would be blocked: %(why)s.", why=words.block(verdict.block))
    if verdict.defer_until is not None:
        until = words.day_and_time(verdict.defer_until, scene.now, scene.zone)
        return _("In an hour it would wait for the end of quiet hours, %(until)s.", until=until)
    return _("As things stand it would fire in an hour.")


def blocked_again(row: Row, block: Block | None) -> str:
    """That one booked again would not fire either, unless something is done; else empty."""
    if block not in LASTING or not unless(block):
        return ""
    if row.blocked_reason == block:
        return _("It will be blocked again, %(unless)s.", unless=unless(block))
    return _("It will be blocked, %(unless)s.", unless=unless(block))


def earliest(free: datetime, waiting: int, scene: Scene) -> str:
    """From when on the message limit lets one through."""
    at = words.day_and_time(free, scene.now, scene.zone)
    if waiting:
        return _("Earliest: %(at)s, since %(waiting)s.", at=at, waiting=also_waiting(waiting))
    return _("Earliest: %(at)s.", at=at)
