"""Run the scripts of examples/ with rushlight, one after the other, and print what came of each.

    .venv/bin/python tools/run_examples.py               all of them
    .venv/bin/python tools/run_examples.py vae burgers   some
    .venv/bin/python tools/run_examples.py --torch       the same scripts on PyTorch

What a script prints is shown as it comes. The table at the end gives seconds, the last loss that
was printed, and the picture. The exit code is 1 if a script failed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent.parent / "examples"
# All but ddp_digits, which is of several processes.
NAMES = ["digits", "vae", "burgers", "neural_ode", "sunspots", "cartpole", "char_gpt", "gpt2"]
LOSS = re.compile(r"\bloss[ =]+(-?[\d.]+(?:e[-+]\d+)?)")
PICTURE = re.compile(r"\S+\.png")


class Result(NamedTuple):
    """What came of a script: the table's row."""

    name: str
    seconds: float
    loss: str
    picture: str


def command(name: str, library: str, arguments: list[str]) -> list[str]:
    """The script as a process of its own, on rushlight or on PyTorch."""
    runner = ["-m", "rushlight", "run"] if library == "rushlight" else []
    return [sys.executable, *runner, str(FOLDER / f"{name}.py"), *arguments]


def losses(printed: str) -> list[str]:
    """All losses that a script printed, as it printed them."""
    return LOSS.findall(printed)


def run(name: str, library: str) -> Result:
    """Run a script, passing on what it prints."""
    print(f"== {name}", flush=True)
    start = time.perf_counter()
    process = subprocess.Popen(
        command(name, library, []), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    lines = []
    for line in process.stdout or ():
        print(line, end="", flush=True)
        lines.append(line)
    failed = process.wait() != 0
    seconds = time.perf_counter() - start
    printed = "".join(lines)
    loss = (losses(printed) or ["-"])[-1]
    pictures = PICTURE.findall(printed)
    if failed or not pictures:
        return Result(name, seconds, loss, "failed")
    picture = Path(pictures[-1]).resolve()
    return Result(name, seconds, loss, str(picture.relative_to(FOLDER.parent)))


def table(results: list[Result]) -> str:
    """The results in columns."""
    rows = [("example", "seconds", "last loss", "picture")]
    rows += [(r.name, f"{r.seconds:.1f}", r.loss, r.picture) for r in results]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join(
        f"{name:<{widths[0]}}  {seconds:>{widths[1]}}  {loss:>{widths[2]}}  {picture}"
        for name, seconds, loss, picture in rows
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="which; all by default")
    parser.add_argument("--torch", action="store_true", help="run them on PyTorch")
    args = parser.parse_args()
    library = "torch" if args.torch else "rushlight"
    results = [run(name, library) for name in args.names or NAMES]
    print(f"\n{table(results)}")
    sys.exit(any(result.picture == "failed" for result in results))


if __name__ == "__main__":
    main()
