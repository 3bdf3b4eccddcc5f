"""What the scenarios of the fault points are made of: how each is prepared, and what it comes to."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models import handling, operators, sweep_states, tenants
from models.base import db
from models.followups import transitions
from tests.conftest import T
from tests.kills.setting import Setting
from tests.support.create import API, create_followup


@dataclass(frozen=True)
class Scenario:
    """`effect` is what one whole act changes: rows by table, or by table and status.

    `repeats` says that whoever got no answer may do the act again, whatever became of the first; then
    there is one effect in the end, too.
    """

    act: list[Any]
    effect: Mapping[str, int]
    prepare: Callable[[Setting], Mapping[str, str]] = lambda _setting: {}
    repeats: bool = True
    after: Mapping[str, int] | None = None
    domain: bool = False


def with_id(make: Callable[[Setting], str]) -> Callable[[Setting], Mapping[str, str]]:
    def prepare(setting: Setting) -> Mapping[str, str]:
        setting.token(setting.tenant)
        return {"id": make(setting)}

    return prepare


def with_token(setting: Setting) -> Mapping[str, str]:
    setting.token(setting.tenant)
    return {}


def of_platform(setting: Setting) -> Mapping[str, str]:
    setting.token(tenants.get(setting.session, "platform"))
    return {}


def two_pending(setting: Setting) -> Mapping[str, str]:
    setting.token(setting.tenant)
    setting.booked()
    setting.booked(reason="another")
    return {}


def one_due(setting: Setting) -> Mapping[str, str]:
    for number in range(3):
        create_followup(setting.session, setting.tenant, now=T, customer=f"c-{number}")
    return {}


def old_ones(setting: Setting) -> Mapping[str, str]:
    id = create_followup(setting.session, setting.tenant, now=T, reason="cancelled").id
    transitions.cancel(setting.session, setting.tenant.id, id, actor=API, now=T)
    create_followup(setting.session, setting.tenant, now=T, reason="late")
    return {}


def chatwoots_rules(setting: Setting) -> Mapping[str, str]:
    """A file with two of them."""
    file = setting.settings.var / "rules.json"
    rule = {"event_name": "message_created", "actions": [{"action_name": "mute_conversation"}]}
    file.write_text(json.dumps({"payload": [{**rule, "name": "a"}, {**rule, "name": "b"}]}))
    return {"file": str(file)}


def changed_file(setting: Setting) -> Mapping[str, str]:
    Path(setting.settings.config_file).write_text("[agents.another]\n")
    return {}


def closed_behind(setting: Setting) -> Mapping[str, str]:
    """A queued task whose contact was closed by other means than the verb that cancels with it."""
    setting.token(setting.tenant)
    _followup, task = setting.fired()
    with db.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM contact")
    return {"id": task}


def kept_answer(setting: Setting) -> Mapping[str, str]:
    from models import idempotency

    setting.token(setting.tenant)
    call = idempotency.call_of(
        tenant_id=setting.tenant.id, token_id=1, method="POST", path="/", key="k", body=b""
    )
    idempotency.begin(setting.session, call, setting.now)
    idempotency.keep(setting.session, call, 201, "{}")
    setting.commit()
    return {}


def somebody(**given: Any) -> Callable[[Setting], Mapping[str, str]]:
    def prepare(setting: Setting) -> Mapping[str, str]:
        return setting.links(setting.person(**given))

    return prepare


def person_and(make: Callable[[Setting], str], role: str = "lead") -> Callable[[Setting], Mapping[str, str]]:
    def prepare(setting: Setting) -> Mapping[str, str]:
        return {"id": make(setting), **setting.links(setting.person(role=role))}

    return prepare


def person_and_fired(setting: Setting) -> Mapping[str, str]:
    followup, _task = setting.fired()
    return {"id": followup, "other": setting.booked(), **setting.links(setting.person())}


def person_on_it(setting: Setting) -> Mapping[str, str]:
    person, id = setting.person(), setting.overdue()
    hand = operators.as_actor(person)
    handling.take(
        setting.session, setting.tenant, ("followup", id), refusal=None, actor=hand, now=setting.now
    )
    setting.commit()
    return {"id": id, **setting.links(person)}


def on_endpoint(
    act: str,
    effect: Mapping[str, int],
    make: Callable[[Setting], str] | None = None,
    **typed: str,
) -> Scenario:
    """What an admin is asked about an endpoint, answered."""
    return Scenario(
        asked_at(f"/acme/endpoints/{{id}}/{act}", **typed),
        effect,
        person_and(make or Setting.endpoint, "admin"),
        repeats=False,
    )


def platforms_admin(setting: Setting) -> Mapping[str, str]:
    """An admin of the platform who sees the tenant, too."""
    person = setting.person()
    platform = tenants.get(setting.session, None)
    operators.add(setting.session, person.email, tenant=platform, role="admin", actor=API, now=setting.now)
    return setting.links(person)


def on_hold(setting: Setting) -> Mapping[str, str]:
    tenants.hold(
        setting.session, setting.tenant, "store-support", held=True, reason="r", actor=API, now=setting.now
    )
    return setting.links(setting.person())


def one_paused(setting: Setting) -> Mapping[str, str]:
    sweep_states.pause(
        setting.session, "deliver", known=["deliver"], reason="storm", actor=API, now=setting.now
    )
    return platforms_admin(setting)


def plus(**changes: int) -> dict[str, int]:
    """`audit` and `outbox` stand for their tables; `table__status` for a table's rows in a status."""
    names = {
        "audit": "audit_event:success",
        "outbox": "outbox_event",
        "refused": "audit_event:refused",
        "signed_in": "audit_event:operator.signed_in",
    }
    return {names.get(name, name.replace("__", ":")): change for name, change in changes.items()}


def by_api(method: str, path: str, body: Any = None, *, key: str | None = "k") -> list[Any]:
    return ["api", method, path, body, key]


def asked_at(path: str, **typed: str) -> list[Any]:
    """Open the question at `path`, fill it in, and press its button."""
    return ["ask", "{link}", path, *map(list, typed.items())]


BOOKING = {
    "agent": "store-support",
    "customer": "c-1",
    "at": "+6h",
    "reason": "pix pending",
}
LINE = '{"id": "00000000-0000-0000-0000-00000000000%d", "agent": "a", "customer": "c-1", "reason": "r%d"'
LINES = "\n".join((LINE + ', "arm": "x", "at": "2031-08-14T12:00:00Z"}') % (n, n) for n in (1, 2))
STOP = {
    "id": "m-1",
    "conversation_id": "v-1",
    "direction": "incoming",
    "created_at": "2131-01-01T00:00:00Z",
    "text": "please stop",
    "sender": {"type": "customer", "key": "c-1"},
}
OUTCOME = {
    "id": "o-1",
    "agent": "a",
    "customer": "c-1",
    "kind": "paid",
    "occurred_at": "2031-08-14T12:00:00Z",
}
RULE = {"name": "n", "event": "message_created", "actions": [{"name": "mute_conversation"}]}
ENDPOINT = {"url": "https://hooks.example/x", "event_types": ["*"]}
CANCELLED = plus(follow_up__pending=-1, follow_up__cancelled=1, audit=1, outbox=1)
# An execution that waits, one whose worker is silent, and runs that were abandoned in the second of three.
SKIPPED = plus(execution__pending=-1, execution__skipped=1, audit=1)
FREED = plus(execution__pending=-1, audit=1)
RECLAIMED = plus(execution__processing=-1, execution__pending=1, audit=1)
SETTLED = {
    **plus(execution__executing=-1, execution__executed=1, audit=1, outbox=1),
    **plus(action_run__started=-1, action_run__done=1, action_event=2),
}
UNKNOWN = plus(action_run__started=-1, action_run__unknown=1, action_event=1)
DROPPED = {**plus(execution__executing=-1, execution__skipped=1, audit=1), **UNKNOWN}
REARMED = {**plus(execution__executing=-1, execution__processing=1, audit=1), **UNKNOWN}

FIRED = {
    **plus(follow_up__pending=-3, follow_up__fired=3, agent_task__queued=3, audit=3, outbox=6),
    "followup_policy_seen": 1,
}
PURGED = plus(follow_up__cancelled=-1, follow_up__pending=-1, audit=1)

DONE_IN_BULK = {
    **plus(follow_up__pending=-3, follow_up__cancelled=3, audit=4, outbox=3),
    **plus(bulk_item__waiting=-3, bulk_item__done=3, bulk_operation__running=-1, bulk_operation__finished=1),
}
