"""Whether what a night needs beyond the light install is there."""

from importlib.util import find_spec

from rag_checks.errors import ConfigError

MONITOR_EXTRA = "pip install 'rag-checks[monitor]'"
_NIGHT_NEEDS = ("croniter", "great_expectations", "jinja2", "matplotlib", "pandas", "slack_sdk")


def lacking() -> list[str]:
    """The packages a night's steps import that are not installed."""
    return [package for package in _NIGHT_NEEDS if find_spec(package) is None]


def require_monitor_extra() -> None:
    """Refuse before a night's first judge call is paid. Raises ConfigError naming the command to run."""
    if missing := lacking():
        raise ConfigError(f"this command needs {', '.join(missing)}; run: {MONITOR_EXTRA}")
