"""What a real small model wrote (SmolLM2-135M under llama.cpp, `make smoke-llm`), and what is made of it.

The texts in `data/smollm2_replies.json` are the model's own, shortened where it repeats itself.
"""

import json
from pathlib import Path

import pytest

from rag_checks.errors import JudgeError
from rag_checks.judge.validate import read_output
from rag_checks.protocols import JudgeRequest, Task

EN = {"question": "When are travel claims paid?", "answer": "Travel claims are paid within ten days."}
ZH = {"question": "差旅报销何时付款？", "answer": "差旅报销在十天内付款。", "reference": "十天内付款。"}
CLAIMS = {"answer_claims": ["差旅报销在十天内付款。"], "reference_claims": ["十天内付款。"]}
ANALYSE = JudgeRequest(task=Task.ANALYSE_ANSWER, language="en", inputs=EN)
REFERENCE = JudgeRequest(task=Task.ANALYSE_REFERENCE, language="zh", inputs=ZH)
COMPARE = JudgeRequest(task=Task.COMPARE_CLAIMS, language="zh", inputs=ZH | CLAIMS)
CHECK = JudgeRequest(
    task=Task.CHECK_CONTEXTS,
    language="zh",
    inputs=ZH | CLAIMS | {"contexts": ["主管签字后十天内支付差旅报销。"], "rate_contexts": True},
)

RAW = json.loads((Path(__file__).parent / "data" / "smollm2_replies.json").read_text(encoding="utf-8"))
FAULTS = {
    "repeats itself": (ANALYSE, "truncated", "cut off at the token limit"),
    "answers the question": (ANALYSE, "format", "not a JSON object"),
    "echoes the schema": (ANALYSE, "format", "claims: Input should be a valid list"),
    "invents a verdict": (COMPARE, "format", "answer_claims: ids [2] are not among those that were sent"),
    "counts on from the example": (COMPARE, "format", "answer_claims: ids [1] are missing"),
    "echoes the data": (COMPARE, "format", "answer_claims: Input should be a valid list"),
    "echoes the example": (CHECK, "format", "contexts: Input should be a valid list"),
    "echoes the reference": (REFERENCE, "format", "claims: Field required"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_small_model_gets_wrong_is_named_and_never_a_verdict(fault) -> None:
    """Each fault met is an error of its kind, with what a model needs to mend it and with the raw text."""
    request, kind, told = FAULTS[fault]
    with pytest.raises(JudgeError) as caught:
        read_output(request, RAW[fault], truncated=kind == "truncated")
    assert caught.value.kind == kind
    assert told in str(caught.value)
    assert caught.value.raw == RAW[fault]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ('{"claims":["差旅报销何时付款？"]}', ["差旅报销何时付款？"]),
        ('{\n  "claims":[\n    "十天内付款。"\n      \t  \t   \t    \t ]}', ["十天内付款。"]),
        ('{"claims":[]}', []),
    ],
    ids=["on one line", "padded until the grammar lets it stop", "nothing found"],
)
def test_odd_but_whole_replies_count(text, claims) -> None:
    """White space is no fault, and a list without claims is an answer: metrics make not_applicable of it."""
    assert list(read_output(REFERENCE, text, truncated=False).claims) == claims
