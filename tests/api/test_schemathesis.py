"""The OpenAPI document against a real server: input that fits it and input that does not."""

import json
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import click
import pytest

from desk_ui.api.operations import OPERATIONS
from tests.support.web import Web, served

pytestmark = pytest.mark.slow
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_headers_conformance", "response_schema_conformance", "negative_data_rejection",
    "missing_required_header", "unsupported_method", "ignored_auth",
)  # fmt: skip
EXAMPLES = 15
# What a call that does not fit may be answered with; 414 is the server's own.
REFUSED = ["400", "401", "403", "404", "405", "409", "413", "414", "422", "429"]


def ids_of_rows(web: Web) -> dict[str, str]:
    """A row of each kind, so that calls about one get past the 404."""
    booking = {"agent": "store-support", "customer": "c-1", "at": "+6h", "reason": "r"}
    due = {**booking, "id": str(uuid4()), "arm": "a", "at": "2026-01-01T00:00:00Z"}
    followup = web.call("POST", "/followups", json=booking)["id"]
    web.call("POST", "/followups/import", content=json.dumps(due))
    assert web.processes.run("sweep", "fire_followups", "--json").returncode == 0
    [task] = web.call("GET", "/tasks")["items"]
    endpoint = web.call("POST", "/endpoints", json={"url": "https://sink.example.com/"})["id"]
    chase = {"name": "Chase", "event": "message_created", "actions": [{"name": "mute_conversation"}]}
    rule = web.call("POST", "/rules", json=chase)["id"]
    message = {"id": "m", "conversation_id": "k", "direction": "incoming", "created_at": due["at"]}
    web.call("POST", "/messages", json=message)
    [execution] = web.call("GET", "/executions")["items"]
    return {
        "followups": followup,
        "tasks": task["id"],
        "endpoints": endpoint,
        "rules": rule,
        "executions": execution["id"],
    }


def configuration(ids: dict[str, str]) -> str:
    """schemathesis.toml: the ids, and the statuses that refuse."""
    lines = [f"checks.negative_data_rejection.expected-statuses = {json.dumps(REFUSED)}"]
    for operation in OPERATIONS.values():
        area = operation.name.partition(".")[0]
        # Removed at once, an endpoint would be of no use to the calls that follow.
        if "<id>" in operation.path and operation.method != "DELETE":
            lines += [
                "[[operations]]",
                f'include-operation-id = "{operation.name}"',
                f'parameters = {{ "path.id" = "{ids[area]}" }}',
            ]
    return "\n".join(lines)


def test_every_call_answers_as_its_document_says(tmp_path, capsys):
    report = tmp_path / "report.json"
    with served(tmp_path) as web:
        (tmp_path / "schemathesis.toml").write_text(configuration(ids_of_rows(web)))
        run = subprocess.run(
            [
                str(Path(sys.executable).with_name("schemathesis")),
                *("run", f"{web.address}/api/v1/openapi.json"),
                *("--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing"),
                *("--header", f"Authorization: Bearer {web.token}", "--max-examples", str(EXAMPLES)),
                *("--seed", "17", "--workers", "2", "--no-shrink", "--continue-on-failure"),
                *("--report", "json", "--report-json-path", str(report)),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    found = json.loads(report.read_text())
    codes = {failure["type"]: failure["count"] for failure in found["failures"]}
    with capsys.disabled():
        click.echo(f"\nchecks: {', '.join(CHECKS)}")
        click.echo(f"calls: {found['operations']['tested']} of {found['operations']['total']}")
        click.echo(f"requests made: {found['test_cases']['generated']} in {found['running_time']:.0f} s")
        click.echo(f"500s: {codes.get('ServerError', 0)}; outside the document: {sum(codes.values())}")
    assert found["operations"]["tested"] == len(OPERATIONS)
    assert found["test_cases"]["generated"] > 1_000
    assert (codes, found["errors"], run.returncode) == ({}, [], 0), run.stdout[-8_000:]
