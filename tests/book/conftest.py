"""The smoke book, built from scratch, and a browser that cannot reach anything but it."""

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from filelock import FileLock
from playwright.sync_api import Browser, Page, sync_playwright

import paper

ROOT = Path(paper.__file__).resolve().parent
PAGES = "_build/html"
NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
# What a change of size, theme or place asks for is asked two frames after it.
ASKED = """async () => {
    await window.MathJax?.startup?.promise;
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
# A chart that is near is done when it is live, or has said that it cannot be drawn (which the tests then see).
DRAWN = "() => !document.querySelector('.vl-chart.is-waiting')"


def page_with(browser: Browser, *scripts: Path) -> Iterator[Page]:
    """An empty page with some scripts in it: what a fixture yields from."""
    page = browser.new_page()
    for script in scripts:
        page.add_script_tag(path=script)
    yield page
    page.close()


def toc_files(entry: object) -> list[str]:
    """The pages a table of contents names, in its order, without their endings."""
    if isinstance(entry, list):
        return [name for part in entry for name in toc_files(part)]
    if not isinstance(entry, dict):
        return []
    own = [entry[key] for key in ("root", "file") if key in entry]
    return own + [name for value in entry.values() for name in toc_files(value)]


BOOK_PAGES = toc_files(yaml.safe_load((ROOT / "_toc.yml").read_text()))


@dataclass
class Opened:
    """A page in the browser and everything it asked for and complained of since it was opened."""

    page: Page
    requests: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, url: str) -> None:
        """Listen, open a page, wait until its formulas are set and the charts in sight live."""
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.failures.append(request.url))
        self.page.on("response", lambda answer: answer.ok or self.failures.append(f"{answer.status} {answer.url}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self.listen)
        self.page.goto(url)
        # Colours that fade into each other would be measured half way.
        self.page.add_style_tag(content="*, ::before, ::after { transition: none !important }")
        self.settle()

    def listen(self, message) -> None:
        """Note a console message that says something is wrong."""
        # A chart of nothing is no fault: few seeds trained briefly may give a figure no rows.
        if message.type in ("error", "warning") and "WARN Infinite extent" not in message.text:
            self.complaints.append(f"{message.type}: {message.text}")

    def settle(self) -> None:
        """Wait until nothing of the page is still being drawn."""
        self.page.evaluate(ASKED)
        self.page.wait_for_function(DRAWN)  # which would take any promise for a yes

    def draw_all(self) -> list[str]:
        """Draw the charts that are not near, too; those that then take other room, by more than fonts differ."""
        heights = "all => all.map(chart => chart.getBoundingClientRect().height)"
        charts = self.page.locator(".vl-chart")
        before = charts.evaluate_all(heights)
        charts.evaluate_all("all => all.forEach(chart => window.paperDraw(chart))")
        self.settle()
        room = zip(before, charts.evaluate_all(heights), strict=True)
        return [f"chart {n}: {was} to {now}" for n, (was, now) in enumerate(room, 1) if abs(was - now) > 0.02 * was]

    def look(self, width: int = 1280, theme: str = "light", medium: str = "screen") -> Page:
        """The page at a width, in a theme (as the operating system would ask for it) and a medium; charts if near."""
        self.page.set_viewport_size({"width": width, "height": 900})
        has_theme = "theme => document.documentElement.dataset.theme === theme"
        self.page.emulate_media(color_scheme=theme, media="screen")
        self.page.wait_for_function(has_theme, arg=theme)
        self.page.emulate_media(color_scheme=theme, media=medium)
        self.page.wait_for_function(has_theme, arg="light" if medium == "print" else theme)
        self.settle()
        return self.page


def opened_alone(browser: Browser, address: str) -> Iterator[Opened]:
    """A page opened anew, for a fixture to yield from: it asks nothing of the network, and its console stays silent."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    opened = Opened(context.new_page())
    opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.page.on("console", opened.listen)
    opened.page.on("request", lambda request: opened.requests.append(request.url))
    opened.page.goto(address)
    yield opened
    assert opened.complaints == []
    assert all(url.startswith(("file:", "data:")) for url in opened.requests)
    context.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory, worker_id) -> Path:
    """The folder of the smoke book's pages, built once for all workers."""
    if worker_id == "master":
        return build_site(tmp_path_factory.mktemp("book"))
    folder = tmp_path_factory.getbasetemp().parent / "book"
    with FileLock(f"{folder}.lock"):  # whoever comes second waits, and finds it built, or that it cannot be built
        if not folder.exists():
            folder.mkdir()
            build_site(folder)
    pages = folder / PAGES
    if not pages.is_dir():
        pytest.fail("the smoke book was not built; another worker's first failure says why", pytrace=False)
    return pages


def build_site(folder: Path) -> Path:
    """Build the smoke book in ``folder``: every run is trained anew, in a store of its own. Returns its pages."""
    command = [sys.executable, "-m", "livingpaper.book.build", "--tier", "smoke"]
    command += ["--out", str(folder / "_build"), "--executed", str(folder / "executed")]
    environment = {**os.environ, "CIRCUITCORE_RUNS": str(folder / "runs")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"the smoke book was not built\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}", pytrace=False)
    return folder / PAGES


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, Chrome or Edge without network; its absence is a failure in CI and a skip elsewhere."""
    path = paper.find_browser()
    if path is None:
        give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        give_up("no Chromium, Chrome or Edge was found; set CHROMIUM to its path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", NO_NETWORK])
        yield browser
        browser.close()


class _QuietHandler(SimpleHTTPRequestHandler):
    """Serves files and writes no log."""

    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="session")
def addresses(site) -> Iterator[dict[str, str]]:
    """Where the book can be read: ``file`` (a double-click) and ``http`` (a web server on this machine)."""
    handler = functools.partial(_QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"file": site.as_uri(), "http": f"http://127.0.0.1:{server.server_port}"}
        server.shutdown()


@pytest.fixture(scope="module")
def opened(request, browser, addresses) -> Iterator[Opened]:
    """One page of the book, opened once for all tests that look at it; the parameter is "file PAGE" or "http PAGE"."""
    protocol, name = request.param.split()
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    context.set_default_timeout(120_000)  # a busy machine, not a broken page
    opened = Opened(context.new_page())
    opened.open(f"{addresses[protocol]}/{name}.html")
    yield opened
    context.close()
