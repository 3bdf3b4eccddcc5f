"""The action ledger in words: what each action was to do, how far it came, and how one can tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask_babel import gettext as _
from sqlalchemy import select
from sqlalchemy.orm import Session

from desk_ui.automations import episodes
from desk_ui.automations import executions_told as told
from desk_ui.marks import Mark
from models.automations import actions, ledger
from models.automations.actions import CUSTOMER_FACING
from models.automations.records import ActionEvent, ActionRun, ActionState

MOST_EVENTS = 200


@dataclass(frozen=True, slots=True)
class Happened:
    """One change of an action's state, or what came in for it late."""

    at: datetime
    says: str


@dataclass(frozen=True, slots=True)
class Step:
    """One action. `text` is what it sends where the sentence has no room for all of it."""

    position: int
    sentence: str
    state: ActionState
    mark: Mark
    says: str
    text: str
    key: str
    history: Sequence[Happened]

    @property
    def number(self) -> int:
        """From 1, as people count."""
        return self.position + 1

    @property
    def named(self) -> str:
        return f"{self.number}. {self.sentence}"


def steps(
    session: Session, runs: Sequence[ActionRun], *, abandoned: bool, now: datetime, zone: str
) -> list[Step]:
    """The actions of a run, in their order, each with its history."""
    known = _history(session, [run.id for run in runs])
    return [_step(run, abandoned, now, zone, known.get(run.id, [])) for run in runs]


def planned(rule_actions: Sequence[dict[str, Any]]) -> list[str]:
    """What a rule's actions will do."""
    return [actions.sentence(one["name"], one["params"]) for one in rule_actions]


def _step(run: ActionRun, abandoned: bool, now: datetime, zone: str, history: Sequence[Happened]) -> Step:
    state = ledger.reads_as(run, abandoned=abandoned)
    sentence = actions.sentence(run.name, run.params)
    return Step(
        position=run.position,
        sentence=sentence,
        state=state,
        mark=mark(state),
        says=_says(run, state, now, zone),
        text=_text(run, sentence),
        key=run.idempotency_key,
        history=history,
    )


def mark(state: ActionState) -> Mark:
    shape, tone = {
        ActionState.WAITING: ("ring", "idle"),
        ActionState.STARTED: ("half", "good"),
        ActionState.DONE: ("disc", "good"),
        ActionState.FAILED: ("square", "warn"),
        ActionState.UNKNOWN: ("half", "warn"),
    }[state]
    word = told.state_word(state)
    return Mark(shape, tone, word[:1].upper() + word[1:])


def _says(run: ActionRun, state: ActionState, now: datetime, zone: str) -> str:
    """How far it came, when, and what the other side said."""
    began = episodes.to_the_second(run.started_at, now, zone) if run.started_at else ""
    if state is ActionState.WAITING:
        if run.state == ActionState.STARTED:
            return _("Begun at %(at)s, but not saved, so nothing of it was done.", at=began)
        return _waiting(run)
    if state is ActionState.STARTED:
        return _("Begun at %(at)s.", at=began)
    if state is ActionState.DONE:
        return _done(run, now, zone)
    if state is ActionState.FAILED:
        why = run.error or _("no more is known")
        return _("%(why)s It had no effect.", why=_sentence(why))
    left = _("It left at %(at)s.", at=began) if began else ""
    why = _sentence(run.error) if run.error else _("No answer was recorded.")
    may = _("It may have been done.")
    if is_seen_by_customer(run.name):
        may = _("It may have reached the customer.")
    return " ".join(one for one in (left, why, may) if one)


def _waiting(run: ActionRun) -> str:
    if run.error:
        return _("To be done again. Before: %(why)s", why=_sentence(run.error))
    return _("To be done again.") if run.started_at else _("Never begun.")


def _done(run: ActionRun, now: datetime, zone: str) -> str:
    at = episodes.to_the_second(run.finished_at, now, zone) if run.finished_at else ""
    if run.native:
        return _("%(at)s, on our own data, together with this mark.", at=at)
    if run.receipt:
        return _("%(at)s. Receipt: %(receipt)s.", at=at, receipt=run.receipt)
    return _("%(at)s, as the other side answered.", at=at)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def is_seen_by_customer(name: str) -> bool:
    return name in CUSTOMER_FACING


def _text(run: ActionRun, sentence: str) -> str:
    """The message in full where the sentence cut it off."""
    said = run.params[0] if run.params else None
    if isinstance(said, dict):
        said = said.get("message")
    if not isinstance(said, str) or not sentence.rstrip("”").endswith("…"):
        return ""
    return said


def _history(session: Session, ids: Sequence[int]) -> dict[int, list[Happened]]:
    if not ids:
        return {}
    query = select(ActionEvent).where(ActionEvent.action_run_id.in_(ids)).order_by(ActionEvent.id)
    found: dict[int, list[Happened]] = {}
    for event in session.scalars(query.limit(MOST_EVENTS)):
        found.setdefault(event.action_run_id, []).append(Happened(event.at, _happened(event)))
    return found


def _happened(event: ActionEvent) -> str:
    if event.from_state == event.to_state:
        return _("A late answer, after it had been decided: %(said)s", said=event.detail or "")
    moved = _(
        "From %(before)s to %(after)s by %(who)s",
        before=told.state_word(ActionState(event.from_state)),
        after=told.state_word(ActionState(event.to_state)),
        who=event.actor,
    )
    return f"{moved}: {event.detail}" if event.detail else moved
