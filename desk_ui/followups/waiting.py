"""The notice over the list: tasks that no agent took, or took and did not finish, for too long."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from flask import current_app
from flask_babel import gettext as _
from flask_babel import ngettext
from sqlalchemy.orm import Session

from desk_ui import words
from desk_ui.addresses import asking, in_tenant
from desk_ui.followups.queries import Filters, Scene, Tab, TaskState
from desk_ui.requests import settings_of
from models.followups.records import TaskStatus
from models.followups.stranded import WaitingTask, waiting_tasks

MOST_COUNTED = 100
MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Waiting:
    """Up to one more than `MOST_COUNTED` tasks, the longest waiting first."""

    scene: Scene
    filters: Filters
    tasks: Sequence[WaitingTask] = ()

    @property
    def shown(self) -> Sequence[WaitingTask]:
        return self.tasks[:MOST_SHOWN]

    @property
    def says(self) -> str:
        """How many wait, of which kind, for whom and since when, in one sentence."""
        since = words.day_and_time(self.tasks[0].since, self.scene.now, self.scene.zone)
        return _(
            "%(tasks)s: %(agents)s; waiting since %(since)s.",
            tasks=self._kinds(),
            agents=self._agents(),
            since=since,
        )

    def _kinds(self) -> str:
        if len(self.tasks) > MOST_COUNTED:
            # The overview counts them further: two numbers for the same would look like a fault.
            return _("Many tasks not taken or not finished")
        queued = sum(task.status == TaskStatus.QUEUED for task in self.tasks)
        left = len(self.tasks) - queued
        if not left:
            return ngettext("%(num)s task not taken", "%(num)s tasks not taken", queued)
        if not queued:
            return ngettext(
                "%(num)s task taken and not finished", "%(num)s tasks taken and not finished", left
            )
        first = ngettext("%(num)s task not taken", "%(num)s tasks not taken", queued)
        return _("%(first)s, %(left)s taken and not finished", first=first, left=left)

    def _agents(self) -> str:
        counted = Counter(task.agent for task in self.tasks).most_common()
        if len(self.tasks) > MOST_COUNTED:
            # What was not counted may be anybody's, so that only the names are certain.
            return ", ".join(agent for agent, _number in counted)
        return ", ".join(f"{agent} {number}" for agent, number in counted)

    @property
    def agents(self) -> list[str]:
        """Whose tasks they are, the most first, as far as they were counted."""
        return [agent for agent, _number in Counter(task.agent for task in self.tasks).most_common()]

    @property
    def rest(self) -> str:
        """How many more there are than are shown, in words; empty where there are none."""
        more = len(self.tasks) - MOST_SHOWN
        if more <= 0:
            return ""
        if len(self.tasks) > MOST_COUNTED:
            return _("and many others")
        return ngettext("and %(num)s other", "and %(num)s others", more)

    @property
    def url(self) -> str:
        """The list of all of them, which can be gone through and narrowed."""
        kept = Filters(
            Tab.FIRED,
            agent=self.filters.agent,
            customer=self.filters.customer,
            task=TaskState.UNFINISHED,
        )
        return asking(in_tenant("followups.index"), kept.as_params())


def waiting(session: Session, scene: Scene, filters: Filters) -> Waiting:
    """The tasks that have waited for too long, as far as the list is about their agent and customer."""
    found = waiting_tasks(
        session,
        scene.tenant.id,
        before=scene.now - settings_of(current_app).attention_after,
        limit=MOST_COUNTED + 1,
        agent=filters.agent,
        customer=filters.customer,
    )
    return Waiting(scene, filters, found)
