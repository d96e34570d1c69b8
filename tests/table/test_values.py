"""What an op computes, against NumPy or SciPy, for every element type it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import (
    NUMPY_TYPES,
    OPS,
    REFUSALS,
    SAMPLED,
    Call,
    calls,
    each,
    is_inexact,
    plain,
    takes,
    wide,
    wide_arguments,
)
from references import reference

from rushlight import _core
from rushlight._base import dtypes
from rushlight._core import ParamKind
from rushlight.ops.table.statement import KINDS, parse

# The error of a few roundings, and what a dozen terms may add up to.
RELATIVE = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 5e-6,
    "complex64": 5e-6,
    "float64": 1e-12,
    "complex128": 1e-12,
}

TYPES = NUMPY_TYPES.keys() - {"bool"}  # of bools NumPy computes halves
CASES = [(name, dtype) for name in SAMPLED for dtype in TYPES if takes(name, dtype)]


def definition(name: str) -> Any:
    entry = OPS[name]
    n = len(entry.function.params) if entry.kind == "pointwise" else 0
    return reference(name, n)


WITH_REFERENCE = [(n, d) for n, d in CASES if definition(n) is not None]


def assert_close(found: np.ndarray, expected: Any, what: str) -> None:
    expected = np.asarray(expected)
    if found.dtype.names:  # complex32: a pair of halves
        found = np.asarray(found["real"] + 1j * found["imag"].astype(np.float32), np.complex64)
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, not {expected.shape}"
    tolerance = RELATIVE.get(found.dtype.name, 0)
    if not tolerance:
        np.testing.assert_array_equal(found, expected, err_msg=what)
        return
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(1.0, float(finite.max(initial=0.0)))
    with np.errstate(all="ignore"):
        expected = expected.astype(found.dtype)
    np.testing.assert_allclose(
        wide(found), wide(expected), rtol=tolerance, atol=tolerance * scale, err_msg=what
    )


@each(WITH_REFERENCE)
def test_value(name: str, dtype: str) -> None:
    for call in calls(name, dtype):
        args, kwargs = wide_arguments(call)
        with np.errstate(all="ignore"):
            expected = plain(definition(name)(*args, **kwargs))
        found = plain(call.run())
        many = isinstance(found, (tuple, list))
        found, expected = (found, expected) if many else ((found,), (expected,))
        assert len(found) == len(expected), f"{call!r}: {len(found)} results"
        for f, e in zip(found, expected, strict=True):
            if e is not None:
                f = f.cfloat() if f.dtype is dtypes.complex32 else f
                assert_close(f._array, e, f"{call!r}")


@each(CASES)
def test_element_type_is_kept(name: str, dtype: str) -> None:
    """No result is wider than the arguments: nothing becomes float64 on the way."""
    widest = {"int64": np.float32}.get(dtype, NUMPY_TYPES[dtype])
    if name in CONVERSIONS:
        return
    for call in calls(name, dtype):
        types = {t._array.dtype for t in call.tensors if is_inexact(t)} | {np.dtype(widest)}
        real = {np.zeros(0, t).real.dtype for t in types}
        # The statistics beside a private op's result may be wider on purpose.
        outputs = call.outputs()[:1] if name.startswith("_") else call.outputs()
        for out in outputs:
            if is_inexact(out):
                width = np.zeros(0, out._array.dtype).real.dtype
                assert width in real, f"{call!r} gives {out._array.dtype}"


# What converts by its nature.
_CONVERSIONS = "_to_copy _to_format to double float_power complex polar view_as_complex"
CONVERSIONS = frozenset(_CONVERSIONS.split())

WITH_KERNEL = [
    n
    for n in SAMPLED
    if OPS[n].kind == "pointwise"
    and OPS[n].reference is not None
    and (OPS[n].kernel is not None or OPS[n].traced_forward is not None)
]


def numeric_arguments(call: Call) -> list[Any] | None:
    """The arguments as `reference` takes them: arrays of one type, then the rest."""
    entry = OPS[call.name]
    _, params, _ = parse(entry.signature, KINDS.index("pointwise"))
    common = next((t._array.dtype for t in call.tensors if is_inexact(t)), None)
    common = common or call.tensors[0]._array.dtype
    n = len(params)
    if entry.kernel is not None:
        n = _core.kernel_arity(entry.kernel)
    found = []
    for i, row in enumerate(params):
        value = call.args[i] if i < len(call.args) else call.kwargs.get(row[0], row[-1])
        if hasattr(value, "_array"):
            value = value._array.astype(common if value._array.dtype != bool else bool)
        elif i < n and row[1] == ParamKind.OPERAND and isinstance(value, (bool, int, float)):
            value = np.asarray(value, common)
        found.append(value)
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", WITH_KERNEL)
def test_kernel_equals_reference(name: str, dtype: str) -> None:
    """Where a pointwise op has both, the kernel and the NumPy definition agree."""
    if not takes(name, dtype):
        return
    for call in calls(name, dtype):
        with np.errstate(all="ignore"):
            expected = np.asarray(OPS[name].reference(*numeric_arguments(call)))
        found = call.outputs()[0]._array
        assert_close(found, expected, f"{call!r}")


def test_every_public_op_has_a_reference() -> None:
    stated = [n for n in SAMPLED if OPS[n].samples is not None and not n.startswith("_")]
    missing = [n for n in stated if definition(n) is None]
    assert not missing, f"add to tests/table/references.py: {', '.join(missing)}"


def test_no_reference_of_what_does_not_exist() -> None:
    from references import REFERENCES

    assert not [n for n in REFERENCES if n not in OPS]


assert REFUSALS
