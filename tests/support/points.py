"""The fault points that the code names, read from its syntax: commits, and calls to the outside."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("models", "jobs", "desk_ui")


@dataclass(frozen=True, slots=True)
class Named:
    """A place that names a point: None where the name is no literal."""

    point: str | None
    path: str
    line: int


def sources() -> Iterator[tuple[str, ast.Module]]:
    """Each module of the product: its path from the root, and its syntax."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def commits() -> list[Named]:
    """Every call of `commit(session, point)`, and every operation of the API, whose `point` is committed."""
    return [
        Named(_literal(argument), path, argument.lineno)
        for path, tree in sources()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and (argument := _point_of(call)) is not None
    ]


def outside() -> list[Named]:
    """Every `faults.reach(point)` around a call to the outside, without its side."""
    found = []
    for path, tree in sources():
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and _name(call) == "reach" and path != "models/transactions.py":
                literal = _literal(call.args[0])
                found.append(Named(literal and literal.rpartition(":")[0], path, call.lineno))
    return found


def _point_of(call: ast.Call) -> ast.expr | None:
    if _name(call) == "commit" and len(call.args) == 2:
        return call.args[1]
    if _name(call) == "operation":
        return next((given.value for given in call.keywords if given.arg == "point"), None)
    return None


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _literal(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
