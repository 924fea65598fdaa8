"""Sampling a night of a million conversations against plain decompression of the same file.

    python bench/bench_sampling.py [--n 1000000]

Writes a gzip JSONL of made-up conversations to a temporary folder, then, in the same run, reads it through
with Python's gzip and collects a sample from it in a fresh process. Both only compute, in one thread, so
their CPU times are compared: other processes on the machine lengthen the wall times of each by chance.
Plain reading is timed before and after, and the mean taken. Targets: at most 3 times, under 300 MB.
"""

import argparse
import gzip
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from results import Result, tell

MOST_RATIO, MOST_MB = 3.0, 300
NIGHT = date(2026, 11, 29)
NOW = datetime(2026, 11, 30, 3, tzinfo=UTC)
INTENTS = ("leave", "expenses", "it_support", "staff_lookup", "travel", "payroll", "facilities", "policy")
_ZH = """
请 先 在 员工系统 中 提交 申请 由 直属主管 审批 后 生效 如果 超过 三天 还 需要 部门负责人 确认
报销单 附上 发票 原件 和 行程单 财务 会 五个工作日 内 打款 到 工资卡 一线城市 住宿 标准 为 每晚 不
超过 六百元 的 部分 说明 原因 重置 密码 打开 自助服务 页面 输入 工号 并 完成 短信 验证 不要 把 告诉
他人 会议室 可以 提前 两周 预订 临时 取消 开始 前 释放 年假 按照 工龄 计算 当年 没有 休完 顺延 次年
打印机 无法 响应 时 检查 网络 连接 再 联系 技术支持 值班 同事 新员工 入职 当天 领取 电脑 签署
信息安全 承诺书 无需 未 通过 暂时 合同 续签 社保 公积金 异地 缴纳 证明 开具 人事 窗口 办理 材料
身份证 复印件 一份 电子版 邮件 发送 地址 班车 路线 时刻表 食堂 充值 门禁 补办
""".split()  # noqa: SIM905 - a list of a hundred literals is not readable
_EN = """
submit the request in staff portal your line manager approves it within two working days attach
original receipts and itinerary then finance pays with next salary run hotels large cities are
covered up to nightly limit anything above needs a reason open self-service page enter number
confirm code do not share meeting rooms can be booked weeks ahead should released when they unused
annual leave moves year expires at end of March if printer does respond check network first call
help desk new colleagues collect laptop on day sign security statement no later than contract
renewal pension certificate office counter documents copy email address shuttle timetable canteen
card badge replacement without approval unable cannot
""".split()  # noqa: SIM905 - a list of a hundred literals is not readable
_ASK_ZH = ("怎么申请年假", "出差住宿能报多少", "忘记密码怎么办", "张伟是哪个部门的", "会议室怎么预订")
_ASK_EN = (
    "how do I book a meeting room",
    "what is the hotel limit",
    "reset my password",
    "who approves leave",
)


def write(path: Path, count: int) -> int:
    """Write `count` conversations; returns the bytes before compression."""
    rng = random.Random(7)
    texts = [_text(rng, chinese=bool(i % 2), sentences=2) for i in range(6000)]
    texts[::25] = ["抱歉，知识库中没有找到相关信息。", "Sorry, I could not find anything about this."] * 120
    passages = [_text(rng, chinese=bool(i % 2), sentences=2) for i in range(4000)]
    questions = [f"{rng.choice(_ASK_ZH if i % 2 else _ASK_EN)} {rng.randrange(1000)}" for i in range(3000)]
    size = 0
    with gzip.open(path, "wb", compresslevel=6) as file:
        for start in range(0, count, 10_000):
            block = "".join(
                _line(rng, i, texts, passages, questions) for i in range(start, min(start + 10_000, count))
            ).encode()
            size += len(block)
            file.write(block)
    return size


def _text(rng: random.Random, *, chinese: bool, sentences: int) -> str:
    said = []
    for _ in range(sentences):
        words = rng.choices(_ZH if chinese else _EN, k=14)
        said.append(("".join(words) + "。") if chinese else " ".join(words) + ". ")
    return "".join(said).strip()


def _line(rng: random.Random, i: int, texts: list[str], passages: list[str], questions: list[str]) -> str:
    # i % 2 keeps question, answer and passages in one language: the lists alternate.
    side, number = i % 2, rng.getrandbits(64)
    answer = texts[number % 3000 * 2 + side]
    first, second = passages[number // 3000 % 2000 * 2 + side], passages[number // 7 % 2000 * 2 + side]
    question = questions[number // 11 % 1500 * 2 + side]
    rating = ("null", "null", "null", "null", "null", "null", "null", "null", '"like"', '"dislike"')[
        number % 10
    ]
    clock = f"{number % 24:02d}:{number // 24 % 60:02d}:{number // 1440 % 60:02d}"
    return (
        f'{{"turn_id": "t-{number:016x}", "conversation_id": "c-{number // 3:016x}", '
        f'"asked_at": "2026-11-29T{clock}.{i % 1000:03d}+00:00", '
        f'"user_input": "{question}", "response": "{answer}", '
        f'"retrieved_contexts": ["{first}", "{second}"], '
        f'"retrieved_context_ids": ["doc-{number % 900}", "doc-{number // 900 % 900}"], '
        f'"intent": "{INTENTS[number // 5 % 8]}", "rewritten_query": "{question}", '
        f'"release": "2026.11.{number % 3}", '
        f'"latency_ms": {number % 4000}, "feedback": {{"rating": {rating}}}}}\n'
    )


def read_through(path: Path) -> float:
    """CPU seconds to decompress a file in blocks of 1 MB."""
    start = time.process_time()
    with gzip.open(path) as file:
        while file.read(1 << 20):
            pass
    return time.process_time() - start


def collect_once(path: Path) -> dict[str, float]:
    """Collect the sample in this process: CPU and wall seconds, turns and peak memory in MB."""
    # Only the fresh process imports what it measures.
    from rag_checks.intake import collect, night_window  # noqa: PLC0415
    from rag_checks.monitor import FileConversations, Sample  # noqa: PLC0415

    start, wall = time.process_time(), time.perf_counter()
    collected = collect(
        FileConversations(kind="files", path=path.name),
        path.parent,
        night_window(NIGHT, ZoneInfo("UTC")),
        Sample(),
        now=NOW,
    )
    seconds, wall = time.process_time() - start, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "seconds": seconds,
        "wall": wall,
        "in_window": collected.counts["in_window"],
        "sampled": collected.counts["sampled"],
        "peak_mb": peak,
    }


def main() -> int:
    """Run the benchmark and print what it found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=1_000_000, help="conversations")
    parser.add_argument("--json", type=Path, help="write the results there as well")
    parser.add_argument("--collect", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.collect:
        print(json.dumps(collect_once(options.collect)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "conversations.jsonl.gz"
        size = write(path, options.n)
        packed = path.stat().st_size
        before = read_through(path)
        done = subprocess.run(
            [sys.executable, __file__, "--collect", str(path)], check=True, capture_output=True, text=True
        )
        plain = (before + read_through(path)) / 2
    found = json.loads(done.stdout)
    ratio, peak = found["seconds"] / plain, found["peak_mb"]
    mean = f"{size / options.n:.0f} bytes each, {size / packed:.1f}:1"
    results = [
        Result("conversations", f"{options.n:,}", mean),
        Result("plain decompression, CPU", f"{plain:.2f} s"),
        Result("sampling, CPU", f"{found['seconds']:.2f} s", f"wall {found['wall']:.2f} s"),
        Result("ratio", f"{ratio:.2f}", f"at most {MOST_RATIO:.1f}", ratio <= MOST_RATIO),
        Result("peak memory", f"{peak:.0f} MB", f"under {MOST_MB} MB", peak < MOST_MB),
    ]
    return tell(results, options.json)


if __name__ == "__main__":
    sys.exit(main())
