"""The addresses as a form showed them: `<endpoint>.<version of its address>`, divided by spaces."""

from collections.abc import Mapping
from uuid import UUID

from flask_babel import gettext as _

from desk_ui.acting import LARGEST_VERSION
from models.endpoints import MOST_ENDPOINTS
from models.errors import Invalid

FIELD = "addresses"


def written(versions: Mapping[str, int]) -> str:
    return " ".join(f"{endpoint}.{version}" for endpoint, version in versions.items())


def shown(form: Mapping[str, str]) -> dict[str, int]:
    """The versions by the endpoint's id. Raises `Invalid` on `addresses`."""
    given = form.get(FIELD, "").split()
    try:
        found = dict(_one(text) for text in given)
    except ValueError:
        found = {}
    if not found or len(given) > MOST_ENDPOINTS:
        raise Invalid(FIELD, _("are missing; reload the page and try again"))
    return found


def _one(text: str) -> tuple[str, int]:
    endpoint, _dot, version = text.rpartition(".")
    if not version.isascii() or not version.isdigit() or len(version) > 10 or int(version) > LARGEST_VERSION:
        raise ValueError
    return str(UUID(endpoint)), int(version)
