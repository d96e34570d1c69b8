"""A module called on all its devices; here there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..modules.module import Module


class DataParallel(Module):
    """The module itself, as the child `module`.

    >>> model = nn.DataParallel(nn.Linear(2, 1))
    >>> model(torch.zeros(3, 2)).shape
    torch.Size([3, 1])
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[object] | None = None,
        output_device: object = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []  # as PyTorch's on a machine without GPUs

    def forward(self, *inputs: object, **kwargs: object) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: object,
    device_ids: Sequence[object] | None = None,
    output_device: object = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """The result of the module for `inputs`, a tensor or a tuple of arguments.

    >>> nn.parallel.data_parallel(nn.Identity(), torch.ones(2))
    tensor([1., 1.])
    """
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))
