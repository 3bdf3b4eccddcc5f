"""What is asked before an act on a follow-up: what will happen, to whom, and what it needs to know."""

from datetime import timedelta

from flask import g, request, url_for
from flask_babel import gettext as _

from desk_ui import local_time, words
from desk_ui.asking import Ask, Field
from desk_ui.followups.queries import Row, Scene
from desk_ui.permissions import Permission, refusal
from models.followups import transitions

LATER = timedelta(hours=1)


def reschedule(row: Row, scene: Scene) -> Ask:
    """Another time for a pending one; the field holds its own time, or in an hour where that is past."""
    at = max(row.at, scene.now + LATER) if row.at <= scene.now else row.at
    return Ask(
        title=_("Reschedule the follow-up to %(customer)s", customer=row.customer),
        says=[_("It waits for the new time, and is judged by the policy then. Nothing is sent now.")],
        facts=_facts(row, scene),
        fields=[
            Field(
                "at",
                _("New time"),
                kind="datetime-local",
                value=local_time.typed(at, scene.zone),
                hint=_("In %(zone)s.", zone=scene.zone),
            )
        ],
        verb=_("Reschedule"),
        url=url_for("followups.reschedule", tenant=g.tenant.key, followup_id=row.id),
        back=back(row),
        hidden=hidden(row),
        refusal=refusal(Permission.ACT_ON_FOLLOWUPS) or transitions.refusal_to_reschedule(row),  # type: ignore[arg-type]
    )


def _facts(row: Row, scene: Scene) -> list[tuple[str, str]]:
    return [
        (_("Customer"), row.customer),
        (_("Reason"), row.reason),
        (_("Promised for"), words.exact(row.at, scene.zone)),
    ]


def hidden(row: Row) -> dict[str, str]:
    """What goes round with each question: the row as it was seen, and where it was seen."""
    return {
        "version": str(row.version),
        "list": request.values.get("list", ""),
        "shown": "panel" if request.values.get("shown") == "panel" else "row",
    }


def back(row: Row) -> str:
    """The page that the question came from: the follow-up's own, or the list."""
    given = request.values.get("list", "")
    if request.values.get("shown") == "row":
        return url_for("followups.index", tenant=g.tenant.key) + (f"?{given}" if given else "")
    return url_for("followups.show", tenant=g.tenant.key, followup_id=row.id, list=given or None)
