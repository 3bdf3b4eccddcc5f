"""Connectors: the system outside whose conversations a tenant has here, and what is needed to talk to it."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, Index, Integer, String, Text, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import audit, endpoint_urls, locks, secrets, text
from models.actors import Actor
from models.base import Base
from models.errors import Invalid, NotFound
from models.settings import Settings
from models.tenants import Tenant

LONGEST_SECRET = 500
_ACCOUNT = re.compile(r"[1-9][0-9]{0,17}")


class Kind(StrEnum):
    CHATWOOT = "chatwoot"


class Connector(Base):
    """One system outside. `token` is what we show it, `secret` what it signs its events with."""

    __tablename__ = "connector"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    kind: Mapped[str] = mapped_column(String(40))
    url: Mapped[str] = mapped_column(String(endpoint_urls.LENGTH))
    account: Mapped[str] = mapped_column(String(20))
    token: Mapped[str] = mapped_column(Text)
    secret: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    version: Mapped[int] = mapped_column(Integer, default=1)

    __table_args__ = (Index("uq_connector_kind", "tenant_id", "kind", unique=True),)


@dataclass(frozen=True, slots=True)
class Opened:
    """A connector as plain values, its secrets readable: for whoever speaks to the system or checks what it
    sent. Never shown, logged or stored."""

    tenant_id: int
    tenant: str
    url: str
    account: str
    token: str = field(repr=False)
    secret: str = field(repr=False)


def set_chatwoot(
    session: Session,
    tenant: Tenant,
    *,
    url: str,
    account: str,
    token: str,
    secret: str,
    settings: Settings,
    actor: Actor,
    now: datetime,
) -> tuple[Connector, bool]:
    """Make or change the tenant's connector to Chatwoot; whether anything changed.

    `url` is the installation's own address, without a path of its API. Raises `Invalid` on the field.
    """
    values = {
        "url": _address(url, settings),
        "account": _account(account),
        "token": _secret(token, "token"),
        "secret": _secret(secret, "secret"),
    }
    # Those who set it at the same time come one after the other.
    locks.one(session, select(Tenant).where(Tenant.id == tenant.id))
    row = _find(session, tenant.id, Kind.CHATWOOT)
    if row is None:
        row = Connector(id=uuid4(), tenant_id=tenant.id, kind=Kind.CHATWOOT.value, created_at=now, version=0)
        changed = sorted(values)
    else:
        changed = _differences(row, values, settings)
    if not changed:
        return row, False
    row.url, row.account = values["url"], values["account"]
    if "token" in changed:
        row.token = _sealed(row, "token", values, settings)
    if "secret" in changed:
        row.secret = _sealed(row, "secret", values, settings)
    row.version += 1
    row.updated_at = now
    session.add(row)
    session.flush()
    _audit(session, row, changed, actor=actor, now=now)
    return row, True


def get(session: Session, tenant_id: int, kind: Kind = Kind.CHATWOOT) -> Connector:
    """Raises `NotFound`."""
    found = _find(session, tenant_id, kind)
    if found is None:
        raise NotFound("connector")
    return found


def opened(session: Session, tenant: Tenant, settings: Settings, kind: Kind = Kind.CHATWOOT) -> Opened:
    """The connector with its secrets. Raises `NotFound`; `secrets.Unreadable` under another `SECRET_KEY`."""
    row = get(session, tenant.id, kind)
    return Opened(
        tenant_id=tenant.id,
        tenant=tenant.key,
        url=row.url,
        account=row.account,
        token=_read(row, "token", settings),
        secret=_read(row, "secret", settings),
    )


def remove_all(session: Session, tenant_id: int, *, actor: Actor, now: datetime) -> int:
    """Remove all connectors of a tenant, each with its event; how many there were."""
    rows = session.scalars(select(Connector).where(Connector.tenant_id == tenant_id)).all()
    for row in rows:
        audit.append(
            session,
            tenant_id=tenant_id,
            actor=actor,
            action="connector.removed",
            resource=("connector", str(row.id)),
            now=now,
            detail={"kind": row.kind, "address": endpoint_urls.origin(row.url), "account": row.account},
        )
        session.delete(row)
    return len(rows)


def _find(session: Session, tenant_id: int, kind: Kind) -> Connector | None:
    query = select(Connector).where(Connector.tenant_id == tenant_id, Connector.kind == kind.value)
    return session.scalars(query).one_or_none()


def _differences(row: Connector, values: dict[str, str], settings: Settings) -> list[str]:
    """The names of the values that are not so yet."""
    found = [name for name in ("url", "account") if getattr(row, name) != values[name]]
    for name in ("token", "secret"):
        try:
            same = _read(row, name, settings) == values[name]
        except secrets.Unreadable:
            same = False
        if not same:
            found.append(name)
    return sorted(found)


def _address(url: str, settings: Settings) -> str:
    checked = endpoint_urls.check(url.strip(), settings).rstrip("/")
    if "?" in checked:
        raise Invalid("url", "is the address of the installation alone, such as https://chat.example.com")
    return checked


def _account(account: str) -> str:
    if _ACCOUNT.fullmatch(account.strip()) is None:
        raise Invalid("account", "is the account's number, which stands in its address after /accounts/")
    return account.strip()


def _secret(value: str, name: str) -> str:
    # It goes into a header or a key as it is: what surrounds it was copied along.
    given = text.required(value, name, longest=LONGEST_SECRET).strip()
    if not given.isascii() or not given.isprintable() or " " in given:
        raise Invalid(name, "may hold printable ASCII without spaces only")
    return given


def _sealed(row: Connector, name: str, values: dict[str, str], settings: Settings) -> str:
    return secrets.encrypt(settings.secret_key, values[name], owner=_owner(row, name))


def _read(row: Connector, name: str, settings: Settings) -> str:
    return secrets.decrypt(settings.secret_key, getattr(row, name), owner=_owner(row, name))


def _owner(row: Connector, name: str) -> str:
    return f"connector:{row.id}:{name}"


def _audit(session: Session, row: Connector, changed: list[str], *, actor: Actor, now: datetime) -> None:
    """What changed by name, and of the address its origin: the rest of it may be a secret."""
    audit.append(
        session,
        tenant_id=row.tenant_id,
        actor=actor,
        action="connector.set",
        resource=("connector", str(row.id)),
        now=now,
        detail={
            "kind": row.kind,
            "address": endpoint_urls.origin(row.url),
            "account": row.account,
            "changed": changed,
        },
    )
