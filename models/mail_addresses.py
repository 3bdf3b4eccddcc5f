"""Mail addresses: which can be written to, and lists of them as a person writes them."""

import re
from collections.abc import Iterable

from models.errors import Invalid

LONGEST = 254
EXAMPLE = "lead@acme.test"

# No space, quote or separator, so that an address can't become two, nor a header of its own.
SHAPE = re.compile(r"[^\s@<>\"',;:\\]+@[^\s@<>\"',;:\\]+")


def is_sendable(value: object) -> bool:
    """Whether mail can be sent to `value`: a plain address, without a name, in printable ASCII."""
    return (
        isinstance(value, str)
        and len(value) <= LONGEST
        and value.isascii()
        and value.isprintable()
        and SHAPE.fullmatch(value) is not None
    )


def listed(lists: Iterable[object], field: str) -> list[str]:
    """The addresses of some comma-separated lists, each once, in their order. Raises `Invalid` on `field`."""
    found: dict[str, str] = {}
    for one in lists:
        if not isinstance(one, str):
            raise Invalid(field, f"must be mail addresses such as {EXAMPLE}")
        for address in filter(None, map(str.strip, one.split(","))):
            if not is_sendable(address):
                raise Invalid(field, f"holds what is not a mail address such as {EXAMPLE}")
            found.setdefault(address.casefold(), address)
    if not found:
        raise Invalid(field, "names no mail address")
    return list(found.values())
