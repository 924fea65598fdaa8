"""What people open: charts and the HTML report."""

from rag_checks.reports.charts import trend_png, trend_svg
from rag_checks.reports.html import render_html

__all__ = ["render_html", "trend_png", "trend_svg"]
