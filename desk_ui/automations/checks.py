"""Whether the reason of an execution still stands: what each check would say now, in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flask_babel import gettext as _
from sqlalchemy.orm import Session

from desk_ui import words
from desk_ui.automations import episodes as said
from desk_ui.automations.executions_queries import Scene
from desk_ui.marks import Mark
from models.automations import conditions, episodes, judging
from models.automations.condition_words import sentence
from models.automations.judging import LATENESS_CAP, Decision, Facts, Step
from models.automations.records import ARMED, Skip


@dataclass(frozen=True, slots=True)
class Check:
    """One check: `outcome` is `pass`, `wait`, `stop` or `skipped` where an earlier one decides."""

    name: str
    outcome: str
    says: str


@dataclass(frozen=True, slots=True)
class Judged:
    """All of them in their order. `against` is the first that does not hold; `decision` what would be done
    with one that waits."""

    checks: Sequence[Check]
    against: Skip | None
    decision: Decision | None
    episode: str
    episode_now: str
    moved: bool

    @property
    def mark(self) -> Mark:
        if self.decision is not None and self.decision.step in (Step.WAIT, Step.LEAVE):
            return Mark("half", "warn", _("Would wait"))
        if self.against is not None or (self.decision is not None and self.decision.step is not Step.RUN):
            return Mark("square", "warn", _("No"))
        return Mark("disc", "good", _("Yes"))

    @property
    def runs(self) -> bool:
        return self.decision is not None and self.decision.step is Step.RUN


def judged(session: Session, facts: Facts, scene: Scene) -> Judged:
    """Judge as a run would now; of one that waits for no run only whether its reason stands."""
    execution = facts.execution
    against = judging.standing(session, facts, now=scene.now)
    decision = None
    if execution.status in ARMED:
        decision = judging.decide(session, facts, declared=scene.declared, now=scene.now)
    key = None
    if facts.conversation is not None:
        key = episodes.current(session, execution, facts.conversation)
    return Judged(
        checks=list(_checks(session, facts, scene, against, decision, key)),
        against=against,
        decision=decision,
        episode=said.said(execution.episode_key, scene.now, scene.zone),
        episode_now=said.now_said(key, scene.now, scene.zone),
        moved=key != execution.episode_key,
    )


def _checks(
    session: Session,
    facts: Facts,
    scene: Scene,
    against: Skip | None,
    decision: Decision | None,
    key: str | None,
) -> Iterator[Check]:
    """Those before the reason only where a run is still to come, since they decide nothing else."""
    over = False
    if decision is not None and not facts.execution.resumed:
        for check in _of_time(facts, scene, decision):
            over = over or check.outcome != "pass"
            yield check
    reached = [Skip.RULE_INACTIVE, Skip.CONVERSATION_GONE, Skip.EPISODE_MOVED, Skip.CONDITIONS_CHANGED]
    for skip in reached:
        if over:
            yield Check(_name(skip), "skipped", "")
        elif skip == against:
            over = True
            yield Check(_name(skip), "stop", _fails(skip, facts, scene, key))
        else:
            yield Check(_name(skip), "pass", _holds(session, skip, facts, scene))


def _name(skip: Skip) -> str:
    return {
        Skip.RULE_INACTIVE: _("Rule"),
        Skip.CONVERSATION_GONE: _("Conversation"),
        Skip.EPISODE_MOVED: _("Episode"),
        Skip.CONDITIONS_CHANGED: _("Conditions"),
    }[skip]


def _of_time(facts: Facts, scene: Scene, decision: Decision) -> Iterator[Check]:
    """Switch, lateness and window, as far as they were reached."""
    execution, zone = facts.execution, scene.zone
    if decision.step is Step.LEAVE:
        yield Check(_("Switch"), "wait", _("delayed automations are switched off"))
        return
    if decision.step is Step.FREE:
        yield Check(_("Rule's version"), "stop", _("its rule was changed since, so it is removed"))
        return
    expires = words.day_and_time(execution.lapses_from + LATENESS_CAP, scene.now, zone)
    if decision.reason is Skip.EXPIRED:
        yield Check(_("Time"), "stop", _("too late since %(at)s", at=expires))
        return
    yield Check(_("Time"), "pass", _("too late from %(at)s on", at=expires))
    if decision.step is not Step.WAIT:
        return
    if decision.not_before is not None:
        opens = said.moment(decision.not_before, scene.now, zone)
        yield Check(_("Window"), "wait", _("closed now, opens %(at)s", at=opens))
    elif decision.due_at is not None:
        at = said.moment(decision.due_at, scene.now, zone)
        yield Check(_("Clock"), "wait", _("somebody did something since: due %(at)s", at=at))


def _fails(skip: Skip, facts: Facts, scene: Scene, key: str | None) -> str:
    if skip is Skip.RULE_INACTIVE:
        return _("is deleted") if facts.rule is None else _("is switched off")
    if skip is Skip.CONVERSATION_GONE:
        return _("is gone")
    if skip is Skip.EPISODE_MOVED:
        return _("moved on: %(now)s", now=said.now_said(key, scene.now, scene.zone))
    return _("don't hold: %(they)s", they=_conditions(facts))


def _holds(session: Session, skip: Skip, facts: Facts, scene: Scene) -> str:
    if skip is Skip.RULE_INACTIVE:
        return _("is on")
    if skip is Skip.CONVERSATION_GONE:
        return _("is there")
    if skip is Skip.EPISODE_MOVED:
        return said.said(facts.execution.episode_key, scene.now, scene.zone)
    if facts.execution.at_once:
        return _("held when it was armed")
    if facts.rule is None or not facts.rule.conditions:
        return _("there are none")
    return _("hold: %(they)s", they=_conditions(facts))


def _conditions(facts: Facts) -> str:
    if facts.rule is None:
        return ""
    parsed = conditions.of_stored(facts.rule.conditions)
    joined = []
    for one in parsed:
        joined.append(sentence(one))
        if one.joiner is not None and one is not parsed[-1]:
            joined.append(str(one.joiner.value))
    return " ".join(joined)
