"""How a row of the domain is shown in `current`: in the shape that its own call gives."""

from collections.abc import Callable
from typing import Any

from flask import g
from pydantic import BaseModel

_SHAPES: dict[type[Any], Callable[[Any], BaseModel]] = {}


def shape(row: type[Any], shown: Callable[[Any], BaseModel]) -> None:
    """Rows of this class are shown by `shown`."""
    _SHAPES[row] = shown


def shown(value: Any) -> Any:
    """`value` as JSON can hold it: a known row in its shape, anything plain as it is."""
    known = _SHAPES.get(type(value))
    if known is not None:
        return known(value).model_dump(mode="json")
    return value if isinstance(value, str | int | float | dict | list) else None


def tenant_key() -> str:
    """The caller's tenant, which every row that they see belongs to."""
    key: str = g.api_tenant_key
    return key
