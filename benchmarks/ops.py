"""Every op of the table and every function of nn.functional, linalg, fft and special, timed on
rushlight and on torch at three sizes.

    python benchmarks/ops.py [--ops NAME ...] [--sizes ...] [--types ...] [--layouts ...]
                             [--samples N] [the options of compare.py]

The calls are the table's own samples, scaled (tests/table/scaled.py): about 100, 30,000 and
1,000,000 elements, matrices of 16, 128 and 512; hardly an extent is a multiple of a tile. A row is
named by op, sample and rule, element type, size, layout and direction, "backward" being the call
with all its gradients; after the row stands what computed it where that was NumPy. compare.py
measures and shows the rows as its own; `--threads 1 2` times both, `--markdown` sums them up. A
whole run, of float32, is kept as benchmarks/results/ops-DATE.json, one of another type by the name
of the type. `make bench-ops` runs it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "table")]

import ml_dtypes  # noqa: E402  (the folders are on the path now)
import numpy as np  # noqa: E402
import scaled  # noqa: E402
from cases import LAYOUTS, SAMPLED, Call, mapped  # noqa: E402
from workloads import Setup, Step  # noqa: E402

import rushlight  # noqa: E402
from rushlight import _core  # noqa: E402
from rushlight.ops import OPS  # noqa: E402

SIZES = {"small": (100, 16 * 16), "middle": (30_000, 128 * 128), "large": (1_000_000, 512 * 512)}
SPACES = {"nn": "nn.functional", "linalg": "linalg", "fft": "fft", "special": "special"}
NUMPY = (_core.Path.NUMPY, _core.Path.FALLBACK)


def size_of(name: str, size: str) -> int:
    place = OPS[name].place
    matrices = OPS[name].namespace == "linalg" or (place and "/ops/matrix/" in place[0])
    return SIZES[size][bool(matrices)]


def functions(torch: Any, name: str) -> list[Any]:
    """The function and the method: their arguments may differ."""
    home = torch
    for part in SPACES.get(OPS[name].namespace, "").split("."):
        home = getattr(home, part) if part else home
    return [f for f in (getattr(home, name, None), getattr(torch.Tensor, name, None)) if f]


def given(torch: Any, x: Any) -> Any:
    """An argument of the library's own kind, on the same numbers and strides."""
    if isinstance(x, rushlight.Tensor):
        array = x.detach()._array
        if array.dtype == ml_dtypes.bfloat16:
            return torch.from_numpy(array.astype(np.float32)).to(torch.bfloat16)
        return torch.from_numpy(array)
    if isinstance(x, rushlight.dtype):
        return getattr(torch, str(x).removeprefix("torch."))
    if type(x) in (tuple, list):
        return type(x)(given(torch, each) for each in x)
    return {k: given(torch, v) for k, v in x.items()} if isinstance(x, dict) else x


def flat(torch: Any, result: Any) -> list[Any]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for r in result for t in flat(torch, r)] if isinstance(result, (tuple, list)) else []


def step_of(torch: Any, call: Call, backward: bool) -> Step:
    args, kwargs = given(torch, call.args), given(torch, call.kwargs)
    tensors: list[Any] = flat(torch, [*args, *kwargs.values()])
    for function in functions(torch, call.name):
        step = partial(function, *args, **kwargs)
        try:
            torch.manual_seed(7)
            step()
            break
        except Exception as error:
            refusal = error
    else:
        raise refusal
    if not backward:
        return step
    leaves = [tensors[i].requires_grad_() for i in call.leaves]
    outputs = [t for t in flat(torch, step()) if t.requires_grad]
    seeds = [torch.ones_like(t) for t in outputs]

    def with_gradients() -> Any:
        outputs = [t for t in flat(torch, step()) if t.requires_grad]
        found = torch.autograd.grad(outputs, leaves, seeds, allow_unused=True)
        return next(g for g in found if g is not None)

    return with_gradients


def row_of(name: str) -> tuple[Setup, dict[str, Any]]:
    op, number, rule, dtype, size, layout, way = name.split()

    def setup(torch: Any) -> Step:
        call = scaled.one(op, dtype, size_of(op, size), int(number), rule)
        if layout in LAYOUTS:
            call = Call(op, *mapped(LAYOUTS[layout], (call.args, call.kwargs)), call.fixed)
        return step_of(torch, call, way == "backward")

    return setup, {}


class Rows(dict[str, tuple[Setup, dict[str, Any]]]):
    """The rows that were listed, and any other by its name: a worker lists none."""

    def __missing__(self, name: str) -> tuple[Setup, dict[str, Any]]:
        return row_of(name)


WORKLOADS = Rows()


def listed(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """The names of the rows that the options ask for, with what each row shows beside the times."""
    for op in SAMPLED if options.ops is None else options.ops:
        if op.startswith("_") or not functions(rushlight, op):
            continue
        for dtype in options.types:
            for size in options.sizes:
                found = scaled.scaled(op, dtype, size_of(op, size), options.samples)
                for number, rule, call in found:
                    ways = scaled.paths(call)
                    slow = {name for name, path, _ in ways if path in NUMPY}
                    shown = {"path": f"NumPy: {', '.join(sorted(slow))}"} if slow else {}
                    for layout in options.layouts:
                        row = f"{op} {number} {rule} {dtype} {size} {layout}"
                        yield f"{row} forward", shown
                        if OPS[op].kind != "constant" and call.leaves:
                            yield f"{row} backward", shown


def kinds(result: dict[str, Any]) -> str:
    """A table of Markdown: for each kind of row how many, their mean, and the slowest."""
    found: dict[tuple[str, ...], list[tuple[float, str]]] = {}
    for row in result["rows"]:
        if "ratio" in row:
            op, number, _, *kind = row["name"].split()
            name = op if number == "0" else f"{op} ({number})"
            found.setdefault((*kind, str(row["threads"])), []).append((row["ratio"], name))
    lines = ["| type | size | layout | | threads | rows | mean | under 1 | under 0.8 | slowest |"]
    lines.append("|---" * 10 + "|")
    for kind, rows in found.items():
        ratios = [ratio for ratio, _ in rows]
        under = [str(sum(ratio < limit for ratio in ratios)) for limit in (1, 0.8)]
        slowest = ", ".join(f"{name} {ratio:.2f}" for ratio, name in sorted(rows)[:8])
        mean = f"{geometric_mean(ratios):.2f}"
        lines.append(f"| {' | '.join([*kind, str(len(rows)), mean, *under, slowest])} |")
    return "\n".join(lines)


def main() -> None:
    import compare

    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--ops", nargs="+")
    parser.add_argument("--sizes", nargs="+", default=list(SIZES))
    parser.add_argument("--types", nargs="+", default=["float32"])
    parser.add_argument("--layouts", nargs="+", default=["contiguous"])
    parser.add_argument("--samples", type=int, default=1, help="of each op at most so many")
    options, rest = parser.parse_known_args()
    for name, shown in listed(options):
        WORKLOADS[name] = row_of(name)[0], shown
    sys.argv[1:] = ["--quick", *rest]
    compare.main(WORKLOADS, "ops", kinds)


if __name__ == "__main__":
    main()
