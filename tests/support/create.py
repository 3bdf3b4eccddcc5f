"""Builders of rows, through the domain where it lets them be made, else straight into the table."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from models import tenants
from models.actors import Actor
from models.followups import booking
from models.followups.records import FollowUp
from models.sweeps import RunStatus, SweepRun
from models.tenants import Tenant
from models.transactions import commit
from tests.support.declare import declared

API = Actor.api("1", "tests")


def create_tenant(session: Session, key: str = "acme", *, now: datetime) -> Tenant:
    tenant = tenants.add(session, key=key, name=None, actor=API, now=now)
    commit(session, "tests.create")
    return tenant


def create_followup(session: Session, tenant: Tenant, *, now: datetime, **given: Any) -> FollowUp:
    """A pending follow-up with consent, due in an hour unless `at` is given."""
    values = {
        "agent": "store-support",
        "customer": "c-1",
        "reason": "pix pending",
        "at": now + timedelta(hours=1),
    }
    followup, _made = booking.book(
        session, tenant, declared=declared(), actor=API, now=now, **{**values, **given}
    )
    commit(session, "tests.create")
    return followup


def create_good_run(session: Session, name: str, *, now: datetime) -> None:
    """A run of a sweep that ended well now, so that it is not late."""
    session.add(
        SweepRun(
            name=name,
            holder="tests",
            status=RunStatus.OK.value,
            started_at=now,
            finished_at=now,
            counts={},
        )
    )
    commit(session, "tests.create")
