import pytest

from desk_ui.api import openapi
from desk_ui.api.operations import OPERATIONS
from desk_ui.api.problems import KINDS
from tests.support.api import Client, on_sqlite

CODES = {
    "unauthorized", "forbidden", "not-found", "invalid", "conflict", "already-pending", "opted-out",
    "stale-turn", "locked", "too-large", "rate-limited",
}  # fmt: skip


@on_sqlite
def test_document_is_served_to_anybody_and_describes_every_call(app):
    response = Client(app, None).get("/openapi.json")
    assert response.status_code == 200
    document = response.get_json()
    assert document["openapi"] == "3.1.0"
    described = {
        operation["operationId"] for item in document["paths"].values() for operation in item.values()
    }
    assert described == set(OPERATIONS)


def test_document_is_valid_openapi_and_its_references_lead_somewhere():
    import jsonschema_rs

    document = openapi.document()
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        jsonschema_rs.meta.validate({**schema, "$schema": "https://json-schema.org/draft/2020-12/schema"})
        assert name
    for reference in _references(document):
        assert reference.removeprefix("#/components/schemas/") in schemas
    for path, item in document["paths"].items():
        for operation in item.values():
            named = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
            assert all(f"{{{name}}}" in path for name in named)
            assert operation["summary"]


def _references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for one in value.values():
            yield from _references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _references(one)


@on_sqlite
def test_page_for_people_names_every_call_and_runs_no_script(app):
    response = Client(app, None).get("/docs")
    assert response.status_code == 200
    assert response.content_type.startswith("text/html")
    for operation in OPERATIONS.values():
        assert f'id="{operation.name}"' in response.text
    assert "<script" not in response.text and "style=" not in response.text
    assert "//" not in response.text.split("<body>")[1].replace("https://sink", "")


@on_sqlite
@pytest.mark.parametrize("code", sorted(KINDS))
def test_each_problem_has_a_page(app, code):
    response = app.test_client().get(f"/problems/{code}")
    assert response.status_code == 200
    assert KINDS[code].title in response.text


@on_sqlite
def test_unknown_problem_answers_404(app):
    assert app.test_client().get("/problems/no-such").status_code == 404


def test_codes_hold_the_fixed_ones():
    assert set(KINDS) >= CODES
