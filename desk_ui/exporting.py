"""Rows written out for other programs: CSV that no spreadsheet runs, and JSON Lines, in bounded memory."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from typing import Any
from uuid import UUID

from models.clock import iso

# A spreadsheet takes a cell that begins with one of these for a formula; the last are = + - @ in full width.
_SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"
FORMULA_STARTS = (*_SIGNS, "\t", "\r", "\n")
# By the list separator of its language, a cell of its own begins after one of these, within ours.
_SEPARATORS = frozenset(";|,\t\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
# All that stands before a sign and may be a separator, or be dropped after one; begun where that begins, so
# that a long run is read once.
# What is not seen counts as a blank: a byte order mark, spaces of no width, marks of direction, soft hyphens.
_UNSEEN = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
_BLANK = re.compile(rf"[\s{_UNSEEN}]*+")
_BEFORE_SIGN = re.compile(rf'(?<![;|,\s"{_UNSEEN}])[;|,\s"{_UNSEEN}]++(?=[{re.escape(_SIGNS)}])')
BLOCK_CHARACTERS = 32_768
# By this a spreadsheet knows UTF-8. Programs don't expect it, so only what a person downloads begins with it.
BYTE_ORDER_MARK = "\ufeff"


def stream_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The head and the rows as CSV, in blocks of whole rows; `rows` are read as the blocks are taken."""
    block = io.StringIO(newline="")
    # With any other end of a line, a lone carriage return within a cell would stand unquoted and end the row.
    writer = csv.writer(block, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([cell(row[name]) for name in columns])
        if block.tell() >= BLOCK_CHARACTERS:
            yield block.getvalue()
            block.seek(0)
            block.truncate()
    if block.tell():
        yield block.getvalue()


def stream_jsonl(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Each row as one line of JSON, in blocks as `stream_csv` makes them."""
    lines: list[str] = []
    size = 0
    for row in rows:
        lines.append(as_json(row) + "\n")
        size += len(lines[-1])
        if size >= BLOCK_CHARACTERS:
            yield "".join(lines)
            lines, size = [], 0
    if lines:
        yield "".join(lines)


def cell(value: Any) -> Any:
    """`value` as a cell that no spreadsheet runs: what would be a formula has a quote before it.

    That is so where the cell begins, and after what is a separator in some languages: nobody knows by which
    the file will be read.
    """
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, dict | list):
        # A comma is JSON's own.
        return _quoted(json.dumps(value, ensure_ascii=False, sort_keys=True, default=_encode), but={","})
    if not isinstance(value, str):
        return value
    blank = _BLANK.match(value)
    begins = value.startswith(FORMULA_STARTS, blank.end() if blank else 0) or value.startswith(FORMULA_STARTS)
    return f"'{_quoted(value)}" if begins else _quoted(value)


def _quoted(value: str, but: Set[str] = frozenset()) -> str:
    """`value` with a quote before each sign of a formula that follows a separator, blanks between or not."""
    separators = _SEPARATORS - but

    def quote(run: re.Match[str]) -> str:
        return run[0] if separators.isdisjoint(run[0]) else f"{run[0]}'"

    return _BEFORE_SIGN.sub(quote, value)


def as_json(value: Any) -> str:
    """One line of JSON, with times and ids as the API writes them."""
    return json.dumps(value, ensure_ascii=False, default=_encode)


def _encode(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
