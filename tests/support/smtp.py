"""An SMTP server that keeps what it is given, and refuses, falls silent or hangs up where it is told to."""

import socketserver
import ssl
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

HANG, CUT, DRIP = "hang", "cut", "drip"
GREETING, END = "GREETING", "END"

_USUAL = {GREETING: "220 sink", "DATA": "354 go on", "STARTTLS": "220 go on", "QUIT": "221 bye"}


@dataclass
class Sink:
    """Where it listens, and what came: the messages as text, the words of each command, how often under TLS.

    `script` tells what it does instead of the usual at a command, at its GREETING or at the END of a message:
    a reply, or HANG (no answer), CUT (the connection is closed) or DRIP (a byte of an answer now and then).
    """

    port: int
    messages: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    scripts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    secure: int = 0
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    def script(self, at: str, *answers: str) -> None:
        self.scripts[at].extend(answers)

    def answer_to(self, at: str) -> str:
        return self.scripts[at].pop(0) if self.scripts[at] else _USUAL.get(at, "250 ok")


class _Left(Exception):
    """The conversation is over."""


@contextmanager
def sink(context: ssl.SSLContext | None = None, *, at_once: bool = False) -> Iterator[Sink]:
    """A server on a free port of this machine; with `context` it can go under TLS, or is so `at_once`."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError, _Left):
                if at_once:
                    self._go_under_tls()
                self._answer(GREETING)
                # Anew at each line: TLS puts another file in this one's place.
                while line := self.rfile.readline():
                    self._take(line.decode("latin-1").strip())

        def _take(self, line: str) -> None:
            kept.commands.append(line)
            word = line.split(" ")[0].upper()
            answer = self._answer(word)
            if word == "DATA" and answer.startswith("354"):
                lines = iter(self.rfile.readline, b".\r\n")
                # A dot at the head of a line was doubled, so that it doesn't end the message.
                whole = b"".join(line.removeprefix(b".") for line in lines)
                kept.messages.append(whole.decode())
                self._answer(END)
            if word == "STARTTLS":
                self._go_under_tls()
            if word == "QUIT":
                raise _Left

        def _go_under_tls(self) -> None:
            assert context is not None
            self.connection = context.wrap_socket(self.connection, server_side=True)
            self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
            kept.secure += 1

        def _answer(self, at: str) -> str:
            answer = kept.answer_to(at)
            if answer == HANG:
                kept.closing.wait()
            if answer == DRIP:
                while not kept.closing.wait(0.02):
                    self.wfile.write(b"2")
            if answer in {HANG, CUT, DRIP}:
                raise _Left
            self.wfile.write(f"{answer}\r\n".encode())
            return answer

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        kept = Sink(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield kept
        finally:
            kept.closing.set()
            server.shutdown()
