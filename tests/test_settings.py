"""A variable that can't be used stops the start, and is named."""

from pathlib import Path

import pytest

from models.settings import BadSetting, from_env

KEY = {"SECRET_KEY": "a-secret-key-for-the-tests-only"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://localhost/x"),
        ("DATABASE_URL", "sqlite://foo/bar"),
        ("DATABASE_URL", "postgresql://localhost:notaport/x"),
        ("REDIS_URL", "foo"),
        ("SMTP_URL", "foo"),
        ("DESK_PUBLIC_URL", "desk.example"),
        ("SECRET_KEY", "short"),
        ("DESK_SESSION_HOURS", "0"),
        ("DESK_STATEMENT_TIMEOUT", "fast"),
        ("DESK_LOG_FORMAT", "xml"),
        ("DESK_MAIL_FROM", "nobody"),
        ("DESK_MAIL_FROM", "Desk <desk@acme.test>"),
        ("DESK_MAIL_FROM", "desk@acme.test\nBcc: other@acme.test"),
    ],
)
def test_start_is_refused_when_a_variable_can_not_be_used(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(BadSetting) as refusal:
        from_env({**KEY, "DESK_VAR": str(tmp_path), name: value})
    assert str(refusal.value).startswith(f"{name} ")


def test_relative_paths_are_those_of_the_folder_it_is_run_in(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = from_env({**KEY, "DATABASE_URL": "sqlite:///some/desk.db", "DESK_VAR": "", "DESK_CONFIG": ""})
    assert here.database_url == f"sqlite:///{tmp_path}/some/desk.db"
    assert (here.var, here.config_file) == (tmp_path / "var", tmp_path / "desk.toml")


def test_allowed_hosts_are_read_without_case_and_spaces(tmp_path: Path) -> None:
    here = from_env({**KEY, "DESK_VAR": str(tmp_path), "DESK_WEBHOOK_HOSTS": " Hooks.Internal, ,127.0.0.1"})
    assert here.webhook_allowed_hosts == {"hooks.internal", "127.0.0.1"}


def test_the_folder_of_secrets_is_private_when_it_is_made(tmp_path: Path) -> None:
    from_env({"DESK_VAR": str(tmp_path / "var")})
    assert (tmp_path / "var").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("given", "sender"),
    [
        ({}, "recovery-desk@localhost"),
        ({"DESK_PUBLIC_URL": "https://desk.acme.test:8443/x"}, "recovery-desk@desk.acme.test"),
        ({"DESK_PUBLIC_URL": "http://[::1]:5000"}, "recovery-desk@localhost"),
        ({"DESK_PUBLIC_URL": "https://a.test", "DESK_ATTENTION_MAIL": "lead@acme.test"}, "lead@acme.test"),
        ({"DESK_ATTENTION_MAIL": "a@acme.test, b@acme.test"}, "recovery-desk@localhost"),
        ({"DESK_MAIL_FROM": " desk@acme.test ", "DESK_ATTENTION_MAIL": "lead@acme.test"}, "desk@acme.test"),
    ],
)
def test_mails_are_from_the_address_that_is_nearest_at_hand(tmp_path: Path, given, sender: str) -> None:
    assert from_env({**KEY, "DESK_VAR": str(tmp_path), **given}).mail_from == sender
