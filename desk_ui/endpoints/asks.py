"""What is asked before an act on an endpoint: what will happen, and to how many deliveries."""

from flask import g, url_for
from flask_babel import gettext as _
from flask_babel import ngettext

from desk_ui import words
from desk_ui.asking import Ask, Field, Told
from desk_ui.deliveries.queries import waiting_for as count_waiting
from desk_ui.endpoints import views
from desk_ui.endpoints.queries import Row
from models import endpoint_urls
from models.base import db
from models.endpoints import ALL, EMITTED, TEST_EVENT


def add() -> Ask:
    return Ask(
        title=_("Add an endpoint"),
        says=[_("Events are sent to it from now on, signed with a secret that is shown once.")],
        fields=_fields("", ALL),
        verb=_("Add it"),
        url=url_for("endpoints.add", tenant=g.tenant.key),
        back=url_for("endpoints.index", tenant=g.tenant.key),
        refusal=views.refusal_to_change(),
    )


def edit(row: Row) -> Ask:
    """Shows the whole address, so it is only for who may change it."""
    return Ask(
        title=_("Edit the endpoint %(origin)s", origin=endpoint_urls.origin(row.url)),
        says=[
            _("What waits is sent to the new address too. Events that were told already are not sent again.")
        ],
        fields=_fields(row.url, " ".join(row.event_types)),
        verb=_("Save"),
        url=_of(row, "edit"),
        back=page_of(row),
        hidden=_hidden(row),
        refusal=views.refusal_to_change(),
    )


def _fields(url: str, types: str) -> list[Field]:
    # What was asked for over the API stays to be ticked, so that saving drops nothing unseen.
    offered = sorted({*EMITTED, *types.split()} - {ALL, TEST_EVENT})
    named = [(name, words.event(name)) for name in offered]
    return [
        Field(
            "url",
            _("Address"),
            kind="url",
            value=url,
            longest=endpoint_urls.LENGTH,
            hint=_("Begins with https://. Lists show its host only: the rest may hold a secret."),
        ),
        Field(
            "event_types",
            _("Events"),
            kind="choices",
            value=types,
            required=False,
            options=[(ALL, _("All, also those to come")), *named],
        ),
    ]


def pause(row: Row) -> Ask:
    waiting = _waiting(row)
    return Ask(
        title=_("Pause the endpoint %(origin)s", origin=endpoint_urls.origin(row.url)),
        says=[
            _("Nothing is sent to it until it is resumed: %(waiting)s.", waiting=views.waits(waiting)),
            _("Events that happen while it is paused are not kept for it."),
        ],
        fields=[
            Field("reason", _("Reason"), required=False, hint=_("Shown to everybody until it is resumed."))
        ],
        verb=_("Pause it"),
        kind="danger",
        url=_of(row, "pause"),
        back=page_of(row),
        hidden=_hidden(row),
        refusal=views.refusal_to_pause(row),
    )


def resume(row: Row) -> Ask:
    waiting = _waiting(row)
    return Ask(
        title=_("Resume the endpoint %(origin)s", origin=endpoint_urls.origin(row.url)),
        says=[
            _("%(waiting)s: what is due is sent at once, the oldest first.", waiting=_capital(waiting))
            if waiting
            else _("No delivery waits. What happens from now on is sent."),
        ],
        verb=_("Resume it"),
        url=_of(row, "resume"),
        back=page_of(row),
        hidden=_hidden(row),
        refusal=views.refusal_to_resume(row),
    )


def rotate(row: Row) -> Ask:
    return Ask(
        title=_("Rotate the secret of %(origin)s", origin=endpoint_urls.origin(row.url)),
        says=[
            _("The old secret stops at once: each attempt from now on is signed with the new one."),
            _(
                "Until the receiver has the new one it should refuse what it gets. That is tried again for "
                "about three days, so nothing is lost if it gets the new one today."
            ),
            _("The new secret is shown once. This can't be undone."),
        ],
        verb=_("Rotate the secret"),
        kind="danger",
        url=_of(row, "rotate"),
        back=page_of(row),
        hidden=_hidden(row),
        refusal=views.refusal_to_change(),
    )


def remove(row: Row) -> Ask:
    waiting = _waiting(row)
    return Ask(
        title=_("Remove the endpoint %(origin)s", origin=endpoint_urls.origin(row.url)),
        says=[
            _given_up(waiting),
            _("Its secret and all of its address but the host are forgotten. This can't be undone."),
        ],
        verb=_("Remove it"),
        kind="danger",
        url=_of(row, "remove"),
        back=page_of(row),
        hidden=_hidden(row),
        refusal=views.refusal_to_change(),
    )


def told(row: Row, secret: str, *, rotated: bool) -> Told:
    """The secret, this once."""
    origin = endpoint_urls.origin(row.url)
    return Told(
        title=_("The new secret of %(origin)s", origin=origin)
        if rotated
        else _("The secret of %(origin)s", origin=origin),
        says=[
            _("Give it to the receiver, which checks each signature with it."),
            _("It is not shown again. If it is lost, rotate it."),
        ],
        label=_("Secret"),
        secret=secret,
        back=page_of(row),
    )


def page_of(row: Row) -> str:
    return url_for("endpoints.show", tenant=g.tenant.key, endpoint_id=row.id)


def _of(row: Row, act: str) -> str:
    return url_for(f"endpoints.{act}", tenant=g.tenant.key, endpoint_id=row.id)


def _hidden(row: Row) -> dict[str, str]:
    return {"version": str(row.version)}


def _waiting(row: Row) -> int:
    return count_waiting(db.session(), g.tenant, row.id)


def _capital(waiting: int) -> str:
    said = views.waits(waiting)
    return said[:1].upper() + said[1:]


def _given_up(waiting: int) -> str:
    if not waiting:
        return _("No delivery to it waits. Nothing is sent to it any more.")
    return ngettext(
        "%(n)s delivery to it waits, and is given up. Nothing is sent to it any more.",
        "%(n)s deliveries to it wait, and are given up. Nothing is sent to it any more.",
        waiting,
        n=words.count(waiting),
    )
