"""What a lead does with a rule as a whole: switch it on or off, and delete it."""

from uuid import UUID

from flask import current_app, g, request, url_for
from flask_babel import gettext as _
from flask_babel import ngettext
from sqlalchemy import select
from werkzeug.wrappers import Response

from desk_ui import asking, words
from desk_ui.acting import Action, perform, version_shown
from desk_ui.automations import rule_asks as asks
from desk_ui.automations import rules_routes as routes
from desk_ui.automations import rules_views as views
from desk_ui.permissions import Permission, actor, requires
from desk_ui.requests import settings_of
from models.audit import AuditEvent
from models.automations import rules
from models.automations.records import AutomationRule
from models.base import db
from models.errors import Conflict
from models.transactions import commit


@requires(Permission.SEE)
def ask_switch(rule_id: UUID) -> str:
    rule = routes.current(rule_id)
    return asking.show(asks.switch(rule, wants_on(rule)))


@requires(Permission.RULES, action="rule.changed", resource="rule", argument="rule_id")
def switch(rule_id: UUID) -> Response:
    """Switch a rule, as it was shown, on or off; off deletes what waits."""
    seen = routes.current(rule_id)
    on = wants_on(seen)

    def act() -> tuple[AutomationRule, int]:
        _refuse(routes.current(rule_id), on)
        changed = rules.set_active(
            db.session(),
            g.tenant,
            rule_id,
            on,
            actor=actor(),
            now=g.now,
            expected_version=version_shown(),
        )
        freed = freed_by_last_act(rule_id)
        commit(db.session(), "console.rules.switch")
        return changed, freed

    said = _("Switched on %(name)s.", name=seen.name) if on else _("Switched off %(name)s.", name=seen.name)
    return perform(
        Action(
            name="rule.changed",
            resource=("rule", str(rule_id)),
            act=act,
            done=lambda found: with_freed(said, found[1]),
            back=lambda _found: asks.page_of(rule_id),
            read=lambda: routes.current(rule_id),
            refused=_moved,
            ask=lambda: asks.switch(routes.current(rule_id), on),
        )
    )


@requires(Permission.SEE)
def ask_delete(rule_id: UUID) -> str:
    return asking.show(asks.delete(routes.current(rule_id)))


@requires(Permission.RULES, action="rule.deleted", resource="rule", argument="rule_id")
def delete(rule_id: UUID) -> Response:
    """Delete a rule, as it was shown, with what waits for it."""
    seen = routes.current(rule_id)

    def act() -> int:
        freed = rules.delete(
            db.session(), g.tenant, rule_id, actor=actor(), now=g.now, expected_version=version_shown()
        )
        commit(db.session(), "console.rules.delete")
        return freed

    return perform(
        Action(
            name="rule.deleted",
            resource=("rule", str(rule_id)),
            act=act,
            done=lambda freed: with_freed(_("Deleted the rule %(name)s.", name=seen.name), freed),
            back=lambda _freed: url_for("rules.index", tenant=g.tenant.key),
            read=lambda: routes.current(rule_id),
            refused=_moved,
            ask=lambda: asks.delete(routes.current(rule_id)),
        )
    )


def wants_on(rule: AutomationRule) -> bool:
    """What a rule is asked to become; where neither form nor address says it, the other of what it is."""
    return {"1": True, "0": False}.get(request.values.get("on", ""), not rule.active)


def freed_by_last_act(rule_id: UUID) -> int:
    """How many executions the act deleted that was just written into the audit of the rule, if it did."""
    of_rule = (
        AuditEvent.tenant_id == g.tenant.id,
        AuditEvent.resource_type == "rule",
        AuditEvent.resource_id == str(rule_id),
    )
    newest = select(AuditEvent).where(*of_rule).order_by(AuditEvent.at.desc(), AuditEvent.id.desc()).limit(1)
    event = db.session().scalars(newest).first()
    freed = (event.detail or {}).get("freed") if event is not None and event.at == g.now else None
    return freed if isinstance(freed, int) else 0


def with_freed(said: str, freed: int) -> str:
    if not freed:
        return said
    gone = ngettext(
        "%(n)s waiting execution was deleted.",
        "%(n)s waiting executions were deleted.",
        freed,
        n=words.count(freed),
    )
    return f"{said} {gone}"


def _moved(rule: AutomationRule, fault: Conflict) -> str:
    """Who changed the rule meanwhile, and when."""
    if fault.current is None:
        return fault.detail
    return changed_meanwhile(rule) or fault.detail


def changed_meanwhile(rule: AutomationRule) -> str:
    """By whom and when the rule was changed last, as far as the audit knows."""
    history = [
        one for one in routes.queries.history(db.session(), g.tenant, rule.id) if one.result == "success"
    ]
    if not history:
        return ""
    who = words.actor(history[0].actor_type, history[0].actor_label)
    when = words.distance(history[0].at, g.now)
    return _(
        "%(what)s %(when)s by %(who)s, so nothing was done.",
        what=views.told(history[0]),
        when=when,
        who=who,
    )


def _refuse(rule: AutomationRule, on: bool) -> None:
    """Raise `Conflict` where it can't become `on`: because somebody was faster, or it can't be used."""
    refusal = views.refusal_to_switch(rule, views.fault_of(rule, settings_of(current_app)), on)
    if refusal is not None:
        raise Conflict(refusal, current=rule if rule.active is on else None)
