"""Acts that a test does in a process of its own, and ends at a fault point."""

import hashlib
import hmac

from desk_ui import create_app
from models import clock
from models.settings import settings
from tests.support.chatwoot import SECRET


def call_hook(body: str, delivery: str) -> None:
    """One webhook of Chatwoot's, signed now."""
    stamp = str(clock.micros(clock.now()) // 1_000_000)
    signature = hmac.new(SECRET.encode(), f"{stamp}.{body}".encode(), hashlib.sha256).hexdigest()
    headers = {
        "X-Chatwoot-Timestamp": stamp,
        "X-Chatwoot-Signature": f"sha256={signature}",
        "X-Chatwoot-Delivery": delivery,
    }
    client = create_app(settings()).test_client()
    answer = client.post("/hooks/chatwoot/acme", data=body.encode(), headers=headers)
    assert answer.status_code == 202, answer.text
