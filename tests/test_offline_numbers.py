"""Numbers with units, in Chinese and English."""

import pytest

from rag_checks.judge.offline_numbers import arabic, chinese_number, rivals, same, take_quantities
from rag_checks.text import normalise


def quantities(text):
    """All quantities of a text."""
    return take_quantities(arabic(normalise(text)))[0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("三天", "3天"),
        ("３天", "72小时"),
        ("两周", "14 days"),
        ("两个星期", "14天"),
        ("一年", "12个月"),
        ("百分之五十", "50％"),
        ("千分之一", "0.1%"),
        ("五百块", "500元"),
        ("2万元", "20,000 RMB"),
        ("$50", "fifty dollars"),
        ("下午六点半", "18:30"),
        ("7 a.m.", "7:00 a.m."),
        ("三到五天", "3-5天"),
        ("two hundred euros", "€200"),
        ("二〇二四年七月十日", "July 10, 2024"),
        ("twenty-one days", "3 weeks"),
        ("21", "21 years"),
    ],
)
def test_equal_quantities_meet(first, second):
    """Different spellings of one quantity are the same."""
    left, right = quantities(first), quantities(second)
    assert len(left) == len(right) > 0
    assert all(any(same(one, other) for other in right) for one in left)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("3天", "3小时"),
        ("3天", "5天"),
        ("3天", "3个工作日"),
        ("30 days", "30 hours"),
        ("500元", "500美元"),
        ("5元", "6元"),
    ],
)
def test_different_quantities_are_rivals(first, second):
    """Another value or another unit of the same kind is a rival, not the same."""
    (left,), (right,) = quantities(first), quantities(second)
    assert not same(left, right)
    assert rivals(left, right)


@pytest.mark.parametrize(
    "text",
    ["一些建议", "十分重要", "一点建议", "千万不要", "万一", "H1N1", "the one who", "一个问题", "v3.11.2"],
)
def test_words_that_look_like_numbers_are_none(text):
    """Idioms, articles and codes hold no quantity."""
    assert quantities(text) == []


@pytest.mark.parametrize(
    ("numeral", "value"),
    [("三十五", 35), ("一万二千", 12000), ("二〇二四", 2024), ("十", 10), ("一亿", 10**8), ("三四", None)],
)
def test_chinese_numerals(numeral, value):
    """Numerals by place value and digit by digit; 三四 (three or four) is no single number."""
    assert chinese_number(numeral) == value
