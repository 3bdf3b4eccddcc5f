"""What every list page is: tabs, filters and a place, all in the address; rows; counts that come later."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from flask import current_app, g, request, url_for
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from desk_ui import refreshing
from desk_ui.addresses import asking, in_tenant
from desk_ui.filters import Filters
from desk_ui.htmx import render_page
from desk_ui.paging import Cursor, Page, TooSlow
from desk_ui.requests import settings_of
from models.errors import Invalid

F = TypeVar("F", bound=Filters)
R = TypeVar("R")


@dataclass(frozen=True)
class Asked(Generic[F]):
    """What the address asks of a list, and in words what of it could not be used."""

    filters: F
    after: Cursor | None
    unusable: tuple[Invalid, ...] = ()

    @classmethod
    def of(cls, kind: type[F], args: Mapping[str, str], id: type[UUID] | type[int] = UUID) -> Self:
        """`id` is the type of the rows' ids, which a cursor names."""
        filters, unusable = kind.from_args(args)
        after = None
        try:
            after = Cursor.decode(args["after"], id) if args.get("after") else None
        except Invalid as fault:
            unusable.append(fault)
        return cls(filters, after, tuple(unusable))

    def read(self, page: Callable[[F, Cursor | None, Any], Page[R]]) -> tuple[Page[R], list[str]]:
        """`page(filters, after, limit)`, or an empty page and why where it takes too long."""
        try:
            return page(self.filters, self.after, settings_of(current_app).statement_timeout), []
        except TooSlow as fault:
            return Page([], None), [fault.detail]


@dataclass(frozen=True)
class Listing(Generic[F, R]):
    """The base of each list page. A subclass names its endpoint, tabs and filters.

    `tabs` gives each tab's name and the words for its order; `names` each filter's label.
    """

    endpoint: ClassVar[str]
    label: ClassVar[Any]
    tabs: ClassVar[Mapping[Any, tuple[Any, Any]]] = {}
    names: ClassVar[Mapping[str, Any]] = {}
    hot: ClassVar[frozenset[Any]] = frozenset()
    # Whose next run its rows tell of.
    tells_of: ClassVar[str] = refreshing.FIRING

    asked: Asked[F]
    page: Page[R]
    notes: list[str]
    counts: Mapping[Any, int | None] | None = None

    @property
    def filters(self) -> F:
        return self.asked.filters

    @property
    def all_notes(self) -> list[str]:
        return [*map(self.left_out, self.asked.unusable), *self.notes]

    def left_out(self, fault: Invalid) -> str:
        """What of the address could not be used, in words."""
        if fault.field == "after":
            return _("This place in the list can't be found, so the list begins at its start.")
        if fault.field == "tab":
            return _("There is no such tab, so the first one is shown.")
        name = self.names[str(fault.field)]
        return _("The filter %(name)s can't be used as it was given, so it was left out.", name=name)

    def shown_value(self, name: str, value: str) -> str:
        """The value of a filter in words; as it is unless a subclass knows better."""
        return value

    @property
    def where(self) -> Mapping[str, Any]:
        """What the address names besides the tenant, for a list of what belongs to one thing."""
        return {}

    @cached_property
    def query(self) -> str:
        """The list's own address, place included, without the tenant: what a detail page leads back to."""
        return urlencode(self.filters.as_params() | self._place)

    @cached_property
    def here(self) -> str:
        """This page of the list."""
        return self._address(**self.filters.as_params(), **self._place)

    @property
    def after(self) -> str | None:
        return self.asked.after.encode() if self.asked.after else None

    @property
    def _place(self) -> dict[str, str]:
        return {"after": self.after} if self.after else {}

    def url(self, **changes: Any) -> str:
        """The list from its start, with some filters changed; None clears one."""
        return self._address(**self.filters.as_params(**changes))

    def _address(self, **params: str) -> str:
        return asking(self.bare, params)

    @cached_property
    def bare(self) -> str:
        """The list's address without anything that it is asked."""
        if not self.where:
            return in_tenant(self.endpoint)
        return url_for(self.endpoint, tenant=g.tenant.key, **self.where)

    def url_after(self, cursor: str) -> str:
        return self._address(**self.filters.as_params(), after=cursor)

    @property
    def url_cleared(self) -> str:
        """The same tab without filters."""
        return self.url(**dict.fromkeys(self.filters.narrows))

    def url_of_tab(self, tab: Any) -> str:
        return self.url(tab=tab)

    @property
    def counts_url(self) -> str:
        """Where the tabs come from with their counts."""
        area = self.endpoint.partition(".")[0]
        return asking(in_tenant(f"{area}.counts"), self.filters.as_params())

    def export_url(self, kind: str) -> str:
        """The whole list as a file, `kind` being `csv` or `jsonl`."""
        area = self.endpoint.partition(".")[0]
        path = in_tenant(f"{area}.export", kind="csv").removesuffix("csv")
        return asking(path + kind, self.filters.as_params())

    @property
    def chips(self) -> list[tuple[str, str, str]]:
        """Each filter that is set: its name, its value, and the list without it."""
        return [
            (str(self.names[name]), self.shown_value(name, value), self.url(**{name: None}))
            for name, value in self.filters.narrows.items()
        ]

    @property
    def in_words(self) -> str:
        """Its tab and filters: `Pending, Agent: billing`."""
        tab = str(self.tabs[self.tab][0])
        return ", ".join([tab, *(f"{name}: {value}" for name, value, _url in self.chips)])

    @property
    def rows_url(self) -> str:
        """Where named rows come from as this list shows them now; empty for rows that never change."""
        area = self.endpoint.partition(".")[0]
        return asking(in_tenant(f"{area}.rows"), self.filters.as_params())

    def sign_of(self, row: R) -> str:
        """The `data-v` of a row: changes with what it shows, but not with the time that passes."""
        raise NotImplementedError

    @property
    def bulk(self) -> Any:
        """What can be done to many of its rows at once, for a list that has such acts."""
        return None

    @property
    def beside(self) -> Sequence[object]:
        """What the list shows apart from its rows and notes, as far as it may change."""
        return ()

    @cached_property
    def signs(self) -> Mapping[Any, str]:
        """The sign of each row of the page, by its id."""
        return {row.id: self.sign_of(row) for row in self.page.rows}  # type: ignore[attr-defined]

    @cached_property
    def sign(self) -> str:
        """Changes with anything that the list shows; what a refresh asks by."""
        rows = (f"{id} {sign}" for id, sign in self.signs.items())
        empty = "" if self.page.rows else self.nothing_sign
        around = refreshing.sign(self.page.following, *self.all_notes, empty, *self.beside)
        return refreshing.sign_of_facts(*rows, around)

    @property
    def nothing_sign(self) -> str:
        return refreshing.sign_of_facts(*self.nothing)

    def answer(self, template: str, **context: Any) -> Response:
        """The list's page, or for a refresh its part `list` where it changed."""

        def draw() -> str:
            return render_page(template, "list", view=self, **context)

        return refreshing.answer(self.sign, draw, self.tells_of)

    @property
    def tab(self) -> Any:
        return self.filters.tab  # type: ignore[attr-defined]

    @property
    def is_first_tab(self) -> bool:
        return "tab" not in self.filters.as_params()

    @property
    def order(self) -> str:
        """In words, by what the rows stand."""
        return str(self.tabs[self.tab][1])

    @property
    def later(self) -> str:
        """What the link to the next page says."""
        return _("Older ones")

    @property
    def nothing(self) -> tuple[str, ...]:
        """The title and text of the list without rows, and where a link helps, its address and words."""
        raise NotImplementedError


def asked_by_address(kind: type[F], id: type[UUID] | type[int] = UUID) -> Asked[F]:
    """What the request at hand asks of its list."""
    return Asked.of(kind, request.args, id)
