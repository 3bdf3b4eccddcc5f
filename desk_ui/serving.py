"""The web process: gunicorn around the application, with logs like those of the other processes."""

import gc
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger

from desk_ui import create_app
from jobs import logs, wake
from models.settings import Settings


class QuietLogger(Logger):
    """gunicorn's own lines, written by the handlers that all our processes share."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


class WebServer(BaseApplication):
    """gunicorn with options given in code; each worker process makes the application for itself."""

    def __init__(self, settings: Settings, options: dict[str, Any]) -> None:
        self._settings = settings
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        wake.install()
        app = create_app(self._settings)
        # What was made so far lives as long as the process: no collection need look through it again.
        gc.collect()
        gc.freeze()
        return app


def serve(settings: Settings, *, host: str, port: int, workers: int, threads: int) -> None:
    """Serve until SIGTERM or SIGINT."""
    logs.configure(settings, "web")
    WebServer(
        settings,
        {
            "bind": f"{host}:{port}",
            "workers": workers,
            "threads": threads,
            "worker_class": "gthread",
            "graceful_timeout": 10,
            "timeout": 60,
            "keepalive": 5,
            "logger_class": QuietLogger,
            "loglevel": settings.log_level.lower(),
            "control_socket_disable": True,
        },
    ).run()
