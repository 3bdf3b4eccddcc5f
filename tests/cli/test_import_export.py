"""`desk import followups` and `desk export followups`."""

import csv
import io
import json

from sqlalchemy import select

from models.automations.records import AutomationRule
from models.followups.records import FollowUp

ID = "00000000-0000-4000-8000-00000000000{}"
RECORD = {"agent": "billing", "at": "2026-01-01T00:00:00Z", "arm": "a"}


def lines(*records):
    return "".join(json.dumps({**RECORD, **record}) + "\n" for record in records)


def two_records():
    return lines(
        {"id": ID.format(1), "customer": "c-1", "reason": "invoice is open"},
        {"id": ID.format(2), "customer": "=cmd()", "reason": "-1+1", "agent": "@billing"},
    )


def test_import_takes_records_when_the_file_is_json_lines(desk, tmp_path):
    desk.ok("tenant", "add", "acme")
    file = tmp_path / "records.jsonl"
    file.write_text(two_records())
    assert desk.ok("import", "followups", str(file), "--tenant", "acme").out == (
        "2 imported, 0 known already, 0 refused.\n"
    )
    again = desk.ok("import", "followups", str(file), "--tenant", "acme", "--json")
    assert again.json == {"imported": 0, "skipped": 2, "refused": []}


def test_import_takes_records_when_the_file_is_csv(desk, tmp_path, session):
    desk.ok("tenant", "add", "acme")
    file = tmp_path / "records.CSV"
    file.write_text(
        f"id,agent,customer,at,reason,arm\n{ID.format(1)},billing,c-1,2026-01-01T00:00:00Z,a reason,a\n"
    )
    assert desk.ok("import", "followups", str(file), "--tenant", "acme", "--json").json["imported"] == 1
    assert session.scalars(select(FollowUp.reason)).all() == ["a reason"]


def test_import_names_each_line_and_ends_with_1_when_some_are_refused(desk):
    desk.ok("tenant", "add", "acme")
    given = two_records() + "nonsense\n" + lines({"id": ID.format(3), "customer": "c-1", "reason": ""})
    ran = desk("import", "followups", "-", "--tenant", "acme", "--json", input=given)
    assert ran.code == 1
    assert ran.json["imported"] == 2
    assert [refusal["line"] for refusal in ran.json["refused"]] == [3, 4]
    text = desk("import", "followups", "-", "--tenant", "acme", input="nonsense\n")
    assert text.out == "line 1: line is not JSON.\n0 imported, 0 known already, 1 refused.\n"


def test_import_is_refused_when_the_tenant_or_the_file_is_unknown(desk, tmp_path):
    assert desk("import", "followups", "-", "--tenant", "nobody", input=two_records()).code == 1
    assert desk("import", "followups", str(tmp_path / "absent"), "--tenant", "platform").code == 2


def test_export_defuses_formulas_when_it_writes_csv(desk):
    desk.ok("import", "followups", "-", "--tenant", "platform", input=two_records())
    rows = {
        row["id"]: row
        for row in csv.DictReader(io.StringIO(desk.ok("export", "followups", "--tenant", "platform").out))
    }
    assert rows[ID.format(2)]["customer"] == "'=cmd()"
    assert rows[ID.format(2)]["reason"] == "'-1+1"
    assert rows[ID.format(2)]["agent"] == "'@billing"
    assert rows[ID.format(1)]["at"] == "2026-01-01T00:00:00.000000Z"


def test_export_gives_values_as_they_are_when_it_writes_json_lines(desk):
    desk.ok("import", "followups", "-", "--tenant", "platform", input=two_records())
    ran = desk.ok(
        "export", "followups", "--tenant", "platform", "--format", "jsonl", "--filter", "customer==cmd()"
    )
    [row] = [json.loads(line) for line in ran.out.splitlines()]
    assert (row["customer"], row["reason"], row["status"]) == ("=cmd()", "-1+1", "pending")
    assert (
        desk.ok("export", "followups", "--tenant", "platform", "--json", "--filter", "customer==cmd()").out
        == ran.out
    )


def test_export_shows_only_its_tenant_when_others_have_rows(desk):
    desk.ok("tenant", "add", "acme")
    desk.ok("import", "followups", "-", "--tenant", "acme", input=two_records())
    assert desk.ok("export", "followups", "--tenant", "platform", "--json").out == ""


def test_export_is_refused_when_a_filter_is_unknown_or_malformed(desk):
    assert desk("export", "followups", "--tenant", "platform", "--filter", "nonsense=1").code == 2
    assert desk("export", "followups", "--tenant", "platform", "--filter", "status=nonsense").code == 2
    assert desk("export", "followups", "--tenant", "platform", "--filter", "status").code == 2
    assert desk("export", "followups", "--tenant", "platform", "--format", "xml").code == 2


CHATWOOT = {
    "name": "Chase",
    "event_name": "conversation_updated",
    "execution_delay": 60,
    "active": True,
    "conditions": [
        {"attribute_key": "status", "filter_operator": "equal_to", "values": ["open"], "query_operator": None}
    ],
    "actions": [{"action_name": "add_label", "action_params": ["late"]}],
}


def test_import_takes_chatwoots_rules_and_says_what_became_of_each(desk, tmp_path, session):
    desk.ok("tenant", "add", "acme")
    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"payload": [CHATWOOT]}))
    assert desk.ok("import", "chatwoot-rules", str(file), "--tenant", "acme").out == (
        "rule 1, Chase: imported\n1 imported, 0 known already, 0 refused.\n"
    )
    assert desk.ok("import", "chatwoot-rules", str(file), "--tenant", "acme").out == (
        "rule 1, Chase: known already\n0 imported, 1 known already, 0 refused.\n"
    )
    [rule] = session.scalars(select(AutomationRule))
    assert (rule.name, rule.execution_delay, rule.active) == ("Chase", 60, True)


def test_import_names_each_rule_and_ends_with_1_when_some_are_refused(desk):
    desk.ok("tenant", "add", "acme")
    bad = {**CHATWOOT, "name": "Bad", "execution_delay": 5}
    given = json.dumps([CHATWOOT, bad])
    ran = desk("import", "chatwoot-rules", "-", "--tenant", "acme", "--json", input=given)
    assert ran.code == 1
    assert (ran.json["imported"], ran.json["skipped"]) == (1, 0)
    [refused] = ran.json["refused"]
    assert (refused["rule"], refused["name"]) == (2, "Bad")
    assert refused["detail"].startswith("execution_delay must be a whole number of minutes, 10 to 43200")
    assert [one["outcome"] for one in ran.json["rules"]] == ["taken", "refused"]
    text = desk("import", "chatwoot-rules", "-", "--tenant", "acme", input=json.dumps([bad]))
    assert text.out.startswith("rule 1, Bad: refused: execution_delay must be")


def test_import_of_rules_is_refused_when_the_file_or_the_tenant_cannot_be_used(desk):
    ran = desk("import", "chatwoot-rules", "-", "--tenant", "platform", "--json", input="nonsense")
    assert (ran.code, ran.error["code"]) == (1, "invalid")
    assert desk("import", "chatwoot-rules", "-", "--tenant", "nobody", input="[]").code == 1
    assert desk("import", "chatwoot-rules", "/no/such", "--tenant", "platform").code == 2
    assert desk.ok("import", "chatwoot-rules", "-", "--tenant", "platform", input="[]").out == (
        "0 imported, 0 known already, 0 refused.\n"
    )
