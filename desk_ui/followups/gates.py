"""What each gate would say of a follow-up, in the words of a page."""

from dataclasses import dataclass
from typing import Any

from flask_babel import gettext as _

from desk_ui import words
from desk_ui.followups import foretelling
from desk_ui.followups.queries import Scene
from desk_ui.marks import Mark
from models.followups.foresight import Foresight, Gate
from models.followups.records import Block


@dataclass(frozen=True, slots=True)
class GateLine:
    """One gate in words. `outcome` is pass, stop, wait, or skipped where an earlier one decided."""

    name: str
    outcome: str
    says: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What the gates come to, and what that is the answer to."""

    title: str
    mark: Mark


def judged_as(foresight: Foresight, scene: Scene, *, waits: bool, held: bool) -> Judged:
    """For one that `waits` as things are: where somebody stopped it, that comes before what the gates say."""
    verdict = foresight.verdict
    if verdict.fires:
        mark = Mark("disc", "good", _("It would fire"))
    elif verdict.defer_until:
        mark = Mark("half", "warn", _("It would wait"))
    else:
        mark = Mark("square", "warn", _("It would be blocked"))
    if not waits:
        return Judged(_("If it were booked again and fired now"), mark)
    if scene.paused:
        return _stopped(mark, _("Switched off"), _("when switched on"))
    if held:
        return _stopped(mark, _("Held"), _("when released"))
    if scene.halted:
        return _stopped(mark, _("Firing is paused"), _("when resumed"))
    return Judged(_("If it fired now"), mark)


def _stopped(mark: Mark, how: str, when: str) -> Judged:
    would = mark.word[:1].lower() + mark.word[1:]
    word = _("%(how)s: %(would)s %(when)s", how=how, would=would, when=when)
    return Judged(_("What the gates say"), Mark("pause", "idle", word))


def gate_lines(foresight: Foresight, scene: Scene) -> list[GateLine]:
    """The gates in words, those after the one that decides as skipped."""
    found, decided = [], False
    for gate in foresight.gates:
        outcome = "pass" if gate.passes else "wait" if gate.verdict.defer_until else "stop"
        says = _says(gate, foresight, scene)
        found.append(GateLine(_gate_name(gate), "skipped" if decided else outcome, says))
        decided = decided or not gate.passes
    return found


def _gate_name(gate: Gate) -> str:
    return {
        Block.POLICY_INVALID: _("Policy"),
        Block.CONSENT: _("Consent"),
        Block.REVOKED: _("Opt-out"),
        Block.UNAVAILABLE: _("Silence"),
        None: _("Quiet hours"),
        Block.DEDUP: _("Older ones"),
        Block.FREQUENCY: _("Message limit"),
        Block.HOLDOUT: _("Experiment"),
    }[gate.block]


def _says(gate: Gate, foresight: Foresight, scene: Scene) -> str:
    """What one gate says, whether or not it lets through."""
    policy = foresight.policy
    if gate.block is Block.FREQUENCY and policy and policy.ceiling:
        fired = _(
            "%(n)s fired in the last %(span)s, limit %(most)s",
            n=words.number(foresight.fires),
            most=words.number(policy.ceiling.fires),
            span=words.span(policy.ceiling.window),
        )
        waiting = foretelling.also_waiting(foresight.before)
        return f"{fired}; {waiting}" if waiting else fired
    if gate.block is None and policy and policy.quiet_hours:
        return _quiet(gate, foresight, scene)
    if gate.block is Block.POLICY_INVALID and not gate.passes:
        faults = "; ".join(str(fault) for fault in foresight.faults)
        return faults or _("This agent is not declared in desk.toml.")
    if gate.block is Block.UNAVAILABLE:
        return _silence(foresight)
    if gate.block is Block.CONSENT and gate.passes and foresight.contact is None:
        return _("None on record; to book it again records it")
    if gate.block in (None, Block.FREQUENCY) and policy is None:
        return _("There is no policy")
    passing, stopping = _GATE_SAYS[gate.block]()
    return passing if gate.passes else stopping


def _silence(foresight: Foresight) -> str:
    sent = words.number(foresight.contact.sends_without_reply if foresight.contact else 0)
    if foresight.policy is None:
        return _("%(n)s fired without a reply", n=sent)
    most = words.number(foresight.policy.silence_after_sends)
    return _("%(n)s of %(most)s fired without a reply", n=sent, most=most)


def _quiet(gate: Gate, foresight: Foresight, scene: Scene) -> str:
    assert foresight.policy is not None and foresight.policy.quiet_hours is not None
    hours = foresight.policy.quiet_hours
    span = f"{hours.start:%H:%M} to {hours.end:%H:%M} {hours.zone}"
    local = words.clock(scene.now, hours.zone)
    if gate.passes:
        return _("%(at)s for the customer; quiet %(span)s", at=local, span=span)
    return _("%(at)s for the customer: it would wait; quiet %(span)s", at=local, span=span)


_GATE_SAYS: dict[Block | None, Any] = {
    Block.POLICY_INVALID: lambda: (_("The agent's policy is valid"), ""),
    Block.CONSENT: lambda: (_("Consent on record"), _("No consent on record: never messaged")),
    Block.REVOKED: lambda: (_("Not opted out"), _("The customer opted out")),
    None: lambda: (_("The policy has none"), ""),
    Block.DEDUP: lambda: (_("No older one is due for this reason"), _("An older one for this reason is due")),
    Block.FREQUENCY: lambda: (_("The policy has no message limit"), ""),
    Block.HOLDOUT: lambda: (_("Not held out"), _("Held out by the experiment")),
}
