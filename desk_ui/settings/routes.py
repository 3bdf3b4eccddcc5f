"""Reading the settings: tenants and switches, people, tokens."""

from typing import Any

from flask import abort, g, render_template

from desk_ui.permissions import Permission, may, refusal, requires
from desk_ui.settings import asks, queries
from models import accounts
from models.base import db
from models.operators import Operator
from models.tenants import Feature


@requires(Permission.SEE)
def index() -> str:
    """The tenant at hand with its switches, and the tenants that the person knows."""
    everywhere = may(Permission.TENANTS)
    found = queries.tenants_of(db.session(), g.operator, all_of_them=everywhere)
    return render_template(
        "settings/tenants.html",
        switches=[(one, *asks.FEATURES[one], g.tenant.has(one)) for one in Feature],
        tenants=found[: queries.MOST],
        more=len(found) > queries.MOST,
        everywhere=everywhere,
        refusal=refusal(Permission.TENANTS),
    )


@requires(Permission.OPERATORS)
def operators() -> str:
    people = queries.people(db.session(), g.tenant)
    return render_template(
        "settings/operators.html", people=people[: queries.MOST], more=len(people) > queries.MOST
    )


@requires(Permission.OPERATORS)
def operator(operator_id: int) -> Any:
    """One person with all that can be done about their role and their account."""
    session = db.session()
    person = queries.person(session, g.tenant, operator_id)
    if person is None:
        abort(404)
    not_allowed = accounts.refusal_to_manage(session, session.get_one(Operator, operator_id), g.operator)
    return render_template(
        "settings/operator.html",
        person=person,
        account_refusal=not_allowed,
        proof_refusal=not_allowed or (asks.own_account() if operator_id == g.operator.id else None),
    )


@requires(Permission.TOKENS)
def tokens() -> str:
    used = queries.tokens_in_use(db.session(), g.tenant)
    return render_template(
        "settings/tokens.html",
        used=used[: queries.MOST],
        more=len(used) > queries.MOST,
        revoked=queries.tokens_revoked(db.session(), g.tenant),
    )
