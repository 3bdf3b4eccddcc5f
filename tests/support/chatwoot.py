"""A fake Chatwoot as a process of its own, and the hand of the test on it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

ACCOUNT, TOKEN, SECRET = "7", "token-of-the-fake", "whsec_demo"
ROOT = Path(__file__).parents[2]


@dataclass
class Chatwoot:
    """One fake on a port of this machine. What a test does there is gathered, and done by `done`."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def tell(self, verb: str, **given: Any) -> Any:
        """One call below `/control`; see `chatwoot_server.Desk.control`."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("POST", f"/control/{verb}", json.dumps(given))
            answer = connection.getresponse().read()
        finally:
            connection.close()
        return json.loads(answer) if answer else None

    def do(self, *acts: dict[str, Any]) -> Any:
        """What people do there, one after the other; what came of the last."""
        return self.tell("do", acts=list(acts))

    def create(self, id: int, at: float, **given: Any) -> None:
        self.do({"act": "create", "id": id, "at": at, **given})

    def say(self, id: int, at: float, kind: str, content: str, **given: Any) -> dict[str, Any]:
        """A message; what it is there."""
        made: dict[str, Any] = self.do(
            {"act": "say", "id": id, "at": at, "kind": kind, "content": content, **given}
        )
        return made

    def fail(self, path: str, do: str, times: int = 1, method: str | None = None) -> None:
        """Let calls whose path holds `path` fail: a number is answered without an effect, `cut` and `hang`
        say nothing; with `_after` the effect comes first."""
        self.tell("fail", path=path, do=do, times=times, method=method)

    def conversation(self, id: int) -> dict[str, Any]:
        found: dict[str, Any] = self.tell("conversation", id=id)
        return found

    def requests(self, method: str | None = None) -> list[dict[str, Any]]:
        """The calls of its API as they came."""
        return [one for one in self.tell("requests") if method in (None, one["method"])]

    def sent(self) -> dict[str, int]:
        """How many messages customers got under each of our keys."""
        found: dict[str, int] = self.tell("counts")["messages"]
        return found


@contextmanager
def chatwoot(account: str = ACCOUNT, token: str = TOKEN, secret: str = SECRET) -> Iterator[Chatwoot]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.chatwoot_server", account, token, secret],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout
    try:
        yield Chatwoot(int(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()
