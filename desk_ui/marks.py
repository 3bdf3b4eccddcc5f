"""A state as every page shows it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """A state by shape, colour and word."""

    shape: str
    tone: str
    word: str
