"""What an admin does with the tokens of the API."""

from flask import abort, g, request, url_for
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from desk_ui import asking
from desk_ui.acting import Action, perform
from desk_ui.permissions import Permission, actor, requires
from desk_ui.settings import queries, token_asks
from models import tokens
from models.base import db
from models.tokens import ApiToken
from models.transactions import commit


@requires(Permission.TOKENS)
def ask_add() -> str:
    return asking.show(token_asks.add_token())


@requires(Permission.TOKENS, action="token.added", resource="token")
def add() -> Response:
    """Make a token, shown once."""

    def act() -> tuple[ApiToken, str]:
        made = tokens.add(
            db.session(),
            g.tenant,
            name=request.form.get("name", "").strip(),
            scopes=request.form.getlist("scopes"),
            actor=actor(),
            now=g.now,
        )
        commit(db.session(), "console.settings.add_token")
        return made

    return perform(
        Action(
            name="token.added",
            resource=("token", ""),
            act=act,
            done=lambda _made: "",
            back=lambda _made: _list(),
            ask=token_asks.add_token,
            tell=lambda made: token_asks.token_told(made[0].name, made[1]),
        )
    )


@requires(Permission.TOKENS)
def ask_revocation(token_id: int) -> str:
    return asking.show(token_asks.revoke_token(_token(token_id)))


@requires(Permission.TOKENS, action="token.revoked", resource="token", argument="token_id")
def revoke(token_id: int) -> Response:
    """Put a token out of use, at once and for good."""

    def act() -> tuple[ApiToken, bool]:
        revoked = tokens.revoke_by_id(db.session(), g.tenant, token_id, actor=actor(), now=g.now)
        commit(db.session(), "console.settings.revoke_token")
        return revoked

    return perform(
        Action(
            name="token.revoked",
            resource=("token", str(token_id)),
            act=act,
            done=lambda found: (
                _("Revoked the token %(name)s.", name=found[0].name)
                if found[1]
                else _("The token %(name)s was revoked already.", name=found[0].name)
            ),
            back=lambda _found: _list(),
            ask=lambda: token_asks.revoke_token(_token(token_id)),
        )
    )


def _token(token_id: int) -> ApiToken:
    found = queries.token(db.session(), g.tenant, token_id)
    if found is None:
        abort(404)
    return found


def _list() -> str:
    return url_for("settings.tokens", tenant=g.tenant.key)
