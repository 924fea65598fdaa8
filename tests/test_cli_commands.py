"""The commands around a night: what they say, how they end, and that mistakes are named with their fix."""

import json
import os
import re
import sqlite3
from pathlib import Path

import pytest
from cli_fixtures import CommandLine, command_line
from fake_openai import FakeOpenAI, always
from fake_slack import FakeSlack, http, refusal
from workspace import NIGHT, Workspace, make_workspace

from rag_checks.cron import is_cron
from rag_checks.store import head_revision

COMMANDS = [
    ("run",),
    ("report",),
    ("evaluate",),
    ("doctor",),
    *[("config", name) for name in ("check", "schema", "show")],
    *[("db", name) for name in ("upgrade", "status")],
    *[("demo", name) for name in ("history", "night", "show")],
]
BOT_OF_OUTAGES = '''"""Answers from a file unless `down` lies beside it; notes what it was asked."""
import json
import pathlib

HERE = pathlib.Path(__file__).parent


def ask(item):
    with (HERE / "asked").open("a", encoding="utf-8") as asked:
        asked.write(item.item_id + "\\n")
    if (HERE / "down").exists():
        raise RuntimeError("the index is not loaded")
    answers = json.loads((HERE / "answers.json").read_text(encoding="utf-8"))
    answer, passage, intent = answers.get(item.user_input, ("抱歉，没有找到相关信息。", "", "other"))
    return {"answer": answer, "contexts": [passage] if passage else [], "intent": intent}
'''


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CommandLine:
    """A command line with nothing configured."""
    return command_line(capsys, monkeypatch, tmp_path)


@pytest.fixture
def space(cli: CommandLine, tmp_path: Path) -> Workspace:
    """A monitor `toy` that the command line sees."""
    made = make_workspace(tmp_path / "monitors")
    cli.live_in(made)
    return made


@pytest.mark.parametrize("command", [(), ("config",), ("db",), ("demo",), *COMMANDS], ids=" ".join)
def test_every_command_explains_itself(cli: CommandLine, command: tuple[str, ...]) -> None:
    """--help and -h end well and say more than the usage line."""
    said = cli(*command, "--help", code=0)
    assert "Usage: " in said.out
    assert len(said.out.splitlines()) > 5
    assert cli(*command, "-h", code=0).out == said.out


def test_version(cli: CommandLine) -> None:
    """One line."""
    assert re.fullmatch(r"rag-checks \d+\.\d+\.\d+\n", cli("--version", code=0).out)


@pytest.mark.parametrize(
    "args", [("nosuch",), ("run",), ("run", "a", "b"), ("report", "--nigth", "x"), ("db",)]
)
def test_a_wrong_command_line_is_explained_and_ends_with_2(cli: CommandLine, args: tuple[str, ...]) -> None:
    """Usage mistakes are a person's to fix."""
    said = cli(*args, code=2)
    assert "Usage: " in said.out + said.err


# Names


def test_a_night_of_an_unknown_monitor_lists_the_known_ones(cli: CommandLine, space: Workspace) -> None:
    """A slip of the pen is answered with the nearest name, anything else with all names."""
    (space.folder / "other.yaml").write_text("monitor: shop_help\n", encoding="utf-8")
    for command in ("run", "report", "doctor"):
        said = cli(command, "toi")
        assert said.code in {1, 2}
        assert "did you mean 'toy'?" in said.out + said.err
    said = cli("run", "payroll", code=2)
    assert "known: shop_help, toy" in said.err
    assert said.out == ""


def test_a_monitor_is_found_by_path_file_name_and_its_own_name(cli: CommandLine, space: Workspace) -> None:
    """`monitor: toy` in team_a.yml answers to all three."""
    path = space.monitor_file.rename(space.folder / "team_a.yml")
    shown = [json.loads(cli("config", "show", name, code=0).out) for name in (path, "team_a", "toy")]
    assert [one["monitor"] for one in shown] == ["toy"] * 3


def test_without_any_monitor_the_folder_is_named(cli: CommandLine, tmp_path: Path) -> None:
    """The message says where was looked and how to change it."""
    for args in (("run", "toy"), ("config", "check")):
        said = cli(*args, code=2)
        assert str(tmp_path / "monitors") in said.err
        assert "RAG_CHECKS_MONITORS" in said.err


# run and report


def test_a_night_is_run_and_shown_again(cli: CommandLine, space: Workspace) -> None:
    """Run grades, report shows the same from the store; both exit 0 because all is well."""
    first = cli("run", "toy", "--night", NIGHT.isoformat(), "--ask-bot", code=0)
    assert "测试助手" in first.out
    assert "toy-nightly-2026-03-10.html" in first.out
    again = cli("report", "toy", code=0)
    assert "toy-nightly-2026-03-10.html" in again.out


def test_json_is_all_there_is_on_stdout(cli: CommandLine, space: Workspace) -> None:
    """Run and report print one JSON value with run, level, verdicts, findings, report and message."""
    ran = json.loads(cli("run", "toy", "--night", NIGHT.isoformat(), "--ask-bot", "--json", code=0).out)
    assert (ran["level"], ran["run"]["night"]) == ("ok", "2026-03-10")
    assert ran["message"]["state"] == "printed"
    assert Path(ran["report"]).is_file()
    shown = json.loads(cli("report", "toy", "--night", NIGHT.isoformat(), "--json", code=0).out)
    assert shown["verdicts"] == ran["verdicts"]
    assert isinstance(json.loads(cli("doctor", "--json").out), list)
    assert json.loads(cli("config", "schema", code=0).out)["properties"]["monitor"]


@pytest.mark.parametrize("day", ["yesterday", "20260310", "2026-W10-2", "2026-02-30", "", "10.3.2026"])
def test_a_day_that_is_none_is_refused(cli: CommandLine, space: Workspace, day: str) -> None:
    """Days are written YYYY-MM-DD; nothing is guessed."""
    for command in ("run", "report"):
        said = cli(command, "toy", "--night", day, code=2)
        assert "--night" in said.err
        assert "YYYY-MM-DD" in said.err


def test_a_day_that_has_not_come_is_refused(cli: CommandLine, space: Workspace) -> None:
    """A night of the future has no conversations, and its empty run would stay in the history."""
    said = cli("run", "toy", "--night", "2999-01-01", code=2)
    assert "Asia/Shanghai" in said.err
    assert "no runs yet" in cli("report", "toy", code=2).err


def test_a_report_of_a_night_that_was_not_run_names_the_latest_and_the_command(
    cli: CommandLine, space: Workspace
) -> None:
    """What to do next can be copied."""
    cli("run", "toy", "--night", NIGHT.isoformat(), "--ask-bot", "--no-alert", code=0)
    said = cli("report", "toy", "--night", "2026-03-09", code=2)
    assert "2026-03-10" in said.err
    assert "rag-checks run toy --night 2026-03-09" in said.err


def test_a_missed_target_ends_with_1(cli: CommandLine, tmp_path: Path) -> None:
    """Everything worked and the bot is bad: a cron script can tell that from a breakdown."""
    target = {"metric": "hit_rate", "source": "golden", "minimum": 0.9, "minimum_n": 3}
    made = make_workspace(tmp_path / "bad", changes={"targets": [target]})
    (made.folder / "answers.json").write_text("{}", encoding="utf-8")
    cli.live_in(made)
    assert (
        json.loads(cli("run", "toy", "--night", NIGHT.isoformat(), "--ask-bot", "--json", code=1).out)[
            "level"
        ]
        == "fail"
    )
    assert cli("report", "toy").code == 1


@pytest.mark.parametrize(("mode", "code"), [("500", 3), ("401", 2)])
def test_a_night_with_the_judge_down_is_shown_and_says_so(
    cli: CommandLine, tmp_path: Path, mode: str, code: int
) -> None:
    """Down: try again later. Wrong key: somebody must act. The result is shown in both cases."""
    with FakeOpenAI() as judge:
        judge.state.faults = always(mode)
        config = {"kind": "openai", "model": "judge-1", "base_url": judge.url, "retries": 0}
        cli.use(OPENAI_API_KEY="test")
        cli.live_in(make_workspace(tmp_path / "down", changes={"judge": config}))
        said = cli("run", "toy", "--night", NIGHT.isoformat(), "--ask-bot", "--json", code=code)
    shown = json.loads(said.out)
    assert shown["level"] == "no_data"
    assert shown["run"]["problem"]
    assert said.err.startswith("error: ")


@pytest.mark.parametrize(("fault", "code"), [(http(500), 3), (refusal("channel_not_found"), 2)])
def test_a_night_nobody_could_be_told_about_is_still_shown(
    cli: CommandLine, tmp_path: Path, fault: object, code: int
) -> None:
    """Slack is down: the night's result is on the screen, and the exit code says that it was not told."""
    with FakeSlack() as slack:
        slack.fault("chat.postMessage", *[fault] * 6)
        alerts = {"channel": "#rag-alerts", "slack_base_url": slack.url}
        cli.live_in(make_workspace(tmp_path / "mute", changes={"alerts": alerts}))
        cli.use(SLACK_BOT_TOKEN=slack.token)
        said = cli("run", "toy", "--night", NIGHT.isoformat(), "--ask-bot", "--json", code=code)
    assert json.loads(said.out)["level"] == "ok"
    assert "Slack" in said.err


def test_questions_a_bot_failed_are_asked_again_when_the_night_is_run_again(
    cli: CommandLine, tmp_path: Path
) -> None:
    """A bot outage is mended by running the night once more, not kept for ever; answers are kept."""
    made = make_workspace(
        tmp_path / "monitors", changes={"bot": {"kind": "python", "callable": "bot_of_outages:ask"}}
    )
    (made.folder / "bot_of_outages.py").write_text(BOT_OF_OUTAGES, encoding="utf-8")
    cli.live_in(made)
    night = ("run", "toy", "--night", NIGHT.isoformat(), "--ask-bot", "--json")
    (made.folder / "down").touch()
    assert json.loads(cli(*night, code=1).out)["level"] == "no_data"
    (made.folder / "down").unlink()
    assert json.loads(cli(*night, code=0).out)["level"] == "ok"
    asked = (made.folder / "asked").read_text(encoding="utf-8").splitlines()
    cli(*night, code=0)
    assert (made.folder / "asked").read_text(encoding="utf-8").splitlines() == asked


def test_a_full_disk_is_one_line_and_people_are_told_all_the_same(cli: CommandLine, space: Workspace) -> None:
    """The report cannot be written; verdicts are stored and the message is out."""
    folder = space.settings.reports / "toy"
    folder.mkdir(parents=True)
    (folder / f".toy-nightly-2026-03-10.html.{os.getpid()}.part").symlink_to("/dev/full")
    said = cli("run", "toy", "--night", NIGHT.isoformat(), "--ask-bot", code=2)
    assert "No space left" in said.err
    assert len(said.err.splitlines()) == 1
    assert list(space.settings.unsent.glob("*_digest.txt"))


# The store and the home folder


@pytest.mark.parametrize(
    ("url", "says", "code"),
    [
        ("garbage", "postgresql://", 2),
        ("mysql://x/y", "mysql", 2),
        ("sqlite:///", "names no file", 2),
        ("sqlite:////dev/null/x/store.db", "cannot be made", 2),
        ("postgresql://someone:topsecret@127.0.0.1:1/x", "127.0.0.1:1", 3),
    ],
)
def test_a_store_that_cannot_be_used_is_named(
    cli: CommandLine, space: Workspace, url: str, says: str, code: int
) -> None:
    """Each kind of wrong address has its own sentence; a password is never repeated."""
    cli.use(RAG_CHECKS_STORE=url)
    for args in (("run", "toy"), ("report", "toy"), ("db", "upgrade")):
        said = cli(*args, code=code)
        assert says in said.err
        assert said.out == ""
    examined = cli("doctor", "toy", code=1)
    assert says in examined.out
    assert "topsecret" not in examined.out + examined.err + said.err


def test_a_file_that_is_no_database_is_left_alone(cli: CommandLine, space: Workspace, tmp_path: Path) -> None:
    """The store's address names somebody's notes: they are not overwritten."""
    notes = tmp_path / "notes.txt"
    notes.write_text("my notes, longer than the header of a database file\n" * 9, encoding="utf-8")
    before = notes.read_bytes()
    cli.use(RAG_CHECKS_STORE=f"sqlite:///{notes}")
    assert "not a SQLite database" in cli("run", "toy", code=2).err
    assert notes.read_bytes() == before


def test_a_home_that_cannot_be_made_is_one_line(cli: CommandLine, space: Workspace) -> None:
    """A file where the folder should be."""
    cli.use(RAG_CHECKS_HOME="/dev/null/home")
    for args in (("run", "toy"), ("demo", "history")):
        said = cli(*args, code=2)
        assert "/dev/null/home" in said.err
        assert len(said.err.splitlines()) == 1


def test_the_schema_is_shown_and_brought_up_to_date(cli: CommandLine, tmp_path: Path) -> None:
    """Empty, then current, then from the future: each says what to do."""
    assert "rag-checks db upgrade" in cli("db", "status", code=2).out
    assert head_revision() in cli("db", "upgrade", code=0).out
    assert head_revision() in cli("db", "status", code=0).out
    with sqlite3.connect(tmp_path / "home" / "store.db") as database:
        database.execute("UPDATE rag_checks_schema SET version_num = '9999'")
    assert "install the version" in cli("db", "status", code=2).out
    assert "newer" in cli("db", "upgrade", code=2).err


# config and doctor


def test_one_broken_monitor_file_hides_no_other(cli: CommandLine, space: Workspace) -> None:
    """Every file is checked and every mistake told: no YAML, an alias in itself, a folder, a second `toy`."""
    good = space.monitor_file.read_text(encoding="utf-8")
    (space.folder / "aaa.yaml").write_text("monitor: [unclosed\n", encoding="utf-8")
    (space.folder / "loop.yaml").write_text("monitor: &a [*a]\n", encoding="utf-8")
    (space.folder / "folder.yaml").mkdir()
    (space.folder / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    (space.folder / "zzz.yaml").write_text(good, encoding="utf-8")
    said = cli("config", "check", code=2)
    assert f"{space.monitor_file}: toy: ok" in said.out
    assert f"{space.folder / 'zzz.yaml'}: toy: ok" in said.out
    for name, words in {
        "aaa.yaml: line 2": "not YAML",
        "loop.yaml": "contains itself",
        "folder.yaml": "cannot be read",
        "binary.yaml": "not UTF-8",
        "zzz.yaml": "names must differ",
    }.items():
        assert re.search(rf"{re.escape(name)}.*{words}", said.err)


def test_config_check_takes_files_and_folders(cli: CommandLine, space: Workspace, tmp_path: Path) -> None:
    """A file named twice is checked once; a missing one is an error and the rest is checked."""
    said = cli("config", "check", space.folder, space.monitor_file, tmp_path / "nosuch.yaml", code=2)
    assert said.out.count("toy: ok") == 1
    assert "nosuch.yaml: no such file" in said.err
    assert cli("config", "check", space.monitor_file, code=0).err == ""


def test_times_that_only_the_night_would_stumble_over_are_checked(cli: CommandLine, tmp_path: Path) -> None:
    """A schedule and a first baseline night are looked at now; a date without quotes is as good as a text."""
    made = make_workspace(tmp_path / "late", changes={"schedule": "at two", "baseline_from": "soon"})
    cli.live_in(made)
    said = cli("config", "check", code=2)
    assert re.search(r"toy\.yaml:\d+: schedule: 'at two' is no cron expression", said.err)
    assert re.search(r"toy\.yaml:\d+: baseline_from: Input should be a valid date", said.err)
    text = made.monitor_file.read_text(encoding="utf-8").replace(
        "baseline_from: soon", "baseline_from: 2026-03-01"
    )
    made.monitor_file.write_text(text.replace("at two", "'@daily'"), encoding="utf-8")
    shown = json.loads(cli("config", "show", "toy", code=0).out)
    assert (shown["baseline_from"], shown["schedule"]) == ("2026-03-01", "@daily")


@pytest.mark.parametrize(
    ("text", "right"),
    [
        *[(good, True) for good in ("30 2 * * *", "*/5 0-6,22 1 JAN mon-fri", "0 0 * * 7", "@weekly")],
        *[
            (bad, False)
            for bad in ("60 * * * *", "* * * *", "* * 0 * *", "5-1 * * * *", "a * * * *", "@never")
        ],
        *[(bad, False) for bad in ("*/0 * * * *", "1, * * * *", "", "* * * * * *", "٣ * * * *")],
    ],
)
def test_a_cron_expression_is_told_from_a_slip_of_the_pen(text: str, right: bool) -> None:
    """Five fields within their limits, or one of the names."""
    assert is_cron(text) is right


def test_a_missing_secret_is_told_and_ends_with_2(cli: CommandLine, tmp_path: Path) -> None:
    """The monitor is fine, its key is not there."""
    made = make_workspace(tmp_path / "paid", changes={"judge": {"kind": "openai", "model": "judge-1"}})
    cli.live_in(made)
    said = cli("config", "check", code=2)
    assert "OPENAI_API_KEY" in said.err
    assert "secrets missing" in said.out
    assert "OPENAI_API_KEY" in cli("doctor", code=1).out


def test_doctor_finds_nothing_wrong_with_a_good_set_up(cli: CommandLine, space: Workspace) -> None:
    """Store, file, conversations, golden set, judge and bot are looked at, and Slack is noted as not set."""
    checks = {check["subject"]: check for check in json.loads(cli("doctor", "--json", code=0).out)}
    assert {subject: check["state"] for subject, check in checks.items()} == {
        "store": "ok",
        "toy": "ok",
        "toy: conversations": "ok",
        "toy: golden set": "ok",
        "toy: judge": "ok",
        "toy: bot": "ok",
        "toy: Slack": "note",
    }
    assert "7 items" in checks["toy: golden set"]["detail"]


def test_doctor_names_everything_that_is_wrong_and_the_fix(cli: CommandLine, tmp_path: Path) -> None:
    """No conversations, a broken golden set, a bot nobody answers for: all told in one go."""
    bot = {"kind": "http", "url": "http://127.0.0.1:1/ask", "retries": 0, "timeout_s": 1}
    made = make_workspace(
        tmp_path / "ill", changes={"bot": bot, "conversations": {"kind": "files", "path": "x/*"}}
    )
    (made.folder / "golden.jsonl").write_text("nonsense\n", encoding="utf-8")
    cli.live_in(made)
    checks = {check["subject"]: check for check in json.loads(cli("doctor", "toy", "--json", code=1).out)}
    bad = {subject for subject, check in checks.items() if check["state"] == "bad"}
    assert bad == {"toy: conversations", "toy: golden set", "toy: bot"}
    assert "golden.jsonl:1" in checks["toy: golden set"]["detail"]


# demo


def test_the_demo_before_its_history_says_how_to_start(cli: CommandLine) -> None:
    """`demo show` on a fresh machine, with or without the checkout's monitors."""
    assert "rag-checks demo history" in cli("demo", "show", code=2).err
    assert re.fullmatch(r"\d{4}-\d\d-\d\d\n", cli("demo", "night", code=0).out)
