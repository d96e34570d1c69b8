"""The site's pages as a reader meets them, timed in Chromium: `make docs`, then

    python benchmarks/site.py [ROUNDS]

Each of ROUNDS (3) is a browser with an empty profile, and a time is the best of all. Prints a
table, and keeps a whole run as benchmarks/results/site-DATE.json. Wants Playwright and Chromium.

Memory is counted twice: what the page and its workers hold by the browser's own account, and how
much the page's process grows from before the first Run (pages that are shared count in part).
Processor time says what a first Run costs where a busy machine makes readers wait longer.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any

from compare import machine
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "explain"))
from browser import FLAGS, chromium  # noqa: E402

LESSON = "tutorial/2-graph.html"
TREE = 2  # the place among the page's programs of one that runs two others first and prints a tree
# From the click to the first letters below the program, in milliseconds.
PRESS = """([number]) => new Promise(resolve => {
  const button = document.querySelectorAll(".run")[number].querySelector("button");
  const place = document.querySelectorAll(".run-output")[number];
  place.replaceChildren();
  const began = performance.now();
  new MutationObserver(() => place.textContent && resolve(performance.now() - began))
    .observe(place, { childList: true, subtree: true, characterData: true });
  button.click();
})"""
IDLE = "() => !document.querySelector('.run [aria-disabled]')"
HELD = "performance.measureUserAgentSpecificMemory().then(held => held.bytes)"


class Isolated(http.server.SimpleHTTPRequestHandler):
    """Hands out the site with the two headers without which memory cannot be measured."""

    def end_headers(self) -> None:
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def log_message(self, *args: Any) -> None:
        pass


def serve() -> str:
    """The address of build/site."""
    handler = functools.partial(Isolated, directory=str(ROOT / "build" / "site"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:{1}/".format(*server.server_address)


def spent(browser: Browser) -> tuple[float, float]:
    """Seconds of processor time, and megabytes, of the processes of pages."""
    told = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    seconds = megabytes = 0.0
    for process in (Path(f"/proc/{one['id']}") for one in told if one["type"] == "renderer"):
        ticks = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
        seconds += sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
        rollup = (process / "smaps_rollup").read_text()
        megabytes += int(re.findall(r"^Pss: +(\d+) kB", rollup, re.M)[0]) * 1024 / 1e6
    return seconds, megabytes


def pressed(page: Page, number: int) -> float:
    """Seconds from Run to the first output of a program; returns when all is done."""
    took = page.evaluate(PRESS, [number]) / 1e3
    page.wait_for_function(IDLE)
    return took


def lesson(browser: Browser, address: str) -> dict[str, float]:
    """A reader's first minute."""
    page = browser.new_page()
    page.set_default_timeout(300_000)
    page.goto(address + LESSON)
    page.wait_for_selector(".run")
    before = spent(browser)
    found = {"first Run to first output, s": pressed(page, TREE)}
    found["its processor time, s"] = spent(browser)[0] - before[0]
    found["second Run, s"] = pressed(page, TREE)
    found["memory of page and workers, MB"] = page.evaluate(HELD) / 1e6
    found["growth of the process, MB"] = spent(browser)[1] - before[1]
    page.close()
    return found


def spiral(browser: Browser, address: str) -> dict[str, float]:
    """The playground's example of 200 steps, with its curves and pictures, once Python is there."""
    page = browser.new_page()
    page.set_default_timeout(300_000)
    page.goto(address + "playground.html#example=spiral")
    status = page.locator("[data-play=status]")
    said = []
    for _ in range(3):
        page.locator("[data-play=run]:enabled").click()
        page.wait_for_selector('[data-play=status]:text-matches("^Ran to its end")')
        said.append(float(re.findall(r"in ([\d.]+) s", status.inner_text())[0]))
        page.wait_for_selector("[data-play=run]:enabled")
    page.close()
    return {"spiral in the playground, s": min(said[1:])}


def main(rounds: int) -> None:
    address, best, loads = serve(), {}, []
    with sync_playwright() as playwright:
        for _ in range(rounds):
            for part in (lesson, spiral):
                loads.append(os.getloadavg()[0])
                browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
                for name, value in part(browser, address).items():
                    best[name] = min(value, best.get(name, value))
                version = browser.version
                browser.close()
    for name, value in best.items():
        print(f"{name:36}{value:10.2f}")
    print(f"load {min(loads):.1f} to {max(loads):.1f}; Chromium {version}")
    day = time.strftime("%Y-%m-%d")
    found = {"date": day, "machine": machine(), "chromium": version, "rounds": rounds}
    found |= {"load": [min(loads), max(loads)], "best": best}
    kept = ROOT / "benchmarks" / "results" / f"site-{day}.json"
    kept.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 3)
