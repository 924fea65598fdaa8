"""A Slack on the loopback interface: real HTTP, scripted faults, and it keeps what was delivered.

::

    with FakeSlack() as slack:
        slack.fault("chat.postMessage", http(429, retry_after=3), no_answer(delivered=True))
        ...            # base URL `slack.url`, token `slack.token`, or the webhook `slack.webhook_url`
        slack.messages # what people would see, oldest first

Faults of a method are used up one call after the other; after that it works. Methods are chat.postMessage,
conversations.history, users.conversations, files.getUploadURLExternal, files.completeUploadExternal,
`upload` and `webhook`.
"""

import itertools
import json
import socket
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Fault:
    """How one call goes wrong; `delivered`: it takes effect first, only its answer is lost or replaced."""

    kind: str
    delivered: bool = False
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def http(status, *, retry_after=None, body=b"{}", delivered=False, headers=None):
    """An HTTP answer of Slack or of a proxy before it."""
    extra = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Fault("answer", delivered, status, body, extra | (headers or {}))


def refusal(code, **more):
    """`ok: false` with an error code."""
    return Fault("answer", body=json.dumps({"ok": False, "error": code, **more}).encode())


def no_answer(*, delivered):
    """The client waits until it gives up."""
    return Fault("silence", delivered)


def hang_up(*, delivered):
    """The connection is closed without an answer."""
    return Fault("hang_up", delivered)


SCOPES = {
    "auth.test": "chat:write",
    "chat.postMessage": "chat:write",
    "conversations.history": "channels:history",
    "users.conversations": "channels:read",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
}


class FakeSlack:
    """One workspace with one bot and one webhook; start it as a context manager."""

    def __init__(self, *, page_size=100):
        self.token = "xoxb-test"
        self.scopes = set(SCOPES.values())
        self.channels = {"rag-alerts": "C0RAGALERTS"}
        self.messages = []
        self.files = []
        self.calls = []
        self.page_size = page_size
        self._faults = defaultdict(list)
        self._uploads = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._server = None

    def __enter__(self):
        handler = type("Handler", (_Handler,), {"slack": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        return self

    def __exit__(self, *error):
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def root(self):
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self):
        """Base URL of the web API."""
        return f"{self.root}/api/"

    @property
    def webhook_url(self):
        """The address of the webhook, a secret."""
        return f"{self.root}/services/T000/B000/secret"

    def fault(self, method, *faults):
        """Let the next calls of a method go wrong, one after the other."""
        self._faults[method].extend(faults)

    def forget_faults(self):
        """From now on everything works."""
        self._faults.clear()

    def count(self, method):
        """How often a method was called."""
        return self.calls.count(method)

    def answer(self, path, body, headers):
        """The fault or result for one request: `(Fault | None, result bytes)`."""
        method = self._method_of(path)
        with self._lock:
            self.calls.append(method)
            fault = self._faults[method].pop(0) if self._faults[method] else None
            result = b"" if fault and not fault.delivered else self._run(method, path, body, headers)
        return fault, result

    def wait(self):
        """Hold a silent answer until the test is over."""
        self._stopped.wait(10)

    def _method_of(self, path):
        if path.startswith("/services/"):
            return "webhook"
        return "upload" if path.startswith("/upload/") else path.removeprefix("/api/")

    def _run(self, method, path, body, headers):
        if method == "webhook":
            self._keep({**json.loads(body), "channel": None, "via": "webhook"})
            return b"ok"
        if method == "upload":
            self._uploads[path.rpartition("/")[2]]["data"] = body
            return b"OK"
        return json.dumps(self._api(method, _fields(body, headers), headers)).encode()

    def _api(self, method, fields, headers):
        if headers.get("Authorization") != f"Bearer {self.token}":
            return {"ok": False, "error": "invalid_auth"}
        needed = SCOPES.get(method)
        if needed is None:
            return {"ok": False, "error": "unknown_method"}
        if needed not in self.scopes:
            return {"ok": False, "error": "missing_scope", "needed": needed}
        return getattr(self, "_" + method.replace(".", "_"))(fields)

    def _auth_test(self, fields):
        return {"ok": True, "user": "ragchecks", "team": "Testers", "user_id": "U1", "team_id": "T1"}

    def _chat_postMessage(self, fields):  # noqa: N802 - as the method of Slack
        channel = fields["channel"].removeprefix("#")
        place = self.channels.get(channel, channel if channel in self.channels.values() else None)
        if place is None:
            return {"ok": False, "error": "channel_not_found"}
        if len(fields.get("blocks", [])) > 50:
            return {"ok": False, "error": "invalid_blocks"}
        ts = self._keep({**fields, "channel": place, "via": "api"})
        return {"ok": True, "channel": place, "ts": ts}

    def _keep(self, message):
        ts = f"{time.time():.3f}{next(self._numbers):03d}"
        self.messages.append({**message, "ts": ts})
        return ts

    def _conversations_history(self, fields):
        if fields["channel"] not in self.channels.values():  # real Slack takes ids only
            return {"ok": False, "error": "channel_not_found"}
        there = [
            message
            for message in reversed(self.messages)
            if message["channel"] == fields["channel"] and float(message["ts"]) > float(fields["oldest"])
        ]
        hidden = set() if fields.get("include_all_metadata") == "1" else {"metadata"}
        page = [{k: v for k, v in message.items() if k not in hidden} for message in there]
        return {"ok": True, **self._page("messages", page, fields)}

    def _users_conversations(self, fields):
        listed = [{"id": place, "name": name} for name, place in self.channels.items()]
        return {"ok": True, **self._page("channels", listed, fields)}

    def _page(self, key, rows, fields):
        start = int(fields.get("cursor") or 0)
        end = start + min(self.page_size, int(fields.get("limit", 100)))
        return {
            key: rows[start:end],
            "response_metadata": {"next_cursor": str(end) if end < len(rows) else ""},
        }

    def _files_getUploadURLExternal(self, fields):  # noqa: N802 - as the method of Slack
        file_id = f"F{next(self._numbers):08d}"
        self._uploads[file_id] = {"name": fields["filename"], "length": int(fields["length"])}
        return {"ok": True, "file_id": file_id, "upload_url": f"{self.root}/upload/{file_id}"}

    def _files_completeUploadExternal(self, fields):  # noqa: N802 - as the method of Slack
        done = json.loads(fields["files"])
        if fields.get("channel_id") not in self.channels.values():
            return {"ok": False, "error": "channel_not_found"}
        for file in done:
            upload = self._uploads.pop(file["id"])
            self.files.append(
                {**upload, **file, "channel": fields["channel_id"], "thread_ts": fields["thread_ts"]}
            )
        return {"ok": True, "files": done}


class _Handler(BaseHTTPRequestHandler):
    slack: FakeSlack

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault, result = self.slack.answer(urlsplit(self.path).path, body, self.headers)
        if fault is None:
            self._reply(200, result, {})
        elif fault.kind == "answer":
            self._reply(fault.status, fault.body, fault.headers)
        else:
            if fault.kind == "silence":
                self.slack.wait()
            self.close_connection = True

    def _reply(self, status, body, headers):
        self.send_response(status)
        for name, value in (
            {"Content-Type": "application/json", "Content-Length": str(len(body))} | headers
        ).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Keep tests quiet."""


def _fields(body, headers):
    if "json" in headers.get("Content-Type", ""):
        return json.loads(body)
    return {name: values[0] for name, values in parse_qs(body.decode()).items()}


def refused_url():
    """The base URL of a Slack that is not there."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}/api/"
