"""`desk.toml`: what the business declares, and its last good version, the same for all processes."""

import hashlib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import String, Text, delete, literal, select, true
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, mapped_column

from models.base import Base, Serial, is_sqlite, table_of
from models.transactions import commit

LARGEST = 1_000_000

log = structlog.get_logger(__name__)


class ConfigVersion(Base):
    """One version of the file that parsed; the newest is in force."""

    __tablename__ = "config_version"

    id: Mapped[Serial]
    digest: Mapped[str] = mapped_column(String(64))
    content: Mapped[str] = mapped_column(Text)
    adopted_at: Mapped[datetime]


class ConfigFault(Base):
    """Why the file that was seen last can't be used; no row while it can. There is one row at most."""

    __tablename__ = "config_fault"

    id: Mapped[int] = mapped_column(primary_key=True, default=1)
    digest: Mapped[str] = mapped_column(String(64))
    fault: Mapped[str] = mapped_column(Text)
    seen_at: Mapped[datetime]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a declaration: its path in the file, the value, and what is wrong with it."""

    path: str
    value: Any
    fault: str

    def __str__(self) -> str:
        return f"{self.path} = {self.value!r}: {self.fault}"


@dataclass(frozen=True, slots=True)
class Declared:
    """The declarations in force. `version` is 0 while there is none; `tables` is the file as read."""

    version: int = 0
    tables: Mapping[str, Any] = field(default_factory=dict)

    def table(self, name: str) -> Mapping[str, Any]:
        """The top-level table `name`, empty where it is absent or not a table (see `faults`)."""
        value = self.tables.get(name, {})
        return value if isinstance(value, Mapping) else {}


KNOWN_TABLES = frozenset(
    {"agents", "desks", "topics", "assistants", "inboxes", "sweeps", "retention", "teams"}
)

_seen_files: dict[Path, tuple[int, int, int] | None] = {}
_parsed: dict[tuple[int, str], Declared] = {}


_VERSION = table_of(ConfigVersion).c
_NEWEST = select(_VERSION.id, _VERSION.digest).order_by(_VERSION.id.desc()).limit(1)
# One row whichever of the two there is.
_ONE, _OF = select(literal(1).label("one")).subquery(), _NEWEST.subquery()
_NEWEST_AND_FAULT = select(_OF.c.id, _OF.c.digest, table_of(ConfigFault).c.fault).select_from(
    _ONE.outerjoin(_OF, true()).outerjoin(table_of(ConfigFault), true())
)


def current(session: Session) -> Declared:
    """The declarations in force: the last version that parsed, whatever the file holds now."""
    newest = session.execute(_NEWEST).first()
    return _read_once(session, newest.id, newest.digest) if newest else Declared()


def current_and_fault(session: Session) -> tuple[Declared, str | None]:
    """`current` and `fault` by one statement, for every page shows both."""
    newest = session.execute(_NEWEST_AND_FAULT).one()
    declared = Declared() if newest.id is None else _read_once(session, newest.id, newest.digest)
    return declared, newest.fault


def _read_once(session: Session, version: int, digest: str) -> Declared:
    """A version as it was parsed when this process first met it, since none ever changes."""
    key = (version, digest)
    if key not in _parsed:
        content = session.scalars(select(ConfigVersion.content).where(ConfigVersion.id == version)).one()
        _parsed.clear()
        _parsed[key] = Declared(version, tomllib.loads(content))
    return _parsed[key]


def fault(session: Session) -> str | None:
    """What is wrong with the file that was seen last, or None; every page shows it."""
    return session.scalars(select(ConfigFault.fault)).first()


def faults(declared: Declared) -> list[Fault]:
    """Faults of the file's outline; each area names those of its own tables."""
    found = [
        Fault(name, "…", f"is not a known table; there are {', '.join(sorted(KNOWN_TABLES))}")
        for name in declared.tables
        if name not in KNOWN_TABLES
    ]
    found += [
        Fault(name, value, "must be a table")
        for name, value in declared.tables.items()
        if name in KNOWN_TABLES and not isinstance(value, Mapping)
    ]
    return found


def refresh(session: Session, path: Path, now: datetime) -> None:
    """Adopt the file at `path` if it changed since this process looked, in a transaction of its own.

    A file that does not parse, or would drop all agents without saying so, leaves the last good version in
    force and is kept as a `ConfigFault`. Only a change that this process sees is adopted, so that two
    machines with unlike files don't take turns.
    """
    stamp = _stamp(path)
    if _seen_files.get(path) == stamp:
        return
    content, problem = _read(path) if stamp is not None else (None, f"{path.name} is gone")
    if content is not None:
        problem = _structure_fault(path.name, content, current(session))
    digest = hashlib.sha256((content or problem or "").encode()).hexdigest()
    if problem is None and content is not None:
        _adopt(session, content, digest, now)
    else:
        _keep_fault(session, problem or "", digest, now)
    commit(session, "declarations.refresh")
    _seen_files[path] = stamp


def problem_of(session: Session, path: Path) -> str | None:
    """Why the file at `path` is not taken, or None where it is."""
    content, problem = _read(path)
    return problem if content is None else _structure_fault(path.name, content, current(session))


def as_written(path: Path, version: int) -> Declared:
    """What the file at `path` declares, in force or not; nothing where it can't be read."""
    content, _problem = _read(path)
    return Declared(version, tomllib.loads(content)) if content is not None else Declared()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)


def _read(path: Path) -> tuple[str | None, str | None]:
    """The file's text, or what is wrong with it."""
    try:
        raw = path.read_bytes()
        if len(raw) > LARGEST:
            return None, f"{path.name} is larger than {LARGEST} bytes"
        content = raw.decode()
        tomllib.loads(content)
    except (OSError, ValueError, RecursionError) as problem:
        return None, f"{path.name} can't be read: {problem}"
    return content, None


def _structure_fault(name: str, content: str, in_force: Declared) -> str | None:
    """Why a file that parses is not taken all the same: it would stop every agent, and block what is due.

    A file that is being written may be seen empty, or end before its tables.
    """
    tables = tomllib.loads(content)
    odd = [key for key in tables if key in KNOWN_TABLES and not isinstance(tables[key], dict)]
    if odd:
        return f"{name} is not taken: {odd[0]} must be a table"
    if in_force.table("agents") and "agents" not in tables:
        return f"{name} declares no agents any more; write an empty [agents] if that is meant"
    return None


def _adopt(session: Session, content: str, digest: str, now: datetime) -> None:
    newest = session.scalars(select(ConfigVersion.digest).order_by(ConfigVersion.id.desc()).limit(1)).first()
    if newest != digest:
        session.add(ConfigVersion(digest=digest, content=content, adopted_at=now))
        log.info("desk.toml adopted", digest=digest[:12])
    session.execute(delete(ConfigFault).execution_options(synchronize_session=False))


def _keep_fault(session: Session, problem: str, digest: str, now: datetime) -> None:
    """Put the fault on record; many processes may see the same file at once."""
    insert = sqlite.insert if is_sqlite(session) else postgresql.insert
    values = {"digest": digest, "fault": problem, "seen_at": now}
    session.execute(
        insert(table_of(ConfigFault))
        .values(id=1, **values)
        .on_conflict_do_update(index_elements=["id"], set_=values, where=ConfigFault.digest != digest)
    )
    log.warning("desk.toml can't be used; the last good version stays in force", fault=problem)
