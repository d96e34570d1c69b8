"""Distance and similarity of vectors, pair by pair."""

from __future__ import annotations

from rushlight._root import Tensor

from .. import functional as F
from ._of_function import OfFunction


class CosineSimilarity(OfFunction):
    """The cosine of the angle between vectors along `dim`.

    >>> nn.CosineSimilarity(dim=0)(torch.tensor([1.0, 0.0]), torch.tensor([3.0, 4.0]))
    tensor(0.6000)
    """

    _function = F.cosine_similarity
    _passed = ("dim", "eps")

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return self._result(x1, x2)


class PairwiseDistance(OfFunction):
    """The p-norm of the difference along the last dimension.

    >>> nn.PairwiseDistance()(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
