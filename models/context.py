"""What the edge knows of the request at hand and the audit records beside each event."""

from contextvars import ContextVar

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
