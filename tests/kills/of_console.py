"""The fault points of the console: for each an act that passes it, and what one whole act changes."""

from models.deliveries import State
from tests.kills.scenario import (
    CANCELLED,
    DROPPED,
    FREED,
    REARMED,
    RECLAIMED,
    SETTLED,
    SKIPPED,
    Scenario,
    asked_at,
    on_endpoint,
    on_hold,
    one_paused,
    person_and,
    person_and_fired,
    person_on_it,
    platforms_admin,
    plus,
    somebody,
)
from tests.kills.setting import PASSWORD, Setting

SCENARIOS: dict[str, Scenario] = {
    "console.bulk.begin": Scenario(
        ["page", "cancel_all", "{link}", "the shop is closed"],
        {
            **plus(follow_up__pending=-1, follow_up__cancelled=1, audit=3, outbox=1),
            **plus(bulk_item__done=1, bulk_operation__finished=1),
        },
        person_and(Setting.booked),
        repeats=False,
        after=plus(bulk_item__waiting=1, bulk_operation__running=1, audit=1),
    ),
    "console.bulk.stop": Scenario(
        ["page", "press_at", "{link}", "/acme/bulk/{id}", "/stop"],
        {
            **plus(bulk_item__waiting=-3, bulk_item__left_out=3, audit=1),
            **plus(bulk_operation__running=-1, bulk_operation__stopped=1),
        },
        person_and(Setting.in_bulk),
        repeats=False,
    ),
    "console.sign_in.link": Scenario(
        ["page", "by_link", "{link}"], plus(signed_in=1), somebody(), repeats=False
    ),
    "console.sign_in.password": Scenario(
        ["page", "by_password", "lead@acme.test", PASSWORD],
        plus(signed_in=1),
        somebody(password=True),
        repeats=False,
    ),
    "console.sign_in.refused": Scenario(
        ["page", "by_password", "lead@acme.test", "wrong"],
        plus(refused=1),
        somebody(password=True),
        repeats=False,
    ),
    "console.password": Scenario(
        ["page", "set_password", "{link}", PASSWORD],
        plus(audit=1),
        somebody(),
        repeats=False,
    ),
    "console.followups.cancel": Scenario(
        ["page", "cancel", "{link}", "{id}"],
        CANCELLED,
        person_and(Setting.booked),
        repeats=False,
    ),
    "console.followups.reschedule": Scenario(
        asked_at("/acme/followups/{id}/rescheduling", at="2131-01-01T00:00"),
        plus(audit=1),
        person_and(Setting.booked),
        repeats=False,
    ),
    "console.executions.cancel": Scenario(
        asked_at("/acme/executions/{id}/cancellation"),
        SKIPPED,
        person_and(lambda setting: setting.execution("waiting")),
        repeats=False,
    ),
    "console.executions.reclaim": Scenario(
        asked_at("/acme/executions/{id}/reclaim"),
        RECLAIMED,
        person_and(lambda setting: setting.execution("stale")),
        repeats=False,
    ),
    "console.executions.settle": Scenario(
        ["ask", "{link}", "/acme/executions/{id}/settlement", ["unknown.1", "done"]],
        SETTLED,
        person_and(lambda setting: setting.execution("abandoned")),
        repeats=False,
    ),
    "console.executions.drop": Scenario(
        asked_at("/acme/executions/{id}/drop"),
        DROPPED,
        person_and(lambda setting: setting.execution("abandoned")),
        repeats=False,
    ),
    "console.executions.rearm": Scenario(
        asked_at("/acme/executions/{id}/rearming", reason="go on"),
        REARMED,
        person_and(lambda setting: setting.execution("abandoned")),
        repeats=False,
    ),
    "console.rules.add": Scenario(
        ["fill", "{link}", "/acme/rules/adding", ["name", "Chase"], ["a0.lines", "late"]],
        plus(automation_rule=1, audit=1),
        somebody(),
        repeats=False,
    ),
    "console.rules.edit": Scenario(
        ["fill", "{link}", "/acme/rules/{id}/editing", ["delay", "3"], ["confirmed", "1"]],
        FREED,
        person_and(Setting.rule_with_one_waiting),
        repeats=False,
    ),
    "console.rules.switch": Scenario(
        asked_at("/acme/rules/{id}/switching"),
        FREED,
        person_and(Setting.rule_with_one_waiting),
        repeats=False,
    ),
    "console.rules.delete": Scenario(
        asked_at("/acme/rules/{id}/deletion"),
        {**FREED, "automation_rule": -1},
        person_and(Setting.rule_with_one_waiting),
        repeats=False,
    ),
    "console.deliveries.rearm": Scenario(
        asked_at("/acme/deliveries/{id}/rearming", reason="it is back"),
        plus(delivery__dead=-1, delivery__pending=1, delivery_event=1),
        person_and(lambda setting: setting.delivery(State.DEAD)),
        repeats=False,
    ),
    "console.deliveries.send": Scenario(
        ["page", "press", "{link}", "/acme/deliveries/{id}", "/sending"],
        plus(delivery_event=1),
        person_and(lambda setting: setting.delivery(State.FAILED)),
        repeats=False,
    ),
    "console.endpoints.add": Scenario(
        asked_at("/acme/endpoints/adding", url="https://hooks.example/x", event_types="*"),
        plus(webhook_endpoint__active=1, audit=1),
        somebody(role="admin"),
        repeats=False,
    ),
    "console.endpoints.edit": on_endpoint(
        "editing", plus(audit=1), url="https://hooks.example/new", event_types="*"
    ),
    "console.endpoints.pause": on_endpoint(
        "pausing", plus(webhook_endpoint__active=-1, webhook_endpoint__paused=1, audit=1)
    ),
    "console.endpoints.resume": on_endpoint(
        "resuming", plus(webhook_endpoint__active=1, webhook_endpoint__paused=-1, audit=1), Setting.paused
    ),
    "console.endpoints.rotate": on_endpoint("rotation", plus(audit=1)),
    "console.endpoints.remove": on_endpoint(
        "removal", plus(webhook_endpoint__active=-1, webhook_endpoint__removed=1, audit=1)
    ),
    "console.endpoints.test": Scenario(
        ["page", "press", "{link}", "/acme/endpoints/{id}", "/testing"],
        plus(outbox=1, audit=1),
        person_and(Setting.endpoint, "admin"),
        repeats=False,
    ),
    "console.followups.rearm": Scenario(
        asked_at("/acme/followups/{id}/rearming", at="2131-01-01T00:00", reason="r"),
        plus(follow_up__pending=1, audit=1, outbox=1),
        person_and(Setting.cancelled),
        repeats=False,
    ),
    "console.followups.restore": Scenario(
        ["page", "press", "{link}", "/acme/followups/{id}", "/restoration"],
        plus(follow_up__pending=1, audit=1, outbox=1),
        person_and(Setting.cancelled_by_hand),
        repeats=False,
    ),
    "console.handling.take": Scenario(
        ["page", "press", "{link}", "/acme/followups/{id}", "/handling"],
        plus(handling=1, audit=1),
        person_and(Setting.overdue),
        repeats=False,
    ),
    "console.handling.let_go": Scenario(
        ["page", "press", "{link}", "/acme/followups/{id}", "/handling/end"],
        plus(handling=-1, audit=1),
        person_on_it,
        repeats=False,
    ),
    "console.followups.revoke": Scenario(
        asked_at("/acme/followups/{id}/revocation"),
        {
            **CANCELLED,
            **plus(contact__granted=-1, contact__revoked=1, revoke_event=1, audit=2, outbox=2),
        },
        person_and(Setting.booked),
        repeats=False,
    ),
    "console.agents.hold": Scenario(
        asked_at("/acme/agents/store-support/hold", reason="r"),
        plus(agent_hold=1, audit=1),
        somebody(),
        repeats=False,
    ),
    "console.agents.release": Scenario(
        asked_at("/acme/agents/store-support/release", reason="r"), plus(audit=1), on_hold, repeats=False
    ),
    "console.sweeps.run": Scenario(
        ["page", "press_at", "{link}", "/acme/sweeps", "/sweeps/fire_followups/runs"],
        plus(sweep_slot__waiting=1, audit=1),
        platforms_admin,
        repeats=False,
    ),
    "console.sweeps.pause": Scenario(
        asked_at("/acme/sweeps/deliver/pause", reason="storm"),
        plus(sweep_pause=1, audit=1),
        platforms_admin,
        repeats=False,
    ),
    "console.sweeps.resume": Scenario(
        asked_at("/acme/sweeps/deliver/resumption"), plus(audit=1), one_paused, repeats=False
    ),
    "console.refused": Scenario(
        ["page", "cancel_fired", "{link}", "{id}", "{other}"],
        plus(refused=1),
        person_and_fired,
        repeats=False,
    ),
}
