"""Nothing is paid twice: cache, calls under way, embeddings."""

import asyncio

import pytest
from fake_openai import FakeOpenAI, always, script
from judge_client_fixtures import (
    ANSWER,
    COMPARE,
    REFERENCE,
    TASKS,
    MemoryCache,
    ask,
    ask_one,
    open_fake_judge,
    with_judge,
)

from rag_checks import monitor
from rag_checks.errors import JudgeError, JudgeFatal
from rag_checks.judge.client import OpenAIJudge


@pytest.fixture(scope="module")
def server():
    """One endpoint for the module."""
    with FakeOpenAI() as running:
        yield running


@pytest.fixture
def fake(server):
    """The endpoint without memory of the test before."""
    server.reset()
    return server


def test_second_identical_run_makes_no_calls(fake):
    """Every task, another judge, the same cache: the same outputs, 0 calls, counted as cached."""
    cache = MemoryCache()
    first = ask(open_fake_judge(fake, cache=cache), *TASKS)
    calls = fake.state.calls
    second = ask(open_fake_judge(fake, cache=cache), *TASKS)
    assert fake.state.calls == calls
    assert [reply.output for reply in second] == [reply.output for reply in first]
    assert [type(reply.output) for reply in second] == [type(reply.output) for reply in first]
    assert {(reply.usage.calls, reply.usage.cached) for reply in second} == {(0, 1)}


@pytest.mark.parametrize("mode", ["malformed", "null", "refusal", "too_long", "truncated"])
def test_bad_replies_are_not_kept(fake, mode):
    """A failed judgement leaves nothing in the cache and is asked again the next night."""
    cache = MemoryCache()
    fake.state.faults = always(mode)
    with pytest.raises(JudgeError):
        ask_one(open_fake_judge(fake, cache=cache), ANSWER)
    assert cache.kept == {}
    fake.reset()
    assert ask_one(open_fake_judge(fake, cache=cache), ANSWER).usage.calls == 1


def test_repaired_reply_is_kept_with_its_flag(fake):
    """What was repaired once is not paid for again and stays flagged."""
    cache = MemoryCache()
    fake.state.faults = script("malformed")
    ask_one(open_fake_judge(fake, cache=cache), COMPARE)
    reply = ask_one(open_fake_judge(fake, cache=cache), COMPARE)
    assert reply.flags == ("repaired",)
    assert reply.usage.cached == 1


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": 0.5},
        {"seed": 1},
        {"max_tokens": 1000},
        {"structured_output": "text"},
        {"extra_body": {"top_p": 0.5}},
    ],
)
def test_other_parameters_are_another_key(fake, change):
    """A reply given under other parameters is not reused."""
    cache = MemoryCache()
    ask_one(open_fake_judge(fake, cache=cache), ANSWER)
    assert ask_one(open_fake_judge(fake, cache=cache, **change), ANSWER).usage.calls == 1


def test_patience_is_not_part_of_the_key(fake):
    """Timeouts, retries and concurrency do not change what is said."""
    cache = MemoryCache()
    ask_one(open_fake_judge(fake, cache=cache), ANSWER)
    judge = open_fake_judge(fake, cache=cache, timeout_s=7, retries=9, concurrency=2)
    assert ask_one(judge, ANSWER).usage.cached == 1


@pytest.mark.parametrize("field", ["question", "answer"])
def test_other_inputs_are_another_key(fake, field):
    """One more character anywhere in the inputs is another question."""
    cache = MemoryCache()
    ask_one(open_fake_judge(fake, cache=cache), ANSWER)
    request = ANSWER.model_copy(update={"inputs": ANSWER.inputs | {field: ANSWER.inputs[field] + "."}})
    assert ask_one(open_fake_judge(fake, cache=cache), request).usage.calls == 1


def test_entry_of_another_shape_is_asked_again(fake):
    """A stored reply that today's code cannot read counts as absent."""
    cache = MemoryCache()
    ask_one(open_fake_judge(fake, cache=cache), ANSWER)
    for stored in cache.kept.values():
        stored["output"] = {"claims": "one"}
    assert ask_one(open_fake_judge(fake, cache=cache), ANSWER).usage.calls == 1


def test_identical_requests_share_one_call(fake):
    """Ten at once: one call, ten replies, nine of them counted as cached."""
    fake.state.latency_s = 0.05
    replies = ask(open_fake_judge(fake), *[ANSWER] * 10)
    assert len(fake.state.requests) == 1
    assert sum(reply.usage.calls for reply in replies) == 1
    assert sum(reply.usage.cached for reply in replies) == 9


def test_identical_requests_share_one_failure(fake):
    """Ten at once that fail: one call, ten errors."""
    fake.state.latency_s = 0.05
    fake.state.faults = always("null")
    errors = ask(open_fake_judge(fake), *[ANSWER] * 10)
    assert [type(error) for error in errors] == [JudgeError] * 10
    assert len(fake.state.requests) == 1


def test_cancelled_caller_takes_nobody_along(fake):
    """The one who asked first is cancelled; the second still gets the reply of the one call."""
    fake.state.latency_s = 0.1

    async def cancel_first(judge):
        first = asyncio.create_task(judge.ask(ANSWER))
        second = asyncio.create_task(judge.ask(ANSWER))
        await asyncio.sleep(0.02)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        return first.cancelled(), await second

    cancelled, reply = with_judge(open_fake_judge(fake), cancel_first)
    assert cancelled
    assert reply.output.claims
    assert len(fake.state.requests) == 1


def similarity(judge, *pairs):
    """Similarity of English pairs."""
    return with_judge(judge, lambda judge: judge.similarity(pairs, "en"))


def test_similarity_is_a_clipped_cosine(fake):
    """Equal texts 1, related ones between, opposite ones 0 and not negative, blank ones 0."""
    judge = open_fake_judge(fake, embedding_model="embed-1")
    pairs = [("lunch is free", "lunch is free"), ("lunch is free", "lunch is not free")]
    pairs += [("lunch", "lunch opposite"), ("  ", "lunch")]
    values = similarity(judge, *pairs)
    assert values[0] == pytest.approx(1)
    assert 0.5 < values[1] < 1
    assert values[2:] == [0.0, 0.0]


def test_each_text_is_embedded_once(fake):
    """Batches of ten, no text twice, and none at all the second time."""
    cache = MemoryCache()
    pairs = [(f"question {number}", "the same answer") for number in range(23)]
    first = similarity(open_fake_judge(fake, cache=cache, embedding_model="embed-1"), *pairs)
    assert [len(batch) for batch in fake.state.embedded] == [10, 10, 4]
    second = similarity(open_fake_judge(fake, cache=cache, embedding_model="embed-1"), *pairs)
    assert len(fake.state.embedded) == 3
    assert second == first


def test_embeddings_from_another_address(fake):
    """`embedding_base_url` is where texts are embedded; the judge itself stays where it is."""
    with FakeOpenAI() as other:
        judge = open_fake_judge(fake, embedding_model="embed-1", embedding_base_url=other.url)
        assert similarity(judge, ("a b", "a b")) == [pytest.approx(1)]
        assert len(other.state.embedded) == 1
    assert fake.state.embedded == []


@pytest.mark.parametrize("mode", ["missing_verdict", "zero"])
def test_unusable_vectors_are_an_error(fake, mode):
    """Too few vectors, or a zero vector, have no similarity."""
    fake.state.faults = always(mode)
    with pytest.raises(JudgeError) as caught:
        similarity(open_fake_judge(fake, embedding_model="embed-1"), ("a", "b"))
    assert caught.value.kind == "format"


def test_embedding_failures_follow_the_same_rules(fake):
    """429 is waited for; an unknown embedding model is fatal and named."""
    fake.state.faults = script("429_retry_after")
    judge = open_fake_judge(fake, embedding_model="embed-1", retries=0)
    assert similarity(judge, ("a b", "a b")) == [pytest.approx(1)]
    fake.state.faults = always("model")
    with pytest.raises(JudgeFatal, match="embed-1"):
        similarity(open_fake_judge(fake, embedding_model="embed-1"), ("a", "b"))


def test_fallback_similarity_is_used_without_an_embedding_model(fake):
    """The injected callable gets the pairs and the language."""

    async def fallback(pairs, language):
        return [0.25 if language == "zh" else 0.75 for _ in pairs]

    config = monitor.OpenAIJudge(kind="openai", model="judge-1", base_url=fake.url)
    judge = OpenAIJudge(config, similarity=fallback, environ={})
    assert with_judge(judge, lambda judge: judge.similarity([("a", "b")], "zh")) == [0.25]
    assert fake.state.calls == 0


def test_reference_is_paid_for_once(fake):
    """Claims of a reference are the same question on every night and from every shard."""
    cache = MemoryCache()
    for _night in range(3):
        ask_one(open_fake_judge(fake, cache=cache), REFERENCE)
    assert len(fake.state.requests) == 1
