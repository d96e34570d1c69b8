"""Distance and similarity of vectors, pair by pair."""

from __future__ import annotations

from .. import functional as F
from ._of_function import layer
from .module import Module


@layer(F.cosine_similarity, takes="x1 x2")
class CosineSimilarity(Module):
    """The cosine of the angle between vectors along `dim`.

    >>> nn.CosineSimilarity(dim=0)(torch.tensor([1.0, 0.0]), torch.tensor([3.0, 4.0]))
    tensor(0.6000)
    """

    dim: int = 1
    eps: float = 1e-8


@layer(F.pairwise_distance, "norm eps keepdim", takes="x1 x2")
class PairwiseDistance(Module):
    """The p-norm of the difference along the last dimension.

    >>> nn.PairwiseDistance()(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim
