"""What only a real server shows: bodies without a length, and answers to calls that are still sending."""

import httpx
import pytest

from tests.support.web import served

pytestmark = pytest.mark.slow
MIB = 1_048_576


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    with served(tmp_path_factory.mktemp("web")) as found:
        yield found


def post(web, path, token, content):
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.post(f"{web.address}/api/v1{path}", headers=headers, content=content)


def chunks(size):
    """A body whose length is not announced."""
    for _ in range(size // 65_536):
        yield b" " * 65_536
    yield b" " * (size % 65_536)


def test_body_over_one_mib_answers_413_whether_its_length_is_announced_or_not(web):
    for content in (b" " * (MIB + 1), chunks(MIB + 1), b" " * (4 * MIB), chunks(4 * MIB)):
        response = post(web, "/followups", web.token, content)
        assert (response.status_code, response.json()["type"]) == (413, "/problems/too-large")


def test_body_without_a_length_is_read(web):
    def lines():
        yield b"not json\n"
        yield b"nor this\n"

    answer = post(web, "/followups/import", web.token, lines())
    assert [line["line"] for line in answer.json()["refused"]] == [1, 2]


def test_call_without_a_token_gets_its_401_while_it_is_still_sending(web):
    for content in (b" " * MIB, chunks(MIB)):
        assert post(web, "/followups", "wrong", content).status_code == 401


def test_unknown_address_gets_its_404_while_the_call_is_still_sending(web):
    assert post(web, "/nothing", web.token, b" " * MIB).status_code == 404


def test_customer_with_slashes_is_found_over_the_wire(web):
    booking = {"agent": "a", "customer": "a/b?c#d", "at": "+6h", "reason": "r"}
    web.call("POST", "/followups", json=booking)
    assert web.call("GET", "/contacts/a%2Fb%3Fc%23d")["customer"] == "a/b?c#d"
    assert web.call("GET", "/contacts/a/b%3Fc%23d")["customer"] == "a/b?c#d"
