"""Every way an endpoint fails has a kind and a rule."""

import socket
import time
from email.utils import formatdate

import pytest
from fake_openai import FakeOpenAI, always, script
from judge_client_fixtures import (
    ANSWER,
    CONTEXTS,
    REFERENCE,
    TASKS,
    ask,
    ask_one,
    open_fake_judge,
    with_judge,
)
from metrics_fixtures import make_case

from rag_checks.errors import ConfigError, JudgeError, JudgeFatal, JudgeUnavailable, MissingSecret
from rag_checks.judge.client import OpenAIJudge
from rag_checks.judge.failures import Rule, classify, retry_after_seconds
from rag_checks.metrics.grading import grade_case
from rag_checks.metrics.registry import REGISTRY
from rag_checks.monitor import OpenAIJudge as Settings
from rag_checks.protocols import taken_usage
from rag_checks.records import Usage


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


TRANSIENT = ["429", "429_retry_after", "408", "409", "500", "503", "disconnect", "html", "broken_json"]
TRANSIENT += ["error_200", "no_choices", "no_message"]


@pytest.mark.parametrize("mode", TRANSIENT)
def test_transient_failure_is_tried_again(fake, mode):
    """A failure that may pass is waited for, and the reply is as if nothing had been."""
    fake.state.faults = script(mode, mode)
    reply = ask_one(open_fake_judge(fake), ANSWER)
    assert reply.output.claims == ["Lunch costs 5 euros.", "It is free on Friday."]
    assert reply.flags == ()
    assert len(fake.state.requests) == 3


@pytest.mark.parametrize("mode", ["429", "500", "disconnect", "html"])
def test_transient_failure_for_ever_is_unavailable(fake, mode):
    """Retries run out: JudgeUnavailable after retries + 1 calls, naming the endpoint."""
    fake.state.faults = always(mode)
    with pytest.raises(JudgeUnavailable, match=r"127\.0\.0\.1.*gave up after 3 tries"):
        ask_one(open_fake_judge(fake, retries=2), ANSWER)
    assert len(fake.state.requests) == 3


def test_retry_after_on_every_second_call_loses_nothing(fake):
    """429 with Retry-After on every second call: the wait is kept, every reply comes, no retry is used."""
    fake.state.faults = lambda number, _body: "429_retry_after" if number % 2 == 0 else None
    requests = [ANSWER.model_copy(update={"inputs": ANSWER.inputs | {"n": n}}) for n in range(24)]
    started = time.monotonic()
    replies = ask(open_fake_judge(fake, retries=0, concurrency=4), *requests)
    assert [type(reply).__name__ for reply in replies] == ["JudgeReply"] * 24
    assert time.monotonic() - started >= 0.2


def test_retry_after_is_waited_for(fake):
    """The next try comes no earlier than the endpoint asked."""
    fake.state.faults = script("429_retry_after")
    ask_one(open_fake_judge(fake), ANSWER)
    first, second = fake.state.arrived[-2:]
    assert 0.2 <= second - first < 1


def test_retry_after_beyond_the_deadline_gives_up_at_once(fake):
    """An hour's wait does not fit a deadline of ten seconds: no time is wasted on it."""
    fake.state.faults = always("429_long")
    started = time.monotonic()
    with pytest.raises(JudgeUnavailable, match="deadline"):
        ask_one(open_fake_judge(fake), ANSWER)
    assert time.monotonic() - started < 2
    assert len(fake.state.requests) == 1


def test_slow_endpoint_times_out_and_is_tried_again(fake):
    """One attempt that hangs costs its timeout, not the judgement."""
    fake.state.faults = script("timeout")
    reply = ask_one(open_fake_judge(fake, timeout_s=0.3), ANSWER)
    assert len(reply.output.claims) == 2
    assert len(fake.state.requests) == 2


def test_endpoint_that_never_answers_ends_at_the_deadline(fake):
    """The deadline bounds everything, whatever the timeout and the retries say."""
    fake.state.faults = always("timeout")
    started = time.monotonic()
    with pytest.raises(JudgeUnavailable, match="did not answer"):
        ask_one(open_fake_judge(fake, timeout_s=60, deadline_s=0.6, retries=20), ANSWER)
    assert 0.5 < time.monotonic() - started < 2


def test_one_hanging_item_does_not_hold_up_the_others(fake):
    """Item 7 of 8 never gets an answer: seven replies, one JudgeUnavailable."""
    fake.state.faults = lambda _number, body: "timeout" if '"n7' in body["messages"][1]["content"] else None
    requests = [
        ANSWER.model_copy(update={"inputs": ANSWER.inputs | {"question": f"n{n}?"}}) for n in range(8)
    ]
    replies = ask(open_fake_judge(fake, deadline_s=0.5, concurrency=2), *requests)
    assert [type(reply).__name__ for reply in replies] == ["JudgeReply"] * 7 + ["JudgeUnavailable"]


def test_refused_connection_is_unavailable(fake):
    """Nobody listens: JudgeUnavailable that names the address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    judge = open_fake_judge(fake, base_url=f"http://127.0.0.1:{port}/v1", retries=1)
    with pytest.raises(JudgeUnavailable, match=f"cannot reach http://127.0.0.1:{port}/v1"):
        ask_one(judge, ANSWER)


FATAL = {
    "401": "OPENAI_API_KEY",
    "403": "allow it to use 'judge-1'",
    "model": "set judge.model",
    "model_400": "set judge.model",
    "quota": "no quota left",
    "402": "no quota left",
    "path": "judge.base_url",
}


@pytest.mark.parametrize(("mode", "advice"), FATAL.items())
def test_fatal_failure_stops_the_judge(fake, mode, advice):
    """Key, model, quota or address is wrong: one clear message, and no later call is made."""
    fake.state.probe_faults = [mode]
    judge = open_fake_judge(fake)
    errors = ask(judge, *TASKS)
    assert {type(error) for error in errors} == {JudgeFatal}
    assert {advice in str(error) for error in errors} == {True}
    assert fake.state.calls == 1
    with pytest.raises(JudgeFatal, match="answered"):
        ask_one(judge, ANSWER)
    assert fake.state.calls == 1


def test_quota_that_ends_in_the_middle_stops_the_rest(fake):
    """After the first insufficient_quota only calls that were already under way are made."""
    fake.state.faults = lambda number, _body: "quota" if number >= 3 else None
    requests = [ANSWER.model_copy(update={"inputs": ANSWER.inputs | {"n": n}}) for n in range(20)]
    replies = ask(open_fake_judge(fake, concurrency=1), *requests)
    assert [type(reply).__name__ for reply in replies] == ["JudgeReply"] * 3 + ["JudgeFatal"] * 17
    assert len(fake.state.requests) == 4


def test_the_key_never_shows(fake):
    """Endpoints that repeat the key in their message do not get it into ours."""
    fake.state.probe_faults = ["401"]
    with pytest.raises(JudgeFatal) as caught:
        ask_one(open_fake_judge(fake), ANSWER)
    assert "sk-secret-1" not in str(caught.value)
    assert "Incorrect API key provided: ***" in str(caught.value)


ITEM = {
    "filter_400": "content_filter",
    "filter_zh": "content_filter",
    "403_flagged": "content_filter",
    "filter_200": "content_filter",
    "null": "content_filter",
    "too_long": "context_too_long",
    "refusal": "refusal",
    "refusal_text": "refusal",
    "odd_400": "rejected",
}


@pytest.mark.parametrize(("mode", "kind"), ITEM.items())
def test_failure_of_one_item_is_recorded_and_not_retried(fake, mode, kind):
    """The item's text is the reason: one call, a JudgeError of its kind, and other items go on."""
    fake.state.faults = script(mode)
    judge = open_fake_judge(fake, concurrency=1)
    error, reply = ask(judge, ANSWER, REFERENCE)
    assert isinstance(error, JudgeError)
    assert error.kind == kind
    assert reply.output.claims == ["年假25天。", "需要审批。"]
    assert len(fake.state.requests) == 2


def test_missing_key_for_openai_is_told_before_any_call():
    """api.openai.com without a key: MissingSecret names the variable."""
    with pytest.raises(MissingSecret, match="OPENAI_API_KEY"):
        OpenAIJudge(Settings(kind="openai", model="m"), environ={})


def test_local_server_needs_no_key(fake):
    """Another endpoint works without a key."""
    judge = OpenAIJudge(Settings(kind="openai", model="m"), environ={"OPENAI_BASE_URL": fake.url})
    assert len(ask_one(judge, ANSWER).output.claims) == 2


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://127.0.0.1/v1", "/v1"])
def test_base_url_that_is_none(url):
    """A base URL without http(s) is a ConfigError that names the key."""
    with pytest.raises(ConfigError, match=r"judge\.base_url"):
        OpenAIJudge(Settings(kind="openai", model="m", base_url=url), environ={})


def test_headers_take_secrets_from_the_environment(fake):
    """`${NAME}` in a header comes from the environment; an unset one is a MissingSecret."""
    settings = Settings(
        kind="openai",
        model="m",
        base_url=fake.url,
        extra_headers={"api-key": "${GATE}"},
        extra_body={"user": "ci"},
    )
    ask_one(OpenAIJudge(settings, environ={"GATE": "g-1"}), ANSWER)
    assert fake.state.headers[-1]["api-key"] == "g-1"
    assert fake.state.requests[-1]["user"] == "ci"
    with pytest.raises(MissingSecret, match="GATE is not set"):
        OpenAIJudge(settings, environ={})


def test_identity_holds_no_credentials(fake):
    """User, password and query of the base URL stay out of the identity."""
    url = fake.url.replace("http://", "http://user:pass@") + "?token=1"
    judge = open_fake_judge(fake, base_url=url)
    assert judge.identity.endpoint == fake.url


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"retry-after": "3"}, 3, 3),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25, 0.25),
        ({"retry-after": formatdate(time.time() + 9000, usegmt=True)}, 8000, 9000),
        ({"retry-after": "-5"}, 0, 0),
    ],
)
def test_retry_after_forms(headers, low, high):
    """Seconds, milliseconds and HTTP dates are understood."""
    seconds = retry_after_seconds(headers)
    assert seconds is not None
    assert low <= seconds <= high


@pytest.mark.parametrize("headers", [{}, {"retry-after": "soon"}])
def test_retry_after_that_is_none(headers):
    """No header, or one without sense, names no wait."""
    assert retry_after_seconds(headers) is None


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"code": "Arrearage", "message": "Access denied"}, "quota"),
        (400, {"code": "data_inspection_failed", "message": "Output data may contain…"}, "content_filter"),
        (400, {"message": "Content Exists Risk"}, "content_filter"),
        (404, 'model "qwen9" not found, try pulling it first', "model"),
        (404, {"code": "DeploymentNotFound", "message": "The API deployment does not exist."}, "model"),
        (413, "too large", "context_too_long"),
        (429, {"message": "You exceeded your current quota, please check your plan"}, "rate_limit"),
        (502, "<html>Bad Gateway: content_filter</html>", "server"),
        (422, {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}, "rejected"),
    ],
)
def test_providers_own_words(status, body, kind):
    """DashScope, DeepSeek, Ollama, Azure, Google and FastAPI servers say these things in their own words."""
    failure = classify(status, body, {}, endpoint="http://x/v1", model="qwen9")
    assert failure.kind == kind
    assert (failure.rule is Rule.FATAL) == (kind in {"quota", "model"})


def test_contexts_task_survives_a_storm(fake):
    """Transient faults of every kind in a row, then the reply."""
    fake.state.faults = script("500", "429", "disconnect", "html", "503")
    reply = ask_one(open_fake_judge(fake, retries=5), CONTEXTS)
    assert [verdict.supported for verdict in reply.output.answer_claims] == [True, False]


@pytest.mark.parametrize(("mode", "calls"), [("malformed", 2), ("truncated", 2), ("refusal", 1)])
def test_failed_judgement_carries_what_it_cost(fake, mode, calls):
    """Every paid call of a judgement that failed, the repair too, is told with the error, once."""
    fake.state.faults = always(mode)
    (error,) = ask(open_fake_judge(fake), ANSWER)
    assert isinstance(error, JudgeError)
    usage = taken_usage(error)
    assert usage.calls == calls
    assert usage.prompt_tokens > 0
    assert taken_usage(error) == Usage()


def test_cost_of_failed_judgements_is_on_the_scores(fake):
    """The usage over a case's scores is what the judge really spent on it, though nothing was graded."""
    fake.state.faults = always("malformed")
    judge = open_fake_judge(fake)
    case = make_case(answer="Lunch costs 5 euros.", reference="5 euros")
    metrics = [REGISTRY[name] for name in ("faithfulness", "answer_relevancy", "context_recall")]
    scores = with_judge(judge, lambda judge: grade_case("run", case, metrics, judge))
    assert {score.status for score in scores} == {"judge_error"}
    total = sum((score.usage for score in scores), Usage())
    probe = 1
    assert total.calls == judge.usage.calls - probe


def test_separate_embedding_endpoint_has_its_own_key(fake):
    """OPENAI_EMBEDDING_API_KEY goes to the embedding endpoint only, the judge's key never goes there."""
    with FakeOpenAI() as other:
        settings = Settings(
            kind="openai", model="m", base_url=fake.url, embedding_model="e", embedding_base_url=other.url
        )
        environ = {"OPENAI_API_KEY": "sk-secret-1", "OPENAI_EMBEDDING_API_KEY": "sk-secret-2"}
        judge = OpenAIJudge(settings, environ=environ)

        async def use(judge):
            await judge.ask(ANSWER)
            await judge.similarity([("a b", "a c")], "en")

        with_judge(judge, use)
        assert {sent["authorization"] for sent in fake.state.headers} == {"Bearer sk-secret-1"}
        assert {sent["authorization"] for sent in other.state.headers} == {"Bearer sk-secret-2"}
