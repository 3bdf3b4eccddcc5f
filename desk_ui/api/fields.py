"""The types of the API's fields: what a call may send, and how each is written in an answer."""

import unicodedata
from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from models import clock
from models.errors import Invalid

LONGEST_TEXT = 100_000
MOST_ITEMS = 200
DEFAULT_ITEMS = 50
LARGEST_INTEGER = 2**63 - 1


class Given(BaseModel):
    """What a call sends: unknown fields are refused, and no value is taken for one of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Shown(BaseModel):
    """What an answer holds."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)

    @classmethod
    def of(cls, row: object, **more: Any) -> Self:
        """The shape of `row`: each field from its attribute of that name, but for those in `more`."""
        return cls(**{name: getattr(row, name) for name in cls.model_fields if name not in more}, **more)


def _storable(value: str) -> str:
    if "\x00" in value or any(unicodedata.category(c) == "Cs" for c in value):
        raise PydanticCustomError(
            "unstorable", "holds a character that can't be stored (NUL or half of a surrogate pair)"
        )
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("blank", "must not be blank")
    return value


def _time(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str):
        raise PydanticCustomError("time_type", "must be a text such as 2031-08-14T12:00:00Z")
    try:
        return clock.parse_time(value, "time")
    except Invalid as fault:
        detail = fault.detail.removeprefix("time ").removesuffix(".")
        raise PydanticCustomError("time", "{detail}", {"detail": detail}) from None


def _digits(value: Any) -> Any:
    """A number in a query: digits and nothing else, where a lax reading takes `1_0` and ` 1 ` too."""
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit() and len(value) <= 18):
            raise PydanticCustomError("digits", "must be a whole number")
        return int(value)
    return value


def _canonical_uuid(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return UUID(value)
        except ValueError:
            raise PydanticCustomError("uuid", "must be a UUID") from None
    return value


Text = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200),
    AfterValidator(_not_blank),
    AfterValidator(_storable),
    Field(json_schema_extra={"pattern": r"\S"}),
]
OptionalText = Annotated[str, StringConstraints(max_length=200), AfterValidator(_storable)]
LongText = Annotated[str, StringConstraints(max_length=LONGEST_TEXT), AfterValidator(_storable)]
Integer = Annotated[int, Field(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]
Version = Annotated[
    int, Field(ge=0, le=2**31 - 1, description="The version that you saw; another one now is a 409.")
]
Number = Annotated[float, Field(gt=-1e15, lt=1e15, allow_inf_nan=False)]
Id = Annotated[UUID, BeforeValidator(_canonical_uuid)]
Time = Annotated[
    datetime,
    PlainValidator(_time),
    PlainSerializer(clock.iso, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
Limit = Annotated[int, Field(ge=1, le=MOST_ITEMS), BeforeValidator(_digits)]
WholeNumber = Annotated[int, Field(ge=0, le=LARGEST_INTEGER), BeforeValidator(_digits)]
Cursor = Annotated[
    str,
    StringConstraints(min_length=1, max_length=300),
    Field(description="`next_cursor` of the page before."),
]


class Nothing(Given):
    """A call without a body."""


class Versioned(Given):
    """A call that acts on one row."""

    version: Version | None = None


class Paged(Given):
    """What every list takes."""

    limit: Limit = DEFAULT_ITEMS
    cursor: Cursor | None = None


def refusal(error: ValidationError) -> Invalid:
    """The first fault of a body or query, with the field's name as a path with dots."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = ".".join(_readable(part) for part in first["loc"]) or "body"
    return Invalid(field, _said(first["type"], first["msg"]))


def _said(kind: str, message: str) -> str:
    plain = {
        "missing": "is missing",
        "extra_forbidden": "is not known here",
        "model_type": "must be a JSON object",
        "model_attributes_type": "must be a JSON object",
    }
    if kind in plain:
        return plain[kind]
    if kind == "json_invalid":
        return f"is not JSON that can be read ({message.removeprefix('Invalid JSON: ')})"
    return (
        message.replace("Input should", "must").replace("String should", "must").replace("Value error, ", "")
    )


def _readable(part: int | str) -> str:
    """A name as an answer may repeat it: short, and free of what can't be printed."""
    text = str(part)[:80]
    return text if text.isprintable() else ascii(text)
