"""`desk up`, `web`, `worker`, `scheduler` and `sweep`: the processes of an installation."""

import socket
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import httpx

from desk_ui.cli.operators import PORT, address_file, sign_in_address
from desk_ui.cli.output import json_option, say
from desk_ui.cli.supervisor import Supervisor, children
from desk_ui.cli.work import Work, at_work, make_folder_of
from jobs import logs, queues, redis, schedule
from models import clock, operators, people, sweep_states, tenants
from models.clock import EPOCH, iso, parse_time
from models.errors import Conflict, Invalid
from models.settings import Settings, settings
from models.transactions import commit, rollback

PROCFILE = Path(__file__).parent.parent.parent / "Procfile"
PORTS_TRIED = 50
WEB_READY_WITHIN_S = 60
LOCAL = "127.0.0.1"
FIRST_ADMIN = "admin@desk.local"


@click.command()
@click.option("--port", type=click.IntRange(1, 65_535), default=PORT, show_default=True)
@click.option("--host", default=LOCAL, show_default=True, help="The address to listen on.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes.")
@click.option("--threads", type=click.IntRange(1, 64), default=8, show_default=True, help="In each process.")
def web(port: int, host: str, workers: int, threads: int) -> None:
    """Serve the pages and the API. It needs no Redis."""
    from desk_ui.serving import serve

    serve(settings(), host=host, port=port, workers=workers, threads=threads)


@click.command()
@click.option("--queue", "queue", type=click.Choice(queues.QUEUES), required=True)
@click.option("--burst", is_flag=True, help="End when the queue is empty.")
def worker(queue: str, burst: bool) -> None:
    """Run the jobs of one queue until it is told to stop."""
    from jobs.worker import run

    here = _with_redis(f"worker {queue}")
    run(here, queue, burst=burst)


@click.command()
def scheduler() -> None:
    """Put due sweeps on their queues, once a second. Any number may run."""
    from jobs.scheduler import run

    run(_with_redis("scheduler"))


@click.command()
@click.argument("name", type=click.Choice(sorted(schedule.SWEEPS)))
@click.option(
    "--at",
    "at",
    callback=lambda _ctx, _param, value: _time(value),
    help="An ISO 8601 time; now if not given.",
)
@click.option("--limit", type=click.IntRange(1, schedule.HIGHEST_LIMIT), help="The most rows of this run.")
@json_option
def sweep(name: str, at: datetime | None, limit: int | None) -> None:
    """Run one sweep here and now, without Redis, lease or slot. It does not count for lateness."""
    with at_work() as work:
        found = schedule.sweeps(work.declared)[name]
        moment = at or work.now
        rollback(work.session)
        counts = found.function(work.session, now=moment, limit=limit or found.limit)
        rollback(work.session)
        _record(work, name, dict(counts.as_dict()))
        result = {"name": name, "at": iso(moment), **counts.as_dict()}
        listed = ", ".join(f"{key} {value}" for key, value in result.items() if key not in {"name", "at"})
        say(f"{name} at {iso(moment)}: {listed}", result)


@click.command()
@click.option("--port", type=click.IntRange(1, 65_535), help=f"{PORT} or the next free one if not given.")
@click.option("--host", default=LOCAL, show_default=True, help="The address to listen on.")
@click.option("--no-demo", is_flag=True, help="Leave an empty database empty.")
def up(port: int | None, host: str, no_demo: bool) -> None:
    """Run everything: migrations, an embedded Redis where REDIS_URL is not set, web, workers, scheduler."""
    here = settings()
    logs.configure(here, "up")
    make_folder_of(here)
    server = None if here.redis_url else redis.Embedded(here)
    supervisor = Supervisor([], server)
    supervisor.stop_on_signals()
    try:
        if server is not None:
            server.start()
        told = _prepare(here, demo=not no_demo)
        chosen = _free_port(host, port)
        env = {"REDIS_URL": server.url} if server is not None else {}
        supervisor.children = children(PROCFILE, port=chosen, host=host, env=env)
        supervisor.start()
        address = f"http://{_shown(host)}:{chosen}"
        address_file(here).write_text(address)
        _welcome(here, supervisor, address, told)
        supervisor.watch()
    except redis.NoServer as error:
        raise Conflict(str(error), code="redis") from None
    finally:
        supervisor.stop()
        if supervisor.children:
            address_file(here).unlink(missing_ok=True)


def _with_redis(process: str) -> Settings:
    """The settings, with the log begun. Raises `Conflict` where there is no Redis to use."""
    here = settings()
    logs.configure(here, process)
    try:
        redis.connect(here)
    except redis.NoServer as error:
        raise Conflict(str(error), code="redis") from None
    return here


def _time(value: str | None) -> datetime | None:
    try:
        at = parse_time(value, "--at") if value is not None else None
        if at is not None and at < EPOCH:
            raise Invalid("--at", "is before 1970")
        return at
    except Invalid as error:
        raise click.BadParameter(error.detail.removeprefix("--at ")) from None


def _record(work: Work, name: str, counts: dict[str, Any]) -> None:
    sweep_states.record_inline(
        work.session, name, counts, actor=work.actor, started_at=work.now, now=clock.now()
    )


def _prepare(here: Settings, *, demo: bool) -> str | None:
    """Migrate, and fill an empty database with demo data; what to tell the person of it."""
    from desk_ui.cli import demo as demos
    from desk_ui.cli.db import upgrade_database
    from jobs.app import make_app

    upgrade_database(make_app(here))
    with at_work() as work:
        return demos.fill_empty_database(work.session, here) if demo else None


def _first_link(address: str) -> str:
    """A sign-in link of the first admin, who is made where nobody administers the installation yet."""
    with at_work() as work:
        platform = tenants.get(work.session, tenants.PLATFORM)
        admin, made = _first_admin(work, platform)
        if admin.password is not None:
            return f"Sign in at {address}/sign-in, or make a link: desk operator link {admin.email}"
        if made:
            for tenant in tenants.all_of(work.session):
                role = operators.Role.ADMIN
                operators.add(
                    work.session, admin.email, tenant=tenant, role=role, actor=work.actor, now=work.now
                )
        secret = operators.make_link(work.session, admin, actor=work.actor, now=work.now)
        commit(work.session, "cli.up.link")
        return f"Sign in once, within 15 minutes: {sign_in_address(address, secret)}"


def _first_admin(work: Work, platform: tenants.Tenant) -> tuple[operators.Operator, bool]:
    found = people.first_admin(work.session, platform)
    if found is not None:
        return found, False
    admin, _changed = operators.add(
        work.session,
        FIRST_ADMIN,
        tenant=platform,
        role=operators.Role.ADMIN,
        actor=work.actor,
        now=work.now,
    )
    return admin, True


def _welcome(here: Settings, supervisor: Supervisor, address: str, told: str | None) -> None:
    """Print the address and the link once the web process answers."""
    public = here.public_url or address
    deadline = time.monotonic() + WEB_READY_WITHIN_S
    child = supervisor.children[0]
    while not _answers(address):
        if supervisor.stopping:
            return
        if time.monotonic() > deadline or child.has_died():
            click.echo(f"The web process does not answer at {address} yet; its log says why.", err=True)
            break
        time.sleep(0.1)
    if told:
        click.echo(told)
    for line in (f"Recovery Desk runs at {public}", _first_link(public), "Ctrl-C stops all of it."):
        click.echo(line)


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/healthz", timeout=1, trust_env=False).is_success
    except httpx.HTTPError:
        return False


def _shown(host: str) -> str:
    return LOCAL if host in {"0.0.0.0", "::"} else host


def _free_port(host: str, wanted: int | None) -> int:
    """The port asked for, else the first free one from 8765 on. Raises `Conflict`."""
    for port in [wanted] if wanted else range(PORT, PORT + PORTS_TRIED):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise Conflict(f"Port {wanted} is taken." if wanted else "No port is free from 8765 on.", code="port")
