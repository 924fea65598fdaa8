"""Monitor files: what is accepted, and how every mistake is named."""

import re
from pathlib import Path

import pytest
import yaml

from rag_checks.errors import ConfigError
from rag_checks.monitor import Monitor
from rag_checks.monitor_files import find_monitor_files, json_schema, load_monitor, missing_secrets

GOOD = """\
monitor: shop_help
title: 商城助手
language: zh
time_zone: Asia/Shanghai
bot:
  kind: http
  url: http://127.0.0.1:9/ask
  headers: {Authorization: "Bearer ${SHOP_BOT_TOKEN}"}
conversations:
  kind: files
  path: ${SHOP_LOGS}/*.jsonl
targets:
  - metric: faithfulness
    minimum: 0.8
    warning: 0.85
    intents:
      returns: {minimum: 0.7}
"""
ENVIRON = {"SHOP_LOGS": "logs"}


def write(folder: Path, text: str) -> Path:
    path = folder / "shop_help.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_good_file_is_read_with_variables_filled_and_header_secrets_left_alone(tmp_path: Path) -> None:
    """Paths get their variables, header templates stay templates."""
    monitor = load_monitor(write(tmp_path, GOOD), ENVIRON)
    assert monitor.conversations is not None
    assert monitor.conversations.path == "logs/*.jsonl"
    assert monitor.bot is not None
    assert monitor.bot.headers["Authorization"] == "Bearer ${SHOP_BOT_TOKEN}"  # type: ignore[union-attr]
    assert monitor.directory == tmp_path.resolve()


def test_intent_limits_are_laid_over_the_target(tmp_path: Path) -> None:
    """An intent's own minimum wins, everything else is inherited."""
    monitor = load_monitor(write(tmp_path, GOOD), ENVIRON)
    target = monitor.target_for("faithfulness", "golden", "returns")
    assert target is not None
    assert (target.minimum, target.warning, target.minimum_coverage) == (0.7, 0.85, 0.9)
    assert monitor.target_for("ndcg", "golden") is None


@pytest.mark.parametrize(
    ("change", "line", "key", "says"),
    [
        (("title:", "titel:"), 2, "titel", "did you mean 'title'?"),
        (("    minimum: 0.8\n", "    minimun: 0.8\n"), 14, "targets.0.minimun", "did you mean 'minimum'?"),
        (("  url:", "  ulr:"), 7, "bot.ulr", "did you mean 'url'?"),
        (("kind: http", "kind: htpp"), 6, "bot.kind", "did you mean 'http'?"),
        (("minimum: 0.8", "minimum: 80"), 14, "targets.0.minimum", "(got 80)"),
        (("warning: 0.85", "warning: 0.5"), 13, "targets.0", "warn above the minimum"),
        (("metric: faithfulness", "metric: faithfullness"), 13, "targets.0.metric", "'faithfulness'"),
        (("Asia/Shanghai", "Asia/Shanghi"), 4, "time_zone", "unknown time zone"),
        (("language: zh", "language: cn"), 3, "language", "(got 'cn')"),
        (("monitor: shop_help", "monitor: Shop Help"), 1, "monitor", "(got 'Shop Help')"),
        (
            ("{minimum: 0.7}", "{minimum: 0.7, minium: 1}"),
            17,
            "targets.0.intents.returns.minium",
            "'minimum'",
        ),
    ],
)
def test_a_mistake_is_named_with_file_line_key_and_fix(
    tmp_path: Path, change: tuple[str, str], line: int, key: str, says: str
) -> None:
    """Each kind of mistake points at its own line and says what would be right."""
    path = write(tmp_path, GOOD.replace(*change))
    with pytest.raises(ConfigError) as caught:
        load_monitor(path, ENVIRON)
    text = str(caught.value)
    assert f"{path}:{line}: {key}: " in text
    assert says in text


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('schedule: "30 25 * * *"', "schedule: '30 25 * * *' is no cron expression; write e.g. '30 2 * * *'"),
        ('schedule: "every day"', "is no cron expression"),
        ('schedule: "30 2 * * mon-fry"', "is no cron expression"),
        ("baseline_from: last Monday", "baseline_from"),
        ("metrics: [hit_rate]", "faithfulness is not among the metrics"),
        ("conversations: {kind: files, path: x, format: parket}", "did you mean 'parquet'?"),
    ],
)
def test_settings_that_would_fail_only_at_night_are_found_when_the_file_is_read(
    tmp_path: Path, line: str, says: str
) -> None:
    """Nobody finds out at half past two in the morning."""
    text = GOOD.replace("conversations:\n  kind: files\n  path: ${SHOP_LOGS}/*.jsonl\n", "")
    with pytest.raises(ConfigError, match=re.escape(says)):
        load_monitor(write(tmp_path, f"{text}{line}\n"), ENVIRON)


@pytest.mark.parametrize("cron", ["30 2 * * *", "*/15 0-6 1,15 * MON-FRI", "@daily"])
def test_schedules_airflow_knows_are_accepted(tmp_path: Path, cron: str) -> None:
    """Lists, ranges, steps, names and words."""
    assert load_monitor(write(tmp_path, f'{GOOD}schedule: "{cron}"\n'), ENVIRON).schedule == cron


def test_two_targets_for_the_same_series_are_refused(tmp_path: Path) -> None:
    """The second one would be ignored in silence."""
    with pytest.raises(ConfigError, match="two targets for the same source"):
        load_monitor(write(tmp_path, GOOD + "  - metric: faithfulness\n    minimum: 0.9\n"), ENVIRON)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    """Nobody mends a file one message at a time."""
    text = (
        GOOD.replace("title:", "titel:")
        .replace("minimum: 0.8", "minimum: high")
        .replace("${SHOP_LOGS}", "${NOPE}")
    )
    with pytest.raises(ConfigError) as caught:
        load_monitor(write(tmp_path, text), ENVIRON)
    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("monitor: [unclosed", "not YAML"),
        ("- a\n- b\n", "expected `key: value` lines"),
        ("", "expected `key: value` lines"),
        ("monitor: a_b\ntitle: x\ntitle: y\n", "given twice"),
        ("title: no name\n", "required, but missing"),
    ],
)
def test_files_that_are_no_monitor_at_all(tmp_path: Path, text: str, says: str) -> None:
    """Broken YAML, lists, empty files and repeated keys are named, not guessed at."""
    with pytest.raises(ConfigError, match=says):
        load_monitor(write(tmp_path, text), {})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The path is in the message."""
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: no such file"):
        load_monitor(tmp_path / "nowhere.yaml", {})


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    """Files saved by Windows editors work."""
    assert load_monitor(write(tmp_path, "\ufeff" + GOOD), ENVIRON).monitor == "shop_help"


def test_missing_secrets_are_named_with_where_to_put_them(tmp_path: Path) -> None:
    """A judge at api.openai.com needs a key, a local one does not; header variables are secrets."""
    text = GOOD + "judge: {kind: openai, model: some-model}\n"
    monitor = load_monitor(write(tmp_path, text), ENVIRON)
    assert {secret.key for secret in missing_secrets(monitor, {})} == {"judge", "bot.headers.Authorization"}
    local = {"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1", "SHOP_BOT_TOKEN": "t"}
    assert missing_secrets(monitor, local) == []
    assert missing_secrets(monitor, {"OPENAI_API_KEY": "k", "SHOP_BOT_TOKEN": "t"}) == []


def test_a_missing_secret_names_file_line_key_and_fix(tmp_path: Path) -> None:
    """As every other mistake in the file does."""
    path = write(tmp_path, GOOD + "judge: {kind: openai, model: some-model}\n")
    found = {secret.key: str(secret) for secret in missing_secrets(load_monitor(path, ENVIRON), {})}
    lines = path.read_text(encoding="utf-8").splitlines()
    header = next(n for n, line in enumerate(lines, 1) if "Authorization" in line)
    assert found["judge"].startswith(f"{path}:{len(lines)}: judge: the judge needs a key: set OPENAI_API_KEY")
    assert found["bot.headers.Authorization"].startswith(
        f"{path}:{header}: bot.headers.Authorization: set SHOP_BOT_TOKEN in the environment"
    )


def test_the_schema_describes_exactly_the_keys_of_the_model() -> None:
    """Editors complete the keys that the loader accepts."""
    assert set(json_schema()["properties"]) == set(Monitor.model_fields) - {"directory", "file"}


def test_the_shipped_monitors_are_valid(tmp_path: Path) -> None:
    """Every monitor in dags/monitors loads."""
    paths = find_monitor_files(Path(__file__).parent.parent / "dags" / "monitors")
    assert paths
    for path in paths:
        monitor = load_monitor(path, {"RAG_CHECKS_HOME": str(tmp_path)})
        assert yaml.safe_load(path.read_text(encoding="utf-8"))["monitor"] == monitor.monitor == path.stem
