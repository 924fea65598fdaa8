"""Greetings and thanks: turns that ask nothing, so no judged metric applies to them."""

import re

from rag_checks import text

# Written squeezed (no spaces, no punctuation, case-folded), as `text.squeeze` leaves them.
_PHRASE = (
    "你好|您好|你们好|大家好|哈喽|哈啰|嗨|早|早安|早上好|上午好|中午好|下午好|晚上好|晚安|"
    "在吗|在么|在不在|有人吗|谢谢|谢谢你|谢谢您|多谢|感谢|非常感谢|谢了|谢啦|辛苦了|"
    "麻烦了|麻烦你了|麻烦您了|再见|拜拜|回见|"
    "hi|hello|hey|hithere|hellothere|heythere|goodmorning|goodafternoon|goodevening|goodnight|goodday|"
    "greetings|thanks|thankyou|thankyouverymuch|thankyousomuch|thanksalot|thankssomuch|manythanks|thx|ty|"
    "cheers|bye|byebye|goodbye|seeyou|howareyou"
)
# Alone these may answer the bot's own question ("shall I pass you on?" "ok"): they only accompany a phrase.
_FILLER = "ok|okay|great|perfect|again|好的|好|嗯|收到|明白了|知道了|呀|啊|哦|哈|啦|了"
_SMALLTALK = re.compile(f"(?:{_FILLER})*(?:(?:{_PHRASE})(?:{_FILLER})*)+")
_LONGEST = 40  # bounds the pattern's backtracking; small talk is short


def is_smalltalk(user_input: str) -> bool:
    """Whether a message only greets, thanks or says goodbye, or says nothing at all (blank, signs, emoji)."""
    squeezed = text.squeeze(user_input)
    return len(squeezed) <= _LONGEST and (not squeezed or _SMALLTALK.fullmatch(squeezed) is not None)
