"""What is asked before a follow-up is booked again: why it ended, what would come of it, and of consent."""

from datetime import datetime, timedelta
from uuid import UUID

from flask import g, url_for
from flask_babel import gettext as _
from markupsafe import Markup

from desk_ui import local_time, words
from desk_ui.asking import Ask, Field
from desk_ui.followups import asked, customers, foretelling, refusals
from desk_ui.followups.asks import about, back, facts, hidden, of_the_time
from desk_ui.followups.gates import gate_lines
from desk_ui.followups.queries import Row, Scene
from models.base import db
from models.followups import booking, since
from models.followups.foresight import Foresight, foresee
from models.followups.records import Block, Status
from models.followups.since import Since

LATER = timedelta(hours=1)


def rearm(row: Row, scene: Scene) -> Ask:
    """A cancelled or blocked one booked again: why it came to that, and what would come of it now."""
    at = scene.now + LATER
    first = booking.get(db.session(), scene.tenant.id, row.id)
    foresight = foresee(db.session(), first, declared=scene.declared, now=scene.now, at=at, consents=True)
    free = _free_at(foresight, at)
    twin = booking.pending_twin(db.session(), scene.tenant.id, row)
    known = since.read(db.session(), first)
    task, _history = asked.task_of(db.session(), scene.tenant, first)
    refusal = refusals.to_rearm(row, foresight.contact, task)
    refusal = refusal or (refusals.pending_already() if twin else None)
    consents = refusal is None and foresight.contact is None
    return Ask(
        title=_("Re-arm the follow-up to %(customer)s", customer=row.customer),
        named=row.customer,
        note=_with_link(refusals.pending_already(), twin) if twin else "",
        about=about(row),
        says=[
            *_why_it_ended(row, scene, foresight),
            *_booked_again(scene, row),
            *_fired_since(scene, known),
            *([_of_consent()] if consents else []),
            *([] if refusal else _of_the_new_one(foresight, free, scene)),
        ],
        facts=facts(row, scene),
        fields=[
            Field(
                "at",
                _("When"),
                kind="datetime-local",
                value=local_time.typed(free or at, scene.zone),
                hint=f"{of_the_time(row, free or at, scene)} {_('At least 5 minutes ahead.')}",
            ),
            Field("reason", _("Why it is booked again"), hint=_("It is kept in the audit.")),
        ],
        verb=_("Re-arm and record consent") if consents else _("Re-arm"),
        kind="danger" if consents or known.fired else "primary",
        url=url_for("followups.rearm", tenant=g.tenant.key, followup_id=row.id),
        back=back(row),
        hidden=hidden(row) | {"known": known.sign} | ({"consent": "1"} if consents else {}),
        refusal=refusal,
    )


def already_pending(prior: UUID | str) -> Markup:
    """That the same waits already, with the way to it."""
    return _with_link(_("The same follow-up is pending already, so nothing was booked."), prior)


def _with_link(said: str, prior: UUID | str) -> Markup:
    url = url_for("followups.show", tenant=g.tenant.key, followup_id=prior)
    return with_link(said, url, _("Show the pending one"))


def with_link(said: str, url: str, text: str) -> Markup:
    """A sentence and the way to what it speaks of."""
    return Markup('%s <a href="%s">%s</a>') % (said, url, text)


def _of_consent() -> str:
    there_is_none = _("There is no consent on record.")
    return f"{there_is_none} {_('To book it again records consent for this customer, in your name.')}"


def _why_it_ended(row: Row, scene: Scene, foresight: Foresight) -> list[str]:
    when = words.relative(row.updated_at, scene.now, scene.zone)
    then = [foretelling.in_an_hour(foresight, scene)]
    again = foretelling.blocked_again(row, foresight.verdict.block)
    if again:
        then.append(again)
    if row.status == Status.CANCELLED:
        who, opted_out = row.cancelled_by, refusals.with_opt_out(row.cancelled_by)
        ended = _("It was cancelled %(when)s by %(who)s.", when=when, who=who) if who else ""
        if opted_out:
            ended = _("It was cancelled %(when)s: opted out by %(who)s.", when=when, who=opted_out)
        return [one for one in (ended, *then) if one]
    if row.status != Status.BLOCKED:
        return []
    told = _("It was blocked %(when)s: %(why)s.", when=when, why=words.block(row.blocked_reason))
    number = next((n for n, gate in enumerate(foresight.gates) if gate.block == row.blocked_reason), None)
    if number is None or (row.blocked_reason == Block.CONSENT and foresight.contact is None):
        return [told, *then]
    says = gate_lines(foresight, scene)[number].says.rstrip(".")
    if foresight.gates[number].passes:
        return [told, _("That no longer stands: %(says)s.", says=says), *then]
    # Where the same gate would stop it again, no more is to be said than what would change that.
    same = foresight.verdict.block == row.blocked_reason
    return [told, _("That still stands: %(says)s.", says=says), *(then[1:] if same else then)]


def _of_the_new_one(foresight: Foresight, free: datetime | None, scene: Scene) -> list[str]:
    found = [_("It is booked anew for the time below, and judged by the policy then. This one stays.")]
    if free is not None:
        found.insert(0, foretelling.earliest(free, len(foresight.waiting_by(free)), scene))
    return found


def _free_at(foresight: Foresight, at: datetime) -> datetime | None:
    """The first whole minute at which the ceiling, which alone would stop it at `at`, lets it through."""
    if foresight.verdict.block not in (None, Block.FREQUENCY) or foresight.full_until(at) is None:
        return None
    return foresight.free_at(at)


def _booked_again(scene: Scene, row: Row) -> list[str]:
    again = customers.rearmed_as(db.session(), scene.tenant, row.id)
    if again is None:
        return []
    when = words.distance(again.created_at, scene.now)
    return [
        _("It was booked again once already, %(when)s; that one is %(state)s.", when=when, state=again.status)
    ]


def _fired_since(scene: Scene, known: Since) -> list[str]:
    """That the customer may have the message already, by another follow-up of the same agent and reason."""
    if known.fired is None or known.fired_at is None:
        return []
    when = words.relative(known.fired_at, scene.now, scene.zone)
    said = _("The same fired %(when)s by another follow-up: its message may have gone out.", when=when)
    url = url_for("followups.show", tenant=g.tenant.key, followup_id=known.fired)
    return [with_link(said, url, _("Show that one"))]
