"""What the follow-ups templates show: each value in words, so that the templates stay dumb."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from markupsafe import Markup

from desk_ui import refreshing, words
from desk_ui.bulk.kinds import Offered
from desk_ui.followups import asked, hands, lines, next_run, queries
from desk_ui.followups.asked import Task
from desk_ui.followups.lines import Addresses, Line, Lines
from desk_ui.followups.queries import Filters, Row, Scene, Tab
from desk_ui.followups.waiting import Waiting
from desk_ui.handling.marks import On
from desk_ui.listing import Listing
from desk_ui.permissions import Permission, refusal
from desk_ui.rows import slot
from desk_ui.translating import gettext as _
from desk_ui.translating import lazy_gettext as _l
from models.base import db
from models.followups.records import UNFINISHED, Block

TABS = {
    Tab.PENDING: (_l("Pending"), _l("soonest first")),
    Tab.OVERDUE: (_l("Overdue"), _l("longest overdue first")),
    Tab.BLOCKED: (_l("Blocked"), _l("newest first")),
    Tab.FIRED: (_l("Fired"), _l("newest first")),
    Tab.CANCELLED: (_l("Cancelled"), _l("newest first")),
}


@dataclass(frozen=True)
class ListView(Listing[Filters, Row]):
    """The list page."""

    endpoint = "followups.index"
    label = _l("Follow-ups by state")
    tabs = TABS
    hot = frozenset({Tab.OVERDUE})
    names = {
        "agent": _l("Agent"),
        "arm": _l("Arm"),
        "reason": _l("Reason"),
        "customer": _l("Customer"),
        "blocked": _l("Blocked"),
        "task": _l("Task"),
        "since": _l("From"),
        "until": _l("Before"),
    }

    scene: Scene = field(kw_only=True)
    waiting: Waiting | None = None
    again: Mapping[UUID, UUID] = field(default_factory=dict)
    left: frozenset[UUID] = frozenset()

    @property
    def agents(self) -> list[str]:
        return queries.agents(self.scene.declared, self.filters)

    @cached_property
    def may_act(self) -> bool:
        return refusal(Permission.ACT_ON_FOLLOWUPS) is None

    @cached_property
    def bulk(self) -> Offered:
        return Offered("followups", self.filters.tab, may=self.has_acts, rows=self.page.rows)

    @property
    def has_acts(self) -> bool:
        return self.filters.tab is not Tab.FIRED and self.may_act

    def shown_value(self, name: str, value: str) -> str:
        if name == "blocked":
            return words.block(value)
        if name == "task":
            return _("not finished")
        return value.replace("T", " ") if name in ("since", "until") else value

    def url_of_tab(self, tab: Tab) -> str:
        """Without the cause and the task, which only one tab has."""
        blocked = self.filters.blocked if tab is Tab.BLOCKED else None
        return self.url(tab=tab, blocked=blocked, task=self.filters.task if tab is Tab.FIRED else None)

    @property
    def later(self) -> str:
        return _("Later ones") if self.filters.oldest_first else super().later

    @property
    def order(self) -> str:
        by_task = self.filters.oldest_first and not self.filters.tab.waits
        return _("longest waiting first") if by_task else super().order

    @property
    def blocks(self) -> list[tuple[str, str]]:
        return [(block.value, words.block(block)) for block in Block]

    @cached_property
    def addresses(self) -> Addresses:
        return Addresses.of(self.query)

    def url_of(self, followup_id: UUID) -> str:
        """The page of one follow-up, which leads back to this list."""
        return self.addresses.shown.replace(slot("id"), str(followup_id))

    @cached_property
    def lines(self) -> list[Line]:
        """The rows of the page, each worked out once."""
        made = Lines(
            scene=self.scene,
            status=self.filters.tab.status,
            has_acts=self.has_acts,
            again=self.again,
            left=self.left,
            tasks=self.tasks,
            on=self.on,
        )
        return made.of(self.page.rows)

    def drawn(self, row: Callable[..., str]) -> Markup:
        """The rows, whose shapes the template's `row` draws: see `lines.drawn`."""
        return lines.drawn(self.lines, self.scene, row)

    @cached_property
    def on(self) -> dict[UUID, On]:
        """Who is on those that need a person."""
        return hands.on_rows(self.page.rows, self.scene, self.again, self.unfinished)

    @property
    def next_run(self) -> Markup:
        """What stands beside a row that the next run takes, with when that is."""
        return next_run.moment(self.scene)

    @cached_property
    def signs(self) -> Mapping[UUID, str]:
        return {line.row.id: line.sign for line in self.lines}

    @property
    def beside(self) -> Sequence[object]:
        return self.waiting_sign, self.off_sign, self.halted_sign, self.may_act, *self.agents

    @property
    def off_sign(self) -> str:
        return refreshing.sign_of_facts(self.scene.paused)

    @property
    def halted_sign(self) -> str:
        return refreshing.sign_of_facts(self.scene.halted, self.scene.zone)

    @property
    def waiting_sign(self) -> str:
        tasks = self.waiting.tasks if self.waiting else ()
        return refreshing.sign_of_facts(self.scene.zone, *(f"{task.id} {task.status}" for task in tasks))

    @cached_property
    def tasks(self) -> dict[UUID, Task]:
        """Of the fired ones on this page, the tasks that want looking at."""
        return asked.wanting(db.session(), self.scene, self.page.rows)

    @cached_property
    def unfinished(self) -> frozenset[UUID]:
        """The fired ones on this page whose task waits for too long."""
        return frozenset(id for id, task in self.tasks.items() if task.status in UNFINISHED)

    @property
    def nothing(self) -> tuple[str, str]:
        """What an empty tab says."""
        return {
            Tab.PENDING: (
                _("Nothing is waiting"),
                _("New follow-ups come in over the API."),
            ),
            Tab.OVERDUE: (
                _("Nothing is overdue"),
                _("Those on hold, in quiet hours or switched off don't count."),
            ),
            Tab.BLOCKED: (_("Nothing was blocked"), _("No follow-up was held back.")),
            Tab.FIRED: (_("Nothing has fired yet"), _("Those that fire are kept here.")),
            Tab.CANCELLED: (_("Nothing was cancelled"), _("Those that are cancelled are kept here.")),
        }[self.filters.tab]
