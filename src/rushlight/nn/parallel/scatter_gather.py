"""`torch.nn.parallel.scatter_gather` with one device: what is scattered goes there whole."""

from __future__ import annotations

from typing import Any

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter(inputs: object, target_gpus: object, dim: int = 0) -> list[Any]:
    """A list of the inputs, as there is one device."""
    return [inputs]


def scatter_kwargs(
    inputs: tuple[object, ...], kwargs: dict[str, Any] | None, target_gpus: object, dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """The arguments and the named arguments for each device."""
    return (inputs,), (kwargs or {},)


def gather(outputs: Any, target_device: object, dim: int = 0) -> Any:
    """The one output of a list."""
    return outputs[0]
