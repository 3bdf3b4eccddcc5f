"""Outcomes over HTTP: reported once each."""

from desk_ui.api.fields import Given, Number, OptionalText, Shown, Text, Time
from desk_ui.api.operations import Call, Reply, operation
from models.followups import outcomes


class OutcomeShown(Shown):
    """What came of it."""

    id: str
    tenant: str
    agent: str
    customer: str
    session_id: str | None
    kind: str
    value: float | None
    occurred_at: Time
    created_at: Time


class OutcomeGiven(Given):
    id: Text
    agent: Text
    customer: Text
    kind: Text
    occurred_at: Time
    session_id: OptionalText | None = None
    value: Number | None = None


@operation(
    "outcomes.record",
    "POST",
    "/outcomes",
    scope="ingest",
    body=OutcomeGiven,
    answers={201: OutcomeShown, 200: OutcomeShown},
    point="api.outcomes.record",
    conflicts=True,
)
def record(call: Call) -> Reply:
    """Report an outcome. The same `id` with the same content answers 200 with the first one."""
    given: OutcomeGiven = call.body
    outcome, made = outcomes.record(call.session, call.tenant, **dict(given), now=call.now)
    return Reply(201 if made else 200, OutcomeShown.of(outcome, tenant=call.tenant.key))
