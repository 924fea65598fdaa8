"""What is masked and what must survive."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intake_fixtures import row

from rag_checks.intake.personal_data import KINDS, find, is_id_number, is_luhn
from rag_checks.intake.redact import Redactor
from rag_checks.records import Feedback, Message, ToolCall, Turn

PERSONAL = [
    ("我的身份证是11010519491231002X，请查一下", "我的身份证是<ID_CARD_1>，请查一下"),
    ("ID 110105 19491231 002x ok", "ID <ID_CARD_1> ok"),
    ("身份证１１０１０５１９４９１２３１００２Ｘ", "身份证<ID_CARD_1>"),
    ("电话13800138000转我", "电话<PHONE_1>转我"),
    ("+86 138-0013-8000", "<PHONE_1>"),
    ("0086 13800138000 / (+86)13800138000", "<PHONE_1> / <PHONE_1>"),
    ("call 138 0013 8000 now", "call <PHONE_1> now"),
    ("手机号码：１３８００１３８０００。", "手机号码：<PHONE_1>。"),
    ("座机010-62345678或(0755)86543210", "座机<PHONE_1>或<PHONE_2>"),
    ("固话 021 62345678-8001", "固话 <PHONE_1>-8001"),
    ("reach me at +44 20 7946 0958 or (415) 555-0132", "reach me at <PHONE_1> or <PHONE_2>"),
    ("卡号6222021234567890128", "卡号<BANK_CARD_1>"),
    ("visa 4111 1111 1111 1111!", "visa <BANK_CARD_1>!"),
    ("mail zhang.wei+hr@mail.example.com.cn.", "mail <EMAIL_1>."),
    ("13800138000@163.com", "<EMAIL_1>"),
    ("from 203.0.113.7 to 2001:db8:85a3::8a2e:370:7334", "from <IP_1> to <IP_2>"),
    ("key sk-proj-abcdEFGH1234ijklMNOP5678", "key <SECRET_1>"),
    ("AKIAIOSFODNN7EXAMPLE", "<SECRET_1>"),
    ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "<SECRET_1>"),
    ("Authorization: Bearer abcdef.123456-xyz", "Authorization: Bearer <SECRET_1>"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN", "<SECRET_1>"),
    ("https://bob:s3cret@git.example.com/x", "https://<SECRET_1>@git.example.com/x"),
    (
        "https://a.example/p?id=7&access_token=Zx9y8w7v#top",
        "https://a.example/p?id=7&access_token=<SECRET_1>#top",
    ),
    ('api_key = "Abc12345Def"', 'api_key = "<SECRET_1>"'),
    ("password: hunter2x", "password: <SECRET_1>"),
    ("初始密码是Abc12345，请修改", "初始密码是<SECRET_1>，请修改"),
]

HARMLESS = [
    "订单号 4111111111111111 什么时候发货",
    "订单号：13800138000",
    "Order number 6222021234567890128 is late",
    "流水号20261129123456789",
    "运单 13912345678 到哪了",
    "金额 1,234,567.89 元，人民币12800元",
    "2026-11-29 10:00:00 到 20261130",
    "工号 10086，员工编号 00123456",
    "分机 8001，内线 6102，转 0",
    "张伟 教研部 分机 4021",
    "客服热线 400-800-1234 或 800-810-0000 或 95588",
    "身份证 110105194912310021 校验位不对",
    "产品 X1-13800138000A",
    "version 1.2.3.4 and v10.0.0.1",
    "版本号：2.10.4.1",
    "子网掩码 255.255.255.0，本机 127.0.0.1",
    "std::vector a::b 12:30:45 00:1B:44:11:3A:B7",
    "password: required, token: none",
    "密码错误怎么办 密码至少8位",
    "the sk-learn package and @alice on the team",
    "请在 https://intra.example/policy?id=12&page=3 查看",
    "policy §4.2, 30 days, 15:00-17:30, room 3-1204",
    "ISBN 9787302511625",
    "1234567890123456",
    "+1 point, +100000 views, 3 + 4 = 7",
    "UUID 550e8400-e29b-41d4-a716-446655440000",
    "开票税号 91110108MA01C8JT4X",
]


def masked(text: str) -> str:
    """A question after masking."""
    turn, _ = Redactor().mask_turn(Turn.model_validate(row(user_input=text)))
    return turn.user_input


@pytest.mark.parametrize(("text", "wanted"), PERSONAL)
def test_personal_data_is_masked(text: str, wanted: str) -> None:
    """Each kind, in the forms people write it in, and nothing around it."""
    assert masked(text) == wanted


@pytest.mark.parametrize("text", HARMLESS)
def test_business_data_survives(text: str) -> None:
    """Order numbers, amounts, dates, codes, extensions and versions stay as they are."""
    assert masked(text) == text


def test_one_value_has_one_number_in_all_of_a_turn() -> None:
    """History, question, contexts, tools, answer and comment share the numbers, however it is written."""
    turn = Turn.model_validate(
        row(
            history=[{"role": "user", "content": "call 13800138000"}],
            user_input="+86 138 0013 8000 and 13900139000",
            rewritten_query="13900139000",
            retrieved_contexts=["HR: 13900139000, a@b.example"],
            tool_calls=[{"name": "sms", "arguments": {"to": ["13800138000"], "n": 13900139000, "ok": True}}],
            response="Sent to 13800138000",
            feedback={"rating": "dislike", "comment": "my number is 13800138000"},
            error="smtp: A@b.example refused",
            tags=["13900139000"],
        )
    )
    safe, counts = Redactor().mask_turn(turn)
    assert safe.history == (Message(role="user", content="call <PHONE_1>"),)
    assert safe.user_input == "<PHONE_1> and <PHONE_2>"
    assert safe.rewritten_query == "<PHONE_2>"
    assert safe.retrieved_contexts == ("HR: <PHONE_2>, <EMAIL_1>",)
    arguments = {"to": ["<PHONE_1>"], "n": "<PHONE_2>", "ok": True}
    assert safe.tool_calls == (ToolCall(name="sms", arguments=arguments),)
    assert safe.response == "Sent to <PHONE_1>"
    assert safe.feedback == Feedback(rating="dislike", comment="my number is <PHONE_1>")
    assert safe.error == "smtp: <EMAIL_1> refused"
    assert safe.tags == ("<PHONE_2>",)
    assert counts == {"phone": 10, "email": 2}


def test_what_is_not_recorded_stays_so() -> None:
    """None and empty are not the same, before and after."""
    bare = Turn.model_validate(row(retrieved_contexts=None))
    assert Redactor().mask_turn(bare)[0] == bare
    empty = Turn.model_validate(row(retrieved_contexts=[], tool_calls=[]))
    assert Redactor().mask_turn(empty)[0] == empty


@given(st.lists(st.sampled_from([text for text, _ in PERSONAL] + HARMLESS), max_size=4), st.text(max_size=10))
def test_masking_twice_changes_nothing(parts: list[str], extra: str) -> None:
    """Placeholders are not masked again."""
    once = masked(" ; ".join([*parts, extra]))
    assert masked(once) == once


@given(st.text())
def test_hits_are_in_order_apart_and_of_known_kinds(text: str) -> None:
    """Any text can be masked."""
    hits = find(text)
    assert all(hit.kind in KINDS and hit.start < hit.end <= len(text) for hit in hits)
    assert all(first.end <= second.start for first, second in pairwise(hits))


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "1",
        "1 ",
        "1.",
        "a.",
        "a@",
        "eyJ",
        "sk-",
        "://a:",
        "::",
        "fe:",
        "+1 ",
        "(1",
        "密码",
        "13800138000 ",
        "password=",
        "-",
    ],
)
def test_long_texts_take_time_in_proportion(piece: str) -> None:
    """300,000 characters of what nearly matches are done in well under the time a square would take."""
    start = time.process_time()
    find(piece * (300_000 // len(piece)))
    assert time.process_time() - start < 5


def test_check_digits() -> None:
    """Worked examples of both standards, and one wrong digit each."""
    assert is_id_number("11010519491231002X")
    assert not is_id_number("110105194912310021")
    assert not is_id_number("11010519490231002X")
    assert is_luhn("4111111111111111")
    assert not is_luhn("4111111111111112")
