"""Runs the command given, and says how far the compilation is: in a terminal each second on one
line, elsewhere a line each half minute.

`python tools/building.py pip install .`: pip shows nothing of what CMake and Ninja do.
"""

import re
import subprocess
import sys
import time
from pathlib import Path


def compiled(since: float) -> tuple[int, int]:
    """How many files were compiled since then, and how many there are, in the newest folder."""
    plans = sorted(Path("build").glob("**/build.ninja"), key=lambda p: p.stat().st_mtime)
    if not plans:
        return 0, 0
    objects = re.findall(r"^build (\S+\.o):", plans[-1].read_text(encoding="utf-8"), re.M)
    made = [plans[-1].parent / name for name in objects]
    return sum(m.exists() and m.stat().st_mtime > since for m in made), len(made)


def main() -> int:
    begin = time.time()
    running = subprocess.Popen(sys.argv[1:])
    shown = sys.stdout.isatty()
    before, after = ("\r", "  ") if shown else ("", "\n")
    while True:
        try:
            code = running.wait(1 if shown else 30)
        except subprocess.TimeoutExpired:
            done, all_of_them = compiled(begin)
            files = f"{done} of {all_of_them} files compiled, " if all_of_them else ""
            if 0 < done == all_of_them:
                files = "linking, "
            print(f"{before}  {files}{time.time() - begin:.0f} s", end=after, flush=True)
        else:
            print(end="\n" if shown else "")
            return code


if __name__ == "__main__":
    raise SystemExit(main())
