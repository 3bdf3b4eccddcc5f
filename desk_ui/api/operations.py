"""One decorator for every call: it declares the call, guards it, and commits what it did.

The order is fixed: 401, 403, 413, the body's and query's 422, then what the row says (404, 409).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from flask import Blueprint, Response, current_app, g, request
from psycopg import errors as postgres_errors
from pydantic import BaseModel
from sqlalchemy.exc import DatabaseError, DBAPIError, IntegrityError, OperationalError
from sqlalchemy.orm import Session
from werkzeug.exceptions import RequestEntityTooLarge

from desk_ui.api import bodies, problems, refusals, rows
from desk_ui.api.authentication import Caller, authenticate
from desk_ui.api.fields import Given, Nothing
from desk_ui.requests import READING, settings_of
from models import declarations, idempotency
from models.actors import Actor
from models.base import db
from models.declarations import Declared
from models.errors import DeskError, Forbidden, Invalid
from models.settings import Settings
from models.tenants import Tenant
from models.tokens import Scope
from models.transactions import commit, is_refused_row, rollback, said

BASE = "/api/v1"
ATTEMPTS = 3

blueprint = Blueprint("api", __name__, url_prefix=BASE)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a view answers with: a status and its document."""

    status: int
    document: BaseModel | None = None


@dataclass(frozen=True)
class Operation:
    """One call as it is declared: what guards it, what it takes and what it may answer."""

    name: str
    method: str
    path: str
    scopes: frozenset[Scope]
    view: Callable[..., Reply]
    answers: Mapping[int, type[BaseModel] | None]
    body: type[Given]
    query: type[Given]
    point: str | None
    refused: refusals.Refused | None
    takes_lines: bool = False
    answers_secret: bool = False
    only_platform: bool = False
    conflicts: bool = False

    @property
    def writes(self) -> bool:
        return self.method not in READING

    @property
    def takes_body(self) -> bool:
        return self.takes_lines or self.body is not Nothing

    @property
    def keeps_answers(self) -> bool:
        """Whether the call takes an idempotency key."""
        return self.method == "POST" and not self.answers_secret


@dataclass
class Call:
    """One call at work: who calls, on which tenant, with what, and the session to do it in."""

    operation: Operation
    session: Session
    caller: Caller
    now: datetime
    body: Any = None
    query: Any = None
    raw: bytes = b""
    path: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tenant(self) -> Tenant:
        return self.caller.tenant

    @property
    def actor(self) -> Actor:
        return self.caller.actor

    @property
    def settings(self) -> Settings:
        return settings_of(current_app)

    @cached_property
    def declared(self) -> Declared:
        return declarations.current(self.session)


OPERATIONS: dict[str, Operation] = {}


def operation(
    name: str,
    method: str,
    path: str,
    *,
    scope: str | tuple[str, ...],
    answers: Mapping[int, type[BaseModel] | None],
    body: type[Given] = Nothing,
    query: type[Given] = Nothing,
    point: str | None = None,
    refused: refusals.Refused | None = None,
    takes_lines: bool = False,
    answers_secret: bool = False,
    only_platform: bool = False,
    conflicts: bool = False,
) -> Callable[[Callable[..., Reply]], Callable[..., Reply]]:
    """Declare a call and route it. `name` is `<area>.<verb>`, `point` names the commit's fault point.

    The view takes the `Call` and the path's parameters, does its work in `call.session` and returns a
    `Reply`; it never commits what it did. It may run again after a race was lost, in a new transaction.
    """

    def declare(view: Callable[..., Reply]) -> Callable[..., Reply]:
        scopes = (scope,) if isinstance(scope, str) else scope
        declared = Operation(
            name=name,
            method=method,
            path=path,
            scopes=frozenset(Scope(one) for one in scopes),
            view=view,
            answers=answers,
            body=body,
            query=query,
            point=point,
            refused=refused,
            takes_lines=takes_lines,
            answers_secret=answers_secret,
            only_platform=only_platform,
            conflicts=conflicts,
        )
        if declared.writes and point is None:
            raise ValueError(f"{name} writes, so it needs the name of its commit's fault point")
        OPERATIONS[name] = declared
        blueprint.add_url_rule(
            path,
            endpoint=name.replace(".", "_"),
            view_func=lambda **parts: _answer(declared, parts),
            methods=[method],
            # A customer's id may begin or end with a slash, or hold two in a row.
            merge_slashes=False,
        )
        return view

    return declare


def _answer(declared: Operation, parts: Mapping[str, Any]) -> Response:
    """Run one call from its token to its answer; each fault becomes its problem document."""
    call: Call | None = None
    session = db.session()
    try:
        caller = authenticate(session, request, g.now)
        call = Call(declared, session, caller, g.now, path=parts)
        g.api_tenant_key = caller.tenant.key
        _allow(declared, caller)
        _read(call)
        return _write(call) if declared.writes else _response(declared.view(call, **parts))
    except RequestEntityTooLarge:
        return problems.problem("too-large", "The body is larger than 1 MiB.")
    except DeskError as error:
        response = problems.of_domain(error, rows.shown)
        rollback(session)
        if call is not None:
            refusals.record(declared.refused, call, error)
        return response
    except OperationalError as error:
        rollback(session)
        return unavailable(error)
    except DatabaseError as error:
        rollback(session)
        if not is_refused_row(error):
            raise
        return _refused_row(error)


def _allow(declared: Operation, caller: Caller) -> None:
    """Raises `Forbidden`."""
    if not declared.scopes & caller.scopes:
        wanted = " or ".join(sorted(declared.scopes))
        raise Forbidden(f"This call needs the scope {wanted}, which the token {caller.name} does not have.")
    if caller.assistant is not None and declared.writes:
        raise Forbidden(f"The token {caller.name} may only do what the assistant {caller.assistant} does.")
    if declared.only_platform and not caller.of_platform:
        raise Forbidden("This call needs a token of the tenant platform.")


def _read(call: Call) -> None:
    """Read and judge the body, the query and the key. Raises `Invalid` and `RequestEntityTooLarge`."""
    declared = call.operation
    if declared.writes:
        call.raw = bodies.read(request)
        if not declared.takes_lines:
            call.body = bodies.parse(declared.body, call.raw)
    call.query = bodies.parse_query(declared.query, request)
    if idempotency.FIELD in request.headers and declared.answers_secret:
        raise Invalid(idempotency.FIELD, "can't be used here: the answer holds a secret, which is not kept")


def _write(call: Call) -> Response:
    """Do the effect and commit it, once; a lost race starts again in a new transaction."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _effect(call)
        except DBAPIError as error:
            if attempt == ATTEMPTS or not _is_lost_race(error):
                raise
            rollback(call.session)
            call.__dict__.pop("declared", None)
    raise AssertionError("not reached")


def _effect(call: Call) -> Response:
    declared, session = call.operation, call.session
    assert declared.point is not None
    kept = _kept_call(call)
    first = idempotency.begin(session, kept, call.now) if kept else None
    if first is not None:
        rollback(session)
        response = Response(first[1], first[0], mimetype="application/json")
        response.headers["Idempotency-Replayed"] = "true"
        return response
    response = _response(declared.view(call, **call.path))
    if kept is not None:
        idempotency.keep(session, kept, response.status_code, response.get_data(as_text=True))
    commit(session, declared.point)
    return response


def _kept_call(call: Call) -> idempotency.Call | None:
    key = request.headers.get(idempotency.FIELD)
    if key is None or not call.operation.keeps_answers:
        return None
    read = call.raw if call.operation.takes_lines else call.body.model_dump_json(exclude_unset=True).encode()
    query = call.query.model_dump_json(exclude_unset=True).encode()
    return idempotency.call_of(
        tenant_id=call.tenant.id,
        token_id=call.caller.token_id,
        method=request.method,
        path=request.path,
        key=key,
        body=read + b"\n" + query,
    )


def _is_lost_race(error: DBAPIError) -> bool:
    """Whether another process was faster, so that the call finds another state when it starts again."""
    lost = (postgres_errors.DeadlockDetected, postgres_errors.SerializationFailure)
    return isinstance(error, IntegrityError) or isinstance(error.orig, lost)


def _response(reply: Reply) -> Response:
    if reply.document is None:
        return Response(status=reply.status)
    return Response(reply.document.model_dump_json(), reply.status, mimetype="application/json")


def _refused_row(error: DatabaseError) -> Response:
    """409: it would be refused again; whoever runs the installation finds the cause in the log."""
    current_app.logger.error("the database refused a row, request %s: %s", g.request_id, said(error))
    return problems.problem(
        "conflict", "The database refused to store this, and nothing was done. Its log says why."
    )


def unavailable(error: OperationalError) -> Response:
    """503: the database was busy for longer than a call waits, or is away."""
    current_app.logger.warning("the database was busy or away: %s", error.orig)
    response = problems.problem(
        "unavailable", "The database is busy or can't be reached. Nothing was done; send the call again."
    )
    response.headers["Retry-After"] = "5"
    return response
