"""A form with all of its inputs, as a browser without a script would send it."""

from html.parser import HTMLParser
from typing import Any

_VOID = {"input", "meta", "link", "br", "path", "circle", "rect"}


class _Inputs(HTMLParser):
    def __init__(self, ending: str) -> None:
        super().__init__()
        self.ending = ending
        self.inside = False
        self.fields: dict[str, str] = {}
        self.buttons: list[tuple[str, str, str]] = []
        self.focus: str | None = None
        self._select: str | None = None
        self._option: str | None = None
        self._area: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given: dict[str, Any] = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.inside = given.get("action", "").endswith(self.ending)
        if not self.inside:
            return
        if "autofocus" in given:
            self.focus = given.get("id")
        name = given.get("name")
        if tag == "input" and name and (given.get("type") != "checkbox" or "checked" in given):
            self.fields[name] = given.get("value", "")
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and (self._select not in self.fields or "selected" in given):
            self.fields[self._select] = given.get("value", "")
        elif tag == "textarea" and name:
            self._area = name
            self.fields[name] = ""
        elif tag == "button":
            self.buttons.append((name or "", given.get("value", ""), given.get("formaction", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.inside = False
        elif tag == "select":
            self._select = None
        elif tag == "textarea" and self._area:
            # A browser leaves out the line end with which a text begins, and sends each in its own way.
            text = self.fields[self._area].removeprefix("\n")
            self.fields[self._area] = text.replace("\n", "\r\n")
            self._area = None

    def handle_data(self, data: str) -> None:
        if self._area:
            self.fields[self._area] += data


def inputs(html: str, ending: str) -> _Inputs:
    """The inputs of the form whose action ends so."""
    found = _Inputs(ending)
    found.feed(html)
    return found
