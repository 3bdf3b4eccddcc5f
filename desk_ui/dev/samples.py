"""What the page of the components shows: one of everything, in each state, with texts as odd as they come."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from flask import g
from markupsafe import Markup

from desk_ui import charts, declared, local_time
from desk_ui.asking import Ask, Field, Told
from desk_ui.charts import Chart
from desk_ui.followups.queries import Filters, Row, Scene, Tab
from desk_ui.followups.views import ListView
from desk_ui.htmx import render_block
from desk_ui.listing import Asked
from desk_ui.marks import Mark
from desk_ui.offering import Offer
from desk_ui.paging import Cursor, Page
from jobs.schedule import sweeps
from models.followups.records import Block, Status
from models.sweep_trends import HOURS, Hour

BACK = "/dev/components"
LONG = "a-reason-without-a-single-space-that-goes-on-and-on-" * 4
MARKUP = "<b>bold</b> & “quoted” =1+1"
SHAPES = ("disc", "ring", "half", "square", "triangle", "pause", "cross")
TONES = ("good", "idle", "warn", "bad")
ERRORS = (400, 403, 404, 405, 409, 413, 422, 429, 500, 503)
GATES = (
    ("policy", "pass", "A policy is declared for the agent."),
    ("consent", "pass", "May be contacted, since 12 d."),
    ("quiet hours", "wait", "22:00 to 09:00 for the customer; it waits until 09:00."),
    ("message limit", "stop", "2 of 2 in 24 h. The next is free in 3 h."),
    ("silence", "skipped", "After 3 without a reply."),
)


@dataclass(frozen=True)
class Sample:
    """All that the template asks for."""

    marks: Sequence[Mark]
    lists: Sequence[ListView]
    empty: ListView
    charts: Sequence[tuple[str, Chart]]
    fields: Sequence[Field]
    offer: Offer

    @property
    def rows(self) -> Markup:
        """The rows as the list draws them."""
        return Markup(render_block("followups/list.html", "rows", view=self.lists[0]))

    gates = GATES
    errors = ERRORS
    asks = ("plain", "fields", "danger", "refused", "sample", "told")
    long, markup = LONG, MARKUP
    times = (
        *(timedelta(seconds=3), timedelta(minutes=4), timedelta(hours=5), timedelta(days=2)),
        *(timedelta(days=-2), timedelta(minutes=-12), timedelta()),
    )


def page() -> Sample:
    return Sample(
        marks=[Mark(shape, tone, f"{shape}, {tone}") for shape in SHAPES for tone in TONES],
        lists=[_list(Tab.PENDING, _pending())],
        empty=_list(Tab.BLOCKED, []),
        charts=[(name, charts.of_runs(name, hours, g.zone)) for name, hours in _trends().items()],
        fields=_fields(),
        offer=Offer("Undo", "the cancelling", BACK, g.now + timedelta(seconds=26), "It is over."),
    )


def _scene() -> Scene:
    found = declared.at_hand()[0]
    every = sweeps(found)["fire_followups"].interval
    return Scene(g.tenant, found, g.now, frozenset({"billing"}), every, zone=g.zone)


def _list(tab: Tab, rows: list[Row]) -> ListView:
    since = local_time.typed(g.now - timedelta(days=2), g.zone)
    filters = Filters(tab, customer="c-1042", since=since) if rows else Filters(tab)
    following = Cursor(g.now, UUID(int=1)).encode() if rows else None
    counts = {Tab.PENDING: 3_412, Tab.OVERDUE: 1, Tab.BLOCKED: 2, Tab.FIRED: 10_001, Tab.CANCELLED: None}
    return ListView(Asked(filters, None), Page(rows, following), [], counts, scene=_scene())


def _pending() -> list[Row]:
    """One of each kind that the list shows, in a list of pending ones."""
    soon, late = g.now + timedelta(minutes=12), g.now - timedelta(minutes=4)
    return [
        _row(1, due=late, overdue=True),
        _row(2, due=soon),
        _row(3, due=soon, customer=LONG[:200], reason=LONG[:200], arm="an arm with a name of its own"),
        _row(4, due=soon, customer=MARKUP, reason=MARKUP),
        _row(5, due=g.now + timedelta(days=3), agent="billing", held=True),
        _row(6, due=soon, zone="America/Sao_Paulo"),
        _row(7, due=late, status=Status.FIRED),
        _row(8, due=late, status=Status.BLOCKED, blocked_reason=Block.FREQUENCY.value),
        _row(9, due=soon, status=Status.CANCELLED),
    ]


def _row(number: int, *, due: Any, status: Status = Status.PENDING, **given: Any) -> Row:
    values = dict.fromkeys(set(Row._fields) - Row._field_defaults.keys()) | {
        "id": UUID(int=number),
        "version": 1,
        "status": status.value,
        "at": due,
        "due_at": due,
        "attempts": 0,
        "customer": f"c-{1041 + number}",
        "reason": "pix pending",
        "agent": "store-support",
        "arm": "schedule",
        "cancelled_by": "lead@acme.test" if status is Status.CANCELLED else None,
        "fired_at": g.now - timedelta(seconds=3) if status is Status.FIRED else None,
        "updated_at": g.now - timedelta(seconds=3),
    }
    return Row(**{**values, **given})


def _trends() -> dict[str, list[Hour]]:
    first = g.now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=HOURS - 1)
    hours = [first + timedelta(hours=number) for number in range(HOURS)]
    return {
        "Steady": [Hour(at, runs=120) for at in hours],
        "With faults": [
            Hour(at, runs=5 * n, failed=int(n % 7 == 3), faults=3 * (n == 9)) for n, at in enumerate(hours)
        ],
        "Without a run": [Hour(at) for at in hours],
    }


def _fields() -> list[Field]:
    colours = [("a", "The first"), ("b", "The second")]
    return [
        Field("reason", "Reason", "textarea", hint="It stands in the audit.", longest=200),
        Field("at", "New time", "datetime-local", hint="In Europe/Madrid.", fault="must be ahead of now"),
        Field("note", "Note", required=False, value=MARKUP),
        Field("number", "Type 3412 to confirm", "number", fault="must be 3412"),
        Field("secret", "Password", "password"),
        Field("one", "Which", "choice", "b", options=colours),
        Field("many", "Which of them", "choices", "a", options=colours, fault="choose at least one"),
    ]


def asks() -> dict[str, Ask]:
    """Questions in each of their states, by name."""

    def made(title: str, verb: str, **given: Any) -> Ask:
        return Ask(title, verb, BACK, BACK, **given)

    gone = "Fired 3 s ago, so it can't be cancelled."
    return {
        "plain": made("Run Firing now?", "Run it now", says=["The next run would come in 12 s."]),
        "fields": made("Every kind of field", "Save", fields=_fields(), facts=[("Customer", LONG[:120])]),
        "danger": made(
            "Cancel 12 follow-ups?",
            "Cancel 12 follow-ups",
            kind="danger",
            says=["Nothing is sent to these customers.", "It can be taken back for 30 s."],
            fields=[Field("reason", "Reason", "textarea", hint="It stands in the audit.")],
        ),
        "refused": made(
            "Cancel the follow-up to c-1042?", "Cancel it", kind="danger", refusal=gone, about=BACK
        ),
        "sample": made(
            "Cancel 3,412 follow-ups?",
            "Cancel 3,412 follow-ups",
            kind="danger",
            says=["All that match: agent store-support."],
            sample=["c-1042, pix pending, in 12 min", MARKUP, LONG[:160]],
            rest=3_409,
            fields=[Field("number", "Type 3412 to confirm", "number")],
        ),
    }


def told() -> Told:
    secret = "whsec_" + "x" * 40
    return Told("The secret of the endpoint", ["It is shown once."], "Secret", secret, BACK)
