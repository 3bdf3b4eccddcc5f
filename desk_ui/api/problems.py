"""Problem documents (RFC 9457): a call's fault as JSON, and a page for people at its type's address."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, render_template, request
from pydantic import BaseModel, ConfigDict, Field
from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.exceptions import NotFound as NotFoundHere

from desk_ui.api import bodies
from models.errors import AlreadyPending, Conflict, DeskError, Invalid

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of problem: what answers it, and what the page about it says."""

    status: int
    title: str
    help: str


KINDS = {
    "unauthorized": Kind(
        401,
        "No valid token",
        "Send the token as `Authorization: Bearer <token>`. A revoked token answers like one that never was.",
    ),
    "forbidden": Kind(
        403,
        "Not allowed",
        "The token lacks the scope that this call needs, or may act only for one assistant.",
    ),
    "not-found": Kind(
        404, "Not found", "There is no such row, or it belongs to another tenant: the two answer alike."
    ),
    "method-not-allowed": Kind(
        405, "Method not allowed", "The address exists; the header Allow lists what it takes."
    ),
    "conflict": Kind(
        409,
        "The state forbids it",
        "The row moved since you saw it, or its state forbids the act. `current` is the row as it is now.",
    ),
    "already-pending": Kind(
        409,
        "Already pending",
        "The same agent, customer and reason has a pending follow-up; `prior_id` is its id.",
    ),
    "opted-out": Kind(
        409, "The customer opted out", "Only a message from the customer reopens the contact. Don't retry."
    ),
    "stale-turn": Kind(
        409,
        "The turn is over",
        "Read what came since, and act on the turn in `current` if it is still needed.",
    ),
    "locked": Kind(409, "Locked", "Speaking to this customer is locked at the moment."),
    "too-large": Kind(413, "Too large", "A body may hold 1 MiB at most. Split it."),
    "invalid": Kind(
        422,
        "Invalid value",
        "`field` names the value that can't be used. Unknown fields and filters are refused as well.",
    ),
    "rate-limited": Kind(429, "Too many calls", "Wait for as many seconds as the header Retry-After says."),
    "bad-request": Kind(400, "Bad request", "The request could not be read as HTTP."),
    "unavailable": Kind(
        503,
        "Not available at the moment",
        "The database could not be reached or was busy; nothing was done. Send the call again.",
    ),
    "error": Kind(
        500,
        "A fault of ours",
        "Nothing was done. The log holds the details under the id in the header X-Request-ID.",
    ),
}
_BY_STATUS = {400: "bad-request", 404: "not-found", 405: "method-not-allowed", 413: "too-large"}


class Problem(BaseModel):
    """A fault, as RFC 9457 has it."""

    model_config = ConfigDict(title="Problem")

    type: str = Field(examples=["/problems/invalid"])
    title: str
    status: int
    detail: str
    field: str | None = Field(None, description="The field, filter or header that can't be used.")
    current: Any = Field(None, description="The row as it is now.")
    prior_id: str | None = Field(None, description="The id of the follow-up that is pending already.")


def problem(code: str, detail: str, *, status: int | None = None, **more: Any) -> Response:
    """The response of a problem; `more` are `field`, `current` and `prior_id` where they apply."""
    kind = KINDS.get(code) or KINDS["conflict"]
    document = Problem(
        type=f"/problems/{code}", title=kind.title, status=status or kind.status, detail=detail, **more
    )
    left_out = {name for name in ("field", "current", "prior_id") if getattr(document, name) is None}
    response = Response(document.model_dump_json(exclude=left_out), document.status, mimetype=MEDIA_TYPE)
    if document.status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = 'Bearer realm="Recovery Desk"'
    return response


def of_domain(error: DeskError, shown: Callable[[Any], Any]) -> Response:
    """The problem that a domain error is; `shown` gives the shape of the row in `current`."""
    more: dict[str, Any] = {}
    if isinstance(error, Invalid):
        more["field"] = error.field
    if isinstance(error, AlreadyPending):
        more["prior_id"] = error.prior_id
    elif isinstance(error, Conflict) and error.current is not None:
        more["current"] = shown(error.current)
    return problem(error.code, error.detail, **more)


def of_http(error: HTTPException) -> Response:
    """The problem that one of Werkzeug's errors is, its headers kept."""
    code = _BY_STATUS.get(error.code or 500, "bad-request")
    details = {
        "not-found": "There is nothing at this address.",
        "method-not-allowed": f"This address does not take {request.method}.",
        "too-large": "The body is larger than 1 MiB.",
    }
    response = problem(code, details.get(code, "The request could not be read."), status=error.code)
    for name, value in error.get_headers():
        if name not in ("Content-Type", "Content-Length"):
            response.headers[name] = value
    return response


def register(app: Flask) -> None:
    """The pages that the types of problems point to, and the answer to addresses that don't exist."""

    @app.get("/problems/<code>")
    def problem_page(code: str) -> tuple[str, int]:
        kind = KINDS.get(code)
        return render_template("api/problem.html", code=code, kind=kind), 200 if kind else 404

    @app.before_request
    def refuse_unknown_address() -> Response | None:
        # Here and not in an error handler, since those of the pages would go first.
        error = request.routing_exception
        if error is None or not (request.path == "/api" or request.path.startswith("/api/")):
            return None
        if not isinstance(error, HTTPException) or error.code == HTTPStatus.PERMANENT_REDIRECT:
            return None
        bodies.drain(request)
        adapter = app.create_url_adapter(request)
        if isinstance(error, MethodNotAllowed) and adapter is not None:
            # Werkzeug answers so too where doubled slashes, taken for one, would have led somewhere.
            allowed = [method for method in error.valid_methods or () if adapter.test(method=method)]
            error = MethodNotAllowed(allowed) if allowed else NotFoundHere()
        return of_http(error)
