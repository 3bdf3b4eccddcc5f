"""Whether one execution moved while its page was open, and what it became."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy.orm import Session

from desk_ui import refreshing, words
from desk_ui.automations.executions_queries import Scene
from desk_ui.handling import marks
from desk_ui.handling.marks import On
from desk_ui.refreshing import Watch
from desk_ui.translating import gettext as _
from models.automations import judging, ledger, refusals
from models.automations.judging import Facts
from models.automations.records import ARMED, ActionRun, Execution

if TYPE_CHECKING:
    from desk_ui.automations.executions_detail import DetailView

Parts = Sequence[Sequence[object]]


def read(session: Session, scene: Scene, execution: Execution) -> str:
    """The sign of how it stands: changes with it, its actions, and who is on it.

    In parts, with those of what it shows beside: its conversation, its rule, what rests, who looks.
    """
    runs = ledger.of(session, execution) if execution.run else []
    on = marks.one_on(session, "execution", execution.id)
    facts = judging.facts_of(session, execution)
    return refreshing.in_parts(*parts(facts, runs, on, scene), *marks.of_person())


def parts(facts: Facts, runs: Sequence[ActionRun], on: On | None, scene: Scene) -> Parts:
    row, rule, talk = facts.execution, facts.rule, facts.conversation
    silent = refusals.is_abandoned(row, scene.now) or refusals.refusal_to_reclaim(row, scene.now) is None
    itself = (
        row.version,
        row.status,
        row.lock_token,
        silent,
        [(run.state, run.finished_at) for run in runs],
        on and (on.id, on.at),
    )
    said = (talk.updated_at, talk.last_activity_at, talk.status, talk.labels) if talk is not None else ()
    rests = (scene.paused, scene.halted) if row.status in ARMED else ()
    return itself, said, (rule.version if rule is not None else None,), rests


def watch(view: "DetailView") -> Watch:
    """The same of a page that was read, with what happened last."""
    sign = refreshing.in_parts(*view.parts, *marks.of_person())
    beside = _("its conversation"), _("its rule"), _("whether it waits")
    if found := Watch.beside(sign, *beside, *marks.names_of_person()):
        return found
    if not view.timeline:
        return Watch.of(sign, view.mark.word, view.row.updated_at)
    last = view.timeline[-1]
    if last.action in marks.HANDLED and not last.refused:
        return marks.watch(sign, view.on, last)
    return Watch.of(sign, words.action(last.action, last.refused), last.at)
