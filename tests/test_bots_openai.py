"""The chat adapter against a real server."""

import asyncio
from pathlib import Path

import pytest
from bots_fixtures import ScriptedBot, dripping, hanging_up, make_item, replying, slowly

from rag_checks.bots import open_bot
from rag_checks.errors import BotError, ConfigError, MissingSecret
from rag_checks.monitor import OpenAIBot
from rag_checks.records import Message


def completion(**message):
    """A chat completion with one message."""
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}},
        ],
    }


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """A key for the bot and nothing else of the machine's own settings."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "RAG_CHECKS_BOT_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAG_CHECKS_BOT_API_KEY", "sk-bot-secret")


def ask(script, item=None, **config):
    """One answer of the scripted bot through the adapter."""

    async def run(base):
        settings = {"retries": 0, "base_url": base + "/v1"} | config
        bot = open_bot(OpenAIBot(kind="openai", model="m", **settings), Path())
        try:
            return await bot.ask(item or make_item())
        finally:
            await bot.close()

    with script.serve() as base:
        return asyncio.run(run(base))


def test_the_question_goes_after_system_and_history():
    """System message, earlier messages and the question are sent in order, cleaned."""
    script = ScriptedBot(completion(content="7\x00 天"))
    history = (Message(role="user", content="hi"), Message(role="assistant", content="hello"))
    response = ask(script, make_item("How\x00 long?", history=history), system="Be brief.")
    [request] = script.requests
    assert request["path"] == "/v1/chat/completions"
    assert request["headers"]["Authorization"] == "Bearer sk-bot-secret"
    assert request["json"] == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": "How long?"},
        ],
    }
    assert response.response == "7 天"
    assert response.latency_ms > 0
    assert response.retrieved_contexts is None


def test_a_refusal_is_the_answer():
    """What the user would have read is graded, a refusal too."""
    assert ask(ScriptedBot(completion(content=None, refusal="I cannot."))).response == "I cannot."


@pytest.mark.parametrize(
    ("reply", "config", "kind"),
    [
        (completion(content=""), {}, "empty"),
        (completion(content=None), {}, "empty"),
        (completion(), {}, "empty"),
        (completion(content=[{"type": "text"}]), {}, "schema"),
        ({"error": "overloaded"}, {}, "schema"),
        ({"choices": []}, {}, "schema"),
        ({"choices": [{}]}, {}, "schema"),
        ([], {}, "schema"),
        (replying(200, "<html>", {"content-type": "text/html"}), {}, "schema"),
        (replying(200, "{"), {}, "schema"),
        (replying(401, '{"error": {"message": "bad key sk-bot-secret"}}'), {}, "http"),
        (replying(500, "boom"), {}, "http"),
        (hanging_up, {}, "refused"),
        (slowly(completion(content="x"), 0.5), {"timeout_s": 0.1}, "timeout"),
        (dripping, {"timeout_s": 0.2}, "timeout"),
    ],
)
def test_every_way_to_fail_has_a_kind(reply, config, kind):
    """Blank answers, odd replies, statuses and silence each give their kind, never the key."""
    with pytest.raises(BotError) as caught:
        ask(ScriptedBot(reply), **config)
    assert caught.value.kind == kind
    assert "sk-bot" not in str(caught.value)


@pytest.mark.parametrize("first", [replying(503, "{}"), replying(429, "{}"), hanging_up])
def test_a_passing_failure_is_asked_again(first):
    """Overload and lost connections are retried."""
    script = ScriptedBot(first, completion(content="x"))
    assert ask(script, retries=1).response == "x"
    assert len(script.requests) == 2


def test_a_lasting_failure_is_not_asked_again():
    """A wrong key costs one request."""
    script = ScriptedBot(replying(401, "{}"))
    with pytest.raises(BotError):
        ask(script, retries=3)
    assert len(script.requests) == 1


def test_the_environment_names_endpoint_and_key(monkeypatch):
    """Without base_url the bot's own variables come first, then those of OpenAI."""
    script = ScriptedBot(completion(content="x"))
    monkeypatch.delenv("RAG_CHECKS_BOT_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-general")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")

    async def run():
        bot = open_bot(OpenAIBot(kind="openai", model="m", retries=0), Path())
        await bot.ask(make_item())
        await bot.close()

    with script.serve() as base:
        monkeypatch.setenv("RAG_CHECKS_BOT_BASE_URL", base + "/v1")
        asyncio.run(run())
    assert script.requests[0]["headers"]["Authorization"] == "Bearer sk-general"


def test_a_missing_key_is_told_for_openai_and_not_for_an_own_server(monkeypatch):
    """OpenAI's endpoint needs a key; a server of one's own may not."""
    monkeypatch.delenv("RAG_CHECKS_BOT_API_KEY")
    assert ask(ScriptedBot(completion(content="x"))).response == "x"
    with pytest.raises(MissingSecret, match="RAG_CHECKS_BOT_API_KEY"):
        open_bot(OpenAIBot(kind="openai", model="m"), Path())


@pytest.mark.parametrize("key", ["sk-bot\nsecret", "sk-bot…secret"])
def test_a_key_that_cannot_be_sent_is_told_without_showing_it(monkeypatch, key):
    """A line break or a fancy character in a pasted key is a configuration error."""
    monkeypatch.setenv("RAG_CHECKS_BOT_API_KEY", key)
    with pytest.raises(ConfigError, match="RAG_CHECKS_BOT_API_KEY") as caught:
        open_bot(OpenAIBot(kind="openai", model="m"), Path())
    assert "sk-bot" not in str(caught.value)
