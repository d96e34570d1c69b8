"""Dropout: random zeros while training, the identity in evaluation."""

from __future__ import annotations

from .. import functional as F
from ._of_function import WithSettings, calling


class _DropoutNd(WithSettings):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


@calling(F.dropout, "p training inplace")
class Dropout(_DropoutNd):
    """Zeroes each element with probability `p` and scales the rest by 1 / (1 - p).

    >>> _ = torch.manual_seed(0)
    >>> layer = nn.Dropout(0.5)
    >>> layer(torch.ones(6))
    tensor([0., 0., 2., 0., 0., 0.])
    >>> layer.eval()(torch.ones(6))
    tensor([1., 1., 1., 1., 1., 1.])
    """


@calling(F.dropout1d, "p training inplace")
class Dropout1d(_DropoutNd):
    """Zeroes whole channels of (N, C, L) input.

    >>> y = nn.Dropout1d(0.5)(torch.ones(2, 3, 4))
    >>> bool((y == y[:, :, :1]).all())  # a channel as a whole
    True
    """


@calling(F.dropout2d, "p training inplace")
class Dropout2d(_DropoutNd):
    """Zeroes whole channels of (N, C, H, W) input.

    >>> y = nn.Dropout2d(0.5)(torch.ones(2, 3, 4, 4))
    >>> bool((y == y[:, :, :1, :1]).all())  # a channel as a whole
    True
    """


@calling(F.dropout3d, "p training inplace")
class Dropout3d(_DropoutNd):
    """Zeroes whole channels of (N, C, D, H, W) input.

    >>> nn.Dropout3d(1.0)(torch.ones(1, 2, 2, 2, 2)).sum()
    tensor(0.)
    """


@calling(F.alpha_dropout, "p training")
class AlphaDropout(_DropoutNd):
    """Dropout that keeps the mean and variance that SELU aims at.

    >>> layer = nn.AlphaDropout(0.5)
    >>> layer.eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """


@calling(F.feature_alpha_dropout, "p training")
class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels of (N, C, ...) input.

    >>> layer = nn.FeatureAlphaDropout(0.5)
    >>> layer.eval()(torch.ones(1, 3, 2)).sum()
    tensor(6.)
    """
