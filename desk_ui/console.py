"""The console as a whole: what stands around every page, and the areas that hold the pages."""

from flask import Flask

from desk_ui import (
    addresses,
    agents,
    audit,
    auth,
    automations,
    bulk,
    deliveries,
    dev,
    endpoints,
    errors,
    followups,
    keys,
    overview,
    pages,
    permissions,
    profile,
    search,
    security,
    settings,
    sweeps,
)


def register(app: Flask) -> None:
    """Add the console to `app`. The guard comes before every page, so no page can forget it."""
    addresses.register(app)
    limiter = security.register(app)
    auth.register(app, limiter)
    profile.register(app, limiter)
    permissions.register(app)
    pages.register(app)
    errors.register(app)
    overview.register(app)
    followups.register(app)
    automations.register(app)
    agents.register(app)
    sweeps.register(app)
    deliveries.register(app)
    bulk.register(app)
    endpoints.register(app)
    search.register(app)
    keys.register(app)
    audit.register(app)
    settings.register(app)
    dev.register(app)
