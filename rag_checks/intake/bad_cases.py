"""Which turns count as bad cases: disliked, failed, empty, or answered by saying there is no answer.

The phrases only decide what is looked at more often; the weights of the sample take that back. So a phrase in
an honest answer costs nothing but a place in the sample.
"""

import re
from typing import Any

from rag_checks.intake.spelling import opinion

# The first character decides at most places of a text, and looking behind is only done after it: a plain
# alternation would be tried in full at every character and cost more than reading the line.
_NO_ANSWER_ZH = re.compile(
    r"[没未无我暂还也不查找搜歉]"
    r"(?:(?<=[没未无])(?:有|能|法)?(?:在.{1,12}中)?"
    r"(?:找到|查到|查询到|检索到|搜到|相关|有关|关于|这方面|提及|提到|记载|回答|解答|提供|给出)"
    r"|(?<=[我暂还也])不太?(?:知道|清楚|了解|确定)"
    r"|(?<=不)能回答"
    r"|(?<=[查找搜])不到相关"
    r"|(?<=歉)[，,]?我(?:无法|没|不|未))"
)
# It starts with one letter and no alternation: so the search jumps from n to n.
_NO_ANSWER_EN = re.compile(
    r"n(?:ot?|'t|able to) (?:able to )?(?:find|locate|answer|know|have (?:any |enough )?information"
    r"|information|relevant|matching|mentioned|contain|sure)"
)


def is_bad_case(response: str | None, error: Any, feedback: Any, rating: Any) -> bool:
    """Whether a turn is one.

    Args:
        response: the answer.
        error: what the log says went wrong; false, empty and null mean nothing.
        feedback: as `spelling.opinion` takes it.
        rating: likewise.
    """
    if error or not response or response.isspace():
        return True
    if (feedback is not None or rating is not None) and opinion(feedback, rating) == "dislike":
        return True
    return says_no_answer(response)


def says_no_answer(answer: str) -> bool:
    """Whether an answer says, in Chinese or English, that it has none."""
    if not answer.isascii():
        if _NO_ANSWER_ZH.search(answer):
            return True
        if " " not in answer:  # no English words
            return False
        answer = answer.replace("’", "'")
    return _NO_ANSWER_EN.search(answer.lower()) is not None
