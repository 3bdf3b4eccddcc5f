"""Settings of the machine, read once from the environment; a bad one stops the start with its name."""

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from models.clock import parse_duration
from models.errors import Invalid
from models.mail_addresses import EXAMPLE, is_sendable


class BadSetting(SystemExit):
    """An environment variable that can't be used; the process does not start."""

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(f"{name} {fault}")


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field is one environment variable; docs/configuration.md lists them with their defaults."""

    var: Path
    database_url: str
    redis_url: str | None
    secret_key: str
    config_file: Path
    metrics_token: str | None
    webhook_allowed_hosts: frozenset[str]
    trusted_proxies: int
    public_url: str | None
    session_hours: int
    api_rate: int
    statement_timeout: timedelta
    log_format: str
    log_level: str
    smtp_url: str | None
    attention_mail: str | None
    mail_from: str
    attention_after: timedelta
    secure_cookies: bool
    dev: bool = False


def from_env(env: Mapping[str, str]) -> Settings:
    """Read all settings. Raises `BadSetting` with the variable's name."""
    var = Path(env.get("DESK_VAR") or "var").absolute()
    public_url = _url(env, "DESK_PUBLIC_URL", {"http", "https"})
    attention_mail = env.get("DESK_ATTENTION_MAIL") or None
    return Settings(
        var=var,
        database_url=_database_url(env.get("DATABASE_URL") or f"sqlite:///{var / 'desk.db'}"),
        redis_url=_url(env, "REDIS_URL", {"redis", "rediss", "unix"}),
        secret_key=_secret_key(env, var),
        config_file=Path(env.get("DESK_CONFIG") or "desk.toml").absolute(),
        metrics_token=env.get("DESK_METRICS_TOKEN") or None,
        webhook_allowed_hosts=_hosts(env.get("DESK_WEBHOOK_HOSTS", "")),
        trusted_proxies=_integer(env, "DESK_TRUSTED_PROXIES", 0, least=0, most=10),
        public_url=public_url.rstrip("/") if public_url else None,
        session_hours=_integer(env, "DESK_SESSION_HOURS", 12, least=1, most=24 * 90),
        api_rate=_integer(env, "DESK_API_RATE", 6_000, least=1, most=1_000_000),
        statement_timeout=_duration(env, "DESK_STATEMENT_TIMEOUT", "2s"),
        log_format=_choice(env, "DESK_LOG_FORMAT", ("text", "json")),
        log_level=_choice(env, "DESK_LOG_LEVEL", ("INFO", "DEBUG", "WARNING", "ERROR")),
        smtp_url=_url(env, "SMTP_URL", {"smtp", "smtps", "smtp+starttls"}),
        attention_mail=attention_mail,
        mail_from=_mail_from(env, attention_mail, public_url),
        attention_after=_duration(env, "DESK_ATTENTION_AFTER", "15m"),
        secure_cookies=bool(public_url and public_url.startswith("https://")),
        dev=_choice(env, "DESK_DEV", ("0", "1")) == "1",
    )


@cache
def settings() -> Settings:
    """The settings of this process."""
    return from_env(os.environ)


def _database_url(url: str) -> str:
    scheme, _, rest = url.partition("://")
    if scheme in {"postgres", "postgresql", "postgresql+psycopg"}:
        _check_url("DATABASE_URL", url, {scheme})
        return f"postgresql+psycopg://{rest}"
    if scheme != "sqlite":
        raise BadSetting("DATABASE_URL", f"must begin with postgresql:// or sqlite:///, not {scheme}://")
    if not rest.startswith("/"):
        raise BadSetting("DATABASE_URL", "must have three slashes after sqlite:, or four before a whole path")
    # Relative to the folder it is run in, like DESK_VAR, and the same for every process.
    return f"sqlite:///{Path(rest[1:]).absolute()}"


def _url(env: Mapping[str, str], name: str, schemes: set[str]) -> str | None:
    """An address with one of `schemes`, or None where the variable is not set."""
    url = env.get(name, "").strip()
    if not url:
        return None
    _check_url(name, url, schemes)
    return url


def _check_url(name: str, url: str, schemes: set[str]) -> None:
    try:
        parts = urlsplit(url)
        named = bool(parts.port or parts.hostname or parts.query or parts.path)
    except ValueError:
        raise BadSetting(name, f"is not an address: {url.rpartition('@')[2]}") from None
    if parts.scheme not in schemes or not named:
        raise BadSetting(name, f"must begin with {' or '.join(sorted(f'{s}://' for s in schemes))}")


def _hosts(text: str) -> frozenset[str]:
    return frozenset(name.strip().casefold() for name in text.split(",") if name.strip())


def _mail_from(env: Mapping[str, str], attention_mail: str | None, public_url: str | None) -> str:
    """Who the mails of rules are from. What may hold several addresses is taken if it is a single one."""
    given = env.get("DESK_MAIL_FROM", "").strip()
    if given:
        if not is_sendable(given):
            raise BadSetting("DESK_MAIL_FROM", f"must be a mail address such as {EXAMPLE}")
        return given
    if is_sendable(attention_mail):
        return str(attention_mail)
    host = urlsplit(public_url or "").hostname or "localhost"
    made = f"recovery-desk@{host}"
    return made if is_sendable(made) else "recovery-desk@localhost"


def _secret_key(env: Mapping[str, str], var: Path) -> str:
    given = env.get("SECRET_KEY")
    if given:
        if len(given) < 16:
            raise BadSetting("SECRET_KEY", "must have at least 16 characters")
        return given
    return kept_secret(var / "secret_key")


def kept_secret(path: Path) -> str:
    """A random secret, made once and kept in the file `path` (mode 600)."""
    _make_folder(path.parent)
    with (
        suppress(FileExistsError),
        open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file,
    ):
        file.write(secrets.token_urlsafe(48))
    kept = path.read_text().strip()
    if not kept:
        raise BadSetting(str(path), "is empty; delete it to have a new one made")
    return kept


def _make_folder(folder: Path) -> None:
    """A folder that only its owner enters: the database and its secrets lie there."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise BadSetting("DESK_VAR", f"is no folder that can be made: {error.strerror}: {folder}") from None


def _integer(env: Mapping[str, str], name: str, default: int, *, least: int, most: int) -> int:
    text = env.get(name) or str(default)
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise BadSetting(name, f"must be a whole number from {least} to {most}, not {text}")
    return int(text)


def _duration(env: Mapping[str, str], name: str, default: str) -> timedelta:
    try:
        return parse_duration(env.get(name) or default, name)
    except Invalid as fault:
        raise BadSetting(name, fault.detail.removeprefix(f"{name} ")) from None


def _choice(env: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    value = env.get(name) or choices[0]
    if value not in choices:
        raise BadSetting(name, f"must be one of {', '.join(choices)}, not {value}")
    return value
