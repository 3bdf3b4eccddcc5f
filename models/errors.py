"""The domain's errors: one hierarchy, each message written for the person who reads it."""

from typing import Any


class DeskError(Exception):
    """Base of all domain errors. `code` names the problem type, `detail` says what to do."""

    code = "conflict"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class NotFound(DeskError):
    """No such row, or one of another tenant: the two answer alike."""

    code = "not-found"

    def __init__(self, what: str) -> None:
        super().__init__(f"There is no such {what}.")


class Invalid(DeskError):
    """A value that can't be used; `field` names it, and `why` says what is wrong without its name."""

    code = "invalid"

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field} {detail}.")
        self.field = field
        self.why = f"{detail[:1].upper()}{detail[1:]}."


class Conflict(DeskError):
    """The row moved or its state forbids the change; `current` is the row as it is now."""

    def __init__(self, detail: str, *, current: Any = None, code: str = "conflict") -> None:
        super().__init__(detail)
        self.current = current
        self.code = code


class AlreadyPending(Conflict):
    """A pending follow-up of the same agent, customer and reason exists; `prior_id` is its id."""

    def __init__(self, prior_id: str) -> None:
        super().__init__(
            f"The same follow-up is already pending as {prior_id}. Cancel that one first, or leave it.",
            code="already-pending",
        )
        self.prior_id = prior_id


class OptedOut(Conflict):
    """The customer opted out; only a message of theirs reopens the contact."""

    def __init__(self) -> None:
        super().__init__(
            "The customer opted out of being contacted. Only a message from them reopens it.",
            code="opted-out",
        )


class StaleTurn(Conflict):
    """An assistant acted on a turn that is over; `current` is the turn that is open."""

    def __init__(self, detail: str, *, current: Any) -> None:
        super().__init__(detail, current=current, code="stale-turn")


class Forbidden(DeskError):
    """The actor may not do this."""

    code = "forbidden"
