"""Rules of three actions and what receives them: our own data, a webhook's receiver, and a mail server."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import select

from jobs.sweeps.automations import run_executions
from models import declarations
from models.automations import refusals
from models.automations.records import Execution
from models.messages import Message
from models.sweeping import Counts
from models.transactions import rollback
from tests.automations.world import World, at
from tests.support import sink, smtp
from tests.support.sink import Sink

KINDS = {
    "native": ("native", "native", "native"),
    "webhook": ("webhook", "webhook", "webhook"),
    "mixed": ("native", "webhook", "native"),
    "mail": ("mail", "transcript", "mail"),
}
DECLARED = '[teams.7]\nmail = ["night@acme.test"]\n'
LATER = (16, 20)


@dataclass
class Receivers:
    """What came of the actions, counted where it arrived, and the desk as its processes see it."""

    world: World
    app: Flask
    hook: Sink
    mail: smtp.Sink
    folder: Path

    def actions(self, kind: str) -> list[dict[str, Any]]:
        """Three actions; each says its position to whoever receives it."""
        made = []
        for position, how in enumerate(KINDS[kind]):
            if how == "native":
                made.append({"name": "send_message", "params": [f"action {position}"]})
            elif how == "webhook":
                made.append({"name": "send_webhook_event", "params": [self.hook.url(f"/{position}")]})
            elif how == "mail":
                params = {"team_ids": [7], "message": f"action {position}"}
                made.append({"name": "send_email_to_team", "params": [params]})
            else:
                address = f"action-{position}@acme.test"
                made.append({"name": "send_email_transcript", "params": [address]})
        return made

    def armed(self, kind: str, **given: Any) -> Execution:
        """A rule of `kind`, and its one execution, due at T0."""
        self.world.rule(actions=self.actions(kind), **given)
        self.world.put(at(-60), status="open", status_changed_at=at(-60), customer="c-1")
        return self.world.row()

    def got(self) -> list[int]:
        """How often each of the three actions arrived."""
        session = self.world.session
        texts = list(session.scalars(select(Message.text)))
        rollback(session)
        mails = [mail.replace("action-", "action ") for mail in self.mail.messages]
        return [
            texts.count(f"action {position}")
            + len(self.hook.at(f"/{position}"))
            + sum(f"action {position}" in mail for mail in mails)
            for position in range(3)
        ]

    @property
    def env(self) -> dict[str, str]:
        """What a process needs so that it reaches the receivers."""
        return {
            "DESK_WEBHOOK_HOSTS": "127.0.0.1",
            "SMTP_URL": self.mail.url,
            "DESK_MAIL_FROM": "desk@acme.test",
        }

    def sweep(self, minutes: float) -> Counts:
        """The sweep itself, with what really calls the outside, `minutes` after T0."""
        counts = run_executions(self.world.session, now=at(minutes), limit=1_000)
        rollback(self.world.session)
        self.world.session.expire_all()
        return counts

    def ledger(self) -> str:
        """The row and its actions, as one reads it: `executing: done, started, waiting`."""
        row = self.world.row()
        states = ", ".join(self.world.states(row))
        rollback(self.world.session)
        return f"{row.status}: {states}" if states else row.status

    def may(self, minutes: float) -> list[str]:
        """What a person may do with the row."""
        row, now = self.world.row(), at(minutes)
        runs = self.world.actions(row)
        rollback(self.world.session)
        asked = {
            "cancel": refusals.refusal_to_cancel(row, runs, now),
            "reclaim": refusals.refusal_to_reclaim(row, now),
            "settle": refusals.refusal_to_settle(row, now),
            "drop": refusals.refusal_to_drop(row, now),
            "re-arm the rest": refusals.refusal_to_rearm_rest(row, runs, now),
            "re-arm": refusals.refusal_to_rearm(row, runs),
        }
        return [name for name, refusal in asked.items() if refusal is None]


@contextmanager
def receivers(world: World, app: Flask, folder: Path) -> Iterator[Receivers]:
    """Receivers that run, and an application that knows of them."""
    config = folder / "desk.toml"
    config.write_text(DECLARED)
    declarations.refresh(world.session, config, at(-600))
    known = app.extensions["desk_settings"]
    with sink.sink() as hook, smtp.sink() as mail:
        app.extensions["desk_settings"] = dataclasses.replace(
            known,
            webhook_allowed_hosts=frozenset({"127.0.0.1"}),
            smtp_url=mail.url,
            mail_from="desk@acme.test",
            config_file=config,
        )
        try:
            yield Receivers(world, app, hook, mail, folder)
        finally:
            app.extensions["desk_settings"] = known
