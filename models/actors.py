"""Who does something: every transition takes an actor, and there is no default."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class ActorType(StrEnum):
    OPERATOR = "operator"
    SYSTEM = "system"
    API = "api"
    CUSTOMER = "customer"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Actor:
    """`id` is stable, `label` is what a person reads on the timeline."""

    type: ActorType
    id: str
    label: str

    @classmethod
    def system(cls, name: str) -> Self:
        """A sweep or other part of the engine, by name."""
        return cls(ActorType.SYSTEM, name, name)

    @classmethod
    def operator(cls, id: str, label: str) -> Self:
        return cls(ActorType.OPERATOR, id, label)

    @classmethod
    def api(cls, id: str, name: str) -> Self:
        """An API token, by its name."""
        return cls(ActorType.API, id, name)

    @classmethod
    def customer(cls, contact_id: str) -> Self:
        """A customer, known in the audit only by the contact row's own id."""
        return cls(ActorType.CUSTOMER, contact_id, "the customer")
