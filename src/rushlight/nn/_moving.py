"""The arguments of `to` of modules and packed sequences, in three forms."""

from __future__ import annotations

from typing import Any, NamedTuple

from rushlight import _root as rl

from .._base.dtypes import dtype

_FORMS = {
    "device": ("device", "dtype", "non_blocking", "copy"),
    "dtype": ("dtype", "non_blocking", "copy"),
    "tensor": ("tensor", "non_blocking", "copy"),
}
_PYTHON_DTYPES = {float: rl.float64, int: rl.int64, bool: rl.bool, complex: rl.complex128}
_CHECKS: dict[str, Any] = {
    "device": lambda v: v is None or type(v) in (str, int) or isinstance(v, rl.device),
    "dtype": lambda v: v is None or isinstance(v, rl.dtype) or v in list(_PYTHON_DTYPES),
    "tensor": lambda v: isinstance(v, rl.Tensor),
    "non_blocking": lambda v: isinstance(v, bool),
    "copy": lambda v: isinstance(v, bool),
    "memory_format": lambda v: v is None or isinstance(v, rl.memory_format),
}
_REST = "bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)"
_EXPECTED = (
    f"one of:\n * (torch.device device = None, torch.dtype dtype = None, {_REST}"
    f"\n * (torch.dtype dtype, {_REST}\n * (Tensor tensor, {_REST}\n"
)


class Conversion:
    overwrite = swap = False  # `torch.__future__`'s switches


class Target(NamedTuple):
    """Where to and as what; None leaves it as it is."""

    device: Any = None
    dtype: Any = None
    non_blocking: bool = False
    memory_format: Any = None


def target(args: tuple[dtype | str, ...], kwargs: dict[str, Any]) -> Target:
    """Reads the arguments of `to`."""
    if len(args) > 4:
        raise TypeError(f"to() takes from 0 to 4 positional arguments but {len(args)} were given")
    first = args[0] if args else None
    form = "device"
    if isinstance(first, rl.Tensor) or "tensor" in kwargs:
        form = "tensor"
    elif isinstance(first, (rl.dtype, type)):
        form = "dtype"
    names = _FORMS[form]
    given = dict(zip(names, args, strict=False)) | kwargs
    known = {*names, "memory_format"}
    if (
        len(given) < len(args) + len(kwargs)  # too many, or one of them twice
        or not given.keys() <= known
        or not all(_CHECKS[name](value) for name, value in given.items())
    ):
        got = [_kind(value) for value in args]
        got += [f"{name}={_kind(value)}" for name, value in kwargs.items()]
        raise TypeError(
            "to() received an invalid combination of arguments - got "
            f"({', '.join(got)}{'' if args else ', '}), but expected {_EXPECTED}"
        )
    if "copy" in given:
        raise RuntimeError(".to() does not accept copy argument")
    if form == "tensor":
        tensor = given.pop("tensor")
        given.update(device=tensor.device, dtype=tensor.dtype)
    found = Target(**given)
    device = None if found.device is None else rl.device(found.device)
    return found._replace(device=device, dtype=_PYTHON_DTYPES.get(found.dtype, found.dtype))


def _kind(value: object) -> str:
    """The name of a value's type, as torch words it."""
    if isinstance(value, rl.Tensor):
        return "Parameter" if type(value).__name__ == "Parameter" else "Tensor"
    if isinstance(value, (rl.dtype, rl.device, rl.memory_format)):
        return f"torch.{type(value).__name__}"
    return type(value).__name__
