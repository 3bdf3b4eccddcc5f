"""The address of an endpoint: what may be sent to, and what of it may be shown."""

from urllib.parse import SplitResult, urlsplit

from models import addresses, text
from models.errors import Invalid
from models.settings import Settings

LENGTH = 2_000


def check(url: str, settings: Settings) -> str:
    """`url`, if it can be sent to. Raises `Invalid` on `url`.

    Names are resolved when something is sent, at each connection anew: what a name leads to today says
    nothing of tomorrow. Here an address that is not public is refused where it can be seen in the text.
    """
    text.required(url, "url", longest=LENGTH)
    if not url.isascii() or any(c.isspace() or not c.isprintable() for c in url):
        raise Invalid("url", "may hold printable ASCII only; write other characters percent-encoded")
    parts = _parts(url)
    if parts.scheme not in {"http", "https"}:
        raise Invalid("url", "must begin with https:// or http://")
    if "@" in parts.netloc:
        raise Invalid("url", "may not hold a name or password; the signature proves who sends")
    if "#" in url or "\\" in url:
        raise Invalid("url", "may hold neither # nor \\")
    _check_host(parts.hostname or "", settings)
    return url


def origin(url: str) -> str:
    """Scheme, host and port: what may be shown of an address, whose path can hold a token."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        if parts.port == 0:
            raise ValueError
    except ValueError:
        raise Invalid("url", "is not an address such as https://example.com/hook") from None
    return parts


def _check_host(host: str, settings: Settings) -> None:
    if not host:
        raise Invalid("url", "names no host")
    if host.casefold() in settings.webhook_allowed_hosts:
        return
    address = addresses.literal(host)
    if address is not None and not addresses.is_public(address):
        raise Invalid("url", f"leads to {address}, which is not a public address")
    if address is None and addresses.is_local_name(host):
        raise Invalid("url", f"leads to {host}, which is not a public name; DESK_WEBHOOK_HOSTS can allow it")
