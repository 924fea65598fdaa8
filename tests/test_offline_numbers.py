"""Numbers with units, in Chinese and English."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_checks.judge.offline_numbers import (
    Quantity,
    arabic,
    chinese_number,
    keys,
    rivals,
    same,
    take_quantities,
    wanted_keys,
)
from rag_checks.judge.offline_text import analyse
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
        ("一个半小时", "90分钟"),
        ("1小时30分钟", "1.5小时"),
        ("1 hour and 30 minutes", "90 minutes"),
        ("1年零6个月", "一年半"),
        ("半年", "6个月"),
        ("半个月", "0.5个月"),
        ("半天", "12小时"),
        ("一刻钟", "15分钟"),
        ("早上8点一刻", "8:15"),
        ("五成", "50%"),
        ("5毛", "0.5元"),
        ("100毫升", "0.1升"),
        ("一万五", "15000"),
        ("一百五", "150"),
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
    [
        "上半年",
        "完成",
        "成功",
        "一些建议",
        "十分重要",
        "一点建议",
        "千万不要",
        "万一",
        "H1N1",
        "the one who",
        "一个问题",
        "v3.11.2",
    ],
)
def test_words_that_look_like_numbers_are_none(text):
    """Idioms, articles and codes hold no quantity."""
    assert quantities(text) == []


@pytest.mark.parametrize(
    ("numeral", "value"),
    [
        ("三十五", 35),
        ("一万二千", 12000),
        ("二〇二四", 2024),
        ("十", 10),
        ("一亿", 10**8),
        ("三四", None),
        ("一百零五", 105),
        ("一百五", 150),
    ],
)
def test_chinese_numerals(numeral, value):
    """Numerals by place value and digit by digit; 三四 (three or four) is no single number."""
    assert chinese_number(numeral) == value


QUANTITY = st.builds(
    Quantity,
    st.sampled_from([1.0, 3.0, 3.0000001, 60.0, 180.0, 4008201234.0, 4008201243.0, 1 / 60]),
    st.sampled_from(["", "minute", "cny"]),
    st.sampled_from([1.0, 3.0, 60.0, 4008201234.0]),
).map(lambda one: one if one.unit else one._replace(raw=one.value))  # without a unit nothing is converted


@given(QUANTITY, QUANTITY)
def test_looking_a_quantity_up_is_comparing_it(wanted, own):
    """The look-up by keys finds exactly what the comparison calls the same."""
    assert (not set(wanted_keys(wanted)).isdisjoint(keys(own))) == same(wanted, own)


def test_telephone_numbers_are_one_number():
    """Blanks and dashes inside do not matter; one other digit does; years are left alone."""
    first, second, other = (
        analyse(text).quantities for text in ("400-820-1234", "4008201234", "400 820 1243")
    )
    assert len(first) == len(second) == len(other) == 1
    assert same(first[0], second[0])
    assert not same(first[0], other[0])
    assert len(analyse("1979-1980").quantities) == 2
