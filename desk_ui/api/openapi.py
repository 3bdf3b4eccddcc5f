"""The OpenAPI 3.1 document and the page for people, both made from the calls as they are declared."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal

from flask import Response, render_template
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from desk_ui.api import problems
from desk_ui.api.fields import Nothing
from desk_ui.api.operations import BASE, OPERATIONS, Operation, blueprint
from desk_ui.api.problems import Problem
from models import idempotency
from models.tokens import Scope

REF = "#/components/schemas/{model}"
Mode = Literal["validation", "serialization"]
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
_ABOUT = {
    Scope.READ: "all GETs",
    Scope.INGEST: "what comes in: bookings, messages, outcomes, task reports",
    Scope.OPERATE: "everything else, erasing included",
}
_DESCRIPTION = """\
Companies let software talk to their customers later. Recovery Desk keeps those promises, once, with consent,
or says why not. Send the token as `Authorization: Bearer <token>`; it belongs to one tenant.

Times are ISO 8601 with an offset in, UTC with `Z` and six digits of microseconds out. Unknown fields and
filters are refused. Lists give `next_cursor`, null on the last page. A POST takes `Idempotency-Key`: sent
again with the same body within 24 hours, it answers as it did the first time and does nothing again."""


@blueprint.get("/openapi.json", endpoint="openapi")
def openapi() -> Response:
    return Response(_as_json(), mimetype="application/json")


@blueprint.get("/docs", endpoint="docs")
def docs() -> str:
    groups: dict[str, list[dict[str, Any]]] = {}
    for declared in _ordered():
        groups.setdefault(_area(declared), []).append(_for_people(declared))
    return render_template("api/docs.html", groups=groups, kinds=problems.KINDS, scopes=_ABOUT, base=BASE)


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document."""
    definitions, schemas = _schemas()
    paths: dict[str, dict[str, Any]] = {}
    for declared in _ordered():
        item = paths.setdefault(_path(declared), {})
        item[declared.method.lower()] = _described(declared, definitions)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Recovery Desk", "version": "1", "description": _DESCRIPTION},
        "servers": [{"url": BASE}],
        "security": [{"token": []}],
        "tags": [{"name": area} for area in sorted({_area(one) for one in OPERATIONS.values()})],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas,
        },
    }


@cache
def _as_json() -> str:
    return json.dumps(document(), ensure_ascii=False)


def _ordered() -> list[Operation]:
    return sorted(OPERATIONS.values(), key=lambda one: (one.path, one.method))


def _schemas() -> tuple[dict[tuple[type[BaseModel], Mode], dict[str, Any]], dict[str, Any]]:
    """The reference of each model, or of a query its schema; and all schemas by name."""
    wanted: dict[tuple[type[BaseModel], Mode], None] = {(Problem, "serialization"): None}
    for declared in OPERATIONS.values():
        wanted[declared.body, "validation"] = None
        wanted[declared.query, "validation"] = None
        for answer in declared.answers.values():
            if answer is not None:
                wanted[answer, "serialization"] = None
    references, combined = models_json_schema(list(wanted), ref_template=REF)
    schemas: dict[str, Any] = combined["$defs"]
    # A query's fields stand as parameters, not as a schema; what they refer to is called as it is among all.
    for query in {declared.query for declared in OPERATIONS.values()}:
        name = references[query, "validation"]["$ref"].removeprefix(REF.format(model=""))
        references[query, "validation"] = schemas.pop(name)
    return references, schemas  # type: ignore[return-value]


def _described(declared: Operation, references: dict[tuple[type[BaseModel], Mode], Any]) -> dict[str, Any]:
    summary, _, more = (declared.view.__doc__ or "").strip().partition("\n\n")
    described: dict[str, Any] = {
        "operationId": declared.name,
        "tags": [_area(declared)],
        "summary": _one_line(summary),
        "description": "\n\n".join(filter(None, (_one_line(more), _scope_note(declared)))),
        "parameters": list(_parameters(declared, references[declared.query, "validation"])),
        "responses": {
            **{str(status): _answer(model, references) for status, model in declared.answers.items()},
            **{str(status): _fault(status) for status in _faults(declared)},
            "414": {"description": "The address is longer than the server reads, which answers this itself."},
        },
    }
    if declared.takes_lines:
        lines = {"schema": {"type": "string", "description": "One JSON object a line."}}
        kinds = ("application/x-ndjson", "text/plain")
        described["requestBody"] = {"required": False, "content": dict.fromkeys(kinds, lines)}
    elif declared.body is not Nothing:
        schema = references[declared.body, "validation"]
        described["requestBody"] = {
            "required": any(field.is_required() for field in declared.body.model_fields.values()),
            "content": {"application/json": {"schema": schema}},
        }
    return described


def _parameters(declared: Operation, query: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in _PARAMETER.findall(declared.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    for name, described in query.get("properties", {}).items():
        about = described.get("description")
        parameter: dict[str, Any] = {
            "name": name,
            "in": "query",
            "required": False,
            "schema": _bare(described),
        }
        yield {**parameter, "description": about} if about else parameter
    if declared.keeps_answers:
        yield {
            "name": idempotency.FIELD,
            "in": "header",
            "required": False,
            "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]*[!-~][ -~]*$"},
            "description": "Sent again with the same body, the call answers the same and does nothing again.",
        }


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    """A query's parameter can be left out, but it can't be null."""
    kept = {key: value for key, value in schema.items() if key not in ("title", "default", "description")}
    choices = [one for one in kept.pop("anyOf", []) if one != {"type": "null"}]
    return {**kept, **choices[0]} if choices else kept


def _answer(model: type[BaseModel] | None, references: dict[Any, Any]) -> dict[str, Any]:
    if model is None:
        return {"description": "Done."}
    reference = references[model, "serialization"]
    return {
        "description": (model.__doc__ or "Done.").strip(),
        "content": {"application/json": {"schema": reference}},
    }


def _faults(declared: Operation) -> list[int]:
    found = {400, 401, 403, 422, 429, 503}
    if "<" in declared.path:
        found.add(404)
    if declared.writes:
        found |= {409, 413}
    return sorted(found)


def _fault(status: int) -> dict[str, Any]:
    codes = [code for code, kind in problems.KINDS.items() if kind.status == status]
    response: dict[str, Any] = {
        "description": " or ".join(f"`{code}`" for code in codes),
        "content": {problems.MEDIA_TYPE: {"schema": {"$ref": REF.format(model="Problem")}}},
    }
    if status in (429, 503):
        response["headers"] = {"Retry-After": {"schema": {"type": "string"}, "description": "Seconds."}}
    return response


def _scope_note(declared: Operation) -> str:
    scopes = " or ".join(f"`{scope}`" for scope in sorted(declared.scopes))
    extra = " and a token of the tenant `platform`" if declared.only_platform else ""
    return f"Needs the scope {scopes}{extra}."


def _for_people(declared: Operation) -> dict[str, Any]:
    described = document()["paths"][_path(declared)][declared.method.lower()]
    fields = [
        {"name": field.alias or name, "required": field.is_required()}
        for name, field in declared.body.model_fields.items()
    ]
    return {
        "name": declared.name,
        "method": declared.method,
        "path": _path(declared),
        "summary": described["summary"],
        "description": described["description"],
        "fields": fields,
        "filters": [one["name"] for one in described["parameters"] if one["in"] == "query"],
        "answers": [f"{status}" for status in sorted(declared.answers)],
        "conflicts": declared.conflicts,
    }


def _path(declared: Operation) -> str:
    return _PARAMETER.sub(r"{\1}", declared.path)


def _area(declared: Operation) -> str:
    return declared.name.partition(".")[0]


def _one_line(text: str) -> str:
    return " ".join(text.split())
