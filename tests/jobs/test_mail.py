from datetime import timedelta

import pytest

from jobs import mail
from models.base import db
from models.sweep_states import State
from tests.conftest import settings_for
from tests.support import smtp


@pytest.fixture
def state(now):
    return State(
        name="deliver",
        every=timedelta(seconds=10),
        last_run=None,
        last_ok_at=now,
        next_due_at=now,
        running=False,
        paused=None,
        late_since=now + timedelta(seconds=30),
        episode="1",
    )


def settings(folder, **env):
    return settings_for("sqlite:///unused.db", folder, **env)


def test_mail_names_the_late_sweep_when_an_address_is_configured(session, tmp_path, state):
    with smtp.sink() as sink:
        here = settings(
            tmp_path, SMTP_URL=f"smtp://127.0.0.1:{sink.port}", DESK_ATTENTION_MAIL="lead@acme.test"
        )
        assert mail.send_late(here, session, state)
    [message] = sink.messages
    assert "To: lead@acme.test" in message
    assert "Subject: Recovery Desk: the sweep deliver is late" in message
    assert "2031-08-14T12:00:00.000000Z" in message


def test_mail_is_not_sent_when_none_is_configured(session, tmp_path, state):
    assert not mail.send_late(settings(tmp_path), session, state)


@pytest.mark.parametrize("url", ["smtp://127.0.0.1:1", "smtps://127.0.0.1:1"])
def test_mail_that_cannot_be_sent_is_logged_and_no_more(session, tmp_path, state, url):
    here = settings(tmp_path, SMTP_URL=url, DESK_ATTENTION_MAIL="lead@acme.test")
    assert not mail.send_late(here, session, state)


def test_mail_is_refused_when_a_transaction_is_open(session, tmp_path, state):
    session.connection()
    here = settings(tmp_path, SMTP_URL="smtp://127.0.0.1:1", DESK_ATTENTION_MAIL="lead@acme.test")
    with pytest.raises(RuntimeError, match="transaction is open"):
        mail.send_late(here, session, state)
    db.session.rollback()
