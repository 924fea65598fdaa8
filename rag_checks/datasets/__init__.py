"""Data sets of other tools: read into rows for `evaluate`, written back without loss.

A row is a dict under our field names. What a tool's row says beyond them is kept in `rag_checks_kept`, what a
tool's shape has no place for in its metadata; so a row comes back as it was from any chain of shapes.
"""

from rag_checks.datasets.files import convert, dump, load
from rag_checks.datasets.shapes import SHAPES

__all__ = ["SHAPES", "convert", "dump", "load"]
