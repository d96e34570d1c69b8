"""Making tensors of a given size: filled, in even steps, the identity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _core, dtypes
from ._arrays import cell, check_tensor, fitted_number, none_left
from ._factory import allocate, finished, is_int, numpy_of, shape_of
from ._kinds import composite
from .from_data import array_of

Tensor = _core.Tensor
_wrap, _wrap_data = _core.wrap, _core.wrap_data

# ---- filled


def _filled(name: str, value: Any, doc: str) -> tuple[Any, Any]:
    """`zeros` and its kin; what is returned are the functions of a size and of a tensor like it."""

    @composite(method=False, name=name, doc=f"A tensor of the given size {doc}.")
    def create(
        *size: Any,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: Any = None,
        **named: Any,
    ) -> Any:
        if named or not size:
            size = _named_size(name, size, named)
        if requires_grad is not False and requires_grad is not True:
            raise _wrong(name, "requires_grad", "bool", requires_grad)
        array = allocate(shape_of(name, size), numpy_of(dtype, name), value)
        if out is None and device is None:
            return _wrap(array, requires_grad)
        return finished(array, requires_grad, out, device, function=name)

    @composite(
        method=False, name=name + "_like", doc=f"A tensor of another's size and dtype {doc}."
    )
    def like(
        input: Any,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        memory_format: Any = None,
        pin_memory: bool = False,
    ) -> Any:
        check_tensor(name + "_like", input)
        source = input._seen
        numpy_dtype = source.dtype if dtype is None else numpy_of(dtype, name)
        if source.flags.c_contiguous or 0 in source.strides:
            array = allocate(source.shape, numpy_dtype, value)
        else:
            array = np.empty_like(source, numpy_dtype)
            if value is not None:
                array.fill(value)
        return finished(array, requires_grad, device=device, function=name)

    def new(self: Any, *size: Any, dtype: Any = None, **more: Any) -> Any:
        return create(*size, dtype=dtype or self.dtype, **more)

    new.__name__ = "new_" + name
    new.__doc__ = f"A tensor of the given size and this tensor's dtype {doc}."
    setattr(Tensor, "new_" + name, new)
    return create, like


def _named_size(name: str, size: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    if "size" in named and not size:
        given = named.pop("size")
        size = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    elif not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    named.pop("names", None)
    none_left(name, named)
    return size


def _wrong(name: str, argument: str, kind: str, value: Any, position: int = 0) -> TypeError:
    where = f" (position {position})" if position else ""
    return TypeError(
        f"{name}(): argument '{argument}'{where} must be {kind}, not {type(value).__name__}"
    )


zeros, zeros_like = _filled("zeros", 0, "filled with 0")
ones, ones_like = _filled("ones", 1, "filled with 1")
empty, empty_like = _filled("empty", None, "whose elements are not set")


def _fill_dtype(value: Any, dtype: Any) -> Any:
    if dtype is not None:
        return numpy_of(dtype, "full")
    if isinstance(value, (bool, np.bool_)):
        return np.dtype(np.bool_)
    if isinstance(value, (int, np.integer)):
        return np.dtype(np.int64)
    if isinstance(value, complex):
        return dtypes.get_default_dtype().to_complex().numpy
    return dtypes.get_default_dtype().numpy


_NUMBERS = (int, float, complex, np.number, np.bool_)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) and value.dim() == 0 else value


@composite(method=False)
def full(
    size: Any,
    fill_value: Any,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    names: Any = None,
) -> Any:
    """A tensor of the given size filled with one value."""
    value = _number(fill_value)
    if not isinstance(size, (tuple, list)):
        raise _wrong("full", "size", "tuple of ints", size, 1)
    if not isinstance(value, _NUMBERS):
        raise _wrong("full", "fill_value", "Number", value, 2)
    shape = shape_of("full", (tuple(size),))
    wanted = _fill_dtype(value, dtype)
    array = allocate(shape, wanted, fitted_number(value, wanted))
    return finished(array, requires_grad, out, device, function="full")


@composite(method=False)
def full_like(
    input: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    pin_memory: bool = False,
) -> Any:
    """A tensor of another's size and dtype filled with one value."""
    array = empty_like(input, dtype=dtype)._array
    value = _number(fill_value)
    if not isinstance(value, _NUMBERS):
        raise _wrong("full_like", "fill_value", "Number", value, 2)
    array[...] = cell(value, array.dtype)
    return finished(array, requires_grad, device=device, function="full_like")


def _new_full(self: Any, size: Any, fill_value: Any, *, dtype: Any = None, **more: Any) -> Any:
    """A tensor of the given size, filled, of this tensor's dtype."""
    return full(size, fill_value, dtype=dtype or self.dtype, **more)


def _new_tensor(
    self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """A tensor of a copy of `data`, of this tensor's dtype."""
    return _wrap_data(array_of(data, dtype or self.dtype), requires_grad)


Tensor.new_full, Tensor.new_tensor = _new_full, _new_tensor  # type: ignore[method-assign]


@composite(method=False)
def empty_strided(size: Any, stride: Any, *, dtype: Any = None, **more: Any) -> Any:
    """A tensor of the given size and strides whose elements are not set."""
    shape, steps = tuple(size), tuple(stride)
    numpy_dtype = numpy_of(dtype)
    extent = (
        1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) if 0 not in shape else 0
    )
    flat = np.empty(extent, numpy_dtype)
    item = numpy_dtype.itemsize
    array = np.lib.stride_tricks.as_strided(flat, shape, [s * item for s in steps])
    return finished(array, more.get("requires_grad", False), device=more.get("device"))


# ---- ranges


@composite(method=False)
def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """The numbers from `start` (0) up to, not including, `end`."""
    if end is None:
        start, end = 0, start
    elif start is None:
        start = 0
    start, end, step = _number(start), _number(end), _number(step)
    for v in (start, end, step):
        if not isinstance(v, (int, float, np.number)):
            raise _wrong("arange", "end", "Number", v)
    if dtype is not None and numpy_of(dtype, "arange").kind in "cb":
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{dtype.scalar_name}'")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise RuntimeError(
            "upper bound and lower bound inconsistent with step sign: "
            f"start={start}, end={end}, step={step}"
        )
    integral = all(isinstance(v, (int, np.integer)) for v in (start, end, step))
    if dtype is None:
        numpy_dtype = np.dtype(np.int64) if integral else dtypes.get_default_dtype().numpy
    else:
        numpy_dtype = numpy_of(dtype, "arange")
    for v in (start, end, step):
        fitted_number(v, np.dtype(np.int64) if numpy_dtype.kind in "iu" else np.dtype(np.float64))
    if integral:
        array = np.arange(int(start), int(end), int(step), dtype=np.int64).astype(
            numpy_dtype, copy=False
        )
    else:
        if numpy_dtype.kind in "iu":
            start, end, step = int(start), int(end), int(step) or 1
        n = max(0, math.ceil((end - start) / step))
        array = (start + np.arange(n) * step).astype(numpy_dtype)
    return finished(array, requires_grad, out, device, function="arange")


@composite(method=False, name="range")
def range_(start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, **more: Any) -> Any:
    """The numbers from `start` to `end`, which is included (deprecated: use `arange`)."""
    if end is None:
        start, end = 0, start
    n = math.floor((end - start) / step) + 1
    array = (start + np.arange(n) * step).astype(numpy_of(dtype))
    return finished(array, more.get("requires_grad", False), more.get("out"))


@composite(method=False)
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """`steps` evenly spaced numbers from `start` to `end`, both included."""
    start, end = _number(start), _number(end)
    for at, value in enumerate((start, end), 1):
        if not isinstance(value, _NUMBERS):
            raise _wrong("linspace", ("start", "end")[at - 1], "Number", value, at)
    if not is_int(steps):
        raise _wrong("linspace", "steps", "int", steps, 3)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if dtype is dtypes.bool:
        raise NotImplementedError("\"linspace_cpu\" not implemented for 'Bool'")
    if dtype is None and (isinstance(start, complex) or isinstance(end, complex)):
        dtype = dtypes.get_default_dtype().to_complex()
    numpy_dtype = numpy_of(dtype, "linspace")
    if numpy_dtype.kind != "c" and (isinstance(start, complex) or isinstance(end, complex)):
        found = dtypes.get_default_dtype().to_complex().c_name
        raise RuntimeError(
            f"torch.linspace(): inferred dtype {found} can't be safely cast to passed dtype "
            f"{dtype.scalar_name}"
        )
    first, last = fitted_number(start, numpy_dtype), fitted_number(end, numpy_dtype)
    return finished(
        _evenly(first, last, steps, numpy_dtype), requires_grad, out, device, function="linspace"
    )


def _evenly(start: Any, end: Any, steps: int, numpy_dtype: Any) -> Any:
    # From both ends towards the middle, as torch does, so that both ends are exact.
    work = np.dtype(np.float32) if numpy_dtype.itemsize == 2 else numpy_dtype
    if numpy_dtype.kind in "iu":
        first, last = int(start), int(end)
        step = np.float32((last - first) / max(steps - 1, 1))
        i = np.arange(steps)
        low = first + (step * i.astype(np.float32)).astype(np.float32)
        high = last - (step * (steps - 1 - i).astype(np.float32)).astype(np.float32)
        return np.trunc(np.where(i < steps // 2, low, high)).astype(numpy_dtype)
    if steps == 1:
        return np.array([start], numpy_dtype)
    left, right = work.type(start), work.type(end)
    with np.errstate(all="ignore"):
        stride = (right - left) / work.type(max(steps - 1, 1))
        i = np.arange(steps)
        low = left + stride * i.astype(work)
        high = right - stride * (steps - 1 - i).astype(work)
    return np.where(i < steps // 2, low, high).astype(numpy_dtype)


@composite(method=False)
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, **more: Any
) -> Any:
    """`steps` numbers from base**start to base**end, evenly spaced in the exponent."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    numpy_dtype = numpy_of(dtype, "logspace")
    work = np.dtype(np.float64) if numpy_dtype.kind in "iu" else numpy_dtype
    exponents = _evenly(_number(start), _number(end), steps, work)
    array = np.power(work.type(base), exponents).astype(numpy_dtype)
    return finished(
        array,
        more.get("requires_grad", False),
        more.get("out"),
        more.get("device"),
        function="logspace",
    )


@composite(method=False)
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """The identity matrix of n rows and m columns (default n)."""
    if n < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {n}")
    array = np.eye(n, m, dtype=numpy_of(dtype, "eye"))
    return finished(array, requires_grad, out, device, function="eye")


@composite(method=False)
def tril_indices(row: int, col: int, offset: int = 0, **more: Any) -> Any:
    """The row and column numbers of a matrix's lower triangle, as a 2 x n tensor."""
    return _wrap(np.stack(np.tril_indices(row, offset, col)).astype(np.int64))


@composite(method=False)
def triu_indices(row: int, col: int, offset: int = 0, **more: Any) -> Any:
    """The row and column numbers of a matrix's upper triangle, as a 2 x n tensor."""
    return _wrap(np.stack(np.triu_indices(row, offset, col)).astype(np.int64))


_core.register(callbacks={"zeros_like": zeros_like})
