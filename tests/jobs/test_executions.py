"""How due executions are put on the queue: in parts, never twice."""

from pathlib import Path
from uuid import uuid4

import pytest
from redis import Redis

from jobs import executions, queues
from tests.support import redis as servers


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("executions")
    with servers.server(folder) as server:
        yield server.url


@pytest.fixture
def connection(redis_url):
    with Redis.from_url(redis_url) as connection:
        connection.flushall()
        yield connection


def parts(connection):
    queue = queues.queue("runs", connection)
    return [job.args for job in queue.get_jobs()]


@pytest.mark.parametrize(
    ("due", "sizes"),
    [
        (1, {1}),
        (100, {100}),
        (250, {100, 50}),
        (4_000, {100}),
        (8_000, {200}),
        (30_000, {500}),
    ],
)
def test_dispatch_takes_larger_parts_when_more_is_due(connection, due, sizes):
    ids = [uuid4() for _n in range(due)]
    assert executions.dispatch(connection, ids) == due
    assert {len(part) for part in parts(connection)} == sizes
    assert [id for part in parts(connection) for id in part] == [str(id) for id in ids]


def test_dispatch_adds_none_when_an_earlier_part_waits(connection):
    assert executions.dispatch(connection, [uuid4()]) == 1
    assert executions.dispatch(connection, [uuid4(), uuid4()]) == 0
    assert len(parts(connection)) == 1
