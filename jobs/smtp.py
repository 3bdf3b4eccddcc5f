"""The one SMTP client: one message over one connection, bounded in time, that says how far it came."""

import re
import smtplib
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from types import TracebackType
from typing import BinaryIO, Self
from urllib.parse import unquote, urlsplit

from jobs.delivery.http_client import trusted

SECONDS = 30.0
GOODBYE_S = 2.0
CLOSING = 421
PORTS = {"smtp": 25, "smtps": 465, "smtp+starttls": 587}

# Seven bits pass every server; lines end as SMTP wants them.
POLICY = SMTP.clone(cte_type="7bit")

_ENHANCED = re.compile(r"[245]\.\d{1,3}\.\d{1,3}\b")


@dataclass(frozen=True, slots=True)
class Taken:
    """The server took the message for all recipients but the `refused` many. `code` is its last reply's."""

    code: str
    recipients: int
    refused: int


class MailFailed(Exception):
    """The server did not say that it took the message; `begun` says that it may have it all the same.

    `detail` holds no address, and nothing of the message.
    """

    def __init__(self, detail: str, *, begun: bool = False) -> None:
        super().__init__(detail)
        self.detail = detail
        self.begun = begun


def send(
    url: str, message: EmailMessage, *, sender: str, recipients: Sequence[str], seconds: float = SECONDS
) -> Taken:
    """Give the server at `url` one message for all `recipients`.

    `seconds` bounds all of it, once the server's name is resolved. Raises `MailFailed`.
    """
    content = message.as_bytes(policy=POLICY)
    with _Line(seconds) as line:
        try:
            return _talk(line, url, content, sender, recipients)
        except smtplib.SMTPResponseException as error:
            raise _refused("to go on", error.smtp_code, error.smtp_error) from error
        except (OSError, smtplib.SMTPException, ValueError) as error:
            raise line.failure(error) from error


def _talk(line: "_Line", url: str, content: bytes, sender: str, recipients: Sequence[str]) -> Taken:
    server = line.call(url)
    code, words = server.mail(sender)
    if not _is_good(code):
        raise _refused("the sender", code, words)
    replies = [_recipient(server, recipient) for recipient in recipients]
    refused = [reply for reply in replies if not _is_good(reply[0])]
    if len(refused) == len(replies):
        raise _refused("every recipient" if len(replies) > 1 else "the recipient", *refused[0])
    # From here on the server may have the message, whatever becomes of the connection.
    line.begun = True
    code, words = server.data(content)
    if 400 <= code < 600:
        raise _refused("the message", code, words)
    if not _is_good(code):
        raise MailFailed("What the mail server said of the message can't be read.", begun=True)
    return Taken(_code(code, words), len(replies), len(refused))


def _recipient(server: smtplib.SMTP, recipient: str) -> tuple[int, bytes]:
    code, words = server.rcpt(recipient)
    if code == CLOSING:
        raise _refused("to go on", code, words)
    return code, words


def _refused(what: str, code: int, words: bytes | str) -> MailFailed:
    return MailFailed(f"The mail server refused {what}: {_code(code, words)}.")


def _is_good(code: int) -> bool:
    return 200 <= code < 300


def _code(code: int, words: bytes | str) -> str:
    """The reply's code, and the enhanced one; its words may hold an address, so they are left."""
    found = _ENHANCED.match(words if isinstance(words, str) else words.decode("latin-1"))
    return f"{code} {found[0]}" if found else str(code)


class _Server(smtplib.SMTP):
    """smtplib's client on a connection that `line` opens and may cut; `tls` is from the first byte on."""

    def __init__(self, line: "_Line", host: str, port: int, *, tls: bool) -> None:
        self._line = line
        self._tls = tls
        super().__init__(host, port, timeout=line.left())

    def _get_socket(self, host: str, port: int, _timeout: float) -> socket.socket:
        opened = self._line.open(host, port)
        return trusted().wrap_socket(opened, server_hostname=host) if self._tls else opened

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self.file = _WholeLines(self.sock.makefile("rb"))
        return super().getreply()


class _WholeLines:
    """What a server says, by lines. One that was cut short is none: smtplib would read it as a reply."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readline(self, most: int = -1) -> bytes:
        line = self._file.readline(most)
        return line if line.endswith(b"\n") else b""

    def close(self) -> None:
        self._file.close()


class _Line:
    """The way to the server, with a clock that cuts it when time is up.

    Timeouts of single reads would let a server that sends a byte now and then hold a worker for hours.
    """

    def __init__(self, seconds: float) -> None:
        self.begun = False
        self._seconds = seconds
        self._over = False
        self._ends = time.monotonic() + seconds
        self._clock = threading.Timer(seconds, self._cut)
        self._clock.daemon = True
        self._handle: socket.socket | None = None
        self._server: _Server | None = None

    def __enter__(self) -> Self:
        self._clock.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._say_goodbye(self._server)
        self._clock.cancel()
        if self._handle is not None:
            self._handle.close()

    def call(self, url: str) -> smtplib.SMTP:
        """A server that was greeted, under TLS and signed in to as `url` says."""
        parts = urlsplit(url)
        if parts.scheme not in PORTS or not parts.hostname:
            raise MailFailed(
                "SMTP_URL must begin with smtp://, smtps:// or smtp+starttls:// and name a host."
            )
        port = parts.port or PORTS[parts.scheme]
        server = self._server = _Server(self, parts.hostname, port, tls=parts.scheme == "smtps")
        if parts.scheme == "smtp+starttls":
            server.starttls(context=trusted())
        if parts.username:
            server.login(unquote(parts.username), unquote(parts.password or ""))
        server.ehlo_or_helo_if_needed()
        return server

    def open(self, host: str, port: int) -> socket.socket:
        """Connect to the first address of `host` that answers; each gets a share of the time left."""
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for number, (_family, _type, _proto, _name, address) in enumerate(addresses, 1):
            share = max(0.001, self.left() / (len(addresses) - number + 1))
            try:
                opened = socket.create_connection((str(address[0]), port), timeout=share)
            except OSError:
                if number == len(addresses):
                    raise
                continue
            opened.settimeout(self._seconds)
            # A second handle on the same connection: TLS takes the first one over.
            self._handle = opened.dup()
            if self._over:
                self._cut()
            return opened
        raise OSError(f"{host} has no address")

    def left(self) -> float:
        return max(0.001, self._ends - time.monotonic())

    def failure(self, error: Exception) -> MailFailed:
        if self._over:
            detail = f"The mail server gave no answer within {self._seconds:g} s."
        elif self._server is None:
            detail = f"There is no connection to the mail server: {error}."
        else:
            detail = f"The connection to the mail server broke off: {error}."
        return MailFailed(detail, begun=self.begun)

    def _say_goodbye(self, server: _Server) -> None:
        """What became of the message is known by now, so nothing that is said here matters."""
        with suppress(OSError, smtplib.SMTPException):
            if server.sock is not None:
                server.sock.settimeout(min(GOODBYE_S, self.left()))
                server.docmd("QUIT")
        server.close()

    def _cut(self) -> None:
        self._over = True
        if self._handle is not None:
            with suppress(OSError):
                self._handle.shutdown(socket.SHUT_RDWR)
