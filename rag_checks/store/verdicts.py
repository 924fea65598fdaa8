"""What was decided about a run over the nights: verdicts by monitor."""

from datetime import date

from sqlalchemy import Connection, select

from rag_checks.records import Verdict
from rag_checks.store.tables import runs, verdicts


def history(connection: Connection, monitor: str, until: date) -> list[tuple[date, Verdict]]:
    """Verdicts of a monitor's nightly runs up to a night, oldest night first, of one run as saved."""
    fields = [verdicts.c[name] for name in Verdict.model_fields]
    query = (
        select(runs.c.night, *fields)
        .join(verdicts, verdicts.c.eval_run_id == runs.c.eval_run_id)
        .where(runs.c.monitor == monitor, runs.c.kind == "nightly", runs.c.night <= until)
        .order_by(runs.c.night, runs.c.created_at, runs.c.eval_run_id, verdicts.c.position)
    )
    return [
        (row["night"], Verdict.model_validate({name: row[name] for name in Verdict.model_fields}))
        for row in connection.execute(query).mappings()
    ]
