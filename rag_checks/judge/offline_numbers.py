"""Numbers with units in Chinese and English text, made comparable: 三天 = 3天 = 72小时, two weeks = 14 days.

Only conversions that hold in every policy are made. A working day is not a day and a month is not 30
days: they keep units of their own.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from rag_checks.judge.offline_spoken import one_number

_Keep = Callable[..., str]


class Quantity(NamedTuple):
    """A number with its unit: `value` in the base unit `unit` ("" without one), `raw` as written."""

    value: float
    unit: str
    raw: float


# Base unit and factor of each written unit.
_UNITS: dict[str, tuple[str, float]] = {}


def _units(base: str, factor: float, words: str) -> None:
    for word in words.split():
        _UNITS[word] = (base, factor)


_units("minute", 1, "分钟 minute minutes min mins")
_units("minute", 1 / 60, "秒 秒钟 second seconds sec secs")
_units("minute", 60, "小时 个小时 钟头 个钟头 hour hours hr hrs")
_units("minute", 1440, "天 日 自然日 day days")
_units("minute", 10080, "周 星期 个星期 个礼拜 礼拜 week weeks")
_units("workday", 1, "工作日 个工作日 workday workdays")
_units("month", 1, "个月 month months")
_units("month", 3, "个季度 季度 quarter quarters")
_units("month", 12, "年 周年 year years yr yrs")
_units("cny", 1, "元 块 块钱 元人民币 人民币 rmb cny yuan")
_units("cny", 0.1, "角 毛 毛钱")
_units("usd", 1, "美元 美金 usd dollar dollars")
_units("eur", 1, "欧元 eur euro euros")
_units("percent", 1, "% percent")
_units("person", 1, "人 名 位 people persons")
_units("time", 1, "次 times")
_units("metre", 1, "米 metre metres meter meters m")
_units("metre", 1000, "公里 千米 km kilometre kilometres kilometer kilometers")
_units("metre", 0.01, "厘米 cm")
_units("mile", 1, "英里 mile miles")
_units("gram", 1, "克 g gram grams")
_units("gram", 1000, "公斤 千克 kg kilogram kilograms")
_units("gram", 500, "斤")
_units("pound", 1, "磅 pounds lbs lb")
_units("megabyte", 1, "兆 mb")
_units("megabyte", 1024, "gb")
_units("litre", 1, "升 公升 litre litres liter liters")
_units("litre", 0.001, "毫升 ml")
_units("year_old", 1, "岁")
_units("", 1, "个 份 张 条 件 项 种 级 页 台 套 层 楼 步 倍 折 期 轮 版 类 封 家 间 门 题 字 字符")
_SYMBOLS = {"第": "ordinal", "¥": "cny", "$": "usd", "€": "eur"}

_ZH_DIGIT = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_ZH_SCALE = {"十": 10, "百": 100, "千": 1000}
_TAIL = {"百": 10, "千": 100, "万": 1000, "亿": 10_000_000}
_ZH_BIG = {"万": 10_000, "亿": 100_000_000}
_ZH_UNIT = "|".join(sorted((word for word in _UNITS if not word.isascii()), key=len, reverse=True))
_ZH_NUMERAL = re.compile(
    rf"([零〇一二两三四五六七八九十百千万亿]{{1,16}})(点[零一二三四五六七八九]{{1,6}})?"
    rf"(?=({_ZH_UNIT}|点钟?|月|号|%|[到至~-][零一二两三四五六七八九十百千万]{{1,9}}(?:{_ZH_UNIT}|点|月|号))?)"
)
_SHARE = re.compile(r"([百千万])分之([零一二两三四五六七八九十百]{1,6}|\d{1,9}(?:\.\d{1,9})?)")
_SHARES = {"百": 1, "千": 10, "万": 100}
_MORE_THAN_NUMBERS = frozenset({"万一", "一一"})

_EN_SMALL = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40,
    "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_EN_SCALE = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_EN_FIRST, _EN_NEXT = "|".join(_EN_SMALL), "|".join((*_EN_SMALL, *_EN_SCALE))
_EN_NUMERAL = re.compile(
    rf"\b(?:{_EN_FIRST})(?:(?:[ -]|(?<=hundred) and |(?<=thousand) and )(?:{_EN_NEXT})){{0,7}}\b"
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")

_EN_UNIT = "|".join(
    sorted((word for word in _UNITS if word.isascii() and word.isalpha()), key=len, reverse=True)
)
# Runs of digits are bounded: a page of digits is no number, and unbounded ones cost quadratic time.
# These patterns begin with a digit, so that the regex engine can jump to one; callers look at what precedes.
_QUANTITY = re.compile(
    rf"\d{{1,15}}(?:\.\d{{1,9}})?(?![a-z]{{0,9}}\d)\s?(万|亿|千|百|k\b|thousand|million|billion)?\s?-?"
    rf"(?:(个?(?:business|working)[ -]days?|{_ZH_UNIT}|%|(?:{_EN_UNIT})\b))?"
    r"(?:(?<=[一-鿿])|(?![a-z0-9]|\.\d))"
)
_DIGITS = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
_RANGE = re.compile(
    r"(\d{1,15}(?:\.\d{1,9})?)(?=\s?(?:-|~|–|—|至|到|to|and|or|or up to|或|和)\s?\d{1,15}(?:\.\d{1,9})?"
    rf"\s?((?:business|working)[ -]days?|{_ZH_UNIT}|%|(?:{_EN_UNIT})\b))"
)
_CLOCK = re.compile(
    r"\d{1,2}(?:(?::(\d{2})(?!\d)|点钟?(?:(半)|(\d{1,2})分?)?(?!\d))\s?([ap]\.?m\b\.?)?|\s?([ap]\.?m\b\.?))"
)
_PARTS_OF_DAY = ("凌晨", "早上", "上午", "中午", "下午", "晚上")
_EVENING = re.compile(r"(?:下午|傍晚|晚上|晚)\s?$")
_DATE_ZH = re.compile(r"\d{4}年\d{1,2}月(?:份|\d{1,2}[日号]?)?|\d{1,2}月(?:份|\d{1,2}[日号]?)?")
_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_MONTH_STARTS = tuple(name[:3] for name in _MONTHS)
_DATE_UNITS = ("month_of_year", "day_of_month")
_MONTH = "|".join(rf"{name[:3]}(?:{name[3:]})?" if name[3:] else name for name in _MONTHS)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_DATE_EN = re.compile(
    rf"\b{_DAY}(?: of)? ({_MONTH})\b|\b({_MONTH})\.? {_DAY}(?![\d:])|\b({_MONTH})\.?(?=,? [12]\d{{3}}\b)"
)
_YEAR_ZH = re.compile(r"[12]\d{3}年")
_SCALES = {"百": 100, "千": 1000, "k": 1000, "thousand": 1000, "万": 10**4, "million": 10**6,
           "亿": 10**8, "billion": 10**9}  # fmt: skip


def chinese_number(numeral: str) -> int | None:
    """Value of a Chinese numeral (三十五 → 35, 二〇二四 → 2024); None for no single number (三四)."""
    if all(char in _ZH_DIGIT for char in numeral):
        if len(numeral) == 2 and "〇" not in numeral and "零" not in numeral:  # noqa: PLR2004 - "three or four"
            return None
        return int("".join(str(_ZH_DIGIT[char]) for char in numeral))
    total = section = digit = 0
    for char in numeral:
        if char in _ZH_DIGIT:
            digit = _ZH_DIGIT[char]
        elif char in _ZH_SCALE:
            section += (digit or 1) * _ZH_SCALE[char]
            digit = 0
        else:
            total = (total + section + digit) * _ZH_BIG[char]
            section = digit = 0
    if len(numeral) > 1 and digit and numeral[-2] in _TAIL:  # 一百五 is 150; 105 has a 零
        digit *= _TAIL[numeral[-2]]
    return total + section + digit


def arabic(text: str) -> str:
    """Normalised text with number words as digits: 三天 → 3天, 百分之五 → 5%, twenty-one → 21."""
    if "," in text:
        text = _THOUSANDS.sub("", text)
    if "分之" in text:
        text = _SHARE.sub(_share, text)
    text = _EN_NUMERAL.sub(_english, text)
    return one_number(text if text.isascii() else _ZH_NUMERAL.sub(_chinese, text))


def _share(match: re.Match[str]) -> str:
    whole, part = match.groups()
    value = float(part) if part[0].isdigit() else chinese_number(part)
    if value is None:
        return match.group()
    return f"{value / _SHARES[whole]:g}%"


def _chinese(match: re.Match[str]) -> str:
    numeral, decimals, unit = match.groups()
    before = match.string[max(match.start() - 3, 0) : match.start()]
    prefixed = before.endswith(("百分之", "第", "周", "星期", "礼拜"))
    a_little = numeral == "一" and unit == "点" and not before.endswith(_PARTS_OF_DAY)
    vague = numeral in _MORE_THAN_NUMBERS or a_little or (numeral == "十" and unit == "分")
    scale_only = not any(char in _ZH_DIGIT or char == "十" for char in numeral)
    after_number = before[-1:].isdigit() or before.endswith(".")
    if vague or scale_only or after_number or not (len(numeral) > 1 or prefixed or unit):
        return match.group()
    value = chinese_number(numeral)
    if value is None:
        return match.group()
    return f"{value}." + "".join(str(_ZH_DIGIT[char]) for char in decimals[1:]) if decimals else str(value)


def _english(match: re.Match[str]) -> str:
    words = [word for word in re.split(r"[ -]", match.group()) if word != "and"]
    if words == ["one"] and match.group() != match.string:
        follows = re.match(rf" ?-?(?:business |working )?(?:{_EN_UNIT})\b", match.string[match.end() :])
        if not follows:  # "this one" is no number
            return "one"
    total = section = 0
    for word in words:
        if word in _EN_SMALL:
            section += _EN_SMALL[word]
        elif word == "hundred":
            section = max(section, 1) * 100
        elif word in _EN_SCALE:
            total += max(section, 1) * _EN_SCALE[word]
            section = 0
    return str(total + section)


def take_quantities(text: str) -> tuple[list[Quantity], str]:
    """Quantities of a text that went through `arabic`, and the text without them.

    A bare 1 with a counting word (一个, one) is left out: it is an article more often than a number.
    """
    found: list[Quantity] = []

    def keep(*quantities: Quantity) -> str:
        found.extend(quantities)
        return " "  # what the matched text is replaced with

    if not _DIGITS.search(text):
        return found, text
    if ":" in text or "点" in text or "m" in text:
        text = _CLOCK.sub(lambda match: _clock(match, keep), text)
    if any(month in text for month in _MONTH_STARTS):
        text = _DATE_EN.sub(lambda match: _english_date(match, keep), text)
    if "月" in text or "年" in text:
        text = _DATE_ZH.sub(lambda match: _date(match, keep), text)
        text = _YEAR_ZH.sub(lambda match: _year(match, keep), text)
    text = _RANGE.sub(lambda match: keep(_measured(float(match[1]), match[2])), text)
    return found, _QUANTITY.sub(lambda match: _quantity(match, keep), text)


def _inside_word(match: re.Match[str], also: str = "") -> bool:
    before = match.string[match.start() - 1 : match.start()]
    return before.isdigit() or (bool(before) and before in also) or (before.isascii() and before.isalpha())


def _year(match: re.Match[str], keep: _Keep) -> str:
    return match.group() if _inside_word(match) else keep(_number(float(match.group()[:4])))


def _number(value: float) -> Quantity:
    return Quantity(value, "", value)


def _measured(value: float, unit: str) -> Quantity:
    if "business" in unit or "working" in unit:
        return Quantity(value, "workday", value)
    base, factor = _UNITS[unit]
    return Quantity(value * factor, base, value)


def _clock(match: re.Match[str], keep: _Keep) -> str:
    minute, half, spoken, suffix, bare_suffix = match.groups()
    hours, minutes = int(_DIGITS.match(match.group())[0]), 30 if half else int(minute or spoken or 0)  # type: ignore[index]
    if _inside_word(match, ".:") or hours > 24 or minutes > 59:  # noqa: PLR2004 - hours and minutes of a day
        return match.group()
    evening = _EVENING.search(match.string[max(match.start() - 4, 0) : match.start()])
    if (evening or (suffix or bare_suffix or "").startswith("p")) and hours < 12:  # noqa: PLR2004
        hours += 12
    return keep(Quantity(hours * 60 + minutes, "clock", hours * 60 + minutes))


def _date(match: re.Match[str], keep: _Keep) -> str:
    if _inside_word(match):
        return match.group()
    numbers = [float(digits) for digits in _DIGITS.findall(match.group())]
    parts = [_number(numbers.pop(0))] if "年" in match.group() else []
    parts.extend(Quantity(value, unit, value) for value, unit in zip(numbers, _DATE_UNITS, strict=False))
    return keep(*parts)


def _english_date(match: re.Match[str], keep: _Keep) -> str:
    day_first, month_second, month_first, day_second, alone = match.groups()
    name = (month_second or month_first or alone)[:3]
    month = next(number for number, full in enumerate(_MONTHS, start=1) if full.startswith(name))
    parts = [Quantity(month, "month_of_year", month)]
    if not alone:
        day = float(day_first or day_second)
        parts.append(Quantity(day, "day_of_month", day))
    return keep(*parts)


def _quantity(match: re.Match[str], keep: _Keep) -> str:
    scale, unit = match.groups()
    if _inside_word(match, "."):
        return match.group()
    value = float(_DIGITS.match(match.group())[0]) * _SCALES.get(scale or "", 1)  # type: ignore[index]
    symbol = match.string[max(match.start() - 2, 0) : match.start()].strip()[-1:]
    if symbol in _SYMBOLS:
        return keep(Quantity(value, _SYMBOLS[symbol], value))
    if unit:
        if value == 1 and _UNITS.get(unit, ("x", 1))[0] in {"", "person", "time"}:
            return " "
        return keep(_measured(value, unit))
    return keep(_number(value))


def same(first: Quantity, second: Quantity) -> bool:
    """Equal values in one unit; a number without unit equals the same written number with any unit."""
    if first.unit == second.unit:
        return abs(first.value - second.value) <= 1e-9 * max(abs(first.value), abs(second.value), 1)
    return (not first.unit or not second.unit) and first.raw == second.raw


def keys(own: Quantity) -> list[tuple[str, str]]:
    """What a quantity of a text can be found by, so that `same` need not be asked of each pair."""
    found = [(own.unit, f"{own.value:.9g}"), ("any", f"{own.raw:.9g}")]
    return found if own.unit else [*found, ("bare", f"{own.raw:.9g}")]


def wanted_keys(quantity: Quantity) -> list[tuple[str, str]]:
    """What `same` ones are found by: the same value and unit, or the same digits where one has no unit."""
    digits = f"{quantity.raw:.9g}"
    return [(quantity.unit, f"{quantity.value:.9g}"), ("bare" if quantity.unit else "any", digits)]


def rivals(first: Quantity, second: Quantity) -> bool:
    """Both could answer one question but differ: same unit (or time against time), another value."""
    if same(first, second):
        return False
    times = {"minute", "workday", "month"}
    comparable = first.unit == second.unit or (first.unit in times and second.unit in times)
    return comparable or first.raw == second.raw
