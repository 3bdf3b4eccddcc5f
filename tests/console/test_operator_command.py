import json
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from desk_ui.cli import main
from models import settings as settings_module
from tests.console.visiting import Visitor


@pytest.fixture
def run(app, database, config, monkeypatch):
    """`run("operator", ...)`: exit code, standard output, standard error."""
    for name, value in {
        "DATABASE_URL": database.url,
        "DESK_VAR": str(config.parent),
        "DESK_CONFIG": str(config),
    }.items():
        monkeypatch.setenv(name, value)
    settings_module.settings.cache_clear()

    def call(*args):
        result = CliRunner().invoke(main, args, catch_exceptions=False)
        return result.exit_code, result.stdout, result.stderr

    yield call
    settings_module.settings.cache_clear()


def test_operator_is_added_and_signs_in_by_the_link_when_printed(app, acme, run):
    code, out, _log = run("operator", "add", "Lead@acme.test", "--role", "lead", "--tenant", "acme")
    assert (code, out) == (0, "lead@acme.test is lead of acme.\n")
    code, out, _err = run("operator", "link", "lead@acme.test", "--json")
    link = urlsplit(json.loads(out)["url"]).path
    assert code == 0
    visitor = Visitor(app)
    assert visitor.press(visitor.open(link).form(link)).status == 303
    assert visitor.open("/acme/followups").status == 200


def test_add_changes_nothing_when_repeated(acme, run):
    for changed in (True, False):
        _code, out, _err = run(
            "operator", "add", "lead@acme.test", "--role", "lead", "--tenant", "acme", "--json"
        )
        assert json.loads(out) == {
            "email": "lead@acme.test",
            "tenant": "acme",
            "role": "lead",
            "changed": changed,
        }


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("add", "lead@acme.test", "--role", "boss", "--tenant", "acme"), 2, "boss"),
        (("add", "lead@acme.test", "--role", "lead", "--tenant", "nowhere"), 1, "There is no such tenant."),
        (("add", "no address", "--role", "lead", "--tenant", "acme"), 1, "is not a mail address"),
        (("link", "nobody@acme.test"), 1, "There is no such operator."),
    ],
)
def test_command_names_the_fault_when_it_can_not_be_done(acme, run, args, code, words):
    result = run("operator", *args)
    assert result[0] == code
    assert words in result[2]
