"""What the documents name exists: tests, files, commands, variables and fields."""

import re
import subprocess
from pathlib import Path

import click
import pytest

from desk_ui.cli import main
from desk_ui.cli.processes import FIRST_ADMIN
from jobs import schedule
from models import retention, settings
from models.followups import policy
from tests.support.documents import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
CONFIGURATION = ROOT / "docs" / "configuration.md"
# Commands of the design that this version does not have; docs/differences.md says so.
ABSENT = {"connector", "import chatwoot-rules"}


def test_every_test_exists_when_the_threat_model_names_it():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "security.md").read_text()))
    sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 30
    assert {name for name in named if f"def {name}(" not in sources} == set()


def test_readme_gives_whom_the_first_start_signs_in_a_role_in_the_tenant_that_it_adds():
    text = (ROOT / "README.md").read_text()
    assert f"desk tenant add acme\ndesk operator add {FIRST_ADMIN} --role admin --tenant acme" in text


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere_when_it_is_relative(document):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_exists_when_a_document_gives_it(document):
    given = re.findall(r"(?:`|^|\(|! )desk ((?:[a-z-]+ ?)+)", document.read_text(), re.MULTILINE)
    assert [words for words in given if not exists(words.split())] == []


def exists(words: list[str]) -> bool:
    if " ".join(words[:2]) in ABSENT or words[0] in ABSENT:
        return True
    group: click.Command | None = main
    for word in words:
        if not isinstance(group, click.Group):
            return True
        group = group.get_command(click.Context(group), word)
        if group is None:
            return False
    return True


def test_every_variable_is_documented_with_its_default():
    read = set(re.findall(r'"([A-Z]+_[A-Z_]+)"', Path(settings.__file__).read_text()))
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| (.+?) \|", CONFIGURATION.read_text(), re.MULTILINE))
    assert len(read) > 10
    assert set(rows) == read
    assert rows["DESK_API_RATE"] == "`6000`"


def test_every_field_of_desk_toml_is_documented():
    text = CONFIGURATION.read_text()
    fields = (
        (policy.FIELDS - {"quiet_hours"}) | policy.QUIET_FIELDS | set(retention.DEFAULTS) | {"every", "limit"}
    )
    assert {field for field in fields if f"| `{field}` |" not in text} == set()
    for name, kept in retention.DEFAULTS.items():
        assert f"| `{name}` | {f'`{kept}`' if kept else 'kept'} |" in text


def test_every_sweep_is_documented_with_its_cadence():
    text = CONFIGURATION.read_text()
    units = ((86_400, "d"), (60, "m"), (1, "s"))
    for sweep in schedule.SWEEPS.values():
        seconds = int(sweep.interval.total_seconds())
        every = next(f"{seconds // size}{unit}" for size, unit in units if seconds % size == 0)
        assert f"| `{sweep.name}` | {every} | {sweep.limit} |" in text


def test_no_file_names_a_machine_or_a_registry():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    words = re.compile(r"(?<![\w.])/(?:work|root|home)/\w|\bpypi\.org\b|files\.pythonhosted|registry\.npmjs")
    this = Path(__file__).relative_to(ROOT).as_posix()
    found = [
        name
        for name in tracked.splitlines()
        if name != this
        and Path(ROOT / name).suffix in {".py", ".md", ".toml", ".txt", ".in", ".sh", ".html", ".json", ""}
        and (ROOT / name).is_file()
        and words.search((ROOT / name).read_text(errors="replace"))
    ]
    assert found == []


def test_only_what_is_locked_with_a_hash_is_installed():
    for name in ("bootstrap", "base", "test", "bench"):
        lines = (ROOT / "requirements" / f"{name}.txt").read_text()
        pins = re.findall(r"^[a-z][\w.-]*(?:\[[\w,]+\])?==", lines, re.MULTILINE)
        blocks = re.split(r"^(?=[a-z])", lines, flags=re.MULTILINE)[1:]
        assert len(pins) == len(blocks) > 0
        assert all("--hash=sha256:" in block for block in blocks)
        assert "://" not in lines
