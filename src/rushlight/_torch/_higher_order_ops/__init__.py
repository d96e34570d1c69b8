"""`torch._higher_order_ops`: functions of functions, run as Python runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base import pytree as _pytree
from ..._core import Tensor
from .associative_scan import associative_scan

__all__ = ["associative_scan", "cond", "while_loop"]


def _truth(value: object, of: str) -> bool:
    if isinstance(value, Tensor):
        if value.numel() != 1:
            raise RuntimeError(
                f"Expected {of} to be bool or single-element tensor, but got {value}."
            )
        return bool(value.item())
    if isinstance(value, (bool, int, float)):
        return bool(value)
    raise RuntimeError(f"Expected {of} to be bool or tensor, but got {value}.")


def cond(
    pred: object,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: tuple[Any, ...] | list[Any] = (),
) -> Any:
    """true_fn(*operands) where pred is true, else false_fn(*operands); gradients go through.

    Raises RuntimeError where pred is no truth value or the operands are no tuple.

    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.cond(x.sum() > 2, lambda x: x + 1, lambda x: x - 1, (x,))
    tensor([2., 3.])
    """
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists "
            f"of tensor leaves, but got {operands}."
        )
    return (true_fn if _truth(pred, "pred") else false_fn)(*operands)


def while_loop(
    cond_fn: Callable[..., object],
    body_fn: Callable[..., object],
    carried_inputs: tuple[Any, ...] | list[Any],
) -> Any:
    """Runs body_fn on its own results as long as cond_fn says, and gives the last.

    carried_inputs: a tuple of tensors and numbers, nested as you like; body_fn returns as many.
    Raises RuntimeError where it returns others, or cond_fn no truth value.

    >>> torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), 5))
    (tensor(3), 40)
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(
            "Expect carried_inputs to be a tuple of possibly nested dict/list/tuple that only "
            f"consists of tensor or int leaves, but got {carried_inputs}."
        )
    carried: Any = tuple(carried_inputs)
    count = len(_pytree.tree_flatten(carried)[0])
    while _truth(cond_fn(*carried), "cond_fn's result"):
        made = body_fn(*carried)
        if not isinstance(made, (tuple, list)):
            raise RuntimeError(f"body_fn should return a tuple but got {type(made)}")
        if len(_pytree.tree_flatten(tuple(made))[0]) != count:
            raise RuntimeError(
                f"body_fn should return the same number of elements as carried_inputs, {count}, "
                f"but got {len(_pytree.tree_flatten(tuple(made))[0])}"
            )
        carried = tuple(made)
    return carried
