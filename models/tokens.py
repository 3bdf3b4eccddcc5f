"""API tokens: random secrets of which only a digest is kept, each with its tenant and its scopes."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import ForeignKey, Index, Integer, String, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import audit, locks, text
from models.actors import Actor
from models.base import Base
from models.errors import Conflict, Invalid, NotFound
from models.tenants import Tenant
from models.transactions import commit

PREFIX = "desk_"
USE_IS_NOTED_EVERY = timedelta(hours=1)


class Scope(StrEnum):
    READ = "read"
    INGEST = "ingest"
    OPERATE = "operate"


class ApiToken(Base):
    """One token. Its secret is shown once, when it is made; `last_used_at` is kept to the hour."""

    __tablename__ = "api_token"

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    tenant_id: Mapped[int] = mapped_column(ForeignKey("tenant.id"))
    name: Mapped[str] = mapped_column(String(200))
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    scopes: Mapped[list[str]]
    assistant: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None] = mapped_column()
    last_used_at: Mapped[datetime | None]

    __table_args__ = (
        Index(
            "uq_api_token_name",
            "tenant_id",
            "name",
            unique=True,
            postgresql_where=revoked_at.is_(None),
            sqlite_where=revoked_at.is_(None),
        ),
        Index("ix_api_token_tenant_id", "tenant_id", "id"),
    )


def add(
    session: Session,
    tenant: Tenant,
    *,
    name: str,
    scopes: Iterable[str],
    actor: Actor,
    now: datetime,
    assistant: str | None = None,
) -> tuple[ApiToken, str]:
    """Make a token; returns it with its secret, which is kept nowhere.

    `assistant` narrows it to the verbs of that assistant. Raises `Invalid` on `name`, `scopes` or
    `assistant`, and `Conflict` where a token in use has this name.
    """
    text.required(name, "name")
    given = _scopes(scopes)
    # Two who take the same name at the same time: the second one finds the first one's.
    locks.one(session, select(Tenant).where(Tenant.id == tenant.id))
    if _in_use(session, tenant, name) is not None:
        raise Conflict(f"There is a token {name} already. Revoke it first, or choose another name.")
    secret = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken(
        tenant_id=tenant.id,
        name=name,
        digest=digest(secret),
        scopes=given,
        assistant=text.required(assistant, "assistant") if assistant is not None else None,
        created_at=now,
    )
    session.add(token)
    session.flush()
    _record(session, token, "token.added", {"scopes": given, "assistant": assistant}, actor, now)
    return token, secret


def revoke(session: Session, tenant: Tenant, name: str, *, actor: Actor, now: datetime) -> ApiToken:
    """Put the token called `name` out of use, at once and for good. Raises `NotFound`."""
    token = _in_use(session, tenant, name)
    if token is None:
        raise NotFound("token in use")
    return _put_out_of_use(session, token, actor, now)


def revoke_by_id(
    session: Session, tenant: Tenant, token_id: int, *, actor: Actor, now: datetime
) -> tuple[ApiToken, bool]:
    """As `revoke`, and whether it was in use until now. Raises `NotFound`."""
    query = select(ApiToken).where(ApiToken.tenant_id == tenant.id, ApiToken.id == token_id)
    token = locks.one(session, query)
    if token is None:
        raise NotFound("token")
    if token.revoked_at is not None:
        return token, False
    return _put_out_of_use(session, token, actor, now), True


def _put_out_of_use(session: Session, token: ApiToken, actor: Actor, now: datetime) -> ApiToken:
    token.revoked_at = now
    _record(session, token, "token.revoked", {}, actor, now)
    return token


def listed(session: Session, tenant: Tenant) -> list[ApiToken]:
    """All tokens of `tenant`, newest first, revoked ones too."""
    return list(
        session.scalars(
            select(ApiToken).where(ApiToken.tenant_id == tenant.id).order_by(ApiToken.id.desc()).limit(1_000)
        )
    )


def find(session: Session, secret: str) -> tuple[ApiToken, Tenant] | None:
    """The token in use whose secret this is, with its tenant.

    The look-up goes by the digest, so that its time tells nothing of a secret that is nearly right.
    """
    query = (
        select(ApiToken, Tenant)
        .join(Tenant, Tenant.id == ApiToken.tenant_id)
        .where(ApiToken.digest == digest(secret), ApiToken.revoked_at.is_(None))
    )
    found = session.execute(query).one_or_none()
    return (found[0], found[1]) if found else None


def ids_named(session: Session, tenant_id: int, name: str) -> list[int]:
    """The ids of all tokens that bear or bore `name`."""
    query = select(ApiToken.id).where(ApiToken.tenant_id == tenant_id, ApiToken.name == name)
    return list(session.scalars(query.order_by(ApiToken.id)))


def is_use_due(token: ApiToken, now: datetime) -> bool:
    """Whether the use of `token` should be noted again."""
    return token.last_used_at is None or token.last_used_at < now - USE_IS_NOTED_EVERY


def note_use(session: Session, token_id: int, now: datetime) -> None:
    """Keep that the token was used, in a transaction of its own."""
    session.execute(update(ApiToken).where(ApiToken.id == token_id).values(last_used_at=now))
    commit(session, "tokens.note_use")


def digest(secret: str) -> str:
    """Under which a secret is kept. It is random and long, so that one round of SHA-256 is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _in_use(session: Session, tenant: Tenant, name: str) -> ApiToken | None:
    return locks.one(
        session,
        select(ApiToken).where(
            ApiToken.tenant_id == tenant.id, ApiToken.name == name, ApiToken.revoked_at.is_(None)
        ),
    )


def _scopes(given: Iterable[str]) -> list[str]:
    wanted = set(given)
    unknown = sorted(wanted - set(Scope))
    if unknown:
        raise Invalid("scopes", f"can't hold {unknown[0]!r}; there are {', '.join(Scope)}")
    if not wanted:
        raise Invalid("scopes", f"must hold at least one of {', '.join(Scope)}")
    return [scope.value for scope in Scope if scope in wanted]


def _record(
    session: Session, token: ApiToken, action: str, detail: dict[str, object], actor: Actor, now: datetime
) -> None:
    audit.append(
        session,
        tenant_id=token.tenant_id,
        actor=actor,
        action=action,
        resource=("token", str(token.id)),
        now=now,
        purpose=token.name,
        detail=detail,
    )
