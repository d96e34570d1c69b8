"""`torch._foreach_*`: one operation on each tensor of a list, as optimizers write their steps.

A function here is a row of `_TABLE`: its forms, and the name of the tensor operation that runs for
each entry, and gives an entry's types, gradients and errors. A form says its parameters as
PyTorch's errors do. The letter before a name says what is given:

    T  a list of tensors, one for each entry        N  a number
    S  a list of numbers, one for each entry        X  one tensor, the same for all
    P  a tensor of numbers, one for each entry      D, B, M  dtype, bool, memory format
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

from .. import _root as rl
from .._base import dtypes
from .._base.missing import missing_name as _missing_name
from .._core import Tensor, kernels
from ..ops.matrix.norms import vector_norm as _vector_norm

_UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p
log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc""".split()

_BOUNDS = ("T self, N scalar", "T self, S scalars", "T self, T other")
_SCALED = "T other, *, N alpha=1"
_PRODUCTS = ("T self, S scalars", "T self, X other", "T self, T other", "T self, N scalar")
_FUSED = tuple(
    f"T self, T tensor1, T tensor2, {last}" for last in ("S scalars", "P scalars", "N value=1")
)
_POWERS = ("T self, N exponent", "T self, S exponent", "T self, T exponent")

# The forms, in the order in which they are tried.
_BOTH: dict[str, tuple[str, ...]] = {  # with a variant in place
    **dict.fromkeys(_UNARY, ("T self",)),
    "add": (*_BOUNDS[:2], f"T self, {_SCALED.replace('T', 'X')}", f"T self, {_SCALED}"),
    "sub": (*_BOUNDS[:2], f"T self, {_SCALED}"),
    **dict.fromkeys(("mul", "div"), _PRODUCTS),
    **dict.fromkeys(("clamp_max", "clamp_min", "maximum", "minimum"), _BOUNDS),
    **dict.fromkeys(("addcmul", "addcdiv"), _FUSED),
    "lerp": tuple(f"T self, T tensors1, {w}" for w in ("N weight", "S weight", "T weights")),
    "pow": ("N self, T exponent", *_POWERS),
}
_TABLE: dict[str, tuple[str, ...]] = {
    **_BOTH,
    **{f"{name}_": forms for name, forms in _BOTH.items()},
    "pow_": _POWERS,
    "clone": ("T self, *, M memory_format=None",),
    "copy_": ("T self, T src, B non_blocking=False",),
    "max": ("T self",),
    "mm": ("T self, T mat2",),
    **dict.fromkeys(("norm", "powsum"), ("T self, N ord=2, D dtype=None",)),
    "zero_": ("T self",),
}

__all__ = [f"_foreach_{name}" for name in sorted(_TABLE)]

_WORDS = {
    "T": "tuple of Tensors",
    "N": "Number",
    "S": "tuple of Scalars",
    "X": "Tensor",
    "P": "Tensor",
    "D": "torch.dtype",
    "B": "bool",
    "M": "torch.memory_format",
}


class _Parameter(NamedTuple):
    kind: str
    name: str
    default: str | None
    by_name: bool

    def __str__(self) -> str:
        end = "" if self.default is None else f" = {self.default}"
        return f"{_WORDS[self.kind]} {self.name}{end}"


class _Form:
    """One way to call a function."""

    def __init__(self, text: str) -> None:
        positional, _, by_name = text.partition(", *, ")
        self.params: list[_Parameter] = []
        for part in filter(None, [*positional.split(", "), *by_name.split(", ")]):
            kind, _, rest = part.partition(" ")
            name, _, default = rest.partition("=")
            self.params.append(_Parameter(kind, name, default or None, part in by_name))
        self.positional = [p for p in self.params if not p.by_name]
        self.kinds = "".join(p.kind for p in self.params)
        self.counts = not {"S", "X", "P"}.isdisjoint(self.kinds)
        self.least = sum(p.default is None for p in self.params)

    def __str__(self) -> str:
        words = [str(p) for p in self.params]
        if len(self.positional) < len(words):
            words.insert(len(self.positional), "*")
        return f"({', '.join(words)})"

    def misfit(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> str | None:
        """The first thing wrong with a call of this form; None where nothing is."""
        most, given = len(self.positional), len(args)
        if given > most:
            least = sum(p.default is None for p in self.positional)
            count = most if least == most else f"from {least} to {most}"
            were = "was" if given == 1 else "were"
            plural = "s" * (most != 1)
            return f"{name}() takes {count} positional argument{plural} but {given} {were} given"
        missing = [p.name for p in self.positional[given:] if p.default is None]
        missing = [n for n in missing if n not in kwargs]
        for i, p in enumerate(self.params):
            by_place = i < given
            if not by_place and p.name not in kwargs:
                if p.name in missing:
                    break
                continue
            value = args[i] if by_place else kwargs[p.name]
            if not _fits(p, value):
                where = f" (position {i + 1})" * by_place
                kind = type(value).__name__
                return f"{name}(): argument '{p.name}'{where} must be {_WORDS[p.kind]}, not {kind}"
        if missing:
            listed = ", ".join(f'"{n}"' for n in missing)
            plural = "s" * (len(missing) == 1)  # as PyTorch words it
            return f"{name}() missing {len(missing)} required positional argument{plural}: {listed}"
        names = [p.name for p in self.params]
        for key in kwargs:
            if key not in names:
                return f"{name}() got an unexpected keyword argument '{key}'"
            if key in names[:given]:
                return f"{name}() got multiple values for argument '{key}'"
        return None

    def values(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments in the order of the parameters; `None` for those left out."""
        rest = [kwargs.get(p.name) for p in self.params[len(args) :]]
        return [
            value.item() if p.kind == "N" and isinstance(value, Tensor) else value
            for p, value in zip(self.params, [*args, *rest], strict=True)
        ]


_LIST, _NUMBER = (list, tuple), (int, float, complex)


def _fits(p: _Parameter, value: object) -> bool:
    if value is None:
        return p.default is not None
    match p.kind:
        case "T":
            return isinstance(value, _LIST)
        case "S":
            return isinstance(value, _LIST) and all(isinstance(v, _NUMBER) for v in value)
        case "N":
            if isinstance(value, Tensor):
                return value.dim() == 0 and not value.requires_grad and not value.is_meta
            return isinstance(value, _NUMBER) or hasattr(value, "__index__")
        case "D":
            return isinstance(value, dtypes.dtype)
        case "X" | "P":
            return isinstance(value, Tensor)
        case _:
            return True


# ---- what runs for an entry


def _norm(x: Tensor, ord: Any = None, dtype: Any = None) -> Tensor:
    order = 2 if ord is None else ord
    if isinstance(order, complex):
        raise RuntimeError("foreach_tensor_norm_slow expects ord to be integer or float")
    if not x.numel() and abs(order) == math.inf:
        raise RuntimeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor because the "
            "operation does not have an identity"
        )
    if order == 2 and dtype is None and not x.requires_grad and x._wrapped is None:
        found = kernels.norm2(x, None, False)
        if found is not NotImplemented:
            return found
    return _vector_norm(x, order, dtype=dtype)


def _powsum(x: Tensor, ord: Any = None, dtype: Any = None) -> Tensor:
    if not x.dtype.is_differentiable:
        raise NotImplementedError(f"\"powsum_cpu\" not implemented for '{x.dtype.scalar_name}'")
    return (x.abs() ** (2 if ord is None else ord)).sum(dtype=dtype)


def _max(x: Tensor) -> Tensor:
    if not x.numel():
        raise RuntimeError(
            "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements "
            "is undefined."
        )
    return x.max()


def _bound(name: str) -> Callable[..., Any]:
    """maximum and minimum of a number, too, which only clamp takes."""
    clamp = name.replace("maximum", "clamp_min").replace("minimum", "clamp_max")
    two = getattr(rl, name.removesuffix("_"))

    def run(x: Tensor, other: Any) -> Any:
        if not isinstance(other, Tensor):
            return getattr(x, clamp)(other)
        if not name.endswith("_"):
            return two(x, other)
        return x.copy_(two(x.clone() if x.requires_grad else x, other))

    return run


def _step(name: str) -> Callable[..., Any]:
    """addcmul and addcdiv, each with a number of its own."""
    operation = getattr(Tensor, name)

    def run(*args: Any) -> Any:
        return operation(*args[:-1], value=args[-1])

    return run


def _operation(name: str, form: _Form) -> Callable[..., Any]:
    special: dict[str, Callable[..., Any]] = {
        "norm": _norm,
        "powsum": _powsum,
        "max": _max,
        "pow": rl.pow,  # also of a number
        "copy_": lambda x, src, non_blocking: x.copy_(src),
        "clone": lambda x, form: x.clone() if form is None else x.clone(memory_format=form),
    }
    if name in special:
        return special[name]
    if name.startswith(("maximum", "minimum")):
        return _bound(name)
    if form.params[-1].name == "scalars" and len(form.params) > 2:
        return _step(name)
    operation: Callable[..., Any] = getattr(Tensor, name)
    return operation


# ---- the call


_PLAIN = {Tensor}


def _check_lists(name: str, form: _Form, values: list[Any]) -> None:
    """The checks of the lists, in PyTorch's order."""
    kinds = form.kinds
    tensors = [v for kind, v in zip(kinds, values, strict=True) if kind == "T"]
    for place, value in enumerate(tensors):
        if _PLAIN.issuperset(map(type, value)):
            continue
        for i, entry in enumerate(value):
            if not isinstance(entry, Tensor):
                raise TypeError(
                    f"expected Tensor as element {i} in argument {kinds.find('T', place)}, but got "
                    f"{type(entry).__name__}"
                )
    entries = len(tensors[0])
    if not entries:
        raise RuntimeError(
            "_foreach_mm requires non-empty tensor lists"
            if name == "mm"
            else "Tensor list must have at least one tensor."
        )
    for other in tensors[1:]:
        if len(other) != entries:
            raise RuntimeError(
                "_foreach_mm: self and mat2 must have the same number of tensors"
                if name == "mm"
                else f"Tensor lists must have the same number of tensors, got {entries} and "
                f"{len(other)}"
            )
    for kind, value in zip(kinds, values, strict=True) if form.counts else ():
        if kind == "S" and len(value) != entries:
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        if kind == "X" and value.dim():
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {value.dim()} dimensions and "
                f"{value.numel()} elements."
            )
        if kind == "P" and value.dim() != 1:
            raise RuntimeError(
                f"Expected packed scalar Tensor to be of dimension 1. Got {value.dim()} instead."
            )
        if kind == "P" and len(value) != entries:
            raise RuntimeError(
                f"Expected length of scalars to match input of length {entries} but got "
                f"{len(value)} instead."
            )


def _columns(form: _Form, values: list[Any]) -> Iterator[Iterable[Any]]:
    """Of each parameter of the operation the values for all entries."""
    for p, value in zip(form.params, values, strict=True):
        if p.kind == "P":
            value = value.tolist()
        yield list(value) if p.kind in "TSP" else repeat(value)


def _find(name: str, forms: list[_Form], args: Sequence[Any], kwargs: dict[str, Any]) -> _Form:
    for form in forms:
        if form.misfit(name, args, kwargs) is None:
            return form
    given = len(args) + len(kwargs)
    likely = [form for form in forms if form.least <= given <= len(form.params)]
    if len(forms) == 1 or len(likely) == 1:
        raise TypeError((likely or forms)[0].misfit(name, args, kwargs))
    kinds = [type(a).__name__ for a in args]
    kinds += [f"{key}={type(value).__name__}" for key, value in kwargs.items()]
    expected = "".join(f"\n * {form}" for form in forms)
    raise TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(kinds)}), "
        f"but expected one of:{expected}"
    )


def _say_all(types: tuple[type, ...], forms: list[_Form]) -> bool:
    """Whether types decide which form a call has: they are those of numbers, and of lists where no
    form takes numbers."""
    return all(
        t in (int, float) or (t in _LIST and all(f.kinds[i : i + 1] != "S" for f in forms))
        for i, t in enumerate(types)
    )


def _make(name: str) -> Callable[..., Any]:
    forms = [_Form(text) for text in _TABLE[name]]
    called = f"_foreach_{name}"
    operations = [_operation(name, form) for form in forms]

    known: dict[tuple[type, ...], _Form] = {}  # by the types of arguments that say all of them

    def foreach(*args: object, **kwargs: object) -> Any:
        types = tuple(map(type, args))
        if types in known and not kwargs:
            form, values = known[types], list(args)
        else:
            form = _find(called, forms, args, kwargs)
            values = form.values(args, kwargs)
            if len(args) == len(form.params) and _say_all(types, forms):
                known[types] = form
        _check_lists(name, form, values)
        operation, columns = operations[forms.index(form)], list(_columns(form, values))
        if form.params[-1].name in ("alpha", "value"):  # one number for all
            last = values[-1]
            columns.pop()
            run = getattr(Tensor, name)
            operation = run if last is None else partial(run, **{form.params[-1].name: last})
        results = list(map(operation, *columns))
        return values[0] if name.endswith("_") else tuple(results)

    foreach.__name__ = foreach.__qualname__ = called
    how = "in place; the list" if name.endswith("_") else "as a tuple"
    foreach.__doc__ = f"`{name}` of each tensor of a list, {how}.\n\n" + "\n".join(
        f"    {called}{form}" for form in forms
    )
    return foreach


for _name in _TABLE:
    globals()[f"_foreach_{_name}"] = _make(_name)

__getattr__ = _missing_name(__name__)
