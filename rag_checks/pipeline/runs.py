"""What the steps of a night share: the run's name and record, its metrics, its release."""

from collections import Counter
from collections.abc import Iterable
from datetime import date

from rag_checks.errors import StoreError
from rag_checks.monitor import Monitor
from rag_checks.records import Case, EvalRun
from rag_checks.settings import Settings
from rag_checks.store import Store


def nightly_run_id(monitor: str, night: date) -> str:
    """The natural key of a night's run."""
    return f"{monitor}-nightly-{night:%Y-%m-%d}"


def find_run(monitor: Monitor, settings: Settings, night: date | None) -> str:
    """The run of a night, or the latest one. Raises StoreError when there is none."""
    with Store.open(settings.store_url) as store:
        wanted = store.run(nightly_run_id(monitor.monitor, night)) if night is not None else None
        latest = store.runs(monitor.monitor, limit=1)
    if not latest:
        raise StoreError(f"{monitor.monitor} has no runs yet; start with `rag-checks run {monitor.monitor}`")
    if night is None:
        return latest[0].eval_run_id
    if wanted is None:
        raise StoreError(
            f"{monitor.monitor} has no run of the night {night}, the latest is of {latest[0].night};"
            f" start it with `rag-checks run {monitor.monitor} --night {night}`"
        )
    return wanted.eval_run_id


def stored_run(store: Store, eval_run_id: str) -> EvalRun:
    """The run. Raises StoreError when it is not in the store."""
    run = store.run(eval_run_id)
    if run is None:
        raise StoreError(f"no run {eval_run_id!r} in the store; plan it first")
    return run


def main_release(cases: Iterable[Case]) -> str | None:
    """The release most responses came from."""
    found = Counter(case.response.release for case in cases if case.response and case.response.release)
    return found.most_common(1)[0][0] if found else None
