"""What stands around every page: where one is, who one is, whether the sweeps and desk.toml are well."""

from datetime import datetime

from flask import Flask, g, get_flashed_messages, request, session
from flask_babel import Babel
from flask_wtf.csrf import generate_csrf

from desk_ui import areas, around, charts, declared, frame, keys, refreshing, translating, words
from desk_ui.asking import once
from desk_ui.auth import THEMES
from desk_ui.offering import Offer, flashed
from desk_ui.rows import slot
from desk_ui.sweeps import lines, telling
from desk_ui.translating import lazy_gettext as _l
from models.tenants import Tenant


class Surroundings:
    """What the base template asks for; each is read only when it is asked for."""

    themes = {"auto": _l("As the system"), "light": _l("Light"), "dark": _l("Dark")}

    work, set_up = areas.WORK, areas.SET_UP

    @property
    def theme(self) -> str:
        given = request.cookies.get("theme", "auto")
        return given if given in THEMES else "auto"

    @property
    def keys_are_off(self) -> bool:
        return keys.are_off()

    @property
    def tenant(self) -> Tenant | None:
        """The tenant whose areas the rail leads to: the one at hand, or on one's own pages the last one."""
        if g.get("tenant"):
            return g.tenant  # type: ignore[no-any-return]
        known: list[Tenant] = [tenant for tenant, _role in g.get("memberships") or []]
        return next((tenant for tenant in known if tenant.key == session.get("tenant")), None) or next(
            iter(known), None
        )

    @property
    def zone(self) -> str:
        """The zone of the page: the person's own, or that of the tenant at hand."""
        own = g.operator.timezone if g.get("operator") else None
        tenant = self.tenant
        return g.get("zone") or own or (tenant.timezone if tenant else "UTC")

    @property
    def fault(self) -> str | None:
        return declared.at_hand()[1] if g.get("operator") else None

    @property
    def here(self) -> str:
        """This page's own address, to come back to."""
        return request.full_path.rstrip("?") if request.method == "GET" else request.form.get("back", "/")

    @property
    def sweep_health(self) -> list[tuple[str, str, str, str]]:
        return around.sweep_health()

    @property
    def next_run(self) -> datetime | None:
        """When follow-ups are looked at next, unless that is in doubt."""
        return lines.next_firing(g.now) if g.get("tenant") else None

    @property
    def flashes(self) -> list[tuple[str, str, Offer | None]]:
        """What the page before left to be said: kind, words, and what is offered with them."""
        return [flashed(kind, message) for kind, message in get_flashed_messages(with_categories=True)]


def register(app: Flask) -> None:
    Babel(app, default_locale="en", locale_selector=lambda: "en")
    translating.register(app)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.globals.update(
        surroundings=Surroundings(),
        words=words,
        slot=slot,
        drawn=charts,
        frame=frame.drawn,
        telling=telling,
        refreshing=refreshing,
        csrf_token=generate_csrf,
        once=once,
        session=session,
        g=g,
    )
    for name, template in (("ui", "ui"), ("lists", "list"), ("charts", "charts"), ("hands", "handling")):
        app.jinja_env.globals[name] = app.jinja_env.get_template(f"components/{template}.html").module
    lines.register(app)
    frame.register(app)
