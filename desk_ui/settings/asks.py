"""What is asked before an act in the settings: what will happen, and to how many."""

from flask import g, request, url_for
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l
from flask_babel import ngettext

from desk_ui import local_time, words
from desk_ui.asking import Ask, Field, Told
from desk_ui.permissions import Permission, refusal
from desk_ui.settings import queries
from models import people
from models.base import db
from models.clock import micros
from models.errors import Invalid
from models.operators import LONGEST_EMAIL, Role
from models.tenants import PLATFORM, Feature, Tenant

FEATURES = {
    Feature.FOLLOWUPS: (_l("Follow-ups"), _l("Judge what is due, and give it to the agents.")),
    Feature.DELAYED_AUTOMATIONS: (
        _l("Delayed automations"),
        _l("Arm rules with a delay, and run what is due. Rules without one act whatever this says."),
    ),
}
ROLES = {
    Role.VIEWER: _l("viewer: sees all lists"),
    Role.MARKETER: _l("marketer: also acts on follow-ups"),
    Role.LEAD: _l("lead: also acts on executions and deliveries, writes rules, and holds agents"),
    Role.ADMIN: _l("admin: also people, tokens and endpoints"),
}


def switch(feature: Feature, on: bool) -> Ask:
    """`on` is what it is to become."""
    name = FEATURES[feature][0]
    if feature is Feature.FOLLOWUPS:
        found = queries.waiting(db.session(), g.tenant, g.now)
        says = _on(found) if on else _off(found)
    else:
        found = queries.waiting_executions(db.session(), g.tenant, g.now)
        says = _automations_on(found) if on else _automations_off(found)
    reaches = on and found.due > 0
    values = {"name": name, "tenant": g.tenant.key}
    return Ask(
        title=_("Switch on: %(name)s of %(tenant)s", **values)
        if on
        else _("Switch off: %(name)s of %(tenant)s", **values),
        says=says,
        verb=_("Switch on") if on else _("Switch off"),
        kind="danger" if reaches or not on else "primary",
        url=url_for("settings.switch", tenant=g.tenant.key, feature=feature.value),
        back=url_for("settings.index", tenant=g.tenant.key),
        hidden={"version": str(g.tenant.version), "on": "1" if on else "0"},
        refusal=refusal(Permission.TENANTS),
    )


def _off(found: queries.Waiting) -> list[str]:
    return [
        ngettext(
            "%(n)s follow-up is pending. It stays so, and doesn't fire, until this is switched on again.",
            "%(n)s follow-ups are pending. They stay so, and don't fire, until this is switched on again.",
            found.pending,
            n=words.count(found.pending),
        ),
        _("No other tenant is concerned. It can be switched on again at any time."),
    ]


def _on(found: queries.Waiting) -> list[str]:
    if not found.due:
        return [_("Nothing is due, so nothing fires at once.")]
    return [
        ngettext(
            "%(n)s follow-up is due. The next run fires or blocks it by its policy, so a customer may get a "
            "message within the minute.",
            "%(n)s follow-ups are due. The next runs fire or block them by their policies, so customers may "
            "get messages within the minute.",
            found.due,
            n=words.count(found.due),
        ),
        _("What was fired can't be taken back."),
    ]


def _automations_off(found: queries.Waiting) -> list[str]:
    return [
        ngettext(
            "%(n)s execution waits. It stays so, and does nothing, until this is switched on again.",
            "%(n)s executions wait. They stay so, and do nothing, until this is switched on again.",
            found.pending,
            n=words.count(found.pending),
        ),
        _("What happens meanwhile arms no rule with a delay, nor will it later. Rules without one go on."),
        _("No other tenant is concerned. It can be switched on again at any time."),
    ]


def _automations_on(found: queries.Waiting) -> list[str]:
    missed = _("What happened while it was off has armed nothing.")
    if not found.due:
        return [_("Nothing is due, so nothing acts at once."), missed]
    return [
        ngettext(
            "%(n)s execution is due, however long it waited. The next run judges it anew and acts if its "
            "reason still stands, so a customer may get a message within the minute.",
            "%(n)s executions are due, however long they waited. The next runs judge each anew and act where "
            "its reason still stands, so customers may get messages within the minute.",
            found.due,
            n=words.count(found.due),
        ),
        missed,
        _("What was sent can't be taken back."),
    ]


def add_tenant() -> Ask:
    return Ask(
        title=_("Add a tenant"),
        says=[_("It begins empty, with all switches on, and with you as its admin.")],
        fields=[
            Field(
                "key",
                _("Key"),
                longest=63,
                hint=_("Stands in addresses and can't be changed: a-z, 0-9, _ and -."),
            ),
            Field("name", _("Name"), required=False),
            Field(
                "timezone",
                _("Time zone"),
                kind="choice",
                value="UTC",
                options=local_time.choices(),
            ),
        ],
        verb=_("Add it"),
        url=url_for("settings.add_tenant", tenant=g.tenant.key),
        back=url_for("settings.index", tenant=g.tenant.key),
    )


def add_operator() -> Ask:
    return Ask(
        title=_("Add an operator to %(tenant)s", tenant=g.tenant.key),
        says=[
            _("Who has no account yet gets one. You get a sign-in link to hand over: shown once, good once.")
        ],
        fields=[
            Field("email", _("Mail address"), kind="email", longest=LONGEST_EMAIL),
            _role_field(Role.VIEWER),
        ],
        verb=_("Add"),
        url=url_for("settings.people_add", tenant=g.tenant.key),
        back=url_for("settings.operators", tenant=g.tenant.key),
    )


def _role_field(role: Role) -> Field:
    options = [(one.value, str(ROLES[one])) for one in Role]
    return Field("role", _("Role"), kind="choice", value=role.value, options=options)


def change_role(person: queries.Person) -> Ask:
    return Ask(
        title=_("Change the role of %(email)s", email=person.email),
        says=[
            _("It holds in %(tenant)s, at once.", tenant=g.tenant.key),
            *_about_the_last_admin(person),
            *_about_yourself(person),
        ],
        fields=[_role_field(person.role)],
        verb=_("Change role"),
        url=_of(person, "people_change_role"),
        back=page_of(person),
        hidden={"shown_role": person.role.value},
    )


def take_role_away(person: queries.Person) -> Ask:
    return Ask(
        title=_("Take the role of %(email)s away", email=person.email),
        says=[
            _(
                "They are %(role)s of %(tenant)s, and see nothing of it from then on.",
                role=words.ROLES[person.role],
                tenant=g.tenant.key,
            ),
            _what_stays(person),
            *_about_the_last_admin(person),
            *_about_yourself(person),
        ],
        verb=_("Take role away"),
        kind="danger",
        url=_of(person, "people_take_role_away"),
        back=page_of(person),
        hidden={"shown_role": person.role.value},
    )


def _what_stays(person: queries.Person) -> str:
    if not queries.is_last_role(db.session(), person):
        return _("Their account stays, with their other roles.")
    return _(
        "It is their last role, so the account is emptied: password, second factor and sign-in links go, and "
        "all their sessions end. Only the address stays."
    )


def _about_the_last_admin(person: queries.Person) -> list[str]:
    """`platform` needs no such words: its last admin keeps the role."""
    if person.role is not Role.ADMIN or g.tenant.key == PLATFORM:
        return []
    if not people.is_last_admin(db.session(), g.tenant, person.id):
        return []
    return [
        _(
            "Nobody else is an admin of %(tenant)s: without one, only the command line can give roles there.",
            tenant=g.tenant.key,
        )
    ]


def make_link(person: queries.Person, not_allowed: str | None) -> Ask:
    says = [_("Whoever has the link signs in as %(email)s, once, within 15 minutes.", email=person.email)]
    if person.factor_since is not None:
        says.append(_("They still need a code of their device then."))
    return Ask(
        title=_("Make a sign-in link for %(email)s", email=person.email),
        says=says,
        verb=_("Make a link"),
        url=_of(person, "people_make_link"),
        back=page_of(person),
        refusal=not_allowed or (None if person.active else _("The account is switched off.")),
    )


def reset_factor(person: queries.Person, not_allowed: str | None) -> Ask:
    off = None if person.factor_since else _("The second factor is off.")
    return Ask(
        title=_("Reset the second factor of %(email)s", email=person.email),
        says=[
            _("For somebody who lost their device. A password or a link alone signs them in then."),
            _("All their sessions end. Make sure that it is really them who asks."),
        ],
        verb=_("Reset"),
        kind="danger",
        url=_of(person, "people_reset_factor"),
        back=page_of(person),
        hidden={"shown_since": str(micros(person.factor_since))} if person.factor_since else {},
        refusal=not_allowed or off,
    )


def switch_account(person: queries.Person, on: bool, not_allowed: str | None) -> Ask:
    """`on` is what it is to become."""
    if on:
        title, verb = _("Switch the account of %(email)s on", email=person.email), _("Switch on")
        says = [_("They may sign in again, with the roles that they have in all tenants.")]
    else:
        title, verb = _("Switch the account of %(email)s off", email=person.email), _("Switch off")
        says = [_("They can't sign in any more, in no tenant, and all their sessions end. Their roles stay.")]
    return Ask(
        title=title,
        says=[*says, *_about_yourself(person)],
        verb=verb,
        kind="primary" if on else "danger",
        url=_of(person, "people_switch_account"),
        back=page_of(person),
        hidden={"on": "1" if on else "0"},
        refusal=not_allowed,
    )


def link_told(email: str, link: str, back: str) -> Told:
    return Told(
        title=_("The sign-in link of %(email)s", email=email),
        says=[_("Hand it to them in a way that you trust. It is not shown again, and works for 15 minutes.")],
        label=_("Link"),
        secret=link,
        back=back,
    )


def wants_on(now: bool) -> bool:
    """What a switch is asked to become; where neither form nor address says it, the other of what it is."""
    return {"1": True, "0": False}.get(request.values.get("on", ""), not now)


def chosen() -> bool:
    """What the form says that a switch is to become. Raises `Invalid` on `on`."""
    if request.form.get("on") not in ("0", "1"):
        raise Invalid("on", "is missing; reload the page and try again")
    return request.form["on"] == "1"


def factor_shown() -> int:
    """Since when the second factor was on as the form shows it, in microseconds; 0 where it shows none."""
    given = request.form.get("shown_since", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) <= 20 else 0


def page_of(person: queries.Person) -> str:
    return url_for("settings.operator", tenant=g.tenant.key, operator_id=person.id)


def tenant_page(tenant: Tenant) -> str:
    return url_for("settings.index", tenant=tenant.key)


def _of(person: queries.Person, act: str) -> str:
    return url_for(f"settings.{act}", tenant=g.tenant.key, operator_id=person.id)


def own_account() -> str:
    return _("This is your own account. Go to Your account, which asks for your password.")


def _about_yourself(person: queries.Person) -> list[str]:
    return [_("This is you.")] if person.id == g.operator.id else []
