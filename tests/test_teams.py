"""`[teams.<id>]` of desk.toml: where the mails of rules to a team go, and what is wrong there."""

import tomllib

import pytest

from desk_ui import declared as all_of_it
from models import declarations, teams
from models.declarations import Declared
from models.mail_addresses import is_sendable, listed


def declared(toml: str) -> Declared:
    return Declared(1, tomllib.loads(toml))


def test_teams_have_their_addresses_once_each_when_they_are_declared():
    here = declared(
        '[teams.7]\nmail = ["a@acme.test", "b@acme.test", "a@acme.test"]\n'
        '[teams."night shift"]\nmail = ["n@acme.test"]\n'
    )
    assert teams.faults(here) == []
    assert declarations.faults(here) == []
    assert teams.addresses(here) == {"7": ("a@acme.test", "b@acme.test"), "night shift": ("n@acme.test",)}


def test_there_are_no_teams_when_none_is_declared():
    assert teams.addresses(Declared()) == {}
    assert teams.faults(Declared()) == []


@pytest.mark.parametrize(
    ("table", "path", "words"),
    [
        ("[teams.7]", "teams.7.mail", "list of 1 to 50 addresses"),
        ("[teams.7]\nmail = []", "teams.7.mail", "list of 1 to 50 addresses"),
        ('[teams.7]\nmail = "a@acme.test"', "teams.7.mail", "list of 1 to 50 addresses"),
        ('[teams.7]\nmail = ["a@acme.test", "b"]', "teams.7.mail[1]", "not a mail address"),
        ('[teams.7]\nmail = ["A <a@acme.test>"]', "teams.7.mail[0]", "not a mail address"),
        ('[teams.7]\nmail = ["a@acme.test\\nBcc: b@acme.test"]', "teams.7.mail[0]", "not a mail address"),
        ("[teams.7]\nmail = [7]", "teams.7.mail[0]", "not a mail address"),
        ('[teams.7]\nmail = ["a@acme.test"]\nmails = 1', "teams.7.mails", "not a known field"),
        ("[teams]\n7 = 1", "teams.7", "must be a table"),
        (f"[teams.7]\nmail = {['a@acme.test'] * 51}", "teams.7.mail", "list of 1 to 50 addresses"),
    ],
)
def test_fault_names_its_path_and_leaves_the_other_teams_when_a_table_is_wrong(table, path, words):
    """The faulty team has no address, so that no mail goes to half of it."""
    toml = f'{table}\n[teams.8]\nmail = ["ok@acme.test"]' if "[teams.7]" in table else table
    here = declared(toml)
    [fault] = teams.faults(here)
    assert fault.path == path
    assert words in fault.fault
    assert "7" not in teams.addresses(here)
    assert ("8" in teams.addresses(here)) == ("[teams.8]" in toml)
    assert fault in all_of_it.faults(here)


@pytest.mark.parametrize("address", ["a@b", "lead@acme.test", "a+b.c_d@sub.acme.test"])
def test_address_is_sendable_when_it_is_a_plain_one(address):
    assert is_sendable(address)


@pytest.mark.parametrize(
    "address",
    ["", "a", "@b", "a@", "a@b@c", "a b@c", "a@b\n", "a@b\r", "a,b@c", "<a@b>", "ä@b", "a\x7f@b", None, 7],
)
def test_address_is_not_sendable_when_it_is_anything_else(address):
    assert not is_sendable(address)


def test_listed_keeps_the_order_and_each_once_when_lists_overlap():
    assert listed([" a@b , c@d,", "A@b"], "email") == ["a@b", "c@d"]
