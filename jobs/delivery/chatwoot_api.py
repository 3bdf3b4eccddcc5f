"""Calls of Chatwoot's API for one account: what was answered, and whether a call may have had an effect."""

import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from jobs.delivery import http_client
from models.connectors import Opened
from models.settings import Settings

# All that one action or one reading may take, however many calls it needs.
SECONDS = 30.0
# A conversation with 20 messages of the greatest length that is kept.
ANSWER_BYTES = 4 * 1024 * 1024
USER_AGENT = "RecoveryDesk/1"


class NotDone(Exception):
    """A call that did not succeed. `detail` is written for an operator and holds no secret.

    `had_effect` says that it may have had its effect all the same; `status` is what was answered, if any.
    """

    def __init__(self, detail: str, *, had_effect: bool, status: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.had_effect = had_effect
        self.status = status


@dataclass
class Account:
    """One account, for as many calls as `seconds` allow."""

    connector: Opened
    settings: Settings
    seconds: float = SECONDS
    _began: float = field(default_factory=time.monotonic)

    def read(self, conversation_id: str, what: str = "") -> Any:
        """The JSON of a conversation, or of `what` of it. Raises `NotDone`; reading has no effect."""
        try:
            return self._call("GET", conversation_id, what)
        except NotDone as fault:
            raise NotDone(fault.detail, had_effect=False, status=fault.status) from None

    def write(self, conversation_id: str, what: str, body: dict[str, Any]) -> Any:
        """POST `body`; the JSON that was answered, or None. Raises `NotDone`."""
        return self._call("POST", conversation_id, what, body)

    def _call(self, method: str, conversation_id: str, what: str, body: dict[str, Any] | None = None) -> Any:
        left = self.seconds - (time.monotonic() - self._began)
        if left <= 0:
            raise NotDone(f"There was no time left of {self.seconds:g} s to ask Chatwoot.", had_effect=False)
        try:
            answer = http_client.request(
                method,
                self._url(conversation_id, what),
                headers=self._headers(),
                body=json.dumps(body, ensure_ascii=False).encode() if body is not None else b"",
                allowed_hosts=self.settings.webhook_allowed_hosts,
                seconds=left,
                most=ANSWER_BYTES,
            )
        except http_client.SendFailed as failure:
            raise NotDone(failure.detail, had_effect=failure.begun) from None
        return _taken(answer)

    def _url(self, conversation_id: str, what: str) -> str:
        path = f"/api/v1/accounts/{self.connector.account}/conversations/{quote(conversation_id, safe='')}"
        return f"{self.connector.url}{path}{'/' if what else ''}{what}"

    def _headers(self) -> dict[str, str]:
        return {
            "content-type": "application/json",
            "accept": "application/json",
            "user-agent": USER_AGENT,
            "api_access_token": self.connector.token,
        }


def _taken(answer: http_client.Answer) -> Any:
    """The document of an answer that says yes. What Chatwoot says otherwise may be a customer's words, so
    only the number is kept. Raises `NotDone`."""
    status = answer.status
    if 200 <= status < 300:
        return None if answer.truncated else _document(answer.body)
    if 300 <= status < 400:
        detail = f"Chatwoot answered {status}: redirects are not followed. Set the connector's new address."
        raise NotDone(detail, had_effect=False, status=status)
    if 400 <= status < 500:
        raise NotDone(f"Chatwoot answered {status}{_WHY.get(status, '')}.", had_effect=False, status=status)
    detail = f"Chatwoot answered {status}, so it is not known what became of it."
    raise NotDone(detail, had_effect=True, status=status)


_WHY = {
    401: ": the connector's token is not valid any more",
    403: ": the token's user may not do this",
    404: ": there is no such conversation in this account, or no such thing in it",
    422: ": it can't use what the rule gives",
    429: ": it was asked too often",
}


def _document(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
