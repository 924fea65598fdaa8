"""Halves, quarters and amounts in two units, written as one number: 一个半小时 and 1小时30分钟 are 90分钟."""

import re
from collections.abc import Callable

_REWRITES: list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = [
    (
        re.compile(r"(\d{1,4})个半(小时|钟头|月|星期|礼拜)"),
        lambda match: f"{match[1]}.5个{match[2]}",
    ),
    (
        re.compile(r"(\d{1,4})(年|天|倍|小时)半"),
        lambda match: f"{match[1]}.5{match[2]}",
    ),
    # 上半年 is a part of the calendar, 大半天 no amount.
    (
        re.compile(r"(?<![上下前后大\d])半(个?(?:小时|钟头)|个月|个星期|年|天)"),
        lambda match: f"0.5{match[1]}",
    ),
    (
        re.compile(r"(\d{1,2})点([一三13])刻"),
        lambda match: f"{match[1]}点{15 if match[2] in '一1' else 45}分",
    ),
    (re.compile(r"([一三13])刻钟"), lambda match: f"{15 if match[1] in '一1' else 45}分钟"),
    (
        re.compile(r"([一二三四五六七八九])成(?![为功员本立都品绩交熟长])"),
        lambda match: f"{'零一二三四五六七八九'.index(match[1])}0%",
    ),
    (
        re.compile(r"(\d{1,4})年零?(\d{1,2})个月"),
        lambda match: f"{int(match[1]) * 12 + int(match[2])}个月" if int(match[1]) < _CALENDAR else match[0],
    ),
    (
        re.compile(r"(\d{1,4})天零?(\d{1,2})个?小时"),
        lambda match: f"{int(match[1]) * 24 + int(match[2])}小时",
    ),
    (
        re.compile(r"(\d{1,4})(?:个?小时零?| ?hours? (?:and )?)(\d{1,2}) ?(分钟?|minutes?)(?!\d)"),
        lambda match: f"{int(match[1]) * 60 + int(match[2])}{'分钟' if match[3][0] == '分' else ' minutes'}",
    ),
]
_CALENDAR = 1000  # 2024年6个月 is a year and a span, not a span of 2024 years
_ANY = re.compile(r"半|刻|成|[年天时]零?\d|hours? (?:and )?\d")


def one_number(text: str) -> str:
    """Folded text with digits, in which each such amount is one number with one unit."""
    if _ANY.search(text):
        for pattern, rewrite in _REWRITES:
            text = pattern.sub(rewrite, text)
    return text
