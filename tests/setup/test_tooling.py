"""The tools' own configuration covers what there is."""

import tomllib

from tests.support.documents import ROOT

AREAS = ["models.automations", "models.followups"]
# What may reach into an area: an event from outside, erasing, and the demo that tells a story.
DEMO, OUTSIDE = {"demo", "demo_automations"}, {"intake", "inbound", "inbound_messages", "inbound_order"}
MAY_SEE_AREAS = {"__init__", "erasure"} | DEMO | OUTSIDE


def test_import_rules_cover_every_shared_module():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [shared] = [contract for contract in contracts if contract.get("forbidden_modules") == AREAS]
    there_are = {path.stem for path in (ROOT / "models").glob("*.py")} - MAY_SEE_AREAS
    assert {name.removeprefix("models.") for name in shared["source_modules"]} == there_are


def test_checks_of_a_change_run_style_types_and_tests():
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("make lint types test")
