"""The second oracle: the same expression on PyTorch and on the library under test.

A table is a text of Python lines, one case a line; a trailing comment says how to run it:

    x + y                      # num
    x.sum(0, keepdim=True)
    o = x.clone(); o[0] = 1; o # f32 i64
    t.cat([x, v])              # raises

Names are inputs (see `inputs.py`), `t` the library, `F` its nn.functional, `np`, `math`, `dt` the
swept dtype. Words: dtype sets (`all num real float f int cplx ...`, float32 if none is given),
`raises` (PyTorch must raise), `novalue` (memory is uninitialised), `loose` (a long computation:
tolerance times 32), `nonode` (the node's class name is PyTorch's private affair), `notext`,
`nograd` (compare without gradients only).

What is compared, twice (plain, then with every float input requiring grad): value, dtype, shape,
which inputs the result shares memory with (and then its strides), inputs after the call, printed
text, requires_grad, the grad_fn's class name, every input's gradient; or the exception's type and
first sentence. Integers and bools are exact. Floats may differ by a few roundings, see `tolerance`.
"""

import ast
import functools
import importlib
import math
import re
import traceback
from dataclasses import dataclass
from typing import Any

import inputs
import numpy as np
import pytest

from _subject import NAME
from _subject import torch as subject

oracle = pytest.importorskip("torch")

SETS = {
    "all": inputs.ALL,
    "num": tuple(d for d in inputs.ALL if d != "bool"),
    "real": (*inputs.FLOATS, *inputs.INTS),
    "ordered": (*inputs.FLOATS, *inputs.INTS, "bool"),
    "float": inputs.FLOATS,
    "fc": (*inputs.FLOATS, *inputs.COMPLEX),
    "f": ("float32", "float64"),
    "int": inputs.INTS,
    "intb": (*inputs.INTS, "bool"),
    "cplx": inputs.COMPLEX,
    "some": ("float32", "int64", "complex64", "bool"),
    "mix": ("float32", "bfloat16", "int64", "uint8", "complex64", "bool"),
    "f16": ("float16",),
    "bf16": ("bfloat16",),
    "f32": ("float32",),
    "f64": ("float64",),
    "i8": ("int8",),
    "i16": ("int16",),
    "i32": ("int32",),
    "i64": ("int64",),
    "u8": ("uint8",),
    "bool": ("bool",),
    "c64": ("complex64",),
    "c128": ("complex128",),
}
FLAGS = {"raises", "novalue", "loose", "nonode", "notext", "nograd", "no2nd", "exact"}

EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
EPS |= {"complex32": EPS["float16"], "complex64": EPS["float32"], "complex128": EPS["float64"]}
ITEM_SIZES = {"bool": 1, "int8": 1, "uint8": 1, "bfloat16": 2, "complex64": 8, "complex32": 4}
ITEM_SIZES |= {f"{kind}{bits}": bits // 8 for kind in ("int", "float") for bits in (16, 32, 64)}


@dataclass(frozen=True)
class Case:
    """One expression, one dtype of the sweep."""

    source: str
    dtype: str
    flags: frozenset[str]

    def __str__(self) -> str:
        return f"{self.source} [{self.dtype}]"


def cases(table: str) -> list[Case]:
    """All cases of a table."""
    found = []
    for line in table.splitlines():
        source, _, comment = line.partition("#")
        source = source.strip()
        if not source:
            continue
        words = comment.split()
        unknown = [word for word in words if word not in SETS and word not in FLAGS]
        if unknown:
            raise ValueError(f"unknown word {unknown[0]!r} in case {line.strip()!r}")
        dtypes = [d for word in words if word in SETS for d in SETS[word]] or ["float32"]
        flags = frozenset(word for word in words if word in FLAGS)
        found += [Case(source, dtype, flags) for dtype in dict.fromkeys(dtypes)]
    return found


def second_order(table: list[Case]) -> list[Case]:
    """The cases to differentiate twice: each source once, in float64."""
    skip = {"raises", "novalue", "nograd", "no2nd"}
    wanted = (c for c in table if not c.flags & skip and c.dtype in inputs.FLOATS)
    return list(dict.fromkeys(Case(c.source, "float64", c.flags) for c in wanted))


# Running one case on one library


@functools.cache
def _compiled(source: str) -> tuple[Any, Any, frozenset[str]]:
    tree = ast.parse(source.replace("; ", "\n"))
    last = None
    if isinstance(tree.body[-1], ast.Expr):
        last = compile(ast.Expression(tree.body.pop().value), source, "eval")
    body = compile(tree, source, "exec")
    names = {node.id for node in ast.walk(ast.parse(source.replace("; ", "\n")))
             if isinstance(node, ast.Name)}  # fmt: skip
    return body, last, frozenset(name for name in names if inputs.known(name))


class _Lazy:
    """A submodule looked up at first use, so that its absence fails only the cases that need it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._path), name)


@dataclass
class Run:
    """What one library did."""

    tensors: dict[str, Any]
    result: Any = None
    error: Exception | None = None
    trace: str = ""


def run(library: Any, case: Case, grad: bool) -> Run:
    """Evaluate the case on fresh inputs."""
    body, last, names = _compiled(case.source)
    tensors = {name: inputs.build(library, name, case.dtype) for name in sorted(names)}
    if grad:
        for tensor in tensors.values():
            if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
                tensor.requires_grad_(True)
    prefix = library.__name__
    space = {"t": library, "np": np, "math": math, "dt": getattr(library, case.dtype),
             "F": _Lazy(f"{prefix}.nn.functional"), "nn": _Lazy(f"{prefix}.nn"),
             "linalg": _Lazy(f"{prefix}.linalg"), **tensors}  # fmt: skip
    done = Run(tensors)
    try:
        exec(body, space)
        done.result = eval(last, space) if last is not None else None
    except Exception as error:
        done.error = error
        done.trace = "".join(traceback.format_exception(error, limit=-3))
    return done


# Comparing


def to_numpy(tensor: Any) -> np.ndarray:
    """The values of a tensor of either library; bfloat16 as float32 (exact)."""
    tensor = tensor.detach()
    if "bfloat16" in str(tensor.dtype):
        tensor = tensor.float()
    if dtype_name(tensor) == "complex32":
        tensor = tensor.to(oracle.complex64)
    if getattr(tensor, "_is_zerotensor", bool)():
        tensor = tensor.clone()
    if getattr(tensor, "is_conj", bool)():
        tensor = tensor.resolve_conj()
    if getattr(tensor, "is_neg", bool)():
        tensor = tensor.resolve_neg()
    return tensor.numpy()


def dtype_name(tensor: Any) -> str:
    """`float32` of `torch.float32`."""
    return str(tensor.dtype).rpartition(".")[2]


def tolerance(
    dtype: str, expected: np.ndarray, factor: float = 1.0, unit: float = 0.0
) -> tuple[float, float]:
    """(rtol, atol) for values of `dtype`.

    float32 and wider: 4 roundings relative to the element, as two good implementations of one
    function may differ, and 2 relative to the largest element of the result (or `unit`, if that is
    larger), since sums cancel. 16-bit types are computed in float32 by both and rounded once, so
    what remains is a value that fell on the other side of a tie: one rounding.
    """
    narrow = dtype in ("float16", "bfloat16", "complex32")
    relative, absolute = (1, 0.5) if narrow else (4, 2)
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(float(finite.max()) if finite.size else 0.0, 0.0 if narrow else unit)
    return relative * factor * EPS[dtype], absolute * factor * EPS[dtype] * scale


def same_values(expected: Any, actual: Any, where: str, flags: frozenset[str], steps: float = 1.0):
    """Differences in dtype, shape and value of two tensors, as a list of sentences."""
    if dtype_name(expected) != dtype_name(actual):
        return [f"{where}: dtype {actual.dtype}, expected {expected.dtype}"]
    if tuple(expected.shape) != tuple(actual.shape):
        return [f"{where}: shape {tuple(actual.shape)}, expected {tuple(expected.shape)}"]
    if "novalue" in flags:
        return []
    want, have = to_numpy(expected), to_numpy(actual)
    name = dtype_name(expected)
    if name not in EPS or "exact" in flags:
        equal = np.array_equal(want, have, equal_nan=name in EPS)
    else:
        factor = steps * (32 if "loose" in flags else 1)
        # Cotangents are of size 1, so gradients may be the small difference of such values.
        unit = 1.0 if where.startswith("gradient") else 0.0
        rtol, atol = tolerance(name, want, factor, unit)
        with np.errstate(all="ignore"):
            equal = np.allclose(have, want, rtol=rtol, atol=atol, equal_nan=True)
    return [] if equal else [f"{where}: values\n{have!r}\nexpected\n{want!r}"]


def _byte_range(tensor: Any) -> tuple[int, int] | None:
    """First and one-past-last byte that the tensor's elements can touch, or None if it has none."""
    if tensor.numel() == 0:
        return None
    size = ITEM_SIZES.get(dtype_name(tensor), 16)
    start = tensor.data_ptr()
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return start, start + (last + 1) * size


def shares(a: Any, b: Any) -> bool:
    """Whether two tensors can touch the same bytes."""
    first, second = _byte_range(a), _byte_range(b)
    return bool(first and second and first[0] < second[1] and second[0] < first[1])


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of either library."""
    return isinstance(value, (oracle.Tensor, subject.Tensor))


def flatten(value: Any) -> list[Any]:
    """The tensors in a result, in order."""
    if is_tensor(value):
        return [value]
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in flatten(item)]
    return []


def describe_error(error: Exception) -> str:
    """Type and first sentence, without what is only the name of a private PyTorch kernel."""
    text = str(error).split("\n")[0].split(". ")[0].removesuffix(".")
    text = text.split(" but got: ")[0] if "invalid combination" in text else text
    text = re.sub(r" - got \(.*", "", text)
    return re.sub(r'^"\w+" not implemented for', "kernel not implemented for", text)


def same_error(expected: Run, actual: Run) -> list[str]:
    """Differences in how two runs failed."""
    want, have = expected.error, actual.error
    if have is None:
        return [f"no exception, expected {type(want).__name__}: {want}"]
    if want is None:
        return [f"raised {type(have).__name__}: {have}\n{actual.trace}"]
    if type(want).__name__ not in [base.__name__ for base in type(have).__mro__]:
        return [f"raised {type(have).__name__}: {have}\nexpected {type(want).__name__}: {want}"]
    # What follows PyTorch's first sentence (actual values, the likely fix) is the library's own.
    if not describe_error(have).startswith(describe_error(want)):
        return [f"{type(have).__name__} says: {have}\nexpected: {want}"]
    return []


def node_name(tensor: Any) -> str:
    """The grad_fn's class name."""
    return type(tensor.grad_fn).__name__


def same_tensor(expected: Any, actual: Any, where: str, case: Case, steps: float) -> list[str]:
    """Differences of two result tensors."""
    found = same_values(expected, actual, where, case.flags, steps)
    if expected.requires_grad != actual.requires_grad:
        found.append(f"{where}: requires_grad {actual.requires_grad}")
    elif "nonode" not in case.flags and node_name(expected) != node_name(actual):
        found.append(f"{where}: grad_fn {node_name(actual)}, expected {node_name(expected)}")
    comparable = not found and not case.flags & {"notext", "novalue", "nonode"}
    if comparable and expected.numel() <= 60:
        want, have = to_numpy(expected), to_numpy(actual)
        if want.tobytes() == have.tobytes() and repr(expected) != repr(actual):
            found.append(f"{where}: prints\n{actual!r}\nexpected\n{expected!r}")
    return found


def same_result(expected: Any, actual: Any, where: str, case: Case, steps: float) -> list[str]:
    """Differences of two results of any kind."""
    if is_tensor(expected):
        if not is_tensor(actual):
            return [f"{where}: {type(actual).__name__}, expected a tensor"]
        return same_tensor(expected, actual, where, case, steps)
    if type(expected).__name__ != type(actual).__name__:
        return [f"{where}: {type(actual).__name__} {actual!r}, expected {expected!r}"]
    if isinstance(expected, (tuple, list)):
        if len(expected) != len(actual):
            return [f"{where}: length {len(actual)}, expected {len(expected)}"]
        pairs = zip(expected, actual, strict=True)
        return [m for i, (a, b) in enumerate(pairs)
                for m in same_result(a, b, f"{where}[{i}]", case, steps)]  # fmt: skip
    if isinstance(expected, (float, complex)):
        close = expected == actual or abs(expected - actual) <= 1e-5 * abs(expected)
        both_nan = expected != expected and actual != actual
        return [] if close or both_nan else [f"{where}: {actual!r}, expected {expected!r}"]
    want, have = str(expected), str(actual).replace(NAME, "torch")
    return [] if want == have else [f"{where}: {have}, expected {want}"]


def _sharing(done: Run) -> list[tuple[int, str]]:
    return [(i, name) for i, out in enumerate(flatten(done.result))
            for name, tensor in done.tensors.items() if shares(out, tensor)]  # fmt: skip


def same_run(expected: Run, actual: Run, case: Case, steps: float = 1.0) -> list[str]:
    """Differences of two runs, gradients aside."""
    if expected.error is not None or actual.error is not None:
        found = same_error(expected, actual)
        if found:
            return found
    else:
        found = same_result(expected.result, actual.result, "result", case, steps)
        if found:
            return found
        want, have = _sharing(expected), _sharing(actual)
        if want != have:
            return [f"shares memory with {have}, expected {want}"]
        wants, haves = flatten(expected.result), flatten(actual.result)
        for i in {i for i, _ in want}:
            a, b = wants[i], haves[i]
            if any(n > 1 for n in a.shape) and tuple(a.stride()) != tuple(b.stride()):
                return [f"result {i}: strides {tuple(b.stride())}, expected {tuple(a.stride())}"]
    plain = frozenset(case.flags - {"novalue"})
    found = []
    for name, tensor in expected.tensors.items():
        found += same_values(tensor, actual.tensors[name], f"input {name} afterwards", plain)
    return found


def _weights(library: Any, tensor: Any, order: int) -> Any:
    """A fixed cotangent: no two neighbours alike, all of one magnitude."""
    n = int(np.prod(tuple(tensor.shape), dtype=np.int64))
    values = (1.0 + 0.5 * np.cos(order + np.arange(n))).reshape(tuple(tensor.shape))
    if tensor.dtype.is_complex:
        values = np.asarray(values * (1 + 0.25j))
        return library.from_numpy(values).to(tensor.dtype)
    return library.from_numpy(np.asarray(np.round(values * 64) / 64)).to(tensor.dtype)


def _gradients(library: Any, done: Run, order: int = 1, graph: bool = False) -> Run:
    """d(sum of weights * result)/d(every input that requires grad), as another run."""
    leaves = {k: v for k, v in done.tensors.items() if v.requires_grad}
    outs = [out for out in flatten(done.result) if out.requires_grad]
    found = Run({})
    try:
        weights = [_weights(library, out, order) for out in outs]
        found.result = library.autograd.grad(
            outs, list(leaves.values()), weights, allow_unused=True, create_graph=graph
        )
    except Exception as error:
        found.error = error
        found.trace = "".join(traceback.format_exception(error, limit=-3))
    found.tensors = leaves
    return found


def same_gradients(
    expected: Run, actual: Run, case: Case, steps: float, second: bool = False
) -> list[str]:
    """Differences of two gradient runs.

    Of a second order: the gradient of a linear op does not depend on its argument, and whether a
    library says that by None or by zeros depends on what its rule happens to read; both are right.
    """
    if expected.error is not None or actual.error is not None:
        return same_error(expected, actual)
    found = []
    for name, want, have in zip(expected.tensors, expected.result, actual.result, strict=True):
        where = f"gradient of {name}"
        if second and (want is None) != (have is None):
            given = have if want is None else want
            if bool((given != 0).any()):
                found.append(f"{where}: {have}, expected {want}")
        elif (want is None) != (have is None):
            found.append(f"{where}: {'None' if have is None else have}, expected {want}")
        elif want is not None:
            found += same_values(want, have, where, case.flags, steps)
    return found


def has_gradient(done: Run) -> bool:
    """Whether there is anything to differentiate."""
    return done.error is None and any(out.requires_grad for out in flatten(done.result))


def check(case: Case) -> None:
    """Run the case on both libraries and fail with every difference."""
    # Both start from the same seed, so that random functions are comparable too.
    oracle.manual_seed(7)
    expected = run(oracle, case, grad=False)
    if expected.error is not None:
        broken = (NameError, SyntaxError, AttributeError, ImportError)
        if isinstance(expected.error, broken) and "raises" not in case.flags:
            raise expected.error
    assert (expected.error is not None) >= ("raises" in case.flags), "PyTorch does not raise here"
    _seed(subject)
    problems = same_run(expected, run(subject, case, grad=False), case)
    if not problems and "nograd" not in case.flags and _differentiable(case):
        oracle.manual_seed(7)
        expected = run(oracle, case, grad=True)
        _seed(subject)
        actual = run(subject, case, grad=True)
        problems = [f"with grad: {m}" for m in same_run(expected, actual, case)]
        if not problems and has_gradient(expected):
            problems = same_gradients(
                _gradients(oracle, expected), _gradients(subject, actual), case, steps=2
            )
    if problems:
        pytest.fail(f"{case}\n" + "\n".join(problems), pytrace=False)


def check_second_order(case: Case) -> None:
    """The gradient of the gradient, in float64."""
    oracle.manual_seed(7)
    expected = run(oracle, case, grad=True)
    if not has_gradient(expected):
        return
    first = _gradients(oracle, expected, graph=True)
    if first.error is not None:
        return
    keep = [i for i, g in enumerate(first.result) if g is not None and g.requires_grad]
    if not keep:
        return
    _seed(subject)
    actual = run(subject, case, grad=True)
    mine = _gradients(subject, actual, graph=True) if actual.error is None else actual
    problems = same_gradients(first, mine, case, steps=2)
    if not problems:
        want = Run(expected.tensors, [first.result[i] for i in keep])
        have = Run(actual.tensors, [mine.result[i] for i in keep])
        theirs = _gradients(oracle, want, 2)
        if theirs.error is not None and "not implemented" in str(theirs.error):
            return  # torch has no formula; tests/table differentiates ours by finite differences
        problems = [f"second order: {m}" for m in same_gradients(
            theirs, _gradients(subject, have, 2), case, steps=8, second=True)]  # fmt: skip
    if problems:
        pytest.fail(f"{case}\n" + "\n".join(problems), pytrace=False)


def _seed(library: Any) -> None:
    if hasattr(library, "manual_seed"):
        library.manual_seed(7)


def _differentiable(case: Case) -> bool:
    names = _compiled(case.source)[2]
    kinds = [case.dtype if inputs.is_typed(n) else n[2:] for n in names if n not in inputs.FIXED]
    return any(kind in inputs.FLOATS or kind in inputs.COMPLEX for kind in kinds)
