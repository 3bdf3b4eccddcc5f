"""Declarations as the cases give them."""

from models.declarations import Declared

STORE_SUPPORT = {"followup": {"max_frequency": "2/24h", "silence_after_sends": 3}}


def declared(version: int = 1, **followup: object) -> Declared:
    """`store-support` as in the cases, with the fields of its policy replaced or added."""
    return Declared(
        version, {"agents": {"store-support": {"followup": {**STORE_SUPPORT["followup"], **followup}}}}
    )
