"""A fake OpenAI-compatible endpoint on 127.0.0.1 with every fault a judge meets.

It answers the judge's tasks from the data in the prompt, deterministically: claims are the sentences of the
text, a claim is supported when its words are in the contexts (or the other text), a rubric's point is met
when the answer holds it, its grade is the first label. Faults are named modes; an endpoint that cannot do
something is set up with `rejects` and `ignores_format`.

In tests: `with FakeOpenAI() as fake: …`. As a process of its own: `python tests/fake_openai.py --latency 0.2`
prints its port.
"""

import argparse
import asyncio
import json
import math
import re
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import uvicorn

_SENTENCE = re.compile(r"[^。！？.!?]+[。！？.!?]?")
_RETRY_LATER = {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}

# Status, error and headers of each mode.
_ERRORS: dict[str, tuple[int, Any, dict[str, str]]] = {
    "429": (429, _RETRY_LATER, {}),
    "429_retry_after": (429, _RETRY_LATER, {"retry-after": "0.2"}),
    "429_long": (429, _RETRY_LATER, {"retry-after": "3600"}),
    "408": (408, {"message": "request timeout"}, {}),
    "409": (409, {"message": "conflict"}, {}),
    "500": (500, {"message": "The server had an error"}, {}),
    "503": (503, {"message": "overloaded"}, {}),
    "quota": (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}, {}),
    "402": (402, {"message": "Insufficient Balance"}, {}),
    "401": (401, {"message": "Incorrect API key provided: sk-secret-1", "code": "invalid_api_key"}, {}),
    "403": (403, {"message": "Project does not have access"}, {}),
    "403_flagged": (403, {"message": "Your input was flagged by moderation"}, {}),
    "model": (404, {"message": "The model `judge-1` does not exist", "code": "model_not_found"}, {}),
    "model_400": (400, {"message": "Model Not Exist", "code": "invalid_request_error"}, {}),
    "path": (404, {"message": "Not Found"}, {}),
    "filter_400": (
        400,
        {"message": "The response was filtered by the content management policy", "code": "content_filter"},
        {},
    ),
    "filter_zh": (400, {"message": "输入内容包含敏感信息", "code": "1301"}, {}),
    "too_long": (
        400,
        {"message": "This model's maximum context length is 4096 tokens", "code": "context_length_exceeded"},
        {},
    ),
    "odd_400": (400, {"message": "invalid request"}, {}),
}

_JSON = {"content-type": "application/json"}
_ODD_REPLIES: dict[str, tuple[dict[str, str], bytes]] = {
    "disconnect": ({"content-length": "5000"}, b'{"id"'),
    "html": ({"content-type": "text/html"}, b"<html>502 Bad Gateway</html>"),
    "broken_json": (_JSON, b'{"choices": [{"mess'),
    "error_200": (_JSON, b'{"error": {"message": "upstream overloaded", "code": 503}}'),
    "no_choices": (_JSON, b'{"id": "x", "choices": []}'),
    "no_message": (_JSON, b'{"id": "x", "choices": [{}]}'),
}


@dataclass
class State:
    """What the fake does and has seen. `faults` is asked with the number of the task call, from 0."""

    faults: Callable[[int, dict[str, Any]], str | None] = lambda _number, _body: None
    probe_faults: list[str] = field(default_factory=list)
    rejects: tuple[str, ...] = ()
    ignores_format: bool = False
    latency_s: float = 0.0
    model: str = "judge-1-2026-05"
    system_fingerprint: str | None = "fp_1"
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    probes: list[dict[str, Any]] = field(default_factory=list)
    embedded: list[list[str]] = field(default_factory=list)
    arrived: list[float] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    keep_requests: bool = True
    first_request: threading.Event = field(default_factory=threading.Event)


def script(*modes: str | None) -> Callable[[int, dict[str, Any]], str | None]:
    """Faults by call number; calls after the last are fine."""
    return lambda number, _body: modes[number] if number < len(modes) else None


def always(mode: str) -> Callable[[int, dict[str, Any]], str | None]:
    """The same fault on every task call."""
    return lambda _number, _body: mode


def data_of(body: dict[str, Any]) -> dict[str, Any] | None:
    """The data of a task's prompt; None for a probe."""
    for message in body["messages"]:
        if message["role"] == "user" and message["content"].startswith("<data>\n"):
            return json.loads(message["content"].removeprefix("<data>\n").removesuffix("\n</data>"))
    return None


def rubric_of(body: dict[str, Any]) -> dict[str, Any] | None:
    """The rubric in the instructions of a task's prompt; None for other tasks."""
    lines = body["messages"][0]["content"].splitlines()
    found = [line for line in lines if line.startswith('{"question":') and '"labels":' in line]
    return json.loads(found[-1]) if found else None  # those before the last are examples


def good_grade(rubric: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """What an honest judge would reply to a rubric."""
    points = [
        {"id": int(number), "reason": "It was looked for.", "met": point in data.get("answer", "")}
        for number, point in rubric.get("points", {}).items()
    ]
    grade = {"reason": "So it seems.", "label": next(iter(rubric["labels"]))}
    return {"points": points, **grade} if points else grade


def good_output(data: dict[str, Any]) -> dict[str, Any]:
    """What an honest judge would reply to the data."""
    if "citations" in data:
        return {
            "citations": [
                _verdicts({number: one["sentence"]}, data["contexts"][str(one["context"])])[0]
                for number, one in data["citations"].items()
            ]
        }
    if "contexts" in data:
        source = " ".join(data["contexts"].values())
        output = {
            name: _verdicts(data[name], source)
            for name in ("answer_claims", "reference_claims")
            if name in data
        }
        if data.get("rate_contexts"):
            output["contexts"] = [
                {"id": int(number), "reason": "It was read.", "useful": data["question"][:4] in text}
                for number, text in data["contexts"].items()
            ]
        return output
    if "answer_claims" in data:
        return {
            "answer_claims": _verdicts(data["answer_claims"], data["reference"]),
            "reference_claims": _verdicts(data["reference_claims"], data["answer"]),
        }
    claims = [part.strip() for part in _SENTENCE.findall(data.get("answer") or data.get("reference", ""))]
    claims = [claim for claim in claims if claim]
    if "answer" in data:
        return {
            "noncommittal": not claims,
            "claims": claims,
            "questions": [f"What about {claim[:40]}?" for claim in claims[:3]],
        }
    return {"claims": claims}


def _verdicts(claims: dict[str, str], source: str) -> list[dict[str, Any]]:
    return [
        {"id": int(number), "reason": "It's as the text says.", "supported": claim.rstrip("。.") in source}
        for number, claim in claims.items()
    ]


def _with_first_list(output: dict[str, Any], change: Callable[[list[Any]], list[Any]]) -> str:
    lists = ("answer_claims", "reference_claims", "contexts", "citations", "points")
    name = next(name for name in lists if output.get(name))
    return json.dumps(output | {name: change(output[name])}, ensure_ascii=False)


def _full_width(text: str) -> str:
    for plain, wide in (('"', "”"), (": ", "："), (", ”", "，“"), ("{", "｛"), ("}", "｝")):
        text = text.replace(plain, wide)
    return text


# Bad habits of models: the good output, as object and as text, as such a model writes it.
_HABITS: dict[str, Callable[[dict[str, Any], str], str | None]] = {
    "fenced": lambda _output, text: f"```json\n{text}\n```",
    "prose": lambda _output, text: f"Sure! Here is the JSON:\n\n{text}\n\nHope it helps {{smile}}.",
    "think": lambda _output, text: f'<think>maybe {{"claims": ["x"]}} or so</think>\n{text}',
    "think_tail": lambda _output, text: f"first I look at {{it}}</think>{text}",
    "single_quotes": lambda output, _text: repr(output),
    "trailing_comma": lambda _output, text: text.replace("}]", "},]").replace("}", ",}"),
    "full_width": lambda _output, text: _full_width(text),
    "malformed": lambda _output, text: text.replace('":', '" ', 1),
    "empty": lambda _output, _text: "",
    "null": lambda _output, _text: None,
    "filter_200": lambda _output, _text: None,
    "refusal": lambda _output, _text: None,
    "refusal_text": lambda _output, _text: "I'm sorry, but I can't help with that request.",
    "truncated": lambda _output, text: text[: int(len(text) * 0.6)],
    "missing_verdict": lambda output, _text: _with_first_list(output, lambda rows: rows[1:]),
    "duplicate_id": lambda output, _text: _with_first_list(output, lambda rows: [rows[0], *rows]),
    "unknown_id": lambda output, _text: _with_first_list(output, lambda rows: [*rows, rows[0] | {"id": 99}]),
    "string_bools": lambda _o, text: re.sub(r"\b(true|false)\b", lambda found: f'"{found[0].title()}"', text),
    "zh_bools": lambda _output, text: text.replace("true", '"是"').replace("false", '"否"'),
    "number_bools": lambda _output, text: text.replace("true", "1").replace("false", "0"),
    "score_bools": lambda _output, text: re.sub(r"\b(true|false)\b", "9", text),
    "two_answers": lambda _output, text: text + "\n" + text.replace("true", "false"),
    "blank_claim": lambda output, _text: json.dumps(output | {"claims": ["  "]}),
    "missing_field": lambda output, _text: json.dumps(dict(list(output.items())[:-1])),
    "list": lambda output, _text: json.dumps([output]),
    "prompt_echo": lambda _output, text: f"The data was {{not JSON}}: {text}",
}
_FINISH = {"truncated": "length", "whole_at_limit": "length", "filter_200": "content_filter"}


def spoilt(output: dict[str, Any], mode: str | None) -> str | None:
    """The output as a model with a bad habit writes it; None for null content."""
    text = json.dumps(output, ensure_ascii=False)
    return _HABITS[mode](output, text) if mode in _HABITS else text


class FakeOpenAI:
    """The endpoint; as a context manager it serves from a thread."""

    def __init__(self) -> None:
        self.state = State()

    @property
    def url(self) -> str:
        """The base URL; still told after the end."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._port = self._socket.getsockname()[1]
        self._server = uvicorn.Server(server_config(self))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(10)
        self._socket.close()

    def reset(self) -> State:
        """Forget everything; the new state."""
        self.state = State()
        return self.state

    async def __call__(self, scope, receive, send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        state = self.state
        if scope["path"] == "/__stats":
            await _reply(send, 200, {"calls": state.calls, "prompt_tokens": state.prompt_tokens})
            return
        body = json.loads(await _read(receive))
        state.calls += 1
        state.in_flight += 1
        state.most_in_flight = max(state.most_in_flight, state.in_flight)
        state.arrived.append(time.monotonic())
        if state.keep_requests:
            state.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        try:
            if scope["path"] == "/v1/embeddings":
                await self._embeddings(state, body, send)
            elif scope["path"] == "/v1/chat/completions":
                await self._chat(state, body, receive, send)
            else:
                await _reply(send, 404, {"error": {"message": f"no {scope['path']}"}})
        finally:
            state.in_flight -= 1

    async def _chat(self, state: State, body: dict[str, Any], receive, send) -> None:
        begun = time.monotonic()
        data = data_of(body)
        seen = state.probes if data is None else state.requests
        number = len(seen)
        seen.append(body if state.keep_requests else {})
        if data is not None:
            state.first_request.set()
        if data is None:
            mode = state.probe_faults[number] if number < len(state.probe_faults) else None
        else:
            mode = state.faults(number, body)
        rejected = _rejected(state, body)
        plain = not rejected and mode not in _ERRORS and mode not in _ODD_REPLIES and mode != "timeout"
        completion = self._completion(state, body, data, mode) if plain else {}
        if state.latency_s:
            # The reply is there `latency_s` after the request, whatever thinking it up has cost.
            await asyncio.sleep(max(0.0, state.latency_s - (time.monotonic() - begun)))
        if rejected:
            await _reply(send, 400, {"error": {"message": rejected, "type": "invalid_request_error"}})
        elif mode in _ERRORS:
            status, error, headers = _ERRORS[mode]
            await _reply(send, status, {"error": error}, headers)
        elif mode == "timeout":
            while (await receive())["type"] != "http.disconnect":
                pass
        elif mode in _ODD_REPLIES:
            headers, content = _ODD_REPLIES[mode]
            await _start(send, 200, headers)
            await send({"type": "http.response.body", "body": content})
        else:
            await _reply(send, 200, completion)

    def _completion(
        self, state: State, body: dict[str, Any], data: dict[str, Any] | None, mode: str | None
    ) -> dict[str, Any]:
        if data is not None:
            rubric = rubric_of(body)
            text = spoilt(good_grade(rubric, data) if rubric else good_output(data), mode)
        elif state.ignores_format or mode == "prose" or "response_format" not in body:
            text = "Hello, dear reader!"
        else:
            text = '{"reason": "a greeting", "ok": true}'
        if mode == "null":
            text = None
        finish = _FINISH.get(mode or "", "stop")
        message = {"role": "assistant", "content": text}
        if mode == "refusal":
            message["refusal"] = "I will not judge this."
        if mode == "parts":
            message["content"] = [{"type": "text", "text": text}]
        tokens = sum(estimated_tokens(one["content"]) for one in body["messages"])
        state.prompt_tokens += tokens
        return {
            "id": f"chatcmpl-{state.calls}",
            "object": "chat.completion",
            "created": 1,
            "model": state.model,
            "system_fingerprint": state.system_fingerprint,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": tokens, "completion_tokens": 10, "total_tokens": tokens + 10},
        }

    async def _embeddings(self, state: State, body: dict[str, Any], send) -> None:
        texts = body["input"]
        state.embedded.append(texts)
        mode = state.faults(len(state.embedded) - 1, body)
        if mode in _ERRORS:
            status, error, headers = _ERRORS[mode]
            await _reply(send, status, {"error": error}, headers)
            return
        rows = [{"index": index, "embedding": vector(text)} for index, text in enumerate(texts)]
        if mode == "missing_verdict":
            rows = rows[1:]
        if mode == "zero":
            rows = [row | {"embedding": [0.0, 0.0]} for row in rows]
        await _reply(
            send,
            200,
            {"object": "list", "data": list(reversed(rows)), "usage": {"prompt_tokens": len(texts)}},
        )


def vector(text: str, size: int = 32) -> list[float]:
    """Hashed character pairs: similar texts are close. A text with `opposite` points the other way."""
    values = [0.01] * size
    for start in range(max(1, len(text) - 1)):
        values[zlib.crc32(text[start : start + 2].encode()) % size] += 1
    norm = math.hypot(*values)
    return [(-value if "opposite" in text else value) / norm for value in values]


def estimated_tokens(text: str) -> int:
    """4 latin or 1.4 CJK characters a token."""
    wide = sum(1 for char in text if ord(char) > 0x2E7F)
    return int((len(text) - wide) / 4 + wide / 1.4) + 1


def _rejected(state: State, body: dict[str, Any]) -> str | None:
    for name in state.rejects:
        kind = body.get("response_format", {}).get("type", "")
        if name == "anything" and set(body) - {"model", "messages"}:
            return "bad request"
        if name in ("json_schema", "json_object"):
            if kind == name:
                return f"response_format type {name} is unavailable"
        elif name in body:
            return f"Unsupported parameter: '{name}' is not supported with this model."
    return None


async def _read(receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _start(send, status: int, headers: dict[str, str]) -> None:
    pairs: Iterable[tuple[bytes, bytes]] = [(key.encode(), value.encode()) for key, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": list(pairs)})


async def _reply(send, status: int, payload: Any, headers: dict[str, str] | None = None) -> None:
    data = json.dumps(payload, ensure_ascii=False).encode()
    every = {"content-type": "application/json", "content-length": str(len(data))} | (headers or {})
    await _start(send, status, every)
    await send({"type": "http.response.body", "body": data})


def server_config(app: FakeOpenAI) -> uvicorn.Config:
    """The server's settings."""
    return uvicorn.Config(app, access_log=False, log_level="error", timeout_keep_alive=120, lifespan="off")


def main() -> None:
    """Serve as a process of its own until it is ended; the first line printed is the port."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds a call takes")
    fake = FakeOpenAI()
    fake.state.latency_s = parser.parse_args().latency
    fake.state.keep_requests = False
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        print(listening.getsockname()[1], flush=True)  # noqa: T201 - the caller reads it
        uvicorn.Server(server_config(fake)).run(sockets=[listening])


if __name__ == "__main__":
    main()
