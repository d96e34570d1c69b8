"""The device `meta`: shapes, strides and element types without memory.

Kernels and views know the layout of their results and do not run. A NumPy definition runs on
stand-ins: arrays of the arguments' shapes that show one zero in all places, and take no memory.
Its result tells shape and type. So it goes for results that are sure to be small (`_MOST`), and
where no shape depends on values (`by_values=`). An op of large arguments states its `shape=`.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .. import _core
from .._base.device import on_meta
from .._base.dtypes import from_numpy_dtype
from .._base.outside import np
from .._core import Tensor

__all__ = ["Meta"]

_MOST = 10**6
"""How many elements a definition's arguments may have together."""

_NO_DATA = "Cannot copy out of meta tensor; no data!"
_NONZERO = (
    "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct "
    "data-independent implementation does not exist. This implementation returns a fake value, "
    "assuming all elements of the tensor are non-zero. To enable this registration, please set "
    "'torch.fx.experimental._config.meta_nonzero_assume_all_nonzero' to True. "
)
_NO_KERNEL = (
    "aten::{}: attempted to run this operator with Meta tensors, but there was no fake impl or "
    "Meta kernel registered. "
)


class Meta:
    name = on_meta
    has_memory = False
    makes = False

    def made(self, shape: tuple[int, ...], dtype: Any, fill: Any = None) -> Tensor:
        return _core.empty_meta(tuple(shape), dtype.code)

    def tensor(self, array: Any) -> Tensor:
        return _core.empty_meta(array.shape, from_numpy_dtype(array.dtype).code)

    def from_host(self, tensor: Tensor) -> Tensor:
        return _core.empty_meta(tuple(tensor.shape), tensor.dtype.code, tensor.stride()).clone()

    def to_host(self, tensor: Tensor) -> NoReturn:
        raise NotImplementedError(_NO_DATA)

    def check_values(self, op: str) -> None:
        said = _NONZERO if op == "nonzero" else _NO_KERNEL.format(op)
        raise NotImplementedError(f"{said}The shape of its result depends on values.")

    def run(self, op: _core.Op, function: Any, args: tuple[Any, ...]) -> Any:
        row = op.entry
        if row.by_values:
            self.check_values(row.by_values)
        if row.shape is not None and (made := row.shape(*args)) is not NotImplemented:
            return made
        tensors = [t for a in args for t in (a if isinstance(a, (list, tuple)) else [a])]
        count = sum(t.numel() for t in tensors if isinstance(t, _core.Tensor))
        if count > _MOST and row.like_first:
            return args[0].clone() if args[0]._on_meta else self.from_host(args[0])
        if count > _MOST:
            raise NotImplementedError(
                f"{op.__name__}() on meta tensors is found by running it on zeros, which is done "
                f"for up to {_MOST} elements. Its arguments have {count}."
            )
        with np.errstate(all="ignore"):
            try:
                result = function(*[_stand_in(a, False) for a in args])
            except RuntimeError:
                # Zeros are no matrix that can be inverted or factored, and no row counted from 1.
                result = function(*[_stand_in(a, True) for a in args])
        return self._result(result)

    def _result(self, value: object) -> Any:
        if value is None or value is NotImplemented:
            return value
        if isinstance(value, (tuple, list)):
            return tuple([self._result(v) for v in value])
        if isinstance(value, _core.Tensor):
            return value if value._on_meta else self.from_host(value)
        array = np.asarray(value)
        steps = [s // array.itemsize for s in array.strides]
        if array.flags.c_contiguous or min(steps, default=1) <= 0:
            return self.tensor(array)
        # An array of values may have another order than that of its shape.
        code = from_numpy_dtype(array.dtype).code
        return _core.empty_meta(array.shape, code, tuple(steps)).clone()

    def synchronize(self) -> None:
        pass  # nothing is ever under way

    def draw(self, kernel: str, place: Any, tensor: Any, *args: Any) -> None:
        raise NotImplementedError

    def fill_steps(self, tensor: Any, *numbers: float) -> None:
        raise NotImplementedError


def _stand_in(value: object, identity: bool) -> Any:
    """The stand-in for an argument, for a call of the definition."""
    if isinstance(value, (list, tuple)):
        if any(isinstance(v, _core.Tensor) for v in value):
            return [_stand_in(v, identity) for v in value]
        return value
    if not isinstance(value, _core.Tensor):
        return value
    array = value._array
    if identity and array.ndim > 1 and array.dtype.kind in "fc":
        return np.broadcast_to(np.eye(*array.shape[-2:], dtype=array.dtype), array.shape)
    if identity and array.dtype.kind == "i":
        return np.broadcast_to(np.ones((), array.dtype), array.shape)
    return array
