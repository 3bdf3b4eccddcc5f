"""What the tests of the rules pages share: rules, their executions, and the form with all that it holds."""

from datetime import timedelta

from sqlalchemy import select

from models import clock
from models.automations.records import AutomationRule, Execution
from tests.console.filled import inputs
from tests.console.visiting import Form
from tests.support.rules import create_conversation, create_executions, create_rule, say

RULES = "/acme/rules"
MESSAGE = {"name": "send_message", "params": ["Are you still there?"]}


def made(desk, tenant, **given):
    return desk.tell(lambda session: create_rule(session, tenant, now=clock.now(), **given))


def arm(desk, rule, **numbers):
    desk.tell(lambda session: create_executions(session, rule, now=clock.now(), **numbers))


def stored(desk, rule):
    return desk.tell(lambda session: session.get(AutomationRule, rule.id))


def left(desk):
    return desk.tell(lambda session: sorted(session.scalars(select(Execution.status))))


def editing(visitor, rule):
    """The form of a rule, with all that stands in it."""
    url = f"{RULES}/{rule.id}/editing"
    return Form("post", url, inputs(visitor.open(url).html, "/editing").fields)


def adding(visitor, **typed):
    url = f"{RULES}/adding"
    return Form("post", url, {**inputs(visitor.open(url).html, "/adding").fields, **typed})


def redrawn(visitor, form, do, **changes):
    """The form after one of its buttons was pressed."""
    page = visitor.press(Form("post", f"{RULES}/draft", form.fields), do=do, **changes)
    assert page.status == 200, page.text
    found = inputs(page.check().html, form.action)
    return Form("post", form.action, found.fields), found.focus


def talk(desk, tenant, called="talk-1", *, ago=timedelta(minutes=30), **given):
    now = clock.now()
    desk.tell(lambda session: create_conversation(session, tenant, called, now=now - ago, **given))
    desk.tell(lambda session: say(session, tenant, called, at=now - ago, text="Where is my parcel?"))
