"""HTMX over plain pages: a whole page, one block of it, or pieces that go to places of their own."""

from typing import Any

from flask import current_app, get_template_attribute, render_template, request


def is_htmx() -> bool:
    """Whether a script asks for a part of a page: not for one that is restored from the history."""
    headers = request.headers
    return headers.get("HX-Request") == "true" and "HX-History-Restore-Request" not in headers


def render_page(template: str, block: str, **context: Any) -> str:
    """The whole page, or only its `block` where HTMX asks for it."""
    return render_block(template, block, **context) if is_htmx() else render_template(template, **context)


def render_block(template: str, block: str, **context: Any) -> str:
    """One named block of a page's template, with the same context as the page."""
    current_app.update_template_context(context)
    found = current_app.jinja_env.get_template(template)
    return "".join(found.blocks[block](found.new_context(context)))


def toast(words: str, kind: str = "good", offer: Any = None) -> str:
    """A toast for HTMX to put in its place, with what is offered: see desk_ui/offering.py."""
    drawn = get_template_attribute("components/toast.html", "toast")(words, kind, offer)
    return partial("#toasts", "innerHTML", str(drawn))


def partial(target: str, swap: str, content: str) -> str:
    """A piece that HTMX puts in a place of its own, beside whatever else the answer holds."""
    return f'<hx-partial hx-target="{target}" hx-swap="{swap}">{content}</hx-partial>'
