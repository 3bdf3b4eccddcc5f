"""What a receiver's answer means, in words; the code stays beside it for whoever runs the receiver."""

import re
from collections.abc import Callable

from desk_ui.translating import gettext as _

_ANSWERED = re.compile(r"Answered \d{3}\.")
_UNKNOWN_NAME = re.compile(r"The name (\S+) can't be resolved\.")


def says(status: int | None, error: str | None) -> str:
    """What came of an attempt, in a sentence; empty where there was neither an answer nor an error."""
    if status is not None and (error is None or _ANSWERED.fullmatch(error)):
        why = _meaning(status)
        return _("Answered %(status)s: %(why)s.", status=status, why=why) if why else _answered(status)
    return _without_answer(error) if error else ""


def _answered(status: int) -> str:
    return _("Answered %(status)s.", status=status)


def _meaning(status: int) -> str:
    """Empty where an answer needs no explaining."""
    known: dict[int, Callable[[], str]] = {
        401: lambda: _("the receiver doesn't know who sends; look at the secret that it has"),
        403: lambda: _("the receiver lets nothing in from here"),
        404: lambda: _("the receiver has nothing at this address"),
        410: lambda: _("the receiver says that it is gone, so this is not tried again"),
        429: lambda: _("the receiver asks to be sent less"),
        502: lambda: _("what stands before the receiver can't reach it"),
        503: lambda: _("the receiver is not available at the moment"),
        504: lambda: _("what stands before the receiver waited too long for it"),
    }
    if status in known:
        return known[status]()
    if 400 <= status < 500:
        return _("the receiver refused it")
    return _("something went wrong at the receiver") if status >= 500 else ""


def _without_answer(error: str) -> str:
    unknown = _UNKNOWN_NAME.fullmatch(error)
    if unknown:
        return _("There is no server of the name %(name)s. Look at the address.", name=unknown[1])
    if error.startswith("No connection:"):
        low = error.lower()
        if "refused" in low:
            return _("The connection was refused: nothing listens at this address.")
        if "certificate" in low:
            return _("No connection: the receiver's certificate can't be trusted.")
        if "unreachable" in low or "no route" in low:
            return _("No connection: there is no way to this address.")
    return error
