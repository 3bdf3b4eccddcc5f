"""Rows written out for other programs: CSV that no spreadsheet runs, and JSON Lines, in bounded memory."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from models.clock import iso

# A spreadsheet takes a cell that begins with one of these for a formula; the last are = + - @ in full width.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
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
    """`value` as a cell that no spreadsheet runs: text that would be a formula begins with a quote."""
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=_encode)
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return value


def as_json(value: Any) -> str:
    """One line of JSON, with times and ids as the API writes them."""
    return json.dumps(value, ensure_ascii=False, default=_encode)


def _encode(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
