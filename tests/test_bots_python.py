"""The Python adapter: importing, calling, what may be returned, failures."""

import asyncio
import sys
import textwrap
import threading
import time
from datetime import UTC, datetime
from itertools import count

import pytest
from bots_fixtures import make_item

from rag_checks.bots import open_bot
from rag_checks.errors import BotError, ConfigError
from rag_checks.monitor import PythonBot

_NUMBERS = count()


@pytest.fixture
def module(tmp_path):
    """Write a module with this source into the monitor's folder; its name is new in the process."""

    def write(source):
        name = f"bot_under_test_{next(_NUMBERS)}"
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")
        return name

    return write


def ask(callable_, directory, *, times=1, **config):
    """Answers of a Python bot; one alone when asked once."""

    async def run():
        bot = open_bot(PythonBot(kind="python", callable=callable_, **config), directory)
        answers = await asyncio.gather(*(bot.ask(make_item()) for _ in range(times)))
        await bot.close()
        return answers

    answers = asyncio.run(run())
    return answers[0] if times == 1 else answers


@pytest.mark.parametrize(
    "body",
    [
        "return 'q: ' + item.user_input",
        "return {'answer': 'q: ' + item.user_input, 'contexts': ['c'], 'intent': 'leave'}",
        "return {'response': 'q: ' + item.user_input, 'retrieved_contexts': ('c',), 'intent': 'leave'}",
        "from rag_checks.records import Response; return Response(response='q: ' + item.user_input)",
    ],
)
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_text_mappings_and_responses_may_be_returned(module, tmp_path, kind, body):
    """Sync or async, each of the shapes becomes a Response."""
    name = module(f"{kind} answer(item):\n    {body}")
    response = ask(f"{name}:answer", tmp_path)
    assert response.response == "q: 年假几天？"
    if "leave" in body:
        assert (response.retrieved_contexts, response.intent) == (("c",), "leave")
    assert response.latency_ms >= 0
    assert response.answered_at is not None


def test_options_are_keyword_arguments_and_own_measures_are_kept(module, tmp_path):
    """Options reach the function; a latency and time the bot gives are not overwritten; text is cleaned."""
    name = module(
        """
        from datetime import UTC, datetime
        def answer(item, *, suffix):
            asked = datetime(2026, 1, 1, tzinfo=UTC)
            return {"answer": "x\\0" + suffix, "latency_ms": 5, "answered_at": asked}
        """
    )
    response = ask(f"{name}:answer", tmp_path, options={"suffix": "!"})
    assert (response.response, response.latency_ms) == ("x!", 5)
    assert response.answered_at == datetime(2026, 1, 1, tzinfo=UTC)


FAILURES = [
    ("raise KeyError('s3cret')", "raised", "raised KeyError at bot_under_test_"),
    ("raise StopIteration", "raised", "StopIteration"),
    ("raise TimeoutError", "raised", "TimeoutError"),
    ("raise SystemExit(3)", "raised", "SystemExit"),
    ("return None", "empty", "no answer"),
    ("return ' '", "empty", "no answer"),
    ("return {}", "empty", "no answer"),
    ("return 5", "schema", "returned a int"),
    ("return {'answer': 5}", "schema", "bad response"),
    ("return {'answr': 'x'}", "schema", "did you mean 'answer'"),
    ("return {'answer': 'x', 'contexts': 'one'}", "schema", "bad retrieved_contexts"),
    ("return {'error': 'index is down'}", "reported", "index is down"),
    ("return {'error': 'slow', 'error_kind': 'timeout'}", "timeout", "slow"),
    ("from rag_checks.errors import BotError; raise BotError('x', kind='http')", "http", "x"),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure[0])
@pytest.mark.parametrize("style", ["def", "async def"])
def test_every_way_to_fail_has_a_kind(module, tmp_path, style, failure):
    """Whatever the function raises or returns wrongly is a BotError of its kind, without the text raised."""
    body, kind, words = failure
    if style == "async def" and "StopIteration" in body:
        words = "RuntimeError"  # Python turns a StopIteration inside a coroutine into that
    name = module(f"{style} answer(item):\n    {body}")
    with pytest.raises(BotError, match=words) as caught:
        ask(f"{name}:answer", tmp_path)
    assert caught.value.kind == kind
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        "import time\ndef answer(item): time.sleep(1)",
        "import asyncio\nasync def answer(item): await asyncio.sleep(9)",
        "import asyncio\ndef answer(item): return asyncio.sleep(9)",
    ],
)
def test_a_call_without_end_is_abandoned(module, tmp_path, source):
    """A blocking or async call is given up after its time, and nothing waits for it."""
    name = module(source)
    started = time.monotonic()
    with pytest.raises(BotError) as caught:
        ask(f"{name}:answer", tmp_path, timeout_s=0.1)
    assert caught.value.kind == "timeout"
    assert time.monotonic() - started < 0.9
    assert all(t.daemon for t in threading.enumerate() if t.name == "rag-checks-bot")


def test_sync_functions_run_side_by_side_within_the_bound(module, tmp_path):
    """Blocking calls do not block each other, and no more run at once than allowed."""
    name = module(
        """
        import threading, time
        lock, running, peak = threading.Lock(), 0, 0
        def answer(item):
            global running, peak
            with lock:
                running += 1
                peak = max(peak, running)
            time.sleep(0.05)
            with lock:
                running -= 1
            return str(peak)
        """
    )
    answers = ask(f"{name}:answer", tmp_path, times=9, concurrency=3)
    assert max(int(answer.response) for answer in answers) == 3


def test_the_import_path_is_lent_for_the_import_only(module, tmp_path):
    """A module of the monitor's folder can import its neighbours; afterwards the path is as before."""
    helper = module("WORD = 'from the neighbour'")
    name = module(f"from {helper} import WORD\ndef answer(item): return WORD")
    before = list(sys.path)
    assert ask(f"{name}:answer", tmp_path).response == "from the neighbour"
    assert sys.path == before


@pytest.mark.parametrize(
    ("source", "function", "words"),
    [
        (None, "answer", "No module named"),
        ("raise RuntimeError('s3cret')", "answer", "RuntimeError at bot_under_test_"),
        ("def answer(:", "answer", "SyntaxError"),
        ("import sys; sys.exit(1)", "answer", "SystemExit"),
        ("def answer(item): pass", "anser", "did you mean 'answer'"),
        ("answer = 5", "answer", "no function"),
        ("def answer(): pass", "answer", "cannot be called with an item"),
        ("def answer(item, *, missing): pass", "answer", "missing"),
    ],
)
def test_a_callable_that_cannot_work_is_told_at_opening(module, tmp_path, source, function, words):
    """Missing modules, broken modules, misspelt functions and wrong arguments are configuration errors."""
    name = "bot_under_test_nowhere" if source is None else module(source)
    before = list(sys.path)
    with pytest.raises(ConfigError, match=words) as caught:
        open_bot(PythonBot(kind="python", callable=f"{name}:{function}"), tmp_path)
    assert caught.value.key == "bot.callable"
    assert "s3cret" not in str(caught.value)
    assert sys.path == before


def test_two_folders_with_the_same_module_name_are_not_mixed_up(module, tmp_path):
    """The second monitor's module is never silently taken for the first one's."""
    name = module("def answer(item): return 'first'")
    ask(f"{name}:answer", tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / f"{name}.py").write_text("def answer(item): return 'second'", encoding="utf-8")
    with pytest.raises(ConfigError, match="already taken"):
        open_bot(PythonBot(kind="python", callable=f"{name}:answer"), other)
