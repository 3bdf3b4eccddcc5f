"""The bridge between Flask-Security, which knows how to sign people in, and the domain's operators."""

from collections.abc import Sequence
from typing import Any

from flask_security.core import RoleMixin, UserMixin
from flask_security.datastore import UserDatastore
from sqlalchemy import select

from models import accounts
from models.base import db
from models.operators import Operator, Role
from models.tenants import Tenant
from models.text import is_storable

Memberships = Sequence[tuple[Tenant, Role]]


class Account(UserMixin):
    """An operator as Flask-Security sees them. Roles are per tenant and not its business."""

    roles: list[RoleMixin] = []
    # Read by Flask-Security when it starts: sessions are known by this, not by the id.
    fs_uniquifier = ""

    def __init__(self, operator: Operator, memberships: Memberships = ()) -> None:
        """`memberships` are those of whoever a session names; signing in needs none."""
        self.operator = operator
        self.memberships = memberships
        self.id = operator.id
        self.email = operator.email
        self.active = operator.active
        self.password = operator.password
        self.fs_uniquifier = operator.fs_uniquifier


class NoRole(RoleMixin):
    """Flask-Security asks for a class of roles; there are none."""

    name = ""


class Accounts(UserDatastore):
    """Finds operators; whatever changes one goes through models/operators.py instead."""

    def __init__(self) -> None:
        super().__init__(Account, NoRole)

    def find_user(self, case_insensitive: bool = False, **by: Any) -> Account | None:
        [(name, value)] = by.items()
        wanted = str(value).strip().lower() if name == "email" else value
        if not is_storable(str(wanted)):
            return None
        if name == "fs_uniquifier":
            known = accounts.of_session(db.session(), wanted)
            return Account(*known) if known else None
        found = db.session.scalars(select(Operator).where(getattr(Operator, name) == wanted)).one_or_none()
        return Account(found) if found else None

    def find_role(self, role: str) -> None:
        return None

    def put(self, model: Account) -> Account:
        """Flask-Security renews a hash that was made with weaker settings; the sign-in commits it."""
        model.operator.password = model.password
        return model

    def commit(self) -> None:
        raise RuntimeError("accounts are committed by the routes of desk_ui/auth.py")
