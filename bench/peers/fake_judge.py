"""The endpoint all tools are measured against: answers each tool's prompts in the shape it wants, no model.

    python bench/peers/fake_judge.py      prints its port; POST /__config {"latency": 0.2, "fault_rate": 0.1}
                                          begins a count, GET /__stats reads it

RAG Checks' tasks are answered from the data in the prompt, everything else by walking the schema asked for.
"""

import array
import asyncio
import base64
import json
import socket
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import uvicorn
from faults import Faults, spoilt
from schema_walk import judged, schema_of, walk

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from fake_openai import data_of, estimated_tokens, good_output, vector

DIMENSIONS = 256


class Count:
    """What was asked since the last /__config."""

    def __init__(self, latency: float = 0.0, fault_rate: float = 0.0) -> None:
        self.latency = latency
        self.faults = Faults(fault_rate)
        self.calls: Counter[str] = Counter()
        self.prompt_tokens = 0
        self.prompts: Counter[int] = Counter()
        self.in_flight = self.most_in_flight = 0
        self.busy_s, self.first, self.last = 0.0, 0.0, 0.0

    def enter(self, step: int) -> None:
        """One request more or less in flight."""
        now = time.perf_counter()
        self.first = self.first or now
        self.busy_s += self.in_flight * (now - (self.last or now))
        self.last = now
        self.in_flight += step
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def told(self) -> dict[str, Any]:
        """As JSON."""
        span = self.last - self.first
        return {
            "calls": dict(self.calls),
            "prompt_tokens": self.prompt_tokens,
            "repeated_prompts": sum(count - 1 for count in self.prompts.values()),
            "most_in_flight": self.most_in_flight,
            "mean_in_flight": round(self.busy_s / span, 1) if span else 0,
            "faults": dict(self.faults.drawn),
        }


class FakeJudge:
    """The ASGI application."""

    def __init__(self) -> None:
        self.count = Count()

    async def __call__(self, scope, receive, send) -> None:
        """Serve one request."""
        path, body = scope["path"], await _read(receive)
        if path == "/__config":
            self.count = Count(**body)
        if path.startswith("/__"):
            await _reply(send, 200, self.count.told())
            return
        count = self.count
        count.enter(1)
        try:
            if path.endswith("/embeddings"):
                await self._embed(count, body, send)
            elif path.endswith("/chat/completions"):
                await self._chat(count, body, send)
            else:
                await _reply(send, 404, {"error": {"message": f"no {path}"}})
        finally:
            count.enter(-1)

    async def _chat(self, count: Count, body: dict[str, Any], send) -> None:
        for message in body["messages"]:
            message["content"] = _text(message["content"])
        asked = [message["content"] for message in body["messages"]]
        data = data_of(body)
        schema = None if data else schema_of(body, "\n".join(asked))
        probe = asked[0].startswith("Greet the reader")
        count.calls["probe" if probe else "chat"] += 1
        # The schema is part of what the model reads, whether it is sent beside the prompt or inside it.
        told = json.dumps(body.get("response_format", {}).get("json_schema", ""), ensure_ascii=False)
        tokens = sum(estimated_tokens(text) for text in [*asked, told])
        count.prompt_tokens += tokens
        count.prompts[hash(tuple(asked))] += 1
        kind = None if probe else count.faults.draw("\x00".join(asked))
        await asyncio.sleep(count.latency)
        if await _broken(send, kind):
            return
        # A tool that asks again adds to the prompt: the answer is that of the first messages.
        first = "\n".join(asked[:2])
        if probe:
            output: Any = {"reason": "a greeting", "ok": True}
        elif data is not None:
            output = judged(good_output(data), data)
        elif schema is not None:
            output = walk(schema, first)
        else:
            output = "I have no opinion."
        text = spoilt(output, kind)
        await _reply(send, 200, _completion(body, text, kind, tokens))

    async def _embed(self, count: Count, body: dict[str, Any], send) -> None:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        count.calls["embeddings"] += 1
        await asyncio.sleep(count.latency)
        rows = []
        for index, text in enumerate(texts):
            numbers: Any = vector(text, DIMENSIONS)
            if body.get("encoding_format") == "base64":
                numbers = base64.b64encode(array.array("f", numbers).tobytes()).decode()
            rows.append({"object": "embedding", "index": index, "embedding": numbers})
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        await _reply(send, 200, {"object": "list", "data": rows, "model": body["model"], "usage": usage})


async def _broken(send, kind: str | None) -> bool:
    """Send what no client can read, if that is the fault."""
    if kind in {"429", "500", "503"}:
        headers = {"retry-after": "1"} if kind == "429" else {}
        await _reply(send, int(kind), {"error": {"message": "try again", "code": kind}}, headers)
    elif kind == "disconnect":
        await _send(send, 200, b'{"id"', {"content-length": "5000"})
    elif kind == "html":
        await _send(send, 200, b"<html>502 Bad Gateway</html>", {"content-type": "text/html"})
    else:
        return False
    return True


def _completion(body: dict[str, Any], text: str | None, kind: str | None, tokens: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if kind == "refusal":
        message["refusal"] = "I can't assist with that."
    completion = estimated_tokens(text or "")
    choice = {"index": 0, "message": message, "finish_reason": "length" if kind == "truncated" else "stop"}
    if body.get("logprobs"):
        choice["logprobs"] = {"content": [_token(part) for part in (text or "").split()], "refusal": None}
    usage = {"prompt_tokens": tokens, "completion_tokens": completion, "total_tokens": tokens + completion}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "system_fingerprint": "fake",
        "choices": [choice],
        "usage": usage,
    }


def _token(text: str) -> dict[str, Any]:
    one = {"token": text, "logprob": -0.1, "bytes": list(text.encode())}
    return one | {"top_logprobs": [one]}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [])


async def _read(receive) -> Any:
    parts, more = [], True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return json.loads(b"".join(parts) or b"{}")


async def _reply(send, status: int, payload: Any, headers: dict[str, str] | None = None) -> None:
    data = json.dumps(payload, ensure_ascii=False).encode()
    await _send(send, status, data, {"content-type": "application/json"} | (headers or {}))


async def _send(send, status: int, data: bytes, headers: dict[str, str]) -> None:
    headers = {"content-length": str(len(data))} | headers
    pairs = [(key.encode(), value.encode()) for key, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": data})


def main() -> None:
    """Serve until ended; the first line printed is the port."""
    config = uvicorn.Config(
        FakeJudge(), access_log=False, log_level="critical", timeout_keep_alive=120, lifespan="off"
    )
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        print(listening.getsockname()[1], flush=True)
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
