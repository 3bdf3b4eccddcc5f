"""What a lead does with an agent: put it on hold, and release it."""

from collections.abc import Callable
from typing import Any

from flask import g, request, url_for
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from desk_ui import asking, words
from desk_ui.acting import Action, perform, version_shown
from desk_ui.agents import asks, queries
from desk_ui.agents.routes import known_agent, time_for_counts
from desk_ui.agents.views import Agent
from desk_ui.asking import Ask
from desk_ui.permissions import Permission, actor, requires
from models import tenants, text
from models.base import db
from models.errors import Conflict
from models.tenants import AgentHold
from models.transactions import commit


@requires(Permission.SEE)
def ask_hold(agent: str) -> str:
    return asking.show(_asked(asks.hold, agent))


@requires(Permission.HOLD_AGENTS, action="agent.held", resource="agent", argument="agent")
def hold(agent: str) -> Response:
    """Let all that is due of an agent wait, as its hold was shown."""
    known_agent(agent)

    def act() -> AgentHold:
        held = _set(agent, held=True)
        commit(db.session(), "console.agents.hold")
        return held

    return perform(_action("agent.held", agent, act, _("Put %(agent)s on hold.", agent=agent), asks.hold))


@requires(Permission.SEE)
def ask_release(agent: str) -> str:
    return asking.show(_asked(asks.release, agent))


@requires(Permission.HOLD_AGENTS, action="agent.released", resource="agent", argument="agent")
def release(agent: str) -> Response:
    """Let an agent go on, as its hold was shown."""
    known_agent(agent)

    def act() -> AgentHold:
        released = _set(agent, held=False)
        commit(db.session(), "console.agents.release")
        return released

    return perform(_action("agent.released", agent, act, _("Released %(agent)s.", agent=agent), asks.release))


def _set(agent: str, *, held: bool) -> AgentHold:
    return tenants.hold(
        db.session(),
        g.tenant,
        agent,
        held=held,
        reason=text.required(request.form.get("reason"), "reason"),
        actor=actor(),
        now=g.now,
        expected_version=version_shown(),
    )


def _action(
    name: str, agent: str, act: Callable[[], Any], done: str, ask: Callable[[Agent, int | None], Ask]
) -> Action:
    return Action(
        name=name,
        resource=("agent", agent),
        act=act,
        done=lambda _hold: done,
        refused=lambda _row, fault: _refused(fault),
        back=lambda _hold: url_for("agents.show", tenant=g.tenant.key, agent=agent),
        ask=lambda: _asked(ask, agent),
    )


def _refused(fault: Conflict) -> str:
    hold = fault.current
    if not isinstance(hold, AgentHold):
        return fault.detail
    when = words.distance(hold.at, g.now)
    if hold.held:
        return _("Put on hold %(when)s by %(who)s, so nothing was done.", when=when, who=hold.by)
    return _("Released %(when)s by %(who)s, so nothing was done.", when=when, who=hold.by)


def _asked(ask: Callable[[Agent, int | None], Ask], agent: str) -> Ask:
    due = queries.due(db.session(), g.tenant, agent, g.now, time_for_counts())
    return ask(known_agent(agent), due)
