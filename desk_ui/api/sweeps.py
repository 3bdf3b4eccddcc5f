"""Sweeps over HTTP: how each stands, and running one now."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from desk_ui.api import paging, rows
from desk_ui.api.fields import Paged, Shown, Time
from desk_ui.api.operations import Call, Reply, operation
from desk_ui.api.refusals import Refused
from jobs import schedule
from models import sweep_states
from models.errors import NotFound
from models.sweep_states import State
from models.sweeps import RunStatus, SweepFault, SweepPause, SweepRun


class RunShown(Shown):
    """One run. Its counts and its error tell of all tenants, so only the platform sees them."""

    started_at: Time
    finished_at: Time | None
    status: RunStatus
    capped: bool
    by_hand: bool
    counts: dict[str, Any] | None
    error: str | None


class PauseShown(Shown):
    reason: str | None
    by: str
    at: Time


class SweepShown(Shown):
    """How a sweep stands. `own_errors` counts the tenant's own rows that failed in the last run."""

    name: str
    every_seconds: int
    next_due_at: Time
    running: bool
    late_since: Time | None
    paused: PauseShown | None
    last_ok_at: Time | None
    last_run: RunShown | None
    own_errors: int


class SweepPage(Shown):
    items: list[SweepShown]
    next_cursor: str | None


class RunAsked(Shown):
    """A run that waits to be started; a scheduler enqueues it within a second."""

    name: str
    asked_at: Time


def _subject(_session: Session, _tenant_id: int, path: Mapping[str, Any]) -> str:
    if path["name"] not in schedule.SWEEPS:
        raise NotFound("sweep")
    return str(path["name"])


@operation("sweeps.list", "GET", "/sweeps", scope="read", query=Paged, answers={200: SweepPage})
def list_sweeps(call: Call) -> Reply:
    """List the sweeps by name: their last runs, when they are next due, and whether they are late."""
    states = sweep_states.states(call.session, schedule.cadences(call.declared), now=call.now)
    found, cursor = paging.by_key({one.name: one for one in states}, "sweeps", call.query)
    errors = _own_errors(call, found)
    return Reply(200, SweepPage(items=[_show(call, one, errors) for one in found], next_cursor=cursor))


@operation(
    "sweeps.run",
    "POST",
    "/sweeps/<name>/run",
    scope="operate",
    answers={202: RunAsked},
    point="api.sweeps.run",
    refused=Refused("sweep.run_by_hand", "sweep", _subject),
    only_platform=True,
    conflicts=True,
)
def run(call: Call, name: str) -> Reply:
    """Run a sweep now, for all tenants: needs a token of the tenant `platform`. A paused one is 409."""
    slot = sweep_states.run_by_hand(call.session, name, known=schedule.SWEEPS, actor=call.actor, now=call.now)
    return Reply(202, RunAsked(name=slot.name, asked_at=slot.slot_at))


def _show(call: Call, state: State, errors: dict[int, int]) -> SweepShown:
    run = state.last_run
    return SweepShown(
        name=state.name,
        every_seconds=int(state.every.total_seconds()),
        next_due_at=state.next_due_at,
        running=state.running,
        late_since=state.late_since,
        paused=PauseShown.of(state.paused) if state.paused else None,
        last_ok_at=state.last_ok_at,
        last_run=_show_run(run, whole=call.caller.of_platform) if run else None,
        own_errors=errors.get(run.id, 0) if run else 0,
    )


def _show_run(run: SweepRun, *, whole: bool) -> RunShown:
    return RunShown.of(run) if whole else RunShown.of(run, counts=None, error=None)


def _own_errors(call: Call, found: list[State]) -> dict[int, int]:
    """For each last run how many rows of the caller's tenant failed in it."""
    runs = [state.last_run.id for state in found if state.last_run]
    counted = (
        select(SweepFault.run_id, func.count())
        .where(SweepFault.run_id.in_(runs), SweepFault.tenant_id == call.tenant.id)
        .group_by(SweepFault.run_id)
    )
    return {row[0]: row[1] for row in call.session.execute(counted)}


rows.shape(SweepPause, PauseShown.of)
