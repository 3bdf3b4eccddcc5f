"""A receiver of webhooks that fails in scripted ways, and remembers what reached it."""

import json
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from standardwebhooks import Webhook

Reply = Callable[["Handler"], None]


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def webhook_id(self) -> str:
        return self.headers["webhook-id"]

    def verified(self, secret: str) -> dict[str, Any]:
        """The document, its signature checked with the library. Raises `WebhookVerificationError`."""
        document: dict[str, Any] = Webhook(secret).verify(self.body, self.headers)
        return document


@dataclass
class Sink:
    """Replies to each path by its script, one reply a request, and with 200 once that is used up."""

    port: int
    received: list[Received] = field(default_factory=list)
    scripts: dict[str, list[Reply]] = field(default_factory=lambda: defaultdict(list))
    lock: threading.Lock = field(default_factory=threading.Lock)
    closing: threading.Event = field(default_factory=threading.Event)
    tls: bool = False

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{path}"

    def script(self, *replies: Reply, path: str = "/hook") -> None:
        self.scripts[path].extend(replies)

    def at(self, path: str) -> list[Received]:
        with self.lock:
            return [request for request in self.received if request.path == path]

    def reply_to(self, request: Received) -> Reply:
        with self.lock:
            self.received.append(request)
            script = self.scripts[request.path]
            return script.pop(0) if script else status(200)


_ports = (number % 1_000 for number in count())


class Handler(BaseHTTPRequestHandler):
    """Reads the request whole, then does as the script says."""

    protocol_version = "HTTP/1.1"
    sink: Sink

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.sink.reply_to(Received(self.path, headers, body))
        with suppress(OSError):
            reply(self)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def status(code: int, **headers: str) -> Reply:
    """Answer with `code`; an underscore in a header's name stands for a dash."""

    def reply(handler: Handler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("content-length", "2")
        handler.end_headers()
        handler.wfile.write(b"ok")

    return reply


def huge(size: int) -> Reply:
    """200 with a body of `size` bytes."""

    def reply(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", str(size))
        handler.end_headers()
        for _ in range(size // 65_536 + 1):
            handler.wfile.write(b"x" * 65_536)

    return reply


def hang(handler: Handler) -> None:
    """Say nothing until the sink closes."""
    handler.sink.closing.wait()


def drip(handler: Handler) -> None:
    """200, and then a body of which a byte comes now and then."""
    handler.send_response(200)
    handler.send_header("content-length", "1000000")
    handler.end_headers()
    while not handler.sink.closing.wait(0.05):
        handler.wfile.write(b".")
        handler.wfile.flush()


def drip_headers(handler: Handler) -> None:
    """A header that never ends."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
    while not handler.sink.closing.wait(0.05):
        handler.wfile.write(b".")
        handler.wfile.flush()


def hang_up(handler: Handler) -> None:
    """Close the connection without a word."""
    handler.close_connection = True
    handler.connection.close()


def garbage(handler: Handler) -> None:
    """What is no HTTP at all."""
    handler.wfile.write(b"\x00\x01 no http here\r\n\r\n")
    handler.close_connection = True


@contextmanager
def sink(context: Any = None, kind: type[Sink] = Sink) -> Iterator[Sink]:
    """Run a sink on a free port of 127.0.0.1, with TLS under the SSL context `context` if one is given."""

    class Bound(Handler):
        pass

    server = _bound(Bound)
    server.daemon_threads = True
    server.block_on_close = False
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    found = kind(server.server_address[1], tls=context is not None)
    Bound.sink = found
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def documents(requests: list[Received]) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in requests]


def _bound(handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    """A server on a port that no sink of this run had before, in this worker or in another.

    A process that a test killed or left may still send to where its sink was.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    while True:
        try:
            return ThreadingHTTPServer(("127.0.0.1", 20_000 + 1_000 * (worker % 10) + next(_ports)), handler)
        except OSError:
            continue  # somebody else has it
