"""The fault points of the command line: for each an act that passes it, and what one whole act changes."""

from tests.kills.scenario import Scenario, chatwoots_rules, plus, somebody, with_id, with_token
from tests.kills.setting import Setting

SCENARIOS: dict[str, Scenario] = {
    "cli.tenant.add": Scenario(["desk", "tenant", "add", "globex"], plus(tenant=1, audit=1)),
    "cli.tenant.feature": Scenario(["desk", "tenant", "feature", "acme", "followups", "off"], plus(audit=1)),
    "cli.token.add": Scenario(
        ["desk", "token", "add", "--tenant", "acme", "--name", "t", "--scope", "read"],
        plus(api_token=1, audit=1),
    ),
    "cli.token.revoke": Scenario(
        ["desk", "token", "revoke", "--tenant", "acme", "--name", "kills"], plus(audit=1), with_token
    ),
    "cli.operator.add": Scenario(
        ["desk", "operator", "add", "lead@acme.test", "--role", "lead", "--tenant", "acme"],
        plus(operator=1, membership=1, audit=1),
    ),
    "cli.operator.revoke_role": Scenario(
        ["desk", "operator", "revoke-role", "lead@acme.test", "--tenant", "acme"],
        plus(membership=-1, audit=1),
        somebody(),
    ),
    "cli.operator.link": Scenario(
        ["desk", "operator", "link", "lead@acme.test"],
        plus(sign_in_link=1, audit=1),
        somebody(),
        repeats=False,
    ),
    "cli.up.link": Scenario(
        ["up_link"], plus(operator=1, membership=2, sign_in_link=1, audit=3), repeats=False
    ),
    "automations.import": Scenario(
        ["desk", "import", "chatwoot-rules", "{file}", "--tenant", "acme"],
        plus(automation_rule=2, audit=2),
        chatwoots_rules,
    ),
    "cli.erase": Scenario(
        ["desk", "erase", "--tenant", "acme", "--customer", "c-1", "--yes"],
        plus(follow_up__pending=-1, contact__granted=-1, audit=1),
        with_id(Setting.booked),
    ),
    "cli.demo": Scenario(["desk", "demo", "--tenant", "shop"], {"tenant": 1}),
}
