"""An execution in words: its state, what it waits for, who acts on it next, and how far its run came."""

from collections.abc import Sequence
from datetime import datetime

from markupsafe import Markup

from desk_ui import words
from desk_ui.automations import episodes
from desk_ui.automations.executions_queries import Begun, Row, Scene
from desk_ui.marks import Mark
from desk_ui.translating import gettext as _
from models.automations import refusals
from models.automations.actions import CUSTOMER_FACING
from models.automations.ledger import reads_as
from models.automations.records import BY_OPERATOR, ActionState, Execution, Skip, Status

Shown = Row | Execution

# The order in which a tally names them, what is certain first.
TOLD = (ActionState.FAILED, ActionState.UNKNOWN, ActionState.STARTED, ActionState.WAITING)


def mark(row: Shown, now: datetime) -> Mark:
    """Its state by shape, colour and word."""
    if is_abandoned(row, now):
        return Mark("triangle", "bad", _("Abandoned"))
    if row.needs_review:
        return Mark("triangle", "bad", _("Needs review"))
    if row.status == Status.PROCESSING:
        if row.resumed and row.locked_at is None:
            return Mark("ring", "idle", _("Re-armed"))
        return Mark("square", "warn", _("Stale")) if is_stale(row, now) else Mark("half", "good", _("Taken"))
    if row.status == Status.SKIPPED:
        late = row.skip_reason == Skip.EXPIRED
        return Mark("square", "warn", _("Skipped")) if late else Mark("cross", "idle", _("Skipped"))
    return {
        Status.PENDING: Mark("ring", "idle", _("Waiting")),
        Status.EXECUTING: Mark("half", "good", _("Running")),
        Status.EXECUTED: Mark("disc", "good", _("Executed")),
    }[Status(row.status)]


def is_abandoned(row: Shown, now: datetime) -> bool:
    """Whether its worker is taken to be dead, after its first action may have begun."""
    return refusals.is_abandoned(row, now)  # type: ignore[arg-type]


def is_stale(row: Shown, now: datetime) -> bool:
    """Whether its worker is taken to be dead, before its first action."""
    return refusals.refusal_to_reclaim(row, now) is None  # type: ignore[arg-type]


def tally(actions: Sequence[Begun], *, abandoned: bool) -> str:
    """`2 of 3 actions done, 1 unknown`; empty where none began."""
    if not actions:
        return ""
    states = [reads_as(one, abandoned=abandoned) for one in actions]  # type: ignore[arg-type]
    done = states.count(ActionState.DONE)
    if len(states) == 1 and done:
        return _("its one action is done")
    if done == len(states):
        return _("all %(n)s actions done", n=done)
    first = (
        _("1 of 1 action %(state)s", state=state_word(states[0]))
        if len(states) == 1
        else _("%(n)s of %(all)s actions done", n=done, all=len(states))
    )
    if len(states) == 1:
        return first
    rest = [_("%(n)s %(state)s", n=n, state=state_word(one)) for one in TOLD if (n := states.count(one))]
    return ", ".join([first, *rest])


def state_word(state: ActionState) -> str:
    return {
        ActionState.WAITING: _("waiting"),
        ActionState.STARTED: _("begun"),
        ActionState.DONE: _("done"),
        ActionState.FAILED: _("failed"),
        ActionState.UNKNOWN: _("unknown"),
    }[state]


def why(row: Row, actions: Sequence[Begun], scene: Scene) -> str:
    """What matters most about it: how far it came, why it was skipped, or what it waits in."""
    if row.status == Status.SKIPPED:
        said = words.skip(row.skip_reason)
        far = tally(actions, abandoned=False) if row.skip_reason == Skip.DROPPED else ""
        return f"{said}; {far}" if far else said
    if row.resumed or (row.run and row.status in (Status.EXECUTING, Status.EXECUTED)):
        far = tally(actions, abandoned=is_abandoned(row, scene.now))
        if far:
            return far
    return episodes.said(row.episode_key, scene.now, scene.zone)


def is_taken(row: Shown, scene: Scene) -> bool:
    """Whether the next run, of which it is known when it comes, takes it."""
    if scene.next_run is None or scene.halted or (scene.paused and not row.at_once):
        return False
    if row.next_attempt_at is not None and row.next_attempt_at > scene.now:
        return False
    if row.status == Status.PROCESSING:
        return is_stale(row, scene.now)
    return row.status == Status.PENDING and _opens(row, scene) is None and row.due_at <= scene.now


def _opens(row: Shown, scene: Scene) -> datetime | None:
    """When the window opens that it waits for, if it does."""
    return row.not_before if row.not_before is not None and row.not_before > scene.now else None


def aside(row: Row, scene: Scene, actions: Sequence[Begun] = ()) -> Markup | str:
    """What is beside the time: what it waits for, or who acts next, or what may have gone out."""
    if row.status in (Status.PENDING, Status.PROCESSING):
        return _of_armed(row, scene)
    if row.status == Status.SKIPPED:
        by_person = row.skip_reason in BY_OPERATOR
        return _("by %(who)s", who=row.settled_by) if by_person and row.settled_by else ""
    abandoned = is_abandoned(row, scene.now)
    if row.status == Status.EXECUTING and not abandoned:
        return _("its actions are being done")
    if row.needs_review or abandoned:
        reached = any(may_have_reached(one, abandoned=abandoned) for one in actions)
        return _("the customer may have it") if reached else _("no machine goes on with it")
    return _("settled by %(who)s", who=row.settled_by) if row.settled_by else ""


def may_have_reached(action: Begun, *, abandoned: bool) -> bool:
    """Whether the customer may have what the action sends, and nobody knows it."""
    unknown = reads_as(action, abandoned=abandoned) is ActionState.UNKNOWN  # type: ignore[arg-type]
    return unknown and action.name in CUSTOMER_FACING


def _of_armed(row: Row, scene: Scene) -> Markup | str:
    if is_taken(row, scene):
        return _next_run(row, scene)
    if scene.paused and not row.at_once:
        return _("delayed automations are switched off")
    if row.next_attempt_at is not None and row.next_attempt_at > scene.now:
        at = words.clock(row.next_attempt_at, scene.zone)
        return _("failed %(n)s times, again at %(at)s", n=row.attempts, at=at)
    if row.status == Status.PROCESSING and not is_stale(row, scene.now):
        return _("a worker has it")
    opens = _opens(row, scene)
    if opens is not None:
        return _("waits for the window, opens %(at)s", at=episodes.moment(opens, scene.now, scene.zone))
    if row.status == Status.PENDING and row.due_at > scene.now:
        return ""
    return _("running is paused") if scene.halted else _("no run took it yet")


def _next_run(row: Row, scene: Scene) -> Markup:
    assert scene.next_run is not None
    said = _("the next run, {}, takes it")
    if row.status == Status.PROCESSING:
        said = _("the next run, {}, goes on") if row.resumed else _("the next run, {}, reclaims it")
    return Markup(said).format(words.next_run(scene.next_run, scene.now, scene.zone))


def acts_next(row: Shown, scene: Scene, *, runs: bool) -> Markup | str:
    """The same in a sentence: `The next run, in 12 s, will run this.`; `runs`: whether it would by now."""
    if not is_taken(row, scene) or scene.next_run is None:
        return ""
    if row.status == Status.PROCESSING:
        said = _("The next run, {}, reclaims this row by itself.")
        if row.resumed:
            said = _("The next run, {}, goes on with what is left.")
    else:
        said = _("The next run, {}, will run this.") if runs else _("The next run, {}, will judge this.")
    return Markup(said).format(words.next_run(scene.next_run, scene.now, scene.zone))
