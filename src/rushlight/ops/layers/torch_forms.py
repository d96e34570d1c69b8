"""Functions of torch.nn.functional in the form that torch itself has them: arguments in other
orders, reductions and modes as numbers, and more results.

Each is a few lines over the function of its name. `_form` enters it in the namespace torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..._base.dtypes import bool as bool_
from ..._base.dtypes import float32
from ..._base.outside import np
from ..._devices import of
from ..making.creation import zeros_like
from ..table.arrays import elements
from ..table.kinds import composed, composite, pointwise
from ..table.reference import alias
from ..table.signature import Sizes, Tensor, dtype
from . import class_loss, conv, ctc, embedding, interpolation, loss
from .dropout import alpha_dropped, by_channel, check_float, drawn_mask, dropped
from .normalization import (
    check_channels,
    check_statistics,
    native_batch_norm_op,
    native_group_norm_op,
)
from .padding import channel_shuffle

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _form(function: _Function) -> _Function:
    """Decorator: the function is torch's, and no op of the table by itself."""
    alias(function.__name__, function, method=False)
    return function


def _how(reduction: int) -> str:
    """The name of a reduction; what is no number of one reduces nothing, as in torch."""
    return {1: "mean", 2: "sum"}.get(reduction, "none")


# ---- losses: 0, 1 and 2 stand for 'none', 'mean' and 'sum', and 0 is the default, as in torch


@_form
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    """The binary cross entropy of logits; reduction 0: none, 1: mean, 2: sum."""
    return class_loss.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_how(reduction), pos_weight=pos_weight
    )


@_form
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""
    return loss.cosine_embedding_loss(input1, input2, target, margin, reduction=_how(reduction))


@_form
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sizes,
    target_lengths: Tensor | Sizes,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """The negative log-likelihood of label sequences over all their alignments with the input."""
    lengths = input_lengths, target_lengths
    return ctc.ctc_loss(log_probs, targets, *lengths, blank, _how(reduction), zero_infinity)


@_form
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0
) -> Tensor:
    """input where the target is 1, max(0, margin - input) where it is -1."""
    return loss.hinge_embedding_loss(input, target, margin, reduction=_how(reduction))


@_form
def kl_div(
    input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False
) -> Tensor:
    """The Kullback-Leibler divergence target * (log(target) - input); input holds logarithms."""
    each = loss.kl_div(input, target, reduction="none", log_target=log_target)
    return loss.reduce_loss(each, _how(reduction))


@_form
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
    each = (-target * (input1 - input2) + margin).clamp_min(0)
    return loss.reduce_loss(each, _how(reduction))


@_form
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """The negative log likelihood of a Poisson distribution; full adds Stirling's term."""
    how = _how(reduction)
    return loss.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=how)


@_form
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin)."""
    parts = anchor, positive, negative, margin, p, eps, swap
    return loss.triplet_margin_loss(*parts, reduction=_how(reduction))


# ---- sampling at grids: modes and paddings by number


@_form
def affine_grid_generator(theta: Tensor, size: Sizes, align_corners: bool) -> Tensor:
    """A grid for `grid_sampler`: the places that matrices theta move those of an image to."""
    return interpolation.affine_grid(theta, size, align_corners)


_MODES, _PADDINGS = interpolation.GRID_MODES, interpolation.GRID_PADDINGS


def _sampled(input: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
    for number, names, what in ((mode, _MODES, "interpolation"), (padding, _PADDINGS, "padding")):
        if not 0 <= number < len(names):
            raise ValueError(f"{what}_mode {number} is none of 0 to {len(names) - 1}: {names}")
    how = _MODES[mode], _PADDINGS[padding]
    return interpolation.grid_sample(input, grid, *how, align_corners=align_corners)


@_form
def grid_sampler(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """`grid_sample` with modes 0, 1, 2 (bilinear, nearest, bicubic) and paddings 0, 1, 2 (zeros,
    border, reflection)."""
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


def _sampler_of(n: int) -> None:
    def sampler(
        input: Tensor,
        grid: Tensor,
        interpolation_mode: int,
        padding_mode: int,
        align_corners: bool,
    ) -> Tensor:
        interpolation.check_sampled(input, grid)
        if input.ndim != n + 2 or grid.ndim != n + 2:
            raise RuntimeError(
                f"grid_sampler(): expected {n + 2}D input and grid with same number of dimensions, "
                f"but got input with sizes {list(input.shape)} and grid with sizes "
                f"{list(grid.shape)}"
            )
        return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)

    sampler.__name__ = sampler.__qualname__ = f"grid_sampler_{n}d"
    sampler.__doc__ = f"`grid_sampler` of images of {n} dimensions."
    _form(sampler)


_sampler_of(2)
_sampler_of(3)

# ---- embeddings


def _where_bags_are(indices: Tensor, offsets: Tensor, last: bool) -> tuple[Any, Any]:
    """The bag of each index, and how many indices each bag has."""
    starts = elements(offsets).astype(np.int64)
    if last:
        starts = starts[:-1]
    sizes = np.diff(starts, append=indices.shape[0])
    return np.repeat(np.arange(starts.size, dtype=np.int64), np.asarray(sizes, np.intp)), sizes


@_form
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sum (mode 0), mean (1) or maximum (2) of the rows in each bag, with the bag of each
    index, the sizes of the bags, and for the maximum the rows it is from."""
    if not 0 <= mode <= 2:
        raise RuntimeError(f"mode has to be 0 (sum), 1 (mean) or 2 (max), but got {mode}")
    name = ("sum", "mean", "max")[mode]
    plainly = padding_idx is not None or weight.dtype.name == "float64"
    result = embedding.embedding_bag(
        indices,
        weight,
        offsets,
        scale_grad_by_freq=scale_grad_by_freq,
        mode=name,
        sparse=sparse,
        per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset,
        padding_idx=padding_idx,
    )
    bag, sizes = _where_bags_are(indices, offsets, include_last_offset)
    rows = elements(indices)
    counted = np.ones(rows.shape, bool)
    if padding_idx is not None:
        counted = rows != padding_idx % weight.shape[0]
        seen = np.bincount(np.asarray(bag[counted], np.intp), minlength=len(sizes))
        sizes = seen[: len(sizes)].astype(np.int64)
    tensor = of(weight).tensor
    if name == "max":
        most = np.zeros((len(sizes), weight.shape[1]), np.int64)
        values = elements(weight.detach())
        for b in np.unique(bag[counted]):
            ours = rows[counted & (bag == b)]
            most[b] = ours[values[ours].argmax(0)]
        return result, tensor(bag), tensor(sizes), tensor(most)
    if name == "sum":  # torch does without them
        bag = bag if plainly else bag[:0]
        sizes = np.zeros(offsets.shape, np.int64)
    return result, tensor(bag), tensor(sizes), tensor(sizes.copy())


@_form
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales the rows that indices name, in place, to a norm of at most max_norm."""
    for i in indices.unique().tolist():
        if not -input.shape[0] <= i < input.shape[0]:
            size = list(input.shape)
            raise IndexError(
                f"select(): index {i} out of range for tensor of size {size} at dimension 0"
            )
    embedding.renormalize(input, indices, max_norm, norm_type)
    return input


# ---- convolutions


@_form
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> Tensor:
    """A convolution over as many dimensions as the weight has beside its first two, or its
    transpose."""
    n = weight.ndim - 2
    if not 1 <= n <= 3:
        raise RuntimeError(f"weight should have at least three dimensions, got {weight.ndim}")
    if transposed:
        named = f"conv_transpose{n}d", n, input, weight, bias
        return conv.run_transposed(*named, stride, padding, output_padding, groups, dilation)
    return conv.run(f"conv{n}d", n, input, weight, bias, stride, padding, dilation, groups)


@composite(
    where="torch nn",
    method=False,
    samples=lambda make: [(make(5, 2, 3), make(2, 3, 4), make(4), 1)],
    autocast="low",
)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution of (time, batch, channels) with a weight (width, channels, results)."""
    if input.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.ndim != 3:
        raise RuntimeError(
            "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."
        )
    if bias.ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if bias.shape[0] != weight.shape[2]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    across = input.permute(1, 2, 0), weight.permute(2, 1, 0), bias
    return conv.run("conv1d", 1, *across, 1, pad, 1, 1).permute(2, 0, 1)


# ---- dropout


def _dropouts(name: str, drop: Any, channels: bool, doc: str) -> None:
    """torch's dropout of a kind, and the one in place."""

    def form(inplace: bool) -> None:
        def function(input: Tensor, p: float, train: bool) -> Tensor:
            if not 0 <= p <= 1:
                raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
            if not p or not train or not input.numel():
                return input
            shape = by_channel(input) if channels else None
            if p == 1:
                return input.mul_(0) if inplace else input * 0
            check_float(input)
            return drop(input, shape, p, inplace)

        function.__name__ = function.__qualname__ = name + "_" * inplace
        function.__doc__ = f"{doc}{', in place' * inplace}, while `train` is true."
        _form(function)

    form(False)
    form(True)


_dropouts("feature_dropout", dropped, True, "Dropout of whole channels")
_dropouts("alpha_dropout", alpha_dropped, False, "Dropout to SELU's lowest value")
_dropouts(
    "feature_alpha_dropout", alpha_dropped, True, "Dropout of channels to SELU's lowest value"
)


_kept_and_scaled = pointwise(
    "_kept_and_scaled(input: Tensor, kept: Tensor, scale: Number)",
    forward=lambda input, kept, scale: input * kept * scale,
    partials={"input": lambda g, kept, scale: g * kept * scale},
    node="NativeDropoutBackward0",
    method=False,
    in_place=False,
    out=False,
    numbers_round=True,
    samples=lambda make: [(make(2, 3), make(2, 3, kind="bool"), 1.25)],
    doc="The elements that are kept, times a number, and zeros.",
)


@composite(method=False, traits="random", samples=lambda make: [(make(2, 3), 0.5, False)])
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """The tensor with elements dropped, and which were kept. Unless `train` is False, it drops."""
    if train is False or not input.numel():
        return input.clone(), input.new_ones(input.shape, dtype=bool_)
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    check_float(input)
    if p == 1:
        return input * 0, zeros_like(input, dtype=bool_)
    kept = drawn_mask(input, None, p, bool_)
    return _kept_and_scaled(input, kept, 1 / (1 - p)), kept


# ---- normalization: the result, the means, one over the deviations


def _statistics(input: Tensor, *parts: Tensor | None) -> dtype:
    """The type of measured means: the input's, float32 where halves have a parameter in float32."""
    given = [part.dtype for part in parts if part is not None]
    return float32 if float32 in given else input.dtype


@_form
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm`, the means of the channels and one over their deviations (empty where it does
    not measure them)."""
    statistics = ("running_mean", running_mean), ("running_var", running_var)
    check_channels(input, (*statistics, ("weight", weight), ("bias", bias)))
    check_statistics(running_mean, running_var)
    for name, part in statistics:
        if part is None and not training:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    given = weight, bias, running_mean, running_var, training, momentum, eps
    result, *measured = native_batch_norm_op(input, *given)
    kind = _statistics(input, weight, bias, running_mean, running_var)
    mean, rstd = (t.to(kind) if training else t[:0].to(kind) for t in measured)
    return result, mean, rstd


@_form
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm` of N samples with C channels of HxW values, the means of the groups and one over
    their deviations."""
    if group <= 0 or C % group:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={group}"
        )
    if input.numel() != N * C * HxW or input.shape[:2] != (N, C):
        raise RuntimeError(
            f"Expected an input of {N} samples with {C} channels of {HxW} values, but got input of "
            f"shape {list(input.shape)}"
        )
    result, mean, rstd = native_group_norm_op(input, group, weight, bias, eps)
    kind = _statistics(input, weight, bias)
    return result, mean.to(kind), rstd.to(kind)


@_form
def batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """The means and variances of the channels; the running ones are moved towards them."""
    check_channels(input, (("running_mean", running_mean), ("running_var", running_var)))
    if not input.numel():
        raise RuntimeError(
            "input tensor must have at least one element, but got input_sizes = "
            f"{list(input.shape)}"
        )
    values, over = input.detach(), [d for d in range(input.ndim) if d != 1]
    mean, var = values.mean(over), values.var(over, correction=0)
    count = input.numel() // max(input.shape[1], 1)
    if running_mean is not None:
        running_mean.lerp_(mean.to(running_mean.dtype), momentum)
    if running_var is not None:
        unbiased = var * (count / max(count - 1, 1))
        running_var.lerp_(unbiased.to(running_var.dtype), momentum)
    return mean, var


native_channel_shuffle = composed(
    "native_channel_shuffle(input: Tensor, groups: int)",
    channel_shuffle,
    where="torch nn",
    method=False,
    samples=lambda make: [(make(1, 6, 2), 2)],
    doc="`channel_shuffle` under the name of its kernel.",
)
