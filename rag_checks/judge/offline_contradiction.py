"""Contradictions between a clause of an answer and a clause of a reference, by rules in Chinese and English.

They overrule the fitted model, because no weight of word overlap makes 3 days equal to 3 hours.
"""

from difflib import SequenceMatcher
from itertools import takewhile

from rag_checks import text as texts
from rag_checks.judge import offline_lexicon as lexicon
from rag_checks.judge.offline_features import negation_differs, opposite, recall
from rag_checks.judge.offline_text import Text, analyse
from rag_checks.judge.offline_words import stem
from rag_checks.records import Language

_SAME_MATTER = 0.5  # share of the reference's words from which two clauses speak of one matter
_NAME_FOUND = 0.7
_FRAMED = 0.7  # share of equal words from which two clauses are one sentence with a word replaced
_REACH = 12  # how many characters before a name a negation can stand and still deny it
_COMMON_ENDINGS = frozenset("市区县省州国部处组室楼层费率卡店")  # 上海市 and 北京市 share nothing that counts
_POLAR = lexicon.pattern("polarity", "polar_question")


def say(language: Language, english: str, chinese: str) -> str:
    """The reason in the item's language."""
    return chinese if language == "zh" else english


def contradiction(
    reference: str, claim: str, answer: str, question: str, language: Language, *, alone: bool = True
) -> str | None:
    """Why a clause of the answer speaks against a clause of the reference, or None.

    `alone`: the clause is all of the reference, so that it answers a question for yes or no.

    A number counts as missing only when the whole answer lacks it, or when the clause gives another one
    in its place.
    """
    wanted, said, whole, asked = analyse(reference), analyse(claim), analyse(answer), analyse(question)
    near = recall(wanted.content, (), said) >= _SAME_MATTER or not wanted.words
    near = near or (alone and is_polar(question))
    if _other_number(wanted, said, whole, asked, near=near):
        return say(language, "gives another number than the reference", "数字或单位与参考答案不一致")
    if near and _denies(wanted, said, asked):
        return say(language, "denies what the reference affirms, or the reverse", "肯定与否定和参考答案相反")
    same_number = any(map(said.has_quantity, wanted.quantities))
    if (near or same_number) and opposite(wanted, said) and not _same_clock(wanted, said):
        return say(
            language,
            "says the opposite of the reference (before/after, free/charged, …)",
            "与参考答案意思相反",
        )
    if (
        _other_person(wanted, said, asked)
        or _other_name(wanted, said, asked)
        or _other_unit(wanted, said, asked)
    ):
        return say(language, "names something or somebody else", "说的是另一个人或事物")
    swapped = _swapped_noun(wanted, said, asked) if near else None
    if swapped:
        return say(
            language,
            "says {1} where the reference says {0}".format(*swapped),
            "把“{}”说成了“{}”".format(*swapped),
        )
    return None


def _other_person(wanted: Text, said: Text, asked: Text) -> bool:
    known = asked.people | wanted.people
    return (
        bool(said.people and known)
        and not said.people & known
        and not any(name in said.squeezed for name in known)
    )


def _same_clock(wanted: Text, said: Text) -> bool:
    """The same times of day: 上午9点到22点 is not opposed to 早上九点到晚上十点."""
    clocks = [one for one in wanted.quantities if one.unit == "clock"]
    return bool(clocks) and all(map(said.has_quantity, clocks))


def _other_unit(wanted: Text, said: Text, asked: Text) -> bool:
    """Each names departments, and none is common."""
    expected, given = wanted.units - asked.units, said.units - asked.units
    return (
        bool(expected and given)
        and not any(unit in said.squeezed for unit in expected)
        and not any(unit in wanted.squeezed for unit in given)
    )


def _other_name(wanted: Text, said: Text, asked: Text) -> bool:
    """In one sentence frame, the reference has one capitalised name and the clause has another."""
    expected = [name for name in wanted.capitalised if name not in asked.folded]
    given = [name for name in said.capitalised if name not in asked.folded]
    shared = [word for word in wanted.content if word not in map(stem, expected) and word in said.content_set]
    if not expected or not given or not shared:
        return False
    return all(said.has(stem(name)) < _NAME_FOUND for name in expected) and all(
        wanted.has(stem(name)) < _NAME_FOUND for name in given
    )


def _swapped_noun(wanted: Text, said: Text, asked: Text) -> tuple[str, str] | None:
    """A Chinese noun that stands where the reference has another one without a common character."""
    if not wanted.nouns or not said.any_nouns:
        return None
    matcher = SequenceMatcher(None, wanted.words, said.words, autojunk=False)
    framed = matcher.ratio() >= _FRAMED
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag != "replace":
            continue
        gone = [
            word for word in wanted.words[start:end] if word in wanted.nouns and _lacks(said, word, framed)
        ]
        come = [
            word
            for word in said.words[other_start:other_end]
            if word in said.any_nouns and _lacks(wanted, word, framed) and word not in asked.squeezed
        ]
        if gone and come and _other_thing("".join(gone), "".join(come), framed=framed):
            return gone[-1], come[-1]
    return None


def _in_common(one: str, other: str) -> int:
    """How many characters both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _lacks(text: Text, word: str, framed: bool) -> bool:
    """Nothing of the word is in the text; in an equal sentence: not the word itself."""
    return word not in text.squeezed if framed else text.has(word) == 0


def _other_thing(one: str, other: str, *, framed: bool) -> bool:
    """Two nouns name different things: no common character or, in an equal sentence, other ones inside.

    法务部 and 财务部, 省外 and 省内 differ inside; 手机号 and 手机号码 do not.
    """
    if not set(one) & set(other) - _COMMON_ENDINGS:
        return True
    if not framed:
        return False
    before = _in_common(one, other)
    one, other = one[before:], other[before:]
    after = _in_common(one[::-1], other[::-1])
    one, other = one[: len(one) - after], other[: len(other) - after]
    return bool(one and other) and not set(one) & set(other)


def _other_number(wanted: Text, said: Text, whole: Text, asked: Text, *, near: bool) -> bool:
    met = any(whole.has_quantity(one) for one in wanted.quantities)
    for quantity in wanted.quantities:
        if (
            not quantity.unit and met
        ):  # 1979-80 against 1979-1980: half of a pair of plain numbers proves nothing
            continue
        if (
            said.rivals_of(quantity)
            and not said.has_quantity(quantity)
            and (near or not whole.has_quantity(quantity))
        ):
            return True
    # 15W, A1024: a number in a code has no unit to compare, the code itself must agree.
    expected = [code for code in wanted.codes if code not in asked.folded]
    other = [code for code in said.codes if code not in asked.folded and code not in wanted.folded]
    return bool(expected and other) and not any(code in whole.folded for code in expected)


def _denies(wanted: Text, said: Text, asked: Text) -> bool:
    """One denies the other; negations of the question itself ("who wrote I can't …") are only repeated."""
    if is_polar(asked.raw):
        return negation_differs(wanted, said)
    if asked.negations and (
        (said.affirms and wanted.negations % 2) or (wanted.affirms and said.negations % 2)
    ):
        return True
    own, other = max(0, said.negations - asked.negations), max(0, wanted.negations - asked.negations)
    bare = own and not other and recall(wanted.content, (), asked) == 0
    if bare:  # the reference is a name or a phrase: only a negation in front of it denies it
        found = [at for at in (said.folded.find(word) for word in wanted.content) if at >= 0]
        return bool(found) and analyse(said.folded[: min(found)][-_REACH:]).negations > 0
    return own % 2 != other % 2


def is_polar(question: str) -> bool:
    """The question asks for yes or no."""
    return bool(_POLAR.search(texts.normalise(question)))
