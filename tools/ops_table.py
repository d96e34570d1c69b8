"""Write docs/ops.md: the op table as a page, one row a public function.

python tools/ops_table.py              (in an environment where rushlight is installed)
python tools/ops_table.py --check      says whether the page is out of date
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

from rushlight.ops import OPS, namespace
from rushlight.ops.table.documentation import usage

TARGET = Path(__file__).resolve().parent.parent / "docs" / "ops.md"
NAMESPACES = {
    "torch": "torch",
    "nn": "torch.nn.functional",
    "linalg": "torch.linalg",
    "fft": "torch.fft",
    "special": "torch.special",
}
HEAD = """# The op table

Every public function of the table, by namespace. What a kind means, and how to add an op, is in
[src/rushlight/ops/README.md](../src/rushlight/ops/README.md). The columns `kind` and `forms` say
what is derived from the statement: a method of Tensor (`.`), an in-place form (`_`).

This page is written by `tools/ops_table.py`.
"""


def cell(text: str) -> str:
    """Text that a table's cell can hold."""
    return " ".join(text.split()).replace("|", "\\|")


def row(name: str, function: Any) -> str | None:
    """The table's row of a function; None for what is no op, such as an exception class."""
    entry = getattr(function, "entry", None) or OPS.get(name)
    if entry is None or isinstance(function, type):
        return None
    forms = ("." if "method" in entry.forms else "") + ("_" if "in_place" in entry.forms else "")
    doc = cell((entry.doc or "").strip().split("\n\n")[0])
    alias = f"`{entry.name}`. " if entry.name.strip("_") != name.strip("_") else ""
    called = "`<br>`".join(cell(line) for line in usage(name, inspect.unwrap(function)))
    return f"| `{called}` | {entry.kind} | {f'`{forms}`' if forms else ''} | {alias}{doc} |"


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for where, title in NAMESPACES.items():
        table = namespace(where)
        # In-place forms are marked in the row of the function itself.
        public = sorted(n for n in table if not n.startswith("_"))
        names = [n for n in public if not (n.endswith("_") and n[:-1] in table)]
        rows = [r for r in (row(name, table[name]) for name in names) if r]
        if rows:
            head = ["| function | kind | forms | what it does |", "|---|---|---|---|"]
            parts.append(
                "\n".join([f"## {title} ({len(rows)})", "", *head, *map(str, rows)]) + "\n"
            )
    return "\n".join(parts)


def main() -> int:
    """Write the page, or with --check compare it."""
    text = page()
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    if "--check" in sys.argv[1:]:
        print("docs/ops.md is out of date: run python tools/ops_table.py")
        return 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
