"""Opt-out words: how a customer's message is held against them."""

import re
import unicodedata

Keyword = tuple[str, ...]

_WORDS = re.compile(r"\w+")
_MARKS = re.compile(r"[^\w\s]")


def keyword(text: str) -> Keyword:
    """The folded words of a keyword; of one without words, its signs; empty where it is blank."""
    return _words(text) or _signs(text)


def holds(message: str, keywords: tuple[Keyword, ...]) -> bool:
    """Whether `message` holds one of `keywords` as whole words in sequence, anywhere.

    Case, accents (NFD, combining marks stripped), white space and punctuation between words don't matter.
    """
    words, signs = _words(message), _signs(message)
    return any(_in_sequence(key, words if _WORDS.search(key[0]) else signs) for key in keywords)


def _in_sequence(key: Keyword, within: Keyword) -> bool:
    size = len(key)
    return any(within[start : start + size] == key for start in range(len(within) - size + 1))


def _words(text: str) -> Keyword:
    return tuple(_WORDS.findall(_fold(text)))


def _signs(text: str) -> Keyword:
    return tuple(_MARKS.findall(text))


def _fold(text: str) -> str:
    return _strip(_strip(text).casefold())


def _strip(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
