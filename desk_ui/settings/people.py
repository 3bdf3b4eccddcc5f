"""What an admin does with the people of a tenant: their role in it, and where allowed their whole account."""

from collections.abc import Callable
from typing import TypeVar

from flask import abort, current_app, g, request, url_for
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from desk_ui import asking, words
from desk_ui.acting import Action, perform
from desk_ui.asking import Ask, Told
from desk_ui.permissions import Permission, actor, record_refusal, requires
from desk_ui.requests import settings_of
from desk_ui.settings import asks, queries
from models import accounts, operators, second_factor
from models.base import db
from models.errors import Conflict
from models.operators import NO_ROLE, Operator, Role
from models.transactions import commit

T = TypeVar("T")


@requires(Permission.OPERATORS)
def ask_add() -> str:
    return asking.show(asks.add_operator())


@requires(Permission.OPERATORS, action="operator.added", resource="operator")
def add() -> Response:
    """Give somebody a role; without an account they get one, and whoever adds them a link, shown once."""
    email, role = request.form.get("email", ""), request.form.get("role", "")
    account = operators.known(db.session(), email)
    is_new = account is None
    # Not what was typed: it may be anything, or the address of somebody whom the tenant doesn't know.
    named = str(account.id) if account and _is_here(account) else ""

    def act() -> tuple[Operator, str]:
        session = db.session()
        added, _changed = operators.add(
            session, email, tenant=g.tenant, role=role, actor=actor(), now=g.now, expected=NO_ROLE
        )
        if is_new and added.created_at != g.now:
            raise Conflict(f"{added.email} got an account by somebody else meanwhile. Look again.")
        secret = operators.make_link(session, added, actor=actor(), now=g.now) if is_new else ""
        commit(session, "console.settings.add_operator")
        return added, secret

    def told(made: tuple[Operator, str]) -> Told:
        return asks.link_told(made[0].email, _address(made[1]), _page(made[0].id))

    return perform(
        Action(
            name="operator.added",
            resource=("operator", named),
            act=act,
            done=lambda made: _added(made[0], role),
            back=lambda made: _page(made[0].id) if made else _list(),
            ask=asks.add_operator,
            tell=told if is_new else None,
        )
    )


@requires(Permission.OPERATORS)
def ask_role(operator_id: int) -> str:
    return asking.show(asks.change_role(_person(operator_id)))


@requires(Permission.OPERATORS, action="operator.role_changed", resource="operator", argument="operator_id")
def change_role(operator_id: int) -> Response:
    """Give somebody another role than the one that was shown."""
    person, role = _person(operator_id), request.form.get("role", "")

    def act() -> None:
        operators.add(
            db.session(),
            person.email,
            tenant=g.tenant,
            role=role,
            actor=actor(),
            now=g.now,
            expected=request.form.get("shown_role", ""),
        )
        commit(db.session(), "console.settings.change_role")

    return _on_one(
        "operator.role_changed", person, act, lambda _nothing: _is_now(person.email, role), asks.change_role
    )


@requires(Permission.OPERATORS)
def ask_removal(operator_id: int) -> str:
    return asking.show(asks.take_role_away(_person(operator_id)))


@requires(Permission.OPERATORS, action="operator.role_revoked", resource="operator", argument="operator_id")
def take_role_away(operator_id: int) -> Response:
    """End the role that was shown."""
    person = _person(operator_id)
    said = _("%(email)s has no role in %(tenant)s any more.", email=person.email, tenant=g.tenant.key)
    if queries.is_last_role(db.session(), person):
        said += " " + _("It was their last role, so the account is emptied, and their sessions ended.")

    def act() -> None:
        session = db.session()
        operators.revoke_role(
            session,
            session.get_one(Operator, person.id),
            tenant=g.tenant,
            actor=actor(),
            now=g.now,
            expected=request.form.get("shown_role", ""),
        )
        commit(session, "console.settings.take_role_away")

    return _on_one(
        "operator.role_revoked", person, act, lambda _nothing: said, asks.take_role_away, gone=True
    )


@requires(Permission.OPERATORS)
def ask_link(operator_id: int) -> str:
    person = _person(operator_id)
    return asking.show(asks.make_link(person, _not_allowed(person, own=False)))


@requires(Permission.OPERATORS, action="operator.link_made", resource="operator", argument="operator_id")
def make_link(operator_id: int) -> Response:
    """A link that signs somebody in, shown once."""
    person = _managed(operator_id, "operator.link_made", own=False)

    def act() -> str:
        session = db.session()
        secret = operators.make_link(session, session.get_one(Operator, person.id), actor=actor(), now=g.now)
        commit(session, "console.settings.make_link")
        return secret

    return perform(
        Action(
            name="operator.link_made",
            resource=("operator", str(person.id)),
            act=act,
            done=lambda _secret: "",
            back=lambda _secret: _page(person.id),
            ask=lambda: asks.make_link(_person(person.id), None),
            tell=lambda secret: asks.link_told(person.email, _address(secret), _page(person.id)),
        )
    )


@requires(Permission.OPERATORS)
def ask_factor_reset(operator_id: int) -> str:
    person = _person(operator_id)
    return asking.show(asks.reset_factor(person, _not_allowed(person, own=False)))


@requires(Permission.OPERATORS, action="operator.factor_reset", resource="operator", argument="operator_id")
def reset_factor(operator_id: int) -> Response:
    """Let somebody who lost their device sign in without it."""
    person, shown = _managed(operator_id, "operator.factor_reset", own=False), asks.factor_shown()

    def act() -> bool:
        session = db.session()
        account = session.get_one(Operator, person.id)
        was_on = second_factor.reset(session, account, actor=actor(), now=g.now, shown_since=shown)
        commit(session, "console.settings.reset_factor")
        return was_on

    def done(was_on: bool) -> str:
        if was_on:
            return _("The second factor of %(email)s is off, and their sessions ended.", email=person.email)
        return _("The second factor of %(email)s was off already. Nothing changed.", email=person.email)

    return _on_one("operator.factor_reset", person, act, done, lambda one: asks.reset_factor(one, None))


@requires(Permission.OPERATORS)
def ask_switching(operator_id: int) -> str:
    person = _person(operator_id)
    return asking.show(asks.switch_account(person, asks.wants_on(person.active), _not_allowed(person)))


@requires(Permission.OPERATORS, action="operator.switched", resource="operator", argument="operator_id")
def switch_account(operator_id: int) -> Response:
    """Switch somebody's account on or off, in all tenants."""
    person, on = _managed(operator_id, "operator.switched"), asks.chosen()

    def act() -> None:
        session = db.session()
        accounts.set_active(session, session.get_one(Operator, person.id), on, actor=actor(), now=g.now)
        commit(session, "console.settings.switch_account")

    said = _("The account of %(email)s is on.", email=person.email)
    if not on:
        said = _("The account of %(email)s is off, and their sessions ended.", email=person.email)
    return _on_one(
        "operator.switched",
        person,
        act,
        lambda _nothing: said,
        lambda one: asks.switch_account(one, on, None),
    )


def _on_one(
    name: str,
    person: queries.Person,
    act: Callable[[], T],
    done: Callable[[T], str],
    ask: Callable[[queries.Person], Ask],
    *,
    gone: bool = False,
) -> Response:
    """Run an act on somebody, and come back to their page, or to the list where they are `gone` from it."""
    back = _list() if gone else _page(person.id)
    if person.id == g.operator.id:
        # Who acts on themselves may not be allowed to see either afterwards.
        back = url_for("account.home")
    return perform(
        Action(
            name=name,
            resource=("operator", str(person.id)),
            act=act,
            done=done,
            back=lambda _nothing: back,
            ask=lambda: ask(_person(person.id)),
        )
    )


def _person(operator_id: int) -> queries.Person:
    found = queries.person(db.session(), g.tenant, operator_id)
    if found is None:
        abort(404)
    return found


def _is_here(account: Operator) -> bool:
    return queries.person(db.session(), g.tenant, account.id) is not None


def _managed(operator_id: int, action: str, *, own: bool = True) -> queries.Person:
    """Somebody whose whole account the person at hand may act on; else 403, which is audited."""
    person = _person(operator_id)
    reason = _not_allowed(person, own=own)
    if reason is not None:
        record_refusal(action, ("operator", str(person.id)), purpose="role")
        abort(403, reason)
    return person


def _not_allowed(person: queries.Person, *, own: bool = True) -> str | None:
    """`own` says whether it is allowed on one's own account: what would do without the password is not."""
    if not own and person.id == g.operator.id:
        return asks.own_account()
    account = db.session().get_one(Operator, person.id)
    return accounts.refusal_to_manage(db.session(), account, g.operator)


def _added(added: Operator, role: str) -> str:
    if not added.active:
        return _(
            "%(email)s is %(role)s of %(tenant)s now, but the account is switched off.",
            email=added.email,
            role=words.ROLES[Role(role)],
            tenant=g.tenant.key,
        )
    said = _is_now(added.email, role)
    if added.password is None:
        return said + " " + _("They have an account already, without a password: they sign in by a link.")
    return said + " " + _("They have an account already, and sign in as before.")


def _is_now(email: str, role: str) -> str:
    named = words.ROLES[Role(role)]
    return _("%(email)s is %(role)s of %(tenant)s now.", email=email, role=named, tenant=g.tenant.key)


def _address(secret: str) -> str:
    base = settings_of(current_app).public_url or request.url_root
    return base.rstrip("/") + url_for("account.sign_in_by_link", secret=secret)


def _page(operator_id: int) -> str:
    return url_for("settings.operator", tenant=g.tenant.key, operator_id=operator_id)


def _list() -> str:
    return url_for("settings.operators", tenant=g.tenant.key)
