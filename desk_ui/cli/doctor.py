"""`desk doctor`: every check of an installation, and what to do about each fault."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import redis
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from desk_ui.cli.output import json_option, say
from desk_ui.cli.work import make_folder_of
from desk_ui.declared import faults
from jobs import queues, schedule
from jobs import redis as servers
from jobs.app import MIGRATIONS, make_app
from models import clock, declarations, sweep_states
from models.base import db, is_sqlite, read_only
from models.clock import iso
from models.database import is_current
from models.settings import Settings, settings
from models.sweeps import SweepSlot

MOST_SKEW = timedelta(seconds=5)
SCHEDULER_SEEN_WITHIN = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what was found, and what to do where it is a fault."""

    name: str
    ok: bool
    found: str
    advice: str = ""


@click.command()
@json_option
def doctor() -> None:
    """Check all that an installation needs, and say what to do about each fault; exit code 1 on any."""
    checks = list(examine(settings()))
    faults = [check for check in checks if not check.ok]
    closing = f"{len(faults)} of {len(checks)} checks found a fault." if faults else "All is well."
    say(
        "\n".join([*map(_line, checks), closing]),
        {"ok": not faults, "checks": [asdict(check) for check in checks]},
    )
    if faults:
        click.get_current_context().exit(1)


def examine(here: Settings) -> Iterator[Check]:
    """All checks. Those that need a database are left out where there is none to ask."""
    yield Check("settings", True, f"read; files are kept in {here.var}")
    yield from _files(here)
    make_folder_of(here)
    with make_app(here).app_context(), read_only():
        session = db.session()
        reached = _database(session)
        yield reached
        if reached.ok:
            migrated = _migrations(session)
            yield migrated
            yield _clock_of_database(session)
            if migrated.ok:
                yield from _declared(session, here)
                yield _scheduler(session)
                yield _lateness(session)
        db.session.remove()
        db.engine.dispose()
    yield from _redis(here)


def _line(check: Check) -> str:
    line = f"{'ok   ' if check.ok else 'FAULT'}  {check.name}: {check.found}"
    return f"{line}\n       {check.advice}" if check.advice else line


def _files(here: Settings) -> Iterator[Check]:
    """Secrets that others on this machine could read."""
    for path in (here.var / "secret_key", here.var / "redis" / "password", here.var / "redis" / "url"):
        with suppress(FileNotFoundError):
            mode = path.stat().st_mode & 0o777
            private = not mode & 0o077
            advice = "" if private else f"Run: chmod 600 {path}"
            yield Check(f"mode of {_shown(path, here)}", private, f"{mode:o}", advice)


def _shown(path: Path, here: Settings) -> str:
    return str(path.relative_to(here.var.parent))


def _database(session: Session) -> Check:
    where = session.get_bind().engine.url.render_as_string(hide_password=True)
    try:
        session.connection()
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).strip().splitlines()[0]
        return Check("database", False, f"{where}: {reason}", "Start it, or correct DATABASE_URL.")
    return Check("database", True, where)


def _migrations(session: Session) -> Check:
    if is_current(session.connection(), str(MIGRATIONS)):
        return Check("migrations", True, "all applied")
    return Check("migrations", False, "not all are applied", "Run: desk db upgrade")


def _clock_of_database(session: Session) -> Check:
    if is_sqlite(session):
        return Check("clock", True, "the database is a file and has no clock of its own")
    before = clock.now()
    theirs: datetime = session.execute(select(func.clock_timestamp())).scalar_one()
    return _skew("clock", "the database", theirs.astimezone(UTC), before, clock.now())


def _skew(name: str, whose: str, theirs: datetime, before: datetime, after: datetime) -> Check:
    """Whether `theirs`, asked for between `before` and `after`, is about the same time."""
    skew = max(before - theirs, theirs - after, timedelta(0))
    found = f"{skew.total_seconds():.1f} s between this machine and {whose}"
    advice = "" if skew <= MOST_SKEW else "Set both machines' clocks by a time service."
    return Check(name, not advice, found, advice)


def _declared(session: Session, here: Settings) -> Iterator[Check]:
    """The file as it is written now, whether or not a process has taken it yet."""
    in_force = declarations.current(session)
    written = here.config_file.exists()
    problem = declarations.problem_of(session, here.config_file) if written else declarations.fault(session)
    declared = declarations.as_written(here.config_file, in_force.version) if written else in_force
    if problem:
        advice = f"Correct {here.config_file}. The last good version stays in force until then."
        yield Check("desk.toml", False, problem, advice)
    elif not written and not in_force.version:
        advice = f"Write {here.config_file}; examples/desk.toml is one to begin with."
        yield Check("desk.toml", False, "no agent is declared, so every follow-up would be blocked", advice)
    elif declared.tables == in_force.tables:
        yield Check("desk.toml", True, f"version {in_force.version} is in force")
    else:
        yield Check("desk.toml", True, "it can be used; the next process that looks takes it")
    for fault in faults(declared):
        yield Check(fault.path, False, str(fault), f"Correct it in {here.config_file.name}.")


def _scheduler(session: Session) -> Check:
    latest = session.scalars(select(SweepSlot.claimed_at).order_by(SweepSlot.slot_at.desc()).limit(1)).first()
    if latest is not None and clock.now() - latest <= SCHEDULER_SEEN_WITHIN:
        return Check("scheduler", True, f"claimed a slot at {iso(latest)}")
    found = f"claimed its last slot at {iso(latest)}" if latest else "never claimed a slot"
    return Check("scheduler", False, found, "Start one: desk scheduler (desk up runs it too).")


def _lateness(session: Session) -> Check:
    cadences = schedule.cadences(declarations.current(session))
    late = sweep_states.late(session, cadences, now=clock.now())
    if not late:
        return Check("sweeps", True, "none is late")
    found = ", ".join(f"{state.name} since {iso(state.late_since)}" for state in late)
    return Check("sweeps", False, f"late: {found}", "Look at the workers' logs, or add workers to its queue.")


def _redis(here: Settings) -> Iterator[Check]:
    try:
        connection = servers.connect(here)
        before = clock.now()
        seconds, micros = connection.time()
        after = clock.now()
    except servers.NoServer as error:
        yield Check("Redis", False, str(error))
        return
    except redis.RedisError as error:
        yield Check("Redis", False, str(error), "Start it, or correct REDIS_URL.")
        return
    yield Check("Redis", True, "answers")
    theirs = clock.EPOCH + timedelta(seconds=seconds, microseconds=micros)
    yield _skew("clock of Redis", "Redis", theirs, before, after)
    for queue, number in queues.alive_workers(connection, clock.now()).items():
        advice = "" if number else f"Start one: desk worker --queue {queue}"
        yield Check(f"workers of {queue}", number > 0, f"{number} alive", advice)
