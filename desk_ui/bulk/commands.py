"""What a person does with a bulk operation that runs: stop it."""

from uuid import UUID

from flask import g, url_for
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from desk_ui.acting import Action, perform
from desk_ui.bulk import routes, views
from desk_ui.bulk.kinds import KINDS
from desk_ui.permissions import actor
from models import bulk_operations
from models.base import db
from models.bulk_operations import BulkOperation
from models.errors import NotFound
from models.transactions import commit


def stop(area: str, operation_id: UUID) -> Response:
    """Leave what waits as it is. It must be an operation of `area`, whose permission its route asks for."""

    def act() -> BulkOperation:
        operation = bulk_operations.get(db.session(), g.tenant.id, operation_id)
        if KINDS[operation.verb].area != area:
            raise NotFound("bulk operation")
        stopped = bulk_operations.stop(db.session(), g.tenant.id, operation_id, actor=actor(), now=g.now)
        commit(db.session(), "console.bulk.stop")
        return stopped

    return perform(
        Action(
            name="bulk.stopped",
            resource=("bulk", str(operation_id)),
            act=act,
            done=_stopped,
            back=lambda _row: url_for("bulk.show", tenant=g.tenant.key, operation_id=operation_id),
            show=lambda _row: routes.progress_of(operation_id),
            place="#progress",
        )
    )


def _stopped(operation: BulkOperation) -> str:
    if operation.finished_at != g.now:
        return _("It had ended already, so there was nothing to stop.")
    return _("Stopped: %(counted)s.", counted=views.counted(operation))
