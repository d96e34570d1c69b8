"""Reshaping layers."""

from __future__ import annotations

from typing import Any

from rushlight._root import Tensor

from .module import Module


class Flatten(Module):
    """Joins dimensions `start_dim` to `end_dim` into one; the first is left alone by default.

    >>> nn.Flatten()(torch.zeros(8, 3, 4, 4)).shape
    torch.Size([8, 48])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits dimension `dim` into the shape `unflattened_size`.

    >>> nn.Unflatten(1, (3, 4, 4))(torch.zeros(8, 48)).shape
    torch.Size([8, 3, 4, 4])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError("invalid argument type for dim parameter")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
