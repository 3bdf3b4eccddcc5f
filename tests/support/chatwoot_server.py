"""A Chatwoot of one account, as its documentation and its payloads say that it behaves; `serve` runs one.

Below `/api/v1` it is Chatwoot. Below `/control` a test tells it what people do there, how to fail, and asks
what it holds. It knows nothing of the product: it shares no code with it.
"""

import hashlib
import hmac
import json
import os
import random
import re
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from tests.support.chatwoot_shapes import contact_of, conversation_of, message_of, plain, pushed, sender_of

STATUSES = ("open", "resolved", "pending", "snoozed")
PRIORITIES = (None, "low", "medium", "high", "urgent")
PAGE = 20
KEY = "recovery_desk_key"
PATH = re.compile(r"/api/v1/accounts/(\d+)/conversations/(\d+)(?:/(\w+))?")


class Refused(Exception):
    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status


class Desk:
    """The state of the account. Times are epoch seconds with microseconds, as a test gives them."""

    def __init__(self, account: str, token: str, secret: str) -> None:
        self.account, self.token, self.secret = account, token, secret
        self.lock = threading.RLock()
        self.conversations: dict[int, dict[str, Any]] = {}
        self.last_message = 500
        self.events: list[dict[str, Any]] = []
        self.faults: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.transcripts: list[dict[str, Any]] = []
        self.flood: tuple[int, float] | None = None
        self.asked: list[float] = []
        self.seed = random.Random(1)
        self.closing = threading.Event()
        self.now: float | None = None

    # What people do there.

    def create(self, id: int, at: float, **given: Any) -> None:
        self.conversations[id] = {
            "id": id,
            "status": given.get("status", "open"),
            "priority": None,
            "labels": list(given.get("labels", ())),
            "assignee": None,
            "team": None,
            "inbox_id": given.get("inbox_id", 3),
            "custom_attributes": given.get("custom_attributes", {}),
            "additional_attributes": given.get("additional_attributes", {}),
            "contact": given.get("contact") or contact_of(id),
            "created_at": at,
            "updated_at": at,
            "last_activity_at": at,
            "muted": False,
            "messages": [],
        }
        self._tell("conversation_created", conversation_of(self.conversations[id]))

    def say(self, id: int, at: float, kind: str, content: str, **given: Any) -> dict[str, Any]:
        conversation = self.conversations[id]
        self.last_message += 1
        message = {
            "id": self.last_message,
            "content": content,
            "message_type": kind,
            "private": bool(given.get("private")),
            "content_attributes": given.get("content_attributes", {}),
            "created_at": at,
            "sender": given.get("sender") or sender_of(kind, conversation),
        }
        conversation["messages"].append(message)
        conversation["updated_at"] = conversation["last_activity_at"] = at
        self._tell("message_created", message_of(self.account, conversation, message))
        if kind == "incoming" and conversation["status"] == "resolved":
            self.set(id, at + 0.001, status="open")
        return message

    def edit(self, id: int, at: float, message: int, content: str) -> None:
        [found] = [one for one in self.conversations[id]["messages"] if one["id"] == message]
        found["content"], self.conversations[id]["updated_at"] = content, at
        self._tell("message_updated", message_of(self.account, self.conversations[id], found))

    def set(self, id: int, at: float, **changes: Any) -> None:
        """A change of attributes, which is told of as Chatwoot does: a status twice."""
        conversation, changed = self.conversations[id], []
        for name, value in changes.items():
            if conversation[name] != value:
                was = {"previous_value": plain(conversation[name]), "current_value": plain(value)}
                changed.append({_CALLED.get(name, name): was})
                conversation[name] = value
        if not changed:
            return
        conversation["updated_at"] = at
        document = {**conversation_of(self.conversations[id]), "changed_attributes": changed}
        if "status" in changes:
            only = [one for one in changed if "status" in one]
            self._tell("conversation_status_changed", {**document, "changed_attributes": only})
        self._tell("conversation_updated", document)

    def remove(self, id: int) -> None:
        del self.conversations[id]

    def _tell(self, event: str, document: dict[str, Any]) -> None:
        body = json.dumps({**document, "event": event}).encode()
        # Seeded, so that two runs of one story give the same.
        delivery = str(UUID(int=self.seed.getrandbits(128), version=4))
        self.events.append({"event": event, "delivery": delivery, "body": body.decode()})

    # Its API.

    def answer(self, method: str, path: str, query: str, body: dict[str, Any], token: str) -> Any:
        found = PATH.fullmatch(path)
        if token != self.token:
            raise Refused(401, "Invalid Access Token")
        if found is None or found[1] != self.account:
            raise Refused(404, "Resource could not be found")
        id = int(found[2])
        if id not in self.conversations:
            raise Refused(404, "Resource could not be found")
        call = getattr(self, f"_{method.lower()}_{found[3] or 'show'}", None)
        if call is None:
            raise Refused(404, "Resource could not be found")
        return call(id, parse_qs(query) if method == "GET" else body)

    def _time(self) -> float:
        return self.now if self.now is not None else time.time()

    def _get_show(self, id: int, _query: Any) -> Any:
        return conversation_of(self.conversations[id])

    def _get_messages(self, id: int, query: dict[str, list[str]]) -> Any:
        found = self.conversations[id]["messages"]
        if "before" in query:
            found = [one for one in found if one["id"] < int(query["before"][0])]
        return {"meta": {}, "payload": [pushed(id, one) for one in found[-PAGE:]]}

    def _post_messages(self, id: int, body: dict[str, Any]) -> Any:
        if not isinstance(body.get("content"), str) or not body["content"]:
            raise Refused(422, "Content can't be blank")
        made = self.say(
            id,
            self._time(),
            body.get("message_type", "outgoing"),
            body["content"],
            private=body.get("private", False),
            content_attributes=body.get("content_attributes", {}),
            sender={"id": 1, "name": "Desk", "type": "user"},
        )
        return pushed(id, made)

    def _get_labels(self, id: int, _query: Any) -> Any:
        return {"payload": list(self.conversations[id]["labels"])}

    def _post_labels(self, id: int, body: dict[str, Any]) -> Any:
        self.set(id, self._time(), labels=list(dict.fromkeys(body.get("labels", []))))
        return self._get_labels(id, None)

    def _post_toggle_status(self, id: int, body: dict[str, Any]) -> Any:
        status = body.get("status")
        if status is None:
            status = "resolved" if self.conversations[id]["status"] == "open" else "open"
        if status not in STATUSES:
            raise Refused(422, f"'{status}' is not a valid status")
        self.set(id, self._time(), status=status)
        return {"meta": {}, "payload": {"success": True, "current_status": status, "conversation_id": id}}

    def _post_assignments(self, id: int, body: dict[str, Any]) -> Any:
        if "assignee_id" in body:
            self.set(id, self._time(), assignee=body["assignee_id"] or None)
        elif "team_id" in body:
            self.set(id, self._time(), team=body["team_id"] or None)
        return None

    def _post_toggle_priority(self, id: int, body: dict[str, Any]) -> Any:
        if body.get("priority") not in PRIORITIES:
            raise Refused(422, "is not a valid priority")
        self.set(id, self._time(), priority=body.get("priority"))
        return None

    def _post_mute(self, id: int, _body: Any) -> Any:
        self.conversations[id]["muted"] = True
        self.set(id, self._time(), status="resolved")
        return None

    def _post_transcript(self, id: int, body: dict[str, Any]) -> Any:
        if not body.get("email"):
            raise Refused(422, "email param missing")
        self.transcripts.append({"conversation": id, "email": body["email"]})
        return None

    # How it fails, and what a test asks.

    def fault_for(self, method: str, path: str) -> str | None:
        for fault in self.faults:
            if fault["times"] > 0 and fault.get("method") in (None, method) and fault["path"] in path:
                fault["times"] -= 1
                return str(fault["do"])
        return None

    def is_flooded(self) -> bool:
        if self.flood is None:
            return False
        most, seconds = self.flood
        now = time.monotonic()
        self.asked = [at for at in self.asked if at > now - seconds]
        self.asked.append(now)
        return len(self.asked) > most

    def counts(self) -> dict[str, Any]:
        sent = Counter(
            message["content_attributes"].get(KEY, "")
            for one in self.conversations.values()
            for message in one["messages"]
            if message["message_type"] == "outgoing"
            and not message["private"]
            and KEY in message["content_attributes"]
        )
        return {"messages": sent, "transcripts": self.transcripts, "requests": len(self.requests)}

    def deliver(self, url: str, events: list[dict[str, Any]]) -> list[int]:
        """Send signed webhooks; what was answered to each, 0 where nothing was."""
        parts = urlsplit(url)
        answers = []
        for event in events:
            headers = self.signed(event, int(self._time()))
            connection = HTTPConnection(parts.hostname or "", parts.port, timeout=5)
            try:
                connection.request("POST", parts.path, event["body"].encode(), headers)
                answers.append(connection.getresponse().status)
            except OSError:
                answers.append(0)
            finally:
                connection.close()
        return answers

    def signed(self, event: dict[str, Any], stamp: int) -> dict[str, str]:
        signing = hmac.new(self.secret.encode(), f"{stamp}.{event['body']}".encode(), hashlib.sha256)
        return {
            "content-type": "application/json",
            "x-chatwoot-delivery": event["delivery"],
            "x-chatwoot-timestamp": str(stamp),
            "x-chatwoot-signature": f"sha256={signing.hexdigest()}",
        }

    def control(self, verb: str, given: dict[str, Any]) -> Any:
        if verb == "do":
            return [getattr(self, act.pop("act"))(**act) for act in given["acts"]][-1]
        if verb == "take_events":
            taken, self.events = self.events, []
            return _shuffled(taken, given)
        if verb == "deliver":
            taken, self.events = self.events, []
            return self.deliver(given["url"], _shuffled(taken, given))
        if verb == "fail":
            self.faults.append({"times": 1, **given})
        elif verb == "flood":
            self.flood, self.asked = (given["requests"], given["seconds"]), []
        elif verb == "clock":
            self.now = given["now"]
        elif verb == "requests":
            return self.requests
        elif verb == "conversation":
            return self.conversations.get(given["id"])
        return self.counts() if verb == "counts" else None


_CALLED = {"labels": "label_list", "assignee": "assignee_id", "team": "team_id"}


def _shuffled(events: list[dict[str, Any]], given: dict[str, Any]) -> list[dict[str, Any]]:
    """Some doubled, some dropped, in another order, as the chances in `given` say."""
    chance = random.Random(given.get("seed", 0))
    kept = [one for one in events if chance.random() >= given.get("drop", 0)]
    kept += [one for one in kept if chance.random() < given.get("double", 0)]
    if given.get("shuffle"):
        chance.shuffle(kept)
    return kept


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    desk: Desk

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        body = json.loads(raw) if raw else {}
        parts = urlsplit(self.path)
        if parts.path.startswith("/control/"):
            with self.desk.lock:
                self._say(200, self.desk.control(parts.path.removeprefix("/control/"), body))
            return
        with suppress(OSError):
            self._api(parts.path, parts.query, body)

    do_GET = do_POST

    def _api(self, path: str, query: str, body: dict[str, Any]) -> None:
        with self.desk.lock:
            token = self.headers.get("api_access_token", "")
            self.desk.requests.append({"method": self.command, "path": path, "query": query, "body": body})
            fault = self.desk.fault_for(self.command, path)
            if self.desk.is_flooded():
                return self._say(429, {"error": "Retry later"})
            if fault == "cut":
                return self._hang_up()
            if fault is not None and fault.isdigit():
                return self._say(int(fault), {"error": "something about " + str(body)})
            if fault != "hang":
                try:
                    answer = self.desk.answer(self.command, path, query, body, token)
                except Refused as refused:
                    return self._say(refused.status, {"error": str(refused)})
        if fault == "cut_after":
            return self._hang_up()
        if fault in ("hang", "hang_after"):
            self.desk.closing.wait()
            return None
        if fault is not None and fault.endswith("_after"):
            return self._say(int(fault.removesuffix("_after")), {"error": "late"})
        return self._say(200, answer)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.close()

    def _say(self, status: int, document: Any) -> None:
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def serve(account: str, token: str, secret: str) -> None:
    """Serve on a free port, which is the first line of output, until the one who started it is gone."""
    Handler.desk = Desk(account, token, secret)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    serve(*sys.argv[1:4])
