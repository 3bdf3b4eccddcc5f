"""The types of events that an endpoint may ask for."""

from collections.abc import Iterable

from models.errors import Invalid

ALL = "*"
EVENT_TYPES = frozenset(
    {"attention.needed", "contact.revoked", "task.created"}
    | {"followup.scheduled", "followup.cancelled", "followup.blocked", "followup.fired"}
    | {"execution.executed", "execution.needs_review"}
    | {"ticket.opened", "ticket.requester_replied", "ticket.agent_replied", "ticket.assigned"}
    | {"ticket.released", "ticket.reopened", "ticket.closed", "ticket.escalated", "ticket.human_requested"}
    | {"assistant.turn", "assistant.withheld", "draft.proposed", "draft.sent", "draft.rejected"}
    | {"conversation.agent_stop_requested", "conversation.agent_start_reconcile_requested"}
    | {"conversation.agent_stop_reconcile_requested", "conversation.content_extraction_requested"}
)


def check_event_types(event_types: Iterable[str]) -> list[str]:
    """The types in order and each once; `*` alone if it is among them. Raises `Invalid` on `event_types`."""
    given = list(event_types)
    if not given:
        raise Invalid("event_types", "must name at least one event type, or be * for all")
    for name in given:
        if name != ALL and name not in EVENT_TYPES:
            raise Invalid("event_types", f"holds {name[:80]!r}, which is no event type")
    return [ALL] if ALL in given else sorted(set(given))
