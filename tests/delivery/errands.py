"""Errands as a run hands them over."""

from typing import Any

from models.automations.outside import Errand

KEY = "0b9c2f54-6d5e-4d0e-9a0b-1f6f0f3b8a11:0"


def errand(name: str, *params: Any, **given: Any) -> Errand:
    """An errand of a native conversation, unless `given` says otherwise."""
    values: dict[str, Any] = {
        "tenant_id": 1,
        "tenant": "acme",
        "source": "native",
        "idempotency_key": KEY,
        "execution_id": KEY.partition(":")[0],
        "rule_id": "7a1d8a0e-1111-4f5e-8c4f-2f4d5a6b7c8d",
        "rule": "Quiet for two hours",
        "conversation": {"id": "k-42", "status": "open", "inbox_id": 3, "labels": ["vip"], "customer": "c-1"},
    }
    return Errand(name=name, params=list(params), **{**values, **given})
