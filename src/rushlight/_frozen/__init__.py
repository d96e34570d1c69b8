"""For PyInstaller: where the hook is that tells it what `import rushlight` does not show."""

from __future__ import annotations

import os


def folders() -> list[str]:
    """The folder of the hook, for the entry point `pyinstaller40`."""
    return [os.path.dirname(__file__)]
