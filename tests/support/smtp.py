"""An SMTP server that keeps what it is given."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Sink:
    """Where it listens, and the messages that came, as text."""

    port: int
    messages: list[str] = field(default_factory=list)


@contextmanager
def sink() -> Iterator[Sink]:
    """A server on a free port of this machine."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 sink")
            for line in self.rfile:
                word = line.decode().split(" ")[0].strip().upper()
                if word == "DATA":
                    self._say("354 go on")
                    kept.messages.append(self._message())
                if word == "QUIT":
                    self._say("221 bye")
                    return
                self._say("250 ok")

        def _message(self) -> str:
            lines = iter(self.rfile.readline, b".\r\n")
            return b"".join(lines).decode()

        def _say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        kept = Sink(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield kept
        finally:
            server.shutdown()
