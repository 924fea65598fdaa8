"""The metrics that may be named: those of the registry, the shipped rubrics, and a team's own."""

import glob
from collections.abc import Sequence
from pathlib import Path

from rag_checks.errors import ConfigError
from rag_checks.metrics.registry import REGISTRY, Metric, get
from rag_checks.monitor import Monitor


def known_metrics(rubric_files: Sequence[Path] = ()) -> dict[str, Metric]:
    """All metrics by name: the registry's, the shipped rubrics, and those of the files.

    Raises:
        ConfigError: a rubric that cannot be used, or that takes the name of another.
    """
    from rag_checks.metrics.rubrics import (  # noqa: PLC0415 - brings YAML, which the default metrics never need
        as_metric,
        read_rubric,
        shipped_rubrics,
    )

    known = REGISTRY | {rubric.name: as_metric(rubric) for rubric in shipped_rubrics()}
    for path in rubric_files:
        rubric = read_rubric(path)
        if rubric.name in known:
            raise ConfigError(
                f"{rubric.name!r} is taken; give the rubric a name of its own", file=str(path), key="name"
            )
        known[rubric.name] = as_metric(rubric)
    return known


def catalogue(monitor: Monitor) -> dict[str, Metric]:
    """All metrics a monitor may name, by name, with its options applied.

    Raises:
        ConfigError: an option that the metric does not take, options of an unknown metric, or as
            `known_metrics`.
    """
    known = known_metrics(_rubric_files(monitor))
    for name, given in monitor.metric_options.items():
        known[name] = get(name, known).configured(given)
    return known


def wanted(monitor: Monitor) -> list[Metric]:
    """The metrics a monitor grades: those it lists, else those graded by default.

    Raises:
        ConfigError: as `catalogue`, or an unknown name.
    """
    known = catalogue(monitor)
    if not monitor.metrics:
        return [metric for metric in known.values() if metric.by_default]
    return [get(name, known) for name in monitor.metrics]


def rubric_titles(monitor: Monitor) -> dict[str, str]:
    """What people call the monitor's own rubrics, by name, in its language where they have it.

    Raises:
        ConfigError: a rubric that cannot be used.
    """
    from rag_checks.metrics.rubrics import read_rubric  # noqa: PLC0415 - as above

    rubrics = [read_rubric(path) for path in _rubric_files(monitor)]
    return {
        rubric.name: rubric.title.said(monitor.language) or rubric.title.said(rubric.languages[0])
        for rubric in rubrics
    }


def _rubric_files(monitor: Monitor) -> list[Path]:
    """The files that `rubrics` names, each once."""
    found: dict[Path, None] = {}
    for pattern in monitor.rubrics:
        path = monitor.directory / pattern
        names = [str(path)] if path.is_file() else sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - patterns may be absolute
        if not names:
            raise ConfigError(f"no file matches {pattern!r}", key="rubrics")
        found |= dict.fromkeys(map(Path, names))
    return list(found)
