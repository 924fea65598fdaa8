"""Records: identities and revisions."""

from rag_checks.records import EvalItem, JudgeIdentity

JUDGE = JudgeIdentity(kind="openai", requested_model="m", returned_model="m-1", prompt_hash="p")


def test_a_new_system_fingerprint_is_another_identity_of_the_same_series() -> None:
    """Endpoints change it at will: recorded, but no reason to lose the baseline."""
    other = JUDGE.model_copy(update={"system_fingerprint": "fp_2"})
    assert other.fingerprint != JUDGE.fingerprint
    assert other.series == JUDGE.series


def test_another_model_or_prompt_is_another_series() -> None:
    """Scores across such a change are never compared (P4)."""
    for change in ({"returned_model": "m-2"}, {"prompt_hash": "q"}, {"parameters": {"temperature": 1}}):
        assert JUDGE.model_copy(update=change).series != JUDGE.series


def test_an_items_revision_follows_what_affects_scores_only() -> None:
    """Tags and status leave the revision alone, question and reference do not."""
    item = EvalItem(item_id="1", user_input="q", reference="a")
    assert item.model_copy(update={"tags": ("x",), "status": "retired"}).revision == item.revision
    assert item.model_copy(update={"reference": "b"}).revision != item.revision
