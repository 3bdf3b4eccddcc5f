"""The areas of the console, in the order in which they are worked in."""

from dataclasses import dataclass
from typing import Any

from desk_ui.translating import lazy_gettext as _l


@dataclass(frozen=True, slots=True)
class Area:
    """One line of the navigation; `endpoint` is its first page, which takes the tenant alone.

    `keys` go there, one pressed after the other. `g s` and `g l` are kept for areas to come.
    """

    key: str
    name: Any
    endpoint: str
    keys: str = ""


WORK = (
    Area("overview", _l("Overview"), "overview.index", "g o"),
    Area("followups", _l("Follow-ups"), "followups.index", "g f"),
    Area("executions", _l("Executions"), "executions.index", "g e"),
)
SET_UP = (
    Area("agents", _l("Agents"), "agents.index"),
    Area("rules", _l("Rules"), "rules.index", "g r"),
    Area("deliveries", _l("Deliveries"), "deliveries.index", "g d"),
    Area("sweeps", _l("Sweeps"), "sweeps.index", "g w"),
    Area("audit", _l("Audit"), "audit.index", "g a"),
    Area("settings", _l("Settings"), "settings.index"),
)
