"""The delivery sweep: publish what the outbox holds, then claim, send and record, endpoint by endpoint.

Sending takes place in a small pool of threads that hold no session; this one claims and records. An endpoint
that is slow or failing gets one sender at a time and no more of it in this run, so that it holds up none but
itself, and all of those together never have more than half of the senders.

What a receiver gets is JSON: `{"id", "type", "timestamp", "data"}`, where `id` is the event's id as in
`GET /events`, `timestamp` when it happened, and `data` its payload; signed the Standard Webhooks way.
"""

import json
import queue
import threading
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from uuid import UUID

from flask import current_app
from sqlalchemy.orm import Session
from standardwebhooks import Webhook

from jobs.delivery import http_client
from models import clock, endpoints, faults, publishing, sending
from models.deliveries import ERROR_LENGTH, Outcome
from models.errors import DeskError
from models.sending import DueEndpoint, Parcel
from models.settings import Settings
from models.sweeping import Counts
from models.transactions import assert_none_open, rollback

SENDERS = 16
CAREFUL_SENDERS = SENDERS // 2
LANES = 4
BATCH = 10
MOST_STRIKES = 3
SLOW = timedelta(seconds=2)
LOOK_AGAIN_S = 1.0
# Well below the lease, so that nothing that was claimed is sent after it.
SEND_WITHIN_S = 120.0
RUN_FOR_S = 60.0
PUBLISH_LIMIT = 50_000
USER_AGENT = "RecoveryDesk/1"


@dataclass(frozen=True, slots=True)
class Sent:
    """One parcel's outcome, from a sender to the run. `strikes` is how much it counts against the host."""

    parcel: Parcel
    outcome: Outcome
    strikes: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """A sender is through with its batch; `unsent` is what it gave up on."""

    endpoint_id: UUID
    unsent: list[Parcel]


def deliver_due(session: Session, *, now: datetime, limit: int) -> Counts:
    """Publish, then send up to `limit` due deliveries. Counts `published`, `delivered`, `failed`, `dead`."""
    settings: Settings = current_app.extensions["desk_settings"]
    with ThreadPoolExecutor(SENDERS, thread_name_prefix="sender") as pool:
        run = _Run(session, settings, now, limit, pool)
        try:
            run.go()
        finally:
            run.stop.set()
    return run.counts


@dataclass
class _Run:
    """One run of the sweep: what is in flight, and how each endpoint has behaved so far."""

    session: Session
    settings: Settings
    began: datetime
    limit: int
    pool: ThreadPoolExecutor
    counts: Counts = field(
        default_factory=lambda: Counts(own=dict.fromkeys(("published", "delivered", "failed", "dead"), 0))
    )
    started: float = field(default_factory=time.monotonic)
    stop: threading.Event = field(default_factory=threading.Event)
    results: "queue.SimpleQueue[Sent | Done]" = field(default_factory=queue.SimpleQueue)
    lanes: Counter[UUID] = field(default_factory=Counter)
    strikes: Counter[UUID] = field(default_factory=Counter)
    careful: set[UUID] = field(default_factory=set)
    waiting: deque[DueEndpoint] = field(default_factory=deque)

    @property
    def now(self) -> datetime:
        """The time that the run was given, and what has passed since."""
        return self.began + timedelta(seconds=time.monotonic() - self.started)

    @property
    def room(self) -> int:
        return self.limit - self.counts.examined

    def go(self) -> None:
        """Keep the senders busy until nothing more is due that this run may send."""
        self._look()
        self._fill()
        while self.lanes.total():
            assert_none_open(self.session)
            try:
                freed = self._take(self.results.get(timeout=LOOK_AGAIN_S))
            except queue.Empty:
                self._look()
                freed = True
            if freed:
                self._fill()
        self.counts.capped = (self.room <= 0 or not self._has_time()) and bool(self._eligible())

    def _look(self) -> None:
        """Publish what has been committed, and see for whom something is due."""
        self.counts.own["published"] += publishing.publish(self.session, now=self.now, limit=PUBLISH_LIMIT)
        self.waiting = deque(self._eligible())

    def _eligible(self) -> list[DueEndpoint]:
        due = sending.due_endpoints(self.session, self.now)
        rollback(self.session)
        return [found for found in due if self.strikes[found.id] < MOST_STRIKES]

    def _fill(self) -> None:
        """Give the free senders work: round by round over the endpoints, each its share."""
        looked = False
        while self.lanes.total() < SENDERS and self.room > 0 and self._has_time():
            if self.waiting:
                self._offer(self.waiting.popleft())
            elif looked:
                return
            else:
                self._look()
                looked = True

    def _has_time(self) -> bool:
        return time.monotonic() - self.started < RUN_FOR_S

    def _offer(self, endpoint: DueEndpoint) -> None:
        """Claim a batch for `endpoint` and have it sent, if it may have a sender now."""
        careful = endpoint.failures > 0 or endpoint.id in self.careful
        if not self._has_lane(endpoint.id, careful):
            return
        size = min(1 if careful else BATCH, self.room)
        parcels = self._claim(endpoint, size)
        if not parcels:
            return
        self.counts.examined += len(parcels)
        if careful:
            self.careful.add(endpoint.id)
        self.lanes[endpoint.id] += 1
        assert_none_open(self.session)
        self.pool.submit(_send_batch, parcels, self.settings, self.results, self.stop)
        if len(parcels) == size:
            self.waiting.append(endpoint)

    def _claim(self, endpoint: DueEndpoint, size: int) -> list[Parcel]:
        """Claimed parcels; none of an endpoint that was removed, whose deliveries are given up."""
        try:
            if not endpoint.removed:
                return sending.claim(self.session, endpoint.id, now=self.now, limit=size)
            self.counts.add("dead", sending.bury(self.session, endpoint.id, now=self.now))
        except Exception as error:  # noqa: BLE001  what is wrong with one endpoint's rows stops no other
            rollback(self.session)
            self.strikes[endpoint.id] = MOST_STRIKES
            self.counts.failed(endpoint.tenant_id, str(endpoint.id), error)
        return []

    def _has_lane(self, endpoint_id: UUID, careful: bool) -> bool:
        if self.strikes[endpoint_id] >= MOST_STRIKES or self.lanes.total() >= SENDERS:
            return False
        if not careful:
            return self.lanes[endpoint_id] < LANES
        busy = sum(self.lanes[id] for id in self.careful)
        return not self.lanes[endpoint_id] and busy < CAREFUL_SENDERS

    def _take(self, result: Sent | Done) -> bool:
        """Record what a sender reports; whether it is free again."""
        if isinstance(result, Sent):
            self._record(result)
            return False
        self.lanes[result.endpoint_id] -= 1
        if result.unsent:
            self.counts.examined -= len(result.unsent)
            sending.release(self.session, result.unsent, now=self.now)
        return True

    def _record(self, sent: Sent) -> None:
        parcel, outcome = sent.parcel, sent.outcome
        self.strikes[parcel.endpoint_id] += sent.strikes
        if sent.strikes or _is_slow(outcome):
            self.careful.add(parcel.endpoint_id)
        elif outcome.delivered:
            self.careful.discard(parcel.endpoint_id)
        try:
            state = sending.record(self.session, parcel, outcome, now=self.now)
        except Exception as error:  # noqa: BLE001  the others stand; this one is taken again after its lease
            rollback(self.session)
            self.counts.failed(parcel.tenant_id, str(parcel.delivery_id), error)
            return
        if state is not None:
            self.counts.changed += 1
            self.counts.add(state.value)


def _send_batch(
    parcels: list[Parcel],
    settings: Settings,
    results: "queue.SimpleQueue[Sent | Done]",
    stop: threading.Event,
) -> None:
    """Send one endpoint's parcels one after the other, up to the first that shows the host in trouble."""
    began = time.monotonic()
    left = deque(parcels)
    try:
        while left and not stop.is_set() and time.monotonic() - began < SEND_WITHIN_S:
            sent = _send(left.popleft(), settings)
            results.put(sent)
            if sent.strikes or _is_slow(sent.outcome):
                break
    finally:
        results.put(Done(parcels[0].endpoint_id, list(left)))


def _is_slow(outcome: Outcome) -> bool:
    return timedelta(milliseconds=outcome.duration_ms) > SLOW


def _send(parcel: Parcel, settings: Settings) -> Sent:
    """Make one attempt, whatever happens in it."""
    began = time.monotonic()

    def outcome(status: int | None, error: str | None, retry_after: timedelta | None = None) -> Outcome:
        passed = int((time.monotonic() - began) * 1_000)
        return Outcome(status, error[:ERROR_LENGTH] if error else None, passed, retry_after)

    try:
        answer = _attempt(parcel, settings)
    except http_client.SendFailed as failure:
        return Sent(parcel, outcome(None, failure.detail), MOST_STRIKES if failure.unreachable else 1)
    except DeskError as refusal:
        return Sent(parcel, outcome(None, refusal.detail), 1)
    except Exception as error:  # noqa: BLE001  whatever one sending raises, the others go on
        return Sent(parcel, outcome(None, f"Sending failed: {type(error).__name__}: {error}"), 1)
    fault = fault_of(answer)
    asked = _retry_after(answer.headers.get("retry-after")) if answer.status in {429, 503} else None
    return Sent(parcel, outcome(answer.status, fault, asked), _strikes_of(answer))


def _attempt(parcel: Parcel, settings: Settings) -> http_client.Answer:
    body = body_of(parcel)
    headers = {
        "content-type": "application/json",
        "user-agent": USER_AGENT,
        **signed(parcel.webhook_id, body, endpoints.secret_of(parcel.endpoint_id, parcel.secret, settings)),
    }
    faults.reach("deliveries.send:before")
    answer = http_client.post(
        parcel.url, headers=headers, body=body, allowed_hosts=settings.webhook_allowed_hosts
    )
    faults.reach("deliveries.send:after")
    return answer


def body_of(parcel: Parcel) -> bytes:
    """The bytes that are sent and signed."""
    document = {
        "id": parcel.event_id,
        "type": parcel.event_type,
        "timestamp": clock.iso(parcel.created_at),
        "data": parcel.payload,
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def signed(webhook_id: str, body: bytes, secret: str) -> dict[str, str]:
    """The headers of Standard Webhooks, signed for this very moment."""
    at = clock.now()
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(clock.micros(at) // 1_000_000),
        "webhook-signature": Webhook(secret).sign(webhook_id, at, body.decode()),
    }


def fault_of(answer: http_client.Answer) -> str | None:
    """Why an answer does not count as delivered; None for any of the 200s."""
    if 200 <= answer.status < 300:
        return None
    if 300 <= answer.status < 400:
        return f"Answered {answer.status}: redirects are not followed. Enter the new address."
    return f"Answered {answer.status}."


def _strikes_of(answer: http_client.Answer) -> int:
    """An endpoint that asks for patience gets it; one that fails may have failed on this event alone."""
    if 200 <= answer.status < 300:
        return 0
    return MOST_STRIKES if answer.status in {429, 503} else 1


def _retry_after(value: str | None) -> timedelta | None:
    """What a Retry-After header asks for, as seconds or as a date; None where it can't be read."""
    if not value:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return timedelta(seconds=min(int(value), 86_400)) if len(value.strip()) < 10 else timedelta(days=1)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    wait = (at if at.tzinfo else at.replace(tzinfo=UTC)) - clock.now()
    return max(wait, timedelta(0))
