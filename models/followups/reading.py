"""Another scheduler's records as text: JSON Lines or CSV, each line read alone and refused alone."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, BinaryIO
from uuid import UUID

from models import text
from models.clock import parse_time
from models.errors import Invalid
from models.followups.booking import REASON_LENGTH

LONGEST_LINE = 65_536
REQUIRED = ("id", "agent", "customer", "at", "reason", "arm")
OPTIONAL = ("session_id", "transport")

Line = str | bytes


class Format(StrEnum):
    JSONL = "jsonl"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class Record:
    """One record that can be imported, and the number of its line."""

    line: int
    id: UUID
    agent: str
    customer: str
    at: datetime
    reason: str
    arm: str
    session_id: str | None
    transport: str | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the record on `line`, counted from 1, was not taken."""

    line: int
    detail: str


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of `file`; of one longer than can be used, no more than shows that it is."""
    while line := file.readline(LONGEST_LINE + 2):
        yield line
        while not line.endswith(b"\n") and (line := file.readline(LONGEST_LINE)):
            pass


def records_of(lines: Iterable[Line], format: Format) -> Iterator[Record | Refusal]:
    """Each line's record, or why it is refused; blank lines are passed over. Never raises for a line."""
    return _from_csv(lines) if format is Format.CSV else _from_json_lines(lines)


def _from_json_lines(lines: Iterable[Line]) -> Iterator[Record | Refusal]:
    for number, line in enumerate(lines, start=1):
        try:
            content = _decoded(line, first=number == 1).strip()
            if content:
                yield _record(number, _json_object(content))
        except Invalid as refusal:
            yield Refusal(number, refusal.detail)


def _json_object(content: str) -> Mapping[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise Invalid("line", "is not JSON") from None
    if not isinstance(value, dict):
        raise Invalid("line", "is not a JSON object")
    return value


def _decoded(line: Line, *, first: bool) -> str:
    if len(line.rstrip(b"\r\n") if isinstance(line, bytes) else line.rstrip("\r\n")) > LONGEST_LINE:
        raise Invalid("line", f"is longer than {LONGEST_LINE} bytes")
    if isinstance(line, str):
        return line.removeprefix("\ufeff") if first else line
    try:
        return line.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError:
        raise Invalid("line", "is not UTF-8") from None


def _from_csv(lines: Iterable[Line]) -> Iterator[Record | Refusal]:
    """A header line, then a record for each row; a row may span lines and counts by its first."""
    source = _CsvLines(lines)
    reader = csv.reader(source, strict=True)
    header: list[str] | None = None
    while True:
        number = source.number + 1
        try:
            row = next(reader, None)
            if row is None:
                return
            source.raise_fault()
            if header is None:
                header = _header(row)
            elif row:
                yield _record(number, _fields(header, row))
        except csv.Error as fault:
            yield Refusal(number, f"line is not CSV: {fault}.")
        except Invalid as refusal:
            yield Refusal(number, refusal.detail)
        if header is None:
            return


class _CsvLines:
    """Decoded lines for the CSV reader; a line that can't be decoded is kept as a fault of its row."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = iter(lines)
        self.number = 0
        self.fault: Invalid | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self.lines)
        self.number += 1
        try:
            return _decoded(line, first=self.number == 1)
        except Invalid as fault:
            self.fault = fault
            return "\n"

    def raise_fault(self) -> None:
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault


def _header(row: list[str]) -> list[str]:
    names = [name.strip() for name in row]
    missing = [name for name in REQUIRED if name not in names]
    unknown = [name for name in names if name not in (*REQUIRED, *OPTIONAL)]
    if missing:
        raise Invalid("header", f"lacks {', '.join(missing)}")
    if unknown or len(set(names)) != len(names):
        raise Invalid("header", f"may hold each of {', '.join((*REQUIRED, *OPTIONAL))} once and no other")
    return names


def _fields(header: list[str], row: list[str]) -> Mapping[str, Any]:
    if len(row) > len(header):
        raise Invalid("line", f"has {len(row)} fields where the header has {len(header)}")
    return {name: value or None for name, value in zip(header, row, strict=False)}


def _record(number: int, given: Mapping[str, Any]) -> Record:
    """Raises `Invalid` with the field."""
    for name, value in given.items():
        if name not in REQUIRED and name not in OPTIONAL:
            raise Invalid(_shown(name), "is not a known field")
        if value is not None and not isinstance(value, str):
            raise Invalid(name, "must be a text")
    return Record(
        line=number,
        id=_uuid(given.get("id")),
        agent=text.required(given.get("agent"), "agent"),
        customer=text.required(given.get("customer"), "customer"),
        at=parse_time(text.required(given.get("at"), "at"), "at"),
        reason=text.required(given.get("reason"), "reason", longest=REASON_LENGTH),
        arm=text.required(given.get("arm"), "arm"),
        session_id=text.optional(given.get("session_id"), "session_id"),
        transport=text.optional(given.get("transport"), "transport"),
    )


def _uuid(value: str | None) -> UUID:
    try:
        return UUID(text.required(value, "id"))
    except ValueError:
        raise Invalid("id", "must be a UUID") from None


def _shown(name: str) -> str:
    """A field's name as a refusal may repeat it: short, and printable on any terminal."""
    return name[:40].encode("ascii", "backslashreplace").decode() if name.isprintable() else ascii(name[:40])
