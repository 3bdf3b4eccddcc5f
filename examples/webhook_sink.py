"""A receiver of Recovery Desk's events: checks each signature and prints one line for each event.

    python examples/webhook_sink.py PORT SECRET

The secret is the one that POST /api/v1/endpoints answered with. A call whose signature does not hold gets 401
and is printed as REFUSED. A repeated webhook-id is answered as before and printed as REPEATED.
"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError


class Sink(BaseHTTPRequestHandler):
    webhook: Webhook
    seen: set[str] = set()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            event = self.webhook.verify(body, dict(self.headers))
        except WebhookVerificationError as fault:
            self.answer(401, f"REFUSED {fault}")
            return
        id = self.headers["webhook-id"]
        word = "REPEATED" if id in self.seen else "VERIFIED"
        self.seen.add(id)
        self.answer(204, f"{word} {id} {event['type']} {event['data']}")

    def answer(self, status: int, line: str) -> None:
        self.send_response(status)
        self.end_headers()
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def log_message(self, *_args: object) -> None:
        """Only the lines above are printed."""


def main() -> None:
    port, secret = int(sys.argv[1]), sys.argv[2]
    Sink.webhook = Webhook(secret)
    ThreadingHTTPServer(("127.0.0.1", port), Sink).serve_forever()


if __name__ == "__main__":
    main()
