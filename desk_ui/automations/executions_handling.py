"""Who is on an execution that needs a person."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from flask import g, url_for
from werkzeug.wrappers import Response

from desk_ui import asking
from desk_ui.addresses import list_query
from desk_ui.automations import executions_routes as routes
from desk_ui.automations.executions_views import called
from desk_ui.handling import acts
from desk_ui.handling.acts import Subject
from desk_ui.htmx import render_block
from desk_ui.permissions import Permission, requires
from models.automations import needs


@requires(Permission.SEE)
def ask_take_over(execution_id: UUID) -> str:
    return asking.show(acts.ask(_subject(execution_id)))


@requires(
    Permission.ACT_ON_EXECUTIONS, action="execution.taken_on", resource="execution", argument="execution_id"
)
def take_on(execution_id: UUID) -> Response:
    return acts.take_on(_subject(execution_id))


@requires(
    Permission.ACT_ON_EXECUTIONS, action="execution.let_go", resource="execution", argument="execution_id"
)
def let_go(execution_id: UUID) -> Response:
    return acts.let_go(_subject(execution_id))


def _subject(execution_id: UUID) -> Subject:
    row = routes.current(execution_id)
    at: Mapping[str, Any] = {"tenant": g.tenant.key, "execution_id": execution_id}

    def show() -> str:
        return render_block("automations/execution.html", "panel", view=routes.detail_of(execution_id))

    return Subject(
        resource=("execution", str(execution_id)),
        called=called(row),
        url=url_for("executions.take_on", **at),
        page=url_for("executions.show", **at, list=list_query() or None),
        refusal=lambda: needs.refusal_to_take(routes.current(execution_id).needs_review),
        show=show,
        place="#execution",
    )
