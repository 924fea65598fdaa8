"""Finding personal data and secrets in a text.

Rules are narrow on purpose: what is checkable is checked (check digits, Luhn, real addresses and dates), and
numbers introduced as order or ticket numbers are left alone, because an answer about an order is graded by
its number. Names, departments and internal extensions stay: staff look-ups cannot be graded without them.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator
from datetime import date
from typing import NamedTuple

KINDS = ("secret", "email", "id_card", "bank_card", "phone", "ip")

# Full-width letters, digits and signs to ASCII, one character for one, so that places stay the same. Commas
# and full stops are left: they end a sentence.
_NARROW = {
    ord(char) + 0xFEE0: char
    for char in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-.@_:()"
}
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


class Hit(NamedTuple):
    """A place in a text."""

    start: int
    end: int
    kind: str
    value: str  # the same for the same thing however it is written


def find(text: str) -> list[Hit]:
    """What is to be masked in a text, in order; of two that overlap, the first takes in the other."""
    narrow = text if text.isascii() else text.translate(_NARROW)
    hits = sorted((hit for rule in _RULES for hit in rule(narrow)), key=lambda hit: hit.start)
    apart: list[Hit] = []
    for hit in hits:
        if apart and hit.start < apart[-1].end:
            last = apart[-1]
            if hit.end > last.end:
                apart[-1] = last._replace(end=hit.end, value=narrow[last.start : hit.end])
        else:
            apart.append(hit)
    return apart


Rule = Callable[[str], Iterator[Hit]]


_PARAMETERS = "token|key|apikey|secret|sig|signature|password|passwd|pwd|auth|ticket|session"
_NAMED = (
    r"api[_-]?key|access[_-]?key|secret(?:[_-]?key)?|(?:access|refresh|auth)[_-]?token|password|passwd|pwd"
)
_IS = r"['\"]?\s{0,3}(?:[:=]|\bis\b)\s{0,3}['\"]?"
# A placeholder of ours has letters and a digit too.
_VALUE = r"(?!<[A-Z_]+_\d+>)(?P<secret>(?=[!-~]{0,64}\d)(?=[!-~]{0,64}[A-Za-z])[!#-&(-~]{6,256})"


def _secrets(text: str) -> Iterator[Hit]:
    for pattern in _SECRETS:
        for found in pattern.finditer(text):
            yield Hit(*found.span("secret"), "secret", found["secret"])


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
        (f"(?<![0-9A-Za-z?&;])(?:{_NAMED}){_IS}{_VALUE}", re.IGNORECASE),
        (r"密码(?:是|为)?\s{0,3}:?\s{0,3}" + _VALUE, 0),
    )
)


def _emails(text: str) -> Iterator[Hit]:
    for found in _EMAIL.finditer(text):
        # In https://name:password@host the secret is found already, and the host stays.
        if not _USER_INFO.search(text, max(0, found.start() - 140), found.start()):
            yield Hit(*found.span(), "email", found[0].lower())


_USER_INFO = re.compile(r"://[^\s/@]*$")


_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])"
)


def _id_cards(text: str) -> Iterator[Hit]:
    for found in _ID_CARD.finditer(text):
        digits = re.sub(r"[ -]", "", found[0]).upper()
        if is_id_number(digits):
            yield Hit(*found.span(), "id_card", digits)


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


def _bank_cards(text: str) -> Iterator[Hit]:
    for found in _BANK_CARD.finditer(text):
        digits = re.sub(r"[ -]", "", found[0])
        if not _CARD_PREFIX.match(digits) or not is_luhn(digits):
            continue
        if not _BUSINESS_NUMBER.search(text, max(0, found.start() - 24), found.start()):
            yield Hit(*found.span(), "bank_card", digits)


_BANK_CARD = re.compile(
    _ALONE + r"(?:\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{1,4}(?:\1\d{1,3})?)" + _END, re.ASCII
)


def is_luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of ISO/IEC 7812-1."""
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2]]
    return (sum(doubled) + sum(int(digit) for digit in digits[::-2])) % 10 == 0


def _phones(text: str) -> Iterator[Hit]:
    for pattern in (_MOBILE, _LANDLINE, _ABROAD):
        for found in pattern.finditer(text):
            digits = re.sub(r"\D", "", found[0])
            if pattern is _ABROAD and len(digits) < (_SHORTEST if digits in found[0] else _SHORTEST_SPLIT):
                continue
            if not _BUSINESS_NUMBER.search(text, max(0, found.start() - 24), found.start()):
                # The same number with and without country code; area codes lose their zero in it.
                value = digits[-11:] if pattern is _MOBILE else digits.removeprefix("86").lstrip("0")
                yield Hit(*found.span(), "phone", value)


# Shorter ones with a plus are amounts: "+100000 views".
_SHORTEST = 10
_SHORTEST_SPLIT = 8
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


def _addresses(text: str) -> Iterator[Hit]:
    for found in _IP.finditer(text):
        try:
            address = ipaddress.ip_address(found[0])
        except ValueError:
            continue
        if not _is_nobodys(address) and not _VERSION.search(text, max(0, found.start() - 12), found.start()):
            yield Hit(*found.span(), "ip", str(address))


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
