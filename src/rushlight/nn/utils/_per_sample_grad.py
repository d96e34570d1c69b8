"""Gradients of each example of a batch, next to the parameters: libraries of privacy call this."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..._base.pytree import tree_flatten, tree_unflatten
from ..._root import Tensor, is_tensor
from ...func import functional_call, vmap
from ..modules.module import Module


def call_for_per_sample_grads(
    module: Module,
    *,
    batch_size: int | None = None,
    loss_reduction: str = "sum",
    batch_first: bool = True,
) -> Callable[..., Any]:
    """The forward of a module, whose backward leaves the gradient of each example in `grad_sample`.

    The parameters' own `grad` stays as it was. `loss_reduction` says how the loss joins the
    examples: with "mean" the gradients are those of the examples' own losses.

    >>> from importlib import import_module
    >>> utils = import_module(f"{torch.__name__}.nn.utils._per_sample_grad")
    >>> layer, x = nn.Linear(2, 1), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> utils.call_for_per_sample_grads(layer)(x).sum().backward()
    >>> layer.weight.grad_sample
    tensor([[[1., 2.]],
    <BLANKLINE>
            [[3., 4.]]])
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(
            f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}"
        )
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(
            f"Batch size passed must be None or an integer, got {type(batch_size).__name__}"
        )
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    wanted = {name: p for name, p in module.named_parameters() if p.requires_grad}
    for p in wanted.values():
        if getattr(p, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for "
                f"multiple calls without clearing gradients. Please clear out the grad_sample "
                f"parameter of {p} or post an issue to pytorch/pytorch to prioritize correct "
                "behavior"
            )
    dim = 0 if batch_first else 1

    @wraps(module.forward)
    def call(*args: object, **kwargs: object) -> object:
        leaves, spec = tree_flatten((args, kwargs))
        n = _batch_size([t for t in leaves if is_tensor(t)], dim, batch_size)
        samples = {name: _sample(p, n, loss_reduction == "mean") for name, p in wanted.items()}

        def of_one(weights: dict[str, Tensor], given: list[Any]) -> object:
            batched = [t.unsqueeze(dim) if is_tensor(t) else t for t in given]
            its_args, its_kwargs = tree_unflatten(batched, spec)
            found, shape = tree_flatten(functional_call(module, weights, its_args, its_kwargs))
            return tree_unflatten([t.squeeze(dim) for t in found], shape)

        dims = [dim if is_tensor(t) else None for t in leaves]
        return vmap(of_one, (0, dims), dim, "different")(samples, leaves)

    return call


def _batch_size(tensors: list[Tensor], dim: int, given: int | None) -> int:
    sizes = [t.shape[dim] for t in tensors]
    if given is not None:
        for n in sizes:
            if n != given:
                raise RuntimeError(
                    "Expected ExpandedWeights to have batch size matching input but got input "
                    f"batch size of {n} with ExpandedWeight of batch size {given}"
                )
        return given
    if not sizes:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able "
            "and so ExpandedWeights cannot compute the batch size from the inputs. Please specify "
            "it explicitly"
        )
    for n in sizes:
        if n != sizes[0]:
            raise RuntimeError(
                f"When computing batch size, found at least one input with batch size {sizes[0]} "
                f"and one with batch size {n}. Please specify it explicitly using the batch size "
                "kwarg in call_for_per_sample_grads"
            )
    return sizes[0]


def _sample(p: Any, n: int, mean: bool) -> Tensor:
    """A parameter for each example; the gradients of all are added to `grad_sample`."""
    each = p.detach().expand(n, *p.shape).requires_grad_()

    def keep(leaf: Tensor) -> None:
        grad, before = leaf.grad, getattr(p, "grad_sample", None)
        assert grad is not None
        grad = grad * n if mean else grad
        p.grad_sample = grad if before is None else before + grad

    each.register_post_accumulate_grad_hook(keep)
    return each
