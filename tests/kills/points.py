"""The registry of fault points.

Who adds a commit adds a line to the scenarios of its edge, or names where else it is killed at (`ELSEWHERE`).
"""

from collections.abc import Mapping

from tests.automations import test_kills as automations
from tests.connectors import test_kills as connectors
from tests.delivery import test_kills as delivery
from tests.jobs import test_kills as engine
from tests.kills import accounts, of_api, of_cli, of_console, of_domain
from tests.kills.scenario import Scenario

SCENARIOS: dict[str, Scenario] = {
    **of_domain.SCENARIOS,
    **of_api.SCENARIOS,
    **of_console.SCENARIOS,
    **of_cli.SCENARIOS,
    **accounts.SCENARIOS,
}
ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(engine.POINTS, "tests/jobs/test_kills.py"),
    **dict.fromkeys(automations.POINTS, "tests/automations/test_kills.py"),
    **dict.fromkeys(connectors.POINTS, "tests/connectors/test_kills.py"),
    **dict.fromkeys((*delivery.DELIVER, *delivery.OTHERS), "tests/delivery/test_kills.py"),
}
