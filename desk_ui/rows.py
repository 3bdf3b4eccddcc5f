"""Rows of a long list: the shape of a row is drawn once by its template, and filled in for each row."""

from collections.abc import Mapping

from markupsafe import Markup, escape

# No text that is stored holds it, and no address.
_EDGE = "\0"


def slot(name: str) -> Markup:
    """What a template writes where the value `name` of each row goes."""
    return Markup(f"{_EDGE}{name}{_EDGE}")


class Shape:
    """A row as drawn with slots. To draw each of fifty rows anew takes most of a page's time."""

    def __init__(self, drawn: str) -> None:
        self._parts = str(drawn).split(_EDGE)
        self._names = self._parts[1::2]

    def filled(self, values: Mapping[str, object]) -> str:
        """The row with its `values`, escaped unless they are markup already."""
        safe = {name: str(escape(value)) for name, value in values.items()}
        self._parts[1::2] = [safe[name] for name in self._names]
        return "".join(self._parts)
