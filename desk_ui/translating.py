"""Translation for pages of hundreds of words: a language's constant ones are looked up once a process."""

from typing import Any
from weakref import WeakKeyDictionary

from flask import Flask, g
from flask_babel import get_locale, get_translations
from flask_babel.speaklater import LazyString
from markupsafe import Markup

# The words of each catalogue that templates asked for; Flask-Babel keeps one catalogue for each language.
_words: WeakKeyDictionary[Any, dict[str, Markup]] = WeakKeyDictionary()


def gettext(text: str, **values: Any) -> str:
    """`text` in the request's language, with `values` put in."""
    found: str = catalogue().ugettext(text)
    return found % values if values else found


def lazy_gettext(text: str) -> Any:
    """The same for a constant: translated each time that it is shown."""
    return LazyString(gettext, text)


def catalogue() -> Any:
    """The translations of the request at hand; outside one, those that change nothing."""
    # Asked for hundreds of times a page, nearly always after the first.
    try:
        return g.catalogue
    except AttributeError:
        g.catalogue = found = get_translations()
        return found
    except RuntimeError:
        return get_translations()


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
