"""A rule tried on one conversation: what would become of it, in words; nothing is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import current_app, g, url_for

from desk_ui import declared, words
from desk_ui.automations import rule_words
from desk_ui.automations import rules_queries as queries
from desk_ui.marks import Mark
from desk_ui.paging import LARGEST_ID
from desk_ui.requests import settings_of
from desk_ui.translating import gettext as _
from desk_ui.translating import lazy_gettext as _l
from models import connectors, conversations, teams, text
from models.automations import actions, dry_run, episodes
from models.automations.action_params import ActionName
from models.automations.dry_run import DryRun, Hindrance
from models.automations.episodes import Kind
from models.automations.records import AutomationRule, Skip, Status
from models.base import db
from models.conversations import NATIVE, Conversation
from models.errors import NotFound
from models.messages import Direction

HINDRANCES = {
    Hindrance.FEATURE_OFF: _l("Delayed automations are switched off for this tenant, so nothing is armed."),
    Hindrance.NO_MESSAGE: _l("It holds no message that could arm this rule."),
    Hindrance.AUTO_REPLY: _l("It began with an automatic mail, which arms no such rule."),
    Hindrance.NO_CLOCK: _l("It is not known since when its status is as it is, so it is not armed."),
}
PASSES = {
    Skip.EXPIRED: _l("That time was over for more than 3 d, so it would be skipped."),
    Skip.EPISODE_MOVED: _l("Since then the conversation moved on, so it would be skipped."),
    Skip.CONDITIONS_CHANGED: _l("The conditions do not hold any more, so it would be skipped."),
}
DIRECTIONS = {
    Direction.INCOMING: _l("incoming"),
    Direction.OUTGOING: _l("outgoing"),
    Direction.TEMPLATE: _l("a template"),
    Direction.ACTIVITY: _l("an activity"),
}
EPISODES = {
    Kind.STATUS: _l("its status stays as it is"),
    Kind.AWAITING_AGENT: _l("the customer waits for an answer"),
    Kind.REPLY_CHASE: _l("the customer has not replied"),
    Kind.INACTIVITY: _l("nobody does anything in it"),
}
KNOWN = {
    Status.PENDING: _l("It waits for this already."),
    Status.PROCESSING: _l("A worker has taken it for this already."),
    Status.EXECUTING: _l("It runs for this at this moment, or was left half way."),
    Status.EXECUTED: _l("It ran for this already, and runs once for each episode."),
    Status.SKIPPED: _l("It was skipped for this already."),
}


@dataclass(frozen=True)
class TrialView:
    """The panel in which a rule is tried: `latest` to choose from, what was chosen, and what came of it.

    `stored` says that the rule is tried as it is stored, not as it is typed.
    """

    latest: Sequence[Conversation]
    picked: str = ""
    typed: str = ""
    fault: str = ""
    rule: AutomationRule | None = None
    found: DryRun | None = None
    stored: bool = False

    @property
    def choices(self) -> list[tuple[str, str]]:
        return [(str(one.id), _choice(one)) for one in self.latest]

    @property
    def name(self) -> str:
        return self.found.conversation.external_id if self.found else ""

    @property
    def mark(self) -> Mark:
        assert self.found is not None
        if not self.found.matches:
            return Mark("cross", "idle", _("Would not act"))
        if self.found.hindrance is not None:
            return Mark("pause", "warn", _("Would not be armed"))
        return Mark("disc", "good", _("Would act") if self.found.passes is None else _("Would be armed"))

    @property
    def lead(self) -> str:
        """What would become of it, in one or two sentences."""
        found, rule = self.found, self.rule
        assert found is not None and rule is not None
        if found.hindrance is not None:
            return str(HINDRANCES[found.hindrance])
        if not found.matches:
            return _("Not all that is asked holds, so nothing would be done.")
        if rule.execution_delay is None:
            happens = rule_words.EVENTS.get(rule.event, rule.event)  # type: ignore[call-overload]
            return _("It would act at once, each time that %(happens)s so.", happens=happens)
        if found.passes is not None:
            return str(PASSES.get(found.passes, words.skip(found.passes)))
        assert found.due_at is not None
        if found.opens is not None:
            return _("It would wait for its hours, and act if its reason still stands.")
        if found.due_at <= g.now:
            return _("Its time has come already: it would act with the next run.")
        return _("It would wait until its time, and act if its reason still stands.")

    @property
    def conditions(self) -> list[tuple[str, str, Mark, str]]:
        """Each condition: the sentence, what was found, whether it holds, and what joins it to the next."""
        assert self.found is not None
        found = []
        for one in self.found.explained:
            holds = (
                Mark("disc", "good", _("Holds")) if one.holds else Mark("cross", "warn", _("Does not hold"))
            )
            joiner = _("or") if one.condition.joiner == "or" else ""
            found.append((_capital(one.sentence), _found(one.found), holds, joiner))
        return found

    @property
    def looked_at(self) -> str:
        """Which message the conditions were held against; empty where they look at none."""
        message = self.found.message if self.found else None
        if message is None:
            return ""
        kind = DIRECTIONS.get(message.direction, message.direction)  # type: ignore[call-overload]
        at = words.day_and_time(message.created_at, g.now, g.zone)
        said = " ".join(message.text.split())
        shown = said if len(said) <= 80 else f"{said[:79]}…"
        return _("Looked at the message of %(at)s, %(kind)s: “%(said)s”", at=at, kind=kind, said=shown)

    @property
    def episode(self) -> str:
        """What the reason is that has to stand until its time."""
        assert self.found is not None and self.found.episode is not None
        return str(EPISODES[episodes.kind_of(self.found.episode.key)])

    @property
    def there(self) -> str:
        """The zone of the inbox, where that is not the page's own."""
        zone = self.found.zone.key if self.found else ""
        return "" if zone == g.zone else zone

    @property
    def known(self) -> tuple[str, str] | None:
        """What there is already for this, and its page."""
        execution = self.found.known if self.found else None
        if execution is None or self.rule is None:
            return None
        said = str(KNOWN[Status(execution.status)])
        if self.rule.execution_delay is None:
            said = _("It acted here before.")
        elif execution.skip_reason:
            said = f"{said[:-1]}: {words.skip(execution.skip_reason)}."
        url = url_for("executions.show", tenant=g.tenant.key, execution_id=execution.id)
        return said, url

    @property
    def steps(self) -> list[tuple[str, str, str, bool]]:
        """What it would do, in order: a sentence, where, what would go wrong, whether a customer reads it."""
        assert self.rule is not None and self.found is not None
        source = self.found.conversation.source
        told = zip(rule_words.action_lines(self.rule), self.rule.actions, strict=False)
        return [
            (said, _where(one["name"], source), _trouble(one, source), one["name"] in actions.CUSTOMER_FACING)
            for said, one in told
        ]


def blank() -> TrialView:
    """Nothing tried yet."""
    return TrialView(queries.latest_conversations(db.session(), g.tenant))


def try_on(rule: AutomationRule, form: Mapping[str, str], *, stored: bool) -> TrialView:
    """Try `rule`, which no session keeps, on the conversation that `form` names."""
    session = db.session()
    latest = queries.latest_conversations(session, g.tenant)
    picked, typed = form.get("pick", ""), form.get("conversation", "").strip()
    chosen = _chosen(picked, typed)
    if chosen is None:
        fault = (
            _("There is no conversation %(id)s.", id=typed[:80])
            if typed
            else _("Choose a conversation, or give its id.")
        )
        return TrialView(latest, picked, typed, fault, stored=stored)
    at_hand, _fault = declared.at_hand()
    found = dry_run.dry_run(session, g.tenant, rule, chosen, declared=at_hand, now=g.now)
    return TrialView(latest, picked, typed, "", rule, found, stored)


def _chosen(picked: str, typed: str) -> Conversation | None:
    """What is typed goes before what is chosen."""
    session = db.session()
    if typed:
        return conversations.find(session, g.tenant.id, typed) if text.is_storable(typed) else None
    if picked.isascii() and picked.isdigit() and len(picked) < 20 and int(picked) <= LARGEST_ID:
        return queries.conversation(session, g.tenant, int(picked))
    return None


def _choice(one: Conversation) -> str:
    customer = one.customer or _("no customer")
    when = words.distance(one.updated_at, g.now)
    return _(
        "%(id)s, %(customer)s, %(status)s, %(when)s",
        id=one.external_id,
        customer=customer,
        status=one.status,
        when=when,
    )


def _found(value: Any) -> str:
    """What a condition found, as one line."""
    if value is None or value == "" or value == []:
        return _("nothing")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, tuple):
        return _("it changed")
    told = ", ".join(map(str, value)) if isinstance(value, list) else " ".join(str(value).split())
    return told if len(told) <= 120 else f"{told[:119]}…"


def _where(name: str, source: str) -> str:
    if actions.is_native(name, source):
        return _("on our own data, exactly once")
    if _is_mail(name, source):
        return _("by mail, tried once")
    if name == ActionName.SEND_WEBHOOK_EVENT:
        return _("to another system, tried once")
    return _("in %(source)s, tried once", source=source.capitalize())


def _trouble(one: Mapping[str, Any], source: str) -> str:
    """What would keep an action from being done, as far as that is known before."""
    if not _is_mail(one["name"], source):
        away = source != NATIVE and one["name"] != ActionName.SEND_WEBHOOK_EVENT
        return _no_connector(source) if away else ""
    if settings_of(current_app).smtp_url is None:
        return _("It would fail: no mail server is configured.")
    if one["name"] == ActionName.SEND_EMAIL_TO_TEAM:
        known = teams.addresses(declared.at_hand()[0])
        missing = [str(id) for id in one["params"][0]["team_ids"] if str(id) not in known]
        if missing:
            return _("desk.toml names no mail address of the team %(ids)s.", ids=", ".join(missing))
    return ""


def _is_mail(name: str, source: str) -> bool:
    """Whether we mail it: the transcript of a conversation of elsewhere is mailed there."""
    ours = name == ActionName.SEND_EMAIL_TRANSCRIPT and source == NATIVE
    return ours or name == ActionName.SEND_EMAIL_TO_TEAM


def _no_connector(source: str) -> str:
    try:
        connectors.get(db.session(), g.tenant.id)
    except NotFound:
        return _("It would fail: no %(source)s is connected.", source=source.capitalize())
    return ""


def _capital(said: str) -> str:
    return said[:1].upper() + said[1:]
