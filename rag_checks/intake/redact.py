"""Personal data and secrets are masked before anything is stored or sent to a judge (P7).

Rules are narrow on purpose: what is checkable is checked (check digits, Luhn, real addresses and dates), and
numbers introduced as order or ticket numbers are left alone, because an answer about an order is graded by
its number. Names, departments and internal extensions stay: staff look-ups cannot be graded without them.
"""

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any, NamedTuple

from rag_checks.records import Feedback, Message, ToolCall, Turn

KINDS = ("secret", "email", "id_card", "bank_card", "phone", "ip")

# Full-width ASCII to ASCII, one character for one, so that places in the text stay the same.
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_ALONE = r"(?<![0-9A-Za-z])"
_END = r"(?![0-9A-Za-z])"
# What stands before a number that is not a person's.
_BUSINESS_NUMBER = re.compile(
    r"(?:订单|运单|工单|快递|物流|流水|交易|发票|合同|商品|产品|型号|批次|单据|报销单|申请单|单)"
    r"(?:编号|号码|号|编码|代码)?\s*(?:是|为)?\s*[:#]?\s*$"
    r"|\b(?:order|ticket|invoice|tracking|transaction|contract|sku|case|ref(?:erence)?)"
    r"(?:\s*(?:no\.?|number|id))?\s*(?:is)?\s*[:#]?\s*$",
    re.IGNORECASE,
)
_PROVINCES = frozenset(
    [
        "11",
        "12",
        "13",
        "14",
        "15",
        "21",
        "22",
        "23",
        "31",
        "32",
        "33",
        "34",
        "35",
        "36",
        "37",
        "41",
        "42",
        "43",
        "44",
        "45",
        "46",
        "50",
        "51",
        "52",
        "53",
        "54",
        "61",
        "62",
        "63",
        "64",
        "65",
        "71",
        "81",
        "82",
    ]
)
_CARD_PREFIX = re.compile(
    r"62|4|5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|3[47]|35|6011|65|3[068]|9558|60|58"
)


class _Hit(NamedTuple):
    start: int
    end: int
    kind: str
    value: str  # the same for the same thing however it is written


class Redactor:
    """Masks turns with placeholders such as `<PHONE_1>`; one value has one number within a turn."""

    def mask_turn(self, turn: Turn) -> tuple[Turn, Counter[str]]:
        """The turn with its texts masked, and how many places were masked by kind (`KINDS`).

        Masked are history, question, rewritten query, contexts, tool arguments, answer, comment, error and
        tags, numbered in this order. Ids, intent and release stay: they are keys.
        """
        mask = _Masker()
        update: dict[str, Any] = {
            "history": tuple(Message(role=m.role, content=mask(m.content)) for m in turn.history),
            "user_input": mask(turn.user_input),
            "rewritten_query": turn.rewritten_query and mask(turn.rewritten_query),
            "retrieved_contexts": turn.retrieved_contexts and tuple(map(mask, turn.retrieved_contexts)),
            "tool_calls": turn.tool_calls
            and tuple(ToolCall(name=c.name, arguments=mask.inside(c.arguments)) for c in turn.tool_calls),
            "response": mask(turn.response),
            "feedback": turn.feedback
            and Feedback(
                rating=turn.feedback.rating, comment=turn.feedback.comment and mask(turn.feedback.comment)
            ),
            "error": turn.error and mask(turn.error),
            "tags": tuple(map(mask, turn.tags)),
        }
        return turn.model_copy(update=update), mask.counts


class _Masker:
    """Replaces what is found in the texts of one turn and remembers the numbers given."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._numbers: dict[str, dict[str, int]] = {}

    def __call__(self, text: str) -> str:
        parts, done = [], 0
        for hit in find(text):
            numbers = self._numbers.setdefault(hit.kind, {})
            number = numbers.setdefault(hit.value, len(numbers) + 1)
            parts += [text[done : hit.start], f"<{hit.kind.upper()}_{number}>"]
            done = hit.end
            self.counts[hit.kind] += 1
        return "".join([*parts, text[done:]])

    def inside(self, value: Any) -> Any:
        """Mask all texts inside a JSON value; numbers are looked at as texts."""
        if isinstance(value, dict):
            return {self(key): self.inside(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.inside(part) for part in value]
        if isinstance(value, int) and not isinstance(value, bool):
            masked = self(str(value))
            return value if masked == str(value) else masked
        return self(value) if isinstance(value, str) else value


def find(text: str) -> list[_Hit]:
    """What is to be masked in a text, in order; of two that overlap, the first takes in the other."""
    narrow = text if text.isascii() else text.translate(_NARROW)
    hits = sorted((hit for rule in _RULES for hit in rule(narrow)), key=lambda hit: hit.start)
    apart: list[_Hit] = []
    for hit in hits:
        if apart and hit.start < apart[-1].end:
            last = apart[-1]
            if hit.end > last.end:
                apart[-1] = last._replace(end=hit.end, value=narrow[last.start : hit.end])
        else:
            apart.append(hit)
    return apart


Rule = Callable[[str], Iterator[_Hit]]


_PARAMETERS = "token|key|apikey|secret|sig|signature|password|passwd|pwd|auth|ticket|session"
_NAMED = (
    r"api[_-]?key|access[_-]?key|secret(?:[_-]?key)?|(?:access|refresh|auth)[_-]?token|password|passwd|pwd"
)
_IS = r"['\"]?\s{0,3}(?:[:=]|\bis\b)\s{0,3}['\"]?"
_VALUE = r"(?P<secret>(?=[!-~]{0,64}\d)(?=[!-~]{0,64}[A-Za-z])[!#-&(-~]{6,256})"


def _secrets(text: str) -> Iterator[_Hit]:
    for pattern in _SECRETS:
        for found in pattern.finditer(text):
            yield _Hit(*found.span("secret"), "secret", found["secret"])


_SECRETS = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (_ALONE + r"(?P<secret>eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,})", re.ASCII),
        (_ALONE + r"(?P<secret>sk-[A-Za-z0-9_-]{16,})", 0),
        (_ALONE + r"(?P<secret>(?:AKIA|ASIA)[0-9A-Z]{16})" + _END, 0),
        (_ALONE + r"(?P<secret>LTAI[0-9A-Za-z]{12,26})" + _END, 0),
        (_ALONE + r"(?P<secret>AIza[0-9A-Za-z_-]{35})", 0),
        (_ALONE + r"(?P<secret>gh[pousr]_[A-Za-z0-9]{20,})", 0),
        (_ALONE + r"(?P<secret>github_pat_[A-Za-z0-9_]{20,})", 0),
        (_ALONE + r"(?P<secret>glpat-[A-Za-z0-9_-]{16,})", 0),
        (_ALONE + r"(?P<secret>xox[abeprs]-[A-Za-z0-9-]{10,})", 0),
        (r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?P<secret>[^-]{16,8192})", 0),
        (_ALONE + r"Bearer\s{1,3}(?P<secret>[A-Za-z0-9._~+/-]{12,}=*)", re.IGNORECASE),
        # Name and password before the host of an address.
        (r"://(?P<secret>[^\s/@:<>]{1,128}:[^\s/@<>]{1,256})@", 0),
        # Secrets in the query of an address.
        (
            f"[?&;](?:[a-z]{{1,12}}[_-])?(?:{_PARAMETERS})=(?P<secret>[^\\s&#<>\"']{{4,}})",
            re.IGNORECASE,
        ),
        # Named secrets; with a digit and a letter, so that "password: required" stays.
        (f"{_ALONE}(?:{_NAMED}){_IS}{_VALUE}", re.IGNORECASE),
        (r"密码(?:是|为)?\s{0,3}:?\s{0,3}" + _VALUE, 0),
    )
)


def _emails(text: str) -> Iterator[_Hit]:
    for found in _EMAIL.finditer(text):
        yield _Hit(*found.span(), "email", found[0].lower())


_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])"
)


def _id_cards(text: str) -> Iterator[_Hit]:
    for found in _ID_CARD.finditer(text):
        digits = re.sub(r"[ -]", "", found[0]).upper()
        if is_id_number(digits):
            yield _Hit(*found.span(), "id_card", digits)


_ID_CARD = re.compile(_ALONE + r"[1-8]\d{5}[ -]?(?:18|19|20)\d{6}[ -]?\d{3}[0-9Xx]" + _END, re.ASCII)


def is_id_number(digits: str) -> bool:
    """Whether 18 characters are a mainland-China identity number (GB 11643): region, date, check digit."""
    if digits[:2] not in _PROVINCES:
        return False
    try:
        date(int(digits[6:10]), int(digits[10:12]), int(digits[12:14]))
    except ValueError:
        return False
    total = sum(int(digit) * pow(2, 17 - place, 11) for place, digit in enumerate(digits[:17]))
    return "10X98765432"[total % 11] == digits[17]


def _bank_cards(text: str) -> Iterator[_Hit]:
    for found in _BANK_CARD.finditer(text):
        digits = re.sub(r"[ -]", "", found[0])
        if not _CARD_PREFIX.match(digits) or not is_luhn(digits):
            continue
        if not _BUSINESS_NUMBER.search(text, max(0, found.start() - 24), found.start()):
            yield _Hit(*found.span(), "bank_card", digits)


_BANK_CARD = re.compile(
    _ALONE + r"(?:\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{1,4}(?:\1\d{1,3})?)" + _END, re.ASCII
)


def is_luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of ISO/IEC 7812-1."""
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2]]
    return (sum(doubled) + sum(int(digit) for digit in digits[::-2])) % 10 == 0


def _phones(text: str) -> Iterator[_Hit]:
    for pattern in (_MOBILE, _LANDLINE, _ABROAD):
        for found in pattern.finditer(text):
            if not _BUSINESS_NUMBER.search(text, max(0, found.start() - 24), found.start()):
                yield _Hit(
                    *found.span(), "phone", re.sub(r"\D|^(?:\(?\+?0{0,2}86\)?)(?=[ -]?1)", "", found[0])
                )


_MOBILE = re.compile(
    r"(?<![0-9A-Za-z.+])(?:\(?(?:\+|00)?86\)?[ -]?)?1[3-9]\d(?:\d{8}|([ -])\d{4}\1\d{4})" + _END, re.ASCII
)
# Area code and number; toll-free 400 and 800 numbers are a company's.
_LANDLINE = re.compile(
    r"(?<![0-9A-Za-z.+-])(?:(?:\+86[ -]?)?\(?0?(?:10|2[0-57-9]|[3-9]\d{2})\)?[ -][2-8]\d{6,7}"
    r"|\(0(?:10|2[0-57-9]|[3-9]\d{2})\)[2-8]\d{6,7}|0(?:10|2[0-57-9])[2-8]\d{7})" + _END,
    re.ASCII,
)
_ABROAD = re.compile(
    r"(?<![0-9A-Za-z])(?:\+[1-9]\d{0,2}(?:[ -]?\(?\d{2,4}\)?){2,4}|\(\d{3}\) ?\d{3}-\d{4})" + _END, re.ASCII
)


def _addresses(text: str) -> Iterator[_Hit]:
    for found in _IP.finditer(text):
        try:
            address = ipaddress.ip_address(found[0])
        except ValueError:
            continue
        if not _is_nobodys(address) and not _VERSION.search(text, max(0, found.start() - 12), found.start()):
            yield _Hit(*found.span(), "ip", str(address))


_IP = re.compile(
    r"(?<![0-9A-Za-z.:])(?:\d{1,3}(?:\.\d{1,3}){3}(?![0-9A-Za-z]|\.\d)"
    r"|(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![0-9A-Za-z:]))",
    re.ASCII,
)
_VERSION = re.compile(r"(?:版本号?|version|release|\bv)\s*[:是为]?\s*$", re.IGNORECASE)
_FIRST_NETMASK = 255


def _is_nobodys(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Loopback, unspecified and net masks; and two groups around `::`, which is more often code."""
    if address.is_loopback or address.is_unspecified:
        return True
    if isinstance(address, ipaddress.IPv4Address):
        return address.packed[0] == _FIRST_NETMASK
    return sum(1 for group in address.exploded.split(":") if int(group, 16)) < 3  # noqa: PLR2004 - as said above


_RULES: tuple[Rule, ...] = (_secrets, _emails, _id_cards, _bank_cards, _phones, _addresses)
