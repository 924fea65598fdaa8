"""Experiments in the store: runs of kind `file`, apart from every monitor's history."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rag_checks import __version__
from rag_checks.errors import ConfigError
from rag_checks.records import EvalRun, GradedCase, JudgeIdentity
from rag_checks.settings import Settings

# SQLAlchemy is slow to import, and grading offline needs none.
if TYPE_CHECKING:
    from rag_checks.store import Store

StoreLike: TypeAlias = "Store | str | Path | None"


@contextmanager
def opened_store(given: StoreLike, *, needed: bool = True) -> "Iterator[Store | None]":
    """A store from what names one: itself, a URL, a SQLite file; None: RAG_CHECKS_STORE's, if needed.

    One that was open stays open.
    """
    if given is None and not needed:
        yield None
        return
    from rag_checks.store import Store  # noqa: PLC0415 - see above

    if isinstance(given, Store):
        yield given
        return
    if given is None:
        url = Settings.from_env().store_url
    else:
        url = given if isinstance(given, str) and "://" in given else f"sqlite:///{Path(given).absolute()}"
    with Store.open(url) as store:
        yield store


def save(
    given: StoreLike,
    *,
    eval_run_id: str,
    name: str,
    metrics: dict[str, str],
    judge: JudgeIdentity | None,
    graded: Sequence[GradedCase],
    created_at: datetime,
    problem: str | None,
) -> None:
    """Store an experiment by its id; a second time changes nothing. Raises as `Store.open`."""
    run = EvalRun(
        eval_run_id=eval_run_id,
        monitor=monitor_of(name),
        kind="file",
        night=created_at.date(),
        window_start=created_at,
        window_end=created_at,
        judge=judge,
        metric_versions=metrics,
        code_version=__version__,
        status="evaluated",
        counts={"planned": len(graded)},
        problem=problem,
        created_at=created_at,
        finished_at=datetime.now(UTC),
    )
    with opened_store(given) as store:
        if store is not None:
            store.save_run(run)
            store.plan_cases(eval_run_id, [one.case for one in graded])
            store.save_scores([score for one in graded for score in one.scores])


def load(given: StoreLike, name_or_id: str) -> tuple[EvalRun, tuple[GradedCase, ...]]:
    """The experiment of that id, or the newest of that name. Raises ConfigError when there is none."""
    with opened_store(given) as store:
        if store is None:
            raise ConfigError("no store", key="store")
        run = store.run(name_or_id)
        if run is None:
            newest = store.runs(monitor_of(name_or_id), until=date.max, limit=1)
            run = newest[0] if newest else None
        if run is None or run.kind != "file":
            known = [name.partition(":")[2] for name in store.monitors() if name.startswith(monitor_of(""))]
            hint = f"saved are {', '.join(known)}" if known else "none is saved there"
            raise ConfigError(f"no experiment {name_or_id!r} in the store; {hint}")
        return run, tuple(store.graded(run.eval_run_id))


def monitor_of(name: str) -> str:
    """What stands for the monitor in the run of an experiment: the colon is in no monitor's name."""
    return f"experiment:{name}"
