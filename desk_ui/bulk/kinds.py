"""What can be done in bulk, as the console offers it: each area has its kinds, in its own words."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

from flask import g
from sqlalchemy.orm import Session

from desk_ui import words
from desk_ui.addresses import in_tenant
from desk_ui.asking import Field
from desk_ui.bulk.selecting import Selection
from desk_ui.filters import Filters
from desk_ui.permissions import Permission
from models.bulk_operations import BulkOperation, Rows
from models.bulk_running import Verb

KINDS: dict[str, "Kind"] = {}

Described = Mapping[str, Any]


class Kind(ABC):
    """One verb over the rows of one list. `noun` names it in addresses; in words, `{}` is the number."""

    verb: ClassVar[Verb]
    noun: ClassVar[str]
    area: ClassVar[str]
    endpoint: ClassVar[str]
    permission: ClassVar[Permission]
    tabs: ClassVar[frozenset[Any]]
    columns: ClassVar[tuple[str, ...]]
    list_filters: ClassVar[type[Filters]]

    name: ClassVar[Any]
    one: ClassVar[Any]
    many: ClassVar[Any]
    every: ClassVar[Any]
    ticked: ClassVar[Any]
    still: ClassVar[Any]
    begun: ClassVar[Any]
    done_one: ClassVar[Any]
    done_many: ClassVar[Any]

    def on(self, number: int) -> str:
        """`Cancel 12 follow-ups`."""
        return str(self.one) if number == 1 else str(self.many).format(words.number(number))

    def done(self, number: int) -> str:
        """`Cancelled 12 follow-ups.`"""
        return str(self.done_one) if number == 1 else str(self.done_many).format(words.number(number))

    @abstractmethod
    def rows(self, selection: Selection) -> Rows:
        """The rows of the tenant at hand that `selection` means. Raises `Invalid`."""

    def stands(self, selection: Selection) -> str:
        """A sign of what else decides which rows match, and may change without them. Raises `Invalid`."""
        return ""

    def filters(self, selection: Selection) -> dict[str, str]:
        """What narrows the list, as the operation keeps it. Raises `Invalid`."""
        found: Filters = selection.filters(self.list_filters)
        return found.as_params()

    @abstractmethod
    def narrowed(self, query: str) -> str:
        """The list's tab and filters in words."""

    @abstractmethod
    def able(self, selection: Selection) -> Rows:
        """Those chosen that are as they were shown, and to which it can be done. Raises `Invalid`."""

    @abstractmethod
    def lost(self, selection: Selection, most: int) -> Sequence[str]:
        """What became of the first of the other chosen ones, each in one sentence."""

    @abstractmethod
    def sample(self, rows: Rows) -> Sequence[str]:
        """The first few of them, each in one line."""

    @abstractmethod
    def says(self, number: int, selection: Selection) -> Sequence[str]:
        """What will happen, and whether it can be taken back."""

    def fields(self, number: int) -> Sequence[Field]:
        """What it needs to know beside the reason."""
        return ()

    def carried(self) -> dict[str, str]:
        """What goes round with its question, read before anything that the question shows."""
        return {}

    def options(self, form: Mapping[str, str]) -> dict[str, Any]:
        """What it needs to know and what went round, as the operation keeps it. Raises `Invalid`."""
        return {}

    def told(self, options: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        """Those options as the page of the operation tells them."""
        return ()

    @abstractmethod
    def named(self, ids: Sequence[str]) -> Mapping[str, tuple[str, str]]:
        """The rows with these ids that are still there: in words, and the address of their page."""

    @abstractmethod
    def described(self, session: Session, tenant_id: int, ids: Sequence[Any]) -> Mapping[str, Described]:
        """The values of `columns` for the rows with these ids that are still there, for a file."""

    def further(self, operation: BulkOperation) -> str:
        """What is to be said of an operation beside its counts; empty where there is nothing."""
        return ""

    def as_id(self, row_id: str) -> UUID | int:
        """The id of an item's row, in whatever way the database writes it."""
        return self.verb.id(row_id)


def add(*kinds: Kind) -> None:
    """An area says what can be done in bulk to its rows."""
    KINDS.update({kind.verb.name: kind for kind in kinds})


def offered(area: str, tab: Any) -> list[Kind]:
    """What can be done to the rows of a tab; a verb that can't apply there is absent."""
    return [kind for kind in KINDS.values() if kind.area == area and tab in kind.tabs]


class Offered:
    """What a list offers to do in bulk: a part of each list page whose rows can be selected."""

    def __init__(self, area: str, tab: Any, *, may: bool, rows: Sequence[Any]) -> None:
        self.kinds = offered(area, tab) if may and rows else []
        self.area = area

    def __bool__(self) -> bool:
        return bool(self.kinds)

    @property
    def url(self) -> str:
        return in_tenant(f"{self.area}.ask_bulk")

    @property
    def seen(self) -> str:
        """When the list was read, as its form says it."""
        return str(g.now.isoformat())
