"""What is asked before an act on an execution: what will happen, what may reach the customer, and why."""

from collections.abc import Sequence

from flask import g, url_for
from flask_babel import gettext as _
from flask_babel import ngettext
from markupsafe import Markup

from desk_ui import asking, words
from desk_ui.asking import Ask, Field
from desk_ui.automations import executions_told as told
from desk_ui.automations.executions_detail import DetailView
from desk_ui.automations.ledger import Step
from models.automations import ledger
from models.automations.records import ActionState, Skip, Status

LONGEST = ledger.LENGTH
AGAINST = "against"
INCLUDE = "include_unknown"


def cancel(view: DetailView) -> Ask:
    says = [
        *_by_itself(view),
        _("It is not run, and nothing of it is sent."),
        _("No later message arms it again. Re-arm it by hand as long as the conversation has not moved on."),
    ]
    verb = _("Cancel this execution")
    return _ask(view, "cancel", _("Cancel %(it)s", it=view.called), says, [_why(required=False)], verb)


def reclaim(view: DetailView) -> Ask:
    says = [
        *_by_itself(view),
        _("It is taken from its worker and due now. Nothing of it was begun, so nothing can be done twice."),
        _("A worker that was only slow stops at its next step."),
    ]
    verb = _("Reclaim it")
    return _ask(view, "reclaim", _("Reclaim %(it)s", it=view.called), says, [_why(required=False)], verb)


def drop(view: DetailView) -> Ask:
    says = [
        _("What is done stays done. Nothing more of it is done, and it is never re-armed."),
        *_unknown_stay(view),
        _("This can't be undone."),
    ]
    title = _("Drop what is left of %(it)s", it=view.called)
    return _ask(
        view, "drop", title, says, [_why(required=False)], _("Drop what is left"), sample=_ledger(view)
    )


def settle(view: DetailView) -> Ask:
    """A choice for each action whose end is unknown, none of them made beforehand."""
    unknown = [step for step in view.steps if step.state is ActionState.UNKNOWN]
    says = [
        _("The run is closed as it is. Nothing is sent, and nothing more of it is done."),
        *(
            [_("Say of each action whose end is unknown what became of it. Look where it went first.")]
            if unknown
            else []
        ),
    ]
    note = Field(
        "note",
        _("Note"),
        kind="textarea",
        longest=LONGEST,
        required=False,
        hint=_("Kept with the execution, for those who look later."),
    )
    fields = [*map(_outcome, unknown), note]
    return _ask(
        view, "settle", _("Settle %(it)s", it=view.called), says, fields, _("Settle it"), sample=_ledger(view)
    )


def _outcome(step: Step) -> Field:
    return Field(
        f"unknown.{step.position}",
        step.named,
        kind="radios",
        options=[("done", _("It was done")), ("failed", _("It was not done"))],
        hint=step.says,
    )


def rearm(view: DetailView) -> Ask:
    """Of a skipped one that it waits again; of one that needs review that what is left is done."""
    return _skipped(view) if view.row.status == Status.SKIPPED else _rest(view)


def _skipped(view: DetailView) -> Ask:
    refused = _moved_on(view)
    says = [
        _checks_say(view),
        _("It is due now: a run takes it, judges it once more, and does its actions."),
        _("What it sends can't be taken back."),
    ]
    title, verb = _("Re-arm %(it)s", it=view.called), _("Re-arm it")
    return _ask(view, "rearm", title, says, [_why()], verb, refusal=refused)


def _moved_on(view: DetailView) -> str | None:
    """Why a skipped one can't wait again: its reason does not stand any more."""
    against = view.judged.against
    if against is None:
        return None
    return _("It can't be re-armed now: %(why)s.", why=words.skip(against))


def _rest(view: DetailView) -> Ask:
    again = [step for step in view.steps if step.state in (ActionState.WAITING, ActionState.FAILED)]
    unknown = [step for step in view.steps if step.state is ActionState.UNKNOWN]
    says = [_checks_say(view), _("What is sent can't be taken back."), *_will_be_done(again)]
    fields = [*([_twice(unknown)] if unknown else []), _why_again(view)]
    return _ask(
        view,
        "rearm",
        _("Re-arm what is left of %(it)s", it=view.called),
        says,
        fields,
        _rest_verb(again),
        sample=[step.named for step in again],
        hidden={AGAINST: view.judged.against or ""},
    )


def _will_be_done(again: Sequence[Step]) -> list[str]:
    if not again:
        return [_("Nothing is left but what is unknown: it is done only if you tick it.")]
    return [
        ngettext(
            "%(num)s action is done, under the same key as before, as soon as a worker takes it:",
            "%(num)s actions are done, under the same keys as before, as soon as a worker takes them:",
            len(again),
        )
    ]


def _rest_verb(again: Sequence[Step]) -> str:
    if not again:
        return _("Re-arm what is ticked")
    numbers = ", ".join(str(step.number) for step in again)
    return ngettext("Re-arm action %(numbers)s", "Re-arm actions %(numbers)s", len(again), numbers=numbers)


def _twice(unknown: Sequence[Step]) -> Field:
    """The unknown ones, unticked: to tick one is to say that it may be sent twice."""
    return Field(
        INCLUDE,
        _("Its end is unknown. Tick it only if you know that it was not done."),
        kind="choices",
        options=[(str(step.position), step.named) for step in unknown],
        warning=_("What is ticked may be sent twice: the customer may have it already."),
        required=False,
    )


def _why_again(view: DetailView) -> Field:
    if view.judged.against is None:
        return _why()
    said = words.skip(view.judged.against)
    return _why(hint=_("You go on although %(why)s. It is kept in the audit.", why=said))


def _checks_say(view: DetailView) -> str:
    """What they say now, first of all."""
    judged = view.judged
    if judged.against is None:
        return _("The reason still stands: %(episode)s.", episode=judged.episode)
    if judged.against is Skip.EPISODE_MOVED:
        return _(
            "The reason does not stand any more: it was armed while “%(then)s”; now: %(now)s.",
            then=judged.episode,
            now=judged.episode_now,
        )
    return _("The reason does not stand any more: %(why)s.", why=words.skip(judged.against))


def _by_itself(view: DetailView) -> list[Markup | str]:
    """What the next run does anyway is said first."""
    found = told.acts_next(view.row, view.scene, runs=view.judged.runs)
    return [found] if found else []


def _unknown_stay(view: DetailView) -> list[str]:
    if all(step.state is not ActionState.UNKNOWN for step in view.steps):
        return []
    return [_("What is unknown stays unknown: the customer may have it, or not.")]


def _ledger(view: DetailView) -> list[str]:
    return [f"{step.named}: {told.state_word(step.state)}" for step in view.steps]


def _why(*, required: bool = True, hint: str = "") -> Field:
    return Field(
        "reason",
        _("Why"),
        kind="textarea",
        longest=LONGEST,
        required=required,
        hint=hint or _("It is kept in the audit."),
    )


def _ask(
    view: DetailView,
    act: str,
    title: str,
    says: Sequence[str],
    fields: Sequence[Field],
    verb: str,
    *,
    refusal: str | None = None,
    sample: Sequence[str] = (),
    hidden: dict[str, str] | None = None,
) -> Ask:
    refused = view.refusals[act] or refusal
    id = view.row.id
    return Ask(
        title=title,
        verb=verb,
        url=url_for(f"executions.{act}", tenant=g.tenant.key, execution_id=id),
        back=asking.came_from("executions", execution_id=id),
        about=url_for("executions.show", tenant=g.tenant.key, execution_id=id),
        named=view.thin.conversation or "",
        says=[] if refused else says,
        sample=[] if refused else sample,
        fields=fields,
        hidden={**asking.seen(view.row.version), **(hidden or {})},
        kind="primary" if act in ("settle", "reclaim") else "danger",
        refusal=refused,
    )
