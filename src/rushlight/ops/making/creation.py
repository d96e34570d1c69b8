"""Making tensors of a given size: filled, in even steps, the identity."""

from __future__ import annotations

import math
from typing import Any

from ... import _core
from ..._base import determinism as _determinism
from ..._base import dtypes
from ..._base.device import preserve_format
from ..._base.errors import not_implemented_for, warn
from ..._base.outside import np, np_types
from ..._core import Tensor
from ..._devices import of
from ..._levels.running import answered
from ..table.arrays import (
    Array,
    check_room,
    check_tensor,
    fitted_number,
    held_number,
    is_stored,
)
from ..table.kinds import composite
from ..table.names import publish
from ..table.signature import Ints, Keywords, Number, Sizes, device, dtype, memory_format
from .copies import format_strides, lay_out, like_strides
from .factory import (
    allocate,
    check_keywords,
    destination,
    finished,
    leaf,
    shape_of,
    torch_dtype,
    type_of,
)
from .from_data import placed, read, warn_of_copy

# ---- filled


def _set_all(made: Any, value: Any) -> Any:
    """Sets all elements of a new tensor: no version, no graph."""
    kind = made._form.dtype
    _core.copy_values(made, of(made).made((), kind, held_number(value, kind)))
    return made


def unset(made: Any) -> Any:
    """A tensor whose elements are not set; in deterministic mode filled: NaN, or the largest."""
    if not (_determinism.level and _determinism.fills):
        return made
    return _set_all(made, _unset_value(made.dtype))


def _unset_value(kind: dtypes.dtype) -> Any:
    """The value that deterministic mode fills memory with."""
    if kind.is_floating_point or kind.is_complex:
        return math.nan
    return True if kind is dtypes.bool else dtypes.iinfo(kind).max


def _filled(name: str, value: int, doc: str) -> Any:
    """`zeros` and `ones`."""

    @composite(
        method=False,
        name=name,
        doc=f"A tensor of the given size {doc}.",
        native=getattr(_core.kernels, name),
    )
    def create(
        *size: Ints,
        out: Tensor | None = None,
        **how: Keywords,
    ) -> Tensor:
        if "size" in how or not size:
            size = _named_size(name, size, how)
        where = destination(how, name, out)
        made = where.made(shape_of(name, size), type_of(how.get("dtype"), name, out), value)
        return finished(made, how, out, name)

    return create


def _filled_like(name: str, create: Any, value: int | None, doc: str) -> Any:
    """`zeros_like` and its kin, and the methods `new_zeros` and its."""
    called = name + "_like"

    @composite(
        method=False,
        name=called,
        doc=f"A tensor of another's size and dtype {doc}.",
        native=getattr(_core.kernels, called, None),
    )
    @answered("like")
    def like(
        input: Tensor,
        *,
        memory_format: memory_format | None = None,
        **how: Keywords,
    ) -> Tensor:
        check_tensor(called, input)
        where = destination(how, called, like=input)
        strides, shape = like_strides(input, memory_format), input.shape
        dtype = how.get("dtype")
        kind = input.dtype if dtype is None else torch_dtype(dtype, name)
        if not where.has_memory:
            grad = how.get("requires_grad", False)
            return _core.empty_meta(tuple(shape), kind.code, strides, grad)
        made = leaf(where.made(tuple(shape), kind, value), how)
        if value is None:
            unset(made)
        return made if strides is None else lay_out(made, strides)

    @answered("new")
    def new(
        self: Tensor,
        *size: Ints,
        **how: Keywords,
    ) -> Any:
        return create(*size, **_as_of(self, how))

    new.__name__ = "new_" + name
    new.__doc__ = f"A tensor of the given size and this tensor's dtype {doc}."
    new.native = getattr(_core.kernels, "new_" + name, None)  # type: ignore[attr-defined]
    publish("Tensor", "new_" + name, new)
    return like


def _as_of(input: Tensor, how: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a call, with a tensor's own dtype and device where they say nothing."""
    how["dtype"] = how.get("dtype") or input.dtype
    if how.get("device") is None:
        how["device"] = input.device
    return how


def _named_size(
    name: str, size: tuple[Any, ...], named: dict[str, tuple[int, ...]]
) -> tuple[tuple[int, ...], ...]:
    if "size" in named:
        if size:
            raise TypeError(f"{name}() got multiple values for argument 'size'")
        size = (named.pop("size"),)
        if not isinstance(size[0], (tuple, list)):
            kind = type(size[0]).__name__
            raise TypeError(f"{name}(): argument 'size' must be tuple of ints, not {kind}")
    elif not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    return size


zeros = _filled("zeros", 0, "filled with 0")
ones = _filled("ones", 1, "filled with 1")


@composite(method=False, native=_core.kernels.empty)
def empty(
    *size: Ints,
    out: Tensor | None = None,
    memory_format: memory_format | None = None,
    **how: Keywords,
) -> Tensor:
    """A tensor of the given size whose elements are not set."""
    how.pop("names", None)
    if "size" in how or not size:
        size = _named_size("empty", size, how)
    shape = shape_of("empty", size)
    where = destination(how, "empty", out)
    made = where.made(shape, type_of(how.get("dtype"), "empty", out))
    if memory_format is None:
        return unset(finished(made, how, out, "empty"))
    if out is not None:
        raise RuntimeError("'memory_format' argument is incompatible with 'out' tensor argument")
    if memory_format is preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    return lay_out(unset(leaf(made, how)), format_strides(shape, memory_format))


zeros_like = _filled_like("zeros", zeros, 0, "filled with 0")
ones_like = _filled_like("ones", ones, 1, "filled with 1")
empty_like = _filled_like("empty", empty, None, "whose elements are not set")


def _fill_dtype(value: complex, dtype: dtype | None, out: object) -> Any:
    if dtype is not None or out is not None:
        return type_of(dtype, "full", out)
    if isinstance(value, (bool, np_types.bool_)):
        return dtypes.bool
    if isinstance(value, (int, np_types.integer)):
        return dtypes.int64
    if isinstance(value, complex):
        return dtypes.get_default_dtype().to_complex()
    return dtypes.get_default_dtype()


@composite(method=False, asks="modes", native=_core.kernels.full)
def full(
    size: Sizes,
    fill_value: Number,
    *,
    out: Tensor | None = None,
    names: Any = None,
    **how: Keywords,
) -> Tensor:
    """A tensor of the given size filled with one value."""
    shape = shape_of("full", (tuple(size),))
    wanted = _fill_dtype(fill_value, how.get("dtype"), out)
    where = destination(how, "full", out)
    made = where.made(shape, wanted, held_number(fill_value, wanted))
    return finished(made, how, out, "full")


@composite(method=False, native=_core.kernels.full_like)
@answered("like")
def full_like(
    input: Tensor,
    fill_value: Number,
    *,
    memory_format: memory_format | None = None,
    **how: Keywords,
) -> Tensor:
    """A tensor of another's size and dtype filled with one value."""
    check_keywords(how, "full_like")
    return _set_all(empty_like(input, memory_format=memory_format, **how), fill_value)


@answered("new")
def _new_full(self: Tensor, size: Sizes, fill_value: Number, **how: Keywords) -> Any:
    """A tensor of the given size, filled, of this tensor's dtype."""
    return full(size, fill_value, **_as_of(self, how))


def _new_tensor(
    self: Tensor,
    data: int | list[int],
    *,
    dtype: dtype | None = None,
    device: device | None = None,
    requires_grad: bool = False,
) -> Any:
    """A tensor of a copy of `data`, of this tensor's dtype."""
    warn_of_copy(data, "tensor.new_tensor(sourceTensor)")
    where = destination({"device": device}, "new_tensor", like=self)
    return placed(read(data, dtype or self.dtype), where, requires_grad)


_new_full.native = _core.kernels.new_full  # type: ignore[attr-defined]
publish("Tensor", "new_full", _new_full)
publish("Tensor", "new_tensor", _new_tensor)


@composite(method=False)
def empty_strided(
    size: Sizes,
    stride: Sizes,
    **how: Keywords,
) -> Tensor:
    """A tensor of the given size and strides whose elements are not set."""
    where = destination(how, "empty_strided")
    shape, steps = shape_of("empty_strided", (tuple(size),)), tuple(stride)
    if len(shape) != len(steps):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides "
            f"({len(steps)})"
        )
    if any(s < 0 for s in steps):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)} and "
            f"strides={list(steps)}"
        )
    kind = type_of(how.get("dtype"))
    if not where.has_memory:
        return _core.empty_meta(shape, kind.code, steps, how.get("requires_grad", False))
    extent = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    made = unset(leaf(where.made((extent,), kind), how))
    _core.take_place(made, _core.storage_of(made), shape, steps, 0)
    return made


@composite(method=False, asks="modes", native=_core.kernels.scalar_tensor)
def scalar_tensor(s: Number, **how: Keywords) -> Tensor:
    """A number as a tensor without dimensions, of the default dtype unless told.

    Raises RuntimeError for a complex number where the dtype is real.
    """
    return full((), s, **{**how, "dtype": how.get("dtype") or dtypes.get_default_dtype()})


@composite(method=False)
def empty_permuted(size: Sizes, physical_layout: Sizes, **how: Keywords) -> Tensor:
    """A tensor of the given size whose elements are not set, and whose dimensions lie in memory in
    the order given, the outermost first."""
    order, n = tuple(physical_layout), len(tuple(size))
    if len(order) != n:
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {n} is not equal to len(physical_layout) = {len(order)}"
        )
    steps, step = [0] * n, 1
    for at, dim in enumerate(order):
        if not 0 <= dim < n:
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {n - 1}, but got {dim} at "
                f"index {at}).  NB: negative dims not currently supported; file an issue if you "
                "want it."
            )
        if dim in order[:at]:
            raise RuntimeError("Duplicate dim not allowed")
    for dim in reversed(order):
        steps[dim] = step
        step *= max(size[dim], 1)
    return empty_strided(size, steps, **how)


# ---- ranges


def _as_held(values: tuple[Any, ...], kind: dtypes.dtype) -> tuple[float, ...]:
    """The numbers of a range as torch holds them: integers as int64, others as float64."""
    work = dtypes.int64 if kind.kind in "iu" else dtypes.float64
    for v in values:
        if isinstance(v, complex) and v.imag:
            raise RuntimeError(
                f"value cannot be converted to type double without overflow: {v} is complex"
            )
        if isinstance(v, float) and not math.isfinite(v):
            return values  # said of the whole range
    return tuple(fitted_number(v, work) for v in values)


def _check_range(start: float, end: float, step: float) -> None:
    if not (step > 0 or step < 0):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise RuntimeError(
            "upper bound and lower bound inconsistent with step sign: "
            f"start={start}, end={end}, step={step}"
        )


def _count(count: float) -> int:
    if not count < 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    return max(0, int(count))


def _in_steps(start: float, step: float, n: int, kind: dtypes.dtype, where: Any) -> Any:
    made = where.made((n,), kind)
    if where.makes:
        if n:
            where.fill_steps(made, start, step)
    elif where.has_memory:
        places = _core.kernels.nonzero(where.made((n,), dtypes.bool, 1))
        work = dtypes.int64 if kind.kind in "iu" else dtypes.float64
        values = _core.cast(places, work.code) * step + start
        _core.take_place(made, _core.storage_of(_core.cast(values, kind.code)), (n,), None, 0)
    return made


@composite(
    method=False,
    native=_core.kernels.arange,
    asks="modes",
    overloads=(
        "(end: Number, *, out, ...)",
        "(start: Number, end: Number, *, ...)",
        "(start: Number, end: Number, step: Number = 1, *, out, ...)",
    ),
)
def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    **how: Keywords,
) -> Tensor:
    """The numbers from `start` (0) up to, not including, `end`."""
    if end is None:
        if start is None or step != 1:
            raise TypeError('arange() missing 1 required positional arguments: "end"')
        start, end = 0, start
    elif start is None:
        start = 0
    dtype = how.get("dtype")
    whole = dtype is None and out is None and all(isinstance(v, int) for v in (start, end, step))
    kind = dtypes.int64 if whole else type_of(dtype, "arange", out)
    if kind.kind in "bc" or is_stored(kind):
        not_implemented_for("arange_cpu", kind.scalar_name)
    first, last, by = _as_held((start, end, step), kind)
    if kind is dtypes.int64:
        if not by and step:
            raise ValueError(f"step must be nonzero. As an integer {step} is 0.")
        _check_range(first, last, by)
        count = (last - first + by - (1 if by > 0 else -1)) // by
    else:
        _check_range(start, end, step)
        count = (end - start) / step
        count = math.ceil(count) if math.isfinite(count) else count
    where = destination(how, "arange", out)
    count = _count(count)
    made = _in_steps(first, by, count, kind, where)
    if out is not None and out.numel() not in (0, count):
        warn(
            f"The number of elements in the out tensor of shape {list(out.shape)} is "
            f"{out.numel()} which does not match the computed number of elements {count}. "
            "Note that this may occur as a result of rounding error. The out tensor will be "
            f"resized to a tensor of shape ({count},).",
        )
    return finished(made, how, out, "arange", keeps_size=True)


@composite(method=False, asks="modes", name="range")
def range_(
    start: Number,
    end: Number,
    step: Number = 1,
    *,
    out: Tensor | None = None,
    **how: Keywords,
) -> Tensor:
    """The numbers from `start` to `end`, which is included (deprecated: use `arange`)."""
    warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
    )
    kind = type_of(how.get("dtype"), "range", out)
    if kind.kind in "bc":
        not_implemented_for("range_cpu", kind.scalar_name)
    first, last, by = _as_held((start, end, step), kind)
    _check_range(first, last, by)
    where = destination(how, "range", out)
    count = _count(math.floor((last - first) / by) + 1)
    made = _in_steps(first, by, count, kind, where)
    return finished(made, how, out, "range", keeps_size=True)


def _even_type(name: str, start: Any, end: Any, dtype: Any, out: Any) -> Any:
    """The dtype of numbers between two ends, which may be complex."""
    for which, v in (("start", start), ("end", end)):
        if isinstance(v, Tensor):
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {which} with "
                f"{v.dim()} dimension(s)."
            )
    needed = dtypes.get_default_dtype().to_complex()
    if not isinstance(start, complex) and not isinstance(end, complex):
        return type_of(dtype, name, out)
    if dtype is None and out is None:
        return needed
    wanted = type_of(dtype, name, out)
    if wanted.kind != "c":
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {needed.c_name} can't be safely cast to passed dtype "
            f"{wanted.scalar_name}"
        )
    return wanted


def _check_steps(name: str, steps: int, kind: dtypes.dtype) -> None:
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if (kind.kind == "b" or is_stored(kind)) and steps > 1:
        not_implemented_for(f"{name}_cpu", kind.scalar_name)


@composite(
    method=False,
    native=_core.kernels.linspace,
    overloads=(
        "(start: Tensor, end: Tensor, steps, *, out, ...)",
        "(start: Number, end: Tensor, steps, *, out, ...)",
        "(start: Tensor, end: Number, steps, *, out, ...)",
        "(start: Number, end: Number, steps, *, out, ...)",
    ),
)
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    **how: Keywords,
) -> Tensor:
    """`steps` evenly spaced numbers from `start` to `end`, both included."""
    return _spaced("linspace", start, end, steps, how, out, _evenly)


def _spaced(
    name: str, start: Any, end: Any, steps: int, how: dict[str, Any], out: Any, values: Any
) -> Any:
    """The tensor of `values`: given both ends, how many and the type to compute in, an array."""
    start, end = _number(start), _number(end)
    kind = _even_type(name, start, end, how.get("dtype"), out)
    _check_steps(name, steps, kind)
    where = destination(how, name, out)
    if not where.has_memory:
        return finished(where.made((steps,), kind), how, out, name, keeps_size=True)
    first, last = fitted_number(start, kind), fitted_number(end, kind)
    work = dtypes.float64 if kind.kind in "biu" else kind
    made: Any = NotImplemented
    if values is _evenly and work.name in _WIDER:
        if where.makes:
            made = where.made((steps,), kind)
            if steps:
                numbers = _ends_and_step(first, last, steps, work.numpy)
                where.fill_steps(made, *(number[()] for number in numbers))
        else:
            made = _core.kernels.evenly(first, last, steps, dtype=work, device="cpu")
    if made is NotImplemented:
        with np.errstate(all="ignore"):
            made = where.tensor(values(first, last, steps, work.numpy))
    made = made if made.dtype is kind else _core.cast(made, kind.code)
    return finished(made, how, out, name, keeps_size=True)


def _number(value: Tensor) -> Any:
    return value.item() if isinstance(value, Tensor) and value.dim() == 0 else value


_WIDER = {"float32": "float64", "float64": "longdouble"}


def _ends_and_step(start: float, end: float, steps: int, work: Any) -> tuple[Any, Any, Any]:
    with np.errstate(all="ignore"):
        left, right = (np.array(number, work) for number in (start, end))
        return left, right, (right - left) / np.array(max(steps - 1, 1), work)


def _evenly(start: float, end: float, steps: int, work: Any) -> Array:
    """Computed from both ends towards the middle, as torch does, so that both ends are exact."""
    left, right, step = _ends_and_step(start, end, steps, work)
    if steps == 1:
        return left.reshape(1)
    check_room((steps,))
    i = np.arange(steps)
    # A step's product is not rounded before it is added: torch's compilers fuse the two.
    wide = np.dtype(_WIDER.get(np.dtype(work).name, work))
    step = step.astype(wide)
    low = left + step * i.astype(wide)
    high = right - step * (steps - 1 - i).astype(wide)
    return np.where(i < steps // 2, low, high).astype(work, copy=False)


@composite(
    method=False,
    native=_core.kernels.logspace,
    overloads=(
        "(start: Tensor, end: Tensor, steps, base, *, out, ...)",
        "(start: Number, end: Tensor, steps, base, *, out, ...)",
        "(start: Tensor, end: Number, steps, base, *, out, ...)",
        "(start: Number, end: Number, steps, base, *, out, ...)",
    ),
)
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    **how: Keywords,
) -> Tensor:
    """`steps` numbers from base**start to base**end, evenly spaced in the exponent."""

    def powers(first: Any, last: Any, steps: int, work: Any) -> Any:
        if work.itemsize == 2:  # the ends are only as exact as the type
            first, last = (float(np.array(v, work)) for v in (first, last))
            work = np.dtype(np.float32)
        return np.power(np.array(base, work), _evenly(first, last, steps, work))

    return _spaced("logspace", start, end, steps, how, out, powers)


@composite(
    method=False,
    native=_core.kernels.eye,
    overloads=(
        "(n, *, out, ...)",
        "(n, m: int, *, out, ...)",
    ),
)
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    **how: Keywords,
) -> Tensor:
    """The identity matrix of n rows and m columns (default n)."""
    for name, size in (("n", n), ("m", n if m is None else m)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    kind = type_of(how.get("dtype"), "eye", out)
    if kind is dtypes.complex32:
        not_implemented_for("eye", "ComplexHalf")
    where, m = destination(how, "eye", out), n if m is None else m
    made = where.made((n, m), kind, 0)
    diagonal = _core.place(_core.storage_of(made), kind, (min(n, m),), (m + 1,), 0)
    _core.copy_values(diagonal, where.made((), kind, 1))
    return finished(made, how, out, "eye")


def _triangle(name: str, lower: bool, doc: str) -> None:
    @composite(method=False, name=name, doc=doc, native=getattr(_core.kernels, name))
    def indices(
        row: int,
        col: int,
        offset: int = 0,
        **how: Keywords,
    ) -> Tensor:
        where = destination(how, name)
        for which, size in (("row", row), ("col", col)):
            if size < 0:
                raise RuntimeError(f"{which} must be non-negative, got{size}")
        wanted = type_of(how.get("dtype") or dtypes.int64, name)
        if wanted not in (dtypes.int64, dtypes.int32):
            not_implemented_for(name, wanted.scalar_name)
        # Row by row, without the matrix: the columns from `first`, `counts` of them. Far down an
        # upper triangle has none.
        row = row if lower else min(row, max(col - offset, 0))
        check_room((2, row))
        rows = np.arange(row, dtype=np.int64)
        diagonal = rows + max(min(offset, col), -row)
        first = np.zeros_like(rows) if lower else np.clip(diagonal, 0, col)
        counts = np.clip(diagonal + 1, 0, col) if lower else col - first
        about = counts.sum(dtype=np.float64)
        total = int(about) if about > 2**53 else int(counts.sum())
        if not where.has_memory:
            return leaf(where.made((2, total), wanted), how)
        result = allocate((2, total), wanted.numpy)
        counts = np.asarray(counts, np.intp)
        result[0] = np.repeat(rows, counts)
        result[1] = np.arange(total) - np.repeat(np.cumsum(counts) - counts - first, counts)
        return leaf(where.tensor(result), how)


_triangle(
    "tril_indices",
    True,
    "The row and column numbers of a matrix's lower triangle, as a 2 x n tensor.",
)
_triangle(
    "triu_indices",
    False,
    "The row and column numbers of a matrix's upper triangle, as a 2 x n tensor.",
)
