"""What stands around every page and changes while one is open: the sweeps' health, and the areas' numbers."""

from datetime import timedelta

from flask import g

from desk_ui import refreshing
from desk_ui.overview import queries
from desk_ui.sweeps import lines
from desk_ui.translating import gettext as _
from models.base import db

HEADER = "X-Around"
# Only whether the numbers changed is said by it; whoever is told so reads them afresh.
KNOWN_FOR = timedelta(seconds=30)


def sweep_health() -> list[tuple[str, str, str, str]]:
    """How the sweeps stand: each as tone, shape, words, and the names that the words leave out."""
    if not g.get("operator"):
        return []
    sweeps = lines.recent(g.now)
    late = [line.name for line in sweeps if line.late_since is not None]
    paused = [line.name for line in sweeps if line.paused]
    found = []
    if late:
        text = _("%(name)s is late", name=late[0]) if len(late) == 1 else _("%(n)s sweeps late", n=len(late))
        found.append(("bad", "triangle", text, ", ".join(late)))
    if paused:
        text = _("%(name)s paused", name=", ".join(paused))
        found.append(("warn", "pause", text, ""))
    return found or [("good", "disc", _("Sweeps on time"), "")]


def told(*, moved: bool) -> str:
    """It as a page tells it to its script: the same until something of it changes.

    The numbers are half a minute old at most, and where a page `moved` as old as any.
    """
    areas = queries.areas(db.session(), g.now, queries.REREAD_AFTER if moved else KNOWN_FOR)
    comes = lines.next_firing(g.now) is not None
    return refreshing.sign_of_facts(sweep_health(), sorted(areas.items()), comes)
