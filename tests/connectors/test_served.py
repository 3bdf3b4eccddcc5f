"""The whole way between processes: a Chatwoot tells, a rule waits and runs, and its message is there once."""

import json
from datetime import timedelta

import pytest

from models import clock
from models.clock import iso
from tests.support.chatwoot import ACCOUNT, SECRET, TOKEN, chatwoot
from tests.support.web import served

pytestmark = pytest.mark.slow

HERE = {"DESK_WEBHOOK_HOSTS": "127.0.0.1"}
RULE = {
    "name": "nobody answers",
    "event": "message_created",
    "execution_delay": 10,
    "conditions": [
        {"attribute": "message_type", "operator": "equal_to", "values": ["incoming"], "joiner": None}
    ],
    "actions": [{"name": "send_message", "params": ["Somebody will be with you soon."]}],
}
SET = ("connector", "set", "chatwoot", "--tenant", "platform", "--account", ACCOUNT, "--token", TOKEN)


def test_customer_gets_the_rules_message_once_when_webhooks_come_twice_and_in_any_order(tmp_path):
    with chatwoot() as fake, served(tmp_path) as web:

        def sweep(name, at):
            ran = web.processes.run("sweep", name, "--at", iso(at), "--json", **HERE)
            assert ran.returncode == 0, ran.stderr
            return json.loads(ran.stdout.splitlines()[-1])

        hook = f"{web.address}/hooks/chatwoot/platform"
        assert web.processes.run(*SET, "--url", fake.url, "--secret", SECRET, **HERE).returncode == 0
        web.call("POST", "/rules", json=RULE)
        now = clock.now()
        for id in range(1, 6):
            fake.create(id, now.timestamp())
            fake.say(id, now.timestamp() + 1, "incoming", "anybody?")
        answers = fake.tell("deliver", url=hook, shuffle=True, double=1, seed=3)
        assert answers == [202] * 20
        applied = sweep("process_inbound", now + timedelta(minutes=1))
        assert (applied["applied"], applied["errors"]) == (10, 0)
        assert web.call("GET", "/conversations/1")["source"] == "chatwoot"
        # Somebody answers the first, and no webhook tells of it.
        fake.say(1, now.timestamp() + 60, "outgoing", "I am here")
        fake.tell("take_events")
        assert sweep("reconcile_chatwoot", now + timedelta(minutes=9))["read"] == 5
        for minutes in (11, 12):
            sweep("run_executions", now + timedelta(minutes=minutes))
        assert sorted(fake.sent().values()) == [1, 1, 1, 1]
        assert [len(fake.conversation(id)["messages"]) for id in range(1, 6)] == [2, 2, 2, 2, 2]
