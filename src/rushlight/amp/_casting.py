"""Which calls autocast changes, and how: the mode that sees every public call while it is on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar

from .. import _core, fft, linalg
from .. import _dtypes as dtypes
from .. import _root as rl
from .._core import Tensor
from ..nn import functional

__all__ = ["Caster", "lower", "state"]

# The functions by what is done with their floating-point arguments, float64 left alone. In the
# lower precision: what products are made of.
_LOWER = """conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc bmm mm
baddbmm addmm addbmm linear matmul __matmul__ __rmatmul__ einsum tensordot chain_matmul multi_dot
vecdot prelu scaled_dot_product_attention""".split()
# In the types that the arguments have, though we compute them by products.
_AS_IS = ["bilinear"]
# In float32: what would lose too much.
_FLOAT32 = """avg_pool3d binary_cross_entropy grid_sample grid_sampler polar prod quantile
nanquantile stft istft cdist trace view_as_complex cholesky cholesky_inverse cholesky_solve inverse
lu_solve orgqr ormqr pinverse max_pool3d max_unpool2d max_unpool3d adaptive_avg_pool3d
adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d mse_loss cosine_embedding_loss
nll_loss hinge_embedding_loss poisson_nll_loss smooth_l1_loss cross_entropy l1_loss huber_loss
margin_ranking_loss soft_margin_loss triplet_margin_loss multi_margin_loss ctc_loss kl_div
multilabel_margin_loss binary_cross_entropy_with_logits geqrf qr svd triangular_solve cond
matrix_rank solve eigvals eigvalsh svdvals inv householder_product tensorinv tensorsolve
cholesky_ex eig eigh lstsq inv_ex fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn
irfftn hfft ihfft""".split()
# In the widest type among the arguments.
_WIDEST = "stack cat concat concatenate index_copy".split()

# On accelerators, as on CUDA.
_FLOAT32_THERE = """__pow__ __rpow__ __rtruediv__ acos asin cosh exp expm1 log log10 log2 log1p
reciprocal rsqrt sinh tan pow softplus layer_norm native_layer_norm rms_norm group_norm norm
frobenius_norm nuclear_norm cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss
cross_entropy hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss
margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss
binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp softmax log_softmax softmin
cumprod cumsum prod sum""".split()
_WIDEST_THERE = "addcdiv addcmul atan2 cross dot grid_sample index_put scatter_add".split()

_Kind = Callable[[list[Tensor], str], dtypes.dtype]


class _State(threading.local):
    """What autocast is told on this thread, by kind of device."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.types: dict[str, dtypes.dtype] = {"cpu": dtypes.bfloat16}
        self.keeps = True  # whether the casts of leaves are kept until the outermost block ends
        self.nesting = 0
        self.entered = False  # whether the mode is among those of the thread
        self.kept: dict[tuple[int, dtypes.dtype], tuple[Tensor, Tensor]] = {}


state = _State()


def _named(names: list[str]) -> set[Any]:
    """The functions and methods of those names."""
    places = (rl, linalg, fft, functional, Tensor)
    found = (getattr(place, name, None) for name in names for place in places)
    return {f for f in found if f is not None}


class Caster:
    """The mode: it casts the arguments of the functions above, and leaves the calls inside others
    to be seen in turn."""

    kinds: ClassVar[dict[Any, _Kind]] = {}
    kinds_there: ClassVar[dict[Any, _Kind]] = {}
    as_is: ClassVar[set[Any]] = set()

    def __init__(self) -> None:
        if not self.kinds:
            self.kinds.update(dict.fromkeys(_named(_LOWER), lambda tensors, where: lower(where)))
            self.kinds.update(
                dict.fromkeys(_named(_FLOAT32), lambda tensors, where: dtypes.float32)
            )
            self.kinds.update(dict.fromkeys(_named(_WIDEST), _widest))
            self.kinds_there.update(dict.fromkeys(_named(_LOWER), self.kinds[rl.mm]))
            self.kinds_there.update(dict.fromkeys(_named(_FLOAT32_THERE), self.kinds[rl.trace]))
            self.kinds_there.update(dict.fromkeys(_named(_WIDEST + _WIDEST_THERE), _widest))
            self.as_is.update(_named(_AS_IS))

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        on = [kind for kind, enabled in state.enabled.items() if enabled]
        if not on or func in self.as_is:
            return _core.skip_one_hop(func, types, args, kwargs)
        if func in self.kinds or func in self.kinds_there:
            tensors = _tensors((*args, *kwargs.values()))
            there = (t.device.type for t in tensors)
            where = on[0] if len(on) == 1 else next((d for d in there if d in on), on[0])
            wanted = (self.kinds if where == "cpu" else self.kinds_there).get(func)
        else:
            wanted = None
        if wanted is not None and kwargs.get("out") is None:
            kind = wanted(tensors, where)
            args = tuple(_cast(a, kind, where) for a in args)
            kwargs = {name: _cast(a, kind, where) for name, a in kwargs.items()}
            return _core.skip_one_hop(func, types, args, kwargs)
        _core.enter_mode(self)  # while a mode answers it is not asked
        try:
            return _core.skip_one_hop(func, types, args, kwargs)
        finally:
            _core.leave_mode()


def lower(where: str) -> dtypes.dtype:
    """The lower precision of a kind of device."""
    return state.types.get(where, dtypes.float16)


def _eligible(t: Tensor, where: str) -> bool:
    return t.is_floating_point() and t.dtype is not dtypes.float64 and t.device.type == where


def _tensors(values: Any) -> list[Tensor]:
    found = []
    for v in values:
        if isinstance(v, Tensor):
            found.append(v)
        elif isinstance(v, (list, tuple)):
            found += _tensors(v)
    return found


def _widest(tensors: list[Tensor], where: str) -> dtypes.dtype:
    types = {t.dtype for t in tensors if _eligible(t, where)}
    return dtypes.float32 if dtypes.float32 in types else lower(where)


def _cast(value: Any, kind: dtypes.dtype, where: str) -> Any:
    """An argument with its eligible tensors in a type."""
    if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
        return type(value)(_cast(v, kind, where) for v in value)
    if not isinstance(value, Tensor) or not _eligible(value, where) or value.dtype is kind:
        return value
    leaf = value.is_leaf and value.requires_grad and not value._is_view()
    if not (leaf and state.keeps and kind is lower(where) and rl.is_grad_enabled()):
        return value.to(kind)
    key = id(value), kind
    if key not in state.kept:  # a weight used twice is cast once, and its gradients meet there
        state.kept[key] = value, value.to(kind)
    return state.kept[key][1]
