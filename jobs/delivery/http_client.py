"""The one HTTP client for addresses that customers give: public addresses only, bounded in time and size.

A name is resolved once for each request, every address it has is judged, and the connection goes to a judged
address, so that a name which changes its mind between the check and the connection gains nothing. TLS and the
Host header keep the name. No redirect is followed and no proxy variable is read.
"""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import certifi
import httpcore

from models.addresses import is_public
from models.errors import Invalid

SECONDS = 10.0
ANSWER_BYTES = 64 * 1024

Resolver = Callable[[str, int], list[str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it came. `truncated` says that it was longer than what is read of one."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool


class SendFailed(Exception):
    """There was no whole answer; `unreachable` says that the host, not the request, is the trouble.

    `begun` says that sending had begun, so that the request may have reached whoever it was for.
    """

    def __init__(self, detail: str, *, unreachable: bool = True, begun: bool = False) -> None:
        super().__init__(detail)
        self.detail = detail
        self.unreachable = unreachable
        self.begun = begun


class Refused(SendFailed):
    """The host has an address that is not public; nothing was connected to."""


def resolve(host: str, port: int) -> list[str]:
    """All addresses of `host`, as the system resolves it. Raises `OSError`, `UnicodeError`."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def post(
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes,
    allowed_hosts: frozenset[str] = frozenset(),
    seconds: float = SECONDS,
    resolver: Resolver = resolve,
    context: ssl.SSLContext | None = None,
) -> Answer:
    """As `request`, by POST."""
    return request(
        "POST",
        url,
        headers=headers,
        body=body,
        allowed_hosts=allowed_hosts,
        seconds=seconds,
        resolver=resolver,
        context=context,
    )


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes = b"",
    allowed_hosts: frozenset[str] = frozenset(),
    seconds: float = SECONDS,
    resolver: Resolver = resolve,
    context: ssl.SSLContext | None = None,
    most: int = ANSWER_BYTES,
) -> Answer:
    """Send `body` to `url` and return the answer, of its body `most` bytes at most.

    `seconds` bounds all of it, from the name to the last byte. Hosts in `allowed_hosts` may have any address.
    Raises `SendFailed`, and `Refused` where the host has an address that is not public.
    """
    own = {"host": urlsplit(url).netloc, "accept-encoding": "identity", "connection": "close"}
    sent = [(name.encode(), value.encode()) for name, value in {**own, **headers}.items()]
    limits = {"connect": seconds, "read": seconds, "write": seconds, "pool": seconds}
    with _Line(allowed_hosts, seconds, resolver) as line:
        told = {"timeout": limits, "trace": line.note}
        try:
            with (
                httpcore.ConnectionPool(
                    ssl_context=context or trusted(), network_backend=line, max_connections=1
                ) as pool,
                pool.stream(method, url, headers=sent, content=body, extensions=told) as answer,
            ):
                read, truncated = _read(answer.iter_stream(), most)
                named = {
                    name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers
                }
                whole = Answer(answer.status, named, read, truncated)
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise _failure(error, line, seconds) from error
        except (httpcore.UnsupportedProtocol, UnicodeError, ValueError) as error:
            raise SendFailed(f"The address can't be used: {error}", begun=line.begun) from error
    if line.over and not truncated:
        raise SendFailed(f"There was no whole answer within {seconds:g} s.", begun=True)
    return whole


def check(url: str, *, allowed_hosts: frozenset[str], seconds: float = SECONDS) -> None:
    """Resolve the host of `url` and judge its addresses, without connecting.

    To be called with no transaction open. A name that can't be resolved now passes: each request judges anew.
    Raises `Invalid` on `url`.
    """
    parts = urlsplit(url)
    line = _Line(allowed_hosts, seconds, resolve)
    try:
        line.judged(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    except Refused as refused:
        raise Invalid("url", refused.detail.rstrip(".")) from None
    except SendFailed:
        return


def _read(chunks: Iterable[bytes], most: int) -> tuple[bytes, bool]:
    """The first bytes, `most` at most, and whether there were more."""
    read = bytearray()
    for chunk in chunks:
        read += chunk
        if len(read) > most:
            return bytes(read[:most]), True
    return bytes(read), False


def _failure(error: Exception, line: "_Line", seconds: float) -> SendFailed:
    begun = line.begun
    if line.over or isinstance(error, httpcore.TimeoutException):
        return SendFailed(f"There was no whole answer within {seconds:g} s.", begun=begun)
    if isinstance(error, httpcore.ConnectError):
        return SendFailed(f"No connection: {error}.", begun=begun)
    if isinstance(error, httpcore.ProtocolError):
        detail = f"The answer broke off or is no HTTP: {error}."
        return SendFailed(detail, unreachable=False, begun=begun)
    return SendFailed(f"The connection broke off: {error}.", unreachable=False, begun=begun)


class _Line(httpcore.NetworkBackend):
    """The way to one host: a resolver that judges, and a clock that cuts the connection when time is up.

    Timeouts of single reads would let a host that sends a byte now and then hold a sender for hours.
    """

    def __init__(self, allowed_hosts: frozenset[str], seconds: float, resolver: Resolver) -> None:
        self.over = False
        self.begun = False
        self._allowed_hosts = allowed_hosts
        self._resolver = resolver
        self._ends = time.monotonic() + seconds
        self._clock = threading.Timer(seconds, self._cut)
        self._clock.daemon = True
        self._handle: socket.socket | None = None

    def __enter__(self) -> Self:
        self._clock.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._clock.cancel()
        if self._handle is not None:
            self._handle.close()

    def note(self, step: str, _info: object) -> None:
        """Hear from httpcore that the first bytes of the request are about to be written; TLS stands."""
        if step.endswith("send_request_headers.started"):
            self.begun = True

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first judged address of `host` that answers; each gets a share of the time left."""
        addresses = self.judged(host, port)
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for number, address in enumerate(addresses):
            share = max(0.001, self._left() / (len(addresses) - number))
            try:
                stream = httpcore.SyncBackend().connect_tcp(address, port, timeout=share)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
                continue
            # A second handle on the same connection: TLS takes the first one over.
            self._handle = stream.get_extra_info("socket").dup()
            if self.over:
                self._cut()
            return stream
        raise failure

    def judged(self, host: str, port: int) -> list[str]:
        """All addresses of `host`. Raises `Refused` if one is not public and the host is not allowed."""
        addresses = self._resolved(host, port)
        if host.casefold() not in self._allowed_hosts:
            for address in addresses:
                if not is_public(ip_address(address.partition("%")[0])):
                    raise Refused(f"{host} leads to {address}, which is not a public address.")
        return addresses

    def _resolved(self, host: str, port: int) -> list[str]:
        found: list[str] = []
        failures: list[Exception] = []

        def work() -> None:
            try:
                found.extend(self._resolver(host, port))
            except (OSError, UnicodeError) as error:
                failures.append(error)

        # The system's resolver knows no timeout, so it is left behind if it takes too long.
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(self._left())
        if thread.is_alive():
            raise SendFailed(f"The name {host} was not resolved in time.")
        if failures or not found:
            raise SendFailed(f"The name {host} can't be resolved.")
        return list(found)

    def _left(self) -> float:
        return max(0.0, self._ends - time.monotonic())

    def _cut(self) -> None:
        self.over = True
        if self._handle is not None:
            with suppress(OSError):
                self._handle.shutdown(socket.SHUT_RDWR)


@cache
def trusted() -> ssl.SSLContext:
    """The authorities that the system trusts, and those of certifi for a system that has none."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
