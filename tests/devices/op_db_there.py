"""PyTorch's table of operators on the accelerator, in float32.

    python tests/devices/op_db_there.py [--samples 4] [NAME ...]

As tests/torch_compat/op_db.py, with this library's tensors on `opencl`: values, gradients, methods
and in-place variants are compared with PyTorch's on the CPU. An entry runs there if none of its
calls went by way of the host. PyTorch has to be installed.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from rushlight import _core

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "torch_compat")]
import_module("_pocl").prepare()
op_db: Any = import_module("op_db")
_here, _plain = op_db.from_oracle, op_db.to_numpy


def _there(value: Any) -> Any:
    return _here(value).to("opencl")


def _values(value: Any) -> Any:
    return _plain(value.cpu())


op_db.from_oracle, op_db.to_numpy = _there, _values


def sweep(names: list[str], samples: int) -> dict[str, tuple[Any, dict[str, int]]]:
    """What became of each entry, and which of its calls went by way of the host."""
    found = {}
    op_db.oracle.set_num_threads(1)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for entry in op_db.table():
            title = op_db.title(entry)
            if names and title not in names and entry.name not in names:
                continue
            if not entry.supports_dtype(op_db.oracle.float32, "cpu"):
                continue
            _core.accelerator_forget_fallbacks()
            outcome = op_db.run(entry, "float32", samples)
            if outcome.compared:
                found[title] = outcome, _core.accelerator_fallbacks()
    return found


def main() -> None:
    words, samples = sys.argv[1:], 4
    if "--samples" in words:
        at = words.index("--samples")
        samples = int(words[at + 1])
        del words[at : at + 2]
    found = sweep(words, samples)
    reasons: dict[str, int] = {}
    for title, (outcome, by_host) in found.items():
        for reason in by_host:
            reasons[reason] = reasons.get(reason, 0) + 1
        if outcome.wrong:
            print(f"{title}: {outcome.wrong[0].partition(chr(0))[0][:200]}")
    wrong = sum(bool(outcome.wrong) for outcome, _ in found.values())
    alone = sum(not by_host for _, by_host in found.values())
    print(f"{len(found)} entries, {wrong} differ, {alone} run on the device alone")
    for reason, count in sorted(reasons.items(), key=lambda pair: -pair[1])[:60]:
        print(f"  {count:4} {reason}")


if __name__ == "__main__":
    main()
