"""The actions that send mail: a note to teams, and a conversation's transcript."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage

from jobs import smtp
from models import clock, mail_addresses
from models.automations.outside import Came, Errand
from models.errors import DeskError, Invalid
from models.settings import Settings

SECONDS = 30.0
MOST_RECIPIENTS = 100
SUBJECT_LENGTH = 200

_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9-]")


class CantBeMailed(DeskError):
    """What stands in the way of a mail, and what helps."""


def prepared_for_teams(errand: Errand, settings: Settings) -> Callable[[], Came]:
    """The call that mails the message to the teams: params `[{"team_ids": [...], "message": "..."}]`.

    Raises `DeskError` where it can't be sent.
    """
    given = errand.params[0] if errand.params else None
    if not isinstance(given, Mapping) or not isinstance(given.get("message"), str):
        raise Invalid("message", "is missing: the action needs team_ids and a message")
    to = _addresses_of(given.get("team_ids"), errand)
    rule = errand.rule or "that was deleted meanwhile"
    body = f"{given['message']}\n\n--\nSent by the rule {rule} of {errand.tenant}, {_about(errand)}.\n"
    return _mailing(errand, settings, to, f"{errand.rule or errand.tenant}: {_about(errand)}", body)


def prepared_transcript(errand: Errand, settings: Settings) -> Callable[[], Came]:
    """The call that mails the transcript to the addresses in `params`, each of which may be a comma list.

    Raises `DeskError` where it can't be sent.
    """
    to = mail_addresses.listed(errand.params, "email")
    said = [f"{clock.iso(one.at)}  {one.by}\n{one.text}\n" for one in errand.transcript]
    body = "\n".join(said) or "There are no messages.\n"
    return _mailing(errand, settings, to, f"Transcript of {_about(errand)}", body)


def _addresses_of(teams: object, errand: Errand) -> list[str]:
    """The addresses of all `teams`, each once. Raises `DeskError` that names the team without one."""
    if not isinstance(teams, Sequence) or isinstance(teams, str) or not teams:
        raise Invalid("team_ids", "is missing: the action needs the ids of one team or more")
    lists: list[str] = []
    for team in teams:
        addresses = errand.teams.get(str(team))
        if not addresses:
            table = f"[teams.{_as_key(str(team))}]"
            raise CantBeMailed(
                f'The team {team} has no mail address. Declare {table} with mail = ["…"] in desk.toml.'
            )
        lists += addresses
    return mail_addresses.listed(lists, "team_ids")


def _mailing(
    errand: Errand, settings: Settings, to: Sequence[str], subject: str, body: str
) -> Callable[[], Came]:
    url = settings.smtp_url
    if url is None:
        raise CantBeMailed("There is no mail server configured: set SMTP_URL.")
    if len(to) > MOST_RECIPIENTS:
        raise Invalid("email", f"names {len(to)} addresses; {MOST_RECIPIENTS} is the most")
    message = _message(errand, settings, to, subject, body)

    def call() -> Came:
        try:
            taken = smtp.send(url, message, sender=settings.mail_from, recipients=to, seconds=SECONDS)
        except smtp.MailFailed as failure:
            return Came.unknown(failure.detail) if failure.begun else Came.failed(failure.detail)
        return Came.done(_receipt(taken, str(message["Message-ID"])))

    return call


def _message(errand: Errand, settings: Settings, to: Sequence[str], subject: str, body: str) -> EmailMessage:
    """The mail; its id is the same in every attempt, by which a receiver can tell that it has it already."""
    message = EmailMessage(policy=smtp.POLICY)
    message["Message-ID"] = message_id(errand, settings)
    message["Subject"] = _one_line(subject)
    message["From"] = settings.mail_from
    message["To"] = ", ".join(to)
    # No answering machine shall answer it, so that no rule is set off by the answer.
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(body)
    return message


def message_id(errand: Errand, settings: Settings) -> str:
    key = _NOT_IN_AN_ID.sub(".", errand.idempotency_key)
    return f"<{key}@{settings.mail_from.rpartition('@')[2]}>"


def _receipt(taken: smtp.Taken, id: str) -> str:
    """How the server took it, without an address."""
    said = f"The mail server answered {taken.code}; the message is {id}."
    if taken.refused:
        said += f" It refused {taken.refused} of {taken.recipients} recipients."
    return said


def _as_key(team: str) -> str:
    """`team` as a key is written in TOML."""
    return team if _BARE_KEY.fullmatch(team) else json.dumps(team, ensure_ascii=False)


def _about(errand: Errand) -> str:
    return f"conversation {errand.conversation.get('id', 'without an id')}"


def _one_line(text: str) -> str:
    """`text` fit for a header: a name with a line end in it must not begin another header."""
    return _UNPRINTABLE.sub(" ", text).strip()[:SUBJECT_LENGTH]
