"""`torch.nn.functional`. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any, TypeAlias

from .._core import Tensor
from .._dtypes import dtype as _dtype
from .._typed.elementwise import sigmoid as sigmoid
from .._typed.elementwise import tanh as tanh
from .._typed.layers import celu as celu
from .._typed.layers import celu_ as celu_
from .._typed.layers import channel_shuffle as channel_shuffle
from .._typed.layers import conv1d as conv1d
from .._typed.layers import conv2d as conv2d
from .._typed.layers import conv3d as conv3d
from .._typed.layers import conv_transpose1d as conv_transpose1d
from .._typed.layers import conv_transpose2d as conv_transpose2d
from .._typed.layers import conv_transpose3d as conv_transpose3d
from .._typed.layers import group_norm as group_norm
from .._typed.layers import hardshrink as hardshrink
from .._typed.layers import instance_norm as instance_norm
from .._typed.layers import pixel_shuffle as pixel_shuffle
from .._typed.layers import pixel_unshuffle as pixel_unshuffle
from .._typed.layers import prelu as prelu
from .._typed.layers import relu as relu
from .._typed.layers import relu_ as relu_
from .._typed.layers import rms_norm as rms_norm
from .._typed.layers import rrelu as rrelu
from .._typed.layers import selu as selu
from .._typed.layers import selu_ as selu_
from .._typed.layers import threshold as threshold
from .._typed.layers import threshold_ as threshold_
from .._typed.matrix import bilinear as bilinear
from .._typed.matrix import cosine_similarity as cosine_similarity
from .._typed.matrix import pairwise_distance as pairwise_distance
from .._typed.matrix import pdist as pdist
from .._typed.nn_losses import *  # noqa: F403
from .._typed.nn_pooling import *  # noqa: F403

_Number: TypeAlias = _int | _float | _bool | _complex
_Ints: TypeAlias = _int | Sequence[_int]

def affine_grid(theta: Tensor, size: Any, align_corners: _bool | None = None) -> Tensor:
    """The places that affine maps theta give the pixels of images of a size, in [-1, 1]."""

def alpha_dropout(
    input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False
) -> Tensor:
    """Dropout to SELU's lowest value that keeps mean and variance."""

def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: _bool = False,
    momentum: _float | None = 0.1,
    eps: _float = 1e-05,
) -> Tensor: ...
def dropout(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor: ...
def dropout1d(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor: ...
def dropout2d(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor: ...
def dropout3d(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor: ...
def elu(
    input: Tensor, alpha: _Number = 1.0, inplace: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """input above 0, alpha * (e ** input - 1) below."""

def elu_(input: Tensor, alpha: _Number = 1.0) -> Tensor: ...
def embedding(
    input: Tensor,
    weight: Any,
    padding_idx: _int | None = None,
    max_norm: _float | None = None,
    norm_type: _float = 2.0,
    scale_grad_by_freq: _bool = False,
    sparse: _bool = False,
) -> Tensor:
    """The rows of weight that input names; row padding_idx gets no gradient."""

def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: _float | None = None,
    norm_type: _float = 2,
    scale_grad_by_freq: _bool = False,
    mode: _str = "mean",
    sparse: _bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: _bool = False,
    padding_idx: _int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows in each bag of indices."""

def feature_alpha_dropout(
    input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels."""

def gelu(input: Tensor, *, approximate: _str = ..., out: Tensor | None = None) -> Tensor:
    """input times the normal distribution function of input; approximate 'tanh' is faster."""

def glu(input: Tensor, dim: _int = -1, *, out: Tensor | None = None) -> Tensor:
    """The first half times the sigmoid of the second, along dim."""

def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: _str = "bilinear",
    padding_mode: _str = "zeros",
    align_corners: _bool | None = None,
) -> Tensor: ...
def gumbel_softmax(
    logits: Any, tau: _float = 1, hard: _bool = False, eps: _float = 1e-10, dim: _int = -1
) -> Tensor: ...
def hardsigmoid(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """A sigmoid of three straight pieces."""

def hardswish(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """input * hardsigmoid(input)."""

def hardtanh(
    input: Tensor,
    min_val: _Number = -1.0,
    max_val: _Number = 1.0,
    inplace: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input cut off below min_val and above max_val."""

def hardtanh_(input: Tensor, min_val: _Number = -1.0, max_val: _Number = 1.0) -> Tensor: ...
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: _str = "nearest",
    align_corners: _bool | None = None,
    recompute_scale_factor: _bool | None = None,
    antialias: _bool = False,
) -> Tensor:
    """The images of (batch, channels, ...) brought to a size or scaled by a factor."""

def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, then weight and bias."""

def leaky_relu(
    input: Tensor,
    negative_slope: _Number = 0.01,
    inplace: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input above 0, negative_slope * input below."""

def leaky_relu_(input: Tensor, negative_slope: _Number = 0.01) -> Tensor: ...
def linear(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """input @ weight.T + bias, over any leading dimensions of input."""

def local_response_norm(
    input: Tensor, size: _int, alpha: _Number = 0.0001, beta: _Number = 0.75, k: _Number = 1.0
) -> Tensor:
    """input over a power of the mean square of neighbouring channels."""

def log_softmax(input: Tensor, dim: _int | None = None, dtype: _dtype | None = None) -> Tensor:
    """The logarithm of softmax, exact where softmax is small."""

def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(input)) without overflow."""

def mish(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """input * tanh(softplus(input))."""

def normalize(
    input: Tensor,
    p: _Number = 2.0,
    dim: _Ints | None = 1,
    eps: _Number = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """input over its p-norm along dim, the norm not below eps."""

def one_hot(tensor: Tensor, num_classes: _int = -1, *, out: Tensor | None = None) -> Tensor:
    """1 at the place that each integer names, 0 elsewhere."""

def pad(
    input: Tensor, pad: Sequence[_int], mode: _str = "constant", value: _Number | None = None
) -> Tensor: ...
def relu6(input: Tensor, inplace: _bool = False) -> Tensor:
    """min(max(input, 0), 6)."""

def rrelu_(
    input: Tensor,
    lower: _Number = 0.125,
    upper: _Number = 0.3333333333333333,
    training: _bool = False,
) -> Tensor: ...
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: _float = 0.0,
    is_causal: _bool = False,
    scale: _float | None = None,
    enable_gqa: _bool = False,
) -> Tensor: ...
def silu(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """input * sigmoid(input), also called swish."""

def softmax(input: Tensor, dim: _int | None = None, dtype: _dtype | None = None) -> Tensor:
    """exp(input), divided by its sum along dim."""

def softmin(input: Tensor, dim: _int | None = None, dtype: _dtype | None = None) -> Tensor:
    """softmax of the negative."""

def softplus(
    input: Tensor, beta: _Number = 1.0, threshold: _Number = 20.0, *, out: Tensor | None = None
) -> Tensor:
    """log(1 + e ** (beta * input)) / beta, a smooth relu; input itself above the threshold."""

def softshrink(input: Tensor, lambd: _float = 0.5) -> Tensor:
    """input pulled towards 0 by lambd, and 0 within."""

def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|)."""

def tanhshrink(input: Tensor) -> Tensor:
    """input - tanh(input)."""

def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: _str = "nearest",
    align_corners: _bool | None = None,
) -> Tensor:
    """`interpolate` under its older name."""
