"""The areas of the console, in the order in which they are worked in."""

from dataclasses import dataclass
from typing import Any

from desk_ui.translating import lazy_gettext as _l


@dataclass(frozen=True, slots=True)
class Area:
    """One line of the navigation; `endpoint` is its first page, which takes the tenant alone."""

    key: str
    name: Any
    endpoint: str


WORK = (
    Area("overview", _l("Overview"), "overview.index"),
    Area("followups", _l("Follow-ups"), "followups.index"),
)
SET_UP = (
    Area("agents", _l("Agents"), "agents.index"),
    Area("deliveries", _l("Deliveries"), "deliveries.index"),
    Area("sweeps", _l("Sweeps"), "sweeps.index"),
    Area("audit", _l("Audit"), "audit.index"),
    Area("settings", _l("Settings"), "settings.index"),
)
