"""What an admin of the platform does with a sweep."""

from collections.abc import Callable
from typing import Any

from flask import g, request, url_for
from werkzeug.wrappers import Response

from desk_ui import asking
from desk_ui.acting import Action, back_or, perform, version_shown
from desk_ui.asking import Ask
from desk_ui.htmx import render_block
from desk_ui.permissions import Permission, actor, requires
from desk_ui.sweeps import asks, lines, routes, views
from desk_ui.sweeps.lines import Line
from desk_ui.translating import gettext as _
from jobs.schedule import SWEEPS
from models import sweep_states, text
from models.base import db
from models.errors import Conflict
from models.transactions import commit


@requires(Permission.SWEEPS, action="sweep.run_by_hand", resource="sweep", argument="name")
def run(name: str) -> Response:
    """Run a sweep now: a worker takes it within seconds."""

    def act() -> None:
        sweep_states.run_by_hand(db.session(), name, known=SWEEPS, actor=actor(), now=g.now)
        commit(db.session(), "console.sweeps.run")

    done = _("%(name)s runs now: a worker takes it within seconds.", name=_name(name))
    return perform(_on_one("sweep.run_by_hand", name, act, done))


@requires(Permission.SEE)
def ask_pause(name: str) -> str:
    return asking.show(asks.pause(routes.line_of(name)))


@requires(Permission.SWEEPS, action="sweep.paused", resource="sweep", argument="name")
def pause(name: str) -> Response:
    """Pause a sweep for all tenants, with the reason that everybody then reads."""

    def act() -> None:
        sweep_states.pause(
            db.session(),
            name,
            known=SWEEPS,
            reason=text.required(request.form.get("reason"), "reason"),
            actor=actor(),
            now=g.now,
            expected_version=version_shown(),
        )
        commit(db.session(), "console.sweeps.pause")

    done = _("Paused %(name)s for all tenants.", name=_name(name))
    return perform(_on_one("sweep.paused", name, act, done, asks.pause))


@requires(Permission.SEE)
def ask_resume(name: str) -> str:
    return asking.show(asks.resume(routes.line_of(name)))


@requires(Permission.SWEEPS, action="sweep.resumed", resource="sweep", argument="name")
def resume(name: str) -> Response:
    """Let a paused sweep run again, as its pause was shown."""

    def act() -> None:
        sweep_states.resume(
            db.session(),
            name,
            known=SWEEPS,
            actor=actor(),
            now=g.now,
            expected_version=version_shown(),
        )
        commit(db.session(), "console.sweeps.resume")

    done = _("Resumed %(name)s for all tenants.", name=_name(name))
    return perform(_on_one("sweep.resumed", name, act, done, asks.resume))


def _on_one(
    action: str, name: str, act: Callable[[], Any], done: str, ask: Callable[[Line], Ask] | None = None
) -> Action:
    """An action on one sweep, which is shown again as it stands then.

    What was asked first changes what every page says of the sweeps, so that the whole page is read again.
    """

    def act_and_forget() -> None:
        act()
        lines.forget()

    return Action(
        name=action,
        resource=("sweep", name),
        act=act_and_forget,
        done=lambda _row: done,
        back=lambda _row: back_or(url_for("sweeps.index", tenant=g.tenant.key)),
        read=lambda: routes.line_of(name),
        refused=_why_refused,
        show=lambda _row: _shown(name),
        place=f"#sweep-{name}",
        ask=(lambda: ask(routes.line_of(name))) if ask else None,
        anew=ask is not None,
    )


def _why_refused(line: Line, fault: Conflict) -> str:
    if line.paused:
        return _("%(who)s paused %(name)s, so nothing was done.", who=line.paused.by, name=line.name)
    return _("%(name)s was resumed meanwhile, so nothing was done.", name=line.name)


def _name(name: str) -> str:
    return routes.line_of(name).name


def _shown(name: str) -> str:
    [one] = routes.shown(db.session(), [routes.line_of(name)])
    return render_block("sweeps/index.html", "one", one=one, view=views.IndexView([one], []))
