"""An action as a sentence that a person reads, whatever is stored of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from models import endpoint_urls
from models.automations.action_params import LAST_RESPONDING_AGENT, NOBODY, ActionName

LONGEST_TEXT = 120


def sentence(name: str, params: Sequence[Any]) -> str:
    """What the action does, such as `Add the label “late”`. An unknown one is called by its name."""
    words = _SENTENCES.get(name)
    return words if isinstance(words, str) else words(params) if words else name


def _message(params: Sequence[Any]) -> str:
    return f"Send the message {_quoted(_first(params))}"


def _note(params: Sequence[Any]) -> str:
    return f"Add the private note {_quoted(_first(params))}"


def _labels(verb: str) -> Callable[[Sequence[Any]], str]:
    return lambda params: f"{verb} the label{'s' if len(params) > 1 else ''} {_listed(params)}"


def _agent(params: Sequence[Any]) -> str:
    agent = _first(params)
    if agent == NOBODY:
        return "Assign nobody"
    if agent == LAST_RESPONDING_AGENT:
        return "Assign who answered last"
    return f"Assign the agent {_short(agent)}"


def _team(params: Sequence[Any]) -> str:
    team = _first(params)
    return "Assign no team" if team == NOBODY else f"Assign the team {_short(team)}"


def _snooze(params: Sequence[Any]) -> str:
    return f"Snooze the conversation until {_short(params[0])}" if params else "Snooze the conversation"


def _status(params: Sequence[Any]) -> str:
    return f"Set the status to {_short(_first(params))}"


def _priority(params: Sequence[Any]) -> str:
    value = _first(params)
    return f"Set the priority to {'none' if value is None else _short(value)}"


def _mail_to_teams(params: Sequence[Any]) -> str:
    asked = _first(params)
    if not isinstance(asked, Mapping):
        return "Send a mail to a team"
    ids = asked.get("team_ids")
    teams = ids if isinstance(ids, list | tuple) else []
    named = ", ".join(map(_short, teams))
    return f"Mail the team{'s' if len(teams) > 1 else ''} {named}: {_quoted(asked.get('message'))}"


def _transcript(params: Sequence[Any]) -> str:
    return f"Mail the transcript to {_short(_first(params))}"


def _webhook(params: Sequence[Any]) -> str:
    # The rest of an address may hold a token.
    try:
        return f"Send the event to {_short(endpoint_urls.origin(str(_first(params))))}"
    except ValueError:
        return "Send the event to an address"


_SENTENCES: Mapping[str, str | Callable[[Sequence[Any]], str]] = {
    ActionName.SEND_MESSAGE: _message,
    ActionName.ADD_PRIVATE_NOTE: _note,
    ActionName.ADD_LABEL: _labels("Add"),
    ActionName.REMOVE_LABEL: _labels("Remove"),
    ActionName.ASSIGN_AGENT: _agent,
    ActionName.ASSIGN_TEAM: _team,
    ActionName.REMOVE_ASSIGNED_AGENT: "Remove the assigned agent",
    ActionName.REMOVE_ASSIGNED_TEAM: "Remove the assigned team",
    ActionName.RESOLVE_CONVERSATION: "Resolve the conversation",
    ActionName.OPEN_CONVERSATION: "Open the conversation",
    ActionName.PENDING_CONVERSATION: "Set the conversation to pending",
    ActionName.SNOOZE_CONVERSATION: _snooze,
    ActionName.CHANGE_STATUS: _status,
    ActionName.CHANGE_PRIORITY: _priority,
    ActionName.MUTE_CONVERSATION: "Mute the conversation",
    ActionName.SEND_EMAIL_TO_TEAM: _mail_to_teams,
    ActionName.SEND_EMAIL_TRANSCRIPT: _transcript,
    ActionName.SEND_WEBHOOK_EVENT: _webhook,
}


def _first(params: Sequence[Any]) -> Any:
    return params[0] if params else None


def _listed(params: Sequence[Any]) -> str:
    return ", ".join(map(_quoted, params))


def _quoted(value: Any) -> str:
    return f"“{_short(value)}”"


def _short(value: Any) -> str:
    written = " ".join(str(value).split())
    return written if len(written) <= LONGEST_TEXT else f"{written[: LONGEST_TEXT - 1]}…"
