"""What is asked before an act on a follow-up: what will happen, to whom, and what it needs to know."""

from datetime import datetime, timedelta

from flask import g, request, url_for
from flask_babel import gettext as _
from flask_babel import ngettext

from desk_ui import asking, local_time, words
from desk_ui.asking import Ask, Field
from desk_ui.followups import customers, next_run, refusals
from desk_ui.followups.queries import Row, Scene
from models.base import db
from models.errors import Invalid
from models.followups.records import Contact

LATER = timedelta(hours=1)


def reschedule(row: Row, scene: Scene) -> Ask:
    """Another time for a pending one; the field holds its own time, or in an hour where that is past."""
    at = max(row.at, scene.now + LATER) if row.at <= scene.now else row.at
    refusal = refusals.to_reschedule(row)
    then = _("It waits for the new time, and is judged by the policy then. Nothing is sent now.")
    return Ask(
        title=_("Reschedule the follow-up to %(customer)s", customer=row.customer),
        named=row.customer,
        about=about(row),
        says=[] if refusal else [*next_run.meanwhile(row, scene), then],
        facts=facts(row, scene),
        fields=[
            Field(
                "at",
                _("New time"),
                kind="datetime-local",
                value=local_time.typed(at, scene.zone),
                hint=of_the_time(row, at, scene),
            )
        ],
        verb=_("Reschedule"),
        url=url_for("followups.reschedule", tenant=g.tenant.key, followup_id=row.id),
        back=back(row),
        hidden=hidden(row),
        refusal=refusal,
    )


def of_the_time(row: Row, at: datetime, scene: Scene) -> str:
    """The zone of the time in the field, what the customer's clocks show then, and whether it is quiet hours.

    That time is `at`, or what was sent instead; of one that can't be used only the zone is told.
    """
    found = [_("In %(zone)s.", zone=scene.zone)]
    try:
        if request.method == "POST":
            at = local_time.instant("at", request.form.get("at", ""), scene.zone)
        return " ".join([*found, *_what_it_is(row, at, scene)])
    except (Invalid, OverflowError):
        return " ".join(found)


def _what_it_is(row: Row, at: datetime, scene: Scene) -> list[str]:
    found = []
    if row.zone and differs(row, scene):
        here, there = words.clock(at, scene.zone), words.clock(at, row.zone)
        found.append(
            _("%(here)s is %(there)s for the customer (%(zone)s).", here=here, there=there, zone=row.zone)
        )
    until = scene.quiet_until(row.agent, at)
    if until is not None:
        found.append(_("Quiet hours then, until %(at)s.", at=words.clock(until, scene.zone)))
    return found


def revoke(row: Row, scene: Scene) -> Ask:
    """No agent may write to the customer any more: what goes with it, and what alone brings it back."""
    contact = customers.contact(db.session(), scene.tenant, row.customer)
    waiting = customers.waiting(db.session(), scene.tenant, row.customer)
    refusal = refusals.to_revoke(contact, scene.now)
    says = [
        _("No agent may write to this customer any more."),
        *_cancelled_with_it(waiting),
        *_out_of_reach(waiting),
        _("It can't be undone here: only a message from the customer reopens the contact."),
    ]
    return Ask(
        title=_("Opt %(customer)s out", customer=row.customer),
        named=row.customer,
        about=about(row),
        says=[] if refusal else says,
        facts=_of_contact(row, contact, scene),
        fields=[Field("reason", _("Why"), hint=_("It is kept in the audit."), required=False)],
        verb=_revoke_verb(waiting.followups),
        kind="danger",
        url=url_for("followups.revoke", tenant=g.tenant.key, followup_id=row.id),
        back=back(row),
        hidden=hidden(row) | {"version": str(contact.version if contact else 0)},
        refusal=refusal,
    )


def _revoke_verb(followups: int) -> str:
    if not followups:
        return _("Opt out")
    number = words.count(followups)
    one = _("Opt out and cancel %(n)s follow-up", n=number)
    return one if followups == 1 else _("Opt out and cancel %(n)s follow-ups", n=number)


def _cancelled_with_it(waiting: customers.Waiting) -> list[str]:
    if not waiting.followups and not waiting.tasks:
        return [_("Nothing of theirs is pending, so nothing is cancelled with it.")]
    followups = ngettext(
        "%(n)s pending follow-up",
        "%(n)s pending follow-ups",
        waiting.followups,
        n=words.count(waiting.followups),
    )
    tasks = ngettext("%(n)s queued task", "%(n)s queued tasks", waiting.tasks, n=words.count(waiting.tasks))
    return [
        _("Cancelled with it: %(followups)s and %(tasks)s, of all agents.", followups=followups, tasks=tasks)
    ]


def _out_of_reach(waiting: customers.Waiting) -> list[str]:
    if not waiting.taken:
        return []
    tasks = ngettext("%(n)s task is", "%(n)s tasks are", waiting.taken, n=words.count(waiting.taken))
    return [_("%(tasks)s with agents already, and may still reach them.", tasks=tasks)]


def _of_contact(row: Row, contact: Contact | None, scene: Scene) -> list[tuple[str, str]]:
    found = [(_("Customer"), row.customer)]
    if contact is None:
        return [*found, (_("Contact"), _("Never messaged"))]
    found.append((_("Contact"), str(words.CONTACTS[contact.state])))  # type: ignore[index]
    if contact.last_outbound_at is not None:
        found.append((_("Last fired"), words.exact(contact.last_outbound_at, scene.zone)))
    return found


def facts(row: Row, scene: Scene) -> list[tuple[str, str]]:
    return [
        (_("Customer"), row.customer),
        (_("Reason"), row.reason),
        (_("Promised for"), words.exact(row.at, scene.zone)),
        *([(_("For the customer"), words.exact(row.at, row.zone))] if differs(row, scene) else []),
    ]


def differs(row: Row, scene: Scene) -> bool:
    """Whether the customer's clocks show another time than the page's."""
    return row.zone is not None and row.zone != scene.zone


def about(row: Row) -> str:
    """The follow-up's own page."""
    return url_for("followups.show", tenant=g.tenant.key, followup_id=row.id)


def hidden(row: Row) -> dict[str, str]:
    """What goes round with each question: the row as it was seen, and where it was seen."""
    return asking.seen(row.version)


def back(row: Row) -> str:
    """The page that the question came from: the follow-up's own, or the list."""
    return asking.came_from("followups", followup_id=row.id)
