"""Small helpers of the distributions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

from rushlight import _root as rl
from rushlight._root import Tensor

from ..nn import functional as F
from ..overrides import is_tensor_like

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant: float = 0.57721566490153286060

Shape = Sequence[int]

_T = TypeVar("_T")


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """The values as tensors of one shape; numbers get the type and device of the first tensor.

    >>> torch.distributions.utils.broadcast_all(torch.zeros(2), 1.0)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    if all(type(v) is Tensor for v in values) and len({v.shape for v in values}) == 1:
        return values
    if not all(is_tensor_like(v) or isinstance(v, (int, float)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects "
            "implementing __torch_function__."
        )
    first = next((v for v in values if isinstance(v, Tensor)), None)
    dtype = rl.get_default_dtype() if first is None else first.dtype
    where = None if first is None else first.device
    tensors = [v if is_tensor_like(v) else rl.tensor(v, dtype=dtype, device=where) for v in values]
    return tuple(rl.broadcast_tensors(*tensors))


def _standard_normal(shape: Shape, dtype: rl.dtype, device: rl.device) -> Tensor:
    """Numbers of the standard normal distribution."""
    return rl.empty(shape, dtype=dtype, device=device).normal_()


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the `dim` rightmost dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[: value.dim() - dim], -1)).sum(-1)


_sum_rightmost = sum_rightmost  # the name that programs import


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept off 0 and 1 by one step of their type.

    >>> bool(torch.distributions.utils.clamp_probs(torch.zeros(())) > 0)
    True
    """
    eps = rl.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from log odds (`is_binary`) or from unnormalised log probabilities."""
    return rl.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log odds (`is_binary`) or log probabilities of probabilities."""
    safe = clamp_probs(probs)
    return safe.log() - rl.log1p(-safe) if is_binary else safe.log()


class lazy_property(Generic[_T]):
    """A property that is computed at its first use and kept as an attribute.

    >>> class Square:
    ...     @torch.distributions.utils.lazy_property
    ...     def area(self):
    ...         return 4
    >>> Square().area
    4
    """

    def __init__(self, wrapped: Callable[[Any], _T]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__
        self.__name__: str = wrapped.__name__

    @overload
    def __get__(self, instance: None, obj_type: object = None) -> lazy_property[_T]: ...
    @overload
    def __get__(self, instance: object, obj_type: object = None) -> _T: ...
    def __get__(self, instance: object | None, obj_type: object = None) -> lazy_property[_T] | _T:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with rl.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property[_T], property):  # type: ignore[misc]
    """A lazy property seen from the class: a property for tools that read documentation."""

    def __init__(self, wrapped: Callable[[object], _T]) -> None:
        property.__init__(self, wrapped)
        self.wrapped = wrapped


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal, row by row.

    >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1.0, 9.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = rl.tril_indices(n, n, diag, device=mat.device)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The matrix that has the elements of `vec` on and below a diagonal, row by row, else zeros.

    >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    count = vec.shape[-1]
    n = (
        -(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5
    ) / 2
    if not round(n) - n <= rl.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    size = round(n)
    matrix = vec.new_zeros((*vec.shape[:-1], size, size))
    rows, columns = rl.tril_indices(size, size, diag, device=vec.device)
    matrix[..., rows, columns] = vec
    return matrix
