"""`desk.toml` as it changes: adopted, broken, mended, gone; the last good version stays in force."""

import os
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models import declarations
from models.declarations import ConfigVersion

GOOD = '[agents.store-support.followup]\nmax_frequency = "2/24h"\n'
OTHER = '[agents.billing.followup]\nmax_frequency = "1/7d"\n'
BROKEN = "[agents.store-support\n"

_stamps = count(1)


def write(path: Path, content: str | bytes) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.utime(path, ns=(0, next(_stamps)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "desk.toml"


def agents(session: Session) -> list[str]:
    return sorted(declarations.current(session).table("agents"))


def test_refresh_adopts_a_changed_file(session: Session, file: Path, now: datetime) -> None:
    assert agents(session) == []
    for content, names in ((GOOD, ["store-support"]), (OTHER, ["billing"])):
        write(file, content)
        declarations.refresh(session, file, now)
        assert agents(session) == names
    assert declarations.fault(session) is None


@pytest.mark.parametrize(
    "broken",
    [
        BROKEN,
        b"\xff\xfe",
        b"a = '" + b"x" * 1_000_001 + b"'",
        "a = " + "[" * 100_000,
        'a = "\x00"',
        "a = " + "1" * 5_000,
    ],
    ids=["not TOML", "not UTF-8", "too large", "too deep", "holds NUL", "too long a number"],
)
def test_refresh_keeps_the_last_good_version_when_the_file_is_broken(
    session: Session, file: Path, now: datetime, broken: str | bytes
) -> None:
    write(file, GOOD)
    declarations.refresh(session, file, now)
    write(file, broken)
    declarations.refresh(session, file, now + timedelta(minutes=1))
    assert agents(session) == ["store-support"]
    assert (declarations.fault(session) or "").startswith("desk.toml ")
    write(file, OTHER)
    declarations.refresh(session, file, now + timedelta(minutes=2))
    assert agents(session) == ["billing"]
    assert declarations.fault(session) is None


def test_refresh_says_so_when_the_file_is_gone(session: Session, file: Path, now: datetime) -> None:
    declarations.refresh(session, file, now)
    assert declarations.fault(session) is None
    write(file, GOOD)
    declarations.refresh(session, file, now)
    file.unlink()
    declarations.refresh(session, file, now)
    assert declarations.fault(session) == "desk.toml is gone"
    assert agents(session) == ["store-support"]


def test_refresh_keeps_one_version_when_the_same_file_is_seen_anew(
    session: Session, file: Path, now: datetime
) -> None:
    for _time in range(3):
        write(file, GOOD)
        declarations.refresh(session, file, now)
    assert session.scalars(select(func.count()).select_from(ConfigVersion)).one() == 1


@pytest.mark.parametrize("content", ["", "# nothing yet\n", "agents = 1\n", "desks = 1\n[agents]\n"])
def test_refresh_keeps_the_last_good_version_when_agents_would_be_gone(
    session: Session, file: Path, now: datetime, content: str
) -> None:
    write(file, GOOD)
    declarations.refresh(session, file, now)
    write(file, content)
    declarations.refresh(session, file, now)
    assert agents(session) == ["store-support"]
    assert declarations.fault(session) is not None
    write(file, "[agents]\n")
    declarations.refresh(session, file, now)
    assert agents(session) == []
    assert declarations.fault(session) is None


def test_faults_name_a_table_that_is_unknown(session: Session, file: Path, now: datetime) -> None:
    write(file, "[agent.x]\na = 1\n")
    declarations.refresh(session, file, now)
    [found] = declarations.faults(declarations.current(session))
    assert str(found).startswith("agent = ") and "is not a known table" in str(found)
