"""What is asked before an agent is put on hold, or let go on."""

from flask import g, url_for
from flask_babel import gettext as _
from flask_babel import ngettext

from desk_ui import words
from desk_ui.agents.views import Agent
from desk_ui.asking import Ask, Field


def hold(one: Agent, due: int | None) -> Ask:
    """Its due follow-ups wait until somebody releases it: how many that are."""
    return Ask(
        title=_("Put %(agent)s on hold", agent=one.key),
        says=[_waits(one.pending), _due(due), _("New ones can still be booked; they wait too.")],
        facts=[(_("Agent"), one.key)],
        fields=[Field("reason", _("Why"), hint=_("Everybody who looks at this agent sees it."))],
        verb=_("Put on hold"),
        url=url_for("agents.hold", tenant=g.tenant.key, agent=one.key),
        back=one.url,
        hidden=_hidden(one),
        refusal=one.refusal or (_("It is on hold already.") if one.held else None),
    )


def release(one: Agent, due: int | None) -> Ask:
    """The next run takes what came due meanwhile: how many that are."""
    facts = [(_("Agent"), one.key)]
    if one.hold is not None and one.held:
        facts += [(_("On hold by"), one.hold.by), (_("Held because"), one.hold.reason or "")]
    return Ask(
        title=_("Release %(agent)s", agent=one.key),
        says=[_let_go(due), _("Each is judged by the policy then; limits and quiet hours hold.")],
        facts=facts,
        fields=[Field("reason", _("Why it is released"), hint=_("It is kept with the agent."))],
        verb=_("Release"),
        url=url_for("agents.release", tenant=g.tenant.key, agent=one.key),
        back=one.url,
        hidden=_hidden(one),
        refusal=one.refusal or (None if one.held else _("It is not on hold.")),
    )


def _hidden(one: Agent) -> dict[str, str]:
    return {"version": str(one.hold.version if one.hold else 0)}


def _waits(pending: int | None) -> str:
    if pending == 0:
        return _("No follow-up of this agent is pending.")
    return ngettext(
        "%(n)s pending follow-up waits until it is released.",
        "%(n)s pending follow-ups wait until it is released.",
        2 if pending is None else pending,
        n=words.count(pending),
    )


def _due(due: int | None) -> str:
    if due == 0:
        return _("None of them is due now.")
    return _("Due now: %(n)s, which the next run would have taken.", n=words.count(due))


def _let_go(due: int | None) -> str:
    if due == 0:
        return _("Nothing came due meanwhile.")
    return ngettext(
        "%(n)s follow-up is due at once, and the next run takes it.",
        "%(n)s follow-ups are due at once, and the next runs take them.",
        2 if due is None else due,
        n=words.count(due),
    )
