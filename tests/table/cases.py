"""What the generic tests of the op table share: samples as calls, and how to run and vary them.

Start here, then read any `test_*.py` of this folder. Every test is run once for each op of
`rushlight.ops.OPS` that has samples; a new op gets them all by being in the table. What a test
compares with never comes from the statement it tests: values from `references.py`, derivatives from
finite differences, the other forms and memory layouts from the plain call.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from composites import COMPOSITES

import rushlight as torch
from rushlight.ops import OPS

NUMPY_TYPES = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "int64": np.dtype(np.int64),
    "bool": np.dtype(np.bool_),
    "complex64": np.dtype(np.complex64),
    "complex128": np.dtype(np.complex128),
}

# How an op says that it does not take an element type.
REFUSALS = (NotImplementedError, RuntimeError, TypeError, ValueError)


def samples_of(name: str) -> Callable[..., Any] | None:
    return OPS[name].samples or COMPOSITES.get(name)


SAMPLED = [name for name in OPS if samples_of(name) is not None]


def having(trait: str) -> frozenset[str]:
    """The ops whose statement names a trait (TRAITS in rushlight/ops/table/words.py)."""
    return frozenset(name for name in OPS if trait in OPS[name].traits)


NO_DERIVATIVE, NOT_RECORDED = having("underived"), having("unrecorded")
SYMMETRIC, UP_TO_PHASE, OF_FACTOR = having("symmetric"), having("phase"), having("factor")
READ_STRIDES, RANDOM, COMPLEX_ONLY = having("strides"), having("random"), having("complex")

DIFFERENTIABLE = [
    name
    for name in SAMPLED
    if OPS[name].kind != "constant" and name not in NO_DERIVATIVE | NOT_RECORDED
]

# Views that some strides do not allow, and how they say so.
_REFUSED_VIEW = "view size is not compatible with input tensor's size and stride"
REFUSED_STRIDES = {
    "view": _REFUSED_VIEW,
    "view_as": _REFUSED_VIEW,
    "view_as_complex": "Tensor must have a last dimension with stride 1",
}


def is_inexact(t: torch.Tensor) -> bool:
    return t._array.dtype in (NUMPY_TYPES["float16"], NUMPY_TYPES["bfloat16"]) or (
        t._array.dtype.kind in "fc"
    )


class Make:
    """Draws the tensors of samples: `make(2, 3)` has the element type under test.

    low, high: the range, by default the op's domain. kind: 'int' (int64, high excluded), 'bool',
    an element type's name, or 'fixed': the type under test, but nothing to differentiate by.
    """

    def __init__(self, seed: int, domain: tuple[float, float], dtype: str) -> None:
        self.rng = np.random.default_rng(seed)
        self.domain, self.dtype = domain, dtype
        self.fixed: list[torch.Tensor] = []
        self.typed = False

    def __call__(
        self, *shape: Any, low: float | None = None, high: float | None = None, kind: str = ""
    ) -> torch.Tensor:
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        if kind == "int":
            low, high = 0 if low is None else low, 4 if high is None else high
            array = np.asarray(self.rng.integers(int(low), int(high), shape))
            return torch.from_numpy(array.astype(np.int64))
        if kind == "bool":
            return torch.from_numpy(np.asarray(self.rng.random(shape) < 0.5))
        if kind in ("", "fixed", "float"):
            self.typed = True
        dtype = kind if kind in NUMPY_TYPES else self.dtype
        low = self.domain[0] if low is None else low
        high = self.domain[1] if high is None else high
        tensor = tensor_of(self.numbers(shape, low, high, dtype))
        if kind == "fixed":
            self.fixed.append(tensor)
        return tensor

    def numbers(self, shape: tuple[int, ...], low: float, high: float, dtype: str) -> np.ndarray:
        numbers = np.asarray(self.rng.uniform(low, high, shape))
        if dtype == "int64":
            numbers = np.rint(numbers)
            if np.ceil(low) <= np.floor(high):
                numbers = np.clip(numbers, np.ceil(low), np.floor(high))
        elif dtype == "bool":
            numbers = numbers > (low + high) / 2
        elif dtype.startswith("complex"):
            numbers = numbers + 1j * self.rng.uniform(-1, 1, shape)
        return np.asarray(numbers).astype(NUMPY_TYPES[dtype])


def tensor_of(array: np.ndarray) -> torch.Tensor:
    """A tensor on the array's memory, with its strides."""
    if array.dtype == NUMPY_TYPES["bfloat16"]:
        return torch.tensor(array.astype(np.float32), dtype=torch.bfloat16)
    return torch.from_numpy(array)


def mapped(f: Callable[[torch.Tensor], Any], tree: Any) -> Any:
    """The arguments with f of each tensor in its place, those in lists too."""
    if isinstance(tree, torch.Tensor):
        return f(tree)
    if isinstance(tree, dict):
        return {key: mapped(f, value) for key, value in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(mapped(f, value) for value in tree)
    return tree


def tensors_in(tree: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    mapped(found.append, tree)
    return found


def refused_strides(name: str, error: RuntimeError) -> bool:
    """Whether an op says that it cannot be a view of arguments of these strides."""
    return name in REFUSED_STRIDES and str(error).startswith(REFUSED_STRIDES[name])


@dataclass
class Call:
    """One call of an op. Its tensors are numbered in the order of the arguments."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    fixed: frozenset[int] = field(default_factory=frozenset)

    def __repr__(self) -> str:
        tree = mapped(lambda t: f"{t._form.dtype}{list(t._form.shape)}", (self.args, self.kwargs))
        return f"{self.name}{tree}"

    @property
    def tensors(self) -> list[torch.Tensor]:
        return tensors_in((self.args, self.kwargs))

    @property
    def leaves(self) -> list[int]:
        """The numbers of the tensors that derivatives are taken by."""
        pairs = enumerate(self.tensors)
        return [i for i, t in pairs if is_inexact(t) and i not in self.fixed]

    def mapped(self, f: Callable[[torch.Tensor], Any]) -> Call:
        args, kwargs = mapped(f, (self.args, self.kwargs))
        return Call(self.name, args, kwargs, self.fixed)

    def having(self, tensors: list[Any]) -> Call:
        """The same call of other tensors."""
        following = iter(tensors)
        return self.mapped(lambda _: next(following))

    def replaced(self, leaves: list[Any]) -> Call:
        """The same call with other leaves."""
        tensors = self.tensors
        for i, leaf in zip(self.leaves, leaves, strict=True):
            tensors[i] = leaf
        return self.having(tensors)

    def copied(self) -> Call:
        """The same call of contiguous tensors of its own."""
        return self.mapped(lambda t: tensor_of(np.array(t._array, order="C")))

    def run(self, function: Any = None) -> Any:
        """The result. An op that draws random numbers draws the same each time."""
        torch.manual_seed(7)
        return (function or OPS[self.name].function)(*self.args, **self.kwargs)

    def outputs(self) -> list[torch.Tensor]:
        return tensors_in(plain(self.run()))


def plain(result: Any) -> Any:
    """Named tuples as tuples."""
    return tuple(result) if isinstance(result, tuple) else result


def calls(name: str, dtype: str = "") -> list[Call]:
    """The op's samples, drawn anew: the same numbers each time."""
    return _draw(name, dtype or ("complex128" if name in COMPLEX_ONLY else "float64"))[0]


def _draw(name: str, dtype: str) -> tuple[list[Call], bool]:
    entry = OPS[name]
    make = Make(zlib.crc32(name.encode()), entry.domain, dtype)
    found = []
    for args in samples_of(name)(make):
        kwargs = {}
        if args and isinstance(args[-1], dict):
            args, kwargs = args[:-1], args[-1]
        call = Call(name, tuple(args), dict(kwargs))
        fixed = [i for i, t in enumerate(call.tensors) if any(t is f for f in make.fixed)]
        found.append(Call(name, call.args, call.kwargs, frozenset(fixed)))
    assert found, f"'{name}' has samples=, but gives none"
    return found, make.typed


@cache
def takes(name: str, dtype: str) -> bool:
    """Whether the op takes arguments of an element type (that it takes float64 is not asked)."""
    main = "complex128" if name in COMPLEX_ONLY else "float64"
    try:
        drawn, typed = _draw(name, dtype)
    except Exception:
        return dtype == main
    if dtype == main:
        return True
    # An op of the mechanism leaves it to its public function to refuse integers.
    if not typed or (name.startswith("_") and dtype == "int64"):
        return False
    try:
        with warnings.catch_warnings(action="ignore"):
            for call in drawn:
                call.run()
    except REFUSALS:
        return False
    except Exception:
        return True
    return True


# ---- numbers


def wide(array: np.ndarray) -> np.ndarray:
    """Half and single precision as float64, which references compute in."""
    if array.dtype in (np.dtype(np.float16), np.dtype(np.float32), NUMPY_TYPES["bfloat16"]):
        return array.astype(np.float64)
    return array.astype(np.complex128) if array.dtype == np.complex64 else np.array(array)


def wide_arguments(call: Call) -> tuple[list[Any], dict[str, Any]]:
    """The arguments with ndarrays for tensors."""
    args, kwargs = mapped(lambda t: wide(t._array), (call.args, call.kwargs))
    return list(args), kwargs


def noise(like: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random array of the shape and type of another, of numbers around 1."""
    numbers = rng.uniform(-1, 1, like.shape)
    if like.dtype.kind == "c":
        numbers = numbers + 1j * rng.uniform(-1, 1, like.shape)
    return np.asarray(numbers).astype(like.dtype)


def inner(a: np.ndarray, b: np.ndarray) -> float:
    """<a, b>: for complex numbers the real part, as gradients pair with changes."""
    return float(np.sum((np.conj(a) * b).real))


# ---- memory layouts: tensors equal to t's contiguous copy, except `expanded`, whose numbers repeat


def transposed(t: torch.Tensor) -> torch.Tensor:
    """The same numbers, last dimension first in memory."""
    return tensor_of(np.array(t._array, order="F"))


def sliced(t: torch.Tensor) -> torch.Tensor:
    """The same numbers as every second element of a larger tensor, from the second on."""
    a = t._array
    if not a.ndim:
        return t
    base = np.zeros([2 * n + 1 for n in a.shape], a.dtype)
    view = base[tuple(slice(1, None, 2) for _ in a.shape)]
    view[...] = a
    return tensor_of(view)


def expanded(t: torch.Tensor) -> torch.Tensor:
    """The first element of the first dimension, repeated by a stride of 0."""
    a = t._array
    if not a.ndim or a.shape[0] < 2:
        return t
    return tensor_of(np.array(a[:1])).expand(a.shape)


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transposed": transposed,
    "sliced": sliced,
    "expanded": expanded,
}


def each(cases: Iterable[tuple[str, str]]) -> Callable[[Callable[[str, str], None]], Any]:
    """Makes a test of (name of an op, case of it) one of the op, which runs all of its cases.

    It tells each case that fails. Fifty thousand tests would cost more than what they compute.
    """
    of_op: dict[str, list[str]] = {}
    for name, case in cases:
        of_op.setdefault(name, []).append(case)

    def made(check: Callable[[str, str], None]) -> Any:
        @pytest.mark.parametrize("name", of_op)
        def test(name: str) -> None:
            failed = []
            for case in of_op[name]:
                try:
                    check(name, case)
                except Exception as error:
                    error.add_note(f"{name}, {case}")
                    failed.append(error)
            if len(failed) > 1:
                raise ExceptionGroup(f"{len(failed)} of {len(of_op[name])} cases of {name}", failed)
            if failed:
                raise failed[0]

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return made
