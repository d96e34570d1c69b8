"""Signatures of functions, and calls' arguments matched to them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from .._alias.spelling import spelled
from .._base.missing import missing_name as _missing_name

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]


def get_signature_for_torch_op(op: Callable[..., object], return_schemas: bool = False) -> Any:
    """The signatures of a function of the library, in a list; None of any other.

    return_schemas: a pair with the schemas, of which there are none.
    """
    found = None
    if spelled(op) is not None:
        try:
            found = [inspect.signature(op)]
        except (TypeError, ValueError):
            found = None
    return (found, None) if return_schemas else found


def check_for_mutable_operation(
    target: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, Any]
) -> None:
    """RuntimeError for a function that writes into its argument."""
    name = (spelled(target) or "").rpartition(".")[2]
    if name.endswith("_") and not name.endswith("__"):
        raise RuntimeError(
            f"Tried to trace mutable operation {target}. FX only supports functional code, so "
            "operations that mutate operands in-place (e.g. via `out` arguments) are not supported"
        )


def create_type_hint(x: object) -> Any:
    """A list or tuple of types as one type; anything else as it is."""
    if not isinstance(x, (list, tuple)):
        return x
    kinds = {create_type_hint(i) for i in x}
    inner = kinds.pop() if len(kinds) == 1 else Any
    return list[inner] if isinstance(x, list) else tuple[inner, ...]  # type: ignore[valid-type]


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of a type may be given for a parameter of another."""
    if signature_type is inspect.Parameter.empty or signature_type is argument_type:
        return True
    if signature_type is float and argument_type is int:
        return True
    try:
        return issubclass(argument_type, signature_type)
    except TypeError:
        return bool(signature_type == argument_type)


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def _args_kwargs_to_normalized_args_kwargs(
    sig: inspect.Signature, args: Any, kwargs: Any, normalize_to_only_use_kwargs: bool
) -> ArgsKwargsPair | None:
    """The arguments by the signature's parameters, defaults filled in."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = list(sig.parameters.values())
    if any(p.kind not in kinds for p in parameters):
        return None
    bound = sig.bind(*args, **kwargs)
    bound.apply_defaults()
    by_position, by_name = [], {}
    for i, parameter in enumerate(parameters):
        value = bound.arguments[parameter.name]
        if not normalize_to_only_use_kwargs and i < len(args):
            by_position.append(value)
        else:
            by_name[parameter.name] = value
    return ArgsKwargsPair(tuple(by_position), by_name)


def normalize_function(
    target: Callable[..., object],
    args: tuple[object, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[object, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """A call's arguments matched to the function's signature; None where it is unknown.

    >>> pair = torch.fx.operator_schemas.normalize_function(
    ...     F.dropout, (1.0,), normalize_to_only_use_kwargs=True
    ... )
    >>> pair.kwargs
    {'input': 1.0, 'p': 0.5, 'training': True, 'inplace': False}
    """
    if spelled(target) is None:
        return None
    try:
        signature = inspect.signature(target)
        parameters = [p for p in signature.parameters.values() if p.name != "out"]
        signature = signature.replace(parameters=parameters)
        return _args_kwargs_to_normalized_args_kwargs(
            signature, args, kwargs or {}, normalize_to_only_use_kwargs
        )
    except (TypeError, ValueError):
        return None


def normalize_module(
    root: Any,
    target: str,
    args: tuple[object, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """A call's arguments matched to the forward of a child of the library's own."""
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize arguments for module target {target} but root did not have that "
            "target!"
        ) from error
    if not type(module).__module__.startswith(("rushlight.nn", "torch.nn")):
        return None
    return _args_kwargs_to_normalized_args_kwargs(
        inspect.signature(module.forward), args, kwargs or {}, normalize_to_only_use_kwargs
    )


__getattr__ = _missing_name(__name__)
