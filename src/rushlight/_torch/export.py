"""`torch.export`: names that programs import; exporting is refused."""

from __future__ import annotations

from typing import Any

from .._base.missing import missing_name as _missing_name


class Dim:
    """A size that an export would leave open: kept, with its bounds.

    >>> torch.export.Dim("batch", min=1).min
    1
    """

    AUTO, STATIC, DYNAMIC = "AUTO", "STATIC", "DYNAMIC"

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        low, high = (0 if min is None else min), (2**63 - 1 if max is None else max)
        if high <= low:
            raise AssertionError(f"Cannot create Dim with inconsistent min={low}, max={high}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, low, high


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several `Dim`."""
    return tuple(Dim(name, min=min, max=max) for name in names)


def register_dataclass(cls: Any, *, serialized_type_name: str | None = None) -> None:
    """Let instances of a dataclass be containers of tensors."""
    import dataclasses

    from .._base.pytree import register_pytree_node

    names = [f.name for f in dataclasses.fields(cls) if f.init]
    register_pytree_node(
        cls,
        lambda x: ([getattr(x, n) for n in names], names),
        lambda values, context: cls(**dict(zip(context, values, strict=True))),
    )


__getattr__ = _missing_name(__name__)
