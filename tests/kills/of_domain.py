"""The fault points of sweeps, imports and bulk work: for each an act that passes it, and what it changes."""

from tests.kills.acts import IMPORTED
from tests.kills.scenario import (
    CANCELLED,
    DONE_IN_BULK,
    FIRED,
    PURGED,
    Scenario,
    by_api,
    changed_file,
    kept_answer,
    old_ones,
    one_due,
    plus,
    with_token,
)

SCENARIOS: dict[str, Scenario] = {
    "bulk.item": Scenario(
        ["domain", "bulk"],
        DONE_IN_BULK,
        lambda setting: {"id": setting.in_bulk()},
        after={**CANCELLED, **plus(bulk_item__waiting=-1, bulk_item__done=1)},
        domain=True,
    ),
    "bulk.finish": Scenario(
        ["domain", "bulk"],
        DONE_IN_BULK,
        lambda setting: {"id": setting.in_bulk()},
        after=DONE_IN_BULK,
        domain=True,
    ),
    "followups.fire.begin": Scenario(
        ["domain", "fire"], FIRED, one_due, after={"followup_policy_seen": 1}, domain=True
    ),
    "followups.fire.chunk": Scenario(["domain", "fire"], FIRED, one_due, after=FIRED, domain=True),
    "followups.fire.end": Scenario(["domain", "fire"], FIRED, one_due, after=FIRED, domain=True),
    "followups.import.batch": Scenario(
        ["domain", "import"],
        plus(follow_up__pending=IMPORTED, audit=IMPORTED, outbox=IMPORTED),
        after=plus(follow_up__pending=500, audit=500, outbox=500),
        domain=True,
    ),
    "followups.retention.batch": Scenario(
        ["domain", "purge"], PURGED, old_ones, after=plus(follow_up__cancelled=-1), domain=True
    ),
    "followups.retention.end": Scenario(["domain", "purge"], PURGED, old_ones, after=PURGED, domain=True),
    "followups.attention": Scenario(
        ["domain", "attention"], plus(outbox=1, attention_episode=1), one_due, domain=True
    ),
    "declarations.refresh": Scenario(
        ["domain", "declare"], plus(config_version=1), changed_file, domain=True
    ),
    "retention.batch": Scenario(["domain", "purge_all"], plus(kept_answer=-1), kept_answer),
    "tokens.note_use": Scenario(by_api("GET", "/followups", key=None), {}, with_token),
}
