"""What the page of one execution shows: its ledger, its reason then and now, what was said, its timeline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from flask import g, url_for
from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.orm import Session

from desk_ui import words
from desk_ui.automations import checks, episodes, executions_watching, ledger
from desk_ui.automations import executions_queries as queries
from desk_ui.automations import executions_refusals as refusals
from desk_ui.automations import executions_told as told
from desk_ui.automations.checks import Judged
from desk_ui.automations.executions_queries import Filters, Row, Scene, Tab
from desk_ui.automations.executions_views import TABS, called, rule_name
from desk_ui.automations.ledger import Step
from desk_ui.handling import marks
from desk_ui.handling.marks import Hand, On
from desk_ui.marks import Mark
from desk_ui.paging import place
from desk_ui.permissions import Permission
from desk_ui.refreshing import Watch
from desk_ui.timelines import Entry, timeline
from desk_ui.translating import gettext as _
from desk_ui.translating import lazy_gettext as _l
from models.automations import judging
from models.automations import ledger as records
from models.automations.judging import Facts
from models.automations.records import ARMED, ActionRun, ActionState, Execution, Status
from models.conversations import Conversation, ConversationStatus
from models.messages import Message, SenderType

MOST_MESSAGES = 8
STATUSES: Mapping[str, Any] = {
    ConversationStatus.OPEN: _l("open"),
    ConversationStatus.RESOLVED: _l("resolved"),
    ConversationStatus.PENDING: _l("pending"),
    ConversationStatus.SNOOZED: _l("snoozed"),
}
SENDERS: Mapping[str, Any] = {
    SenderType.CUSTOMER: _l("the customer"),
    SenderType.AGENT: _l("an agent"),
    SenderType.ASSISTANT: _l("an assistant"),
    SenderType.BOT: _l("a bot"),
    SenderType.SYSTEM: _l("the system"),
}


@dataclass(frozen=True)
class DetailView:
    """The page of one execution."""

    scene: Scene
    row: Execution
    thin: Row
    facts: Facts
    runs: Sequence[ActionRun]
    judged: Judged
    steps: Sequence[Step]
    filters: Filters
    place: dict[str, str]
    messages: Sequence[Message] = ()
    timeline: Sequence[Entry] = ()
    on: On | None = None
    parts: Sequence[Sequence[object]] = field(default_factory=tuple)

    @property
    def mark(self) -> Mark:
        return told.mark(self.row, self.scene.now)

    @property
    def title(self) -> str:
        return rule_name(self.thin)

    @property
    def called(self) -> str:
        return called(self.thin)

    @property
    def query(self) -> str:
        return urlencode(self.filters.as_params() | self.place)

    @property
    def list_url(self) -> str:
        return url_for("executions.index", tenant=g.tenant.key, **self.filters.as_params(), **self.place)

    @property
    def list_name(self) -> str:
        return _("Executions, %(tab)s", tab=str(TABS[self.filters.tab][0]).lower())

    @property
    def conversation_url(self) -> str:
        """All executions of the conversation that stand where this one does."""
        filters = Filters(tab_of(self.row, self.scene), conversation=self.thin.conversation)
        return url_for("executions.index", tenant=g.tenant.key, **filters.as_params())

    @property
    def rule_url(self) -> str:
        if self.facts.rule is not None:
            return url_for("rules.show", tenant=g.tenant.key, rule_id=self.row.rule_id)
        filters = Filters(tab_of(self.row, self.scene), rule=self.row.rule_id)
        return url_for("executions.index", tenant=g.tenant.key, **filters.as_params())

    @cached_property
    def refusals(self) -> Any:
        """Why each act is off, None where it can be done."""
        return refusals.of(self.row, self.runs, self.scene.now)

    @property
    def is_abandoned(self) -> bool:
        return told.is_abandoned(self.row, self.scene.now)

    @property
    def needs_decision(self) -> bool:
        """Whether a person decides on the run, rather than that it waits or was not run."""
        return self.is_abandoned or self.row.needs_review

    @property
    def planned(self) -> list[str]:
        """What will be done, where nothing was begun."""
        if self.runs or self.facts.rule is None or self.row.status not in ARMED:
            return []
        return ledger.planned(self.facts.rule.actions)

    @property
    def left(self) -> list[int]:
        """The numbers of the actions that a re-arm does in any case."""
        states = (ActionState.WAITING, ActionState.FAILED)
        return [step.number for step in self.steps if step.state in states]

    @property
    def status_of_conversation(self) -> str:
        talk = self.facts.conversation
        return conversation_status(talk.status) if talk is not None else ""

    @staticmethod
    def sender(message: Message) -> str:
        """Who wrote it: by name where there is one, else by what they are."""
        kind = message.sender.get("type")
        name = message.sender.get("name") or message.sender.get("key")
        if kind == SenderType.RULE:
            return _("the rule “%(name)s”", name=name) if name else _("a rule")
        return str(name or SENDERS.get(str(kind), kind))

    @staticmethod
    def more(entry: Entry) -> str:
        """What else an entry tells: who had it before, which actions were let go on, against what."""
        if from_whom := entry.detail.get("taken_over_from"):
            return _("Over from %(who)s", who=from_whom)
        if entry.action != "execution.rearmed" or "positions" not in entry.detail:
            return ""
        numbers = ", ".join(str(one + 1) for one in entry.detail["positions"])
        said = [_("Actions %(numbers)s", numbers=numbers)]
        if twice := entry.detail.get("may_be_twice"):
            said.append(_("%(numbers)s may be sent twice", numbers=", ".join(str(one + 1) for one in twice)))
        if against := entry.detail.get("against"):
            said.append(_("although %(why)s", why=words.skip(against)))
        return "; ".join(said)

    @property
    def hand(self) -> Hand | None:
        """Who is on it; None where it needs nobody."""
        if not self.row.needs_review:
            return None
        fields = {"version": str(self.row.version), "list": self.query, "shown": "panel"}
        return marks.hand(
            self.on, Permission.ACT_ON_EXECUTIONS, "executions", fields, execution_id=self.row.id
        )

    @property
    def watch(self) -> Watch:
        return executions_watching.watch(self)

    @property
    def lead(self) -> Markup:
        """How it stands and what comes next, in one or two sentences."""
        found = [*_lead(self)]
        return Markup(" ").join(Markup.escape(one) for one in found if one)

    @property
    def acts_next(self) -> Markup | str:
        return told.acts_next(self.row, self.scene, runs=self.judged.runs)


def conversation_status(status: str) -> str:
    return str(STATUSES.get(status, status))


def tab_of(row: Execution, scene: Scene) -> Tab:
    """The tab that holds it."""
    if row.needs_review:
        return Tab.REVIEW
    if row.status == Status.PROCESSING and told.is_stale(row, scene.now):
        return Tab.STALE
    return queries.TAB_OF[Status(row.status)]


def _lead(view: DetailView) -> list[Markup | str]:
    row, scene = view.row, view.scene
    when = words.ticking(row.updated_at, scene.now, scene.zone)
    if row.status in ARMED:
        return [*_armed(view), view.acts_next]
    if row.status == Status.SKIPPED:
        why = words.skip(row.skip_reason)
        nothing = _("Nothing of it was done.") if not view.runs else ""
        return [Markup(_("Skipped %(when)s: %(why)s.")) % {"when": when, "why": why}, nothing]
    if view.is_abandoned:
        assert row.locked_at is not None
        at = episodes.to_the_second(row.locked_at, scene.now, scene.zone)
        return [
            _("Its worker said nothing after %(at)s.", at=at),
            _("No machine will touch this row again: what may have gone out is never repeated."),
        ]
    if row.status == Status.EXECUTING:
        return [_("A worker does its actions at this moment.")]
    ended = Markup(_("Ended %(when)s.")) % {"when": when}
    if row.needs_review:
        return [ended, _("Not all of it is known to be done. No machine tries it again.")]
    if row.settled_by:
        return [Markup(_("Settled %(when)s by %(who)s.")) % {"when": when, "who": row.settled_by}]
    return [ended]


def _armed(view: DetailView) -> list[Markup | str]:
    row, scene = view.row, view.scene
    if row.status == Status.PROCESSING:
        if row.resumed and row.locked_at is None:
            return [_("Re-armed: what is left of it goes on as soon as a worker takes it.")]
        assert row.locked_at is not None
        at = words.ticking(row.locked_at, scene.now)
        taken = Markup(_("A worker took it %(when)s.")) % {"when": at}
        stale = told.is_stale(row, scene.now)
        return [taken, _("It said nothing since; nothing of it was begun.") if stale else ""]
    due = words.ticking(row.due_at, scene.now, scene.zone)
    said = _("Due %(when)s.") if row.due_at > scene.now else _("It was due %(when)s.")
    return [Markup(said) % {"when": due}, _waits(view)]


def _waits(view: DetailView) -> Markup | str:
    """What it waits for, unless the next run takes it."""
    if view.acts_next:
        return ""
    if view.row.due_at > view.scene.now and not view.scene.paused:
        return _("It waits, and is judged when it is due.")
    said = str(told.aside(view.thin, view.scene))
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def detail(session: Session, scene: Scene, execution: Execution, list_query: str) -> DetailView:
    """Read all that the page of `execution` shows; `list_query` is the list that led to it."""
    given = dict(parse_qsl(list_query)) or {"tab": tab_of(execution, scene).value}
    filters, _unusable = Filters.from_args(given)
    after = place(given)
    thin = queries.one(session, scene.tenant, execution.id)
    assert thin is not None
    facts = judging.facts_of(session, execution)
    runs = records.of(session, execution) if execution.run else []
    abandoned = told.is_abandoned(execution, scene.now)
    on = marks.one_on(session, "execution", execution.id)
    return DetailView(
        scene=scene,
        row=execution,
        thin=thin,
        facts=facts,
        runs=runs,
        judged=checks.judged(session, facts, scene),
        steps=ledger.steps(session, runs, abandoned=abandoned, now=scene.now, zone=scene.zone),
        filters=filters,
        place={"after": after} if after else {},
        messages=last_messages(session, facts.conversation),
        timeline=timeline(session, scene.tenant, ("execution", str(execution.id))),
        on=on,
        parts=executions_watching.parts(facts, runs, on, scene),
    )


def last_messages(session: Session, conversation: Conversation | None) -> list[Message]:
    """The newest messages of the conversation, the newest last."""
    if conversation is None:
        return []
    query = select(Message).where(Message.conversation_id == conversation.id)
    query = query.order_by(Message.created_at.desc(), Message.id.desc()).limit(MOST_MESSAGES)
    return list(session.scalars(query))[::-1]


def find(session: Session, scene: Scene, execution_id: UUID) -> Execution | None:
    """The tenant's execution, or None."""
    query = select(Execution).where(Execution.tenant_id == scene.tenant.id, Execution.id == execution_id)
    return session.scalars(query).one_or_none()
