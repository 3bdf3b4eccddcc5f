"""A real Redis for a test: the embedded server, on files of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobs.redis import Embedded
from tests.conftest import settings_for


@contextmanager
def server(folder: Path) -> Iterator[Embedded]:
    """A running server; the test may stop it and start it again on the same port and files."""
    embedded = Embedded(settings_for("sqlite:///unused.db", folder))
    embedded.start()
    try:
        yield embedded
    finally:
        embedded.stop()
