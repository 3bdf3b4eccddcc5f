"""What is asked before a rule is switched or deleted: how many executions wait, and what becomes of them."""

from uuid import UUID

from flask import current_app, g, url_for
from flask_babel import gettext as _
from flask_babel import ngettext

from desk_ui import words
from desk_ui.asking import Ask
from desk_ui.automations import rule_words
from desk_ui.automations import rules_queries as queries
from desk_ui.automations import rules_views as views
from desk_ui.requests import settings_of
from models.automations.records import AutomationRule
from models.base import db
from models.tenants import Feature


def switch(rule: AutomationRule, on: bool) -> Ask:
    """`on` is what it is to become."""
    fault = views.fault_of(rule, settings_of(current_app))
    return Ask(
        title=_("Switch on %(name)s", name=rule.name) if on else _("Switch off %(name)s", name=rule.name),
        says=_on(rule) if on else [deleted(armed(rule.id)), _stays(), _nothing_comes_back()],
        named=rule.name,
        verb=_("Switch on") if on else with_waiting(_("Switch off"), armed(rule.id)),
        kind="primary" if on and not rule_words.reaches_customers(rule) else "danger",
        url=url_for("rules.switch", tenant=g.tenant.key, rule_id=rule.id),
        back=page_of(rule.id),
        about=page_of(rule.id),
        hidden={"version": str(rule.version), "on": "1" if on else "0"},
        refusal=views.refusal_to_switch(rule, fault, on),
    )


def delete(rule: AutomationRule) -> Ask:
    return Ask(
        title=_("Delete the rule %(name)s", name=rule.name),
        says=[
            deleted(armed(rule.id)),
            _stays(),
            _("The rule itself can't be brought back. To stop it for a while, switch it off."),
        ],
        named=rule.name,
        verb=with_waiting(_("Delete it"), armed(rule.id)),
        kind="danger",
        url=url_for("rules.delete", tenant=g.tenant.key, rule_id=rule.id),
        back=page_of(rule.id),
        about=page_of(rule.id),
        hidden={"version": str(rule.version)},
        refusal=views.refusal_to_change(),
    )


def page_of(rule_id: UUID) -> str:
    return url_for("rules.show", tenant=g.tenant.key, rule_id=rule_id)


def armed(rule_id: UUID) -> int | None:
    """How many of its executions wait; None where counting took too long."""
    return queries.armed(db.session(), g.tenant, rule_id, settings_of(current_app).statement_timeout)


def deleted(number: int | None) -> str:
    """What becomes of the executions that wait."""
    if number == 0:
        return _("No execution of it waits, so none is deleted.")
    return ngettext(
        "%(n)s execution waits and is deleted: nothing of it is done.",
        "%(n)s executions wait and are deleted: nothing of them is done.",
        2 if number is None else number,
        n=words.count(number),
    )


def _stays() -> str:
    return _("What runs at this moment goes on, and what is over stays to be seen.")


def _nothing_comes_back() -> str:
    return _(
        "Switching it on again brings nothing back: conversations are armed anew when something happens."
    )


def _on(rule: AutomationRule) -> list[str]:
    says = [_("From then on: %(does)s.", does=_lower(rule_words.whole(rule)))]
    if rule.execution_delay is not None:
        says.append(
            _("A conversation is armed when something happens in it. What happened before arms nothing.")
        )
        if not g.tenant.has(Feature.DELAYED_AUTOMATIONS):
            says.append(
                _("Delayed automations are switched off for this tenant, so it arms nothing for now.")
            )
    if rule_words.reaches_customers(rule):
        says.append(_("Customers read what it sends, and what was sent can't be taken back."))
    return says


def _lower(said: str) -> str:
    return said[:1].lower() + said[1:]


def with_waiting(verb: str, number: int | None) -> str:
    """The verb with the number of what goes along."""
    if number == 0:
        return verb
    return _("%(verb)s, and delete %(n)s waiting", verb=verb, n=words.count(number))
