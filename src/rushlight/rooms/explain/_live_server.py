"""The server of the live page: on this machine's own address alone, below a token that only the
page's address has. A request without the token, or for a host of another name, gets a 404; the
port may be another, of a tunnel to this machine.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from .._base.browser import not_in_browser
from . import _watch
from ._live import Live

__all__ = ["Server"]

_PAUSE, _SHARE = 0.4, 20
"""Seconds between two answers to a page at least, and in times of what an answer takes."""
_PATIENCE = 20.0
"""Seconds after which a page is answered that there is nothing new."""
_LAST = 3.0
"""Seconds in which the pages that look get the last state."""


class Server(ThreadingHTTPServer):
    """Serves a `Live` on a thread."""

    daemon_threads = True

    def __init__(self, live: Live) -> None:
        not_in_browser("a server of live pages", "write a page with rushlight.explain.page().")
        super().__init__(("127.0.0.1", 0), _Handler)
        self.live = live
        self.token = secrets.token_urlsafe(16)
        self.address = f"http://127.0.0.1:{self.server_port}/{self.token}/"
        self.tabs: dict[str, float] = {}  # when each page that has not the end last asked
        self.took = 0.0  # seconds, by the last answer
        name = "rushlight watch"
        threading.Thread(target=self.serve_forever, args=(0.25,), name=name, daemon=True).start()

    def service_actions(self) -> None:
        """Called every while by `serve_forever`."""
        try:
            with _watch._lock:
                self.live.write_sometimes()
        except OSError as error:
            self.live.seen._trouble.add(f"{self.live.name} was not written: {error.strerror}")

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that goes away is no error."""

    def finish(self) -> None:
        """Wait until the pages that look have the end, then close."""
        until = time.monotonic() + _LAST
        while time.monotonic() < until and any(
            time.monotonic() - at < _LAST for at in list(self.tabs.values())
        ):
            time.sleep(0.02)
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = 30
    done = ""  # the page that gets the end with this answer

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        _, token, name = (*asked.path.split("/", 2), "", "")[:3]
        allowed = hmac.compare_digest(token.encode(), self.server.token.encode())
        host = str(self.headers.get("Host")).rpartition(":")[0]
        known = {"": self._page, "data": self._data, "graph": self._graph, "more": self._more}
        kind = "application/json" if name else "text/html"
        try:
            if not allowed or host not in ("127.0.0.1", "localhost"):
                raise LookupError
            self._send(200, kind, known[name](dict(parse_qsl(asked.query))))
        except (LookupError, ValueError):
            self._send(404, "text/plain", "There is no such page.\n")
        self.server.tabs.pop(self.done, None)

    def _page(self, query: dict[str, str]) -> str:
        with _watch._lock:
            return self.server.live.html(True)

    def _data(self, query: dict[str, str]) -> str:
        """The state, as soon as there is a newer state than the page's."""
        server, live = self.server, self.server.live
        tab, after = query["tab"], json.loads(query["after"])
        now = time.monotonic()
        begin, until = now + max(_PAUSE, _SHARE * server.took), now + _PATIENCE
        while not live.ended and (now < begin or (live.version == after and now < until)):
            server.tabs[tab] = now
            time.sleep(0.05)
            now = time.monotonic()
        with _watch._lock:
            began, ended = time.monotonic(), live.ended
            given = {"run": live.state(), **({"graphs": live.graphs} if ended else {})}
            server.took = time.monotonic() - began
        self.done = tab if ended else ""
        return json.dumps(given)

    def _graph(self, query: dict[str, str]) -> str:
        return self.server.live.graphs[int(query["number"])]

    def _more(self, query: dict[str, str]) -> str:
        self.server.live.asked = True
        return "true"

    def _send(self, code: int, kind: str, text: str) -> None:
        data = text.encode("utf-8", "replace")
        with suppress(OSError):  # nobody waits any more
            self.send_response(code)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: standard error is the program's."""
