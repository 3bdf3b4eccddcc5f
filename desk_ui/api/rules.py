"""Rules over HTTP: when a conversation has been like this for so long, do that."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, StringConstraints, WithJsonSchema
from sqlalchemy import select

from desk_ui.api import paging, rows
from desk_ui.api.fields import Given, Paged, Shown, Text, Version
from desk_ui.api.operations import Call, Reply, operation
from desk_ui.api.paths import as_uuid
from desk_ui.api.refusals import Refused, by_id
from models.automations import rules
from models.automations.actions import ActionName
from models.automations.condition_grammar import Joiner, Operator
from models.automations.records import AutomationRule, OnFailure, Trigger
from models.automations.rule_checks import LAST_MINUTE, LONGEST_DELAY, LONGEST_DESCRIPTION, SHORTEST_DELAY
from models.happenings import Event

ORDER = paging.Order("rules", AutomationRule.created_at, AutomationRule.id)
_SUBJECT = by_id(rules.get, "rule")
# What is in them is for the domain to judge: its faults name the condition or action and how to mend it.
_CONDITION = {
    "type": "object",
    "required": ["attribute", "operator"],
    "additionalProperties": False,
    "properties": {
        "attribute": {"type": "string", "description": "Such as `status`, or `custom.<key>`."},
        "operator": {"enum": [one.value for one in Operator]},
        "values": {"anyOf": [{"type": "array"}, {"type": "object"}, {"type": "null"}]},
        "joiner": {"enum": [*(one.value for one in Joiner), None]},
    },
}
_ACTION = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"enum": [one.value for one in ActionName]},
        "params": {"type": "array"},
    },
}
Conditions = Annotated[Any, WithJsonSchema({"type": "array", "maxItems": 100, "items": _CONDITION})]
Actions = Annotated[Any, WithJsonSchema({"type": "array", "minItems": 1, "maxItems": 50, "items": _ACTION})]
Description = Annotated[str, StringConstraints(max_length=LONGEST_DESCRIPTION)]
Delay = Annotated[
    int,
    Field(ge=SHORTEST_DELAY, le=LONGEST_DELAY, description="In minutes; null: at once."),
]
Minute = Annotated[int, Field(ge=0, le=LAST_MINUTE, description="Minutes since midnight.")]


class RuleCondition(Shown):
    attribute: str
    operator: Operator
    values: list[Any]
    joiner: Joiner | None


class RuleAction(Shown):
    name: ActionName
    params: list[Any]


class RuleShown(Shown):
    """A rule. `execution_delay` is in minutes, null for at once."""

    id: UUID
    name: str
    description: str
    event: Event
    execution_delay: int | None
    window_start: int | None
    window_end: int | None
    trigger: Trigger | None
    on_failure: OnFailure
    active: bool
    conditions: list[RuleCondition]
    actions: list[RuleAction]
    version: int


class RulePage(Shown):
    items: list[RuleShown]
    next_cursor: str | None


class RuleGiven(Given):
    name: Text
    event: Event
    actions: Actions
    description: Description = ""
    conditions: Conditions = Field(default_factory=list)
    execution_delay: Delay | None = None
    window_start: Minute | None = None
    window_end: Minute | None = None
    trigger: Trigger | None = None
    on_failure: OnFailure = OnFailure.CONTINUE
    active: bool = True


class RuleChange(Given):
    """What changes. A field that is left out stays as it is; `execution_delay: null` means at once."""

    name: Text | None = None
    event: Event | None = None
    actions: Actions | None = None
    description: Description | None = None
    conditions: Conditions | None = None
    execution_delay: Delay | None = None
    window_start: Minute | None = None
    window_end: Minute | None = None
    trigger: Trigger | None = None
    on_failure: OnFailure | None = None
    active: bool | None = None
    version: Version | None = None


def show(rule: AutomationRule) -> RuleShown:
    return RuleShown.of(
        rule,
        conditions=[RuleCondition(**one) for one in rule.conditions],
        actions=[RuleAction(**one) for one in rule.actions],
    )


@operation("rules.list", "GET", "/rules", scope="read", query=Paged, answers={200: RulePage})
def list_rules(call: Call) -> Reply:
    """List the rules, newest first."""
    given: Paged = call.query
    query = select(AutomationRule).where(AutomationRule.tenant_id == call.tenant.id)
    found, cursor = paging.page(call.session, query, ORDER, limit=given.limit, cursor=given.cursor)
    return Reply(200, RulePage(items=[show(one) for one in found], next_cursor=cursor))


@operation("rules.get", "GET", "/rules/<id>", scope="read", answers={200: RuleShown})
def get(call: Call, id: str) -> Reply:
    """Read one rule."""
    return Reply(200, show(rules.get(call.session, call.tenant.id, as_uuid(id, "rule"))))


@operation(
    "rules.create",
    "POST",
    "/rules",
    scope="operate",
    body=RuleGiven,
    answers={201: RuleShown},
    point="api.rules.create",
)
def create(call: Call) -> Reply:
    """Make a rule. With `execution_delay` it waits for as long, and acts if its reason still stands."""
    rule = rules.create(
        call.session,
        call.tenant,
        call.body.model_dump(),
        actor=call.actor,
        now=call.now,
        settings=call.settings,
    )
    return Reply(201, show(rule))


@operation(
    "rules.change",
    "PATCH",
    "/rules/<id>",
    scope="operate",
    body=RuleChange,
    answers={200: RuleShown},
    point="api.rules.change",
    refused=Refused("rule.changed", "rule", _SUBJECT),
    conflicts=True,
)
def change(call: Call, id: str) -> Reply:
    """Change a rule. What changes anything but its name and description deletes what it had armed."""
    given: RuleChange = call.body
    rule = rules.change(
        call.session,
        call.tenant,
        as_uuid(id, "rule"),
        given.model_dump(exclude_unset=True, exclude={"version"}),
        actor=call.actor,
        now=call.now,
        expected_version=given.version,
        settings=call.settings,
    )
    return Reply(200, show(rule))


@operation(
    "rules.delete",
    "DELETE",
    "/rules/<id>",
    scope="operate",
    answers={204: None},
    point="api.rules.delete",
    refused=Refused("rule.deleted", "rule", _SUBJECT),
)
def delete(call: Call, id: str) -> Reply:
    """Delete a rule and what it had armed. What has begun or is over stays."""
    rules.delete(call.session, call.tenant, as_uuid(id, "rule"), actor=call.actor, now=call.now)
    return Reply(204)


rows.shape(AutomationRule, show)
