"""Which network addresses we send to: public ones only, whatever form an address is written in."""

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

# An address of IPv4 within one of IPv6, for networks that translate: it reaches what the inner one names.
_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home.arpa")


def is_public(address: Address) -> bool:
    """Whether anyone may be reached at `address`: global, one host, and so for an address inside of it."""
    inner = _inner(address) if isinstance(address, IPv6Address) else None
    if inner is not None:
        return is_public(inner)
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_unspecified or address.is_link_local
    )


def literal(host: str) -> Address | None:
    """The address that `host` is written as, in any form that a resolver takes (`127.1`, `2130706433`)."""
    try:
        return ip_address(host)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host))
    except (OSError, UnicodeEncodeError, ValueError):
        return None


def is_local_name(host: str) -> bool:
    """Whether `host` names something inside a network by its name alone."""
    name = host.casefold().rstrip(".")
    return "." not in name or name.endswith(_LOCAL_SUFFIXES)


def _inner(address: IPv6Address) -> IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in _TRANSLATED):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None
