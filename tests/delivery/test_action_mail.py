"""A rule's mails: what is sent to whom, and what the mail server's answers say of what became of it."""

from datetime import timedelta
from email import message_from_string, policy

import pytest

from jobs import smtp as client
from jobs.delivery import mail
from models.automations.outside import Came, Said
from models.automations.records import ActionState
from models.errors import DeskError
from tests.conftest import T, settings_for
from tests.delivery.errands import KEY, errand
from tests.support import certificates, smtp
from tests.support.smtp import CUT, DRIP, END, GREETING, HANG
from tests.support.waiting import eventually

DONE, FAILED, UNKNOWN = ActionState.DONE, ActionState.FAILED, ActionState.UNKNOWN
TEAMS = {"7": ("night@acme.test", "lead@acme.test"), "8": ("lead@acme.test",), "night shift": ()}
ID = f"<{KEY.replace(':', '.')}@acme.test>"


@pytest.fixture
def server():
    with smtp.sink() as running:
        yield running


@pytest.fixture
def here(tmp_path, server):
    return settings_for("sqlite:///unused.db", tmp_path, SMTP_URL=server.url, DESK_MAIL_FROM="desk@acme.test")


@pytest.fixture
def soon(monkeypatch):
    """What a test must wait for is given up after 0.4 s."""
    monkeypatch.setattr(mail, "SECONDS", 0.4)


def to_team(here, *teams, message="It has been quiet.", **given) -> Came:
    params = {"team_ids": list(teams), "message": message}
    return mail.prepared_for_teams(errand("send_email_to_team", params, teams=TEAMS, **given), here)()


def transcript(here, *lists, **given) -> Came:
    return mail.prepared_transcript(errand("send_email_transcript", *lists, **given), here)()


def only(server):
    """The one message that came, parsed."""
    [text] = server.messages
    return message_from_string(text.replace("\r\n", "\n"), policy=policy.default)


def recipients(server) -> list[str]:
    return [c.partition(":")[2].strip("<>") for c in server.commands if c.upper().startswith("RCPT")]


def test_team_is_mailed_once_each_when_teams_share_an_address(here, server):
    came = to_team(here, 7, "8")
    assert recipients(server) == ["night@acme.test", "lead@acme.test"]
    message = only(server)
    assert message["To"] == "night@acme.test, lead@acme.test"
    assert message["From"] == "desk@acme.test"
    assert message["Subject"] == "Quiet for two hours: conversation k-42"
    assert message["Message-ID"] == ID
    assert message["Auto-Submitted"] == "auto-generated"
    assert message.get_content().startswith("It has been quiet.\n\n--\nSent by the rule Quiet for two hours")
    assert came == Came.done(f"The mail server answered 250; the message is {ID}.")


def test_transcript_is_mailed_as_plain_text_oldest_first_when_addresses_are_listed(here, server):
    said = [
        Said(T, "c-1", "Onde está meu pedido?"),
        Said(T + timedelta(minutes=2), "Zoë", "On its way.\n.\nFrom Lisbon."),
    ]
    came = transcript(here, "a@acme.test, b@acme.test", "A@acme.test,", transcript=said)
    assert came.state is DONE
    assert recipients(server) == ["a@acme.test", "b@acme.test"]
    message = only(server)
    assert message.get_content_type() == "text/plain"
    assert message["Subject"] == "Transcript of conversation k-42"
    assert message.get_content() == (
        "2031-08-14T12:00:00.000000Z  c-1\nOnde está meu pedido?\n\n"
        "2031-08-14T12:02:00.000000Z  Zoë\nOn its way.\n.\nFrom Lisbon.\n"
    )
    assert all(line.isascii() for line in server.messages)


def test_transcript_says_so_when_there_are_no_messages(here, server):
    assert transcript(here, "a@acme.test").state is DONE
    assert only(server).get_content() == "There are no messages.\n"


def test_message_id_is_the_same_when_the_action_is_tried_again(here, server):
    to_team(here, 8)
    to_team(here, 8, again=True)
    assert [message_from_string(one)["Message-ID"] for one in server.messages] == [ID, ID]


def test_nothing_is_sent_when_no_mail_server_is_configured(tmp_path, server):
    bare = settings_for("sqlite:///unused.db", tmp_path)
    with pytest.raises(DeskError, match="no mail server configured"):
        to_team(bare, 7)
    with pytest.raises(DeskError, match="no mail server configured"):
        transcript(bare, "a@acme.test")


@pytest.mark.parametrize(
    ("team", "words"),
    [
        (9, r'team 9 has no mail address. Declare \[teams\.9\] with mail = \["…"\] in desk.toml'),
        ("night shift", r'Declare \[teams\."night shift"\]'),
    ],
)
def test_team_without_an_address_is_named_when_it_is_to_be_mailed(here, server, team, words):
    """No other team is written to either: a mail that is not whole is not sent."""
    with pytest.raises(DeskError, match=words):
        to_team(here, 7, team)
    assert server.commands == []


@pytest.mark.parametrize(
    "params",
    [
        (),
        ("x",),
        ({"team_ids": [7]},),
        ({"message": "x"},),
        ({"team_ids": "7", "message": "x"},),
        ({"team_ids": [], "message": "x"},),
    ],
)
def test_team_is_not_mailed_when_the_params_are_wrong(here, server, params):
    with pytest.raises(DeskError):
        mail.prepared_for_teams(errand("send_email_to_team", *params, teams=TEAMS), here)
    assert server.commands == []


@pytest.mark.parametrize(
    "address",
    [
        "",
        "nobody",
        "a@b@c",
        "Lead <lead@acme.test>",
        "a@acme.test\nBcc: thief@evil.test",
        "a@acme.test\r\nRCPT TO:<thief@evil.test>",
        "a@acme.test thief@evil.test",
        "a@acme.test;thief@evil.test",
        "zoë@acme.test",
        "a\x00@acme.test",
        f"{'a' * 250}@acme.test",
        7,
    ],
)
def test_transcript_is_refused_when_an_address_is_none(here, server, address):
    with pytest.raises(DeskError, match="email"):
        transcript(here, address)
    assert server.commands == []


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x0b", "\x1c", "\x85", "\u2028"])
def test_no_header_is_added_when_names_and_ids_hold_a_line_end(here, server, end):
    evil = f"Quiet{end}Bcc: thief@evil.test{end}{end}body"
    came = to_team(
        here, 8, rule=evil, tenant=evil, conversation={"id": evil}, message=f"a{end}Bcc: x@evil.test"
    )
    assert came.state is DONE
    message = only(server)
    assert sorted(message.keys()) == [
        "Auto-Submitted",
        "Content-Transfer-Encoding",
        "Content-Type",
        "From",
        "MIME-Version",
        "Message-ID",
        "Subject",
        "To",
    ]
    assert message["Subject"].strip().startswith("Quiet Bcc: thief@evil.test body")
    assert recipients(server) == ["lead@acme.test"]


def test_message_id_stays_one_header_when_the_key_is_odd(here, server):
    to_team(here, 8, idempotency_key="a>\r\nBcc: thief@evil.test")
    assert only(server)["Message-ID"] == "<a...Bcc..thief.evil.test@acme.test>"
    assert only(server)["Bcc"] is None


@pytest.mark.parametrize("at", [GREETING, "EHLO", "MAIL", "RCPT", "DATA", END])
@pytest.mark.parametrize("reply", ["421 4.3.2 closing", "451 4.7.1 later, lead@acme.test", "554 5.7.1 no"])
def test_mail_failed_when_the_server_refuses(here, server, at, reply):
    server.script(at, reply)
    if at == "EHLO":
        server.script("HELO", reply)
    came = to_team(here, 8)
    assert came.state is FAILED
    assert reply[:3] in came.error
    assert "lead@" not in came.error


def test_mail_failed_when_every_recipient_is_refused(here, server):
    server.script("RCPT", "550 5.1.1 <night@acme.test> unknown", "550 5.1.1 no")
    assert to_team(here, 7) == Came.failed("The mail server refused every recipient: 550 5.1.1.")
    assert server.messages == []


def test_mail_is_done_when_some_recipients_are_refused(here, server):
    """The receipt says how many, and names none."""
    server.script("RCPT", "550 5.1.1 <night@acme.test> unknown")
    came = to_team(here, 7)
    assert came == Came.done(
        f"The mail server answered 250; the message is {ID}. It refused 1 of 2 recipients."
    )
    assert len(server.messages) == 1


def test_mail_failed_when_the_server_closes_between_recipients(here, server):
    server.script("RCPT", "250 ok", "421 4.3.2 closing")
    assert to_team(here, 7).state is FAILED
    assert server.messages == []


def test_mail_failed_when_nobody_listens(tmp_path):
    with smtp.sink() as gone:
        url = gone.url
    here = settings_for("sqlite:///unused.db", tmp_path, SMTP_URL=url)
    came = to_team(here, 8)
    assert came.state is FAILED
    assert "There is no connection to the mail server" in came.error


@pytest.mark.parametrize("at", [GREETING, "EHLO", "MAIL", "RCPT"])
@pytest.mark.parametrize("how", [CUT, HANG, DRIP])
def test_mail_failed_when_the_connection_ends_before_the_message(here, server, soon, at, how):
    server.script(at, how)
    came = to_team(here, 8)
    assert came.state is FAILED
    assert server.messages == []
    if how != CUT:
        assert came.error == "The mail server gave no answer within 0.4 s."


@pytest.mark.parametrize("how", [CUT, HANG, DRIP])
def test_mail_is_unknown_when_the_connection_ends_after_the_message(here, server, soon, how):
    server.script(END, how)
    came = to_team(here, 8)
    assert came.state is UNKNOWN
    assert len(server.messages) == 1


@pytest.mark.parametrize("reply", ["xyz", "354 go on"])
def test_mail_is_unknown_when_the_answer_to_the_message_says_nothing(here, server, reply):
    server.script(END, reply)
    assert to_team(here, 8).state is UNKNOWN


@pytest.mark.parametrize("how", [CUT, HANG, "554 what"])
def test_mail_is_done_when_only_the_goodbye_goes_wrong(here, server, monkeypatch, how):
    monkeypatch.setattr(client, "GOODBYE_S", 0.1)
    server.script("QUIT", how)
    assert to_team(here, 8).state is DONE
    assert eventually(lambda: "QUIT" in [c.upper() for c in server.commands])


def test_mail_failed_when_the_server_offers_no_tls_that_is_asked_for(here, server, tmp_path):
    for scheme in ("smtp+starttls", "smtps"):
        url = f"{scheme}://127.0.0.1:{server.port}"
        strict = settings_for("sqlite:///unused.db", tmp_path, SMTP_URL=url)
        assert to_team(strict, 8).state is FAILED
    assert server.messages == []


def test_mail_failed_when_the_password_is_refused(tmp_path, server):
    server.script("EHLO", "250-sink\r\n250 AUTH PLAIN")
    server.script("AUTH", "535 5.7.8 no")
    url = f"smtp://desk:s3cret@127.0.0.1:{server.port}"
    came = to_team(settings_for("sqlite:///unused.db", tmp_path, SMTP_URL=url), 8)
    assert came == Came.failed("The mail server refused to go on: 535 5.7.8.")


@pytest.mark.parametrize(("scheme", "at_once"), [("smtps", True), ("smtp+starttls", False)])
def test_mail_goes_under_tls_when_the_url_says_so(tmp_path, monkeypatch, scheme, at_once):
    context, trusting = certificates.contexts(tmp_path, "localhost")
    with smtp.sink(context, at_once=at_once) as secure:
        if not at_once:
            secure.script("EHLO", "250-sink\r\n250 STARTTLS")
        url = f"{scheme}://localhost:{secure.port}"
        here = settings_for("sqlite:///unused.db", tmp_path, SMTP_URL=url)
        stranger = to_team(here, 8)
        assert stranger.state is FAILED
        assert "certificate" in stranger.error.lower()
        assert secure.messages == []
        secure.script("EHLO", "250-sink\r\n250 STARTTLS")
        monkeypatch.setattr(client, "trusted", lambda: trusting)
        assert to_team(here, 8).state is DONE
        assert (len(secure.messages), secure.secure) == (1, 1)
