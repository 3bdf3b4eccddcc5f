"""The action that tells another system of a conversation: one POST, with the key of the action on it."""

import json
from collections.abc import Callable
from datetime import datetime

from jobs.delivery import http_client
from models import clock, endpoint_urls
from models.automations.outside import Came, Errand
from models.errors import Invalid
from models.settings import Settings

SECONDS = 30.0
USER_AGENT = "RecoveryDesk/1"


def prepared(errand: Errand, settings: Settings) -> Callable[[], Came]:
    """The call that sends the errand to the address in `params[0]`. Raises `Invalid` where it can't be."""
    if not errand.params or not isinstance(errand.params[0], str):
        raise Invalid(
            "url", "is missing: the rule's action needs an address such as https://example.com/hook"
        )
    url, body = endpoint_urls.check(errand.params[0], settings), body_of(errand)
    headers = {
        "content-type": "application/json",
        "user-agent": USER_AGENT,
        "idempotency-key": errand.idempotency_key,
        "webhook-id": errand.idempotency_key,
    }

    def call() -> Came:
        try:
            answer = http_client.post(
                url,
                headers=headers,
                body=body,
                allowed_hosts=settings.webhook_allowed_hosts,
                seconds=SECONDS,
            )
        except http_client.SendFailed as failure:
            return Came.unknown(failure.detail) if failure.begun else Came.failed(failure.detail)
        return came_of(answer.status)

    return call


def body_of(errand: Errand) -> bytes:
    """What is sent: the rule, its execution and the conversation's own values, as JSON."""
    document = {
        "event": f"automation_event.{errand.name}",
        "tenant": errand.tenant,
        "rule": {"id": errand.rule_id, "name": errand.rule},
        "execution": errand.execution_id,
        "idempotency_key": errand.idempotency_key,
        "conversation": dict(errand.conversation),
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=_written).encode()


def _written(value: object) -> str | None:
    """A value that JSON has no form for, as the API writes it."""
    return clock.iso(value) if isinstance(value, datetime) else str(value)


def came_of(status: int) -> Came:
    """Done, refused, or an answer after which the other side may have acted all the same."""
    if 200 <= status < 300:
        return Came.done(f"Answered {status}.")
    if 300 <= status < 400:
        return Came.failed(f"Answered {status}: redirects are not followed. Enter the new address.")
    if 400 <= status < 500:
        return Came.failed(f"Answered {status}.")
    return Came.unknown(f"Answered {status}, so it is not known what became of it.")
