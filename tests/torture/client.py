"""A caller that writes down every request with its answer, and sends again what was left without one."""

import json
import threading
import time
from collections.abc import Callable
from random import Random
from typing import Any

import httpx

from tests.torture.evidence import LOST, Answer, Evidence

# Longer than any outage, so that what began before the end of the load is brought to an end after it.
SENT_AGAIN_FOR_S = 90.0
UNDECIDED = {LOST, 503}


class Client:
    """One thread's client of the API, with a random source of its own."""

    def __init__(self, address: str, token: str, evidence: Evidence, random: Random) -> None:
        self.random = random
        self._evidence = evidence
        self._http = httpx.Client(
            base_url=f"{address}/api/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=30,
            trust_env=False,
        )

    def call(
        self,
        kind: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        **facts: Any,
    ) -> Answer:
        """Send it once. `facts` are kept with the answer for the checker."""
        began = time.time()
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
        try:
            response = self._http.request(method, path, content=content, headers=headers)
            status, document = response.status_code, _document(response)
            replayed = response.headers.get("Idempotency-Replayed") == "true"
        except httpx.TransportError as error:
            status, document, replayed = LOST, repr(error), False
        answer = Answer(kind, {**facts, "key": key}, began, time.time(), status, document, replayed)
        self._evidence.answers.append(answer)
        return answer

    def settle(self, *args: Any, **given: Any) -> Answer:
        """Send it, again and again while no answer comes or the answer is that nothing can be done now."""
        until = time.monotonic() + SENT_AGAIN_FOR_S
        wait = 0.1
        while (answer := self.call(*args, **given)).status in UNDECIDED and time.monotonic() < until:
            time.sleep(wait * self.random.uniform(0.5, 1.5))
            wait = min(2.0, wait * 1.7)
        return answer

    def close(self) -> None:
        self._http.close()


def at_once(first: Callable[[], Answer], second: Callable[[], Answer]) -> Answer:
    """Both at the same time, from two threads; the first one's answer."""
    other = threading.Thread(target=second)
    other.start()
    try:
        return first()
    finally:
        other.join()


def _document(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return response.text[:500]
