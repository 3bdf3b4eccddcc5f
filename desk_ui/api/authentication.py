"""Who calls: the bearer token, its tenant and its scopes."""

from dataclasses import dataclass
from datetime import datetime

from flask import Request
from sqlalchemy.orm import Session

from models import tokens
from models.actors import Actor
from models.base import db, read_only, writable
from models.errors import DeskError
from models.tenants import PLATFORM, Tenant
from models.transactions import rollback

LONGEST_SECRET = 200


class Unauthorized(DeskError):
    """No token, or none that is in use."""

    code = "unauthorized"

    def __init__(self) -> None:
        super().__init__("This call needs a valid token: Authorization: Bearer <token>.")


@dataclass(frozen=True, slots=True)
class Caller:
    """A token in use, read before the call's own transaction begins."""

    token_id: int
    name: str
    tenant: Tenant
    scopes: frozenset[str]
    assistant: str | None

    @property
    def actor(self) -> Actor:
        return Actor.api(str(self.token_id), self.name)

    @property
    def of_platform(self) -> bool:
        return self.tenant.key == PLATFORM


def authenticate(session: Session, request: Request, now: datetime) -> Caller:
    """The caller of `request`. Raises `Unauthorized`. Leaves no transaction open.

    It reads in a transaction that can't write: on SQLite the call's own would hold the write lock while a
    slow client is still sending its body.
    """
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer" or not 1 <= len(secret) <= LONGEST_SECRET:
        raise Unauthorized
    with read_only():
        found = tokens.find(session, secret)
        if found is not None:
            # Kept apart from the session, which forgets what it read when this transaction ends.
            session.expunge_all()
        rollback(session)
    if found is None:
        raise Unauthorized
    token, tenant = found
    if tokens.is_use_due(token, now):
        _note_use(token.id, now)
    return Caller(token.id, token.name, tenant, frozenset(token.scopes), token.assistant)


def _note_use(token_id: int, now: datetime) -> None:
    with writable(), db.session.session_factory() as session:
        tokens.note_use(session, token_id, now)
