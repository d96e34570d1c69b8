"""Losses as modules. Each is one function of `nn.functional` and its settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar
from typing import Any

from rushlight._root import Tensor

from ..._base.errors import warn
from ..._base.missing import missing_name as _missing_name
from .. import functional as F
from ._of_function import calling, layer
from .distance import PairwiseDistance
from .module import Module


def _legacy_reduction(size_average: bool | None, reduce: bool | None) -> str:
    """The `reduction` that the two flags of old programs mean; warns."""
    reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    said = "size_average and reduce args will be deprecated, please use"
    warn(f"{said} reduction='{reduction}' instead.")
    return reduction


class _Loss(Module):
    """A loss with `reduction`: "mean", "sum" or "none"."""

    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = _legacy_reduction(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss with a weight a class (or an element), kept as a buffer."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


@calling(F.mse_loss, "reduction=", "input target")
class MSELoss(_Loss):
    """(input - target) squared.

    >>> nn.MSELoss()(torch.tensor([1.0, -3.0]), torch.zeros(2))
    tensor(5.)
    >>> nn.MSELoss(reduction="sum")(torch.tensor([1.0, -3.0]), torch.zeros(2))
    tensor(10.)
    """


@calling(F.l1_loss, "reduction=", "input target")
class L1Loss(_Loss):
    """|input - target|.

    >>> nn.L1Loss()(torch.tensor([1.0, -3.0]), torch.zeros(2))
    tensor(2.)
    """


@layer(F.smooth_l1_loss, "reduction= beta=", "input target")
class SmoothL1Loss(_Loss):
    """Squared (over 2 beta) where the difference is below beta, linear beyond.

    >>> nn.SmoothL1Loss(reduction="none")(torch.tensor([0.5, 3.0]), torch.zeros(2))
    tensor([0.1250, 2.5000])
    """

    size_average: InitVar[bool | None] = None
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"
    beta: float = 1.0


@layer(F.huber_loss, "reduction= delta=", "input target")
class HuberLoss(_Loss):
    """Half squared where the difference is below delta, linear beyond.

    >>> nn.HuberLoss(reduction="none")(torch.tensor([0.5, 3.0]), torch.zeros(2))
    tensor([0.1250, 2.5000])
    """

    reduction: str = "mean"
    delta: float = 1.0


@layer(F.nll_loss, "weight= ignore_index= reduction=", "input target")
class NLLLoss(_WeightedLoss):
    """Minus the log-probability of the target class; input (N, C) or (N, C, d1, ...).

    >>> log_probabilities = torch.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    >>> nn.NLLLoss()(log_probabilities, torch.tensor([1, 0]))
    tensor(0.4904)
    """

    weight: Tensor | None = None
    size_average: InitVar[bool | None] = None
    ignore_index: int = -100
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"


@layer(F.cross_entropy, "weight= ignore_index= reduction= label_smoothing=", "input target")
class CrossEntropyLoss(_WeightedLoss):
    """`NLLLoss` of `log_softmax`: input are logits, target class indices or probabilities.

    >>> logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    >>> nn.CrossEntropyLoss()(logits, torch.tensor([0, 2]))
    tensor(0.2395)
    >>> nn.CrossEntropyLoss(reduction="none")(logits, torch.tensor([0, 1]))
    tensor([0.2395, 2.2395])
    """

    weight: Tensor | None = None
    size_average: InitVar[bool | None] = None
    ignore_index: int = -100
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"
    label_smoothing: float = 0.0


@calling(F.binary_cross_entropy, "weight= reduction=", "input target")
class BCELoss(_WeightedLoss):
    """Binary cross-entropy of probabilities.

    >>> nn.BCELoss()(torch.tensor([0.5, 0.9]), torch.tensor([1.0, 1.0]))
    tensor(0.3993)
    """


@layer(F.binary_cross_entropy_with_logits, "weight= pos_weight= reduction=", "input target")
class BCEWithLogitsLoss(_Loss):
    """Binary cross-entropy of logits, in a form that does not overflow.

    >>> nn.BCEWithLogitsLoss()(torch.tensor([0.0, 100.0]), torch.tensor([1.0, 1.0]))
    tensor(0.3466)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)


@layer(F.kl_div, "reduction= log_target=", "input target")
class KLDivLoss(_Loss):
    """Pointwise target * (log target - input), input being log-probabilities.

    >>> p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.25, 0.75]])
    >>> nn.KLDivLoss(reduction="batchmean")(q.log(), p)
    tensor(0.1438)
    """

    size_average: InitVar[bool | None] = None
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"
    log_target: bool = False


class NLLLoss2d(NLLLoss):
    """The old name of `NLLLoss`.

    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> nn.NLLLoss2d()(torch.full((1, 2, 1, 1), -0.5), torch.zeros(1, 1, 1).long())
    tensor(0.5000)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in "
            "replacement and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more "
            "details.",
            FutureWarning,
        )
        super().__init__(*args, **kwargs)


@layer(F.poisson_nll_loss, "log_input= full= eps= reduction=", "log_input target")
class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts; the input is the logarithm of the rate, or the rate.

    >>> nn.PoissonNLLLoss()(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]))
    tensor(0.8591)
    """

    log_input: bool = True
    full: bool = False
    size_average: InitVar[bool | None] = None
    eps: float = 1e-8
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"


@layer(F.gaussian_nll_loss, "full= eps= reduction=", "input target var", kw_only=True)
class GaussianNLLLoss(_Loss):
    """The negative log-likelihood of a normal distribution: forward(mean, target, variance).

    >>> nn.GaussianNLLLoss()(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([4.0]))
    tensor(1.1931)
    """

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"


@layer(F.hinge_embedding_loss, "margin= reduction=", "input target")
class HingeEmbeddingLoss(_Loss):
    """The input where the target is 1, max(0, margin - input) where it is -1.

    >>> nn.HingeEmbeddingLoss(reduction="none")(torch.tensor([0.3, 0.3]), torch.tensor([1, -1]))
    tensor([0.3000, 0.7000])
    """

    margin: float = 1.0
    size_average: InitVar[bool | None] = None
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"


@layer(F.cosine_embedding_loss, "margin= reduction=", "input1 input2 target")
class CosineEmbeddingLoss(_Loss):
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1.

    >>> a, b = torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 4.0]])
    >>> nn.CosineEmbeddingLoss()(a, b, torch.tensor([1]))
    tensor(0.4000)
    """

    margin: float = 0.0
    size_average: InitVar[bool | None] = None
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"


@layer(F.margin_ranking_loss, "margin= reduction=", "input1 input2 target")
class MarginRankingLoss(_Loss):
    """max(0, margin - target * (input1 - input2)); the target, 1 or -1, says which is to be larger.

    >>> nn.MarginRankingLoss()(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
    tensor(2.)
    """

    margin: float = 0.0
    size_average: InitVar[bool | None] = None
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"


@calling(F.multilabel_margin_loss, "reduction=", "input target")
class MultiLabelMarginLoss(_Loss):
    """The hinge between each target class and each other; targets are class indices, -1 ends them.

    >>> x, target = torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]])
    >>> nn.MultiLabelMarginLoss()(x, target)
    tensor(0.8500)
    """


@calling(F.multilabel_soft_margin_loss, "weight= reduction=", "input target")
class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Binary cross-entropy of logits, the mean over the classes of each sample.

    >>> nn.MultiLabelSoftMarginLoss()(torch.zeros(1, 3), torch.tensor([[1.0, 0.0, 1.0]]))
    tensor(0.6931)
    """


@layer(F.multi_margin_loss, "p= margin= weight= reduction=", "input target")
class MultiMarginLoss(_WeightedLoss):
    """The hinge (to the power `p`, 1 or 2) between the target class and each other one.

    >>> nn.MultiMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([3]))
    tensor(0.3250)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, "
                f"got {weight.dim()}D instead"
            )
        self.p = p
        self.margin = margin


@calling(F.soft_margin_loss, "reduction=", "input target")
class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), targets being 1 and -1.

    >>> nn.SoftMarginLoss()(torch.tensor([0.0, 2.0]), torch.tensor([1.0, -1.0]))
    tensor(1.4100)
    """


def _check_margin(loss: _Loss, margin: float) -> None:
    if margin <= 0:
        raise ValueError(
            f"{type(loss).__name__}: expected margin to be greater than 0, got {margin} instead"
        )


@layer(F.triplet_margin_loss, "margin= p= eps= swap= reduction=", "anchor positive negative")
class TripletMarginLoss(_Loss):
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin).

    >>> anchor, near, far = torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([[0.5, 0.0]])
    >>> nn.TripletMarginLoss()(anchor, near, far)
    tensor(0.5000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin(self, margin)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap


@layer(
    F.triplet_margin_with_distance_loss,
    "distance_function= margin= swap= reduction=",
    "anchor positive negative",
)
class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a distance of the program's own.

    >>> loss = nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().sum())
    >>> loss(torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([[0.5, 0.0]]))
    tensor(0.5000)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _check_margin(self, margin)
        self.distance_function: Callable[..., Tensor] = distance_function or PairwiseDistance()
        self.margin = margin
        self.swap = swap


@layer(
    F.ctc_loss, "blank= reduction= zero_infinity=", "log_probs targets input_lengths target_lengths"
)
class CTCLoss(_Loss):
    """The negative log-likelihood of label sequences over all their alignments with the input.

    forward(log_probs, targets, input_lengths, target_lengths): log-probabilities of shape
    (T, N, C) or (T, C), targets (N, S) or all in one row.

    >>> log_probs = torch.full((2, 1, 2), 0.5).log()
    >>> nn.CTCLoss()(log_probs, torch.tensor([[1]]), (2,), (1,))  # 1 1, 1 blank, blank 1
    tensor(0.2877)
    """

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False


__getattr__ = _missing_name(
    __name__, late={"LinearCrossEntropyLoss": "rushlight.nn.modules.linear_loss"}
)
