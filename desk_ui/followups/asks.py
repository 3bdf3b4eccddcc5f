"""What is asked before an act on a follow-up: what will happen, to whom, and what it needs to know."""

from datetime import datetime, timedelta
from uuid import UUID

from flask import g, url_for
from flask_babel import gettext as _
from flask_babel import ngettext
from markupsafe import Markup

from desk_ui import asking, local_time, words
from desk_ui.asking import Ask, Field
from desk_ui.followups import customers, refusals
from desk_ui.followups.detail import gate_lines
from desk_ui.followups.queries import Row, Scene
from models.base import db
from models.followups import booking
from models.followups.foresight import Foresight, foresee
from models.followups.records import Block, Contact, Status

LATER = timedelta(hours=1)


def reschedule(row: Row, scene: Scene) -> Ask:
    """Another time for a pending one; the field holds its own time, or in an hour where that is past."""
    at = max(row.at, scene.now + LATER) if row.at <= scene.now else row.at
    refusal = refusals.to_reschedule(row)
    then = _("It waits for the new time, and is judged by the policy then. Nothing is sent now.")
    return Ask(
        title=_("Reschedule the follow-up to %(customer)s", customer=row.customer),
        says=[] if refusal else [then],
        facts=_facts(row, scene),
        fields=[
            Field(
                "at",
                _("New time"),
                kind="datetime-local",
                value=local_time.typed(at, scene.zone),
                hint=_of_the_time(row, at, scene),
            )
        ],
        verb=_("Reschedule"),
        url=url_for("followups.reschedule", tenant=g.tenant.key, followup_id=row.id),
        back=back(row),
        hidden=hidden(row),
        refusal=refusal,
    )


def _of_the_time(row: Row, at: datetime, scene: Scene) -> str:
    """In which zone `at` is, what the customer's clocks show then, and whether it is quiet hours."""
    found = [_("In %(zone)s.", zone=scene.zone)]
    if row.zone and row.zone != scene.zone:
        here, there = words.clock(at, scene.zone), words.clock(at, row.zone)
        found.append(
            _("%(here)s is %(there)s for the customer (%(zone)s).", here=here, there=there, zone=row.zone)
        )
    until = scene.quiet_until(row.agent, at)
    if until is not None:
        found.append(_("Quiet hours then, until %(at)s.", at=words.clock(until, scene.zone)))
    return " ".join(found)


def rearm(row: Row, scene: Scene) -> Ask:
    """A cancelled or blocked one booked again: why it came to that, and what would come of it now."""
    at = scene.now + LATER
    first = booking.get(db.session(), scene.tenant.id, row.id)
    foresight = foresee(db.session(), first, declared=scene.declared, now=at)
    free = _free_at(foresight, at)
    twin = customers.pending_twin(db.session(), scene.tenant, row)
    refusal = refusals.to_rearm(row, foresight.contact) or (refusals.pending_already() if twin else None)
    return Ask(
        title=_("Re-arm the follow-up to %(customer)s", customer=row.customer),
        note=_with_link(refusals.pending_already(), twin) if twin else "",
        says=[
            *_why_it_ended(row, scene, foresight),
            *_booked_again(scene, row),
            *([] if refusal else _of_the_new_one(free, scene)),
        ],
        facts=_facts(row, scene),
        fields=[
            Field(
                "at",
                _("When"),
                kind="datetime-local",
                value=local_time.typed(free or at, scene.zone),
                hint=_("In %(zone)s, at least 5 minutes ahead.", zone=scene.zone),
            ),
            Field("reason", _("Why it is booked again"), hint=_("It is kept in the audit.")),
        ],
        verb=_("Re-arm"),
        url=url_for("followups.rearm", tenant=g.tenant.key, followup_id=row.id),
        back=back(row),
        hidden=hidden(row),
        refusal=refusal,
    )


def already_pending(prior: UUID | str) -> Markup:
    """That the same waits already, with the way to it."""
    return _with_link(_("The same follow-up is pending already, so nothing was booked."), prior)


def _with_link(said: str, prior: UUID | str) -> Markup:
    url = url_for("followups.show", tenant=g.tenant.key, followup_id=prior)
    link = Markup('<a href="%s">%s</a>') % (url, _("Show the pending one"))
    return Markup("%s %s") % (said, link)


def _why_it_ended(row: Row, scene: Scene, foresight: Foresight) -> list[str]:
    when = words.relative(row.updated_at, scene.now, scene.zone)
    verdict = foresight.verdict
    if row.status == Status.CANCELLED:
        who, opted_out = row.cancelled_by, refusals.with_opt_out(row.cancelled_by)
        ended = _("It was cancelled %(when)s by %(who)s.", when=when, who=who) if who else ""
        if opted_out:
            ended = _("It was cancelled %(when)s: opted out by %(who)s.", when=when, who=opted_out)
        return [one for one in (ended, _then(foresight, scene)) if one]
    if row.status != Status.BLOCKED:
        return []
    told = _("It was blocked %(when)s: %(why)s.", when=when, why=words.block(row.blocked_reason))
    number = next((n for n, gate in enumerate(foresight.gates) if gate.block == row.blocked_reason), None)
    if number is None:
        return [told, _then(foresight, scene)]
    says = gate_lines(foresight, scene)[number].says
    if foresight.gates[number].passes:
        return [told, _("That no longer stands: %(says)s.", says=says.rstrip(".")), _then(foresight, scene)]
    stands = _("That still stands: %(says)s.", says=says.rstrip("."))
    # Where the same gate would stop it again, no more is to be said.
    return [told, stands, *([] if verdict.block == row.blocked_reason else [_then(foresight, scene)])]


def _of_the_new_one(free: datetime | None, scene: Scene) -> list[str]:
    found = [_("It is booked anew for the time below, and judged by the policy then. This one stays.")]
    if free is not None:
        found.insert(0, _("Earliest: %(at)s.", at=words.day_and_time(free, scene.now, scene.zone)))
    return found


def _free_at(foresight: Foresight, at: datetime) -> datetime | None:
    """The first whole minute at which the ceiling, which alone would stop it at `at`, lets it through."""
    if foresight.verdict.block not in (None, Block.FREQUENCY):
        return None
    last = foresight.full_until(at)
    return last.replace(second=0, microsecond=0) + timedelta(minutes=1) if last else None


def _then(foresight: Foresight, scene: Scene) -> str:
    """What firing would do at the time that stands in the field at first."""
    verdict = foresight.verdict
    if verdict.block is not None:
        return _("In an hour it would be blocked: %(why)s.", why=words.block(verdict.block))
    if verdict.defer_until is not None:
        until = words.day_and_time(verdict.defer_until, scene.now, scene.zone)
        return _("In an hour it would wait for the end of quiet hours, %(until)s.", until=until)
    return _("As things stand it would fire in an hour.")


def _booked_again(scene: Scene, row: Row) -> list[str]:
    again = customers.rearmed_as(db.session(), scene.tenant, row.id)
    if again is None:
        return []
    when = words.distance(again.created_at, scene.now)
    return [
        _("It was booked again once already, %(when)s; that one is %(state)s.", when=when, state=again.status)
    ]


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
        found.append((_("Last message"), words.exact(contact.last_outbound_at, scene.zone)))
    return found


def _facts(row: Row, scene: Scene) -> list[tuple[str, str]]:
    return [
        (_("Customer"), row.customer),
        (_("Reason"), row.reason),
        (_("Promised for"), words.exact(row.at, scene.zone)),
    ]


def hidden(row: Row) -> dict[str, str]:
    """What goes round with each question: the row as it was seen, and where it was seen."""
    return asking.seen(row.version)


def back(row: Row) -> str:
    """The page that the question came from: the follow-up's own, or the list."""
    return asking.came_from("followups", followup_id=row.id)
