"""The documentation's site, served on this machine, and a Chromium to read it in.

Skipped without mkdocs (`make docs` has it), without the wheel for Pyodide (`make wasm`), and as
tests/explain/browser.py says without Chromium.
"""

import functools
import http.server
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "explain"), str(ROOT / "tools")]
import wasm  # noqa: E402
from browser import launched  # noqa: E402

# Complaints of the browser about the page's policy come as errors of the console, and as these.
VIOLATIONS = """
  addEventListener("securitypolicyviolation", event =>
    console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files of a folder; isolated, the page may share memory with its worker."""

    isolated = False

    def end_headers(self):
        if self.isolated:
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def log_message(self, *args):
        pass


class Isolated(Quiet):
    isolated = True


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site."""
    pytest.importorskip("mkdocs")
    if not any((wasm.BUILD / "dist").glob("*.whl")):
        give_up = pytest.fail if os.environ.get("RUSHLIGHT_WHEEL") == "required" else pytest.skip
        give_up("no wheel for Pyodide: make wasm")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="session")
def address(site):
    """`address(isolated)`: where the site is served."""
    servers = {}
    for isolated, handler in ((False, Quiet), (True, Isolated)):
        serving = functools.partial(handler, directory=str(site))
        servers[isolated] = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serving)
        threading.Thread(target=servers[isolated].serve_forever, daemon=True).start()
    yield lambda isolated=False: "http://127.0.0.1:{1}/".format(*servers[isolated].server_address)
    for server in servers.values():
        server.shutdown()


@pytest.fixture(scope="module")
def chromium():
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def opening(chromium, address):
    """`opening(path, isolated=False, **context)` opens a page of the site. In `complaints`: that
    a page wrote an error, raised, broke its policy, or asked for anything from elsewhere."""
    complaints, contexts = [], []

    def complain(message):
        if message.type == "error":
            complaints.append(message.text)

    def requested(request):
        if not request.url.startswith((address(), address(True), "blob:", "data:", "file:")):
            complaints.append(f"asked for {request.url}")

    def opened(path, isolated=False, **more):
        contexts.append(chromium.new_context(**more))
        tab = contexts[-1].new_page()
        tab.set_default_timeout(300_000)  # however busy the machine is
        tab.add_init_script(VIOLATIONS)
        tab.on("console", complain)
        tab.on("pageerror", lambda error: complaints.append(f"raised: {error}"))
        tab.on("request", requested)
        tab.goto(address(isolated) + path)
        return tab

    opened.complaints = complaints
    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def page(opening):
    """`opening`, for pages of a test's own; the test fails where a page did wrong."""
    yield opening
    complaints, opening.complaints[:] = list(opening.complaints), []
    assert not complaints, "\n".join(complaints)
