"""Great Expectations carries the checks: one suite a monitor, built from its targets.

The only module that imports great_expectations (3 to 12 s) and pandas, both on first use.
GX sees one frame of numbers: text in a frame ends up word for word in its results. The frame has one row a
score and the columns

- `series`: position of the metric and source in `targeted(monitor)`; every expectation looks at one
  series only,
- `applicable`: 1, or 0 where the metric does not apply,
- `value`: the score as stored, NaN without one; infinities stay, for the range check to find,
- `scored`: 1 where the value counts in our means, else NaN,
- `level`: the stored verdict as a number, see `LEVELS`.

The target expectation, `ExpectVerdictToHold`, reads `level`: our verdict function has decided already, and
GX says the same (P2). The others are its companions: a mean over one 1.0 and nine NaN would pass.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from rag_checks.monitor import Monitor
from rag_checks.records import ExpectationResult, Level, ScoreRow, ScoreStatus, Source, Verdict
from rag_checks.verdicts.estimates import outcome
from rag_checks.verdicts.standing import SOURCES

if TYPE_CHECKING:
    import great_expectations as gx
    import pandas as pd
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.expectations.core.expect_column_max_to_be_between import (
        ExpectColumnMaxToBeBetween,
    )

LEVELS = {Level.OK: 0, Level.WATCH: 1, Level.JUDGE_CHANGED: 2, Level.FAIL: 3, Level.NO_DATA: 4}
"""Numbers of the levels in the frame; from FAIL on a target is not met."""

COLUMNS = ("series", "applicable", "value", "scored", "level")


class Series(NamedTuple):
    """A metric on a source that a target speaks about."""

    metric: str
    source: Source


def targeted(monitor: Monitor) -> list[Series]:
    """The series with targets, in the order of the file; a target without a source speaks about both."""
    found = {
        Series(target.metric, source): None
        for target in monitor.targets
        for source in SOURCES
        if target.source in (source, None)
    }
    return list(found)


def build_suite(monitor: Monitor, only: Collection[Series] | None = None) -> "gx.ExpectationSuite":
    """The suite of a monitor: for each targeted series completeness, range (two), coverage and target.

    How many rows were planned is a suite parameter `planned_N` (N the position in `targeted(monitor)`), so
    the suite is the same every night.

    Args:
        monitor: Its targets.
        only: Series to keep; all when left out.
    """
    import great_expectations as gx  # noqa: PLC0415 - 3 to 12 s
    from great_expectations.expectations import core  # noqa: PLC0415 - the same
    from great_expectations.expectations.row_conditions import Column  # noqa: PLC0415 - the same

    gxe: Any = core  # its names are re-exported without saying so, which mypy takes for private
    expectations = []
    for code, series in enumerate(targeted(monitor)):
        if only is not None and series not in only:
            continue
        target = monitor.target_for(series.metric, series.source)
        coverage = target.minimum_coverage if target is not None else None
        rows = Column("series") == code
        applicable = rows & (Column("applicable") == 1)
        planned = {"$PARAMETER": f"planned_{code}"}
        for purpose, expectation in (
            (
                "completeness",
                gxe.ExpectTableRowCountToBeBetween(min_value=planned, max_value=planned, row_condition=rows),
            ),
            (
                "range",
                gxe.ExpectColumnMinToBeBetween(
                    column="value", min_value=0, max_value=1, row_condition=applicable
                ),
            ),
            (
                "range",
                gxe.ExpectColumnMaxToBeBetween(
                    column="value", min_value=0, max_value=1, row_condition=applicable
                ),
            ),
            (
                "coverage",
                gxe.ExpectColumnProportionOfNonNullValuesToBeBetween(
                    column="scored",
                    min_value=coverage or 0,
                    strict_min=not coverage,  # without a floor: at least something
                    max_value=1,
                    row_condition=applicable,
                ),
            ),
            (
                "target",
                verdict_expectation()(
                    column="level",
                    min_value=LEVELS[Level.OK],
                    max_value=LEVELS[Level.JUDGE_CHANGED],
                    row_condition=rows,
                ),
            ),
        ):
            expectation.meta = {"metric": series.metric, "source": series.source, "purpose": purpose}
            expectations.append(expectation)
    # Handed over at once: adding them one by one asks for an active data context.
    return gx.ExpectationSuite(name=monitor.monitor, expectations=expectations)


@cache
def verdict_expectation() -> "type[ExpectColumnMaxToBeBetween]":
    """The class ExpectVerdictToHold: the stored verdict is neither fail nor no_data; no rows, no pass.

    Made on first use because its base class comes from great_expectations. A plain subclass is the
    documented way to custom expectations, and one that survives updates of the package.
    """
    from great_expectations.expectations.core.expect_column_max_to_be_between import (  # noqa: PLC0415 - slow
        ExpectColumnMaxToBeBetween,
    )

    class ExpectVerdictToHold(ExpectColumnMaxToBeBetween):
        """The level of the stored verdict stays below FAIL."""

    return ExpectVerdictToHold


def check(
    rows: Sequence[ScoreRow],
    verdicts: Sequence[Verdict],
    monitor: Monitor,
    planned: Mapping[tuple[str, str], int],
) -> list[ExpectationResult]:
    """Run the monitor's suite on the scores of one night.

    Args:
        rows: Tonight's score rows.
        verdicts: Tonight's stored verdicts; the worst slice of a series speaks for it.
        monitor: Targets.
        planned: Cases planned for each (metric, source), those not applicable included. A series that is
            missing here was planned with nothing, and fails completeness.

    Returns:
        Results in the order of the suite. `success` is None, with `exception`, when an expectation could not
        run: that is a broken check, not a drop.
    """
    worst = _worst(verdicts)
    only = [series for series in targeted(monitor) if _asked(series, rows, worst, monitor)]
    if not only:
        return []
    codes = {series: code for code, series in enumerate(targeted(monitor))}
    parameters = {f"planned_{codes[series]}": max(1, planned.get(series, 0)) for series in only}
    frame = score_frame(rows, verdicts, monitor)
    results = run_suite(build_suite(monitor, only), frame, parameters)
    return [
        result.model_copy(update={"detail": _rule(result, worst)})
        if result.purpose == "target" and result.exception is None
        else result
        for result in results
    ]


def _rule(result: ExpectationResult, worst: Mapping[tuple[str, Source], Verdict]) -> str:
    """What the verdict says. It joins here, after GX: rules name intents, which are text from outside."""
    verdict = next((v for key, v in worst.items() if key == (result.metric, result.source)), None)
    return "no verdict" if verdict is None else verdict.rule


def _worst(verdicts: Sequence[Verdict]) -> dict[tuple[str, Source], Verdict]:
    """The worst verdict of each series; the first of equals, which is that of all cases."""
    worst: dict[tuple[str, Source], Verdict] = {}
    for verdict in verdicts:
        key = Series(verdict.metric, verdict.source)
        if key not in worst or LEVELS[verdict.level] > LEVELS[worst[key].level]:
            worst[key] = verdict
    return worst


def _asked(
    series: Series, rows: Sequence[ScoreRow], worst: Mapping[tuple[str, Source], Verdict], monitor: Monitor
) -> bool:
    """Whether a series is checked tonight.

    A target that names no source may be met on one source alone: then the other, without a verdict and
    without a row the metric applies to, is not missing.
    """
    if series in worst:
        return True
    target = monitor.target_for(series.metric, series.source)
    if target is not None and target.source is not None:
        return True
    applies = any(
        row.metric == series.metric
        and row.source == series.source
        and row.status != ScoreStatus.NOT_APPLICABLE
        for row in rows
    )
    return applies or not any(Series(series.metric, other) in worst for other in SOURCES)


def score_frame(rows: Sequence[ScoreRow], verdicts: Sequence[Verdict], monitor: Monitor) -> "pd.DataFrame":
    """The frame GX sees, numbers only: see the columns in this module's docstring."""
    import pandas as pd  # noqa: PLC0415 - 0.5 s

    codes = {series: code for code, series in enumerate(targeted(monitor))}
    worst = _worst(verdicts)
    table = []
    for row in rows:
        series = Series(row.metric, cast("Source", row.source))
        if series not in codes:
            continue
        graded = row.status == ScoreStatus.OK and row.value is not None
        verdict = worst.get(series)
        table.append(
            (
                codes[series],
                row.status != ScoreStatus.NOT_APPLICABLE,
                row.value if graded else math.nan,
                1.0 if outcome(row) == ScoreStatus.OK else math.nan,
                LEVELS[Level.NO_DATA if verdict is None else verdict.level],
            )
        )
    return pd.DataFrame(table, columns=list(COLUMNS)).astype("float64")


def run_suite(
    suite: "gx.ExpectationSuite", frame: "pd.DataFrame", parameters: Mapping[str, int]
) -> list[ExpectationResult]:
    """Validate a frame in an ephemeral context: nothing is written, nothing is sent, nothing is printed."""
    import great_expectations as gx  # noqa: PLC0415 - 3 to 12 s
    from great_expectations.data_context.types.base import ProgressBarsConfig  # noqa: PLC0415 - the same

    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(enable=False)
    context.variables.progress_bars = ProgressBarsConfig(globally=False, metric_calculations=False)
    asset = context.data_sources.add_pandas("scores").add_dataframe_asset("tonight")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
    found = batch.validate(suite, result_format="BASIC", expectation_parameters=dict(parameters))
    # GX returns results grouped by the metrics it computed; people read them in the order of the suite.
    order = [(expectation.expectation_type, expectation.meta) for expectation in suite.expectations]
    pairs = [(result.expectation_config, result) for result in found.results]
    ran = [(config, result) for config, result in pairs if config is not None]
    ran.sort(key=lambda pair: order.index((pair[0].type, pair[0].meta)))
    return [_result(config, result) for config, result in ran]


def _result(config: Any, result: "ExpectationValidationResult") -> ExpectationResult:
    """One result as stored; an exception is read before `success` is believed."""
    exception = _exception(result.exception_info)
    observed = result.result.get("observed_value") if exception is None else None
    number = float(observed) if isinstance(observed, Real) else None
    finite = number is not None and math.isfinite(number)
    limits = {key: config.kwargs.get(key) for key in ("min_value", "max_value")}
    return ExpectationResult(
        expectation=config.type,
        metric=config.meta["metric"],
        source=config.meta["source"],
        purpose=config.meta["purpose"],
        success=None if exception is not None else bool(result.success),
        observed=number if finite else None,
        detail=f"observed {'nothing' if number is None else f'{number:g}'}, "
        f"expected {limits['min_value']} to {limits['max_value']}",
        exception=exception,
    )


def _exception(info: Mapping[str, Any] | None) -> str | None:
    """The first exception message: GX gives one record, or one for each metric it could not compute."""
    if not info:
        return None
    records = [info] if "raised_exception" in info else list(info.values())
    for record in records:
        if record.get("raised_exception"):
            return str(record.get("exception_message") or "the expectation raised without a message")
    return None
