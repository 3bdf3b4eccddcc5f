"""Writing a rule: the form that is drawn anew with what was typed, tried on a conversation, and saved."""

from typing import Any
from uuid import UUID

from flask import current_app, g, make_response, redirect, request
from flask_babel import gettext as _
from werkzeug.urls import iri_to_uri
from werkzeug.wrappers import Response

from desk_ui import asking
from desk_ui.acting import use_up, version_shown
from desk_ui.automations import rule_asks as asks
from desk_ui.automations import rule_commands as commands
from desk_ui.automations import rule_trials as trials
from desk_ui.automations import rules_routes as routes
from desk_ui.automations.rule_checking import Checked, check
from desk_ui.automations.rule_drafts import Draft, changed_since
from desk_ui.automations.rule_editor import EditorView, rule_id_of
from desk_ui.automations.rules_views import FIELD_NAMES
from desk_ui.htmx import is_htmx, partial, render_block, render_page
from desk_ui.offering import flash_with
from desk_ui.permissions import Permission, actor, record_refusal, requires
from desk_ui.requests import settings_of
from models import once
from models.automations import dry_run, rules
from models.automations.freeing import AT_ONCE
from models.automations.records import AutomationRule
from models.automations.rule_checks import ARMING
from models.base import db, read_only
from models.errors import Conflict, Invalid
from models.transactions import commit, rollback

TEMPLATE = "automations/rule_editor.html"


@requires(Permission.RULES)
def ask_add() -> str:
    return render_page(TEMPLATE, "editor", view=_view(Draft.new(), None))


@requires(Permission.RULES)
def ask_edit(rule_id: UUID) -> str:
    rule = routes.current(rule_id)
    return render_page(TEMPLATE, "editor", view=_view(Draft.of_rule(rule, g.zone), rule))


@requires(Permission.RULES, action="rule.created", resource="rule")
def draft() -> str:
    """The form as it was typed, after a row was added, removed or moved, or its inputs are to fit."""
    rule = _rule_at_hand()
    drawn = Draft.of_form(request.form).after(request.form.get("do", ""))
    with read_only():
        return render_page(TEMPLATE, "editor", view=_view(drawn, rule, **_carried()))


@requires(Permission.RULES, action="rule.tried", resource="rule")
def try_typed() -> Response:
    """Try what is typed on a conversation; nothing is written."""
    rule = _rule_at_hand()
    typed = Draft.of_form(request.form)
    checked = _checked(typed, rule)
    if checked.faults:
        return _answer(_view(typed, rule, told=True, **_carried()), 422)
    given = dry_run.typed(checked.given, g.tenant.id, rule.id if rule else None)
    with read_only():
        trial = trials.try_on(given, request.form, stored=False)
        view = _view(typed, rule, trial=trial, **_carried())
        if is_htmx():
            return make_response(render_block(TEMPLATE, "trial", view=view), 422 if trial.fault else 200)
        return make_response(render_page(TEMPLATE, "editor", view=view), 422 if trial.fault else 200)


@requires(Permission.RULES, action="rule.created", resource="rule")
def add() -> Response:
    """Make a rule, which is off until somebody switches it on."""
    typed = Draft.of_form(request.form)
    checked = _checked(typed, None)
    if checked.faults:
        return _answer(_view(typed, None, told=True), 422)
    try:
        use_up()
        made = rules.create(
            db.session(),
            g.tenant,
            {**checked.given, "active": False},
            actor=actor(),
            now=g.now,
            settings=settings_of(current_app),
        )
        commit(db.session(), "console.rules.add")
    except once.SentTwice as fault:
        record_refusal("rule.created", ("rule", ""), purpose=fault.code)
        return _answer(_view(typed, None, note=fault.detail), 409)
    flash_with(
        _("Made the rule %(name)s. It is off: try it on a conversation, then switch it on.", name=made.name),
        "good",
        None,
    )
    return _go(asks.page_of(made.id))


@requires(Permission.RULES, action="rule.changed", resource="rule", argument="rule_id")
def edit(rule_id: UUID) -> Response:
    """Save a rule, as it was shown; what deletes executions that wait is asked about first."""
    rule = routes.current(rule_id)
    typed = Draft.of_form(request.form)
    checked = _checked(typed, rule)
    if checked.faults:
        return _answer(_view(typed, rule, told=True, **_carried()), 422)
    try:
        version = version_shown()
        if rule.version == version and not request.form.get("confirmed"):
            waiting = asks.armed(rule_id) if _frees(rule, checked) else 0
            if waiting != 0:
                return _confirm(rule, typed, waiting)
        changed = rules.change(
            db.session(),
            g.tenant,
            rule_id,
            checked.given,
            actor=actor(),
            now=g.now,
            expected_version=version,
            settings=settings_of(current_app),
        )
        moved = changed.version != version
        freed = commands.freed_by_last_act(rule_id) if moved else 0
        commit(db.session(), "console.rules.edit")
    except (Conflict, Invalid) as fault:
        return _refused(rule_id, typed, fault)
    said = (
        _("Saved %(name)s.", name=changed.name) if moved else _("Nothing was changed, so nothing was saved.")
    )
    if freed >= AT_ONCE:
        said = f"{said} {_('More of them wait; they never run, and are deleted within minutes.')}"
    flash_with(commands.with_freed(said, freed), "good", None)
    return _go(asks.page_of(rule_id))


@requires(Permission.SEE)
def show_trial(rule_id: UUID) -> Any:
    """A stored rule tried on a conversation, which the address names."""
    rule = routes.current(rule_id)
    fault = routes.views.fault_of(rule, settings_of(current_app))
    trial = trials.blank()
    status = 200
    if fault is None and (request.args.get("pick") or request.args.get("conversation")):
        trial = trials.try_on(dry_run.copy_of(rule), request.args, stored=True)
        status = 404 if trial.fault else 200
    page = render_page("automations/rule_trial.html", "trial", rule=rule, trial=trial, fault=fault)
    return make_response(page, status)


def _refused(rule_id: UUID, typed: Draft, fault: Conflict | Invalid) -> Response:
    """The form again with what was typed, and what changed meanwhile; saving once more goes over that."""
    if isinstance(fault, Invalid):
        rollback(db.session())
        rule = routes.current(rule_id)
        return _answer(_view(typed, rule, note=fault.detail, **_carried()), 422)
    record_refusal("rule.changed", ("rule", str(rule_id)), purpose=fault.code)
    rule = routes.current(rule_id)
    names = [str(FIELD_NAMES[name]) for name in changed_since(rule, request.form.get("seen", ""))]
    note = commands.changed_meanwhile(rule) or fault.detail
    if names:
        note = f"{note} {_('Other than you saw it: %(names)s.', names=', '.join(names))}"
    over = _("What you typed is kept. Saving it now goes over the change.")
    return _answer(_view(typed, rule, note=f"{note} {over}"), 409)


def _confirm(rule: AutomationRule, typed: Draft, waiting: int | None) -> Response:
    """Asks before a change that deletes executions which wait."""
    rollback(db.session())
    with read_only():
        rule = routes.current(rule.id)
        hidden = {**typed.flat(), "rule": str(rule.id), "seen": request.form.get("seen", "")}
        hidden |= {"version": str(rule.version), "confirmed": "1"}
        hidden |= {name: request.form.get(name, "") for name in ("pick", "conversation")}
        shown = render_block(
            "automations/rule_confirm.html",
            "dialog",
            rule=rule,
            hidden=hidden,
            says=asks.deleted(waiting),
            verb=asks.with_waiting(_("Save"), waiting),
            once=asking.once(),
        )
        if is_htmx():
            return make_response(partial("#dialog", "innerHTML", shown))
        page = render_page(
            "automations/rule_confirm.html",
            "dialog",
            rule=rule,
            hidden=hidden,
            says=asks.deleted(waiting),
            verb=asks.with_waiting(_("Save"), waiting),
            once=asking.once(),
        )
        return make_response(page)


def _frees(rule: AutomationRule, checked: Checked) -> bool:
    """Whether saving changes what the rule does, and so deletes what waits."""
    return any(name in ARMING and getattr(rule, name) != value for name, value in checked.given.items())


def _rule_at_hand() -> AutomationRule | None:
    """The rule that the form is about; 404 for one that is gone."""
    found = rule_id_of(request.form)
    return routes.current(found) if found is not None else None


def _carried() -> dict[str, str]:
    """What the form says of the rule as it was when it was read: that stays so until it is saved."""
    return {"base": request.form.get("seen", "")[:1_000], "version": request.form.get("version", "")[:10]}


def _checked(typed: Draft, rule: AutomationRule | None) -> Checked:
    return check(typed, rule, settings=settings_of(current_app), zone=g.zone)


def _view(typed: Draft, rule: AutomationRule | None, **given: Any) -> EditorView:
    given.setdefault("trial", trials.blank())
    return EditorView(typed, _checked(typed, rule), rule=rule, **given)


def _answer(view: EditorView, status: int) -> Response:
    """The form again: in its place for HTMX, whatever asked for it, else as the page."""
    rollback(db.session())
    with read_only():
        if not is_htmx():
            return make_response(render_page(TEMPLATE, "editor", view=view), status)
        drawn = partial("#editor", "outerHTML", render_block(TEMPLATE, "editor", view=view))
        closing = partial("#dialog", "innerHTML", "") if request.form.get("confirmed") else ""
        return make_response(drawn + closing, status)


def _go(url: str) -> Response:
    if not is_htmx():
        return redirect(url, 303)
    answer = make_response("", 200)
    answer.headers["HX-Redirect"] = iri_to_uri(url)
    return answer
