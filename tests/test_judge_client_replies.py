"""What a model writes: forgiven in form, never in content; repaired once; validated always."""

import json

import pytest
from fake_openai import FakeOpenAI, always, good_output, script
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_client_fixtures import ANSWER, COMPARE, CONTEXTS, REFERENCE, TASKS, ask_one, open_fake_judge

from rag_checks.errors import JudgeError
from rag_checks.judge.parse import json_objects, without_thinking
from rag_checks.judge.prompts import prompt_data
from rag_checks.judge.validate import read_output
from rag_checks.protocols import OUTPUTS


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


def expected(request):
    """The output of an honest judge."""
    return read_output(request, json.dumps(good_output(prompt_data(request))), truncated=False)


FORGIVEN = ["fenced", "prose", "think", "think_tail", "single_quotes", "trailing_comma", "full_width"]
FORGIVEN += ["list", "string_bools", "zh_bools", "number_bools", "whole_at_limit", "parts", "prompt_echo"]


@pytest.mark.parametrize("mode", FORGIVEN)
@pytest.mark.parametrize("request_", TASKS, ids=lambda request: str(request.task))
def test_habits_of_form_cost_nothing(fake, mode, request_):
    """Every habit of form, on every task, gives the same output with one call."""
    fake.state.faults = always(mode)
    reply = ask_one(open_fake_judge(fake), request_)
    assert reply.output == expected(request_)
    assert type(reply.output) is OUTPUTS[request_.task]
    assert reply.flags == ()
    assert len(fake.state.requests) == 1


REPAIRED = {
    "malformed": (ANSWER, "not a JSON object"),
    "empty": (ANSWER, "empty"),
    "missing_field": (ANSWER, "questions"),
    "blank_claim": (REFERENCE, "blank"),
    "missing_verdict": (CONTEXTS, "answer_claims: ids [1] are missing"),
    "duplicate_id": (CONTEXTS, "ids [1] are there more than once"),
    "unknown_id": (COMPARE, "ids [99] are not among those that were sent"),
    "score_bools": (CONTEXTS, "supported"),
    "two_answers": (CONTEXTS, "2 different answers"),
}


@pytest.mark.parametrize("mode", REPAIRED)
def test_unusable_reply_is_repaired_once(fake, mode):
    """The judge is told what was wrong and says it again; the reply is flagged, both calls are counted."""
    request, problem = REPAIRED[mode]
    fake.state.faults = script(mode)
    reply = ask_one(open_fake_judge(fake), request)
    assert reply.output == expected(request)
    assert reply.flags == ("repaired",)
    assert reply.usage.calls == 2
    told = fake.state.requests[1]["messages"]
    assert told[:2] == fake.state.requests[0]["messages"]
    assert problem in told[-1]["content"]


@pytest.mark.parametrize("mode", REPAIRED)
def test_reply_unusable_twice_is_an_error_with_the_text(fake, mode):
    """Two unusable replies: JudgeError of kind format that keeps what the judge said."""
    request, _problem = REPAIRED[mode]
    fake.state.faults = always(mode)
    with pytest.raises(JudgeError) as caught:
        ask_one(open_fake_judge(fake), request)
    assert caught.value.kind == "format"
    assert caught.value.raw is not None
    assert len(fake.state.requests) == 2


def test_truncated_reply_gets_more_room(fake):
    """finish_reason length in mid JSON: asked once more with twice the tokens."""
    fake.state.faults = script("truncated")
    reply = ask_one(open_fake_judge(fake, max_tokens=100), CONTEXTS)
    assert reply.output == expected(CONTEXTS)
    assert reply.flags == ("repaired",)
    assert [request["max_tokens"] for request in fake.state.requests] == [100, 200]


def test_truncated_twice_is_its_own_kind(fake):
    """Long answers are hit most, so truncation is never read as a shorter list."""
    fake.state.faults = always("truncated")
    with pytest.raises(JudgeError) as caught:
        ask_one(open_fake_judge(fake), ANSWER)
    assert caught.value.kind == "truncated"
    assert len(fake.state.requests) == 2


def test_only_what_was_asked_for_is_returned(fake):
    """Verdict lists that were not asked for are left out of schema and output."""
    inputs = {key: CONTEXTS.inputs[key] for key in ("question", "contexts", "answer_claims")}
    request = CONTEXTS.model_copy(update={"inputs": inputs})
    reply = ask_one(open_fake_judge(fake), request)
    assert reply.output.contexts == []
    assert reply.output.reference_claims == []
    schema = fake.state.requests[0]["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["answer_claims"]
    text = json.dumps(good_output(prompt_data(CONTEXTS)))
    assert read_output(request, text, truncated=False) == reply.output


def test_schema_puts_the_reason_before_the_verdict(fake):
    """Strict schema: every property required, none other allowed, reason first."""
    ask_one(open_fake_judge(fake), COMPARE)
    schema = fake.state.requests[0]["response_format"]["json_schema"]
    verdict = schema["schema"]["properties"]["answer_claims"]["items"]
    assert schema["strict"] is True
    assert list(verdict["properties"]) == ["id", "reason", "supported"]
    assert verdict["required"] == ["id", "reason", "supported"]
    assert verdict["additionalProperties"] is False
    assert "$ref" not in json.dumps(schema)


@pytest.mark.parametrize(
    "value", ['"maybe"', "2", "-0.1", "0.5", "NaN", "1e999", '"1"', "null", "[]", '"85%"']
)
def test_truth_value_is_never_guessed(value):
    """Anything but a truth value where one is asked is a format error."""
    text = json.dumps(good_output(prompt_data(COMPARE))).replace("false", value)
    with pytest.raises(JudgeError) as caught:
        read_output(COMPARE, text, truncated=False)
    assert caught.value.kind == "format"


def test_text_that_no_store_takes_is_cleaned():
    """NUL and half an emoji, raw or escaped, do not get past the validation."""
    text = '{"claims": ["a\\u0000b\\ud83d", "\ufeffc\x00"]}'
    claims = read_output(REFERENCE, text, truncated=False).claims
    assert claims == ["ab\ufffd", "c"]


def test_verdicts_come_back_in_the_order_of_ids():
    """The order in which a model lists verdicts does not show."""
    output = good_output(prompt_data(CONTEXTS))
    turned = {name: list(reversed(rows)) for name, rows in output.items()}
    assert read_output(CONTEXTS, json.dumps(turned), truncated=False) == expected(CONTEXTS)


def test_committal_answer_needs_a_question():
    """Without a question relevancy cannot be computed, so an empty list is repaired rather than scored."""
    text = json.dumps({"noncommittal": False, "claims": ["a"], "questions": []})
    with pytest.raises(JudgeError, match="questions"):
        read_output(ANSWER, text, truncated=False)
    evading = json.dumps({"noncommittal": True, "claims": [], "questions": []})
    assert read_output(ANSWER, evading, truncated=False).noncommittal is True


def test_key_that_appears_twice_is_refused():
    """`supported` true and false in one object has no meaning to choose."""
    with pytest.raises(JudgeError):
        read_output(REFERENCE, '{"claims": ["a"], "claims": ["b"]}', truncated=False)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("no braces", []),
        ("{", []),
        ("[]", []),
        ("42", []),
        ("{}", [{}]),
        ("{'a': 'it doesn't say'}", [{"a": "it doesn't say"}]),
        ('{"a": [1, 2,], "b": {},}', [{"a": [1, 2], "b": {}}]),
        ('{"a": "he said "yes" to it"}', []),
        ('{"a": ["b" "c"]}', []),
        ("{'a': ['b' 'c']}", []),
        ('{"a" 1, "b": 2}', []),
        ('｛“a”："b”，“c”：["d"，“e”]｝', [{"a": "b", "c": ["d", "e"]}]),
        ("｛“a”：“他说“好”吧”，“b”：true｝", [{"a": "他说“好”吧", "b": True}]),
        ("{'a': True, 'b': None, 'c': -1.5}", [{"a": True, "b": None, "c": -1.5}]),
        ('{"a": "two\nlines"}', [{"a": "two\nlines"}]),
        (r"{'a': 'it\'s \_ \n'}", [{"a": "it's _ \n"}]),
        ('x {"a": 1} y {"a": 2} z', [{"a": 1}, {"a": 2}]),
        ("{not json} {'a': 1}", [{"a": 1}]),
        ('{"a": "，：｛"}', [{"a": "，：｛"}]),
        ('<think>{"a": 1}', []),
        ('{"a": "<think>"}', [{"a": "<think>"}]),
        ('{"a": {"b": 1}, "a": 2}', []),
    ],
)
def test_objects_in_text(text, found):
    """Objects are found in what models write; nothing is made up for what is not there."""
    assert [value for value in json_objects(text) if value or text == "{}"] == found


def test_thinking_is_left_out():
    """All of `<think>`, also when the template opened it or the model never closed it."""
    assert without_thinking("<think>a</think>b") == "b"
    assert without_thinking("a</think>b") == "b"
    assert without_thinking("b<think>a") == "b"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(value=st.dictionaries(st.text(max_size=8), JSON, max_size=4), ascii_=st.booleans())
def test_json_round_trips(value, ascii_):
    """Any JSON object, in a fence and with prose around it, is found exactly as it is."""
    text = json.dumps(value, ensure_ascii=ascii_)
    assert json_objects(text) == [value]
    if "think" not in text:
        assert json_objects(f"Here it is:\n```json\n{text}\n```\nDone.") == [value]


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet="{}[]\"'“”：，,:\\ \nab1tT<>/thinkｅ｛｝", max_size=120))
def test_no_text_breaks_the_parser(text):
    """Whatever a model writes, the parser returns objects or none; it raises nothing."""
    assert all(isinstance(value, dict) for value in json_objects(text))


def test_hostile_length_is_bounded():
    """Ten thousand braces are read in a moment."""
    assert json_objects("{" * 10_000 + "'") == []
