"""`make bench`: every benchmark on a PostgreSQL of its own that waits for the disk at each commit."""

import argparse
import sys
from pathlib import Path

from bench import dispatch, finding, firing, pages, paused
from bench.support import machine, report, seed
from tests.support import postgres

RESULTS = Path("var/bench.json")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="follow-ups in the large database")
    parser.add_argument("--due", type=int, default=20_000, help="how many of them are due, for firing")
    parser.add_argument("--executions", type=int, default=20_000, help="due executions, for dispatch")
    parser.add_argument("--paused", type=int, default=1_000_000, help="due executions of a paused tenant")
    given = parser.parse_args()
    with postgres.server(durable=True) as server:
        seed(server, "large", rows=given.rows, due=given.due, contacts=given.due)
        results = firing.run(server, "large", due=given.due)
        firing.drop_copies(server)
        urls = [
            seed(server, name, rows=rows, due=finding.FOUND, contacts=finding.FOUND * 4)
            for name, rows in (
                ("large", given.rows),
                ("small", given.rows // 100),
                ("middle", given.rows // 10),
            )
        ]
        results += finding.run(*urls)
        tiny = seed(server, "tiny", rows=1_000, due=100, contacts=400)
        results += pages.run(urls[0], tiny)
        results += dispatch.run(server, due=given.executions)
        results += paused.run(server, paused=given.paused)
        report(results, machine(server), RESULTS)
    return 0 if all(result.met for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
