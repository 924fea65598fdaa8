"""A message is stored once and handed to one sender; a reply is paid once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from store_fixtures import DATABASES, NOW, fresh_database, make_message

from rag_checks.errors import StoreError
from rag_checks.store import Store


@pytest.fixture(params=DATABASES)
def store_url(request, tmp_path):
    """A database with tables and without data."""
    with fresh_database(request, tmp_path) as url:
        yield url


@pytest.fixture
def store(store_url):
    """An open, empty store."""
    with Store.open(store_url) as opened:
        yield opened


def test_a_message_is_kept_once(store):
    """A second message of the same id changes nothing and gives back what is stored."""
    first = make_message(attachment="trend.png", channel=None)
    assert store.outbox().enqueue(first) == first
    assert store.outbox().enqueue(make_message(payload={"text": "另一个"})) == first
    assert store.messages() == [first]


def test_messages_of_one_run_or_of_all(store):
    """Oldest first; a message about no run is among all only."""
    later = make_message(created_at=NOW + timedelta(hours=1))
    broken = make_message("broken", kind="broken", eval_run_id=None)
    for message in (later, broken):
        store.outbox().enqueue(message)
    assert store.messages() == [broken, later]
    assert store.messages("shop-2026-03-01") == [later]


def test_a_message_is_claimed_when_it_is_due(store):
    """Not before `not_before`; then its state and attempts say that it is being sent."""
    box = store.outbox()
    box.enqueue(make_message(not_before=NOW))
    assert box.claim("shop-2026-03-01:digest", NOW - timedelta(seconds=1)) is None
    assert box.claim("nothing", NOW) is None
    assert box.claim("shop-2026-03-01:digest", NOW) == make_message(
        not_before=NOW, state="sending", attempts=1
    )


def test_a_live_sender_is_not_doubled_and_a_dead_one_is_replaced(store):
    """What is being sent is handed over only when its claim is older than the limit."""
    box = store.outbox(stale_after=timedelta(seconds=60))
    box.enqueue(make_message())
    key = "shop-2026-03-01:digest"
    assert box.claim(key, NOW).attempts == 1
    assert box.claim(key, NOW + timedelta(seconds=59)) is None
    assert box.claim(key, NOW + timedelta(seconds=60)).attempts == 2
    assert box.claim(key, NOW + timedelta(seconds=119)) is None


def test_the_stale_limit_is_two_minutes_unless_told_otherwise(store):
    """A sender has two minutes before it counts as dead."""
    box = store.outbox()
    box.enqueue(make_message())
    box.claim("shop-2026-03-01:digest", NOW)
    assert box.claim("shop-2026-03-01:digest", NOW + timedelta(seconds=119)) is None
    assert box.claim("shop-2026-03-01:digest", NOW + timedelta(seconds=120)) is not None


def test_an_update_writes_how_sending_went_and_nothing_else(store):
    """Payload and attempts stay as they are; what was sent is never claimed again."""
    box = store.outbox()
    box.enqueue(make_message())
    box.claim("shop-2026-03-01:digest", NOW)
    outcome = {"state": "sent", "last_error": "429", "remote_id": "171.5", "sent_at": NOW, "not_before": NOW}
    box.update(make_message(payload={"text": "x"}, attempts=9, **outcome))
    assert store.messages() == [make_message(attempts=1, **outcome)]
    assert box.claim("shop-2026-03-01:digest", NOW + timedelta(days=1)) is None


def test_a_message_put_back_can_be_claimed_again(store):
    """After a failed try the message waits as pending until its next time."""
    box = store.outbox()
    box.enqueue(make_message())
    claimed = box.claim("shop-2026-03-01:digest", NOW)
    retry = NOW + timedelta(seconds=3)
    box.update(
        claimed.model_copy(update={"state": "pending", "last_error": "ratelimited", "not_before": retry})
    )
    assert box.claim("shop-2026-03-01:digest", NOW) is None
    assert box.claim("shop-2026-03-01:digest", retry).attempts == 2


def test_updating_a_message_that_is_not_there_is_an_error(store):
    """Nothing is invented by an update."""
    with pytest.raises(StoreError, match="no message"):
        store.outbox().update(make_message())


def test_of_many_claims_at_once_one_gets_the_message(store_url, store):
    """Eight senders with connections of their own, ten messages: each is got exactly once."""
    for number in range(10):
        store.outbox().enqueue(make_message(f"m{number}"))

    def claim_all(_):
        with Store.open(store_url) as mine:
            return [n for n in range(10) if mine.outbox().claim(f"m{n}", NOW) is not None]

    with ThreadPoolExecutor(8) as pool:
        got = [number for numbers in pool.map(claim_all, range(8)) for number in numbers]
    assert sorted(got) == list(range(10))


def test_a_reply_is_kept_as_it_was_first_put(store, store_url):
    """A key already there is left as it is, and every process sees it at once."""
    cache = store.reply_cache()
    assert cache.get("k") is None
    cache.put("k", {"claims": ["退款七天\x00"], "n": 1.5, "none": None})
    cache.put("k", {"claims": []})
    with Store.open(store_url) as other:
        assert other.reply_cache().get("k") == {"claims": ["退款七天"], "n": 1.5, "none": None}


def test_one_store_serves_many_threads(store):
    """Eight threads share one store: each finds what it put, and all replies are there."""
    cache = store.reply_cache()

    def put_and_get(thread):
        for number in range(20):
            cache.put(f"{thread}:{number}", {"n": number})
            assert cache.get(f"{thread}:{number}") == {"n": number}

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put_and_get, range(8)))
    assert store.purge_replies(datetime.now(UTC) + timedelta(minutes=1)) == 160


def test_old_replies_are_purged(store):
    """Only replies older than the moment go, and their number is told."""
    for key in "abc":
        store.reply_cache().put(key, {"key": key})
    assert store.purge_replies(datetime.now(UTC) - timedelta(minutes=5)) == 0
    assert store.reply_cache().get("a") == {"key": "a"}
    assert store.purge_replies(datetime.now(UTC) + timedelta(minutes=5)) == 3
    assert store.reply_cache().get("a") is None
