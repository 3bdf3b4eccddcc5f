"""The console's addresses: which belong to it, how tenants stand in them, and where a redirect may lead."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from flask import Flask, current_app, g, request, url_for
from werkzeug.routing import BaseConverter, IntegerConverter, Map, ValidationError

from desk_ui.paging import LARGEST_ID
from models.tenants import RESERVED_KEYS

# These answer machines: problem documents and plain text, never pages.
_OUTSIDE = frozenset({"api", "hooks", "healthz", "readyz", "metrics", "problems"})


SHAPES = "desk_addresses"
# Stands in the shape of an address where the tenant's key goes.
TENANT = "the-tenant-at-hand"


# Bytes of an address, or of a list's query in one, that an answer's headers lead back to.
LONGEST = 2_000
# What stands for itself in a query.
UNQUOTED = "!$'()*,/:;?@"


class TenantKey(BaseConverter):
    """`<tenant:tenant>` in a rule: a key that no other address uses."""

    regex = r"[a-z0-9][a-z0-9_-]{0,62}"

    def to_python(self, value: str) -> str:
        if value in RESERVED_KEYS:
            raise ValidationError
        return value


class RowId(IntegerConverter):
    """`<id:…>` in a rule: a number that both databases can hold."""

    def __init__(self, map: Map) -> None:
        super().__init__(map, min=1, max=LARGEST_ID)


def register(app: Flask) -> None:
    """Must run before any rule of the console is added."""
    app.url_map.converters.update(tenant=TenantKey, id=RowId)
    app.extensions[SHAPES] = {}


def in_tenant(endpoint: str, **names: Any) -> str:
    """The address of `endpoint` in the tenant at hand, made of its shape, which a process builds once.

    `names` are what else the rule holds, always the same for one endpoint.
    """
    shapes: dict[str, str] = current_app.extensions[SHAPES]
    if endpoint not in shapes:
        shapes[endpoint] = url_for(endpoint, tenant=TENANT, **names)
    return shapes[endpoint].replace(TENANT, g.tenant.key)


def asking(path: str, params: Mapping[str, str]) -> str:
    """`path` with `params` as its query, written as Werkzeug writes it."""
    return f"{path}?{urlencode(params, safe=UNQUOTED)}" if params else path


def serve(app: Flask, area: str, rules: Iterable[tuple[str, Callable[..., Any], str]]) -> None:
    """Serve each `(rule, view, method)` of an area, the rule after the tenant and the area's own name."""
    for rule, view, method in rules:
        whole = f"/<tenant:tenant>/{area}{rule}"
        app.add_url_rule(whole, f"{area}.{view.__name__}", view, methods=[method])


def outside_console(path: str) -> bool:
    """Whether `path` belongs to the API, the hooks or the health endpoints."""
    return path.split("/", 2)[1] in _OUTSIDE


def local_path(value: str | None) -> str | None:
    """`value` if it is a path on this site, query included; None where it is long or could lead elsewhere."""
    if not value or not value.startswith("/") or value.startswith("//") or _is_long(value):
        return None
    if "\\" in value or any(ord(character) < 33 for character in value):
        return None
    parts = urlsplit(value)
    return None if parts.scheme or parts.netloc else value


def list_query() -> str:
    """The query of the list that the request came from; empty where it names none, or too long a one."""
    given = request.values.get("list", "")
    return "" if _is_long(given) else given


def _is_long(value: str) -> bool:
    return len(value.encode(errors="replace")) > LONGEST


def path_of(url: str | None) -> str | None:
    """The path and query of a whole address, if it can be used as a local one."""
    if not url:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return local_path(parts.path + (f"?{parts.query}" if parts.query else ""))
