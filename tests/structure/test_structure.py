"""The house rules that can be read off the code: who commits, who reads the clock, who writes a status."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.settings import from_env
from tests.support.points import ROOT, commits, outside, sources

MODULES = list(sources())
TESTS = sorted((ROOT / "tests").rglob("*.py"))
LONGEST_FILE = 330
POINT = re.compile(r"[a-z_]+(\.[a-z_]+)+")

# Who may write a status, and of which table. Audited tables only go by `transitions.move` or, set-wise,
# through models/bulk.py, which demands the audit events.
WRITES_STATUS = {
    ("models/transitions.py", "move"),
    ("models/followups/tasks.py", "move_task"),
    ("models/followups/firing_batch.py", "_judge"),
    ("models/deliveries.py", "set_state"),
    ("models/bulk_operations.py", "stop"),
    ("models/bulk_running.py", "_settle"),
    ("models/idempotency.py", "keep"),
    ("models/idempotency.py", "_insert"),
    ("models/sweep_runs.py", "_record"),
    ("models/sweep_runs.py", "_close"),
    ("models/sweep_slots.py", "_coalesce"),
    ("models/sweep_slots.py", "start"),
    ("models/sweep_slots.py", "finish"),
    # A worker's claim, of which the audit does not tell; and an action's state, whose history is the ledger.
    ("models/automations/claiming.py", "claim"),
    ("models/automations/ledger.py", "_set"),
    ("models/inbound_events.py", "set_state"),
    ("models/inbound_events.py", "store"),
    # What a source says of a conversation, and what a rule's fields are set to by name.
    ("models/conversing.py", "_take_plain"),
    ("models/conversing.py", "_take_status"),
    ("models/automations/rules.py", "change"),
    # The status of an answer over HTTP.
    ("jobs/delivery/chatwoot_api.py", "__init__"),
}
NAIVE = {"utcnow", "utcfromtimestamp", "today"}
CLOCKS = {"datetime.now", "datetime.datetime.now", "dt.now", "date.today", "time.time", "time.time_ns"}


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for path, tree in MODULES:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                yield path, node


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def written(function: ast.FunctionDef) -> set[str]:
    """The attributes that a function assigns, by statement, by set-wise `values`, or by `setattr`."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "values":
            found |= {keyword.arg for keyword in node.keywords if keyword.arg}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
            found.add("status")
    return found


def test_only_one_helper_commits():
    found = {
        path
        for path, tree in MODULES
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "commit" and len(call.args) < 2
    }
    # The base ends by COMMIT what was read-only, so that nothing is committed by it.
    assert found == {"models/transactions.py", "models/base.py"}


def test_every_commit_names_its_point_by_a_literal():
    unnamed = {place.path for place in commits() if place.point is None}
    # An operation of the API declares its point by a literal; the one place that commits them passes it on.
    assert unnamed == {"desk_ui/api/operations.py"}
    assert all(place.point for place in outside())


def test_every_point_is_named_in_one_place_and_as_a_dotted_name():
    points = Counter(place.point for place in commits() if place.point)
    assert [point for point, times in points.items() if times > 1] == []
    assert [point for point in points if not POINT.fullmatch(point)] == []


def test_only_the_clock_reads_the_system_clock_in_the_domain():
    found = {
        (path, ast.unparse(call.func))
        for path, tree in MODULES
        for call in calls(tree)
        if path.startswith("models/") and ast.unparse(call.func) in CLOCKS
    }
    assert found == {("models/clock.py", "datetime.now")}


def test_no_time_is_naive():
    for path, tree in MODULES:
        for call in calls(tree):
            name = ast.unparse(call.func)
            assert name.rpartition(".")[2] not in NAIVE, f"{path}:{call.lineno} {name}"
            if name in CLOCKS and name.startswith("datetime"):
                assert call.args or call.keywords, f"{path}:{call.lineno} reads the clock without a zone"


def test_only_transitions_write_a_status():
    found = {(path, f.name) for path, f in functions() if written(f) & {"status", "state"}}
    assert found == WRITES_STATUS
    set_wise = {
        (path, f.name)
        for path, f in functions()
        for call in calls(f)
        if ast.unparse(call.func) == "bulk.update_rows"
    }
    firing = {("models/followups/firing_writes.py", name) for name in ("_move", "_defer", "_bump")}
    # It writes what was set on rows by the verbs, of which the guard was told as they were set.
    assert set_wise == {*firing, ("models/set_wise.py", "writing")}


def test_no_write_goes_round_the_session():
    """Text that is executed on the bare connection would go round the audit guard."""
    allowed = {
        "models/base.py",
        "models/audit_seals.py",
        "models/bulk.py",
        "desk_ui/cli/doctor.py",
        "desk_ui/health.py",
    }
    found = {
        path
        for path, tree in MODULES
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute) and call.func.attr in {"exec_driver_sql", "connection"}
    }
    assert found - allowed <= {"desk_ui/paging.py", "desk_ui/cli/work.py"}


def test_no_module_is_much_over_300_lines():
    long = {path for path, _tree in MODULES if len((ROOT / path).read_text().splitlines()) > LONGEST_FILE}
    assert long == set()


def test_every_module_says_in_its_first_line_what_it_is():
    assert [path for path, tree in MODULES if not ast.get_docstring(tree) and tree.body] == []


def test_every_setting_is_documented(tmp_path: Path):
    class Asked(dict[str, str]):
        names: set[str] = set()

        def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
            self.names.add(name)
            return super().get(name, default)

    given = Asked({"DESK_VAR": str(tmp_path), "SECRET_KEY": "x" * 16})
    from_env(given)
    elsewhere = {
        match
        for path, _tree in MODULES
        for match in re.findall(r"environ(?:\.get\(|\[)\"([A-Z_]+)\"", (ROOT / path).read_text())
    }
    documented = (ROOT / "docs" / "configuration.md").read_text()
    missing = {name for name in given.names | elsewhere if f"`{name}`" not in documented}
    assert missing == set()


def test_no_test_is_skipped_or_expected_to_fail():
    skipping = re.compile(r"mark\.(skip|xfail)|pytest\.(skip|xfail|importorskip)\(")
    here = Path(__file__)
    assert [str(p) for p in TESTS if p != here and skipping.search(p.read_text())] == []


def test_every_case_of_the_followups_has_a_test():
    """`grep -rn "Case [0-9]*\\." tests` lists them."""
    told = Counter(
        int(number)
        for path in TESTS
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_")
        for number in re.findall(r"Case (\d+)\.", ast.get_docstring(function) or "")
    )
    assert sorted(set(range(1, 34)) - told.keys()) == []


@pytest.mark.slow
def test_imports_go_in_one_direction():
    linter = Path(sys.executable).parent / "lint-imports"
    ended = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stdout
