"""docs/walkthrough.md, run as it is written, against `desk up` with its workers and scheduler."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.documents import ROOT, commands_of

pytestmark = pytest.mark.slow

LONGEST_S = 240
# What the shell started is ended with it, even where a command in the middle failed.
PREAMBLE = "set -euo pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT\n"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run_walkthrough(folder: Path) -> tuple[int, str]:
    """The exit code and all output of the document's commands in one shell."""
    script = folder / "walkthrough.sh"
    script.write_text(PREAMBLE + "\n".join(commands_of(ROOT / "docs" / "walkthrough.md")))
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("DESK_")},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "DESK_VAR": str(folder / "var"),
        "PORT": str(free_port()),
        "SINK_PORT": str(free_port()),
    }
    env.pop("SECRET_KEY", None)
    (folder / "var").mkdir()
    with open(folder / "output", "w+") as output:
        process = subprocess.Popen(
            ["bash", str(script)],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(LONGEST_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
        output.seek(0)
        return code, output.read()


def test_walkthrough_succeeds_when_run_as_written(tmp_path):
    code, output = run_walkthrough(tmp_path)
    log = (tmp_path / "var" / "up.log").read_text()
    assert code == 0, f"{output}\n--- desk up ---\n{log[-4000:]}"
    assert "3 imported, 0 known already, 0 refused." in output
    assert output.count("VERIFIED ") == 3
    assert "The reason that was noted: PIX payment still pending" in output
    assert '"status":409' in output.replace(" ", "")
    assert "The follow-up to c-1045 was cancelled in the browser." in output
    assert '"name":"send_message","state":"done"' in output.replace(" ", "")
    assert "The audit holds: " in output
    assert "The audit does NOT hold at positions " in output
