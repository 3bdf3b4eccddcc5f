"""Translation for pages of hundreds of words: a language's constant ones are looked up once a process."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

from flask import Flask
from flask_babel import get_locale, get_translations
from flask_babel.speaklater import LazyString
from markupsafe import Markup

_at_hand: ContextVar[Any] = ContextVar("catalogue", default=None)
# The words of each catalogue that templates asked for; Flask-Babel keeps one catalogue for each language.
_words: WeakKeyDictionary[Any, dict[str, Markup]] = WeakKeyDictionary()


class _Later(LazyString):  # type: ignore[misc]
    # Else an abstract class, which asks this of all that it holds, translates its words while it is defined.
    __isabstractmethod__ = False


def gettext(text: str, **values: Any) -> str:
    """`text` in the request's language, with `values` put in."""
    found: str = catalogue().ugettext(text)
    return found % values if values else found


def lazy_gettext(text: str) -> Any:
    """The same for a constant: translated each time that it is shown."""
    return _Later(gettext, text)


def catalogue() -> Any:
    """The translations of the request at hand; outside one, those of the language that is the default."""
    # A page asks hundreds of times: a context variable is by far the quickest to read.
    found = _at_hand.get()
    return get_translations() if found is None else found


@contextmanager
def one_language() -> Iterator[None]:
    """Inside, the language stays as it is at the beginning: the scope of a request."""
    token = _at_hand.set(get_translations())
    try:
        yield
    finally:
        _at_hand.reset(token)


def language() -> str:
    """The language of the request at hand."""
    return str(get_locale())


def register(app: Flask) -> None:
    """Let the templates use the same. Comes after Babel, which installs its own."""
    app.jinja_env.install_gettext_callables(  # type: ignore[attr-defined]
        gettext=lambda text: catalogue().ugettext(text),
        ngettext=lambda one, many, number: catalogue().ungettext(one, many, number),
        newstyle=True,
    )
    app.jinja_env.globals["_"] = _in_template


def _in_template(text: str, **values: Any) -> Markup:
    """As Jinja's own: the text is markup and always a format, the values are escaped."""
    found = catalogue()
    if values:
        return Markup(found.ugettext(text)) % values
    known = _words.setdefault(found, {})
    if text not in known:
        known[text] = Markup(found.ugettext(text)) % {}
    return known[text]
