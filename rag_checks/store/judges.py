"""Judges, kept once each: a run and its scores refer to them by fingerprint."""

from collections.abc import Iterable

from sqlalchemy import Connection, select

from rag_checks.records import JudgeIdentity
from rag_checks.store.rows import insert_missing
from rag_checks.store.tables import judges


class Fingerprints:
    """Fingerprints of identities, computed once for each object: the scores of a case share theirs."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[JudgeIdentity, str]] = {}

    def of(self, judge: JudgeIdentity | None) -> str | None:
        """The fingerprint; None for no judge."""
        if judge is None:
            return None
        if id(judge) not in self._known:
            self._known[id(judge)] = (judge, judge.fingerprint)  # holding the object keeps its id its own
        return self._known[id(judge)][1]

    def identities(self) -> dict[str, JudgeIdentity]:
        """Every identity asked for, by fingerprint."""
        return {fingerprint: judge for judge, fingerprint in self._known.values()}


def save(connection: Connection, identities: dict[str, JudgeIdentity]) -> None:
    """Store identities that are not stored yet; keys are their fingerprints."""
    rows = [{"fingerprint": key, **dict(identities[key])} for key in sorted(identities)]
    insert_missing(connection, judges, rows)


def load(
    connection: Connection, fingerprints: Iterable[str | None]
) -> dict[str | None, JudgeIdentity | None]:
    """Identities by fingerprint; None leads to None."""
    wanted = {fingerprint for fingerprint in fingerprints if fingerprint is not None}
    found: dict[str | None, JudgeIdentity | None] = {None: None}
    for row in connection.execute(select(judges).where(judges.c.fingerprint.in_(sorted(wanted)))).mappings():
        fields = {name: row[name] for name in JudgeIdentity.model_fields}
        found[row["fingerprint"]] = JudgeIdentity.model_validate(fields)
    return found
