"""What matters next about a row of the list, in the fewest words."""

from desk_ui import words
from desk_ui.followups import next_run, refusals
from desk_ui.followups.asked import Task
from desk_ui.followups.queries import Row, Scene
from desk_ui.translating import gettext as _
from models.followups.records import Status, TaskStatus


def aside(row: Row, scene: Scene, task: Task | None = None) -> str:
    """`task` is given of a fired one whose task wants looking at."""
    if row.status == Status.BLOCKED:
        return words.block(row.blocked_reason)
    if row.status == Status.CANCELLED:
        opted_out = refusals.with_opt_out(row.cancelled_by)
        if opted_out:
            return _("opted out by %(who)s", who=opted_out)
        return _("by %(who)s", who=row.cancelled_by) if row.cancelled_by else ""
    if row.status == Status.FIRED:
        return _of_task(task, scene) if task is not None else _when_it_was_due(row, scene)
    return _waiting(row, scene)


def _of_task(task: Task, scene: Scene) -> str:
    """Since when its task has been so; how it stands is the mark of the row."""
    if task.status == TaskStatus.QUEUED:
        # It was made when the follow-up fired, which stands above.
        return _("no agent took it since then")
    at = words.day_and_time(task.updated_at, scene.now, scene.zone)
    return _("taken %(at)s", at=at) if task.status == TaskStatus.DISPATCHED else _("failed %(at)s", at=at)


def _when_it_was_due(row: Row, scene: Scene) -> str:
    """Empty where that is what stands above it already."""
    due, fired = (
        words.relative(at, scene.now, scene.zone) for at in (row.at, row.fired_at or row.updated_at)
    )
    return _("was due %(when)s", when=due) if due != fired else ""


def awaits_a_run(row: Row, scene: Scene) -> bool:
    """Whether nothing is said of it but the next run, of which it is known when it comes."""
    return next_run.is_taken(row, scene, held=row.held) and row.agent not in scene.quiet


def _waiting(row: Row, scene: Scene) -> str:
    zone = scene.zone
    due = row.due_at <= scene.now
    if scene.paused:
        return _("follow-ups are switched off")
    if row.held:
        return _("the agent is on hold")
    if row.next_attempt_at is not None and row.next_attempt_at > scene.now:
        return _(
            "tried %(n)s times, again at %(at)s", n=row.attempts, at=words.clock(row.next_attempt_at, zone)
        )
    if row.deferred_until is not None and row.deferred_until > scene.now:
        return _("quiet hours end at %(at)s", at=words.clock(row.deferred_until, zone))
    if due and scene.halted:
        return _("firing is paused")
    quiet_until = scene.quiet_until(row.agent, max(row.due_at, scene.now))
    if quiet_until is not None:
        at = words.clock(quiet_until, zone)
        return (
            _("quiet hours now, until %(at)s", at=at) if due else _("quiet hours then, until %(at)s", at=at)
        )
    if due:
        return _("no run took it yet") if row.overdue else _("the next run takes it")
    if row.zone and row.zone != zone:
        return _("%(at)s for the customer", at=words.clock(row.due_at, row.zone))
    return ""
