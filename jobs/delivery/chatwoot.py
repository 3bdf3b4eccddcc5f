"""What a rule's actions do in Chatwoot: one call of its API for each, with our key on what it makes.

Its API takes no idempotency key, so ours stands in a message's `content_attributes`. Before a message is
tried again, the conversation's recent messages are searched for it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jobs.delivery.chatwoot_api import SECONDS, Account, NotDone
from models.automations.actions import ActionName
from models.automations.outside import Came, Errand
from models.chatwoot_payloads import KEY, marks_of
from models.chatwoot_values import whole
from models.clock import micros, parse_time
from models.connectors import Opened
from models.conversations import ConversationStatus
from models.errors import DeskError
from models.settings import Settings

# Pages of 20 messages that are searched for our key.
MOST_PAGES = 10
NOBODY = 0
_NOBODY = (None, "nil", "none")
_AGENTS = frozenset({"user", "User"})


class CantBeDone(DeskError):
    """What the rule asks for can't be done in this conversation; nothing was changed."""


def perform(errand: Errand, connector: Opened, settings: Settings, *, seconds: float = SECONDS) -> Came:
    """Do `errand` in Chatwoot, within `seconds`. Never raises, whatever is answered or is not."""
    act = _ACTS.get(errand.name)
    if act is None:
        return Came.failed(f"Chatwoot has no way to do {errand.name}.")
    try:
        return Came.done(act(errand, Account(connector, settings, seconds)))
    except NotDone as fault:
        return Came.unknown(fault.detail) if fault.had_effect else Came.failed(fault.detail)
    except DeskError as fault:
        return Came.failed(fault.detail)
    except Exception as error:  # noqa: BLE001  whatever came back, the ledger says that it is not known
        return Came.unknown(f"It broke off and may have had its effect ({type(error).__name__}).")


def _message(errand: Errand, account: Account, *, private: bool) -> str | None:
    """Make a message; its id there. One that was tried before is looked for first."""
    if errand.again and (known := _sent_before(errand, account)) is not None:
        return known
    body = {
        "content": str(_param(errand)),
        "message_type": "outgoing",
        "private": private,
        "content_attributes": {KEY: errand.idempotency_key},
    }
    return _id_in(account.write(_conversation(errand), "messages", body))


def _sent_before(errand: Errand, account: Account) -> str | None:
    """The id of the message that carries our key, if there is one.

    Raises `NotDone` as of something that may have had its effect where that can't be found out: the attempt
    before may have, and nothing is sent now.
    """
    try:
        for message in _recent(errand, account):
            if marks_of(message.get("content_attributes")).get(KEY) == errand.idempotency_key:
                return f"{message.get('id')} (found, not sent again)"
    except NotDone as fault:
        detail = f"Nothing was sent now: whether it was sent before could not be found out. {fault.detail}"
        raise NotDone(detail, had_effect=True) from None
    return None


def _recent(errand: Errand, account: Account) -> Iterator[dict[str, Any]]:
    """The conversation's messages, the newest first, some 200 at most. Raises `NotDone` where they can't be
    read."""
    before = ""
    for _page in range(MOST_PAGES):
        page = messages_in(account.read(_conversation(errand), f"messages{before}"))
        yield from reversed(page)
        ids = [one["id"] for one in page if isinstance(one.get("id"), int)]
        if not ids:
            return
        before = f"?before={min(ids)}"


def messages_in(document: Any) -> list[dict[str, Any]]:
    """Raises `NotDone` where the answer holds no list of messages: then nothing is known of them."""
    payload = document.get("payload") if isinstance(document, dict) else None
    if not isinstance(payload, list):
        raise NotDone("Chatwoot's answer is not the list of messages that it should be.", had_effect=False)
    return [one for one in payload if isinstance(one, dict)]


def _labels(errand: Errand, account: Account, *, add: bool) -> None:
    """Chatwoot takes the whole set: it is read, changed and written; left alone where it is so already."""
    id, given = _conversation(errand), [str(label).strip() for label in errand.params]
    document = account.read(id, "labels")
    payload = document.get("payload") if isinstance(document, dict) else None
    if not isinstance(payload, list):
        raise NotDone("Chatwoot's answer is not the list of labels that it should be.", had_effect=False)
    had = [label for label in payload if isinstance(label, str)]
    known = {label.casefold() for label in had}
    if add:
        wanted = [*had, *(label for label in dict.fromkeys(given) if label.casefold() not in known)]
    else:
        gone = {label.casefold() for label in given}
        wanted = [label for label in had if label.casefold() not in gone]
    if wanted != had:
        account.write(id, "labels", {"labels": wanted})


def _status(errand: Errand, account: Account, status: str) -> None:
    """Always with a status: without one Chatwoot would turn it over, whatever it is."""
    body: dict[str, Any] = {"status": status}
    if (
        status == ConversationStatus.SNOOZED
        and errand.name == ActionName.SNOOZE_CONVERSATION
        and errand.params
    ):
        body["snoozed_until"] = micros(parse_time(str(errand.params[0]), "params")) // 1_000_000
    account.write(_conversation(errand), "toggle_status", body)


def _assign(errand: Errand, account: Account, who: Any) -> None:
    if who == "last_responding_agent":
        who = _last_responding(errand, account)
    account.write(_conversation(errand), "assignments", {"assignee_id": NOBODY if who in _NOBODY else who})


def _last_responding(errand: Errand, account: Account) -> int:
    """The id there of the person who answered last. Raises `CantBeDone` where nobody did."""
    for message in _recent(errand, account):
        sender = message.get("sender")
        public = message.get("message_type") in (1, "outgoing") and message.get("private") is not True
        ours = marks_of(message.get("content_attributes")).get(KEY)
        if public and not ours and isinstance(sender, Mapping) and sender.get("type") in _AGENTS:
            return whole(sender.get("id"), "sender.id")
    raise CantBeDone("No person has answered in this conversation, so there is nobody to assign it to.")


def _team(errand: Errand, account: Account, team: Any) -> None:
    account.write(_conversation(errand), "assignments", {"team_id": NOBODY if team in _NOBODY else team})


def _priority(errand: Errand, account: Account) -> None:
    given = _param(errand)
    account.write(_conversation(errand), "toggle_priority", {"priority": None if given in _NOBODY else given})


def _transcript(errand: Errand, account: Account) -> None:
    account.write(_conversation(errand), "transcript", {"email": str(_param(errand))})


def _conversation(errand: Errand) -> str:
    return str(errand.conversation["id"])


def _param(errand: Errand) -> Any:
    if not errand.params:
        raise CantBeDone("The rule's action lacks what it needs, so nothing was sent.")
    return errand.params[0]


def _id_in(document: Any) -> str | None:
    return str(document["id"]) if isinstance(document, dict) and "id" in document else None


Act = Callable[[Errand, Account], str | None]


def _to(status: ConversationStatus) -> Act:
    return lambda errand, account: _status(errand, account, status.value)


_ACTS: Mapping[str, Act] = {
    ActionName.SEND_MESSAGE: lambda errand, account: _message(errand, account, private=False),
    ActionName.ADD_PRIVATE_NOTE: lambda errand, account: _message(errand, account, private=True),
    ActionName.ADD_LABEL: lambda errand, account: _labels(errand, account, add=True),
    ActionName.REMOVE_LABEL: lambda errand, account: _labels(errand, account, add=False),
    ActionName.ASSIGN_AGENT: lambda errand, account: _assign(errand, account, _param(errand)),
    ActionName.REMOVE_ASSIGNED_AGENT: lambda errand, account: _assign(errand, account, None),
    ActionName.ASSIGN_TEAM: lambda errand, account: _team(errand, account, _param(errand)),
    ActionName.REMOVE_ASSIGNED_TEAM: lambda errand, account: _team(errand, account, None),
    ActionName.RESOLVE_CONVERSATION: _to(ConversationStatus.RESOLVED),
    ActionName.OPEN_CONVERSATION: _to(ConversationStatus.OPEN),
    ActionName.PENDING_CONVERSATION: _to(ConversationStatus.PENDING),
    ActionName.SNOOZE_CONVERSATION: _to(ConversationStatus.SNOOZED),
    ActionName.CHANGE_STATUS: lambda errand, account: _status(errand, account, str(_param(errand))),
    ActionName.CHANGE_PRIORITY: _priority,
    ActionName.MUTE_CONVERSATION: lambda errand, account: account.write(_conversation(errand), "mute", {}),
    ActionName.SEND_EMAIL_TRANSCRIPT: _transcript,
}
