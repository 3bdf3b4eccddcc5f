import json
import subprocess
import sys

import pytest

from jobs.logs import HIDDEN, hide_secrets

SCRIPT = """
import logging, structlog
from jobs import logs
from models.settings import from_env
env = {"SECRET_KEY": "a-secret-key-for-the-tests-only", "DESK_LOG_FORMAT": "json"}
logs.configure(from_env(env), "scheduler")
structlog.get_logger("a").info("begun", token="t0p", url="redis://:pa55@127.0.0.1:1/0")
logging.getLogger("rq.worker").warning("lost %s", "redis://me:pa55@host/0")
"""


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("token", "abc", HIDDEN),
        ("webhook_secret", "abc", HIDDEN),
        ("Authorization", "Bearer abc", HIDDEN),
        ("header", "Bearer abc", f"Bearer {HIDDEN}"),
        ("url", "postgresql://me:pw@host/desk", f"postgresql://me:{HIDDEN}@host/desk"),
        (
            "nested",
            {"password": "pw", "n": [1, "redis://:pw@h"]},
            {"password": HIDDEN, "n": [1, f"redis://:{HIDDEN}@h"]},
        ),
        ("count", 3, 3),
        ("token", None, None),
    ],
)
def test_secrets_are_hidden_wherever_they_stand(name, value, expected):
    assert hide_secrets(None, "info", {name: value})[name] == expected


def test_lines_are_json_with_the_process_when_asked_for():
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    ours, theirs = (json.loads(line) for line in ran.stderr.splitlines())
    assert (ours["event"], ours["process"], ours["token"]) == ("begun", "scheduler", HIDDEN)
    assert (theirs["process"], theirs["level"]) == ("scheduler", "warning")
    assert "pa55" not in ran.stderr
