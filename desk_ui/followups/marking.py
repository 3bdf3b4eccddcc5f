"""How a follow-up's state is shown, and in words what became of one that an act was refused for."""

from desk_ui import words
from desk_ui.followups.queries import Entry, Row, Scene
from desk_ui.marks import Mark
from desk_ui.translating import gettext as _
from models.errors import Conflict
from models.followups.records import FollowUp, Status


def mark(status: str, *, overdue: bool = False, held: bool = False, wants: str = "") -> Mark:
    """`wants` says in words what is to be looked at of the task of a fired one."""
    if status == Status.FIRED and wants:
        return Mark("half", "warn", wants)
    if status == Status.PENDING:
        if overdue:
            return Mark("triangle", "bad", _("Overdue"))
        return Mark("pause", "idle", _("Held")) if held else Mark("ring", "idle", _("Pending"))
    return {
        Status.FIRED: Mark("disc", "good", _("Fired")),
        Status.BLOCKED: Mark("square", "warn", _("Blocked")),
        Status.CANCELLED: Mark("cross", "idle", _("Cancelled")),
    }[Status(status)]


def became(row: Row | FollowUp, scene: Scene) -> str:
    """What became of a row that can't be cancelled: `Fired 3 s ago`."""
    when = words.relative(row.fired_at or row.updated_at, scene.now, scene.zone)
    return f"{mark(row.status).word} {when}"


def why_refused(row: Row | FollowUp, fault: Conflict, scene: Scene, last: Entry | None, cannot: str) -> str:
    """The words of a refused act, with what happened meanwhile, and who did it where that is known.

    `cannot` says what can't be done: `it can't be cancelled`.
    """
    if row.status == Status.FIRED or (row.status == Status.BLOCKED and last and "blocked" in last.action):
        return _("%(became)s, so %(cannot)s.", became=became(row, scene), cannot=cannot)
    if last is None:
        return fault.detail
    return _(
        "%(what)s %(when)s by %(who)s, so nothing was done.",
        what=words.action(last.action, refused=False),
        when=words.distance(last.at, scene.now),
        who=words.actor(last.actor_type, last.actor),
    )
