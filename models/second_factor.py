"""The second factor of an account: a code by time (TOTP), and recovery codes for when the device is gone."""

import hashlib
import secrets as random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import uuid4

from passlib.exc import TokenError
from passlib.totp import TOTP
from sqlalchemy import ForeignKey, String, delete, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from models import locks, operators, secrets
from models.actors import Actor
from models.base import Base, BigId
from models.clock import micros
from models.errors import Conflict, Invalid
from models.operators import Operator

ISSUER = "Recovery Desk"
DIGITS = 6
# A device whose clock is off by one step may still sign in.
WINDOW_SECONDS = 30
CODES = 10
CODE_LENGTH = 16
LONGEST_GIVEN = 100
# No letter that is taken for another one when it is read from paper.
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


class Kind(StrEnum):
    """What was given as the second factor."""

    CODE = "code"
    RECOVERY_CODE = "recovery_code"


class SecondFactor(Base):
    """The factor of one account, asked for at each sign-in; no row means none.

    `secret` is encrypted. `last_counter` is the time step of the last code that was taken: neither it nor an
    older one is taken again.
    """

    __tablename__ = "second_factor"

    operator_id: Mapped[int] = mapped_column(ForeignKey("operator.id"), primary_key=True)
    secret: Mapped[str] = mapped_column(String(400))
    turned_on_at: Mapped[datetime]
    last_counter: Mapped[int] = mapped_column(BigId)


class RecoveryCode(Base):
    """One recovery code of an account, of which only the digest is kept."""

    __tablename__ = "recovery_code"

    operator_id: Mapped[int] = mapped_column(ForeignKey("operator.id"), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    used_at: Mapped[datetime | None]


@dataclass(frozen=True, slots=True)
class Setup:
    """A secret on its way to a device: `sealed` is for us, `uri` for the device, `key` for typing it in."""

    sealed: str
    uri: str
    key: str


@dataclass(frozen=True, slots=True)
class State:
    """How the factor of an account stands."""

    turned_on_at: datetime
    codes_left: int


def new_setup(operator: Operator, *, secret_key: str) -> Setup:
    """A new secret for the operator, which is kept nowhere before `turn_on`."""
    totp = TOTP.new(issuer=ISSUER)
    sealed = secrets.encrypt(secret_key, totp.base32_key, owner=_owner(operator))
    return Setup(sealed, totp.to_uri(operator.email), totp.pretty_key(sep=" "))


def setup_of(operator: Operator, sealed: str, *, secret_key: str) -> Setup:
    """The setup that `sealed` came from. Raises `Invalid` on `setup`."""
    totp = _opened(operator, sealed, secret_key)
    return Setup(sealed, totp.to_uri(operator.email), totp.pretty_key(sep=" "))


def turn_on(
    session: Session,
    operator: Operator,
    sealed: str,
    code: str,
    *,
    secret_key: str,
    actor: Actor,
    now: datetime,
) -> list[str]:
    """Ask for a code from now on, and end all sessions; the recovery codes, which are kept nowhere.

    Raises `Invalid` on `setup` or `code`, and `Conflict` if it is on already.
    """
    locks.one(session, select(Operator).where(Operator.id == operator.id))
    if session.get(SecondFactor, operator.id) is not None:
        raise Conflict("The second factor is on already.")
    counter = _counter(_opened(operator, sealed, secret_key), code, -1, now)
    if counter is None:
        raise Invalid("code", "is not the one that the app shows now; wait for the next one and type that")
    session.add(SecondFactor(operator_id=operator.id, secret=sealed, turned_on_at=now, last_counter=counter))
    operator.fs_uniquifier = uuid4().hex
    _record(session, operator, "operator.factor_on", actor, now)
    return _new_codes(session, operator)


def check(session: Session, operator: Operator, given: str, *, secret_key: str, now: datetime) -> Kind | None:
    """Take `given` as the operator's code or recovery code, once; None where it is neither.

    Writes no audit event: whoever asks records what the code was good for. Raises `secrets.Unreadable`.
    """
    factor = locks.one(session, select(SecondFactor).where(SecondFactor.operator_id == operator.id))
    plain = _plain(given)
    if factor is None or not plain:
        return None
    if len(plain) != DIGITS or not plain.isdigit():
        return Kind.RECOVERY_CODE if _use_code(session, operator, plain, now) else None
    opened = secrets.decrypt(secret_key, factor.secret, owner=_owner(operator))
    counter = _counter(TOTP(key=opened, format="base32"), plain, factor.last_counter, now)
    if counter is None:
        return None
    factor.last_counter = counter
    return Kind.CODE


def turn_off(session: Session, operator: Operator, *, actor: Actor, now: datetime) -> bool:
    """Ask for no code any more; whether one was asked for. All recovery codes are void."""
    if not _remove(session, operator):
        return False
    _record(session, operator, "operator.factor_off", actor, now)
    return True


def reset(
    session: Session, operator: Operator, *, actor: Actor, now: datetime, shown_since: int | None = None
) -> bool:
    """Turn it off for somebody who lost the device, and end their sessions and links; whether it was on.

    `shown_since` is since when it was on as shown, in microseconds. Raises `Conflict` where it is on since
    another moment.
    """
    if not _remove(session, operator, shown_since):
        return False
    operator.fs_uniquifier = uuid4().hex
    operators.void_links(session, operator, now)
    _record(session, operator, "operator.factor_reset", actor, now)
    return True


def renew_codes(session: Session, operator: Operator, *, actor: Actor, now: datetime) -> list[str]:
    """New recovery codes; those before are void. Raises `Conflict` where the factor is off."""
    if locks.one(session, select(SecondFactor).where(SecondFactor.operator_id == operator.id)) is None:
        raise Conflict("The second factor is off, so there are no recovery codes.")
    _record(session, operator, "operator.recovery_codes_made", actor, now)
    return _new_codes(session, operator)


def is_on(session: Session, operator: Operator) -> bool:
    return session.get(SecondFactor, operator.id) is not None


def state(session: Session, operator: Operator) -> State | None:
    """How the factor stands; None where it is off."""
    factor = session.get(SecondFactor, operator.id)
    if factor is None:
        return None
    unused = select(func.count()).where(
        RecoveryCode.operator_id == operator.id, RecoveryCode.used_at.is_(None)
    )
    return State(factor.turned_on_at, session.scalars(unused).one())


def on_among(session: Session, operator_ids: Iterable[int]) -> set[int]:
    """Those of the operators whose factor is on."""
    query = select(SecondFactor.operator_id).where(SecondFactor.operator_id.in_(list(operator_ids)))
    return set(session.scalars(query))


def _opened(operator: Operator, sealed: str, secret_key: str) -> TOTP:
    try:
        key = secrets.decrypt(secret_key, sealed, owner=_owner(operator))
    except secrets.Unreadable:
        raise Invalid("setup", "can't be read any more; begin again") from None
    return TOTP(key=key, format="base32", issuer=ISSUER)


def _counter(totp: TOTP, code: str, last: int, now: datetime) -> int | None:
    """The time step of `code`, if it is of now and of none up to `last`."""
    try:
        match = totp.match(_plain(code), time=int(now.timestamp()), window=WINDOW_SECONDS, last_counter=last)
    except TokenError:
        return None
    return int(match.counter)


def _use_code(session: Session, operator: Operator, plain: str, now: datetime) -> bool:
    query = select(RecoveryCode).where(
        RecoveryCode.operator_id == operator.id,
        RecoveryCode.digest == _digest(operator, plain),
        RecoveryCode.used_at.is_(None),
    )
    code = locks.one(session, query)
    if code is None:
        return False
    code.used_at = now
    return True


def _new_codes(session: Session, operator: Operator) -> list[str]:
    _remove_codes(session, operator)
    codes = ["".join(random.choice(_LETTERS) for _ in range(CODE_LENGTH)) for _ in range(CODES)]
    session.add_all(RecoveryCode(operator_id=operator.id, digest=_digest(operator, code)) for code in codes)
    session.flush()
    return ["-".join(code[at : at + 4] for at in range(0, CODE_LENGTH, 4)) for code in codes]


def _remove(session: Session, operator: Operator, shown_since: int | None = None) -> bool:
    factor = locks.one(session, select(SecondFactor).where(SecondFactor.operator_id == operator.id))
    if factor is None:
        return False
    if shown_since is not None and micros(factor.turned_on_at) != shown_since:
        raise Conflict(f"{operator.email} turned the second factor on meanwhile, so nothing was done.")
    _remove_codes(session, operator)
    session.delete(factor)
    session.flush()
    return True


def _remove_codes(session: Session, operator: Operator) -> None:
    gone = delete(RecoveryCode).where(RecoveryCode.operator_id == operator.id)
    session.execute(gone.execution_options(synchronize_session=False))


def _record(session: Session, operator: Operator, action: str, actor: Actor, now: datetime) -> None:
    operators.record(session, operator, operators.home(session, operator), action, actor, now)


def _owner(operator: Operator) -> str:
    return f"operator:{operator.id}:second-factor"


def _plain(given: str) -> str:
    """What was typed, without the blanks and dashes that only help to read it."""
    return "" if len(given) > LONGEST_GIVEN else "".join(given.split()).replace("-", "").lower()


def _digest(operator: Operator, plain: str) -> str:
    """The codes are random and long, so one round of SHA-256 is enough; each is bound to its account."""
    return hashlib.sha256(f"{operator.id}:{plain}".encode("utf-8", "surrogatepass")).hexdigest()
