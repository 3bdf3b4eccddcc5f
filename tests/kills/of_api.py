"""The fault points of the API: for each an act that passes it, and what one whole act changes."""

from tests.kills.scenario import (
    BOOKING,
    CANCELLED,
    DROPPED,
    ENDPOINT,
    LINES,
    OUTCOME,
    REARMED,
    RECLAIMED,
    RULE,
    SETTLED,
    SKIPPED,
    STOP,
    Scenario,
    by_api,
    closed_behind,
    of_platform,
    plus,
    two_pending,
    with_id,
    with_token,
)
from tests.kills.setting import Setting

SCENARIOS: dict[str, Scenario] = {
    "api.followups.book": Scenario(
        by_api("POST", "/followups", BOOKING),
        plus(follow_up__pending=1, contact__granted=1, audit=2, outbox=1, kept_answer=1),
        with_token,
    ),
    "api.followups.cancel": Scenario(
        by_api("POST", "/followups/{id}/cancel", {}),
        {**CANCELLED, "kept_answer": 1},
        with_id(Setting.booked),
    ),
    "api.followups.rearm": Scenario(
        by_api("POST", "/followups/{id}/rearm", {"at": "+6h"}),
        plus(follow_up__pending=1, audit=1, outbox=1, kept_answer=1),
        with_id(Setting.cancelled),
    ),
    "api.followups.reschedule": Scenario(
        by_api("POST", "/followups/{id}/reschedule", {"at": "2131-01-01T00:00:00Z"}),
        plus(audit=1, kept_answer=1),
        with_id(Setting.booked),
    ),
    "api.followups.import": Scenario(
        by_api("POST", "/followups/import", LINES),
        plus(follow_up__pending=2, audit=2, outbox=2, kept_answer=1),
        with_token,
    ),
    "api.contacts.revoke": Scenario(
        by_api("POST", "/contacts/c-1/revoke", {}),
        {
            **CANCELLED,
            **plus(contact__granted=-1, contact__revoked=1, revoke_event=1, kept_answer=1),
            **plus(audit=2, outbox=2),
        },
        with_id(Setting.booked),
    ),
    "api.customers.erase": Scenario(
        by_api("DELETE", "/customers/c-1", key=None),
        plus(follow_up__pending=-1, contact__granted=-1, audit=1),
        with_id(Setting.booked),
    ),
    "api.messages.receive": Scenario(
        by_api("POST", "/messages", STOP),
        {
            **plus(follow_up__pending=-2, follow_up__cancelled=2, contact__granted=-1, contact__revoked=1),
            **plus(revoke_event=1, conversation=1, message=1, audit=3, outbox=3, kept_answer=1),
        },
        two_pending,
    ),
    "api.outcomes.record": Scenario(
        by_api("POST", "/outcomes", OUTCOME), plus(outcome=1, kept_answer=1), with_token
    ),
    "api.tasks.claim": Scenario(
        by_api("POST", "/tasks/{id}/claim", {}, key=None),
        plus(agent_task__queued=-1, agent_task__dispatched=1, task_event=1),
        with_id(lambda setting: setting.fired()[1]),
    ),
    "api.tasks.claim_refused": Scenario(
        by_api("POST", "/tasks/{id}/claim", {}, key=None),
        plus(agent_task__queued=-1, agent_task__cancelled=1, task_event=1),
        closed_behind,
    ),
    "api.tasks.done": Scenario(
        by_api("POST", "/tasks/{id}/done", {}),
        plus(agent_task__dispatched=-1, agent_task__done=1, task_event=1, kept_answer=1),
        with_id(Setting.claimed),
    ),
    "api.tasks.failed": Scenario(
        by_api("POST", "/tasks/{id}/failed", {}),
        plus(agent_task__dispatched=-1, agent_task__failed=1, task_event=1, kept_answer=1),
        with_id(Setting.claimed),
    ),
    "api.refused": Scenario(
        by_api("POST", "/followups/{id}/cancel", {}),
        plus(refused=1),
        with_id(lambda setting: setting.fired()[0]),
        repeats=False,
    ),
    "api.tenant.change": Scenario(
        by_api("PATCH", "/tenant", {"features": {"followups": False}}, key=None), plus(audit=1), with_token
    ),
    "api.agents.change": Scenario(
        by_api("PATCH", "/agents/store-support", {"held": True, "reason": "r"}, key=None),
        plus(agent_hold=1, audit=1),
        with_token,
    ),
    "api.endpoints.add": Scenario(
        by_api("POST", "/endpoints", ENDPOINT, key=None),
        plus(webhook_endpoint__active=1, audit=1),
        with_token,
        repeats=False,
    ),
    "api.endpoints.change": Scenario(
        by_api("PATCH", "/endpoints/{id}", {"active": False}, key=None),
        plus(webhook_endpoint__active=-1, webhook_endpoint__paused=1, audit=1),
        with_id(Setting.endpoint),
    ),
    "api.endpoints.remove": Scenario(
        by_api("DELETE", "/endpoints/{id}", key=None),
        plus(webhook_endpoint__active=-1, webhook_endpoint__removed=1, audit=1),
        with_id(Setting.endpoint),
    ),
    "api.endpoints.rotate_secret": Scenario(
        by_api("POST", "/endpoints/{id}/secret", {}, key=None),
        plus(audit=1),
        with_id(Setting.endpoint),
        repeats=False,
    ),
    "api.endpoints.test": Scenario(
        by_api("POST", "/endpoints/{id}/test", {}, key=None),
        plus(outbox=1, audit=1),
        with_id(Setting.endpoint),
        repeats=False,
    ),
    "api.rules.create": Scenario(
        by_api("POST", "/rules", RULE), plus(automation_rule=1, audit=1, kept_answer=1), with_token
    ),
    "api.rules.change": Scenario(
        by_api("PATCH", "/rules/{id}", {"active": False}, key=None), plus(audit=1), with_id(Setting.rule)
    ),
    "api.rules.delete": Scenario(
        by_api("DELETE", "/rules/{id}", key=None),
        plus(automation_rule=-1, audit=1),
        with_id(Setting.rule),
    ),
    "api.conversations.put": Scenario(
        by_api("PUT", "/conversations/v-1", {"status": "open"}, key=None),
        plus(conversation=1, execution__pending=1, audit=1),
        with_id(Setting.rule_on_updates),
    ),
    "api.executions.cancel": Scenario(
        by_api("POST", "/executions/{id}/cancel", {}),
        {**SKIPPED, "kept_answer": 1},
        with_id(lambda setting: setting.execution("waiting")),
    ),
    "api.executions.reclaim": Scenario(
        by_api("POST", "/executions/{id}/reclaim", {}),
        {**RECLAIMED, "kept_answer": 1},
        with_id(lambda setting: setting.execution("stale")),
    ),
    "api.executions.settle": Scenario(
        by_api("POST", "/executions/{id}/settle", {"unknown": {"1": "done"}}),
        {**SETTLED, "kept_answer": 1},
        with_id(lambda setting: setting.execution("abandoned")),
    ),
    "api.executions.drop": Scenario(
        by_api("POST", "/executions/{id}/drop", {}),
        {**DROPPED, "kept_answer": 1},
        with_id(lambda setting: setting.execution("abandoned")),
    ),
    "api.executions.rearm": Scenario(
        by_api("POST", "/executions/{id}/rearm", {}),
        {**REARMED, "kept_answer": 1},
        with_id(lambda setting: setting.execution("abandoned")),
    ),
    "api.sweeps.run": Scenario(
        by_api("POST", "/sweeps/fire_followups/run"),
        plus(sweep_slot__waiting=1, audit=1, kept_answer=1),
        of_platform,
    ),
}
