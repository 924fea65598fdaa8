"""The metrics of one monitor: what it may name, and what it grades with."""

from rag_checks.metrics.registry import REGISTRY, Metric, get
from rag_checks.monitor import Monitor


def catalogue(monitor: Monitor) -> dict[str, Metric]:
    """All metrics a monitor may name, by name, with its options applied.

    Raises:
        ConfigError: an option that the metric does not take, or options of an unknown metric.
    """
    known = dict(REGISTRY)
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
