"""What a person does in the console, for tests that end the process while it is done."""

from desk_ui import create_app
from models.settings import settings
from tests.console.filled import inputs
from tests.console.visiting import Form, Visitor
from tests.support.devices import Device


def _visitor() -> Visitor:
    return Visitor(create_app(settings()))


def by_link(link: str) -> int:
    visitor = _visitor()
    return visitor.press(visitor.open(link).form(link)).status


def by_password(email: str, password: str) -> int:
    visitor = _visitor()
    form = visitor.open("/sign-in").form("/sign-in")
    return visitor.press(form, email=email, password=password).status


def set_password(link: str, password: str) -> int:
    visitor = _visitor()
    visitor.press(visitor.open(link).form(link))
    form = visitor.open("/profile").form("/profile/password")
    return visitor.press(form, wanted=password).status


def cancel(link: str, followup: str) -> int:
    visitor = _visitor()
    visitor.press(visitor.open(link).form(link))
    action = f"/acme/followups/{followup}/cancellation"
    return visitor.press(visitor.open(f"/acme/followups/{followup}").form(action)).status


def cancel_fired(link: str, followup: str, other: str) -> int:
    """A form of a pending one, sent to one that fired meanwhile."""
    visitor = _visitor()
    visitor.press(visitor.open(link).form(link))
    form = visitor.open(f"/acme/followups/{other}").form(f"/acme/followups/{other}/cancellation")
    form.action = f"/acme/followups/{followup}/cancellation"
    return visitor.press(form).status


def press(link: str, path: str, act: str) -> int:
    """The form on the page at `path` whose address ends with `act`."""
    visitor = _visitor()
    visitor.press(visitor.open(link).form(link))
    return visitor.press(visitor.open(path).form(act)).status


def ask_and_press(link: str, path: str, **typed: str) -> int:
    """The form of the question at `path`, filled in and sent."""
    visitor = _visitor()
    visitor.press(visitor.open(link).form(link))
    return visitor.press(visitor.open(path).form(path.partition("?")[0]), **typed).status


def fill_and_press(link: str, path: str, **typed: str) -> int:
    """The form on the page at `path` that is sent there, all that stands in it sent along."""
    visitor = _visitor()
    visitor.press(visitor.open(link).form(link))
    return visitor.press(Form("post", path, inputs(visitor.open(path).html, path).fields), **typed).status


def press_at(link: str, path: str, ending: str) -> int:
    """The form on the page at `path` whose action ends so, as it is."""
    visitor = _visitor()
    visitor.press(visitor.open(link).form(link))
    return visitor.press(visitor.open(path).form(ending)).status


def cancel_all(link: str, reason: str) -> int:
    """All that the list of follow-ups matches, asked about and confirmed."""
    visitor = _visitor()
    visitor.press(visitor.open(link).form(link))
    form = visitor.open("/acme/followups").form("/followups/bulk")
    question = visitor.press(form, all="1", do="cancellation")
    return visitor.press(question.form("/bulk/cancellation"), reason=reason).status


def by_code(email: str, password: str, code: str, path: str | None = None) -> int:
    """By password and a second factor; then, where a path is given, the question there, answered."""
    visitor = _visitor()
    visitor.press(visitor.open("/sign-in").form("/sign-in"), email=email, password=password)
    answer = visitor.press(visitor.open("/two-factor").form("/two-factor"), code=code)
    if path is not None:
        answer = visitor.press(visitor.open(path).form(path), proof=password)
    return answer.status


def turn_factor_on(link: str) -> int:
    visitor = _visitor()
    visitor.press(visitor.open(link).form(link))
    page = visitor.open("/profile/second-factor")
    return visitor.press(page.form("/second-factor"), code=Device.of(page.text).code()).status


def set_timezone(link: str, zone: str) -> int:
    visitor = _visitor()
    visitor.press(visitor.open(link).form(link))
    return visitor.press(visitor.open("/profile").form("/profile/timezone"), timezone=zone).status


def set_refresh(link: str, seconds: str) -> int:
    visitor = _visitor()
    visitor.press(visitor.open(link).form(link))
    return visitor.press(visitor.open("/profile").form("/profile/refresh"), refresh=seconds).status
