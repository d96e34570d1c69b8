"""Making tensors from data, numbers, ranges and shapes, and converting between element types."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from .. import _core, dtypes
from ..device import device as device_class
from ..device import resolve
from ._kinds import composite, linear

Tensor = _core.Tensor
_wrap, _wrap_data = _core.wrap, _core.wrap_data

__all__ = ["allocate", "finished", "shape_of", "tensor"]


# ---- shapes and memory


def shape_of(function: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that `f(2, 3)`, `f((2, 3))` and `f(torch.Size([2, 3]))` mean, checked."""
    listed = len(size) == 1 and isinstance(size[0], (tuple, list))
    if listed:
        size = tuple(size[0])
    try:
        shape = tuple([operator.index(n) for n in size])
    except TypeError:
        at = next(i for i, n in enumerate(size) if not hasattr(n, "__index__"))
        bad = type(size[at]).__name__
        if not at and not listed:
            raise TypeError(
                f"{function}(): argument 'size' (position 1) must be tuple of ints, not {bad}"
            ) from None
        raise TypeError(
            f"{function}(): argument 'size' failed to unpack the object at pos {at + 1} with error "
            f'"type must be tuple of ints,but got {bad}"'
        ) from None
    for at, n in enumerate(shape):
        if n < 0:
            if function == "zeros":
                raise RuntimeError(
                    f"zeros: Dimension size must be non-negative. Got {list(shape)}."
                )
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(shape)}"
            )
        if n >= 2**63:
            raise TypeError(
                f"{function}(): argument 'size' failed to unpack the object at pos {at + 1} with "
                f'error "Overflow when unpacking long long": {n} does not fit in 64 bits'
            )
    return shape


def allocate(shape: tuple[int, ...], numpy_dtype: Any, fill: Any = None) -> Any:
    """A new array; running out of memory is torch's RuntimeError."""
    try:
        if fill is None:
            return np.empty(shape, numpy_dtype)
        if fill == 0:
            return np.zeros(shape, numpy_dtype)
        return np.full(shape, fill, numpy_dtype)
    except (MemoryError, ValueError) as error:
        if (
            isinstance(error, ValueError)
            and "dimension" not in str(error)
            and "big" not in str(error)
        ):
            raise
        count = math.prod(shape)
        if count * np.dtype(numpy_dtype).itemsize >= 2**63:
            raise RuntimeError(
                f"Storage size calculation overflowed with sizes={list(shape)}"
            ) from None
        raise RuntimeError(
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate "
            f"memory: you tried to allocate {count * np.dtype(numpy_dtype).itemsize} bytes (a "
            f"tensor of shape {list(shape)})."
        ) from None


def finished(
    array: Any,
    requires_grad: bool = False,
    out: Any = None,
    device: Any = None,
    layout: Any = None,
    pin_memory: bool = False,
    function: str = "tensor",
) -> Any:
    """Wrap a creation function's array, or write it to `out`."""
    if device is not None:
        resolve(device, function)
    if out is not None:
        return finish_out(out, _wrap(array), function)
    return _wrap(array, True) if requires_grad else _wrap(array)


def numpy_of(dtype: Any, function: str = "tensor") -> Any:
    """The NumPy dtype of an optional torch dtype argument."""
    if dtype is None:
        return dtypes.get_default_dtype().numpy
    if isinstance(dtype, dtypes.dtype):
        return dtype.numpy
    if dtype is float:
        return np.dtype(np.float64)
    if dtype is int:
        return np.dtype(np.int64)
    if dtype is bool:
        return np.dtype(np.bool_)
    raise TypeError(
        f"{function}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}"
    )


def finish_out(out: Any, result: Any, name: str) -> Any:
    """Write results to the `out=` tensors; resizes them, refuses a lossy cast."""
    if isinstance(result, tuple):
        outs = tuple(out)
        for o, r in zip(outs, result, strict=True):
            finish_out(o, r, name)
        return type(result)(outs)
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if not _core.can_cast(result.dtype.code, out.dtype.code):
        raise RuntimeError(
            f"result type {result.dtype.scalar_name} can't be cast to the desired output type "
            f"{out.dtype.scalar_name}"
        )
    _core.check_in_place(out, False)
    array = result._array
    if out._array.shape != array.shape:
        if out._array.size:
            import warnings

            warnings.warn(
                "An output with one or more elements was resized since it had shape "
                f"{list(out.shape)}, which does not match the required output shape "
                f"{list(array.shape)}. This behavior is deprecated, and in a future PyTorch "
                "release outputs will not be resized unless they have zero elements. You can "
                "explicitly reuse an out tensor t by resizing it, inplace, to zero "
                "elements with t.resize_(0).",
                UserWarning,
                stacklevel=3,
            )
        out._array = np.empty(array.shape, out._array.dtype)
    np.copyto(out._array, array, casting="unsafe")
    out._bump_version()
    return out


# ---- from data

_SCALARS = (float, int, bool, complex, np.generic)


def _plain(data: Any) -> Any:
    """Nested data with every tensor in it replaced by numbers."""
    if isinstance(data, Tensor):
        return data.tolist()
    if isinstance(data, (list, tuple)):
        return [_plain(d) for d in data]
    return data


def _first(data: Any) -> Any:
    depth = 0
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
        depth += 1
        if depth > 64:  # NumPy's limit; a list may also contain itself
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
    return data


def _ragged(data: Any) -> str:
    def walk(level: Any, depth: int) -> str | None:
        if not isinstance(level, (list, tuple)) or not level:
            return None
        sizes = [len(x) if isinstance(x, (list, tuple)) else -1 for x in level]
        for size, x in zip(sizes, level, strict=True):
            if size != sizes[0]:
                if sizes[0] < 0:
                    raise TypeError(
                        f"'{type(x).__name__}' object cannot be interpreted as an integer"
                    )
                if size < 0:
                    raise TypeError("not a sequence")
                return f"expected sequence of length {sizes[0]} at dim {depth + 1} (got {size})"
        return next((found for x in level if (found := walk(x, depth + 1))), None)

    return walk(data, 0) or "could not make a tensor of this data"


def array_of(data: Any, dtype: Any = None, copy: bool = True) -> Any:
    """The ndarray of anything that `torch.tensor` accepts."""
    wanted = None if dtype is None else numpy_of(dtype)
    if type(data) is float and (wanted is None or wanted.kind not in "iu"):
        return np.array(data, wanted or dtypes.get_default_dtype().numpy)
    if isinstance(data, Tensor):
        array = data._array
    elif isinstance(data, np.ndarray):
        array = data
        kind, size = array.dtype.kind, array.dtype.itemsize
        too_wide = (kind == "f" and size > 8) or (kind == "c" and size > 16)
        if too_wide or (kind in "OSUMmV" and array.dtype.name != "bfloat16"):
            raise TypeError(
                f"can't convert np.ndarray of type numpy.{array.dtype.type.__name__}. The only "
                "supported types are: float64, float32, float16, complex64, complex128, int64, "
                "int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
            )
        if not array.dtype.isnative:
            raise ValueError(
                "given numpy array has byte order different from the native byte order. "
                "Conversion between byte orders is currently not supported."
            )
    elif isinstance(data, np.generic):
        array = np.asarray(data)
    elif isinstance(data, (list, tuple, *_SCALARS)):
        return _array_of_sequence(data, wanted)
    elif hasattr(data, "__array__") and not isinstance(data, (str, bytes)):
        array = np.asarray(data)
        if array.dtype.kind in "OSUMm":
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    elif isinstance(data, (str, bytes)):
        raise TypeError("new(): invalid data type 'str'")
    elif hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, dict):
        return _array_of_sequence([data[i] for i in range(len(data))], wanted)
    else:
        try:
            memory = memoryview(data)
        except TypeError:
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}") from None
        array = np.asarray(memory)
    if wanted is not None and array.dtype != wanted:
        with np.errstate(all="ignore"):
            if array.dtype.kind == "c" and wanted.kind != "c":
                array = array.real
            return array.astype(wanted)
    return np.array(array, copy=True, order="C") if copy else array


def _array_of_sequence(data: Any, wanted: Any) -> Any:
    first = _first(data)
    if isinstance(first, Tensor) or (
        isinstance(first, np.ndarray) and not isinstance(data, np.ndarray)
    ):
        if wanted is None and isinstance(first, Tensor):
            wanted = first.dtype.numpy if first.dim() == 0 or first.numel() else None
            flat = _flat_tensors(data)
            if flat:
                wanted = _core.result_type(
                    [t.reshape(-1)[:1] if t.dim() else t for t in flat]
                ).numpy
        elif wanted is None:
            wanted = first.dtype
        data = _plain(data)
    try:
        array = np.array(data)
    except ValueError:
        data = _plain(data)
        try:
            array = np.array(data)
        except ValueError:
            raise ValueError(_ragged(data)) from None
    kind = array.dtype.kind
    if kind == "O":
        plain = _plain(data)
        array = np.array(plain)
        kind = array.dtype.kind
        if kind == "O":
            leaf = _odd_leaf(plain)
            if isinstance(leaf, int):
                raise ValueError("Overflow when unpacking long long")
            raise RuntimeError(f"Could not infer dtype of {type(leaf).__name__}")
    if kind in "SU":
        depth = array.ndim
        if depth:
            raise ValueError(f"too many dimensions '{type(first).__name__}'")
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if wanted is not None:
        if kind in "iuf" and wanted.kind in "iu" and array.size:
            limits = np.iinfo(wanted)
            # A negative number goes into an unsigned type as long as its size fits.
            low = limits.min if wanted.kind == "i" else -limits.max if kind != "f" else 0
            if not (low <= array.min() and array.max() <= limits.max):
                raise RuntimeError(
                    f"value cannot be converted to type {wanted.name} without overflow"
                )
        if kind == "c" and wanted.kind != "c":
            raise TypeError("must be real number, not complex")
        if kind == "f" and array.size and wanted.kind in "iu":
            return np.trunc(array).astype(wanted)
        return array.astype(wanted)
    if kind == "f":
        if not isinstance(first, np.generic) or array.size == 0:
            return array.astype(dtypes.get_default_dtype().numpy)
        return array
    if kind == "c" and not isinstance(first, np.generic):
        return array.astype(dtypes.get_default_dtype().to_complex().numpy)
    if kind == "u" and not isinstance(first, np.generic):
        raise ValueError("Overflow when unpacking long long")
    if array.size == 0:
        return array.astype(dtypes.get_default_dtype().numpy)
    return array


def _flat_tensors(data: Any) -> list[Any]:
    if isinstance(data, Tensor):
        return [data]
    if isinstance(data, (list, tuple)):
        return [t for d in data for t in _flat_tensors(d)]
    return []


def _odd_leaf(data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        for d in data:
            leaf = _odd_leaf(d)
            if leaf is not None:
                return leaf
        return None
    return (
        None
        if isinstance(data, (float, bool, complex))
        or (isinstance(data, int) and -(2**63) <= data < 2**63)
        else data
    )


@composite(method=False)
def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A new leaf tensor with a copy of `data`: numbers, nested lists, arrays or tensors.

    >>> import rushlight as torch
    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if device is not None:
        resolve(device)
    if isinstance(data, Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), "
            "rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    return _wrap_data(array_of(data, dtype), requires_grad)


@composite(method=False)
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """Like `tensor`, but shares memory where it can; a tensor keeps its history."""
    if device is not None:
        resolve(device)
    if isinstance(data, Tensor):
        return data if dtype is None or dtype is data.dtype else to(data, dtype)
    return _wrap_data(array_of(data, dtype, copy=False))


@composite(method=False)
def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Any:
    """A tensor of `obj`, sharing memory unless copy=True or a conversion is needed."""
    if device is not None:
        resolve(device)
    if isinstance(obj, Tensor):
        result = obj if dtype is None or dtype is obj.dtype else to(obj, dtype)
        if copy and result is obj:
            result = clone_of(obj)
        return result
    array = array_of(obj, dtype, copy=bool(copy))
    return _wrap_data(array, requires_grad)


def clone_of(t: Any) -> Any:
    return t.clone()


@composite(method=False)
def from_numpy(ndarray: Any) -> Any:
    """A tensor that shares the memory of a numpy.ndarray."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if not ndarray.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array with array.copy().) "
        )
    array_of(ndarray, copy=False)
    if not ndarray.flags.writeable:
        import warnings

        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. This means writing to this tensor will result in undefined behavior. You "
            "may want to copy the array to protect its data or make it writable before converting "
            "it to a tensor. This type of warning will be suppressed for the rest of this program.",
            UserWarning,
            stacklevel=2,
        )
    return _wrap_data(ndarray.view(np.ndarray))


@composite(method=False)
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """A 1-D tensor over an object that has the buffer interface."""
    return _wrap_data(np.frombuffer(buffer, numpy_of(dtype), count, offset), requires_grad)


# ---- filled


def _filled(name: str, value: Any, doc: str) -> Any:
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
        _check_tensor(name + "_like", input)
        source = input._array
        numpy_dtype = source.dtype if dtype is None else numpy_of(dtype, name)
        if source.flags.c_contiguous or (value is None and 0 in source.strides):
            array = allocate(source.shape, numpy_dtype, value)
        else:
            array = np.empty_like(source, numpy_dtype)
            if value is not None:
                array.fill(value)
        return finished(array, requires_grad, device=device, function=name)

    create.__name__ = create.__qualname__ = name
    like.__name__ = like.__qualname__ = name + "_like"
    create.__doc__ = f"A tensor of the given size {doc}."
    like.__doc__ = f"A tensor of another's size and dtype {doc}."
    composite(create, method=False)
    composite(like, method=False)

    def new(self: Any, *size: Any, dtype: Any = None, **more: Any) -> Any:
        return create(*size, dtype=dtype or self.dtype, **more)

    new.__name__ = "new_" + name
    new.__doc__ = f"A tensor of the given size and this tensor's dtype {doc}."
    setattr(Tensor, "new_" + name, new)
    return create


def _named_size(name: str, size: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    if "size" in named and not size:
        given = named.pop("size")
        size = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    elif not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    named.pop("names", None)
    if named:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")
    return size


def _wrong(name: str, argument: str, kind: str, value: Any, position: int = 0) -> TypeError:
    where = f" (position {position})" if position else ""
    return TypeError(
        f"{name}(): argument '{argument}'{where} must be {kind}, not {type(value).__name__}"
    )


def _check_tensor(name: str, input: Any) -> None:
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )


zeros = _filled("zeros", 0, "filled with 0")
ones = _filled("ones", 1, "filled with 1")
empty = _filled("empty", None, "whose elements are not set")


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
    return value.item() if isinstance(value, Tensor) else value


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
    array = allocate(shape, _fill_dtype(value, dtype), value)
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
    array.fill(_number(fill_value))
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


from ._op import namespace as _namespace  # noqa: E402

zeros_like, ones_like, empty_like = (
    _namespace("torch")[name] for name in ("zeros_like", "ones_like", "empty_like")
)


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
    if dtype is not None and numpy_of(dtype, "arange").kind == "c":
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
    if not isinstance(start, _NUMBERS) or not isinstance(end, _NUMBERS):
        raise _wrong("linspace", "start", "Number", start, 1)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if dtype is dtypes.bool:
        raise NotImplementedError("\"linspace_cpu\" not implemented for 'Bool'")
    if dtype is None and (isinstance(start, complex) or isinstance(end, complex)):
        dtype = dtypes.get_default_dtype().to_complex()
    numpy_dtype = numpy_of(dtype, "linspace")
    return finished(
        _evenly(start, end, steps, numpy_dtype), requires_grad, out, device, function="linspace"
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


# ---- conversions


def _cast(a: Any, dtype: Any) -> Any:
    with np.errstate(all="ignore"):
        if a.dtype.kind == "c" and not dtype.is_complex:
            a = a.real
        return a.astype(dtype.numpy)  # keeps the memory order


_to_copy = linear(
    "_to_copy(input, dtype: dtype)",
    _cast,
    transpose={"input": lambda g, input_dtype: fit_dtype(g, input_dtype)},
    node="ToCopyBackward0",
    method=False,
    out=False,
    samples=lambda make: [(make(2, 3), dtypes.float64)],
    doc="The same values with another element type.",
)


def fit_dtype(g: Any, dtype: Any) -> Any:
    """A gradient with the dtype of what it is the gradient of: real parts for real tensors."""
    if g.dtype.is_complex and not dtype.is_complex:
        g = g.real
    return g if g.dtype is dtype else _to_copy(g, dtype)


_PYTHON_DTYPES = {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool}


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, bool, Any]:
    dtype, copy = kwargs.pop("dtype", None), kwargs.pop("copy", False)
    memory_format = kwargs.pop("memory_format", None)
    device = kwargs.pop("device", None)
    other = kwargs.pop("other", None)
    kwargs.pop("non_blocking", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    rest = list(args)
    if rest:
        first = rest.pop(0)
        if isinstance(first, dtypes.dtype):
            dtype = first
        elif first in _PYTHON_DTYPES if isinstance(first, type) else False:
            dtype = _PYTHON_DTYPES[first]
        elif isinstance(first, Tensor):
            other = first
        elif first is None or isinstance(first, (str, int, device_class)):
            device = first
            if rest and (rest[0] is None or isinstance(rest[0], (dtypes.dtype, type))):
                second = rest.pop(0)
                dtype = _PYTHON_DTYPES.get(second, second)
        else:
            raise TypeError(
                "to() received an invalid combination of arguments - got "
                f"({type(first).__name__}), but expected a dtype, a device or a tensor"
            )
        if rest:
            rest.pop(0)  # non_blocking
        if rest:
            copy = rest.pop(0)
    if other is not None:
        dtype = other.dtype
    if device is not None:
        resolve(device, "to")
    return dtype, copy, memory_format


@composite(name="to")
def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor with another dtype or device; itself when nothing changes and copy is False."""
    if len(args) == 1 and not kwargs and type(args[0]) is dtypes.dtype:
        return self if args[0] is self.dtype else _to_copy(self, args[0])
    dtype, copy, memory_format = _parse_to(args, kwargs)
    if dtype is None or dtype is self.dtype:
        if memory_format is not None and not copy:
            return self.contiguous(memory_format=memory_format)
        return self.clone() if copy else self
    return _to_copy(self, dtype)


def _cast_method(name: str, dtype: Any) -> None:
    def method(self: Any, memory_format: Any = None) -> Any:
        return self if self.dtype is dtype else _to_copy(self, dtype)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The tensor as {dtype}."
    composite(method, name=name)


for _name, _dtype in {
    "float": dtypes.float32,
    "double": dtypes.float64,
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "long": dtypes.int64,
    "int": dtypes.int32,
    "short": dtypes.int16,
    "char": dtypes.int8,
    "byte": dtypes.uint8,
    "bool": dtypes.bool,
    "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}.items():
    _cast_method(_name, _dtype)
    # `torch.float` is a dtype, not this function.
    _namespace("torch").pop(_name, None)


@composite
def type_as(self: Any, other: Any) -> Any:
    """The tensor with another tensor's dtype."""
    return self if self.dtype is other.dtype else _to_copy(self, other.dtype)


_core.register(callbacks={"as_tensor": as_tensor, "finish_out": finish_out, "fit_dtype": fit_dtype})
