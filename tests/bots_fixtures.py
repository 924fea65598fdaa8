"""A real loopback server that plays a bot from a script, and a short item."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from rag_checks.records import EvalItem


class ScriptedBot:
    """Plays `replies` in order, the last one for ever, and records the requests.

    A reply is a JSON value (sent with 200), or a callable that is given the request handler.
    """

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        self.running = self.peak = 0
        self._lock = threading.Lock()

    @contextmanager
    def serve(self) -> Iterator[str]:
        """The base URL of the running server."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        script = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                """Say nothing."""

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                script.play(self, body)

            do_GET = do_POST = do_PUT = handle_any  # noqa: N815 - names the server looks for

        return Handler

    def play(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        """Record a request and send the next reply."""
        with self._lock:
            url = urlsplit(handler.path)
            self.requests.append(
                {
                    "method": handler.command,
                    "path": url.path,
                    "query": {name: values[0] for name, values in parse_qs(url.query).items()},
                    "headers": handler.headers,
                    "json": json.loads(body) if body else None,
                }
            )
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
            self.running += 1
            self.peak = max(self.peak, self.running)
        try:
            if callable(reply):
                reply(handler)
            else:
                send(handler, 200, json.dumps(reply))
        finally:
            with self._lock:
                self.running -= 1


def send(
    handler: BaseHTTPRequestHandler, status: int, body: str, headers: dict[str, str] | None = None
) -> None:
    """One complete reply."""
    content = body.encode()
    handler.send_response(status)
    for name, value in ({"content-type": "application/json"} | (headers or {})).items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def replying(
    status: int, body: str = "", headers: dict[str, str] | None = None
) -> Callable[[BaseHTTPRequestHandler], None]:
    """A reply with that status and body."""
    return lambda handler: send(handler, status, body, headers)


def slowly(reply: Any, seconds: float) -> Callable[[BaseHTTPRequestHandler], None]:
    """A reply after a while."""

    def play(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        send(handler, 200, json.dumps(reply))

    return play


def dripping(handler: BaseHTTPRequestHandler) -> None:
    """A body that never ends, one byte at a time: no single read takes long."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "100000")
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.02)


def hanging_up(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without a word."""
    handler.close_connection = True
    handler.connection.close()


def make_item(user_input: str = "年假几天？", **fields: Any) -> EvalItem:
    """A question."""
    return EvalItem(item_id="i1", user_input=user_input, **fields)
