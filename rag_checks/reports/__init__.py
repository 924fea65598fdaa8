"""What people open: the HTML report, and the trend picture that goes with the message."""

from rag_checks.reports.charts import trend_svg
from rag_checks.reports.html import render_html
from rag_checks.reports.picture import trend_png

__all__ = ["render_html", "trend_png", "trend_svg"]
