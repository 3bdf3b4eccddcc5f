"""What an action asks of the outside, as plain values, and what came of it: no session goes along."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from models.automations.records import ActionState


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the conversation, for a transcript."""

    at: datetime
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class Errand:
    """One call to the outside. `idempotency_key` is the same in every attempt at this action.

    `conversation` holds the conversation's own values (`id` as its source calls it, `status`, `inbox_id`,
    `customer`, `labels` and so on). `transcript` is filled for the action that mails it, oldest first;
    `teams` are the mail addresses of the teams that desk.toml declares. `again` says that the action was
    tried before, so that the other side is asked first whether it knows the key, where it can be asked.
    """

    tenant_id: int
    tenant: str
    source: str
    name: str
    params: Sequence[Any]
    idempotency_key: str
    execution_id: str
    rule_id: str
    rule: str
    conversation: Mapping[str, Any]
    teams: Mapping[str, Sequence[str]] = field(default_factory=dict)
    transcript: Sequence[Said] = ()
    again: bool = False


@dataclass(frozen=True, slots=True)
class Came:
    """What came of an errand: done, failed (it had no effect) or unknown (it may have had one).

    `receipt` is what the other side gave for it, `error` what an operator reads; neither holds a secret nor a
    customer's words.
    """

    state: ActionState
    receipt: str | None = None
    error: str | None = None

    @classmethod
    def done(cls, receipt: str | None = None) -> "Came":
        return cls(ActionState.DONE, receipt=receipt)

    @classmethod
    def failed(cls, error: str) -> "Came":
        return cls(ActionState.FAILED, error=error)

    @classmethod
    def unknown(cls, error: str) -> "Came":
        return cls(ActionState.UNKNOWN, error=error)


# Does an errand with no transaction open. Never raises: what goes wrong is in what it returns.
Perform = Callable[[Errand], Came]
