"""Why an act on an execution can't be done: the button says it, and the route asks the same."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from desk_ui.permissions import Permission, refusal
from models.automations import refusals
from models.automations.records import Status

ACTS = ("cancel", "reclaim", "settle", "drop", "rearm")


def of(row: Any, actions: Sequence[Any], now: datetime) -> Mapping[str, str | None]:
    """Each act with why it is off, None where it can be done. `row` and `actions` as records or thin."""
    role = refusal(Permission.ACT_ON_EXECUTIONS)
    return {name: role or why for name, why in stated(row, actions, now).items()}


def stated(row: Any, actions: Sequence[Any], now: datetime) -> Mapping[str, str | None]:
    """The same by the execution's own state, whoever asks."""
    skipped = row.status == Status.SKIPPED
    return {
        "cancel": refusals.refusal_to_cancel(row, actions, now),
        "reclaim": refusals.refusal_to_reclaim(row, now),
        "settle": refusals.refusal_to_settle(row, now),
        "drop": refusals.refusal_to_drop(row, now),
        "rearm": refusals.refusal_to_rearm(row, actions)
        if skipped
        else refusals.refusal_to_rearm_rest(row, actions, now),
    }
