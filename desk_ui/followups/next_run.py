"""Who acts next on a follow-up that is due: the run that comes, or nobody, and why."""

from markupsafe import Markup

from desk_ui import words
from desk_ui.followups.queries import Row, Scene
from desk_ui.translating import gettext as _
from models.followups.policy import Verdict
from models.followups.records import FollowUp, Status


def moment(scene: Scene) -> Markup:
    """`in 12 s`, until the next run; a script lets it go on."""
    assert scene.next_run is not None
    return words.next_run(scene.next_run, scene.now, scene.zone)


def is_taken(row: Row | FollowUp, scene: Scene, *, held: bool) -> bool:
    """Whether the next run, of which it is known when it comes, takes it."""
    due = row.status == Status.PENDING and row.due_at <= scene.now
    rests = scene.paused or held or scene.halted is not None
    return due and not rests and scene.next_run is not None


def will(row: Row | FollowUp, scene: Scene, verdict: Verdict, *, held: bool) -> Markup | str:
    """`The next run, in 12 s, will fire this.`; judge, where a gate would stop it; empty where none comes."""
    if not is_taken(row, scene, held=held):
        return ""
    said = (
        _("The next run, {}, will fire this.") if verdict.fires else _("The next run, {}, will judge this.")
    )
    return Markup(said).format(moment(scene))


def meanwhile(row: Row, scene: Scene) -> list[str]:
    """What becomes of one that is due while somebody thinks about another time for it."""
    if row.status != Status.PENDING or row.due_at > scene.now:
        return []
    if scene.paused:
        return [_("It is due, and waits: follow-ups are switched off for this tenant.")]
    if row.held:
        return [_("It is due, and waits: its agent is on hold.")]
    if scene.halted is not None:
        return [_("It is due, and waits: firing is paused.")]
    if scene.next_run is None:
        return [_("It is due: a run may take it before you are done.")]
    said = _("It is due: the next run, {}, takes it if it comes before you are done.")
    return [Markup(said).format(moment(scene))]
