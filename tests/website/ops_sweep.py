"""Every op of the table on its samples in every type, and their gradients, as lines of JSON.

python ops_sweep.py RESULTS    the same in CPython and in Pyodide, see test_ops_in_pyodide.py
"""

import json
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "table"))
from composites import COMPOSITES

import rushlight as torch
from rushlight.ops import OPS

TYPES = "float32 float64 bfloat16 float16 complex64 int64 int32 uint8 bool"


class Make:
    """Tensors for samples, of a type, drawn in float64 so that all platforms draw the same."""

    def __init__(self, domain, dtype):
        self.domain, self.dtype = domain, dtype

    def __call__(self, *shape, low=None, high=None, kind=""):
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        if kind == "int":
            return torch.randint(int(low or 0), 4 if high is None else int(high), shape)
        if kind == "bool":
            return torch.rand(shape) < 0.5
        low, high = (d if n is None else n for n, d in zip((low, high), self.domain, strict=True))
        wanted = self.dtype if kind in ("", "fixed") else getattr(torch, kind)
        made = (torch.rand(shape, dtype=torch.float64) * (high - low) + low).to(wanted)
        differentiable = wanted.is_floating_point or wanted.is_complex
        return made.requires_grad_() if kind != "fixed" and differentiable else made


def tensors(tree):
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, (tuple, list)):
        for value in tree:
            yield from tensors(value)


def told(t):
    """The type, sizes, steps and numbers of a tensor; each number exactly."""
    if t is None:
        return None
    seen = t.detach().resolve_conj().resolve_neg()
    numbers = torch.view_as_real(seen) if seen.is_complex() else seen
    numbers = numbers.double() if numbers.is_floating_point() else numbers
    return [str(t.dtype), list(t.shape), list(t.stride()), numbers.reshape(-1).tolist()]


def results(op, args):
    *args, named = args if isinstance(args[-1], dict) else (*args, {})
    made = op.function(*args, **named)
    leaves = [t for t in tensors(args) if t.requires_grad]
    ends = [t for t in tensors(made) if t.grad_fn is not None]
    said = [told(t) for t in tensors(made)]
    if ends and leaves:
        ones = [torch.ones_like(t) for t in ends]
        said += map(told, torch.autograd.grad(ends, leaves, ones, allow_unused=True))
    return said


def sweep(file):
    warnings.simplefilter("ignore")
    for name, op in list(OPS.items()):
        samples = op.samples or COMPOSITES.get(name)
        if not samples or "empty" in name:  # whose numbers are any
            continue
        for kind in TYPES.split():
            torch.manual_seed(7)
            try:
                rows = list(samples(Make(op.domain, getattr(torch, kind))))
            except ModuleNotFoundError as error:  # they have arrays
                print(json.dumps([f"{name} {kind}", [type(error).__name__]]), file=file)
                continue
            except (RuntimeError, NotImplementedError, TypeError, ValueError):
                continue  # the samples are of another type
            for i, args in enumerate(rows):
                try:
                    said = results(op, args)
                except Exception as error:
                    said = [type(error).__name__, str(error)]
                print(json.dumps([f"{name} {kind} {i}", said]), file=file)


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        sweep(file)
