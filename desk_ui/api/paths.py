"""Parameters in a path: ids as they may come, and customer ids that hold any character."""

from uuid import UUID

from werkzeug.routing import BaseConverter

from models import text
from models.errors import Invalid, NotFound


class AnythingConverter(BaseConverter):
    """One or more characters of any kind, slashes and line breaks too, raw or encoded.

    Where one path ends in a verb, as `/contacts/<customer>/revoke`, the last part is the verb: the customer
    `a/revoke` is revoked at `/contacts/a/revoke/revoke`.
    """

    regex = r"[\s\S]+"
    part_isolating = False


class ConversationConverter(AnythingConverter):
    """A conversation's id, but none that ends in `/messages`: at that address its messages are listed."""

    regex = r"(?![\s\S]*/messages\Z)[\s\S]+"


def as_uuid(value: str, what: str) -> UUID:
    """The id in its usual form. Raises `NotFound` for anything else, as for an id that nobody has."""
    try:
        found = UUID(value)
    except ValueError:
        raise NotFound(what) from None
    if str(found) != value.lower():
        raise NotFound(what)
    return found


def as_text(value: str, what: str) -> str:
    """A text that a row could have as its id. Raises `NotFound` where none could."""
    try:
        return text.required(value, what)
    except Invalid:
        raise NotFound(what) from None
