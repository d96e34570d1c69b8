"""Tools beside the transforms: a look inside a tensor, functionalize, batch norm."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core import Tensor
from ..nn.modules.batchnorm import _BatchNorm

__all__ = ["debug_unwrap", "functionalize", "replace_all_batch_norm_modules_"]


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor behind a tensor inside a transform: the whole batch, or the value without its
    tangent; through all transforms, or only the innermost. For looking at, not for computing with.

    >>> def f(x):
    ...     print(torch.func.debug_unwrap(x))
    ...     return x * 2
    >>> _ = torch.func.vmap(f)(torch.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    while tensor._wrapped is not None:
        tensor = tensor._wrapped.value
        if not recurse:
            break
    return tensor


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """`func` itself, by its results: in-place writes are recorded as functions of their arguments.

    PyTorch needs this before programs are compiled. Here an in-place write already makes a new
    value of the history, so nothing is left to remove; what is written to the arguments stays
    written, as it does there.

    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.zeros(2))
    tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}."
            " Valid options are:\n     remove='mutations': all in-place and out= operators are "
            "replaced by functions.\n     remove='mutations_and_views': views are replaced too."
        )

    @functools.wraps(func)
    def wrapped(*args: object, **kwargs: object) -> Any:
        return func(*args, **kwargs)

    return wrapped


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let the batch norm modules of a network compute with the batch alone, without running
    statistics, which a vmap over samples could not update. In place; gives back the network.

    >>> net = torch.func.replace_all_batch_norm_modules_(torch.nn.BatchNorm1d(3))
    >>> net.running_mean is None
    True
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
