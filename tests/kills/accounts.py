"""Fault points of accounts and settings: for each an act that passes it, and what one whole act changes."""

from collections.abc import Callable, Mapping
from typing import Any

from passlib.totp import TOTP

from models import operators, second_factor, tokens
from models.operators import Operator
from models.second_factor import SecondFactor
from tests.kills.scenario import Scenario, asked_at, person_and, platforms_admin, plus, somebody
from tests.kills.setting import PASSWORD, Setting
from tests.support.create import API

EMAIL = "lead@acme.test"
SETTINGS = "/acme/settings"


def _factor(setting: Setting, person: Operator) -> list[str]:
    """Turn the second factor of somebody on; the recovery codes."""
    key = setting.settings.secret_key
    setup = second_factor.new_setup(person, secret_key=key)
    code = TOTP(key=setup.key.replace(" ", ""), format="base32").generate(time=int(setting.now.timestamp()))
    codes = second_factor.turn_on(
        setting.session, person, setup.sealed, code.token, secret_key=key, actor=API, now=setting.now
    )
    setting.commit()
    return codes


def _two_codes(setting: Setting) -> Mapping[str, str]:
    """Somebody with a password and a second factor, and two codes that are good once."""
    first, second, *_more = _factor(setting, setting.person(password=True))
    return {"link": first, "again": second}


def _with_factor(setting: Setting) -> Mapping[str, str]:
    _factor(setting, setting.person())
    return {}


def _colleague(setting: Setting) -> str:
    made, _new = operators.add(
        setting.session, "other@acme.test", tenant=setting.tenant, role="viewer", actor=API, now=setting.now
    )
    setting.commit()
    return str(made.id)


def _colleague_with_factor(setting: Setting) -> str:
    id = _colleague(setting)
    setting.session.add(
        SecondFactor(operator_id=int(id), secret="v1:", turned_on_at=setting.now, last_counter=0)
    )
    setting.commit()
    return id


def _token(setting: Setting) -> str:
    made, _secret = tokens.add(
        setting.session, setting.tenant, name="shop", scopes=["read"], actor=API, now=setting.now
    )
    setting.commit()
    return str(made.id)


def _once(
    act: list[Any], effect: Mapping[str, int], prepare: Callable[[Setting], Mapping[str, str]]
) -> Scenario:
    return Scenario(act, effect, prepare, repeats=False)


def _on_colleague(
    act: str, effect: Mapping[str, int], make: Callable[[Setting], str] = _colleague, **typed: str
) -> Scenario:
    """What an admin is asked about a colleague, answered."""
    return _once(asked_at(f"{SETTINGS}/operators/{{id}}/{act}", **typed), effect, person_and(make, "admin"))


def _by_code(*more: str) -> list[str]:
    return ["page", "by_code", EMAIL, PASSWORD, *more]


SCENARIOS: dict[str, Scenario] = {
    "console.sign_in.second_step": _once(_by_code("{link}"), plus(signed_in=1), _two_codes),
    "console.second_step.refused": _once(_by_code("000000"), plus(refused=1), _two_codes),
    "console.factor.on": _once(
        ["page", "turn_factor_on", "{link}"], plus(second_factor=1, recovery_code=10, audit=1), somebody()
    ),
    "console.factor.off": _once(
        _by_code("{link}", "/profile/second-factor/removal"),
        plus(second_factor=-1, recovery_code=-10, audit=1),
        _two_codes,
    ),
    "console.factor.codes": _once(
        _by_code("{link}", "/profile/second-factor/recovery-codes"), plus(audit=1), _two_codes
    ),
    "console.timezone": _once(["page", "set_timezone", "{link}", "Asia/Tokyo"], plus(audit=1), somebody()),
    "console.refresh": _once(["page", "set_refresh", "{link}", "30"], plus(audit=1), somebody()),
    "console.sign_out_everywhere": _once(
        ["page", "press", "{link}", "/profile", "/profile/sessions-end"], plus(audit=1), somebody()
    ),
    "console.settings.switch": _once(
        asked_at(f"{SETTINGS}/features/followups/switching"), plus(audit=1), platforms_admin
    ),
    "console.settings.add_tenant": _once(
        asked_at(f"{SETTINGS}/tenants/adding", key="globex", timezone="UTC"),
        plus(tenant=1, membership=1, audit=2),
        platforms_admin,
    ),
    "console.settings.add_operator": _once(
        asked_at(f"{SETTINGS}/operators/adding", email="new@acme.test", role="viewer"),
        plus(operator=1, membership=1, sign_in_link=1, audit=2),
        somebody(role="admin"),
    ),
    "console.settings.change_role": _on_colleague("role", plus(audit=1), role="marketer"),
    "console.settings.take_role_away": _on_colleague("removal", plus(membership=-1, audit=1)),
    "console.settings.make_link": _on_colleague("link", plus(sign_in_link=1, audit=1)),
    "console.settings.reset_factor": _on_colleague(
        "factor-reset", plus(second_factor=-1, audit=1), _colleague_with_factor
    ),
    "console.settings.switch_account": _on_colleague("switching", plus(audit=1)),
    "console.settings.add_token": _once(
        asked_at(f"{SETTINGS}/tokens/adding", name="t", scopes="read"),
        plus(api_token=1, audit=1),
        somebody(role="admin"),
    ),
    "console.settings.revoke_token": _once(
        asked_at(f"{SETTINGS}/tokens/{{id}}/revocation"), plus(audit=1), person_and(_token, "admin")
    ),
    "cli.operator.reset_factor": Scenario(
        ["desk", "operator", "reset-factor", EMAIL],
        plus(second_factor=-1, recovery_code=-10, audit=1),
        _with_factor,
    ),
}
