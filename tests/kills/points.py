"""The registry of fault points: for each an act that passes it, and what one whole act changes.

Who adds a commit adds a line here, or names where else it is killed at (`ELSEWHERE`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import update
from sqlalchemy.orm import Session

from models import accounts, bulk_operations, endpoints, handling, operators, sweep_states, tenants, tokens
from models.actors import Actor
from models.base import db
from models.deliveries import State
from models.followups import in_bulk, tasks, transitions
from models.followups.firing import fire_due
from models.operators import Operator, SignInLink
from models.settings import Settings
from models.tenants import Tenant
from models.transactions import commit
from tests.bulk.working import rows_of
from tests.conftest import T
from tests.delivery import test_kills as delivery
from tests.jobs import test_kills as engine
from tests.kills.acts import IMPORTED
from tests.support.create import API, create_followup
from tests.support.declare import declared
from tests.support.deliver import create_delivery, create_endpoint

HOUR = timedelta(hours=1)
PASSWORD = "a long password for a test"
SCOPES = ("read", "ingest", "operate")
ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(engine.POINTS, "tests/jobs/test_kills.py"),
    **dict.fromkeys((*delivery.DELIVER, *delivery.OTHERS), "tests/delivery/test_kills.py"),
}


@dataclass
class Setting:
    """What a scenario is prepared on."""

    app: Flask
    session: Session
    tenant: Tenant
    settings: Settings
    now: datetime
    env: dict[str, str] = field(default_factory=dict)

    def commit(self) -> None:
        commit(self.session, "tests.kills")

    def token(self, tenant: Tenant) -> None:
        _token, secret = tokens.add(
            self.session, tenant, name="kills", scopes=SCOPES, actor=API, now=self.now
        )
        self.commit()
        self.env["DESK_TEST_TOKEN"] = secret

    def booked(self, **given: Any) -> str:
        return str(create_followup(self.session, self.tenant, now=self.now, **given).id)

    def cancelled(self) -> str:
        id = self.booked()
        transitions.cancel(self.session, self.tenant.id, _uuid(id), actor=API, now=self.now)
        self.commit()
        return id

    def cancelled_by_hand(self) -> str:
        """By a person, so late that it can be taken back for as long as the test takes."""
        id, hand = self.booked(), Actor.operator("99", "other@acme.test")
        at = self.now + HOUR / 60
        transitions.cancel(self.session, self.tenant.id, _uuid(id), actor=hand, now=at)
        self.commit()
        return id

    def overdue(self) -> str:
        ago = self.now - HOUR
        return str(create_followup(self.session, self.tenant, now=ago, at=ago + HOUR / 2).id)

    def fired(self) -> tuple[str, str]:
        """The ids of a fired follow-up and of its task."""
        before = self.now - 3 * HOUR
        made = create_followup(self.session, self.tenant, now=before, reason="fired")
        fire_due(self.session, declared=declared(), now=self.now - HOUR, limit=10)
        self.session.refresh(made)
        ids = str(made.id), str(made.task_id)
        self.session.rollback()
        return ids

    def claimed(self) -> str:
        _followup, task = self.fired()
        tasks.claim(self.session, self.tenant.id, _uuid(task), actor=API, now=self.now)
        self.commit()
        return task

    def endpoint(self) -> str:
        made, _secret = endpoints.add(
            self.session,
            self.tenant,
            url="https://hooks.example/x",
            event_types=["*"],
            settings=self.settings,
            actor=API,
            now=self.now,
        )
        self.commit()
        return str(made.id)

    def delivery(self, state: State) -> str:
        """A delivery in `state`, to an endpoint of its own."""
        made, _secret = create_endpoint(self.session, self.tenant, self.settings, now=self.now)
        return str(create_delivery(self.session, self.tenant, made, now=self.now, state=state).id)

    def in_bulk(self) -> str:
        """An operation that is to cancel three, and that nobody began to do."""
        for number in range(3):
            self.booked(customer=f"c-{number}")
        made = bulk_operations.begin(
            self.session,
            self.tenant.id,
            in_bulk.CANCEL.name,
            rows_of(self.tenant),
            confirmed=3,
            reason="r",
            actor=API,
            now=self.now,
        )
        self.commit()
        return str(made.id)

    def paused(self) -> str:
        made, _secret = create_endpoint(self.session, self.tenant, self.settings, now=self.now, active=False)
        return str(made.id)

    def person(self, *, password: bool = False, role: str = "lead") -> Operator:
        """Somebody with `role` in the tenant, whose address is lead@acme.test."""
        from flask_security import hash_password

        from desk_ui import create_app

        lead, _made = operators.add(
            self.session, "lead@acme.test", tenant=self.tenant, role=role, actor=API, now=self.now
        )
        if password:
            with create_app(self.settings).app_context():
                hashed = hash_password(PASSWORD)
                db.engine.dispose()
            accounts.set_password(self.session, lead, hashed, actor=API, now=self.now)
        self.commit()
        return lead

    def links(self, lead: Operator) -> dict[str, str]:
        """Two paths that sign a person in, each once: as if the second had not made the first void."""
        secrets = [operators.make_link(self.session, lead, actor=API, now=self.now) for _ in range(2)]
        self.session.execute(update(SignInLink).values(used_at=None))
        self.commit()
        return {"link": f"/sign-in/{secrets[0]}", "again": f"/sign-in/{secrets[1]}"}


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


def _uuid(id: str) -> Any:
    from uuid import UUID

    return UUID(id)


def _id(make: Callable[[Setting], str]) -> Callable[[Setting], Mapping[str, str]]:
    def prepare(setting: Setting) -> Mapping[str, str]:
        setting.token(setting.tenant)
        return {"id": make(setting)}

    return prepare


def _with_token(setting: Setting) -> Mapping[str, str]:
    setting.token(setting.tenant)
    return {}


def _of_platform(setting: Setting) -> Mapping[str, str]:
    setting.token(tenants.get(setting.session, "platform"))
    return {}


def _two_pending(setting: Setting) -> Mapping[str, str]:
    setting.token(setting.tenant)
    setting.booked()
    setting.booked(reason="another")
    return {}


def _due(setting: Setting) -> Mapping[str, str]:
    for number in range(3):
        create_followup(setting.session, setting.tenant, now=T, customer=f"c-{number}")
    return {}


def _old(setting: Setting) -> Mapping[str, str]:
    id = create_followup(setting.session, setting.tenant, now=T, reason="cancelled").id
    transitions.cancel(setting.session, setting.tenant.id, id, actor=API, now=T)
    create_followup(setting.session, setting.tenant, now=T, reason="late")
    return {}


def _changed_file(setting: Setting) -> Mapping[str, str]:
    Path(setting.settings.config_file).write_text("[agents.another]\n")
    return {}


def _closed_behind(setting: Setting) -> Mapping[str, str]:
    """A queued task whose contact was closed by other means than the verb that cancels with it."""
    setting.token(setting.tenant)
    _followup, task = setting.fired()
    with db.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM contact")
    return {"id": task}


def _kept_answer(setting: Setting) -> Mapping[str, str]:
    from models import idempotency

    setting.token(setting.tenant)
    call = idempotency.call_of(
        tenant_id=setting.tenant.id, token_id=1, method="POST", path="/", key="k", body=b""
    )
    idempotency.begin(setting.session, call, setting.now)
    idempotency.keep(setting.session, call, 201, "{}")
    setting.commit()
    return {}


def _person(**given: Any) -> Callable[[Setting], Mapping[str, str]]:
    def prepare(setting: Setting) -> Mapping[str, str]:
        return setting.links(setting.person(**given))

    return prepare


def _person_and(make: Callable[[Setting], str], role: str = "lead") -> Callable[[Setting], Mapping[str, str]]:
    def prepare(setting: Setting) -> Mapping[str, str]:
        return {"id": make(setting), **setting.links(setting.person(role=role))}

    return prepare


def _person_and_fired(setting: Setting) -> Mapping[str, str]:
    followup, _task = setting.fired()
    return {"id": followup, "other": setting.booked(), **setting.links(setting.person())}


def _person_on_it(setting: Setting) -> Mapping[str, str]:
    person, id = setting.person(), setting.overdue()
    hand = operators.as_actor(person)
    handling.take(
        setting.session, setting.tenant, ("followup", id), refusal=None, actor=hand, now=setting.now
    )
    setting.commit()
    return {"id": id, **setting.links(person)}


def _on_endpoint(
    act: str,
    effect: Mapping[str, int],
    make: Callable[[Setting], str] | None = None,
    **typed: str,
) -> Scenario:
    """What an admin is asked about an endpoint, answered."""
    return Scenario(
        _ask(f"/acme/endpoints/{{id}}/{act}", **typed),
        effect,
        _person_and(make or Setting.endpoint, "admin"),
        repeats=False,
    )


def _platforms_admin(setting: Setting) -> Mapping[str, str]:
    """An admin of the platform who sees the tenant, too."""
    person = setting.person()
    platform = tenants.get(setting.session, None)
    operators.add(setting.session, person.email, tenant=platform, role="admin", actor=API, now=setting.now)
    return setting.links(person)


def _held(setting: Setting) -> Mapping[str, str]:
    tenants.hold(
        setting.session, setting.tenant, "store-support", held=True, reason="r", actor=API, now=setting.now
    )
    return setting.links(setting.person())


def _paused(setting: Setting) -> Mapping[str, str]:
    sweep_states.pause(
        setting.session, "deliver", known=["deliver"], reason="storm", actor=API, now=setting.now
    )
    return _platforms_admin(setting)


def _plus(**changes: int) -> dict[str, int]:
    """`audit` and `outbox` stand for their tables; `table__status` for a table's rows in a status."""
    names = {
        "audit": "audit_event:success",
        "outbox": "outbox_event",
        "refused": "audit_event:refused",
        "signed_in": "audit_event:operator.signed_in",
    }
    return {names.get(name, name.replace("__", ":")): change for name, change in changes.items()}


def _api(method: str, path: str, body: Any = None, *, key: str | None = "k") -> list[Any]:
    return ["api", method, path, body, key]


def _ask(path: str, **typed: str) -> list[Any]:
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
ENDPOINT = {"url": "https://hooks.example/x", "event_types": ["*"]}
CANCELLED = _plus(follow_up__pending=-1, follow_up__cancelled=1, audit=1, outbox=1)

FIRED = {
    **_plus(follow_up__pending=-3, follow_up__fired=3, agent_task__queued=3, audit=3, outbox=6),
    "followup_policy_seen": 1,
}
PURGED = _plus(follow_up__cancelled=-1, follow_up__pending=-1, audit=1)

DONE_IN_BULK = {
    **_plus(follow_up__pending=-3, follow_up__cancelled=3, audit=4, outbox=3),
    **_plus(bulk_item__waiting=-3, bulk_item__done=3, bulk_operation__running=-1, bulk_operation__finished=1),
}

SCENARIOS: dict[str, Scenario] = {
    "bulk.item": Scenario(
        ["domain", "bulk"],
        DONE_IN_BULK,
        lambda setting: {"id": setting.in_bulk()},
        after={**CANCELLED, **_plus(bulk_item__waiting=-1, bulk_item__done=1)},
        domain=True,
    ),
    "bulk.finish": Scenario(
        ["domain", "bulk"],
        DONE_IN_BULK,
        lambda setting: {"id": setting.in_bulk()},
        after=DONE_IN_BULK,
        domain=True,
    ),
    "console.bulk.begin": Scenario(
        ["page", "cancel_all", "{link}", "the shop is closed"],
        {
            **_plus(follow_up__pending=-1, follow_up__cancelled=1, audit=3, outbox=1),
            **_plus(bulk_item__done=1, bulk_operation__finished=1),
        },
        _person_and(Setting.booked),
        repeats=False,
        after=_plus(bulk_item__waiting=1, bulk_operation__running=1, audit=1),
    ),
    "console.bulk.stop": Scenario(
        ["page", "press_at", "{link}", "/acme/bulk/{id}", "/stop"],
        {
            **_plus(bulk_item__waiting=-3, bulk_item__left_out=3, audit=1),
            **_plus(bulk_operation__running=-1, bulk_operation__stopped=1),
        },
        _person_and(Setting.in_bulk),
        repeats=False,
    ),
    "followups.fire.begin": Scenario(
        ["domain", "fire"], FIRED, _due, after={"followup_policy_seen": 1}, domain=True
    ),
    "followups.fire.chunk": Scenario(["domain", "fire"], FIRED, _due, after=FIRED, domain=True),
    "followups.fire.end": Scenario(["domain", "fire"], FIRED, _due, after=FIRED, domain=True),
    "followups.import.batch": Scenario(
        ["domain", "import"],
        _plus(follow_up__pending=IMPORTED, audit=IMPORTED, outbox=IMPORTED),
        after=_plus(follow_up__pending=500, audit=500, outbox=500),
        domain=True,
    ),
    "followups.retention.batch": Scenario(
        ["domain", "purge"], PURGED, _old, after=_plus(follow_up__cancelled=-1), domain=True
    ),
    "followups.retention.end": Scenario(["domain", "purge"], PURGED, _old, after=PURGED, domain=True),
    "followups.attention": Scenario(
        ["domain", "attention"], _plus(outbox=1, attention_episode=1), _due, domain=True
    ),
    "declarations.refresh": Scenario(
        ["domain", "declare"], _plus(config_version=1), _changed_file, domain=True
    ),
    "retention.batch": Scenario(["domain", "purge_all"], _plus(kept_answer=-1), _kept_answer),
    "tokens.note_use": Scenario(_api("GET", "/followups", key=None), {}, _with_token),
    "api.followups.book": Scenario(
        _api("POST", "/followups", BOOKING),
        _plus(follow_up__pending=1, contact__granted=1, audit=2, outbox=1, kept_answer=1),
        _with_token,
    ),
    "api.followups.cancel": Scenario(
        _api("POST", "/followups/{id}/cancel", {}),
        {**CANCELLED, "kept_answer": 1},
        _id(Setting.booked),
    ),
    "api.followups.rearm": Scenario(
        _api("POST", "/followups/{id}/rearm", {"at": "+6h"}),
        _plus(follow_up__pending=1, audit=1, outbox=1, kept_answer=1),
        _id(Setting.cancelled),
    ),
    "api.followups.reschedule": Scenario(
        _api("POST", "/followups/{id}/reschedule", {"at": "2131-01-01T00:00:00Z"}),
        _plus(audit=1, kept_answer=1),
        _id(Setting.booked),
    ),
    "api.followups.import": Scenario(
        _api("POST", "/followups/import", LINES),
        _plus(follow_up__pending=2, audit=2, outbox=2, kept_answer=1),
        _with_token,
    ),
    "api.contacts.revoke": Scenario(
        _api("POST", "/contacts/c-1/revoke", {}),
        {
            **CANCELLED,
            **_plus(contact__granted=-1, contact__revoked=1, revoke_event=1, kept_answer=1),
            **_plus(audit=2, outbox=2),
        },
        _id(Setting.booked),
    ),
    "api.customers.erase": Scenario(
        _api("DELETE", "/customers/c-1", key=None),
        _plus(follow_up__pending=-1, contact__granted=-1, audit=1),
        _id(Setting.booked),
    ),
    "api.messages.receive": Scenario(
        _api("POST", "/messages", STOP),
        {
            **_plus(follow_up__pending=-2, follow_up__cancelled=2, contact__granted=-1, contact__revoked=1),
            **_plus(revoke_event=1, conversation=1, message=1, audit=3, outbox=3, kept_answer=1),
        },
        _two_pending,
    ),
    "api.outcomes.record": Scenario(
        _api("POST", "/outcomes", OUTCOME), _plus(outcome=1, kept_answer=1), _with_token
    ),
    "api.tasks.claim": Scenario(
        _api("POST", "/tasks/{id}/claim", {}, key=None),
        _plus(agent_task__queued=-1, agent_task__dispatched=1, task_event=1),
        _id(lambda setting: setting.fired()[1]),
    ),
    "api.tasks.claim_refused": Scenario(
        _api("POST", "/tasks/{id}/claim", {}, key=None),
        _plus(agent_task__queued=-1, agent_task__cancelled=1, task_event=1),
        _closed_behind,
    ),
    "api.tasks.done": Scenario(
        _api("POST", "/tasks/{id}/done", {}),
        _plus(agent_task__dispatched=-1, agent_task__done=1, task_event=1, kept_answer=1),
        _id(Setting.claimed),
    ),
    "api.tasks.failed": Scenario(
        _api("POST", "/tasks/{id}/failed", {}),
        _plus(agent_task__dispatched=-1, agent_task__failed=1, task_event=1, kept_answer=1),
        _id(Setting.claimed),
    ),
    "api.refused": Scenario(
        _api("POST", "/followups/{id}/cancel", {}),
        _plus(refused=1),
        _id(lambda setting: setting.fired()[0]),
        repeats=False,
    ),
    "api.tenant.change": Scenario(
        _api("PATCH", "/tenant", {"features": {"followups": False}}, key=None), _plus(audit=1), _with_token
    ),
    "api.agents.change": Scenario(
        _api("PATCH", "/agents/store-support", {"held": True, "reason": "r"}, key=None),
        _plus(agent_hold=1, audit=1),
        _with_token,
    ),
    "api.endpoints.add": Scenario(
        _api("POST", "/endpoints", ENDPOINT, key=None),
        _plus(webhook_endpoint__active=1, audit=1),
        _with_token,
        repeats=False,
    ),
    "api.endpoints.change": Scenario(
        _api("PATCH", "/endpoints/{id}", {"active": False}, key=None),
        _plus(webhook_endpoint__active=-1, webhook_endpoint__paused=1, audit=1),
        _id(Setting.endpoint),
    ),
    "api.endpoints.remove": Scenario(
        _api("DELETE", "/endpoints/{id}", key=None),
        _plus(webhook_endpoint__active=-1, webhook_endpoint__removed=1, audit=1),
        _id(Setting.endpoint),
    ),
    "api.endpoints.rotate_secret": Scenario(
        _api("POST", "/endpoints/{id}/secret", {}, key=None),
        _plus(audit=1),
        _id(Setting.endpoint),
        repeats=False,
    ),
    "api.endpoints.test": Scenario(
        _api("POST", "/endpoints/{id}/test", {}, key=None),
        _plus(outbox=1, audit=1),
        _id(Setting.endpoint),
        repeats=False,
    ),
    "api.sweeps.run": Scenario(
        _api("POST", "/sweeps/fire_followups/run"),
        _plus(sweep_slot__waiting=1, audit=1, kept_answer=1),
        _of_platform,
    ),
    "console.sign_in.link": Scenario(
        ["page", "by_link", "{link}"], _plus(signed_in=1), _person(), repeats=False
    ),
    "console.sign_in.password": Scenario(
        ["page", "by_password", "lead@acme.test", PASSWORD],
        _plus(signed_in=1),
        _person(password=True),
        repeats=False,
    ),
    "console.sign_in.refused": Scenario(
        ["page", "by_password", "lead@acme.test", "wrong"],
        _plus(refused=1),
        _person(password=True),
        repeats=False,
    ),
    "console.password": Scenario(
        ["page", "set_password", "{link}", PASSWORD],
        _plus(audit=1),
        _person(),
        repeats=False,
    ),
    "console.followups.cancel": Scenario(
        ["page", "cancel", "{link}", "{id}"],
        CANCELLED,
        _person_and(Setting.booked),
        repeats=False,
    ),
    "console.followups.reschedule": Scenario(
        _ask("/acme/followups/{id}/rescheduling", at="2131-01-01T00:00"),
        _plus(audit=1),
        _person_and(Setting.booked),
        repeats=False,
    ),
    "console.deliveries.rearm": Scenario(
        _ask("/acme/deliveries/{id}/rearming", reason="it is back"),
        _plus(delivery__dead=-1, delivery__pending=1, delivery_event=1),
        _person_and(lambda setting: setting.delivery(State.DEAD)),
        repeats=False,
    ),
    "console.deliveries.send": Scenario(
        ["page", "press", "{link}", "/acme/deliveries/{id}", "/sending"],
        _plus(delivery_event=1),
        _person_and(lambda setting: setting.delivery(State.FAILED)),
        repeats=False,
    ),
    "console.endpoints.add": Scenario(
        _ask("/acme/endpoints/adding", url="https://hooks.example/x", event_types="*"),
        _plus(webhook_endpoint__active=1, audit=1),
        _person(role="admin"),
        repeats=False,
    ),
    "console.endpoints.edit": _on_endpoint(
        "editing", _plus(audit=1), url="https://hooks.example/new", event_types="*"
    ),
    "console.endpoints.pause": _on_endpoint(
        "pausing", _plus(webhook_endpoint__active=-1, webhook_endpoint__paused=1, audit=1)
    ),
    "console.endpoints.resume": _on_endpoint(
        "resuming", _plus(webhook_endpoint__active=1, webhook_endpoint__paused=-1, audit=1), Setting.paused
    ),
    "console.endpoints.rotate": _on_endpoint("rotation", _plus(audit=1)),
    "console.endpoints.remove": _on_endpoint(
        "removal", _plus(webhook_endpoint__active=-1, webhook_endpoint__removed=1, audit=1)
    ),
    "console.endpoints.test": Scenario(
        ["page", "press", "{link}", "/acme/endpoints/{id}", "/testing"],
        _plus(outbox=1, audit=1),
        _person_and(Setting.endpoint, "admin"),
        repeats=False,
    ),
    "console.followups.rearm": Scenario(
        _ask("/acme/followups/{id}/rearming", at="2131-01-01T00:00", reason="r"),
        _plus(follow_up__pending=1, audit=1, outbox=1),
        _person_and(Setting.cancelled),
        repeats=False,
    ),
    "console.followups.restore": Scenario(
        ["page", "press", "{link}", "/acme/followups/{id}", "/restoration"],
        _plus(follow_up__pending=1, audit=1, outbox=1),
        _person_and(Setting.cancelled_by_hand),
        repeats=False,
    ),
    "console.handling.take": Scenario(
        ["page", "press", "{link}", "/acme/followups/{id}", "/handling"],
        _plus(handling=1, audit=1),
        _person_and(Setting.overdue),
        repeats=False,
    ),
    "console.handling.let_go": Scenario(
        ["page", "press", "{link}", "/acme/followups/{id}", "/handling/end"],
        _plus(handling=-1, audit=1),
        _person_on_it,
        repeats=False,
    ),
    "console.followups.revoke": Scenario(
        _ask("/acme/followups/{id}/revocation"),
        {
            **CANCELLED,
            **_plus(contact__granted=-1, contact__revoked=1, revoke_event=1, audit=2, outbox=2),
        },
        _person_and(Setting.booked),
        repeats=False,
    ),
    "console.agents.hold": Scenario(
        _ask("/acme/agents/store-support/hold", reason="r"),
        _plus(agent_hold=1, audit=1),
        _person(),
        repeats=False,
    ),
    "console.agents.release": Scenario(
        _ask("/acme/agents/store-support/release", reason="r"), _plus(audit=1), _held, repeats=False
    ),
    "console.sweeps.run": Scenario(
        ["page", "press_at", "{link}", "/acme/sweeps", "/sweeps/fire_followups/runs"],
        _plus(sweep_slot__waiting=1, audit=1),
        _platforms_admin,
        repeats=False,
    ),
    "console.sweeps.pause": Scenario(
        _ask("/acme/sweeps/deliver/pause", reason="storm"),
        _plus(sweep_pause=1, audit=1),
        _platforms_admin,
        repeats=False,
    ),
    "console.sweeps.resume": Scenario(
        _ask("/acme/sweeps/deliver/resumption"), _plus(audit=1), _paused, repeats=False
    ),
    "console.refused": Scenario(
        ["page", "cancel_fired", "{link}", "{id}", "{other}"],
        _plus(refused=1),
        _person_and_fired,
        repeats=False,
    ),
    "cli.tenant.add": Scenario(["desk", "tenant", "add", "globex"], _plus(tenant=1, audit=1)),
    "cli.tenant.feature": Scenario(["desk", "tenant", "feature", "acme", "followups", "off"], _plus(audit=1)),
    "cli.token.add": Scenario(
        ["desk", "token", "add", "--tenant", "acme", "--name", "t", "--scope", "read"],
        _plus(api_token=1, audit=1),
    ),
    "cli.token.revoke": Scenario(
        ["desk", "token", "revoke", "--tenant", "acme", "--name", "kills"], _plus(audit=1), _with_token
    ),
    "cli.operator.add": Scenario(
        ["desk", "operator", "add", "lead@acme.test", "--role", "lead", "--tenant", "acme"],
        _plus(operator=1, membership=1, audit=1),
    ),
    "cli.operator.revoke_role": Scenario(
        ["desk", "operator", "revoke-role", "lead@acme.test", "--tenant", "acme"],
        _plus(membership=-1, audit=1),
        _person(),
    ),
    "cli.operator.link": Scenario(
        ["desk", "operator", "link", "lead@acme.test"],
        _plus(sign_in_link=1, audit=1),
        _person(),
        repeats=False,
    ),
    "cli.up.link": Scenario(
        ["up_link"], _plus(operator=1, membership=2, sign_in_link=1, audit=3), repeats=False
    ),
    "cli.erase": Scenario(
        ["desk", "erase", "--tenant", "acme", "--customer", "c-1", "--yes"],
        _plus(follow_up__pending=-1, contact__granted=-1, audit=1),
        _id(Setting.booked),
    ),
    "cli.demo": Scenario(["desk", "demo", "--tenant", "shop"], {"tenant": 1}),
}
