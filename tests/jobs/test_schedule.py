from datetime import timedelta

from jobs import schedule
from jobs.queues import QUEUES
from models.declarations import Declared


def declared(**sweeps):
    return Declared(1, {"sweeps": sweeps})


def test_schedule_has_its_defaults_when_nothing_is_declared():
    assert {s.name: s.interval for s in schedule.sweeps(Declared()).values()} == {
        "fire_followups": timedelta(seconds=30),
        "run_executions": timedelta(seconds=30),
        "process_inbound": timedelta(seconds=5),
        "deliver": timedelta(seconds=10),
        "reconcile_chatwoot": timedelta(seconds=60),
        "run_bulk": timedelta(seconds=10),
        "seal_audit": timedelta(minutes=5),
        "retention": timedelta(days=1),
    }


def test_every_queue_of_the_schedule_has_workers():
    assert {sweep.queue for sweep in schedule.SWEEPS.values()} <= set(QUEUES)


def test_interval_and_limit_are_taken_when_declared():
    found = schedule.sweeps(declared(deliver={"every": "3s", "limit": 7}))["deliver"]
    assert (found.interval, found.limit) == (timedelta(seconds=3), 7)


def test_faults_are_named_by_path_and_defaults_stay_when_declared_wrongly():
    given = declared(
        deliver={"every": "soon", "limit": 0, "colour": "red"},
        retention={"every": "8d", "limit": True},
        polish={"every": "3s"},
        seal_audit="often",
        fire_followups={"every": 30},
    )
    assert {fault.path: fault.fault for fault in schedule.faults(given)} == {
        "sweeps.deliver.every": "is not a duration such as 90s, 15m, 2h or 3d.",
        "sweeps.deliver.limit": "must be a whole number from 1 to 1000000.",
        "sweeps.deliver.colour": "is not known; there are every and limit",
        "sweeps.retention.every": "must be from 1s to 7d.",
        "sweeps.retention.limit": "must be a whole number from 1 to 1000000.",
        "sweeps.polish": (
            "is not a sweep; there are deliver, fire_followups, process_inbound, reconcile_chatwoot, "
            "retention, run_bulk, run_executions, seal_audit"
        ),
        "sweeps.seal_audit": "must be a table",
        "sweeps.fire_followups.every": "is not a duration such as 30s, 5m, 1h or 1d.",
    }
    assert schedule.sweeps(given) == schedule.SWEEPS
