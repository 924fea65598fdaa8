"""What a real small model wrote (SmolLM2-135M under llama.cpp, `make smoke-llm`), and what is made of it.

The texts are the model's own, shortened where it repeats itself.
"""

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

LOOP = '{\n  "noncommittal":false,\n  "claims":[\n    ' + '"When are travel claims paid?",' * 20
INVENTED_ID = (
    '{\n  "answer_claims":[\n    {\n      "id":1,\n      "reason":"差旅报销在十天内付款。",\n'
    '      "supported":true\n    }'
    ',\n    {\n      "id":2,\n      "reason":"十天内付款。",\n      "supported":true\n    }\n  ],\n'
    '  "reference_claims":[\n    {\n      "id":1,\n      "reason":"十天内付款。",\n'
    '      "supported":true\n    }\n  ]\n}'
)
COUNTED_ON = (
    '{\n  "answer_claims":[\n    {\n      "id":0,"reason":"参考答案写明全额退款.",\n      "supported":true}\n'
    '    ],"reference_claims":[{\n      "id":2,"reason":"全部退还即全额！",\n      "supported":true}\n    ]\n }'
)
ECHO_OF_DATA = (
    '<data>\n{"question":"差旅报销何时付款？","reference":"十天内付款。","answer":"差旅报销在十天内付款。",'
    '"answer_claims":{"1":"差旅报销在十天内付款。"},"reference_claims":{"2":"十天内付款。"}}\n</data>'
)
ECHO_OF_EXAMPLE = (
    '<data>\n{"question":"我每年有几天年假？","reference":"每年25天。","contexts":{"1":"全职员工每年享有25天年假。"},'
    '"answer_claims":{"1":"每年25天。"},"reference_claims":{"2":"请假申诉在门户网站提交。"},'
    '"rate_contexts":true}\n</data>'
)
ECHO_OF_SCHEMA = (
    '<data>\n{"noncommittal":{"description": "The answer evads or says it does not know.", "type": "boolean"},'
    ' "claims":{"items": {"type": "string"}, "type": "array"}, "questions":{"items": {"type": "string"},'
    ' "type": "array"}, "additionalProperties": false}'
)


@pytest.mark.parametrize(
    ("request_", "text", "kind", "told"),
    [
        (ANALYSE, LOOP, "truncated", "cut off at the token limit"),
        (
            ANALYSE,
            "The answer is that travel claims are paid within ten days.",
            "format",
            "not a JSON object",
        ),
        (ANALYSE, ECHO_OF_SCHEMA, "format", "claims: Input should be a valid list"),
        (COMPARE, INVENTED_ID, "format", "answer_claims: ids [2] are not among those that were sent"),
        (COMPARE, COUNTED_ON, "format", "answer_claims: ids [1] are missing"),
        (COMPARE, ECHO_OF_DATA, "format", "answer_claims: Input should be a valid list"),
        (CHECK, ECHO_OF_EXAMPLE, "format", "contexts: Input should be a valid list"),
        (
            REFERENCE,
            '<data>\n{"question":"差旅报销何时付款？","reference":"十天内付款。"}\n</data>',
            "format",
            "claims: Field required",
        ),
    ],
    ids=[
        "repeats itself up to the limit",
        "answers the question",
        "echoes the schema",
        "invents a verdict",
        "counts on from the example",
        "echoes the data",
        "echoes the prompt's example",
        "echoes the data of a reference",
    ],
)
def test_what_a_small_model_gets_wrong_is_named_and_never_a_verdict(request_, text, kind, told) -> None:
    """Each fault met is an error of its kind, with what a model needs to mend it and with the raw text."""
    with pytest.raises(JudgeError, match=r".") as caught:
        read_output(request_, text, truncated=kind == "truncated")
    assert caught.value.kind == kind
    assert told in str(caught.value)
    assert caught.value.raw == text


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
