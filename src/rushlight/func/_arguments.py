"""Which arguments a transform is about, and what a function of it must give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._base.pytree import TreeSpec, tree_flatten, tree_map
from .._core import Tensor
from .._levels.structure import given

__all__ = [
    "checked_argnums",
    "chosen",
    "give",
    "is_tensor",
    "name_of",
    "replaced",
    "tensors_of",
    "with_aux",
]


def is_tensor(x: object) -> bool:
    return isinstance(x, Tensor)


def name_of(f: object) -> str:
    return getattr(f, "__name__", None) or repr(f)


def checked_argnums(argnums: object, args: tuple[Any, ...]) -> Any:
    if isinstance(argnums, int) and not isinstance(argnums, bool):
        return _argnum(argnums, args)
    if isinstance(argnums, tuple):
        if not argnums:
            raise RuntimeError("argnums must be non-empty. An empty tuple names no argument.")
        found = tuple(_argnum(a, args) for a in argnums)
        if len(set(found)) != len(found):
            raise RuntimeError(f"argnums elements must be unique, got {argnums}")
        return found
    raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")


def _argnum(argnum: int, args: tuple[Tensor, ...]) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -len(args) <= argnum < len(args):
        raise RuntimeError(f"Got argnum={argnum}, but only {len(args)} positional inputs")
    return argnum % len(args)


def chosen(args: tuple[Any, ...], argnums: Any) -> Any:
    return args[argnums] if isinstance(argnums, int) else tuple(args[i] for i in argnums)


def replaced(args: tuple[Any, ...], argnums: Any, values: Any) -> list[Any]:
    """The arguments with those of some numbers replaced, and the others given on."""
    chosen = (
        {argnums: values} if isinstance(argnums, int) else dict(zip(argnums, values, strict=True))
    )
    return [chosen[i] if i in chosen else give(a) for i, a in enumerate(args)]


def with_aux(result: object, where: str) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(
            f"{where}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for x in tree_flatten(result[1])[0]:
        if not is_tensor(x):
            raise RuntimeError(
                f"Expected tensors, got unsupported type {type(x)}. With has_aux=True the second "
                "result of the function may be any structure of tensors; keep other values outside."
            )
    return result


def tensors_of(output: Tensor | Sequence[Tensor], what: str) -> tuple[list[Any], TreeSpec]:
    leaves, spec = tree_flatten(output)
    if all(x is None for x in leaves):
        raise RuntimeError(
            f"{what}: Expected f to be a function that has non-empty output (got output = {leaves})"
        )
    for x in leaves:
        if not is_tensor(x):
            raise RuntimeError(
                f"{what}: expected f(*primals) to return only tensors, got "
                f"unsupported type {type(x)}"
            )
    return leaves, spec


def give(tree: object) -> Any:
    """Arguments that are not differentiated, marked as given: the function may write to given
    tensors, and to no others."""
    return tree_map(lambda x: given(x) if is_tensor(x) else x, tree)
