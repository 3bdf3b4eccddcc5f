"""Rows of a long list: the shape of a row is drawn once by its template, and filled in for each row."""

from collections.abc import Mapping

from markupsafe import Markup, escape

# No template holds it, and no text that is stored; what somebody typed into an address may.
_EDGE = "\0"


def slot(name: str) -> Markup:
    """What a template writes where the value `name` of each row goes."""
    return Markup(f"{_EDGE}{name}{_EDGE}")


class Shape:
    """A row as drawn with slots. To draw each of fifty rows anew takes most of a page's time."""

    def __init__(self, drawn: str) -> None:
        parts = str(drawn).split(_EDGE)
        slots = parts[1::2]
        self._names = list(dict.fromkeys(slots))
        self._places = [self._names.index(name) for name in slots]
        self._form = "%s".join(part.replace("%", "%%") for part in parts[::2])

    def filled(self, values: Mapping[str, object]) -> str:
        """The row with its `values` as texts, escaped all at once; what is markup belongs to the shape."""
        given = [str(values[name]) for name in self._names]
        texts = str.split(escape(_EDGE.join(given)), _EDGE)
        if len(texts) != len(given):
            texts = [str(escape(text)) for text in given]
        return self._form % tuple([texts[place] for place in self._places])
