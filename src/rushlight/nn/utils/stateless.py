"""The old place of `torch.func.functional_call`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from ..._base.errors import warn
from ..._root import Tensor
from ...func import functional_call as _functional_call
from ...func._functional_call import _replaced
from ..modules.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    args: object = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Deprecated: `torch.func.functional_call` does the same.

    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> given = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    >>> nn.utils.stateless.functional_call(nn.Linear(2, 1), given, torch.ones(2))
    tensor([2.])
    """
    warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _reparametrize_module(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    *,
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> AbstractContextManager[None]:
    """A block in which a module has other tensors in the place of those of these names."""
    return _replaced(module, parameters_and_buffers, tie_weights, strict)
