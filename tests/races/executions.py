"""What the contenders of a race over executions do, each in a process of its own."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import text
from sqlalchemy.orm import Session

from jobs.app import make_app
from models import intake, tenants
from models.automations import operating, rearming, resuming, rules, upkeep
from models.automations.outside import Came, Errand
from models.automations.running import Worker
from models.base import db
from models.declarations import Declared
from models.errors import DeskError
from models.intake import IncomingMessage
from models.settings import settings
from models.tenants import Tenant
from models.transactions import commit, rollback
from tests.automations.world import T0, at
from tests.support.create import API

DECLARED = Declared()


def work(session: Session, _tenant: Tenant, given: dict[str, Any]) -> dict[str, int]:
    """Run the executions at `minutes`; each call outside leaves a line in the file `calls`."""

    def call(errand: Errand) -> Came:
        with Path(given["calls"]).open("a") as file:
            file.write(f"{errand.idempotency_key}\n")
        return Came.done("200")

    now = at(given["minutes"])
    ids = [UUID(id) for id in given["ids"]]
    return dict(Worker(session, DECLARED, lambda: now, call).work(ids).as_dict())


def reply(session: Session, tenant: Tenant, called: list[str]) -> list[bool]:
    """The customer answers in each conversation, one after the other."""
    made = []
    for one in called:
        message = IncomingMessage(
            id=f"{one}-reply",
            conversation_id=one,
            direction="incoming",
            created_at=T0,
            sender={"type": "customer", "key": "c-1"},
            customer="c-1",
        )
        received = intake.receive_message(session, tenant, message, declared=DECLARED, now=T0)
        intake.arm(session, tenant, received.happening, now=T0)
        commit(session, "tests.race")
        made.append(received.made)
    return made


def switch_off(session: Session, tenant: Tenant, _given: None) -> bool:
    resuming.register()
    tenants.set_features(session, tenant, {"delayed_automations": False}, actor=API, now=T0)
    commit(session, "tests.race")
    return True


def edit(session: Session, tenant: Tenant, rule_id: str) -> int:
    given = {"actions": [{"name": "add_label", "params": ["edited"]}]}
    made = rules.change(session, tenant, UUID(rule_id), given, actor=API, now=T0)
    commit(session, "tests.race")
    return made.armed_version


def cancel(session: Session, tenant: Tenant, ids: list[str]) -> dict[str, int]:
    return _each(session, ids, lambda id: operating.cancel(session, tenant.id, id, actor=API, now=T0))


def rearm(session: Session, tenant: Tenant, given: dict[str, Any]) -> dict[str, int]:
    """Re-arm the rest of each as it was seen; who comes too late is told."""

    def act(id: UUID) -> Any:
        version = given["versions"][str(id)]
        return rearming.rearm(session, tenant.id, id, actor=API, now=at(20), expected_version=version)

    return _each(session, given["ids"], act)


def _each(session: Session, ids: list[str], act: Callable[[UUID], Any]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for id in ids:
        try:
            done = act(UUID(id))
        except DeskError as refusal:
            rollback(session)
            found[refusal.code] += 1
            continue
        commit(session, "tests.race")
        found[done.status] += 1
    return dict(found)


def arm(session: Session, tenant: Tenant, called: list[str]) -> int:
    """Another listener tells of the same stretch: each conversation is open since T0."""
    for one in called:
        given = {"status": "open", "status_changed_at": T0, "labels": [str(uuid4())]}
        received = intake.receive_conversation(session, tenant, one, given, now=T0)
        intake.arm(session, tenant, received.happening, now=T0)
        commit(session, "tests.race")
    return len(called)


def mark(session: Session, _tenant: Tenant, minutes: float) -> int:
    return upkeep.mark_abandoned(session, now=at(minutes), limit=1_000)


ACTS: dict[str, Callable[[Session, Tenant, Any], Any]] = {
    "work": work,
    "reply": reply,
    "switch_off": switch_off,
    "edit": edit,
    "cancel": cancel,
    "rearm": rearm,
    "arm": arm,
    "mark": mark,
}


def contend(ready: Callable[[], None], name: str, given: Any) -> Any:
    """Do the act `name` when all stand ready; what came of it."""
    with make_app(settings()).app_context():
        tenant = tenants.get(db.session(), "acme")
        db.session.execute(text("SELECT 1"))
        db.session.rollback()
        ready()
        return ACTS[name](db.session(), tenant, given)
