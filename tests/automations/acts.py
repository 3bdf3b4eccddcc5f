"""What a process of its own does with executions, while others do something else."""

from uuid import UUID

from sqlalchemy import select

from jobs.app import make_app
from models import declarations
from models.automations import operating
from models.automations.outside import Came, Errand
from models.automations.records import Execution
from models.automations.running import Worker
from models.base import db
from models.settings import settings
from models.transactions import commit, rollback
from tests.automations.world import T0, at
from tests.support.create import API


def run_and_be_settled_meanwhile(execution_id: str) -> None:
    """Run one whose first call lasts 20 minutes, within which a person settles it as failed."""
    id = UUID(execution_id)
    with make_app(settings()).app_context():
        session = db.session()
        tenant_id = session.scalars(select(Execution.tenant_id).where(Execution.id == id)).one()
        rollback(session)

        def settle(_errand: Errand) -> Came:
            with db.session.session_factory() as other:
                operating.settle(other, tenant_id, id, {0: "failed"}, actor=API, now=at(20))
                commit(other, "tests.act")
            return Came.done("Answered 200.")

        Worker(session, declarations.Declared(), lambda: T0, settle).work([id])
