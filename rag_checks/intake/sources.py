"""Where conversations lie: local files, named by path or glob."""

import glob
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from rag_checks.errors import SourceError, SourceUnavailable

# Clocks of the machines that write logs and of this one may differ by this much.
CLOCK_SKEW = timedelta(minutes=5)
# Reproducible archives set times like 1970-01-01 or 1980-01-01, which say nothing about the content.
_PLACEHOLDER_UNTIL = datetime(1981, 1, 1, tzinfo=UTC)


class Found(NamedTuple):
    """Files to read in order of their paths, and how many were too old to be read."""

    paths: list[Path]
    too_old: int


def find_files(patterns: str | list[str], directory: Path, *, since: datetime) -> Found:
    """Files behind the patterns, each once.

    A turn of the window may lie in any file: rotation and late writers see to that. Only a file last written
    before `since` (less five minutes of clock difference) is left out: it was complete before the window.

    Args:
        patterns: paths or globs (`**` for any depth), relative to `directory`; `~` is the home folder.
        directory: folder of the monitor file.
        since: start of the window, aware.

    Raises:
        SourceError: a pattern matches nothing; the message names it and the folder.
        SourceUnavailable: a file vanished while it was looked at.
    """
    paths: set[Path] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        full = directory / Path(pattern).expanduser()
        # A name that exists is meant as it is, brackets and all.
        names = [str(full)] if full.is_file() else glob.glob(str(full), recursive=True)  # noqa: PTH207 - patterns may be absolute
        files = [Path(name) for name in names if Path(name).is_file()]
        if not files:
            raise SourceError(
                f"conversations.path: no file matches {pattern!r} in {directory.resolve()}; "
                "paths start at the monitor file's folder"
            )
        paths.update(Path(os.path.abspath(file)) for file in files)  # noqa: PTH100 - resolve() would follow links
    recent = [path for path in sorted(paths) if _may_hold(path, since)]
    return Found(recent, len(paths) - len(recent))


def _may_hold(path: Path, since: datetime) -> bool:
    try:
        written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except FileNotFoundError as error:
        raise SourceUnavailable(f"{path.name}: vanished while the files were listed") from error
    return written + CLOCK_SKEW >= since or written < _PLACEHOLDER_UNTIL


def short_name(path: Path, directory: Path) -> str:
    """A path as people know it: relative to the monitor's folder, or the bare name."""
    folder = Path(os.path.abspath(directory))  # noqa: PTH100 - as in find_files
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name
