"""Who is picked, and with which weight."""

import random
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from rag_checks.intake.sampling import BAD_CASE, BottomK, Draw, key_of, number_of, numbers_of, quotas
from rag_checks.monitor import Sample

STRATA = ("leave", "travel", "payroll", BAD_CASE)
turn_sets = st.dictionaries(st.integers(0, 400), st.sampled_from(STRATA), max_size=120)
samples = st.builds(
    Sample, size=st.integers(0, 40), bad_cases=st.integers(0, 12), floor_per_intent=st.integers(0, 6)
)


def filled(turns: Iterable[tuple[int, str]], sample: Sample, *, spare: int = 0) -> BottomK[str, str]:
    """The structure after adding all turns."""
    key = key_of(sample.seed)
    bottom: BottomK[str, str] = BottomK(sample.size + spare, lambda turn: turn)
    for turn, stratum in turns:
        bottom.add(stratum, number_of(key, f"t{turn}"), f"t{turn}")
    return bottom


def drawn(bottom: BottomK[str, str], sample: Sample) -> Draw[str]:
    """The sample, which must be exact."""
    draw = bottom.draw(sample)
    assert draw is not None
    return draw


@given(turn_sets, samples, st.lists(st.integers(0, 3), min_size=120, max_size=120), st.randoms())
def test_parts_merge_to_the_sample_of_the_whole_in_any_order(
    turns: dict[int, str], sample: Sample, homes: list[int], shuffler: random.Random
) -> None:
    """Sample, counts and weights of merged per-file parts are those of one pass, in whatever order."""
    whole = drawn(filled(turns.items(), sample), sample)
    parts: list[list[tuple[int, str]]] = [[], [], [], []]
    for home, turn in zip(homes, turns.items(), strict=False):
        parts[home].append(turn)
    for part in parts:
        shuffler.shuffle(part)
    shuffler.shuffle(parts)
    merged = filled(parts[0], sample)
    for part in parts[1:]:
        merged = merged.merge(filled(part, sample))
    assert drawn(merged, sample) == whole


@given(turn_sets, samples, st.randoms())
def test_turns_taken_out_leave_no_trace(
    turns: dict[int, str], sample: Sample, chooser: random.Random
) -> None:
    """Adding and removing turns gives the sample of those that stay, or an honest None."""
    gone = {turn for turn in turns if chooser.random() < 0.3}
    bottom = filled(turns.items(), sample, spare=sample.size)
    key = key_of(sample.seed)
    for turn in gone:
        bottom.remove(turns[turn], number_of(key, f"t{turn}"))
    draw = bottom.draw(sample)
    stay = [(turn, stratum) for turn, stratum in turns.items() if turn not in gone]
    if draw is None:
        assert len(gone) > sample.size
    else:
        assert draw == drawn(filled(stay, sample), sample)


@given(turn_sets, samples)
def test_united_strata_are_as_if_they_had_been_one(turns: dict[int, str], sample: Sample) -> None:
    """Too many intents become one without reading anything again."""
    bottom = filled(turns.items(), sample)
    bottom.unite("other", keep=frozenset({BAD_CASE}))
    renamed = [(turn, s if s == BAD_CASE else "other") for turn, s in turns.items()]
    assert drawn(bottom, sample) == drawn(filled(renamed, sample), sample)


@given(st.dictionaries(st.sampled_from(STRATA), st.integers(1, 60)), samples)
def test_quotas_fill_the_sample_and_never_exceed_a_stratum(sizes: dict[str, int], sample: Sample) -> None:
    """What one stratum cannot use, others get."""
    given_turns = quotas(sizes, sample)
    assert sum(given_turns.values()) == min(sample.size, sum(sizes.values()))
    assert all(0 <= given_turns[stratum] <= sizes[stratum] for stratum in sizes)


def test_quotas_of_a_usual_night() -> None:
    """15 bad cases, 5 of the rare intent, the rest in proportion."""
    sizes = {"leave": 700, "travel": 250, "payroll": 5, BAD_CASE: 45}
    assert quotas(sizes, Sample()) == {"leave": 57, "travel": 23, "payroll": 5, BAD_CASE: 15}


def test_floors_that_do_not_fit_are_shared_from_the_largest() -> None:
    """With 4 places and 3 intents each gets one, the largest two."""
    sizes = {"leave": 50, "travel": 30, "payroll": 20}
    shared = quotas(sizes, Sample(size=4, bad_cases=0, floor_per_intent=5))
    assert shared == {"leave": 2, "travel": 1, "payroll": 1}


def test_weights_are_turns_there_by_turns_picked() -> None:
    """The weights of a stratum add up to its turns."""
    turns = {turn: STRATA[turn % 4] for turn in range(400)}
    sample = Sample(size=60)
    draw = drawn(filled(turns.items(), sample), sample)
    for stratum, (there, picked) in draw.strata.items():
        weights = [pick.weight for pick in draw.picks if pick.stratum == stratum]
        assert len(weights) == picked
        assert abs(sum(weights) - there) < 1e-9


def test_late_turns_leave_nearly_all_of_the_sample() -> None:
    """Two in a hundred arriving late change at most five in a hundred of the sample."""
    turns = [(turn, STRATA[turn % 3]) for turn in range(5000)]
    sample = Sample(size=200, bad_cases=0)
    early = {pick.payload for pick in drawn(filled(turns[:4900], sample), sample).picks}
    late = {pick.payload for pick in drawn(filled(turns, sample), sample).picks}
    assert len(early & late) >= 0.95 * len(early)


@settings(max_examples=5, deadline=None)
@given(st.text(min_size=1, max_size=4))
def test_the_weighted_mean_is_unbiased_although_bad_cases_are_oversampled(salt: str) -> None:
    """Over seeds, the weighted mean of a sample of 60 is the mean of all; the plain mean is not."""
    turns = {turn: BAD_CASE if turn % 20 == 0 else STRATA[turn % 3] for turn in range(1000)}
    score = {f"t{turn}": 0.0 if stratum == BAD_CASE else 1.0 for turn, stratum in turns.items()}
    truth = sum(score.values()) / len(score)
    weighted, plain = [], []
    for seed in range(60):
        sample = Sample(size=60, bad_cases=20, seed=f"{salt}{seed}")
        picks = drawn(filled(turns.items(), sample), sample).picks
        weighted.append(sum(p.weight * score[p.payload] for p in picks) / sum(p.weight for p in picks))
        plain.append(sum(score[p.payload] for p in picks) / len(picks))
    assert abs(sum(weighted) / 60 - truth) < 1e-9  # exact here: the score is constant in each stratum
    assert sum(plain) / 60 < truth - 0.2


def test_the_weighted_mean_is_unbiased_within_strata() -> None:
    """Over 400 seeds the mean error of an unrelated score is within four standard errors of 0."""
    rng = random.Random(3)
    turns = {turn: STRATA[turn % 4] for turn in range(600)}
    score = {f"t{turn}": rng.random() for turn in turns}
    truth = sum(score.values()) / len(score)
    errors = []
    for seed in range(400):
        sample = Sample(size=40, seed=str(seed))
        picks = drawn(filled(turns.items(), sample), sample).picks
        errors.append(sum(p.weight * score[p.payload] for p in picks) / 600 - truth)
    mean = sum(errors) / 400
    spread = (sum((error - mean) ** 2 for error in errors) / 399) ** 0.5
    assert abs(mean) < 4 * spread / 20


def test_numbers_depend_on_seed_and_id_only() -> None:
    """The published rule: the first 64 bits of SHA-256 over seed, 0x1F and id."""
    key = key_of("rag-checks")
    assert number_of(key, "t1") == 0xF4852A0C8B4C9F72
    assert numbers_of(key, ["a", "b"]) == [number_of(key, "a"), number_of(key, "b")]
    assert number_of(key_of("other"), "t1") != number_of(key, "t1")
