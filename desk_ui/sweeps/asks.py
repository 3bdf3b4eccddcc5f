"""What is asked before a sweep is paused or resumed: what waits, and what then happens at once."""

from flask import g, url_for
from flask_babel import ngettext

from desk_ui import words
from desk_ui.asking import Ask, Field
from desk_ui.permissions import Permission, refusal
from desk_ui.sweeps import queries, telling
from desk_ui.sweeps.lines import Line
from desk_ui.translating import gettext as _
from models.base import db
from models.needs import MOST


def pause(line: Line) -> Ask:
    return Ask(
        title=_("Pause %(name)s for all tenants", name=line.name),
        says=[
            _waits(line),
            _("It stays paused until somebody resumes it. Everybody sees who paused it and why."),
        ],
        fields=[
            Field("reason", _("Reason"), hint=_("For example: the sales system is being moved until noon."))
        ],
        verb=_("Pause %(name)s", name=line.name),
        kind="danger",
        url=url_for("sweeps.pause", tenant=g.tenant.key, name=line.key),
        back=back(),
        hidden=hidden(line),
        refusal=refusal(Permission.SWEEPS) or (_("It is paused already.") if line.paused else None),
    )


def _waits(line: Line) -> str:
    number = queries.will_wait(db.session(), line.key, g.now)
    if number is None:
        return str(telling.WAITS.get(line.key, _("What it does waits until it is resumed.")))
    if line.key == "deliver":
        if not number:
            return _("Nothing waits to be delivered within the hour; what comes up meanwhile waits.")
        if number > MOST:
            return _("%(n)s deliveries due within the hour will wait.", n=telling.number(number))
        return ngettext(
            "%(num)s delivery due within the hour will wait.",
            "%(num)s deliveries due within the hour will wait.",
            number,
        )
    if not number:
        return _("No follow-up comes due within the hour. Any that does meanwhile waits: nothing fires.")
    if number > MOST:
        return _("%(n)s follow-ups due within the hour will wait: nothing fires.", n=telling.number(number))
    return ngettext(
        "%(num)s follow-up due within the hour will wait: nothing fires.",
        "%(num)s follow-ups due within the hour will wait: nothing fires.",
        number,
    )


def resume(line: Line) -> Ask:
    facts = []
    if line.paused:
        facts = [
            (_("Paused by"), line.paused.by),
            (_("Since"), words.exact(line.paused.at, g.zone)),
            (_("Reason"), line.paused.reason or _("none given")),
        ]
    return Ask(
        title=_("Resume %(name)s for all tenants", name=line.name),
        says=[_then(line)],
        facts=facts,
        verb=_("Resume %(name)s", name=line.name),
        url=url_for("sweeps.resume", tenant=g.tenant.key, name=line.key),
        back=back(),
        hidden=hidden(line),
        refusal=refusal(Permission.SWEEPS) or (None if line.paused else _("It is not paused.")),
    )


def _then(line: Line) -> str:
    within = _("It runs again within %(span)s.", span=words.span(line.every))
    then = {
        "fire_followups": _("What came due meanwhile is judged by its policy and may fire at once."),
        "deliver": _("What came up meanwhile is sent then."),
    }
    return f"{within} {then.get(line.key, '')}".strip()


def hidden(line: Line) -> dict[str, str]:
    """The pause as it was seen."""
    return {"version": str(line.version)}


def back() -> str:
    """The page of all, without a place in it: who is there already would be taken to that place alone."""
    return url_for("sweeps.index", tenant=g.tenant.key)
