"""What an answer states, and whether it states anything: sentences, refusals, hedges, offers of help.

A refusal says that the answer is not known or was not found. "不能报销" (cannot be reimbursed) is a policy, not a
refusal; an answer with facts that ends "please contact HR" is not one either.
"""

import re
from functools import lru_cache

from rag_checks import text as texts

_CONDITION = re.compile(
    r"^\W*(?:如果|如|若|假如|要是|当|倘若|万一|if\b|when\b|in case\b|should you\b|unless\b)"
)
_REFUSAL_ZH = re.compile(
    r"(?:没有|没|未能?|无法|未曾|并未|暂未)(?:能够?|在.{0,12})?(?:找到|查到|查询到|检索到|搜索到|提到|提及|说明|涉及|给出|列出|记载|明确(?:说明|提到|给出|指出)?)"
    r"(?!.{0,8}(?:的员工|的人|的情况|的话|的，|者))"
    r"|找不到(?!.{0,8}(?:的员工|的人|的情况|的话|时))"
    r"|(?:无法|不能|难以|没办法|没法)(?:直接|准确|为您|给您|为你|给出|从.{0,10}中)*(?:回答|确定(?!.{0,6}的)|得知|判断|告知|给出|解答|获知|了解到|作答|查询)"
    r"|(?:无法|不能)(?:直接|准确|为您|给您|为你)*提供(?:更多|相关|具体|准确|确切|有关|关于|该|这|此|答案|信息|任何|帮助|您)"
    r"|(?:^|[，,。；\s]|我们?|目前|暂时?|也|并|还|确实|实在)(?:不知道|不太?清楚|不太?确定|不太?了解|不晓得)(?!.{0,8}的)"
    r"|(?:没有|暂无|并无|缺少|缺乏|无)(?:.{0,25}?)(?:信息|资料|内容|记载|说明|答案)(?![的者可需须应])(?!.{0,3}需)"
    r"|(?:信息|资料|内容)(?:不足|不够|有限)|超出.{0,10}(?:范围|能力)|不在.{0,10}(?:知识库|范围)|帮不了|帮不上|无从(?:得知|回答)|无可奉告"
)
_SORRY = re.compile(r"抱歉|对不起|很遗憾|不好意思|\bsorry\b|\bapologi[sz]e\b|\bunfortunately\b|\bregret\b")
# An apology in front of a statement is manners: "抱歉，出租车费用不能报销" states a policy.
_APOLOGY = re.compile(
    r"^\W*(?:(?:非常|很|十分|真的?|万分|深感|我很|我们很)*(?:抱歉|对不起|遗憾|不好意思)(?:地(?:告诉|通知)您)?(?:给您带来.{0,10})?"
    r"|(?:i(?:'m| am)|we(?:'re| are))? ?(?:very |so |really )?(?:sorry|unfortunately)(?: about that| for .{0,30}inconvenience)?)"
    r"\W*(?:但是?|but\b)?\W*"
)
_SPEAKER = r"(?:i|we|the (?:provided |given |retrieved )?(?:context|documents?|passages?|text|information|handbook|sources?|knowledge base|materials?))"
_REFUSAL_EN = re.compile(
    rf"\b{_SPEAKER}(?:'m| am| are| is| was| were|'re)? (?:really |currently |still |afraid i |sorry,? (?:but )?i )*"
    r"(?:could|can|do|did|does|was|were|am|are|is|have|has)?(?:n't| not|not)?(?: not| unable to| able to)? ?(?:been able to )?"
    r"(?:find|locate|determine|know|identify|tell|say|answer|confirm|mention|specify|state|help)\b(?<!can help)(?<!i know)(?<!i find)(?<!can tell)(?<!can find)(?<!can confirm)(?<!can answer)"
    r"|\bunable to (?:find|locate|determine|answer|provide|confirm|verify|help|assist|access|give|identify)\b"
    r"|\b(?:do|does|did|don|doesn|didn)(?:'t| not) (?:mention|specify|say|state)\b"
    r"|\b(?:do|does|did|could|can|would)(?:n't| not) (?:have|contain|include|provide|find|give|see|offer)\b.{0,40}?\b(?:information|answers?|details?|mention|data|knowledge|context|anything|access)\b"
    r"|\b(?:don't|do not) know\b|\bnot (?:sure|aware|certain)\b|\bcannot (?:answer|be determined|determine|find|provide (?:any|an|the|that|this|you|more))\b|\bcan't (?:answer|find|determine|help|say)\b"
    r"|\b(?:no|insufficient|not enough|lack(?:s|ing)?(?: of)?)\b.{0,20}\b(?:information|mention|details?|data|record)\b.{0,40}?(?:about|on|of|regarding|available|found|in|to|$)"
    r"|\b(?:is|was|are|were)(?: not|n't) (?:mentioned|specified|stated|provided|given|clear|known|available in the|in the (?:context|provided))\b"
    r"|\bas an ai\b|\b(?:outside|beyond) (?:my|the) (?:scope|knowledge)\b|^\W*unknown\W*$|\b(?:is|remains) (?:unclear|unknown)\b|\bthere is no information\b|\bno (?:information|idea)\b"
)
_OFFER = re.compile(
    r"(?:请|建议|可以|可|欢迎|需要)?(?:您|你)?(?:直接|另行|进一步|及时|随时|先|再)?(?:咨询|询问|致电|联系|请教|拨打|查阅|查看|参考|访问)"
    r"|如果?.{0,20}(?:提供|告诉|补充|还有|有其他|有任何|需要|有疑问)|(?:希望|期待).{0,12}帮|随时.{0,8}(?:告诉|联系|问|提问)|我(?:可能|会|将|可以|很乐意|来).{0,8}(?:帮|尽力|协助)|祝您|感谢您?"
    r"|\b(?:please |you (?:can|may|could|should) |i (?:suggest|recommend).{0,20})(?:contact|consult|reach out|ask|check with|refer|visit|call|provide|check|try|clarify)"
    r"|\b(?:feel free|let me know|happy to help|glad to help|hope this helps|further (?:questions|assistance)|anything else|more (?:context|details|information))\b"
    r"|\bi (?:can|could|may|might|will|would)\b.{0,20}\b(?:help|assist|try)\b"
)
_GREETING = re.compile(
    r"^\W*(?:您好|你好|亲|嗨|哈喽|早上好|下午好|晚上好|谢谢.{0,6}|好的|不客气|再见|很高兴.{0,14}|请问.{0,16}|hi(?: there)?|hello(?: there)?|thanks?(?: you)?(?: for .{0,40})?|good (?:morning|afternoon|evening)"
    r"|great question|sure|of course|certainly|you're welcome|how can i help.{0,20}|is there anything.{0,40}|okay)\W*$"
)
_ASKS_CONTACT = re.compile(
    r"找谁|谁来|向谁|联系|电话|流程|步骤|手续|办理|怎么|如何|怎样|咨询|投诉|哪里(?:可以|能)|\bwho (?:should|do|can|to)\b|\bcontact\b|\bphone\b|\bhow\b|\bprocess\b|\bprocedure\b|\bsteps\b|\bwhat should\b|\breach\b"
)
_TURN = re.compile(r"[，,;；]\s*(?=但|不过|然而|只)|,?\s+(?=\b(?:but|however)\b)")
_CLAUSE = re.compile(r"[，；;](?=.)|,\s+(?=(?:and|but|while|whereas)\b)|;\s+")
# A clause that only sets the scene belongs to the one after it.
_LEAD_IN = re.compile(
    r"^\W*(?:根据|依据|关于|按照?|对于|至于|由于|因为|为了|除了?|according to|based on|for|in|as)\b|^(?:根据|依据|关于|按照|对于|至于|由于|因为|为了|除)|(?:的|时|后|前|者|下|员工|情况)$"
)
_SHORT_CLAUSE_ZH, _SHORT_CLAUSE_WORDS = 4, 4
_ABBREVIATION = re.compile(
    r"(?:\b[A-Za-z]|\b(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|No|Inc|Ltd|Co|approx|e\.g|i\.e|[ap]\.m|Prof|Gen|Lt|Mt))\.$"
)
_CONJUNCTION = re.compile(
    r"^(?:但是?|不过|而且?|并且?|同时|此外|另外|(?:and|but|while|whereas|however)\b)[，,\s]*", re.IGNORECASE
)
_LIST_MARK = re.compile(r"^\s*(?:[-*•·]|\(?\d{1,2}[.)、）]|[（(]?[一二三四五六七八九十][、）)])\s*")
_CITATION = re.compile(r"\s*\[(?:ID:)?\s*\^?\d+(?:\s*[,，]\s*\d+)*\^?\]|【\d+】")


def sentences(text: str) -> list[str]:
    """`text.sentences`, joined again after abbreviations and initials (R. H. Thomson, the U.S. Army)."""
    joined: list[str] = []
    for part in texts.sentences(text):
        if joined and (_ABBREVIATION.search(joined[-1]) or (joined[-1].endswith("!") and part[:1].islower())):
            joined[-1] = f"{joined[-1]} {part}"
        else:
            joined.append(part)
    return joined


def _states(part: str, question: str) -> bool:
    """The sentence or clause says something about the world (no refusal, offer, greeting or question)."""
    folded = texts.normalise(part)
    folded = _APOLOGY.sub("", folded)
    if not any(char.isalnum() for char in folded) or _GREETING.match(folded):
        return False
    if is_refusal_sentence(part):
        return False
    if folded.endswith(("?", "吗", "呢")):
        return False
    if _OFFER.search(folded):
        return bool(_ASKS_CONTACT.search(texts.normalise(question)))
    return True


def is_refusal_sentence(part: str) -> bool:
    """The sentence says that the answer is not known or was not found."""
    folded = texts.normalise(part).replace("’", "'")
    return not _CONDITION.match(folded) and bool(_REFUSAL_ZH.search(folded) or _REFUSAL_EN.search(folded))


@lru_cache(maxsize=16384)
def factual_sentences(question: str, answer: str) -> tuple[str, ...]:
    """Sentences of an answer that state something; list marks and citation marks removed."""
    found: list[str] = []
    for sentence in sentences(_CITATION.sub("", texts.clean(answer))):
        for part in _TURN.split(sentence):
            plain = _LIST_MARK.sub("", part).strip()
            if _states(plain, question):
                found.append(plain)
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=16384)
def noncommittal(question: str, answer: str) -> bool:
    """The answer refuses, evades or only points elsewhere, and states no fact of its own."""
    if factual_sentences(question, answer):
        return False
    folded = texts.normalise(answer).replace("’", "'")
    parts = [part for sentence in sentences(texts.clean(answer)) for part in _TURN.split(sentence)]
    return any(is_refusal_sentence(part) for part in parts) or bool(
        _OFFER.search(folded) or _SORRY.search(folded)
    )


def claims(question: str, text: str) -> list[str]:
    """Factual statements of a text: its factual sentences without closing stops and opening conjunctions."""
    plain = (
        _CONJUNCTION.sub("", part.rstrip("。.;； ")) or part for part in factual_sentences(question, text)
    )
    return list(dict.fromkeys(plain))


@lru_cache(maxsize=16384)
def clauses(claim: str) -> tuple[str, ...]:
    """Clauses of a claim that can stand alone; one that only sets the scene stays with the next."""
    merged: list[str] = []
    for part in (piece.strip() for piece in _CLAUSE.split(claim)):
        if merged and (_too_short(part) or _needs_more(merged[-1])):
            merged[-1] = (
                f"{merged[-1]}，{part}" if texts.language_of(part) == "zh" else f"{merged[-1]}, {part}"
            )
        else:
            merged.append(part)
    return tuple(merged)


def _needs_more(part: str) -> bool:
    return _too_short(part) or bool(_CONDITION.match(part.casefold()) or _LEAD_IN.search(part.casefold()))


def _too_short(part: str) -> bool:
    if texts.language_of(part) == "zh":
        return sum(char.isalnum() for char in part) < _SHORT_CLAUSE_ZH
    return len(part.split()) < _SHORT_CLAUSE_WORDS
