"""What the contenders of a race do, each in a process of its own."""

import json
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.orm import Session

from desk_ui.cli import main
from jobs.app import make_app
from jobs.bulk import VERBS
from models import (
    accounts,
    bulk_operations,
    bulk_running,
    endpoints,
    erasure,
    handling,
    operators,
    second_factor,
    tenants,
    tokens,
)
from models.actors import Actor
from models.base import db
from models.errors import DeskError
from models.followups import booking, contacts, tasks, transitions, undoing
from models.followups.firing import fire_due
from models.followups.importing import import_records
from models.intake import IncomingMessage, receive_message
from models.settings import settings
from models.tenants import Tenant
from models.transactions import commit
from tests.conftest import T
from tests.support.create import API
from tests.support.declare import declared

HOUR = timedelta(hours=1)
DUE = T + 2 * HOUR
DECLARED = declared(cancel_keywords=["stop"])
# Loose enough that each customer may be fired at as often as the race makes them due.
LOOSE = declared(2, max_frequency=None, silence_after_sends=1_000_000)


def each(session: Session, items: list[Any], act: Callable[[Any], Any]) -> list[str]:
    """Do `act` for each item in a transaction of its own; what came of each, refusals by their code."""
    found = []
    for item in items:
        try:
            found.append(str(act(item)))
        except tasks.ClaimRefused as refusal:
            found.append(refusal.code)
        except DeskError as refusal:
            session.rollback()
            found.append(refusal.code)
            continue
        commit(session, "tests.race")
    return found


def book(session: Session, tenant: Tenant, customers: list[str]) -> list[str]:
    def act(customer: str) -> str:
        made, _new = booking.book(
            session,
            tenant,
            agent="store-support",
            customer=customer,
            at=T + HOUR,
            reason="pix pending",
            declared=DECLARED,
            actor=API,
            now=T,
        )
        return made.status

    return each(session, customers, act)


def fire(session: Session, _tenant: Tenant, loose: bool) -> dict[str, Any]:
    counts = fire_due(session, declared=LOOSE if loose else DECLARED, now=DUE, limit=10_000)
    return dict(counts.as_dict())


def cancel(session: Session, tenant: Tenant, ids: list[str]) -> list[str]:
    return each(
        session,
        ids,
        lambda id: transitions.cancel(session, tenant.id, UUID(id), actor=API, now=DUE).status,
    )


def say_stop(session: Session, tenant: Tenant, customers: list[str]) -> list[str]:
    def act(customer: str) -> str:
        message = IncomingMessage(
            id=f"stop {customer}",
            conversation_id=f"v-{customer}",
            direction="incoming",
            created_at=DUE,
            text="please stop",
            sender={"type": "customer", "key": customer},
        )
        receive_message(session, tenant, message, declared=DECLARED, now=DUE)
        return contacts.get(session, tenant.id, customer).state

    return each(session, customers, act)


def claim(session: Session, tenant: Tenant, ids: list[str]) -> list[str]:
    return each(
        session,
        ids,
        lambda id: tasks.claim(session, tenant.id, UUID(id), actor=API, now=DUE).status,
    )


def take(session: Session, tenant: Tenant, lines: list[str]) -> int:
    result = import_records(session, tenant, lines, actor=API, now=T)
    commit(session, "tests.race")
    return result.imported


def erase(session: Session, tenant: Tenant, customers: list[str]) -> list[str]:
    return each(
        session,
        customers,
        lambda customer: erasure.erase_customer(session, tenant, customer, actor=API, now=DUE)["followups"],
    )


def give_code(session: Session, _tenant: Tenant, given: dict[str, Any]) -> list[str]:
    """Give each code as the second factor of an operator: what it was taken for."""
    operator = operators.by_email(session, given["email"])
    session.rollback()
    key = settings().secret_key
    return each(
        session,
        given["codes"],
        lambda code: second_factor.check(session, operator, code, secret_key=key, now=T),
    )


def switch_off(session: Session, _tenant: Tenant, emails: list[str]) -> list[str]:
    def act(email: str) -> bool:
        operator = operators.by_email(session, email)
        return accounts.set_active(session, operator, False, actor=API, now=T)

    return each(session, emails, act)


def add(session: Session, tenant: Tenant, given: list[list[str]]) -> list[str]:
    """Add each `(kind, name)`: those of the other contender's names are refused."""

    def act(pair: list[str]) -> str:
        kind, name = pair
        if kind == "token":
            tokens.add(session, tenant, name=name, scopes=["read"], actor=API, now=T)
        elif kind == "tenant":
            tenants.add(session, key=name, name=None, actor=API, now=T)
        elif kind == "endpoint":
            url = f"https://{name}.example/"
            endpoints.add(session, tenant, url=url, event_types=["*"], settings=settings(), actor=API, now=T)
        else:
            operators.add(session, name, tenant=tenant, role="lead", actor=API, now=T, expected="none")
        return "added"

    return each(session, given, act)


def do_bulk(session: Session, _tenant: Tenant, operation_id: str) -> list[int]:
    session.rollback()
    ran = bulk_running.run(
        session, UUID(operation_id), verbs=VERBS, declared=DECLARED, clock=lambda: DUE, most=10_000
    )
    return [ran.done, ran.not_done]


def stop_bulk(session: Session, tenant: Tenant, operation_id: str) -> str:
    stopped = bulk_operations.stop(session, tenant.id, UUID(operation_id), actor=API, now=DUE)
    commit(session, "tests.race")
    return stopped.state


def undo(session: Session, tenant: Tenant, ids: list[str]) -> list[str]:
    def act(id: str) -> str:
        made = undoing.undo_cancel(session, tenant, UUID(id), declared=DECLARED, actor=API, now=T)
        return made.status

    return each(session, ids, act)


def take_on(session: Session, tenant: Tenant, given: list[Any]) -> list[str]:
    """`given`: who takes them on, and the ids."""
    who, ids = given
    hand = Actor.operator(who, f"{who}@acme.test")

    def act(id: str) -> str:
        mark = handling.take(session, tenant, ("followup", id), refusal=None, actor=hand, now=T)
        return mark.operator_id

    return each(session, ids, act)


def desk(session: Session, _tenant: Tenant, arguments: list[str]) -> Any:
    """What the command says, as JSON."""
    session.rollback()
    with redirect_stdout(StringIO()) as said:
        main(arguments, standalone_mode=False)
    lines = said.getvalue().splitlines()
    return json.loads(lines[-1]) if lines else None


ACTS: dict[str, Callable[[Session, Tenant, Any], Any]] = {
    "book": book,
    "fire": fire,
    "cancel": cancel,
    "say_stop": say_stop,
    "claim": claim,
    "take": take,
    "erase": erase,
    "desk": desk,
    "undo": undo,
    "take_on": take_on,
    "give_code": give_code,
    "switch_off": switch_off,
    "add": add,
    "bulk": do_bulk,
    "stop_bulk": stop_bulk,
}


def contend(ready: Callable[[], None], name: str, given: Any) -> Any:
    """Do the act `name` when all stand ready; what came of it, as JSON has it."""
    with make_app(settings()).app_context():
        tenant = tenants.get(db.session(), "acme")
        db.session.execute(text("SELECT 1"))
        db.session.rollback()
        ready()
        return ACTS[name](db.session(), tenant, given)
