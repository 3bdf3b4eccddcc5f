"""What a call arms to run at once, run in the same request after its commit."""

from collections.abc import Sequence
from uuid import UUID

from desk_ui.api.operations import Call
from jobs import executions
from models import intake
from models.intake import Received
from models.transactions import after_commit


def arm(call: Call, received: Received) -> None:
    """Let the areas hear of what the call brought, and run what is to run at once when it is committed.

    What acts on our own data is done before the call is answered. What calls the outside is left to the
    workers, or to the next sweep where there is no Redis.
    """
    armed = intake.arm(call.session, call.tenant, received.happening, now=call.now)
    if armed:
        after_commit(call.session, f"executions:{armed[0]}", lambda: _run(call, armed))


def _run(call: Call, ids: Sequence[UUID]) -> None:
    executions.run_native_and_wake(call.session, ids)
