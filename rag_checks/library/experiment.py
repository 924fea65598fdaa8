"""What an evaluation found: scores by item, and what people do with them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from rag_checks.errors import ConfigError
from rag_checks.library import exports, storing
from rag_checks.library.comparison import Comparison, compare
from rag_checks.library.storing import StoreLike
from rag_checks.library.summary import MetricSummary, Summary
from rag_checks.records import GradedCase, JudgeIdentity, Score, ScoreStatus, score_rows
from rag_checks.verdicts.estimates import estimate

if TYPE_CHECKING:
    import pandas as pd

PathLikeStr = str | PathLike[str]


@dataclass(frozen=True, repr=False)
class Experiment:
    """Items with their answers and scores, in the order of the data. Texts are masked (personal data).

    Attributes:
        name: as given to `evaluate`; the newest of a name is what `load` finds.
        eval_run_id: unique; what `save` stores it under.
        metrics: name → version, in the order they are shown.
        graded: each item with its answer and one score a metric.
        created_at: when it was begun.
        problem: why the judge did not get through, None when it did.
    """

    name: str
    eval_run_id: str
    metrics: Mapping[str, str]
    graded: tuple[GradedCase, ...]
    created_at: datetime
    problem: str | None = None

    @property
    def scores(self) -> list[Score]:
        """All scores, item by item; `reason` and `evidence` say why."""
        return [score for one in self.graded for score in one.scores]

    @property
    def judge(self) -> JudgeIdentity | None:
        """Who gave most of the judged scores."""
        found = {score.judge.series: score.judge for score in self.scores if score.judge is not None}
        counts = Counter(score.judge.series for score in self.scores if score.judge is not None)
        return found[counts.most_common(1)[0][0]] if counts else None

    def __len__(self) -> int:
        return len(self.graded)

    def summary(self) -> Summary:
        """Mean, interval, counts and coverage of every metric that applies to any item."""
        rows: list[MetricSummary] = []
        silent: dict[str, list[str]] = {}
        cases = {one.case.case_id: one.case for one in self.graded}
        for name in self.metrics:
            scores = [score for score in self.scores if score.metric == name]
            found = estimate(score_rows(cases, scores))
            rows.append(
                MetricSummary(
                    name,
                    found.mean,
                    found.low,
                    found.high,
                    found.n_ok,
                    found.n_failed,
                    found.n_not_applicable,
                    found.n_total,
                    found.coverage,
                )
            )
            if found.n_not_applicable == found.n_total:
                reason = Counter(score.reason for score in scores).most_common(1)[0][0]
                silent.setdefault(reason, []).append(name)
        told = [f"for no item: {', '.join(names)} ({reason})" for reason, names in silent.items()]
        return Summary(tuple(rows), (*told, *self._notes()))

    def _notes(self) -> list[str]:
        """Why scores are missing, most frequent first, and who graded."""
        failed = Counter(
            f"{score.status.value}: {score.evidence.get('error') or score.reason}"
            for score in self.scores
            if score.status not in (ScoreStatus.OK, ScoreStatus.NOT_APPLICABLE)
        )
        notes = [f"{count} × {why}" for why, count in failed.most_common(3)]
        judge = self.judge
        if judge is not None:
            note = " (string features, no model)" if judge.kind == "offline" else ""
            notes.append(f"judge: {judge.returned_model or judge.requested_model}{note}")
        return notes

    def __repr__(self) -> str:
        return f"Experiment {self.name!r}, {len(self)} items\n{self.summary()!r}"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def to_pandas(self) -> "pd.DataFrame":
        """One row an item: its fields, a column a metric (NaN where there is no score), a status a metric.

        Raises ConfigError without pandas.
        """
        return exports.to_pandas(self.graded, list(self.metrics))

    def compare(self, other: "Experiment") -> Comparison:
        """This minus the other, metric by metric, over the items both have.

        Compared are scores of equal metric version and equal judge only; what is left out is counted with the
        reason. Items are the same when id, question, history and what is known to be right are.
        """
        if not isinstance(other, Experiment):
            raise ConfigError(
                f"a {type(other).__name__} is no Experiment; Experiment.load(…) reads a saved one"
            )
        both = [name for name in self.metrics if name in other.metrics]
        return compare(self.graded, other.graded, both, (self.name, other.name))

    def save(self, store: StoreLike = None) -> str:
        """Store it and return its id; again changes nothing.

        Args:
            store: an open Store, its URL or SQLite file; None: RAG_CHECKS_STORE.
        """
        storing.save(
            store,
            eval_run_id=self.eval_run_id,
            name=self.name,
            metrics=dict(self.metrics),
            judge=self.judge,
            graded=self.graded,
            created_at=self.created_at,
            problem=self.problem,
        )
        return self.eval_run_id

    @classmethod
    def load(cls, name_or_id: str, store: StoreLike = None) -> "Experiment":
        """The experiment with that id, or the newest with that name. Raises ConfigError without one."""
        run, graded = storing.load(store, name_or_id)
        order = list(run.metric_versions)
        return cls(
            name=run.monitor.partition(":")[2],
            eval_run_id=run.eval_run_id,
            metrics=run.metric_versions,
            graded=tuple(GradedCase(case=one.case, scores=_in_order(one.scores, order)) for one in graded),
            created_at=run.created_at,
            problem=run.problem,
        )

    def report(self, path: PathLikeStr) -> Path:
        """Write the HTML report: every item with question, passages, answer, reference and claims.

        Raises ConfigError without the `monitor` extra.
        """
        from rag_checks.library.reporting import write_report  # noqa: PLC0415 - jinja2 is not in the light install

        return write_report(self, _place(path))

    def to_csv(self, path: PathLikeStr) -> Path:
        """Write one line an item; what a spreadsheet would take for a formula gets an apostrophe."""
        exports.to_csv(_place(path), self.graded, list(self.metrics))
        return Path(path)

    def to_parquet(self, path: PathLikeStr) -> Path:
        """Write one row an item. Raises ConfigError without pandas and pyarrow."""
        exports.to_parquet(_place(path), self.graded, list(self.metrics))
        return Path(path)

    def to_junit(self, path: PathLikeStr, minimum: Mapping[str, float] | None = None) -> Path:
        """Write JUnit XML for a CI server: one case an item and metric.

        Args:
            path: where.
            minimum: metric → the least value that passes; of other metrics only errors show.
        """
        exports.to_junit(_place(path), self.name, self.graded, list(self.metrics), minimum or {})
        return Path(path)


def _place(path: PathLikeStr) -> Path:
    """The path of a file to write; its folder is made."""
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _in_order(scores: Sequence[Score], names: Sequence[str]) -> tuple[Score, ...]:
    by_name = {score.metric: score for score in scores}
    return tuple(by_name[name] for name in names if name in by_name)
