"""Channels in another order."""

from __future__ import annotations

from .. import functional as F
from ._of_function import WithSettings, layer


@layer(F.channel_shuffle)
class ChannelShuffle(WithSettings):
    """The channels of `groups` groups in turn: the first of each, the second of each.

    >>> nn.ChannelShuffle(2)(torch.tensor([1.0, 2.0, 3.0, 4.0]).view(1, 4, 1)).flatten()
    tensor([1., 3., 2., 4.])
    """

    groups: int
