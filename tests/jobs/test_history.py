from datetime import timedelta

from sqlalchemy import select

from models import sweep_history, sweep_runs, sweep_slots
from models.sweeping import Counts
from models.sweeps import SweepFault, SweepRun, SweepSlot
from models.tenants import get as get_tenant
from models.transactions import commit

DAY = timedelta(days=1)


def ran(session, now, name="deliver"):
    sweep_slots.claim(session, name, timedelta(seconds=10), now=now)
    slot = session.scalars(select(SweepSlot).order_by(SweepSlot.id.desc())).first()
    started = sweep_runs.begin_slot(session, slot.id, holder="a", now=now)
    fault = {"tenant_id": get_tenant(session, None).id, "row": "r-1", "error": "Traceback ..."}
    sweep_runs.finish(session, started, Counts(examined=1, errors=1, faults=[fault]), now=now)
    return started.run_id


def ids(session, model):
    return list(session.scalars(select(model.id).order_by(model.id)))


def test_purge_keeps_a_week_of_runs_and_slots(session, now):
    old, young = ran(session, now - 8 * DAY), ran(session, now - 6 * DAY)
    counts = sweep_history.purge(session, now=now, limit=100)
    assert counts.own == {"runs": 1, "slots": 1}
    assert ids(session, SweepRun) == [young]
    assert list(session.scalars(select(SweepFault.run_id))) == [young]
    assert old != young


def test_purge_keeps_the_last_good_run_however_old(session, now):
    last = ran(session, now - 30 * DAY)
    sweep_history.purge(session, now=now, limit=100)
    assert ids(session, SweepRun) == [last]


def test_purge_leaves_what_waits_or_runs(session, now):
    sweep_slots.claim(session, "deliver", timedelta(seconds=10), now=now - 9 * DAY)
    commit(session, "tests.history")
    assert sweep_history.purge(session, now=now, limit=100).own == {"runs": 0, "slots": 0}
    assert len(ids(session, SweepSlot)) == 1


def test_purge_is_capped_when_more_is_left(session, now):
    for minutes in range(3):
        ran(session, now - 8 * DAY + timedelta(minutes=minutes))
    ran(session, now)
    assert sweep_history.purge(session, now=now, limit=2).capped
