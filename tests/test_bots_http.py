"""The HTTP adapter against a real server: requests, mapping, failures, retries, secrets."""

import asyncio
import json
import math
import socket
import time
from datetime import date
from pathlib import Path

import pytest
from bots_fixtures import ScriptedBot, dripping, hanging_up, make_item, replying, slowly
from hypothesis import given
from hypothesis import strategies as st

from rag_checks.bots import open_bot, pointers
from rag_checks.bots.http import fill
from rag_checks.errors import BotError, ConfigError, MissingSecret
from rag_checks.monitor import HttpBot
from rag_checks.records import Message

ANSWER = {"answer": "7 天"}
HISTORY = (Message(role="user", content="你好"), Message(role="assistant", content="您好"))


def ask(script, item=None, path="/ask", **config):
    """One answer of the scripted bot through the adapter."""
    with script.serve() as base:
        return ask_url(base + path, item, **config)


def ask_url(url, item=None, **config):
    """One answer of the bot at a URL."""

    async def run():
        bot = open_bot(HttpBot(kind="http", url=url, **{"retries": 0} | config), Path())
        try:
            return await bot.ask(item or make_item())
        finally:
            await bot.close()

    return asyncio.run(run())


def failure(script, **config):
    """The BotError of one question."""
    with pytest.raises(BotError) as caught:
        ask(script, **config)
    return caught.value


def test_the_default_request_and_answer():
    """Without a mapping the question is posted as JSON and /answer read; the rest is not recorded."""
    script = ScriptedBot(ANSWER)
    response = ask(script)
    [request] = script.requests
    assert (request["method"], request["path"], request["json"]) == (
        "POST",
        "/ask",
        {"question": "年假几天？"},
    )
    assert response.response == "7 天"
    assert response.retrieved_contexts is response.retrieved_context_ids is response.intent is None
    assert 0 < response.latency_ms < 10_000
    assert response.answered_at.tzinfo is not None


def test_everything_a_reply_holds_is_mapped_by_pointers():
    """Answer, contexts, ids, intent, rewritten query and release come from where the monitor says."""
    reply = {
        "data": {
            "text": "7 天",
            "docs": [{"id": 3, "body": "年假 7 天"}, {"id": "x", "body": None}],
            "a/b": {"intent": "leave", "query": "年假 天数"},
        },
        "version": 2,
    }
    response = ask(
        ScriptedBot(reply),
        answer="/data/text",
        contexts="/data/docs/*/body",
        context_ids="/data/docs/*/id",
        intent="/data/a~1b/intent",
        rewritten_query="/data/a~1b/query",
        release="/version",
        error="/error",
    )
    assert response.response == "7 天"
    assert response.retrieved_contexts == ("年假 7 天", "")
    assert response.retrieved_context_ids == ("3", "x")
    assert (response.intent, response.rewritten_query, response.release) == ("leave", "年假 天数", "2")


@pytest.mark.parametrize(("docs", "expected"), [({"docs": []}, ()), ({"docs": None}, None), ({}, None)])
def test_retrieving_nothing_differs_from_not_saying(docs, expected):
    """An empty list is recorded as empty; null or no list at all is not recorded."""
    assert ask(ScriptedBot(ANSWER | docs), contexts="/docs/*/text").retrieved_contexts == expected


def test_a_template_is_filled_everywhere():
    """Question, id and history go into nested texts; a lone {history} becomes messages; other braces stay."""
    template = {
        "q": "Q: {user_input}",
        "meta": ["{item_id}", 5, None, "{other}"],
        "messages": "{history}",
        "text": "<{history}>",
    }
    script = ScriptedBot(ANSWER)
    ask(script, make_item(history=HISTORY), request=template, method="PUT")
    assert script.requests[0]["json"] == {
        "q": "Q: 年假几天？",
        "meta": ["i1", 5, None, "{other}"],
        "messages": [{"role": "user", "content": "你好"}, {"role": "assistant", "content": "您好"}],
        "text": "<user: 你好\nassistant: 您好>",
    }


@given(st.text())
def test_what_was_filled_in_is_never_filled_again(question):
    """A question that looks like a placeholder stays what the user wrote."""
    item = make_item(question + "{item_id}")
    filled = fill("{user_input}|{item_id}", item)
    assert filled.endswith("{item_id}|i1")
    json.dumps(filled).encode()


def test_a_get_request_carries_the_template_as_query():
    """GET has no body: texts go as they are, other values as JSON."""
    script = ScriptedBot(ANSWER)
    ask(script, method="GET", request={"q": "{user_input}", "k": 3})
    assert script.requests[0]["json"] is None
    assert script.requests[0]["query"] == {"q": "年假几天？", "k": "3"}


def test_text_is_cleaned_on_the_way_in_and_out():
    """NUL and lone surrogates neither break the request nor reach the records."""
    reply = replying(200, '{"answer": "a\\u0000b\\ud83d", "docs": ["c\\u0000"]}')
    script = ScriptedBot(reply)
    response = ask(script, make_item("q\x00\ud83d"), contexts="/docs")
    assert script.requests[0]["json"] == {"question": "q�"}
    assert response.response == "ab�"
    assert response.retrieved_contexts == ("c",)


@pytest.mark.parametrize(
    ("reply", "config", "kind", "words"),
    [
        ({"error": "upstream timeout"}, {"error": "/error"}, "reported", "upstream timeout"),
        ({"answer": "x", "error": {"code": 5}}, {"error": "/error"}, "reported", "code"),
        ({"error": "upstream timeout"}, {}, "schema", "it has: error"),
        ([1], {}, "schema", "list"),
        ({"answer": ""}, {}, "empty", "no answer"),
        ({"answer": " \n\u200b"}, {}, "empty", "no answer"),
        ({"answer": None}, {}, "empty", "no answer"),
        ({"answer": {"text": "x"}}, {}, "schema", "not text"),
        ({"answer": 5}, {}, "schema", "not text"),
        ({"answer": "x", "docs": "one"}, {"contexts": "/docs"}, "schema", "not a list"),
        ({"answer": "x", "docs": [{"t": "x"}]}, {"contexts": "/docs"}, "schema", "step into it"),
        ({"answer": "x", "i": {"name": "y"}}, {"intent": "/i"}, "schema", "bot.intent"),
        (replying(200, "<html>"), {}, "schema", "not JSON"),
        (replying(200, ""), {}, "schema", "not JSON"),
        (replying(200, "[" * 100_000), {}, "schema", "not JSON"),
        (replying(404, '{"detail": "no such route"}'), {}, "http", "no such route"),
        (replying(500), {}, "http", "HTTP 500"),
        (replying(302, "", {"location": "http://127.0.0.1:1/"}), {}, "http", "HTTP 302"),
        (hanging_up, {}, "refused", "no connection"),
        (slowly(ANSWER, 0.5), {"timeout_s": 0.1}, "timeout", "within 0.1 s"),
        (dripping, {"timeout_s": 0.2}, "timeout", "within 0.2 s"),
    ],
)
def test_every_way_to_fail_has_a_kind(reply, config, kind, words):
    """Errors in a 200, blank and missing answers, HTML, statuses, silence and drips each give their kind."""
    error = failure(ScriptedBot(reply), **config)
    assert error.kind == kind
    assert words in str(error)


@pytest.mark.parametrize("value", [None, "", 0, False, {}, []])
def test_a_blank_error_field_is_no_error(value):
    """Bots that always send an error field, blank when all went well, are not failures."""
    assert ask(ScriptedBot(ANSWER | {"error": value}), error="/error").response == "7 天"


def test_a_refused_connection_has_its_kind():
    """A port nobody listens on is refused, naming the host."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(BotError, match=f"127.0.0.1:{port}") as caught:
        ask_url(f"http://127.0.0.1:{port}/ask")
    assert caught.value.kind == "refused"


@pytest.mark.parametrize("first", [replying(503), hanging_up, replying(429, "", {"retry-after": "0"})])
def test_a_passing_failure_is_asked_again(first):
    """Overload and lost connections are retried, and the answer is returned."""
    script = ScriptedBot(first, ANSWER)
    assert ask(script, retries=1).response == "7 天"
    assert len(script.requests) == 2


def test_retry_after_is_honoured():
    """The server's own wait is kept."""
    script = ScriptedBot(replying(429, "", {"retry-after": "1"}), ANSWER)
    started = time.monotonic()
    ask(script, retries=1)
    assert time.monotonic() - started >= 1


@pytest.mark.parametrize("reply", [replying(400), {"answer": ""}, replying(401), replying(200, "x")])
def test_a_lasting_failure_is_not_asked_again(reply):
    """What another try cannot change costs one request."""
    script = ScriptedBot(reply)
    failure(script, retries=3)
    assert len(script.requests) == 1


def test_no_more_questions_at_once_than_allowed():
    """Concurrency is bounded, and used."""
    script = ScriptedBot(slowly(ANSWER, 0.05))

    async def run(base):
        bot = open_bot(HttpBot(kind="http", url=base, concurrency=3), Path())
        await asyncio.gather(*(bot.ask(make_item()) for _ in range(9)))
        await bot.close()

    with script.serve() as base:
        asyncio.run(run(base))
    assert script.peak == 3
    assert len(script.requests) == 9


def test_waiting_for_a_turn_is_not_the_bots_time():
    """Questions that queue behind a bound of one do not time out while they wait."""
    script = ScriptedBot(slowly(ANSWER, 0.1))

    async def run(base):
        bot = open_bot(HttpBot(kind="http", url=base, concurrency=1, timeout_s=0.4, retries=0), Path())
        responses = await asyncio.gather(*(bot.ask(make_item()) for _ in range(6)))
        await bot.close()
        return responses

    with script.serve() as base:
        responses = asyncio.run(run(base))
    assert all(response.latency_ms < 400 for response in responses)


def test_headers_take_secrets_from_the_environment(monkeypatch):
    """`${NAME}` is replaced, white space around a secret removed."""
    monkeypatch.setenv("TEST_BOT_TOKEN", "s3cret-token\n")
    script = ScriptedBot(ANSWER)
    ask(script, headers={"Authorization": "Bearer ${TEST_BOT_TOKEN}", "X-Team": "hr"})
    headers = script.requests[0]["headers"]
    assert headers["Authorization"] == "Bearer s3cret-token"
    assert headers["X-Team"] == "hr"


def test_a_missing_secret_names_the_variable_and_the_header(monkeypatch):
    """An unset variable stops at opening with what to set."""
    monkeypatch.delenv("TEST_BOT_TOKEN", raising=False)
    with pytest.raises(MissingSecret, match=r"bot.headers.Authorization: .*TEST_BOT_TOKEN"):
        ask_url("http://127.0.0.1:1", headers={"Authorization": "Bearer ${TEST_BOT_TOKEN}"})


def test_a_secret_never_appears_in_an_error(monkeypatch):
    """Neither a server that echoes the header nor a secret with a line break in it shows it."""
    monkeypatch.setenv("TEST_BOT_TOKEN", "s3cret-token")
    headers = {"Authorization": "Bearer ${TEST_BOT_TOKEN}"}
    for reply in (replying(403, "bad token s3cret-token"), {"error": "key s3cret-token"}):
        error = failure(ScriptedBot(reply), headers=headers, error="/error")
        assert "***" in str(error)
        assert "s3cret" not in str(error)
    for value in ("s3cret\ntoken", "s3cret…token"):
        monkeypatch.setenv("TEST_BOT_TOKEN", value)
        with pytest.raises(ConfigError, match=r"bot\.headers\.Authorization") as caught:
            ask_url("http://127.0.0.1:1", headers=headers)
        assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"url": "127.0.0.1:8000/ask"}, "bot.url"),
        ({"url": "http://"}, "bot.url"),
        ({"url": "http://host:port/"}, "bot.url"),
        ({"answer": "answer"}, "'/answer'"),
        ({"contexts": "docs/*"}, "bot.contexts"),
        ({"method": "GET", "request": "{user_input}"}, "bot.request"),
        ({"request": {"day": date(2026, 1, 31)}}, "bot.request"),
        ({"request": {"score": math.nan}}, "bot.request"),
    ],
)
def test_settings_that_cannot_work_are_told_at_opening(config, words):
    """A URL without scheme, a pointer without slash, a GET without mapping name the setting."""
    with pytest.raises(ConfigError, match=words.replace("*", r"\*")):
        open_bot(HttpBot(kind="http", **{"url": "http://127.0.0.1:1"} | config), Path())


@pytest.mark.parametrize(
    ("pointer", "expected"),
    # The examples of RFC 6901, section 5.
    [
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/m~0n", 8),
        ("/ ", 7),
        ('/k"l', 6),
    ],
)
def test_pointers_follow_the_rfc(pointer, expected):
    """The standard's own examples resolve as it says."""
    document = {"foo": ["bar", "baz"], "": 0, "a/b": 1, 'k"l': 6, " ": 7, "m~n": 8}
    assert pointers.resolve(document, pointers.parse(pointer, key="k")) == expected
    assert pointers.resolve(document, pointers.parse("", key="k")) == document


def test_a_star_steps_into_each_element():
    """Lists of lists are joined, gaps kept as None, a key named * still found, nowhere is MISSING."""
    document = {"a": [{"b": [{"c": 1}, {}]}, {"b": [{"c": 2}]}, {}], "*": 3}
    at = lambda pointer: pointers.resolve(document, pointers.parse(pointer, key="k"))  # noqa: E731 - a word
    assert at("/a/*/b/*/c") == [1, None, 2]
    assert at("/a/*/x") == [None, None, None]
    assert at("/*") == 3
    assert at("/a/7") is pointers.MISSING
    assert at("/x/*") is pointers.MISSING
