"""Nonlinearities as modules. Each is one function of `nn.functional` and its settings."""

from __future__ import annotations

from typing import Any, ClassVar

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base import dtypes
from ..._base.device import DeviceLike
from ..._base.errors import warn
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._of_function import WithSettings, calling, layer
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


@layer()
class _Inplace(WithSettings):
    """A nonlinearity whose one setting is to overwrite its input."""

    inplace: bool = False


@calling(F.relu)
class ReLU(_Inplace):
    """max(x, 0).

    >>> nn.ReLU()(torch.tensor([-4.0, 4.0]))
    tensor([0., 4.])
    """


@calling(F.selu)
class SELU(_Inplace):
    """The scaled exponential linear unit of self-normalising networks.

    >>> nn.SELU()(torch.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """


@calling(F.silu)
class SiLU(_Inplace):
    """x * sigmoid(x).

    >>> nn.SiLU()(torch.tensor([-1.0, 1.0]))
    tensor([-0.2689,  0.7311])
    """


@calling(F.mish)
class Mish(_Inplace):
    """x * tanh(softplus(x)).

    >>> nn.Mish()(torch.tensor([-1.0, 1.0]))
    tensor([-0.3034,  0.8651])
    """


@calling(F.hardswish)
class Hardswish(_Inplace):
    """x * clamp(x + 3, 0, 6) / 6.

    >>> nn.Hardswish()(torch.tensor([-4.0, 1.0, 4.0]))
    tensor([-0.0000, 0.6667, 4.0000])
    """

    def extra_repr(self) -> str:
        return ""


@calling(F.hardsigmoid)
class Hardsigmoid(_Inplace):
    """clamp(x + 3, 0, 6) / 6.

    >>> nn.Hardsigmoid()(torch.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """

    def extra_repr(self) -> str:
        return ""


@calling(rl.sigmoid)
class Sigmoid(WithSettings):
    """1 / (1 + exp(-x)).

    >>> nn.Sigmoid()(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([0.2689, 0.5000, 0.7311])
    """


@calling(rl.tanh)
class Tanh(WithSettings):
    """tanh(x).

    >>> nn.Tanh()(torch.tensor([-1.0, 0.0]))
    tensor([-0.7616,  0.0000])
    """


@calling(F.logsigmoid)
class LogSigmoid(WithSettings):
    """log(sigmoid(x)).

    >>> nn.LogSigmoid()(torch.tensor([-100.0, 0.0]))
    tensor([-100.0000,   -0.6931])
    """


@calling(F.softsign)
class Softsign(WithSettings):
    """x / (1 + |x|).

    >>> nn.Softsign()(torch.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """


@calling(F.tanhshrink)
class Tanhshrink(WithSettings):
    """x - tanh(x).

    >>> nn.Tanhshrink()(torch.tensor([-1.0, 0.0]))
    tensor([-0.2384,  0.0000])
    """


@layer(F.leaky_relu)
class LeakyReLU(WithSettings):
    """x where positive, `negative_slope * x` elsewhere.

    >>> nn.LeakyReLU(0.1)(torch.tensor([-4.0, 4.0]))
    tensor([-0.4000,  4.0000])
    """

    negative_slope: float = 1e-2
    inplace: bool = False


@layer(F.elu)
class ELU(WithSettings):
    """x where positive, alpha * (exp(x) - 1) elsewhere.

    >>> nn.ELU()(torch.tensor([-1.0, 3.0]))
    tensor([-0.6321,  3.0000])
    """

    alpha: float = 1.0
    inplace: bool = False


@layer(F.celu)
class CELU(WithSettings):
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere.

    >>> nn.CELU(alpha=2.0)(torch.tensor([-2.0, 3.0]))
    tensor([-1.2642,  3.0000])
    """

    alpha: float = 1.0
    inplace: bool = False


@layer(F.rrelu, "lower upper training inplace")
class RReLU(WithSettings):
    """Leaky ReLU whose slopes are drawn from [lower, upper) in training; their mean in evaluation.

    >>> nn.RReLU(0.1, 0.3).eval()(torch.tensor([-4.0, 4.0]))
    tensor([-0.8000,  4.0000])
    """

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False


@layer(F.gelu, "approximate=")
class GELU(WithSettings):
    """x * Phi(x), Phi the normal distribution function; `approximate="tanh"` is cheaper.

    >>> nn.GELU()(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    >>> nn.GELU(approximate="tanh")(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1588,  0.0000,  0.8412])
    """

    approximate: str = "none"

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


@layer(F.softplus)
class Softplus(WithSettings):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x exceeds the threshold.

    >>> nn.Softplus()(torch.tensor([-1.0, 0.0, 30.0]))
    tensor([ 0.3133,  0.6931, 30.0000])
    """

    beta: float = 1.0
    threshold: float = 20.0


def _warn_renamed(old: str, new: str) -> None:
    warn(f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning)


@layer(F.hardtanh)
class Hardtanh(WithSettings):
    """clamp(x, min_val, max_val).

    >>> nn.Hardtanh()(torch.tensor([-4.0, 0.5, 4.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """

    _settings: ClassVar[tuple[str, ...]] = ("min_val", "max_val", "inplace")

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None:
            _warn_renamed("min_value", "min_val")
            min_val = min_value
        if max_value is not None:
            _warn_renamed("max_value", "max_val")
            max_val = max_value
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError("max_val must be greater than min_val")


class ReLU6(Hardtanh):
    """clamp(x, 0, 6).

    >>> nn.ReLU6()(torch.tensor([-4.0, 4.0, 8.0]))
    tensor([0., 4., 6.])
    """

    _settings = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


@layer(F.threshold)
class Threshold(WithSettings):
    """x where it exceeds the threshold, `value` elsewhere.

    >>> nn.Threshold(0.1, 20.0)(torch.tensor([0.0, 0.2]))
    tensor([20.0000,  0.2000])
    """

    threshold: float
    value: float
    inplace: bool = False


@layer(F.hardshrink)
class Hardshrink(WithSettings):
    """x where |x| > lambd, 0 elsewhere.

    >>> nn.Hardshrink(0.5)(torch.tensor([-1.0, 0.25, 2.0]))
    tensor([-1.,  0.,  2.])
    """

    lambd: float = 0.5

    def extra_repr(self) -> str:
        return str(self.lambd)


@layer(F.softshrink)
class Softshrink(WithSettings):
    """x moved towards 0 by lambd, 0 where it would pass it.

    >>> nn.Softshrink(0.5)(torch.tensor([-1.0, 0.25, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """

    lambd: float = 0.5

    def extra_repr(self) -> str:
        return str(self.lambd)


@layer(F.prelu, "weight")
class PReLU(WithSettings):
    """Leaky ReLU with trained slopes, one for all or one a channel.

    >>> nn.PReLU()(torch.tensor([-4.0, 4.0]))
    tensor([-1.,  4.], grad_fn=<PreluKernelBackward0>)
    """

    weight: Parameter
    _settings = ("num_parameters",)

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(rl.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets all slopes to their starting value."""
        init.constant_(self.weight, self.init)


@layer(F.glu)
class GLU(WithSettings):
    """The first half of a dimension times the sigmoid of the second.

    >>> nn.GLU()(torch.tensor([3.0, 4.0, 0.0, 1.0]))
    tensor([1.5000, 2.9242])
    """

    dim: int = -1


@layer()
class _AlongDim(WithSettings):
    dim: int | None = None

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)


@calling(F.softmax)
class Softmax(_AlongDim):
    """exp(x) divided by its sum along `dim`.

    >>> nn.Softmax(dim=0)(torch.tensor([1.0, 2.0, 3.0]))
    tensor([0.0900, 0.2447, 0.6652])
    """


@calling(F.log_softmax)
class LogSoftmax(_AlongDim):
    """The logarithm of softmax.

    >>> nn.LogSoftmax(dim=1)(torch.tensor([[0.0, 0.0], [1.0, 3.0]]))
    tensor([[-0.6931, -0.6931],
            [-2.1269, -0.1269]])
    """


@calling(F.softmin)
class Softmin(_AlongDim):
    """softmax(-x).

    >>> nn.Softmin(dim=0)(torch.tensor([1.0, 2.0, 3.0]))
    tensor([0.6652, 0.2447, 0.0900])
    """


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W) input.

    >>> nn.Softmax2d()(torch.zeros(1, 4, 1, 2))[0, :, 0, 0]
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3)


class MultiheadAttention(Module):
    """Attention of `num_heads` heads; gives the output and the weights, averaged over the heads.

    Query (L, N, embed_dim), key (S, N, kdim) and value (S, N, vdim), or N first with
    `batch_first`, or without N. In masks True, or -inf, is what may not be attended to:
    `attn_mask` is (L, S) or (N * num_heads, L, S), `key_padding_mask` (N, S).

    >>> x = torch.zeros(5, 2, 8)
    >>> out, weights = nn.MultiheadAttention(8, 4)(x, x, x)
    >>> out.shape, weights.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))
    """

    in_proj_weight: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, "
                f"got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim: int = embed_dim if kdim is None else kdim
        self.vdim: int = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim: int = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(name: str, there: bool, *shape: int) -> None:
            made = Parameter(rl.empty(shape, device=device, dtype=dtype)) if there else None
            self.register_parameter(name, made)

        packed = self._qkv_same_embed_dim
        shapes = {
            "in_proj_weight": (3 * embed_dim, embed_dim),
            "q_proj_weight": (embed_dim, embed_dim),
            "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim),
        }
        if not packed:  # PyTorch's orders
            shapes["in_proj_weight"] = shapes.pop("in_proj_weight")
        for name in shapes:
            parameter(name, packed == (name == "in_proj_weight"), *shapes[name])
        parameter("in_proj_bias", bias, 3 * embed_dim)
        self.out_proj: NonDynamicallyQuantizableLinear = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        for name in ("bias_k", "bias_v"):
            if add_bias_kv:
                parameter(name, True, 1, 1, embed_dim)
            else:
                setattr(self, name, None)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("_qkv_same_embed_dim", True)  # of old checkpoints
        super().__setstate__(state)

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """The sum of both masks, (N, heads, L, L), and 2; that of the keys alone, and 1; or None
        twice."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        n, length = query.shape[:2]
        if attn_mask.dim() == 3:
            merged = attn_mask.view(n, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(n, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            keys = key_padding_mask.view(n, 1, 1, length).expand(-1, self.num_heads, -1, -1)
            merged = merged + keys
        return merged, 2

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        batch_first = self.batch_first and query.dim() == 3
        if batch_first and key.dim() == value.dim() == 3:
            turned = {id(x): x.transpose(0, 1) for x in (query, key, value)}  # the same stay so
            query, key, value = (turned[id(x)] for x in (query, key, value))
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(0, 1) if batch_first else out), weights
