"""ops/layers/: losses in torch.nn.functional. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from typing import Any

from .._core import Tensor

def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: _str = "mean",
) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), the logarithms not below -100."""

def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: _str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor: ...
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: _float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: _str = "mean",
) -> Tensor:
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""

def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: _int = -100,
    reduce: Any = None,
    reduction: _str = "mean",
    label_smoothing: _float = 0.0,
) -> Tensor: ...
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: _bool = False,
    eps: _float = 1e-06,
    reduction: _str = "mean",
) -> Tensor:
    """The negative log likelihood of a normal distribution of mean input and variance var."""

def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: _float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: _str = "mean",
) -> Tensor:
    """input where the target is 1, max(0, margin - input) where it is -1."""

def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: _str = "mean",
    delta: _float = 1.0,
    weight: Tensor | None = None,
) -> Tensor: ...
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: _str = "mean",
    log_target: _bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence target * (log(target) - input); input holds logarithms."""

def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: _str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of |input - target|."""

def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: _float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: _str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""

def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: _str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of (input - target) ** 2."""

def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: _int = 1,
    margin: _float = 1.0,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: _str = "mean",
) -> Tensor: ...
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: _str = "mean",
) -> Tensor: ...
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: _str = "mean",
) -> Tensor:
    """The mean over the classes of the cross-entropy of each, as of a logit."""

def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: _int = -100,
    reduce: Any = None,
    reduction: _str = "mean",
) -> Tensor: ...
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: _bool = True,
    full: _bool = False,
    size_average: Any = None,
    eps: _float = 1e-08,
    reduce: Any = None,
    reduction: _str = "mean",
) -> Tensor:
    """The negative log likelihood of a Poisson distribution; full adds Stirling's term."""

def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: _str = "mean",
    beta: _float = 1.0,
) -> Tensor: ...
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: _str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)); targets are 1 and -1."""

def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: _float = 1.0,
    p: _float = 2,
    eps: _float = 1e-06,
    swap: _bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: _str = "mean",
) -> Tensor:
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin)."""

def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Any = None,
    margin: _float = 1.0,
    swap: _bool = False,
    reduction: _str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of the caller's."""
