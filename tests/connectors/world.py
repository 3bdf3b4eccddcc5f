"""What a test of the connector has at hand: payloads as Chatwoot writes them, and what became of them."""

import json
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import conversations, inbound, inbound_events
from models.automations import echoes
from models.conversations import Conversation
from models.declarations import Declared
from models.inbound_events import InboundEvent
from models.messages import Message
from models.settings import Settings
from models.sweeping import Counts
from models.tenants import Tenant
from models.transactions import commit, rollback
from tests.automations import world as automations
from tests.automations.world import T0


def stamp(at: datetime) -> float:
    return at.timestamp()


def conversation_of(id: int = 7, at: datetime = T0, **given: Any) -> dict[str, Any]:
    """The conversation as a webhook has it."""
    return {
        "id": id,
        "inbox_id": 3,
        "status": "open",
        "priority": None,
        "labels": [],
        "additional_attributes": {},
        "custom_attributes": {},
        "meta": {
            "sender": {"id": 900, "name": "Customer", "identifier": "c-1", "email": "c-1@customers.example"},
            "assignee": None,
            "team": None,
        },
        "waiting_since": 0,
        "created_at": int(stamp(T0)),
        "updated_at": stamp(at),
        **given,
    }


def conversation_event(event: str, id: int = 7, at: datetime = T0, **given: Any) -> dict[str, Any]:
    return {"event": event, **conversation_of(id, at, **given)}


def message_event(
    id: int = 501, at: datetime = T0, *, conversation: dict[str, Any] | None = None, **given: Any
) -> dict[str, Any]:
    """`message_created`, from the customer unless `given` says otherwise."""
    return {
        "event": "message_created",
        "id": id,
        "content": "hello",
        "message_type": "incoming",
        "content_type": "text",
        "content_attributes": {},
        "private": False,
        "created_at": at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
        "sender": {"id": 900, "name": "Customer", "identifier": "c-1"},
        "conversation": conversation or conversation_of(at=at),
        **given,
    }


class World(automations.World):
    """As the automations' own, with a source that tells of things."""

    def __init__(self, session: Session, tenant: Tenant, settings: Settings) -> None:
        super().__init__(session, tenant)
        self.settings = settings
        self.declared = Declared()

    def store(self, *documents: dict[str, Any] | bytes, now: datetime = T0, ids: tuple[str, ...] = ()) -> int:
        """Store what came in; how many of it were new."""
        new = 0
        for number, document in enumerate(documents):
            raw = document if isinstance(document, bytes) else json.dumps(document).encode()
            told = inbound.read(raw, delivery_id=ids[number] if ids else None)
            new += inbound_events.store(self.session, self.tenant.id, told, now=now)
        self.commit()
        return new

    def process(self, now: datetime = T0, limit: int = 1_000) -> Counts:
        counts = inbound.process(
            self.session, declared=self.declared, now=now, limit=limit, ours=echoes.is_ours
        )
        self.session.expire_all()
        return counts

    def take(self, *documents: dict[str, Any], now: datetime = T0) -> Counts:
        """Store and apply."""
        self.store(*documents, now=now)
        return self.process(now)

    def events(self) -> list[InboundEvent]:
        query = select(InboundEvent).order_by(InboundEvent.id)
        found = list(self.session.scalars(query.execution_options(populate_existing=True)))
        rollback(self.session)
        return found

    def event(self) -> InboundEvent:
        [found] = self.events()
        return found

    def known(self, id: int = 7) -> Conversation:
        self.session.expire_all()
        found = conversations.find(self.session, self.tenant.id, str(id), "chatwoot")
        assert found is not None
        return found

    def messages(self) -> list[Message]:
        query = select(Message).order_by(Message.seq)
        return list(self.session.scalars(query.execution_options(populate_existing=True)))

    def finish(self) -> None:
        commit(self.session, "tests.finish")
