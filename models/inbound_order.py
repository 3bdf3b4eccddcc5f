"""Since when a conversation's status holds, the same in whatever order its source's news come in.

The source sends no such time: only, with each event, the status as it was at that moment. In order, a status
holds since the first event that told of it. So all that was told is looked at, not what came last.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from models import intake
from models.chatwoot_payloads import News
from models.conversations import Conversation
from models.inbound_events import InboundEvent
from models.tenants import Tenant

# No rule waits for less than 10 minutes, so that within this of a moment nothing that began then has run.
NOTHING_RAN_WITHIN = timedelta(minutes=9)
YOUNG = timedelta(minutes=1)


def clock(news: News, before: Conversation | None) -> Mapping[str, Any]:
    """What `news` says of the status's clock, for `intake`; empty where a changed status takes `updated_at`.

    A conversation heard of for the first time holds its status since it was made, if it is young. Of an
    older one nobody here saw when the status changed, unless this very event tells of it.
    """
    if "status" not in news.given:
        return {}
    if before is not None:
        same = before.status == news.given["status"]
        return {"status_changed_at": before.status_changed_at} if same else {}
    if news.status_changed and news.told_at is not None:
        return {"status_changed_at": news.told_at}
    made_at: datetime | None = news.given.get("created_at")
    young = made_at is not None and (news.told_at is None or news.told_at - made_at < YOUNG)
    return {} if news.event == "conversation_created" or young else {"status_changed_at": None}


def is_late(news: News, before: Conversation | None) -> bool:
    """Whether `news` may tell of what was before the newest that is known, so that the clock is looked at.

    What is newer than all that is known moves the clock by itself, if at all.
    """
    if before is None:
        return False
    if before.status_changed_at is None or news.event == "conversation_created":
        return True
    known = before.source_updated_at
    return news.told_at is not None and known is not None and news.told_at < known


def move_clock(
    session: Session, tenant: Tenant, event: InboundEvent, conversation: Conversation, *, now: datetime
) -> bool:
    """Set the time since which the status holds, if what is known now gives another one; whether it moved.

    It goes back only within `NOTHING_RAN_WITHIN`: later something that waited on it may have run, and an
    episode that is named anew would run again. The caller holds the conversation's lock.
    """
    session.flush()
    found, known = _told_since(session, event, conversation), conversation.status_changed_at
    if found is None or found == known:
        return False
    if known is not None and found < known and now - known >= NOTHING_RAN_WITHIN:
        return False
    given = {"status": conversation.status, "status_changed_at": found}
    if conversation.source_updated_at is not None:
        given["updated_at"] = conversation.source_updated_at
    intake.receive_conversation(
        session, tenant, conversation.external_id, given, now=now, source=event.source
    )
    return True


def _told_since(session: Session, event: InboundEvent, conversation: Conversation) -> datetime | None:
    """When the present status was told of for the first time since another one was; None where that is not
    known better than by the row."""
    mine = (
        InboundEvent.tenant_id == event.tenant_id,
        InboundEvent.source == event.source,
        InboundEvent.conversation == event.conversation,
        InboundEvent.told_at.is_not(None),
    )
    same = select(func.min(InboundEvent.told_at)).where(
        *mine, InboundEvent.told_status == conversation.status
    )
    last_other = session.scalar(
        select(func.max(InboundEvent.told_at)).where(*mine, InboundEvent.told_status != conversation.status)
    )
    if last_other is not None:
        return session.scalar(same.where(InboundEvent.told_at > last_other))
    made = select(InboundEvent.id).where(*mine, InboundEvent.event == "conversation_created").limit(1)
    if session.scalar(made) is not None:
        # Made in it, and never told to be in another.
        return conversation.created_at
    if conversation.status_changed_at is not None:
        return None
    return session.scalar(same.where(InboundEvent.told_change.is_(True)))
