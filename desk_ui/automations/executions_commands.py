"""What a person does with an execution: cancel, reclaim, settle, drop, and re-arm."""

from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from flask import g, request, url_for
from flask_babel import gettext as _
from flask_babel import ngettext
from werkzeug.wrappers import Response

from desk_ui import asking, words
from desk_ui.acting import Action, back_or, perform, version_shown
from desk_ui.asking import Ask
from desk_ui.automations import executions_asks as asks
from desk_ui.automations import executions_queries as queries
from desk_ui.automations import executions_routes as routes
from desk_ui.automations.executions_detail import DetailView
from desk_ui.automations.executions_views import ListView, called
from desk_ui.htmx import render_block
from desk_ui.listing import Asked
from desk_ui.paging import Page
from desk_ui.permissions import Permission, actor, requires
from desk_ui.timelines import last_change
from jobs import wake
from models import text
from models.automations import judging, operating
from models.automations.records import Execution, Status
from models.base import db
from models.errors import Conflict, Invalid
from models.transactions import after_commit, commit

may_act = partial(requires, Permission.ACT_ON_EXECUTIONS, resource="execution", argument="execution_id")


@requires(Permission.SEE)
def ask_cancel(execution_id: UUID) -> str:
    return asking.show(asks.cancel(routes.detail_of(execution_id)))


@may_act(action="execution.cancelled")
def cancel(execution_id: UUID) -> Response:
    """Skip one that waits, as it was shown."""

    def act() -> Execution:
        cancelled = operating.cancel(
            db.session(),
            g.tenant.id,
            execution_id,
            actor=actor(),
            now=g.now,
            reason=_reason(),
            expected_version=version_shown(),
        )
        commit(db.session(), "console.executions.cancel")
        return cancelled

    done = partial(_done, _("Cancelled %(it)s. Nothing of it was sent."))
    return perform(_on_one("execution.cancelled", execution_id, act, done, asks.cancel))


@requires(Permission.SEE)
def ask_reclaim(execution_id: UUID) -> str:
    return asking.show(asks.reclaim(routes.detail_of(execution_id)))


@may_act(action="execution.reclaimed")
def reclaim(execution_id: UUID) -> Response:
    """Take one, as it was shown, from a worker that said nothing for too long."""

    def act() -> Execution:
        reclaimed = operating.reclaim(
            db.session(),
            g.tenant.id,
            execution_id,
            actor=actor(),
            now=g.now,
            reason=_reason(),
            expected_version=version_shown(),
        )
        _wake(execution_id)
        commit(db.session(), "console.executions.reclaim")
        return reclaimed

    done = partial(_done, _("Reclaimed %(it)s. It is due now."))
    return perform(_on_one("execution.reclaimed", execution_id, act, done, asks.reclaim))


@requires(Permission.SEE)
def ask_settle(execution_id: UUID) -> str:
    return asking.show(asks.settle(routes.detail_of(execution_id)))


@may_act(action="execution.settled")
def settle(execution_id: UUID) -> Response:
    """Close a run, as it was shown, by what the person says of each action whose end is unknown."""

    def act() -> Execution:
        settled = operating.settle(
            db.session(),
            g.tenant.id,
            execution_id,
            _outcomes(),
            actor=actor(),
            now=g.now,
            note=request.form.get("note", "").strip() or None,
            expected_version=version_shown(),
        )
        commit(db.session(), "console.executions.settle")
        return settled

    done = partial(_done, _("Settled %(it)s."))
    return perform(_on_one("execution.settled", execution_id, act, done, asks.settle))


def _outcomes() -> dict[int, str]:
    """What was said of each unknown action, by its position. Raises `Invalid`."""
    found = {}
    for name, value in request.form.items():
        head, _dot, position = name.partition(".")
        if head == "unknown" and value:
            found[_position(position, name)] = value
    return found


def _position(given: str, field: str) -> int:
    if not given.isascii() or not given.isdigit() or len(given) > 4:
        raise Invalid(field, _("is no action of this run"))
    return int(given)


@requires(Permission.SEE)
def ask_drop(execution_id: UUID) -> str:
    return asking.show(asks.drop(routes.detail_of(execution_id)))


@may_act(action="execution.dropped")
def drop(execution_id: UUID) -> Response:
    """Give an abandoned run up, as it was shown."""

    def act() -> Execution:
        dropped = operating.drop(
            db.session(),
            g.tenant.id,
            execution_id,
            actor=actor(),
            now=g.now,
            reason=_reason(),
            expected_version=version_shown(),
        )
        commit(db.session(), "console.executions.drop")
        return dropped

    done = partial(_done, _("Dropped what was left of %(it)s."))
    return perform(_on_one("execution.dropped", execution_id, act, done, asks.drop))


@requires(Permission.SEE)
def ask_rearm(execution_id: UUID) -> str:
    return asking.show(asks.rearm(routes.detail_of(execution_id)))


@may_act(action="execution.rearmed")
def rearm(execution_id: UUID) -> Response:
    """Let a skipped one wait again, or what is left of a run be done, as it was shown."""

    def act() -> Execution:
        reason = text.required(request.form.get("reason"), "reason", longest=asks.LONGEST)
        ticked = frozenset(_position(one, asks.INCLUDE) for one in request.form.getlist(asks.INCLUDE))
        rearmed = operating.rearm(
            db.session(),
            g.tenant.id,
            execution_id,
            include_unknown=ticked,
            reason=reason,
            actor=actor(),
            now=g.now,
            expected_version=version_shown(),
        )
        _check_checks(rearmed)
        _wake(execution_id)
        commit(db.session(), "console.executions.rearm")
        return rearmed

    return perform(_on_one("execution.rearmed", execution_id, act, _rearmed, asks.rearm))


def _check_checks(execution: Execution) -> None:
    """Raises `Conflict` where what the checks say is not what the person was shown, under the locks."""
    if execution.status != Status.PROCESSING:
        return
    facts = judging.facts_of(db.session(), execution)
    says = judging.standing(db.session(), facts, now=g.now)
    if (says or "") != request.form.get(asks.AGAINST, ""):
        raise Conflict(
            _("What the checks say changed since you saw them, so nothing was done. Look at them again.")
        )


def _rearmed(execution: Execution) -> str:
    if execution.status == Status.PENDING:
        return _done(_("Re-armed %(it)s. It is due now."), execution)
    number = len(last_positions(execution))
    goes_on = ngettext(
        "%(num)s action goes on as soon as a worker takes it.",
        "%(num)s actions go on as soon as a worker takes them.",
        number,
    )
    return f"{_done(_('Re-armed what is left of %(it)s.'), execution)} {goes_on}"


def last_positions(execution: Execution) -> list[int]:
    """Which actions the last re-arm let go on."""
    last = last_change(db.session(), g.tenant, ("execution", str(execution.id)))
    return list(last.detail.get("positions", ())) if last else []


def _wake(execution_id: UUID) -> None:
    """Let a worker take it at once; the sweep finds it otherwise."""
    after_commit(db.session(), f"execution {execution_id}", partial(wake.wake_executions, [execution_id]))


def _reason() -> str | None:
    return request.form.get("reason", "").strip() or None


def _done(said: str, execution: Execution) -> str:
    return said % {"it": called(routes.current(execution.id))}


def _on_one(
    name: str,
    execution_id: UUID,
    act: Callable[[], Execution],
    done: Callable[[Execution], str],
    ask: Callable[[DetailView], Ask],
) -> Action:
    """An action on one execution, which is shown again as it is then: its row of the list, or its page."""
    in_panel = request.form.get("shown") == "panel"
    return Action(
        name=name,
        resource=("execution", str(execution_id)),
        act=act,
        read=lambda: routes.current(execution_id),
        show=lambda _row: _shown(execution_id),
        place="#execution" if in_panel else f"#execution-{execution_id}",
        done=done,
        refused=_why_refused,
        back=lambda _row: back_or(url_for("executions.index", tenant=g.tenant.key)),
        ask=lambda: ask(routes.detail_of(execution_id)),
    )


def _why_refused(row: queries.Row, fault: Conflict) -> str:
    """What happened meanwhile, and who did it where that is known; else how the row stands."""
    last = last_change(db.session(), g.tenant, ("execution", str(row.id)))
    if fault.current is None or last is None or row.version == _version():
        return fault.detail
    return _(
        "%(why)s %(what)s %(when)s by %(who)s.",
        why=fault.detail,
        what=words.action(last.action, refused=False),
        when=words.distance(last.at, g.now),
        who=words.actor(last.actor_type, last.actor),
    )


def _version() -> int:
    given = request.form.get("version", "")
    return int(given) if given.isdigit() else 0


def _shown(execution_id: UUID) -> str:
    """The row of the list, or the panel of the page, whichever was pressed in."""
    if request.form.get("shown") == "panel":
        return render_block("automations/execution.html", "panel", view=routes.detail_of(execution_id))
    asked: Any = Asked.of(queries.Filters, dict(parse_qsl(request.form.get("list", ""))))
    page = Page([routes.current(execution_id)], None)
    view = ListView(asked, page, [], scene=routes.scene_at_hand())
    return render_block("automations/executions.html", "rows", view=view)
