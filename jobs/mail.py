"""Mail to whoever runs the installation, where `SMTP_URL` and `DESK_ATTENTION_MAIL` are set."""

from email.message import EmailMessage
from email.utils import getaddresses

import structlog
from sqlalchemy.orm import Session

from jobs import smtp
from models.attention import Stranded
from models.clock import iso
from models.settings import Settings
from models.sweep_states import State
from models.transactions import assert_none_open

TIMEOUT_S = 10.0

log = structlog.get_logger(__name__)


def send_late(settings: Settings, session: Session, state: State) -> bool:
    """Say by mail that a sweep is late; whether it was sent. A failure is logged: the event stands anyway."""
    last = iso(state.last_ok_at) or "never"
    return _tell(
        settings,
        session,
        f"the sweep {state.name} is late",
        f"The sweep {state.name} should run every {state.every}.\n"
        f"Its last good run ended: {last}\n"
        "Look at the workers and the scheduler; desk doctor names what is wrong.\n",
    )


STRANDED = {
    "followups_overdue": "follow-ups are due and no run takes them",
    "followups_failing": "a follow-up fails again and again",
    "tasks_waiting": "tasks wait for their agent's runtime",
}


def send_stranded(settings: Settings, session: Session, found: Stranded) -> bool:
    """Say by mail that something is stranded; whether it was sent."""
    kind, id = found.resource
    return _tell(
        settings,
        session,
        STRANDED[found.reason],
        f"Since {iso(found.since)}: {STRANDED[found.reason]}.\nThe oldest is the {kind} {id}.\n",
    )


def _tell(settings: Settings, session: Session, subject: str, body: str) -> bool:
    if settings.smtp_url is None or settings.attention_mail is None:
        return False
    assert_none_open(session)
    message = EmailMessage()
    message["Subject"] = f"Recovery Desk: {subject}"
    message["From"] = message["To"] = settings.attention_mail
    # Short lines, so that the mail needs no encoding that hides its times.
    message.set_content(body)
    to = [address for _name, address in getaddresses([settings.attention_mail])]
    try:
        smtp.send(settings.smtp_url, message, sender=to[0], recipients=to, seconds=TIMEOUT_S)
    except smtp.MailFailed as failure:
        log.warning("a mail that asks for attention was not sent", subject=subject, error=failure.detail)
        return False
    return True
