"""Writing files that appear whole or not at all."""

from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that readers see the old content or the new, never half."""
    partial = path.with_name(f".{path.name}.part")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
