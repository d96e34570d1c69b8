"""The op table on the accelerator: which ops run there, and whether they agree with the CPU.

    python tests/devices/sweep.py [NAME ...] [-v]

Each sample of each op in float32 is called on the CPU and on `DEVICE` with the same numbers, and so
are the gradients of all leaves. An op runs there if none of its calls went by way of the host.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import rushlight as torch
from rushlight import _core

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "table"), str(HERE.parent)]
_pocl, cases = import_module("_pocl"), import_module("cases")
_pocl.prepare()
calls, plain, takes, tensors_in = cases.calls, cases.plain, cases.takes, cases.tensors_in

DEVICE = "opencl"  # tools/gpu_check.py names another
RELATIVE = 3e-5  # to the largest element: a few roundings of float32, in another order
# Gradients by a transposed matrix: column by column on the CPU, as PyTorch's, row by row there.
BY_ROWS = frozenset({"inner", "tensordot"})
AGAIN = 2  # times; the third call runs what was kept
NOT_DEFINED = frozenset({"empty", "empty_like", "empty_strided", "new_empty"})


@dataclass
class Outcome:
    """What became of an op: how it differed, and which calls went by way of the host."""

    wrong: list[str] = field(default_factory=list)
    by_host: dict[str, int] = field(default_factory=dict)
    calls: int = 0


def there(t: Any) -> Any:
    """A tensor on the accelerator with the same values."""
    found = t.detach().to(DEVICE)
    return found.requires_grad_() if t.requires_grad else found


def differing(have: Any, want: Any) -> str:
    """How two results differ; "" where they do not."""
    ours, theirs = tensors_in(plain(have)), tensors_in(plain(want))
    if len(ours) != len(theirs):
        return f"{len(ours)} tensors, not {len(theirs)}"
    for a, b in zip(ours, theirs, strict=True):
        if a.shape != b.shape or a.dtype is not b.dtype:
            return f"{a.dtype}{list(a.shape)}, not {b.dtype}{list(b.shape)}"
        if a.numel() and a.stride() != b.stride() and a.is_contiguous() != b.is_contiguous():
            return f"strides {a.stride()}, not {b.stride()}"
        x, y = (np.asarray(t.detach().resolve_conj().resolve_neg().cpu()._array) for t in (a, b))
        if x.dtype.names or y.dtype.names:
            continue
        x, y = (v.astype(np.complex128 if v.dtype.kind == "c" else np.float64) for v in (x, y))
        finite = np.abs(y[np.isfinite(y)])
        rounds = b.dtype.is_floating_point or b.dtype.is_complex
        near = RELATIVE * max(1.0, finite.max(initial=0.0)) if rounds else 0
        if not np.allclose(x, y, rtol=RELATIVE if near else 0, atol=near, equal_nan=True):
            gap = np.abs(np.where(np.isfinite(x) & np.isfinite(y), x - y, 0)).max(initial=0)
            return f"values, by {gap:.2g}"
    return ""


def gradients(result: Any, leaves: list[Any], seeds: list[Any]) -> list[Any]:
    outs = [t for t in tensors_in(plain(result)) if t.requires_grad]
    if not outs or not leaves:
        return []
    given = [s.to(o.device) for s, o in zip(seeds, outs, strict=True)]
    return list(torch.autograd.grad(outs, leaves, given, allow_unused=True))


def run_call(call: Any, outcome: Outcome) -> None:
    """One call on both, and its gradients."""
    name = call.name
    here = call.mapped(lambda t: t.detach().clone())
    if name not in cases.NO_DERIVATIVE:
        wanted = set(here.leaves)
        for i, t in enumerate(here.tensors):
            t.requires_grad_(i in wanted)
    moved = here.mapped(there)
    try:
        expected = here.run()
    except Exception as error:
        try:
            moved.run()
        except type(error):
            return
        except Exception as other:
            outcome.wrong.append(f"{type(other).__name__}, not {type(error).__name__}: {other}")
            return
        outcome.wrong.append(f"no {type(error).__name__}: {error}")
        return
    outcome.calls += 1
    before = [t._version for t in moved.tensors]
    results = [moved.run()]
    found = results[0]
    if name in NOT_DEFINED:
        return
    if name not in cases.RANDOM:
        if before == [t._version for t in moved.tensors]:
            results += [moved.run() for _ in range(AGAIN)]  # by what was kept of the call
        for each in results:
            said = differing(each, expected)
            if said:
                outcome.wrong.append(f"{call}: {said}")
                return
    outs = [t for t in tensors_in(plain(expected)) if t.requires_grad]
    seeds = [torch.randn_like(t.detach()) for t in outs]
    ours = [t for t in tensors_in(plain(found)) if t.requires_grad]
    if len(ours) != len(outs):
        outcome.wrong.append(f"{call}: {len(ours)} results with a history, not {len(outs)}")
        return
    leaves = [[t for t in c.tensors if t.requires_grad] for c in (here, moved)]
    want = gradients(expected, leaves[0], seeds)
    have = gradients(found, leaves[1], seeds)
    for a, b in zip(have, want, strict=True):
        if (a is None) is not (b is None):
            outcome.wrong.append(f"{call}: a gradient that is {a}")
        elif a is not None and name not in cases.RANDOM:
            said = differing(a.contiguous(), b.contiguous()) if name in BY_ROWS else differing(a, b)
            if said:
                outcome.wrong.append(f"{call}: gradient {said}")


def run(name: str) -> Outcome:
    """All samples of an op."""
    outcome = Outcome()
    _core.accelerator_forget_fallbacks()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for call in calls(name, "float32"):
            try:
                run_call(call, outcome)
            except Exception as error:
                outcome.wrong.append(f"{call}: {type(error).__name__}: {str(error)[:160]}")
    outcome.by_host = _core.accelerator_fallbacks()
    return outcome


def names() -> list[str]:
    return [name for name in cases.SAMPLED if takes(name, "float32")]


def sweep(chosen: list[str]) -> Iterator[tuple[str, Outcome]]:
    for name in chosen or names():
        yield name, run(name)


def main() -> None:
    chosen = [word for word in sys.argv[1:] if not word.startswith("-")]
    total = wrong = by_host = 0
    reasons: dict[str, int] = {}
    for name, outcome in sweep(chosen):
        if not outcome.calls and not outcome.wrong:
            continue
        total += 1
        wrong += bool(outcome.wrong)
        by_host += bool(outcome.by_host)
        for reason in outcome.by_host:
            reasons[reason] = reasons.get(reason, 0) + 1
        if outcome.wrong:
            print(f"{name}: {outcome.wrong[0]}")
        if outcome.by_host and ("-v" in sys.argv or chosen):
            print(f"  {name} by way of the host: {outcome.by_host}")
    print(f"{total} ops, {wrong} differ, {total - by_host} run on the device alone")
    for reason, count in sorted(reasons.items(), key=lambda pair: -pair[1])[:80]:
        print(f"  {count:4} {reason}")


if __name__ == "__main__":
    main()
