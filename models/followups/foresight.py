"""What each gate would say if a follow-up fired now, judged by the function that the sweep calls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from models.declarations import Declared, Fault
from models.followups.expected import expected
from models.followups.policy import Case, Ceiling, Parsed, Policy, Verdict, judge, longest_window, policy_of
from models.followups.records import Block, Contact, ContactState, FollowUp, Status

OPEN = Policy()
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate, judged alone. `block` is the reason it gives where it stops; None for quiet hours."""

    block: Block | None
    verdict: Verdict

    @property
    def passes(self) -> bool:
        return self.verdict.fires


@dataclass(frozen=True, slots=True)
class Foresight:
    """All gates in their order, and what they come to at the moment judged.

    `fired` is when the customer was fired at, `waiting` when others that are pending for them will fire, and
    `before` how many of these do until the moment judged.
    """

    gates: tuple[Gate, ...]
    verdict: Verdict
    policy: Policy | None
    faults: tuple[Fault, ...]
    contact: Contact | None
    fired: Sequence[datetime] = ()
    waiting: Sequence[datetime] = ()
    before: int = 0

    @property
    def fires(self) -> int:
        """How often the customer was fired at within the window."""
        return len(self.fired)

    def full_until(self, at: datetime) -> datetime | None:
        """At `at`, which is not before the moment judged, the ceiling would stop it: until when it does."""
        ceiling = self.policy.ceiling if self.policy else None
        return full_until(ceiling, [*self.fired, *self.waiting_by(at)], at) if ceiling else None

    def waiting_by(self, at: datetime) -> list[datetime]:
        """Those of `waiting` that will have fired at `at`."""
        return [moment for moment in self.waiting if moment <= at]

    def free_at(self, at: datetime) -> datetime:
        """The first moment from `at` on at which the ceiling lets it through: `at`, or a whole minute."""
        while (last := self.full_until(at)) is not None:
            at = last.replace(second=0, microsecond=0) + MINUTE
        return at


def full_until(ceiling: Ceiling, fired: Sequence[datetime], at: datetime) -> datetime | None:
    """The last moment at which `ceiling` stops a customer fired at `fired`; None if it does not at `at`.

    It holds as long as nothing else fires for them until then.
    """
    if len(fired) < ceiling.fires:
        return None
    last = sorted(fired)[-ceiling.fires] + ceiling.window
    return last if last >= at else None


def foresee(
    session: Session,
    followup: FollowUp,
    *,
    declared: Declared,
    now: datetime,
    at: datetime | None = None,
    consents: bool = False,
) -> Foresight:
    """Judge a follow-up as if it fired at `at`, by default `now`. It locks nothing and promises nothing.

    With `consents`, booking it (again) records consent where there is no contact yet.
    """
    parsed, moment = policy_of(declared, followup.agent), at or now
    contact = session.scalars(
        select(Contact).where(Contact.tenant_id == followup.tenant_id, Contact.customer == followup.customer)
    ).one_or_none()
    ceiling = parsed.policy.ceiling if parsed.policy else None
    fired: Sequence[datetime] = ()
    waiting: Sequence[datetime] = ()
    if ceiling is not None:
        every = _fires(session, followup, now - longest_window(declared))
        fired = [fire for fire in every if fire >= moment - ceiling.window]
        waiting = expected(session, followup, every, declared=declared, now=now)
    before = [one for one in waiting if one <= moment] if moment > now else []
    absent = ContactState.GRANTED if consents else None
    case = Case(
        policy=parsed.policy,
        contact_state=contact.state if contact else absent,
        oldest_of_pair=not _older_twin(session, followup, moment),
        fires=[*fired, *before],
    )
    judged = _judged(case, parsed, contact, moment)
    return replace(judged, fired=fired, waiting=waiting, before=len(before))


def _judged(case: Case, parsed: Parsed, contact: Contact | None, now: datetime) -> Foresight:
    granted = ContactState.GRANTED
    policy = case.policy or OPEN
    # Each gate alone: the others are given what lets everything through.
    alone = (
        (Block.POLICY_INVALID, Case(OPEN if case.policy else None, granted)),
        (Block.CONSENT, Case(OPEN, granted if case.contact_state else None)),
        (Block.REVOKED, Case(OPEN, _only(case, ContactState.REVOKED))),
        (Block.UNAVAILABLE, Case(OPEN, _only(case, ContactState.UNAVAILABLE))),
        (None, Case(Policy(quiet_hours=policy.quiet_hours), granted)),
        (Block.DEDUP, Case(OPEN, granted, oldest_of_pair=case.oldest_of_pair)),
        (Block.FREQUENCY, Case(Policy(ceiling=policy.ceiling), granted, fires=case.fires)),
        (Block.HOLDOUT, Case(OPEN, granted, holdout=case.holdout)),
    )
    return Foresight(
        gates=tuple(Gate(block, judge(one, now)) for block, one in alone),
        verdict=judge(case, now),
        policy=case.policy,
        faults=parsed.faults,
        contact=contact,
    )


def _only(case: Case, state: ContactState) -> ContactState:
    return state if case.contact_state == state else ContactState.GRANTED


def _older_twin(session: Session, followup: FollowUp, now: datetime) -> bool:
    """Whether an older due record of the same agent, customer and reason is pending."""
    query = select(FollowUp.id).where(
        FollowUp.tenant_id == followup.tenant_id,
        FollowUp.customer == followup.customer,
        FollowUp.status == Status.PENDING,
        FollowUp.agent == followup.agent,
        FollowUp.reason == followup.reason,
        FollowUp.due_at <= now,
        or_(FollowUp.at < followup.at, and_(FollowUp.at == followup.at, FollowUp.id < followup.id)),
    )
    return session.scalars(query.limit(1)).first() is not None


def _fires(session: Session, followup: FollowUp, since: datetime) -> list[datetime]:
    """When the customer was fired at since `since`, whichever agent it was."""
    found = session.scalars(
        select(FollowUp.fired_at).where(
            FollowUp.tenant_id == followup.tenant_id,
            FollowUp.customer == followup.customer,
            FollowUp.status == Status.FIRED,
            FollowUp.fired_at >= since,
        )
    )
    return [at for at in found if at is not None]
