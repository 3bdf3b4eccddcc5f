"""Reading what a call sends: the body up to 1 MiB, the query's parameters, and what was left unread."""

from typing import TypeVar

from flask import Request
from pydantic import ValidationError
from werkzeug.exceptions import RequestEntityTooLarge

from desk_ui.api.fields import Given, refusal
from models.errors import Invalid

LARGEST = 1_048_576
MOST_DRAINED = 8 * LARGEST

_READ = "desk.body_read"

G = TypeVar("G", bound=Given)


def read(request: Request) -> bytes:
    """The body. Raises `RequestEntityTooLarge` over 1 MiB, also where no length was announced."""
    # One byte more, because a body without a length is cut off at the most that may be read.
    request.max_content_length = LARGEST + 1
    raw = request.get_data(cache=False)
    if len(raw) > LARGEST:
        raise RequestEntityTooLarge
    request.environ[_READ] = True
    return raw


def parse(model: type[G], raw: bytes) -> G:
    """The body as `model`; an empty one counts as `{}`. Raises `Invalid` with the field."""
    try:
        return model.model_validate_json(raw if raw.strip() else b"{}")
    except ValidationError as error:
        raise refusal(error) from None


def parse_query(model: type[G], request: Request) -> G:
    """The query's parameters as `model`, each given once at most. Raises `Invalid` with the parameter."""
    given: dict[str, str] = {}
    for name, values in request.args.lists():
        if len(values) > 1:
            raise Invalid(name[:80], "may be given once only")
        given[name] = values[0]
    try:
        return model.model_validate_strings(given)
    except ValidationError as error:
        raise refusal(error) from None


def drain(request: Request) -> None:
    """Read what a refused call still sends, up to a bound.

    A server that closes a connection with bytes unread resets it, and the client may lose the answer.
    """
    stream = None if _READ in request.environ else request.environ.get("wsgi.input")
    left = min(request.content_length or 0, MOST_DRAINED)
    if request.content_length is None and request.environ.get("wsgi.input_terminated"):
        left = MOST_DRAINED
    while stream is not None and left > 0:
        try:
            chunk = stream.read(min(65_536, left))
        except (OSError, ValueError):
            return
        if not chunk:
            return
        left -= len(chunk)
