"""The weights of convolutions in another memory format."""

from __future__ import annotations

from typing import Any, TypeVar

from rushlight import _root as rl

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

_M = TypeVar("_M", bound=Module)


def _convert(module: _M, kinds: tuple[type, ...], memory_format: object) -> _M:
    for part in module.modules():
        if isinstance(part, kinds):
            weight: Any = part.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: _M, memory_format: rl.memory_format) -> _M:
    """Brings the weights of all `Conv2d` and `ConvTranspose2d` in a module to a memory format.

    >>> layer = nn.Conv2d(3, 4, 3)
    >>> _ = nn.utils.convert_conv2d_weight_memory_format(layer, torch.channels_last)
    >>> layer.weight.is_contiguous(memory_format=torch.channels_last)
    True
    """
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: _M, memory_format: rl.memory_format) -> _M:
    """Brings the weights of all `Conv3d` and `ConvTranspose3d` in a module to a memory format.

    >>> layer = nn.Conv3d(3, 4, 3)
    >>> _ = nn.utils.convert_conv3d_weight_memory_format(layer, torch.channels_last_3d)
    >>> layer.weight.is_contiguous(memory_format=torch.channels_last_3d)
    True
    """
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
