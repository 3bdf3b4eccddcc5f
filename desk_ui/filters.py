"""What narrows a list: read from the address, and written into it with its defaults left out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

from models import text
from models.errors import Invalid

E = TypeVar("E", bound=StrEnum)
Reader = Callable[[str, str], Any]


def as_text(name: str, value: str) -> str:
    """Raises `Invalid` on `name` for what can't be stored, and so matches nothing."""
    return text.storable(value, name, longest=text.ID_LENGTH)


def one_of(kind: type[E]) -> Reader:
    """A reader of the values of `kind`, which raises `Invalid` for any other."""

    def read(name: str, value: str) -> E:
        if value not in set(kind):
            raise Invalid(name, f"can't be “{value[:40]}”; there are {', '.join(kind)}")
        return kind(value)

    return read


@dataclass(frozen=True)
class Filters:
    """The base of each list's filters: fields with defaults, of which `tab` stands for itself.

    `readers` turns the text of a field into its value; a field without one is text.
    """

    readers: ClassVar[Mapping[str, Reader]] = {}

    @classmethod
    def from_args(cls, args: Mapping[str, str]) -> tuple[Self, list[Invalid]]:
        """The filter, and what of `args` can't be used and was left out."""
        found: dict[str, Any] = {}
        unusable: list[Invalid] = []
        for one in fields(cls):
            value = args.get(one.name, "").strip()
            if not value:
                continue
            try:
                found[one.name] = cls.readers.get(one.name, as_text)(one.name, value)
            except Invalid as fault:
                unusable.append(fault)
        return cls(**found), unusable

    def as_params(self, **changes: Any) -> dict[str, str]:
        """The address's parameters, defaults left out."""
        changed = replace(self, **changes) if changes else self
        given = {one: getattr(changed, one.name) for one in fields(changed)}
        return {one.name: str(value) for one, value in given.items() if value and value != one.default}

    @cached_property
    def narrows(self) -> dict[str, str]:
        """The filters that are set, without the tab."""
        return {name: value for name, value in self.as_params().items() if name != "tab"}
