"""Who does what a rule's action asks of the outside: mail, a webhook, or the conversation's own source."""

import traceback
from collections.abc import Callable

import structlog
from sqlalchemy.orm import Session

from jobs.delivery import action_webhook, chatwoot, mail
from models import connectors
from models.automations.outside import Came, Errand, Perform
from models.base import db, read_only
from models.connectors import Opened
from models.conversations import NATIVE
from models.errors import DeskError, NotFound
from models.settings import Settings
from models.tenants import Tenant
from models.transactions import assert_none_open

CHATWOOT = connectors.Kind.CHATWOOT.value

Call = Callable[[], Came]

log = structlog.get_logger(__name__)


class NoPerformer(DeskError):
    """Nobody here can do the errand."""


def performer(settings: Settings, session: Session) -> Perform:
    """What does an errand of any kind, within 30 s, while `session` has no transaction open.

    It never raises. What goes wrong before the call has begun is `failed`; what goes wrong in it, `unknown`:
    the call itself says better where it can.
    """

    def perform(errand: Errand) -> Came:
        try:
            call = _prepared(errand, settings)
            assert_none_open(session)
        except DeskError as refusal:
            return Came.failed(refusal.detail)
        except Exception as error:  # noqa: BLE001  the ledger takes down what it was, whatever it was
            _log(errand, "an action could not be prepared", error)
            return Came.failed(f"Nothing was sent: it could not be prepared ({type(error).__name__}).")
        try:
            return call()
        except Exception as error:  # noqa: BLE001  it may have had its effect, so that nobody may try again
            _log(errand, "an action broke off", error)
            return Came.unknown(f"It broke off and may have had its effect ({type(error).__name__}).")

    return perform


def _prepared(errand: Errand, settings: Settings) -> Call:
    """The call that does the errand; nothing has gone out yet. Raises `DeskError` where it can't be done."""
    if errand.name == "send_webhook_event":
        return action_webhook.prepared(errand, settings)
    if errand.name == "send_email_to_team":
        return mail.prepared_for_teams(errand, settings)
    if errand.source == CHATWOOT:
        connector = _connector(errand, settings)
        return lambda: chatwoot.perform(errand, connector, settings)
    if errand.name == "send_email_transcript" and errand.source == NATIVE:
        return mail.prepared_transcript(errand, settings)
    raise NoPerformer(f"Nothing here does {errand.name} for conversations of {errand.source}.")


def _connector(errand: Errand, settings: Settings) -> Opened:
    """The tenant's connector, read in a transaction that is over when this returns."""
    with read_only(), db.session.session_factory() as session:
        tenant = session.get(Tenant, errand.tenant_id)
        if tenant is None:
            raise NotFound("tenant")
        try:
            return connectors.opened(session, tenant, settings)
        except NotFound:
            raise NoPerformer(
                f"The tenant {errand.tenant} has no connector: set it by `desk connector set chatwoot`."
            ) from None


def _log(errand: Errand, what: str, error: Exception) -> None:
    """The error by its kind and place alone: its words may be a customer's, or hold a secret."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    log.error(
        what,
        action=errand.name,
        key=errand.idempotency_key,
        error=type(error).__name__,
        at=f"{place.filename.rpartition('/')[2]}:{place.lineno}",
    )
