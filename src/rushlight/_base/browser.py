"""The lack of processes and threads in a browser, where Python is WebAssembly."""

from __future__ import annotations

import sys

__all__ = ["IN_BROWSER", "not_in_browser"]

IN_BROWSER = sys.platform == "emscripten"


def not_in_browser(what: str, instead: str) -> None:
    """RuntimeError, in a browser, for a call that starts processes or threads, or opens sockets."""
    if IN_BROWSER:
        raise RuntimeError(
            f"{what} cannot be had in a browser, which has one thread and no processes: {instead}"
        )
