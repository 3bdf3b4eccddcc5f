"""What is asked before an act on the tokens of the API."""

from flask import g, url_for
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _l

from desk_ui import words
from desk_ui.asking import Ask, Field, Told
from models.tokens import ApiToken, Scope

SCOPES = {
    Scope.READ: _l("read: see rows and events"),
    Scope.INGEST: _l("ingest: send messages and outcomes, book follow-ups"),
    Scope.OPERATE: _l("operate: act as an operator does"),
}


def add_token() -> Ask:
    return Ask(
        title=_("Add an API token to %(tenant)s", tenant=g.tenant.key),
        says=[_("The token is shown once. Whoever has it may do what its scopes say, until it is revoked.")],
        fields=[
            Field("name", _("Name"), hint=_("What the audit calls it, such as the program that uses it.")),
            Field(
                "scopes",
                _("Scopes"),
                kind="choices",
                value=Scope.READ.value,
                required=False,
                options=[(scope.value, str(SCOPES[scope])) for scope in Scope],
            ),
        ],
        verb=_("Add it"),
        url=url_for("settings.tokens_add", tenant=g.tenant.key),
        back=url_for("settings.tokens", tenant=g.tenant.key),
    )


def token_told(name: str, secret: str) -> Told:
    return Told(
        title=_("The token %(name)s", name=name),
        says=[
            _("Give it to the program that calls the API. It is not shown again; if it is lost, add another.")
        ],
        label=_("Token"),
        secret=secret,
        back=url_for("settings.tokens", tenant=g.tenant.key),
    )


def revoke_token(token: ApiToken) -> Ask:
    used = words.distance(token.last_used_at, g.now) if token.last_used_at else _("never")
    return Ask(
        title=_("Revoke the token %(name)s", name=token.name),
        says=[_("Programs that use it are refused at once. This can't be undone.")],
        facts=[(_("Scopes"), ", ".join(token.scopes)), (_("Last used"), used)],
        verb=_("Revoke"),
        kind="danger",
        url=url_for("settings.tokens_revoke", tenant=g.tenant.key, token_id=token.id),
        back=url_for("settings.tokens", tenant=g.tenant.key),
        refusal=_("It was revoked already.") if token.revoked_at else None,
    )
