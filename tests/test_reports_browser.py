"""The report in a real browser: injected markup stays text, and a phone never scrolls the page sideways."""

import functools
import html
import http.server
import re
import shutil
import subprocess
import threading

import pytest
from report_fixtures import HOSTILE, hostile_case, night, trend

from rag_checks.reports import render_html

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    "--hide-scrollbars",
)
# A wrapper page may measure what the report itself, which runs no script, cannot.
WRAPPER = """<!doctype html><iframe src="report.html" style="width:{width}px;height:800px;border:0"></iframe>
<script>addEventListener("load", () => {{
  const inner = document.querySelector("iframe").contentDocument;
  inner.querySelectorAll("details").forEach((one) => {{ one.open = true; }});
  const wide = [...inner.querySelectorAll("body *")].filter((one) =>
    !one.closest(".scroll") && one.getBoundingClientRect().right > {width} + 1);
  document.title = JSON.stringify({{page: inner.documentElement.scrollWidth,
    wide: wide.map((one) => one.tagName + "." + one.className).slice(0, 5),
    images: [...inner.images].map((one) => one.naturalWidth > 0)}});
}});</script>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder served on the loopback interface."""
    folder = tmp_path_factory.mktemp("site")
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *arguments):
        """Say nothing."""


def dump_dom(url, profile):
    """The page as the browser understood it."""
    command = [
        CHROMIUM,
        *FLAGS,
        f"--user-data-dir={profile}",
        "--virtual-time-budget=3000",
        "--dump-dom",
        url,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def test_injected_markup_stays_text_in_a_browser(site, tmp_path):
    """The browser built no script and no image of the attacker's, and shows the markup as it was typed."""
    folder, address = site
    summary, cases = night("en")
    told = summary.model_copy(update={"title": HOSTILE, "owner": HOSTILE})
    (folder / "report.html").write_text(render_html(told, [*cases, hostile_case()]), encoding="utf-8")
    dom = dump_dom(f"{address}/report.html", tmp_path)
    assert not re.search(r"<script|<img src=\"?x|\bonerror=\"", dom)
    assert dom.count("<img") == 2
    question = re.findall(r'<span class="q">(.*?)</span>', dom, flags=re.DOTALL)
    assert HOSTILE in map(html.unescape, question)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_page_fits_a_phone(site, tmp_path, language):
    """At 390 pixels only tables scroll, inside their box; every chart is drawn; long words wrap."""
    folder, address = site
    summary, cases = night(language)
    long = hostile_case()
    item = long.case.item.model_copy(update={"user_input": "没有空格的长问题" * 60, "reference": "x" * 900})
    long = long.model_copy(update={"case": long.case.model_copy(update={"item": item})})
    told = summary.model_copy(update={"trends": (*summary.trends, trend([0.9], metric="answer_relevancy"))})
    (folder / "report.html").write_text(render_html(told, [*cases, long]), encoding="utf-8")
    (folder / "wrapper.html").write_text(WRAPPER.format(width=390), encoding="utf-8")
    dom = dump_dom(f"{address}/wrapper.html", tmp_path)
    found = html.unescape(re.search(r"<title>(.*?)</title>", dom).group(1))
    assert found == '{"page":390,"wide":[],"images":[true,true]}'
