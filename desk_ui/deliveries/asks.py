"""What is asked before a dead delivery is sent again."""

from flask import g, url_for
from flask_babel import gettext as _

from desk_ui import asking, words
from desk_ui.asking import Ask, Field
from desk_ui.deliveries import addresses, views
from desk_ui.deliveries.queries import Row
from models import endpoint_urls
from models.deliveries import ERROR_LENGTH
from models.endpoints import EndpointState
from models.sending import MOST_ATTEMPTS


def rearm(row: Row) -> Ask:
    """A person decides that it is sent again, knowing that the receiver may have it already."""
    origin = endpoint_urls.origin(row.url)
    return Ask(
        title=_("Re-arm the delivery to %(origin)s", origin=origin),
        says=[_will_be_sent(row), _may_come_twice(row), _("Once it is sent, this can't be undone.")],
        facts=[
            (_("Event"), words.event(row.event_type)),
            (_("About"), views.about(row)[0]),
            (_("Given up"), words.exact(row.updated_at, g.zone)),
            (_("Last answer"), views.answer(row)),
        ],
        fields=[
            Field(
                "reason",
                _("Why is it sent again?"),
                kind="textarea",
                longest=ERROR_LENGTH,
                hint=_("Kept with the delivery, for those who look later."),
            )
        ],
        verb=_("Re-arm it"),
        kind="danger",
        url=url_for("deliveries.rearm", tenant=g.tenant.key, delivery_id=row.id),
        back=back(row),
        hidden=hidden(row),
        refusal=views.refusal_to_rearm(row),
    )


def _will_be_sent(row: Row) -> str:
    if row.endpoint_state == EndpointState.PAUSED:
        return _(
            "Its endpoint is paused, so it is sent when that is resumed, with %(n)s attempts.",
            n=MOST_ATTEMPTS,
        )
    return _("It is sent at once, with %(n)s attempts as at first.", n=MOST_ATTEMPTS)


def _may_come_twice(row: Row) -> str:
    return _(
        "The receiver may have taken it already, although no answer or another one came. Then it gets it a "
        "second time, under the same webhook-id evt_%(id)s, by which it can tell.",
        id=row.event_id,
    )


def hidden(row: Row) -> dict[str, str]:
    """What goes round with the question: the row as it was seen, and where it was seen."""
    return {**asking.seen(row.version), addresses.FIELD: row.addresses}


def back(row: Row) -> str:
    """The page that the question came from: the delivery's own, or the list."""
    return asking.came_from("deliveries", delivery_id=row.id)
