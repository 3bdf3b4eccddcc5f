"""Text that came from outside: what can be stored, and how long it may be."""

import unicodedata

from models.errors import Invalid

ID_LENGTH = 200


def required(value: str | None, field: str, *, longest: int = ID_LENGTH) -> str:
    """`value` unchanged, if it is not blank and at most `longest` characters. Raises `Invalid`."""
    if value is None or not value.strip():
        raise Invalid(field, "must not be blank")
    return storable(value, field, longest=longest)


def optional(value: str | None, field: str, *, longest: int = ID_LENGTH) -> str | None:
    """As `required`, but nothing at all is fine too."""
    return None if value is None else storable(value, field, longest=longest)


def is_storable(value: str, *, longest: int = ID_LENGTH) -> bool:
    """Whether `storable` takes `value`."""
    try:
        storable(value, "value", longest=longest)
    except Invalid:
        return False
    return True


def storable(value: str, field: str, *, longest: int) -> str:
    """`value` unchanged, if both databases can keep it. Raises `Invalid`."""
    if len(value) > longest:
        raise Invalid(field, f"has {len(value)} characters; {longest} is the most")
    if "\x00" in value or any(unicodedata.category(c) == "Cs" for c in value):
        raise Invalid(field, "holds a character that can't be stored (NUL or half of a surrogate pair)")
    return value
