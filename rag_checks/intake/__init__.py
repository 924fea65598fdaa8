"""How conversations come in: sources, formats, windows, sampling, masking."""

from rag_checks.intake.collector import Collected, collect
from rag_checks.intake.window import Window, night_window, resolve_night

__all__ = ["Collected", "Window", "collect", "night_window", "resolve_night"]
