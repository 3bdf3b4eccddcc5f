"""Reading agents: all of a tenant's, and one with its policy, contacts and arms."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from flask import abort, current_app, g, request

from desk_ui.agents import queries, telling
from desk_ui.agents.views import Agent, DetailView, ListView, agent_of
from desk_ui.followups.queries import Scene
from desk_ui.htmx import render_page
from desk_ui.paging import ROWS
from desk_ui.permissions import Permission, requires
from desk_ui.requests import settings_of
from models import declarations
from models.base import db
from models.followups.policy import policies


@requires(Permission.SEE)
def index() -> Any:
    session, scene, limit = db.session(), _scene(), time_for_counts()
    holds = queries.holds(session, g.tenant)
    booked = queries.agents_with_rows(session, g.tenant)
    held = {key for key, hold in holds.items() if hold.held}
    known = sorted({*policies(scene.declared), *booked, *held})
    after = request.args.get("after", "")
    keys = [key for key in known if key > after]
    shown = keys[:ROWS]
    pending = queries.pending(session, g.tenant, shown, limit)
    overdue = queries.overdue(session, scene, shown, limit)
    agents = [
        replace(agent_of(scene.declared, key, holds.get(key)), pending=pending[key], overdue=overdue[key])
        for key in shown
    ]
    following = shown[-1] if len(keys) > ROWS else None
    view = ListView(agents, following, not after, len(booked) >= queries.MOST_AGENTS)
    return render_page("agents/list.html", "list", view=view)


@requires(Permission.SEE)
def show(agent: str) -> Any:
    session, scene, limit = db.session(), _scene(), time_for_counts()
    found = known_agent(agent)
    overdue = queries.overdue(session, scene, [agent], limit)
    arms = queries.arms(session, g.tenant, agent)
    shown = arms[: queries.MOST_ARMS]
    view = DetailView(
        agent=replace(found, overdue=overdue[agent]),
        standing=scene,
        settings=telling.as_declared(scene.declared, agent),
        contacts=queries.contacts(session, g.tenant, limit),
        arms=shown,
        counts=queries.by_arm(session, g.tenant, agent, shown, limit),
        more_arms=len(arms) > len(shown),
        history=queries.history(session, g.tenant, agent),
    )
    return render_page("agents/one.html", "panel", view=view, telling=telling)


def known_agent(key: str) -> Agent:
    """One agent with what waits for it; 404 for one that nothing names."""
    session = db.session()
    hold = queries.hold_of(session, g.tenant, key)
    found = agent_of(declarations.current(session), key, hold)
    if not found.declared and hold is None and not queries.has_rows(session, g.tenant, key):
        abort(404)
    return replace(found, pending=queries.pending(session, g.tenant, [key], time_for_counts())[key])


def time_for_counts() -> timedelta:
    return settings_of(current_app).statement_timeout


def _scene() -> Scene:
    session = db.session()
    return Scene.read(session, g.tenant, declarations.current(session), g.now, g.zone)
