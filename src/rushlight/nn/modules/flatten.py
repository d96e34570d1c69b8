"""Reshaping layers."""

from __future__ import annotations

from typing import Any

from rushlight._root import Tensor

from ._of_function import WithSettings, layer


@layer()
class Flatten(WithSettings):
    """Joins dimensions `start_dim` to `end_dim` into one; the first is left alone by default.

    >>> nn.Flatten()(torch.zeros(8, 3, 4, 4)).shape
    torch.Size([8, 48])
    """

    start_dim: int = 1
    end_dim: int = -1

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(WithSettings):
    """Splits dimension `dim` into the shape `unflattened_size`.

    >>> nn.Unflatten(1, (3, 4, 4))(torch.zeros(8, 48)).shape
    torch.Size([8, 3, 4, 4])
    """

    _settings = ("dim", "unflattened_size")

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError("invalid argument type for dim parameter")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)
