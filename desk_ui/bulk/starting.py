"""Asking about many rows, and doing it: what was confirmed and no more, at once or by a worker."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from flask import abort, current_app, g, make_response, request, url_for
from flask_babel import gettext as _
from markupsafe import Markup
from werkzeug.wrappers import Response

from desk_ui import asking, words
from desk_ui.acting import Action, back_or, perform
from desk_ui.addresses import in_tenant
from desk_ui.asking import Ask, Field
from desk_ui.bulk import selecting
from desk_ui.bulk.kinds import Kind
from desk_ui.bulk.selecting import MOST_CHOSEN, Selection
from desk_ui.paging import TooSlow, time_limit
from desk_ui.permissions import actor
from desk_ui.requests import settings_of
from jobs import bulk, wake
from models import bulk_operations
from models.base import db, read_only
from models.bulk_operations import MOST, REASON_LENGTH, BulkOperation, Rows
from models.clock import iso
from models.errors import Conflict, Invalid
from models.transactions import after_commit, commit

# So many are done while the person waits.
AT_ONCE = 100
# More are confirmed by typing how many.
UNTYPED = 100
# So many of those that it can't be done to any more are named.
SHOWN_LOST = 3


def ask(kinds: Sequence[Kind]) -> Response:
    """The question about what is selected in a list, whose button says which of `kinds` is meant."""
    wanted = request.form.get("do") or request.form.get("all_of")
    kind = next((one for one in kinds if one.noun == wanted), None)
    if kind is None:
        abort(404)
    with read_only():
        asked = _asked(kind)
        return make_response(asking.show(asked), 422 if asked.refusal else 200)


def start(kind: Kind) -> Response:
    """Do `kind` to what was selected and confirmed."""
    return perform(
        Action(
            name="bulk.started",
            resource=("bulk", ""),
            act=partial(_begin, kind),
            done=partial(_done, kind),
            warns=_is_partial,
            back=_back,
            ask=partial(_asked, kind),
        )
    )


def _asked(kind: Kind) -> Ask:
    try:
        selection = Selection.of(request.form, kind.verb.id)
        rows = _rows(kind, selection)
        number = _count(rows) if rows is not None else 0
        lost = kind.lost(selection, SHOWN_LOST) if number < len(selection.chosen) else []
    except (Invalid, TooSlow) as fault:
        return _refused(kind, fault.detail)
    if rows is None:
        return _refused(kind, _("Nothing is selected. Tick the rows that you mean, or take all that match."))
    if number == 0:
        why = _("None of them is left as you saw it. Reload the list and select again.")
        return _refused(kind, " ".join([*lost, why]))
    confirmed = number if selection.seen is not None else len(selection.chosen)
    carried = kind.carried()
    return Ask(
        title=kind.on(number),
        says=[*_which(kind, number, selection, lost), *kind.says(number, selection)],
        facts=[(_("Where"), kind.narrowed(selection.query))],
        sample=kind.sample(rows),
        rest=max(0, number - 5),
        fields=[*kind.fields(number), *_reason(number), *_typed(confirmed)],
        verb=kind.on(number),
        kind="danger",
        url=in_tenant(kind.endpoint),
        back=_list(kind),
        hidden={
            **_meant(selection, rows, number).hidden,
            "number": str(confirmed),
            **({"as_of": iso(selection.seen) or ""} if selection.seen is not None else {}),
            "stands": kind.stands(selection),
            **carried,
        },
    )


def _meant(selection: Selection, rows: Rows, number: int) -> Selection:
    """The selection that the question is about: where it is not too long, just these rows as they are now."""
    if selection.seen is None or number > MOST_CHOSEN:
        return selection
    found = db.session().execute(rows.first(MOST_CHOSEN))
    return Selection(selection.query, tuple((id, version) for id, version in found))


def _refused(kind: Kind, why: str) -> Ask:
    return Ask(
        title=str(kind.name), verb=str(kind.name), url=in_tenant(kind.endpoint), back=_list(kind), refusal=why
    )


def _list(kind: Kind) -> str:
    given = request.form.get("list", "")
    return in_tenant(f"{kind.area}.index") + (f"?{given}" if given else "")


def _count(rows: Rows) -> int:
    with time_limit(db.session(), settings_of(current_app).statement_timeout):
        return bulk_operations.count(db.session(), rows)


def _rows(kind: Kind, selection: Selection) -> Rows | None:
    """What the question counts: of the chosen ones only those that it can still be done to."""
    if selection.is_empty:
        return None
    return kind.able(selection) if selection.seen is None else kind.rows(selection)


def _which(kind: Kind, number: int, selection: Selection, lost: Sequence[str]) -> list[str]:
    if selection.seen is not None:
        return [_of_all(number), _read_at(number, selection.seen)]
    chosen = len(selection.chosen)
    if number < chosen:
        still = str(kind.still).format(words.number(number), words.number(chosen))
        others = chosen - number - len(lost)
        more = [_("The same is so of %(n)s more.", n=words.number(others))] if lost and others else []
        return [still, *([" ".join([*lost, *more])] if lost else []), _meanwhile(number)]
    which = _("The one that you selected.") if number == 1 else _("Those that you selected.")
    return [f"{which} {_meanwhile(number)}"]


def _meanwhile(number: int) -> str:
    if number == 1:
        return _("If it changes meanwhile, it is left as it is.")
    return _("If one changes meanwhile, it is left as it is.")


def _of_all(number: int) -> str:
    if number == MOST:
        return _("The first %(n)s that match.", n=words.number(MOST))
    if number == 1:
        return _("The only one that matches and did not change since the list was read.")
    return _("All that match and did not change since the list was read.")


def _read_at(number: int, seen: datetime) -> str:
    return _(
        "Read at %(at)s. %(meanwhile)s",
        at=words.clock_with_seconds(seen, g.zone),
        meanwhile=_meanwhile(number),
    )


def _reason(number: int) -> list[Field]:
    hint = _("It is kept in the audit.") if number == 1 else _("It is kept in the audit, with each of them.")
    return [Field("reason", _("Why"), longest=REASON_LENGTH, hint=hint)]


def _typed(number: int) -> list[Field]:
    if number <= UNTYPED:
        return []
    label = _("Type %(n)s to confirm how many", n=words.number(number))
    return [Field("typed", label, longest=10)]


def _begin(kind: Kind) -> BulkOperation:
    """Take down what is meant; do it, where it is little. Raises `Invalid`, `Conflict`."""
    selection = Selection.of(request.form, kind.verb.id)
    if selection.is_empty:
        raise Invalid("row", _("is missing; nothing is selected"))
    operation = _take_down(kind, selection, _confirmed())
    at_once = operation.requested <= AT_ONCE
    if not at_once:
        after_commit(db.session(), f"bulk {operation.id}", partial(wake.wake_bulk, operation.id))
    commit(db.session(), "console.bulk.begin")
    if at_once:
        bulk.go_on(db.session(), operation.id, most=AT_ONCE + 1)
    return bulk_operations.get(db.session(), g.tenant.id, operation.id)


def _take_down(kind: Kind, selection: Selection, confirmed: int) -> BulkOperation:
    session = db.session()
    options = kind.options(request.form)
    rows = kind.rows(selection)
    if selection.seen is not None and kind.stands(selection) != request.form.get("stands", ""):
        raise Conflict(
            _(
                "What matches changed meanwhile: an agent was put on hold or released, or the policy or "
                "a switch changed. Nothing was done. Look at what matches now."
            )
        )
    try:
        with time_limit(session, settings_of(current_app).statement_timeout):
            return bulk_operations.begin(
                session,
                g.tenant.id,
                kind.verb.name,
                rows,
                confirmed=confirmed,
                reason=request.form.get("reason", "").strip(),
                actor=actor(),
                now=g.now,
                filters=kind.filters(selection),
                options=options,
                watermark=selection.seen or selecting.read_at(request.form.get("as_of")),
            )
    except TooSlow as fault:
        raise Conflict(fault.detail) from fault


def _confirmed() -> int:
    """The number that the question named; typed again where it is a large one. Raises `Invalid`."""
    number = _number(request.form.get("number", ""), "number")
    if number > UNTYPED:
        given = request.form.get("typed", "")
        if _number(given.replace(",", "").replace(" ", ""), "typed", number) != number:
            raise Invalid("typed", _("must be %(n)s, the number of them", n=words.number(number)))
    return number


def _number(text: str, field: str, wanted: int | None = None) -> int:
    if text.strip().isascii() and text.strip().isdigit() and len(text) < 10 and int(text) > 0:
        return int(text)
    if wanted is None:
        raise Invalid(field, _("is missing; go back to the list and select again"))
    raise Invalid(field, _("must be %(n)s, the number of them", n=words.number(wanted)))


def _done(kind: Kind, operation: BulkOperation) -> str:
    further = kind.further(operation)
    if operation.waiting:
        return f"{str(kind.begun).format(words.number(operation.requested))} {further}".strip()
    said = kind.done(operation.done) if operation.done else _("Nothing was done.")
    if operation.not_done:
        said = _("%(said)s %(n)s could not be done.", said=said, n=words.number(operation.not_done))
    said = f"{said} {further}".strip()
    if _is_partial(operation):
        # That page is where it leads to already.
        return said
    link = Markup('<a href="%s">%s</a>') % (place_of(operation), _("Show the result"))
    return Markup("%s %s") % (said, link)


def _is_partial(operation: BulkOperation) -> bool:
    return operation.not_done > 0


def _back(operation: BulkOperation | None) -> str:
    """The list where all is done, else what became of it."""
    if operation is None or not (operation.waiting or operation.not_done):
        return back_or(url_for("bulk.index", tenant=g.tenant.key))
    return place_of(operation)


def place_of(operation: BulkOperation) -> str:
    return url_for("bulk.show", tenant=g.tenant.key, operation_id=operation.id)
