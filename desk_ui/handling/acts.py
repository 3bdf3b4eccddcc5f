"""Taking on what needs a person, taking it over from somebody, and letting go: the same in every area."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from flask import g, request
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from desk_ui import words
from desk_ui.acting import Action, back_or, perform
from desk_ui.addresses import list_query
from desk_ui.asking import Ask
from desk_ui.handling import marks
from desk_ui.handling.marks import On
from desk_ui.permissions import actor
from models import handling
from models.base import db
from models.errors import Conflict
from models.handling import Mark
from models.transactions import commit


@dataclass(frozen=True, slots=True)
class Subject:
    """What is taken on. `called` are its words, as in `the follow-up to c-1`; `url` is where it is taken on.

    `refusal` says why it needs nobody; `show` draws it anew at `place`, which is on the page `page`.
    """

    resource: tuple[str, str]
    called: str
    url: str
    page: str
    refusal: Callable[[], str | None]
    show: Callable[[], str]
    place: str


def take_on(subject: Subject) -> Response:
    """Be the one who is on it; in place of another where that was asked about."""
    instead_of = request.form.get("instead_of")

    def act() -> Mark:
        taken = handling.take(
            db.session(),
            g.tenant,
            subject.resource,
            refusal=subject.refusal(),
            actor=actor(),
            now=g.now,
            instead_of=instead_of,
        )
        commit(db.session(), "console.handling.take")
        return taken

    action = _on(subject, "taken_on", act, lambda _mark: _("You are on %(it)s now.", it=subject.called))
    return perform(action if instead_of is None else replace(action, ask=lambda: ask(subject)))


def let_go(subject: Subject) -> Response:
    """Leave it to others again."""

    def act() -> bool:
        went = handling.let_go(db.session(), g.tenant, subject.resource, actor=actor(), now=g.now)
        commit(db.session(), "console.handling.let_go")
        return went

    done = _("You let go of %(it)s.", it=subject.called)
    return perform(_on(subject, "let_go", act, lambda _went: done))


def ask(subject: Subject) -> Ask:
    """To take it over from whoever is on it, which is meant, not done by the way."""
    on = marks.one_on(db.session(), *subject.resource)
    says = [_who(on)]
    if on is not None and not on.mine:
        says.append(_("The desk does not tell them: do so yourself."))
    return Ask(
        title=_("Take over %(it)s", it=subject.called),
        says=says,
        hidden={
            "instead_of": on.id if on else "",
            "list": list_query(),
            "shown": "panel",
        },
        verb=_("Take it over") if on else _("I'm on it"),
        url=subject.url,
        back=subject.page,
        refusal=_("You are on it already.") if on and on.mine else subject.refusal(),
    )


def _on(subject: Subject, verb: str, act: Callable[[], object], done: Callable[[object], str]) -> Action:
    return Action(
        name=f"{subject.resource[0]}.{verb}",
        resource=subject.resource,
        act=act,
        read=lambda: subject,
        show=lambda _row: subject.show(),
        place=subject.place,
        done=done,
        refused=_refused,
        back=lambda _row: back_or(subject.page),
    )


def _who(on: On | None) -> str:
    if on is None:
        return _("Nobody is on it any more.")
    when = words.distance(on.at, g.now)
    if on.mine:
        return _("You took it on %(when)s.", when=when)
    return _("%(who)s took it on %(when)s.", who=on.who, when=when)


def _refused(_row: object, fault: Conflict) -> str:
    """Who was first, and when; else why it needs nobody."""
    return _who(On.of(fault.current)) if isinstance(fault.current, Mark) else fault.detail
