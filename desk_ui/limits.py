"""How often somebody may try: by the address they call from, and by the account they try."""

from collections.abc import Callable
from typing import Any

from flask_limiter import Limiter
from werkzeug.wrappers import Response

BY_ADDRESS = "20 per minute; 100 per hour"
BY_ACCOUNT = "10 per 10 minutes"
# A code has six digits. Only who knows the password comes to guessing it, so nobody else locks anyone out.
OF_CODES = "10 per 10 minutes; 50 per day"
REFUSED = frozenset({401, 422})

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def by_address(limiter: Limiter) -> Decorator:
    """Decorator of a view: its POSTs, whatever becomes of them."""
    return limiter.limit(BY_ADDRESS, methods=["POST"])  # type: ignore[no-any-return]


def by_account(limiter: Limiter, account: Callable[[], str], limit: str = BY_ACCOUNT) -> Decorator:
    """Decorator of a view: the refused POSTs for one account, whoever sends them and from wherever."""
    return limiter.limit(  # type: ignore[no-any-return]
        limit, methods=["POST"], key_func=lambda: f"account:{account()}", deduct_when=_was_refused
    )


def _was_refused(response: Response) -> bool:
    return response.status_code in REFUSED
