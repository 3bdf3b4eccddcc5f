"""How a tenant's executions stand while a page is made."""

from dataclasses import dataclass
from datetime import datetime

from models.automations.claiming import STALE_LOCK
from models.declarations import Declared
from models.tenants import Feature, Tenant


@dataclass(frozen=True)
class Scene:
    """How the tenant's executions stand while a page is made, whose times are read in `zone`.

    `halted` is since when the sweep that runs them is paused, `next_run` when it comes, None where that is
    in doubt.
    """

    tenant: Tenant
    declared: Declared
    now: datetime
    zone: str = "UTC"
    halted: datetime | None = None
    next_run: datetime | None = None

    @property
    def paused(self) -> bool:
        """Whether what waits with a delay is left waiting."""
        return not self.tenant.has(Feature.DELAYED_AUTOMATIONS)

    @property
    def stale_before(self) -> datetime:
        """A worker that said nothing since before this is taken to be dead."""
        return self.now - STALE_LOCK
