"""Importing another scheduler's records: taken as they are, without consent; firing decides over them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO
from uuid import UUID

from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm import Session

from models import audit, bulk, outbox
from models.actors import Actor
from models.followups.reading import Format, Line, Record, Refusal, lines_of, records_of
from models.followups.records import FollowUp, Status
from models.tenants import Tenant
from models.transactions import commit, savepoint

BATCH = 500


@dataclass
class ImportResult:
    """How many records were taken, how many were known already, and which lines were refused and why."""

    imported: int = 0
    skipped: int = 0
    refused: list[Refusal] = field(default_factory=list)


def import_records(
    session: Session,
    tenant: Tenant,
    lines: Iterable[Line],
    *,
    actor: Actor,
    now: datetime,
    format: Format = Format.JSONL,
) -> ImportResult:
    """Take the records in `lines` in the transaction at hand; a line that can't be used is refused alone.

    A record whose id is known is skipped, whatever it holds. A past `at` and a second record of a pair are
    taken as they are, and no consent is written. Each record taken has one audit event, and tells the
    outbox as a booking does.
    """
    return _take(session, tenant, list(records_of(lines, format)), actor=actor, now=now)


def import_file(
    session: Session, tenant: Tenant, file: BinaryIO, *, format: Format, actor: Actor, now: datetime
) -> Iterator[ImportResult]:
    """As `import_records` over a file of any size: a transaction and a result for each batch of lines.

    What was committed stays if the import breaks off; importing the file again skips it.
    """
    found = records_of(lines_of(file), format)
    while batch := list(islice(found, BATCH)):
        result = _take(session, tenant, batch, actor=actor, now=now)
        commit(session, "followups.import.batch")
        yield result


def _take(
    session: Session, tenant: Tenant, found: Sequence[Record | Refusal], *, actor: Actor, now: datetime
) -> ImportResult:
    result = ImportResult(refused=[line for line in found if isinstance(line, Refusal)])
    unique: dict[UUID, Record] = {}
    for record in found:
        if isinstance(record, Record):
            result.skipped += record.id in unique
            unique.setdefault(record.id, record)
    # In the order of their ids, so that two imports of the same records wait for each other, not both ways.
    ordered = sorted(unique.values(), key=lambda record: record.id)
    for start in range(0, len(ordered), BATCH):
        _take_batch(session, tenant, ordered[start : start + BATCH], result, actor=actor, now=now)
    result.refused.sort(key=lambda refusal: refusal.line)
    return result


def _take_batch(
    session: Session,
    tenant: Tenant,
    records: Sequence[Record],
    result: ImportResult,
    *,
    actor: Actor,
    now: datetime,
) -> None:
    try:
        with savepoint(session):
            taken = _insert(session, tenant, records, actor=actor, now=now)
    except (DataError, IntegrityError):
        if len(records) == 1:
            result.refused.append(Refusal(records[0].line, "The record can't be stored."))
            return
        for record in records:
            _take_batch(session, tenant, [record], result, actor=actor, now=now)
        return
    result.imported += taken
    result.skipped += len(records) - taken


def _insert(
    session: Session, tenant: Tenant, records: Sequence[Record], *, actor: Actor, now: datetime
) -> int:
    """Insert those whose id is unknown, with their events; how many there were."""
    rows = [_row(tenant, record, now) for record in records]
    made = bulk.insert_absent(session, FollowUp, rows, resource_type="followup")
    new = [row for row in rows if row["id"] in made]
    audit.append_many(session, [_audited(row) for row in new], tenant_id=tenant.id, actor=actor, now=now)
    outbox.enqueue_many(session, [_outgoing(row) for row in new], tenant_id=tenant.id, now=now)
    return len(new)


def _row(tenant: Tenant, record: Record, now: datetime) -> dict[str, Any]:
    return {
        "tenant_id": tenant.id,
        "id": record.id,
        "agent": record.agent,
        "customer": record.customer,
        "session_id": record.session_id,
        "at": record.at,
        "reason": record.reason,
        "arm": record.arm,
        "transport": record.transport,
        "status": Status.PENDING.value,
        "attempts": 0,
        "created_at": now,
        "updated_at": now,
        "version": 1,
    }


def _audited(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "action": "followup.imported",
        "resource_type": "followup",
        "resource_id": str(row["id"]),
        "purpose": None,
        "detail": {"from": None, "to": Status.PENDING.value, "agent": row["agent"], "arm": row["arm"]},
    }


def _outgoing(row: dict[str, Any]) -> dict[str, Any]:
    payload = {"followup_id": str(row["id"]), "agent": row["agent"], "arm": row["arm"], "rearmed_from": None}
    return {
        "event_type": "followup.scheduled",
        "aggregate_type": "followup",
        "aggregate_id": str(row["id"]),
        "payload": payload,
    }
