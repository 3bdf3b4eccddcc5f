"""Structured logs of every process, as text or JSON, with its name and without secrets."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from models.settings import Settings

HIDDEN = "[hidden]"
_SECRET_NAMES = re.compile(r"secret|token|password|passwd|authorization|cookie|api_key|prompt", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"(\w[\w+.-]*://[^\s:/@]*):[^\s@/]+@")
_BEARER = re.compile(r"(Bearer\s+)\S+", re.IGNORECASE)

Event = MutableMapping[str, Any]


def configure(settings: Settings, process: str) -> None:
    """Send structlog's events and those of the libraries to standard error, each with the name `process`."""
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _named(process),
        structlog.stdlib.PositionalArgumentsFormatter(),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                hide_secrets,
                _renderer(settings),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level)
    # These write a line for each job or call, which says nothing that the run records don't.
    for name in ("rq.worker", "rq.job", "rq.queue", "httpx", "alembic.runtime.migration"):
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def _renderer(settings: Settings) -> structlog.types.Processor:
    if settings.log_format == "json":
        return structlog.processors.JSONRenderer()
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_plain)


def _plain(sio: Any, exc_info: Any) -> None:
    structlog.dev.plain_traceback(sio, exc_info)


def _named(process: str) -> structlog.types.Processor:
    def add(_logger: Any, _method: str, event: Event) -> Event:
        event.setdefault("process", process)
        return event

    return add


def hide_secrets(_logger: Any, _method: str, event: Event) -> Event:
    """Replace the values of secret fields, and passwords within addresses, wherever they stand."""
    for name, value in list(event.items()):
        event[name] = HIDDEN if _SECRET_NAMES.search(name) and value is not None else hide(value)
    return event


def hide(value: Any) -> Any:
    """`value` with passwords in addresses and bearer tokens replaced, in nested values too."""
    if isinstance(value, str):
        return _BEARER.sub(rf"\1{HIDDEN}", _URL_PASSWORD.sub(rf"\1:{HIDDEN}@", value))
    if isinstance(value, dict):
        return hide_secrets(None, "", dict(value))
    if isinstance(value, list | tuple):
        return [hide(item) for item in value]
    return value
