"""The client for addresses that customers give: where it refuses to go, and when it gives up."""

import socket
import time
from ipaddress import ip_address

import httpcore
import pytest

from jobs.delivery import http_client
from jobs.delivery.http_client import Refused, SendFailed, check, post
from models.addresses import is_public
from models.errors import Invalid
from tests.support import certificates
from tests.support.sink import drip, drip_headers, garbage, hang, hang_up, huge, sink, status

LOCAL = frozenset({"127.0.0.1"})


def send(url, **given):
    return post(
        url, headers={"content-type": "text/plain"}, body=b"hello", **{"allowed_hosts": LOCAL, **given}
    )


def test_post_returns_the_answer_when_the_host_is_allowed(receiver):
    receiver.script(status(201, X_Note="fine"), path="/a?b=c")
    answer = send(receiver.url("/a?b=c"))
    assert (answer.status, answer.headers["x-note"], answer.body, answer.truncated) == (
        201,
        "fine",
        b"ok",
        False,
    )
    [request] = receiver.received
    assert (request.path, request.body) == ("/a?b=c", b"hello")
    assert request.headers["host"] == f"127.0.0.1:{receiver.port}"


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "017700000001",
        "[::1]",
        "0.0.0.0",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
    ],
)
def test_post_connects_to_nothing_when_the_host_is_this_machine(receiver, host):
    with pytest.raises(SendFailed) as failure:
        send(f"http://{host}:{receiver.port}/hook", allowed_hosts=frozenset())
    assert isinstance(failure.value, Refused), failure.value
    assert not failure.value.begun
    assert receiver.received == []


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1",
        "172.16.3.4",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "240.0.0.1",
        "198.18.0.1",
        "192.0.2.1",
        "fe80::1",
        "fc00::1",
        "fd12::1",
        "::1",
        "::",
        "ff02::1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a00:1::1",
        "2001:db8::1",
        "::7f00:1",
    ],
)
def test_address_is_not_public_when_it_leads_inside(address):
    assert not is_public(ip_address(address))


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_address_is_public_when_anyone_may_reach_it(address):
    assert is_public(ip_address(address))


def test_post_refuses_when_one_of_a_names_addresses_is_private(receiver):
    with pytest.raises(Refused, match=r"leads to 10\.0\.0\.1"):
        send(f"http://hooks.example:{receiver.port}/", resolver=lambda *_: ["93.184.216.34", "10.0.0.1"])
    assert receiver.received == []


def test_post_asks_once_and_goes_where_it_checked_when_a_name_changes_its_mind(receiver, monkeypatch):
    """DNS rebinding: public when it is judged, this machine when it is asked again."""
    asked, connected = [], []

    def rebinding(host, port):
        asked.append(host)
        return ["93.184.216.34"] if len(asked) == 1 else ["127.0.0.1"]

    def connect(_backend, host, port, **_given):
        connected.append(host)
        raise httpcore.ConnectError("no network in a test")

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    with pytest.raises(SendFailed, match="no network in a test"):
        send(f"http://rebind.example:{receiver.port}/", resolver=rebinding)
    assert asked == ["rebind.example"]
    assert connected == ["93.184.216.34"]
    assert receiver.received == []


def test_post_connects_to_the_judged_address_under_the_name_when_the_name_is_allowed(receiver):
    answer = send(
        f"http://hooks.example:{receiver.port}/x",
        allowed_hosts=frozenset({"hooks.example"}),
        resolver=lambda *_: ["127.0.0.1"],
    )
    assert answer.status == 200
    assert receiver.received[0].headers["host"] == f"hooks.example:{receiver.port}"


def test_post_tries_the_next_address_when_one_does_not_answer(receiver):
    answer = send(
        f"http://hooks.example:{receiver.port}/x",
        allowed_hosts=frozenset({"hooks.example"}),
        resolver=lambda *_: ["::1", "127.0.0.1"],
    )
    assert answer.status == 200


def test_post_follows_no_redirect_when_it_leads_inside(receiver):
    receiver.script(status(302, Location="http://169.254.169.254/latest/meta-data/"))
    assert send(receiver.url()).status == 302
    assert len(receiver.received) == 1


def test_post_reads_64_kib_when_the_answer_is_larger(receiver):
    receiver.script(huge(50_000_000))
    answer = send(receiver.url())
    assert (answer.status, len(answer.body), answer.truncated) == (200, 65_536, True)


@pytest.mark.parametrize("behaviour", [hang, drip, drip_headers])
def test_post_gives_up_in_all_when_an_answer_takes_too_long(receiver, behaviour):
    """A byte now and then does not buy more time: the sink drips every 50 ms, for as long as it is let."""
    receiver.script(behaviour)
    with pytest.raises(SendFailed, match=r"no whole answer within 0\.4 s") as failure:
        send(receiver.url(), seconds=0.4)
    assert (failure.value.unreachable, failure.value.begun) == (True, True)


@pytest.mark.parametrize("behaviour", [hang_up, garbage])
def test_post_fails_when_the_answer_is_none(receiver, behaviour):
    receiver.script(behaviour)
    with pytest.raises(SendFailed) as failure:
        send(receiver.url())
    assert (failure.value.unreachable, failure.value.begun) == (False, True)


def test_post_fails_when_nobody_listens(receiver):
    port = receiver.port
    with sink() as other:
        gone = other.port
    assert gone != port
    with pytest.raises(SendFailed, match="No connection") as failure:
        send(f"http://127.0.0.1:{gone}/")
    assert not failure.value.begun


def test_post_fails_when_a_name_is_unknown_or_takes_too_long():
    with pytest.raises(SendFailed, match="can't be resolved"):
        send("http://no-such-name.invalid/")
    with pytest.raises(SendFailed, match="can't be resolved"):
        send(f"http://{'a' * 70}.example/")
    with pytest.raises(SendFailed, match="not resolved in time"):
        send("http://slow.example/", resolver=lambda *_: time.sleep(5) or [], seconds=0.2)


def test_post_uses_no_proxy_when_the_environment_names_one(receiver, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    assert send(receiver.url()).status == 200


@pytest.fixture
def authority(tmp_path):
    """Contexts of the server `hooks.example` and of who trusts it, and the names that it was asked for."""
    server, trusting = certificates.contexts(tmp_path, "hooks.example")
    names = []
    server.sni_callback = lambda _socket, name, _context: names.append(name)
    return server, trusting, names


def test_post_checks_the_certificate_against_the_name_when_it_connects_to_an_address(authority):
    server, trusting, names = authority
    with sink(server) as secure:
        given = {"resolver": lambda *_: ["127.0.0.1"], "context": trusting}
        allowed = frozenset({"hooks.example", "other.example"})
        assert send(secure.url(host="hooks.example"), allowed_hosts=allowed, **given).status == 200
        assert names == ["hooks.example"]
        with pytest.raises(SendFailed, match="certificate") as failure:
            send(secure.url(host="other.example"), allowed_hosts=allowed, **given)
        assert not failure.value.begun
        with pytest.raises(SendFailed, match="certificate"):
            send(secure.url(host="hooks.example"), allowed_hosts=allowed, resolver=given["resolver"])
        assert len(secure.received) == 1


def test_post_gives_up_when_a_handshake_takes_too_long():
    with (
        socket.create_server(("127.0.0.1", 0)) as mute,
        pytest.raises(SendFailed, match="no whole answer") as failure,
    ):
        send(f"https://127.0.0.1:{mute.getsockname()[1]}/", seconds=0.4)
    assert not failure.value.begun


def test_check_names_the_field_when_a_name_leads_inside(monkeypatch):
    with pytest.raises(Invalid, match="url localhost leads to"):
        check("https://localhost/hook", allowed_hosts=frozenset())
    check("https://localhost/hook", allowed_hosts=frozenset({"localhost"}))
    monkeypatch.setattr(http_client, "resolve", lambda *_: [])
    check("https://no-such-name.invalid/", allowed_hosts=frozenset())
