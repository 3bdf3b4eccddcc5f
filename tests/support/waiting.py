"""Waiting for a condition, with a deadline; never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(condition: Callable[[], T], *, within: float = 30, every: float = 0.1, what: str = "") -> T:
    """The first true value of `condition`. Fails the test if there is none `within` so many seconds."""
    deadline = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within} s: {what or condition}; it was {value!r}")
        time.sleep(every)
