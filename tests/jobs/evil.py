"""What a job of a stranger would like to have called."""

from pathlib import Path


def touch(job: object, *_args: object) -> None:
    Path(job.args[0]).touch()  # type: ignore[attr-defined]
