"""Saving twice is saving once, for any records."""

from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_fixtures import (
    DATABASES,
    NOW,
    fresh_database,
    make_case,
    make_response,
    make_run,
    make_score,
    make_verdict,
)

from rag_checks.records import ScoreStatus
from rag_checks.store import Store
from rag_checks.text import clean

# Any characters at all, also those that databases refuse; what comes back is the cleaned text.
texts = st.text(max_size=20).map(clean)
numbers = st.integers(1, 6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
responses = st.none() | st.builds(make_response, texts, retrieved_contexts=st.none() | st.tuples(texts))
cases = st.lists(
    st.builds(
        make_case,
        numbers,
        question=texts,
        response=responses,
        intent=texts,
        weight=st.floats(1e-300, 1e300),
        conversation_id=st.none() | texts,
    ),
    unique_by=lambda case: case.case_id,
    max_size=6,
)
values = st.none() | st.floats(0, 1)
scores = st.lists(
    st.builds(
        make_score,
        numbers,
        st.sampled_from(["a", "b"]),
        value=values,
        evidence=st.dictionaries(texts, json_values),
    ),
    unique_by=lambda score: (score.case_id, score.metric),
    max_size=8,
)
run_ids = count()

on_any_database = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(params=DATABASES)
def store(request, tmp_path):
    """An open store; each example uses a run of its own in it."""
    with fresh_database(request, tmp_path) as url, Store.open(url) as opened:
        yield opened


def new_run(store):
    """A stored run that no other example uses."""
    run = make_run(f"run-{next(run_ids)}")
    store.save_run(run)
    return run.eval_run_id


@on_any_database
@given(planned=cases)
def test_planning_twice_is_planning_once(store, planned):
    """Cases come back equal after one plan, and the same after another."""
    run = new_run(store)
    store.plan_cases(run, planned)
    assert store.cases(run) == planned
    store.plan_cases(run, planned)
    assert store.cases(run) == planned


@on_any_database
@given(first=cases, second=cases)
def test_no_plan_loses_an_answer_to_an_unchanged_item(store, first, second):
    """After any two plans the cases are the second's, with the first's answers where the item is the same."""
    run = new_run(store)
    store.plan_cases(run, first)
    store.plan_cases(run, second)
    earlier = {case.case_id: case for case in first}
    expected = []
    for case in second:
        before = earlier.get(case.case_id)
        keeps = (
            before is not None and before.response is not None and before.item.revision == case.item.revision
        )
        expected.append(case.model_copy(update={"response": before.response}) if keeps else case)
    assert store.cases(run) == expected


@on_any_database
@given(given_scores=scores)
def test_saving_scores_twice_is_saving_once(store, given_scores):
    """Scores come back equal after one save, and the same after another."""
    run = new_run(store)
    mine = [score.model_copy(update={"eval_run_id": run}) for score in given_scores]
    store.plan_cases(run, [make_case(number) for number in range(1, 7)])
    expected = sorted(mine, key=lambda score: (score.case_id, score.metric))
    for _ in range(2):
        store.save_scores(mine)
        assert store.scores(run) == expected


@on_any_database
@given(runs=st.lists(st.builds(make_run, st.sampled_from(["x", "y"]), release=st.none() | texts), max_size=4))
def test_the_last_save_of_a_run_wins(store, runs):
    """Whatever was saved before, a run reads as it was saved last."""
    for run in runs:
        store.save_run(run)
        store.save_run(run)
        assert store.run(run.eval_run_id) == run


@on_any_database
@given(metrics=st.lists(texts, unique=True, max_size=4), z=st.floats(allow_nan=False))
def test_saving_verdicts_twice_is_saving_once(store, metrics, z):
    """The list is replaced by itself."""
    run = new_run(store)
    verdicts = [make_verdict(metric, z=z) for metric in metrics]
    for _ in range(2):
        store.save_verdicts(run, verdicts)
        assert store.verdicts(run) == verdicts


@on_any_database
@given(sets=st.lists(cases, max_size=4))
def test_a_golden_set_saved_again_is_the_same_version(store, sets):
    """Each set is found under the version it got; saving it again right away gives that version."""
    name = f"set-{next(run_ids)}"
    for some in sets:
        items = [case.item for case in some]
        saved = store.save_golden(name, items, NOW)
        assert store.save_golden(name, items, NOW) == saved
        assert store.golden(name, saved.version) == saved == store.golden(name)
        assert saved.content_hash == saved.model_copy(update={"items": tuple(items)}).content_hash


def test_a_failed_judgement_has_no_value(store):
    """The strategies above do produce scores without a value, which must not become zero."""
    run = new_run(store)
    store.plan_cases(run, [make_case(1)])
    store.save_scores([make_score(1, run=run, value=None)])
    assert [(score.value, score.status) for score in store.scores(run)] == [(None, ScoreStatus.JUDGE_ERROR)]
