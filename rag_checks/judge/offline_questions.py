"""Which question does an answer answer? A reconstruction without a model, for answer_relevancy.

Method: the user's own question, keeping the content words that the answer takes up. A short answer (a name, a number)
leaves the subject out as people do, so it counts as taking up all of the question when its kind fits what is asked. An
answer that takes up nothing becomes a question about itself, so that the similarity to the user's question is low.
It is a signal: an answer on the matter in other words is scored too low.
"""

import re
from collections.abc import Sequence

from rag_checks.judge.offline_text import Text, analyse
from rag_checks.text import language_of, normalise

_ASKS_NUMBER = re.compile(
    r"几|多少|多久|多长|多大|多高|何时|什么时候|哪天|哪年|\b(?:how (?:many|much|long|old|far|often)|when|what (?:time|year|date))\b"
)
_NAME_WORDS = 4  # a name or a number with what it counts; more words are a statement
_TAKEN_UP = 0.7


def reconstruct(question: str, claims: Sequence[str]) -> list[str]:
    """Questions the claims would answer: one, in the question's words as far as the claims take them up; [] for none."""
    if not claims:
        return []
    asked, said = analyse(question), analyse("\n".join(claims))
    taken = [word for word in asked.content if said.has(word) >= _TAKEN_UP]
    if len(taken) >= _TAKEN_UP * len(asked.content) or _elliptical(question, said):
        return [question]
    if not taken:
        mark = "吗？" if language_of(claims[0]) == "zh" else "?"
        return [claims[0].rstrip("。.!！") + mark]
    gap = "" if language_of(question) == "zh" else " "
    return [gap.join(taken) + ("？" if not gap else "?")]


def _elliptical(question: str, said: Text) -> bool:
    if said.is_short_reply:
        return True
    bare = len(said.content) == len(said.words) <= _NAME_WORDS
    return bare and bool(said.quantities) == bool(_ASKS_NUMBER.search(normalise(question)))
