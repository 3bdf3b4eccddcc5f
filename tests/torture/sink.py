"""A receiver of webhooks with moods: while it is not calm it fails, hangs, or drops what it is told."""

import json
import random
from dataclasses import dataclass, field

from standardwebhooks import WebhookVerificationError

from tests.support import sink
from tests.support.sink import Received, Reply
from tests.torture.evidence import Seen

ALL, PICKY = "/all", "/picky"


@dataclass
class MoodySink(sink.Sink):
    """Remembers each request with the answer that it chose for it."""

    seen: list[Seen] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)
    mood: random.Random = field(default_factory=random.Random)
    calm: bool = False

    def reply_to(self, request: Received) -> Reply:
        with self.lock:
            reply, accepted = self._choose(request.path)
            self.seen.append(
                Seen(
                    path=request.path,
                    webhook_id=request.headers.get("webhook-id", ""),
                    event_id=json.loads(request.body)["id"],
                    body=request.body,
                    verified=self._verifies(request),
                    accepted=accepted,
                )
            )
        return reply

    def _choose(self, path: str) -> tuple[Reply, bool]:
        draw = 1.0 if self.calm else self.mood.random()
        if path == PICKY and draw < 0.02:
            return sink.status(410), False
        if draw < 0.06:
            return sink.status(500), False
        if draw < 0.08:
            return sink.status(503, Retry_After="1"), False
        if draw < 0.11:
            return sink.hang_up, False
        if draw < 0.12:
            return sink.garbage, False
        if draw < 0.125:
            return sink.hang, False
        return sink.status(200), True

    def _verifies(self, request: Received) -> bool:
        try:
            request.verified(self.secrets[request.path])
        except (KeyError, WebhookVerificationError):
            return False
        return True
