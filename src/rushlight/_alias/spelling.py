"""How PyTorch names functions: the names in printed graphs and in generated code.

PyTorch's functions have the module they are written in as a part of their names:
`torch.nn.functional.dropout`, but `torch._C._nn.linear` for those in C++. Here one function may
stand in several namespaces, and be written anywhere; so the names are kept in a table.

A function that PyTorch writes in Python hands a call on with all arguments that have defaults, and
by name: `regrouped` does the same to a call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

from .. import _core, fft, linalg, special
from .._base.late import late
from ..nn import functional

_PACKAGE = __name__.partition(".")[0]

# Of torch.nn.functional, those that PyTorch writes in C++, and their module there.
_NATIVE = dict.fromkeys(
    """avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear one_hot
    scaled_dot_product_attention softplus softshrink""".split(),
    "torch._C._nn",
) | dict.fromkeys(
    """adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc
    conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity hardshrink
    native_channel_shuffle pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ rrelu_
    selu_ threshold_""".split(),
    "torch",
)
# Of torch, those that PyTorch writes in Python.
IN_FUNCTIONAL = """atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors
    cartesian_prod cdist chain_matmul einsum lu meshgrid norm split stft tensordot unique
    unique_consecutive unravel_index""".split()
# One function here, two in PyTorch: that of torch.nn.functional is told by its argument `inplace`.
IN_BOTH = ("relu", "celu", "selu", "rrelu")
# Functions that call a method of their argument.
METHODS = ("sigmoid", "tanh")
# Parameters that a call is handed on with by position, although they have defaults here.
_POSITIONAL = {
    "torch.functional.split": 2,
    "torch.Tensor.split": 1,
    "torch.functional.unravel_index": 1,
}
_WITH_OUT = ("normalize", "norm", "lu", "tensordot")
# Parameters that only the functions here have: they are handed on where they are given.
_ONLY_HERE = {
    "split": ("split_size",),
    "l1_loss": ("weight",),
    "__rpow__": ("mod",),
    "dim_order": ("ambiguity_check",),
}
# Methods of Tensor that PyTorch writes in Python.
_METHODS_IN_PYTHON = """__contains__ __deepcopy__ __dlpack_device__ __floordiv__ __format__ __len__
    __reduce_ex__ __repr__ __reversed__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rpow__
    __rrshift__ __rsub__ __rtruediv__ backward dim_order is_shared istft lu module_load norm
    register_hook register_post_accumulate_grad_hook share_memory_ split stft storage storage_type
    unflatten unique unique_consecutive""".split()
_PREFIXES = ((linalg, "_linalg.linalg_"), (special, "_special.special_"), (fft, "_fft.fft_"))


def root() -> Any:
    """The package, as programs import it."""
    return late.package()


@cache
def _names() -> dict[Any, str]:
    """The names of functions and classes, by their ids."""
    names: dict[int, str] = {}

    def add(value: Any, name: str, again: bool = False) -> None:
        own = getattr(value, "__name__", None) == name.rpartition(".")[2]
        if callable(value) and (own or again or id(value) not in names):
            names[id(value)] = name

    for name, value in sorted(vars(root()).items()):
        if not name.startswith("_") and callable(value):
            where = "torch.functional" if name in IN_FUNCTIONAL else "torch"
            add(value, f"{where}.{name}")
    for name, value in sorted(vars(functional).items()):
        if name.startswith("_") or not callable(value) or isinstance(value, type):
            continue
        where = _NATIVE.get(name, "torch.nn.functional")
        if where != "torch" and name not in IN_BOTH + METHODS:
            add(value, f"{where}.{name}", again=True)
    add(functional.logsigmoid, "torch._C._nn.log_sigmoid", again=True)
    add(functional.threshold, "torch.nn.functional._threshold", again=True)
    for module, prefix in _PREFIXES:
        for name in module.__all__:
            if id(getattr(module, name)) not in names:
                names[id(getattr(module, name))] = f"torch._C.{prefix}{name}"
    return names


def spelled(function: Any, kwargs: Any = ()) -> str | None:
    """PyTorch's name of a function of the library; None of any other. kwargs: those of the call."""
    name = _names().get(id(function))
    if name is None:
        return None
    last = name.rpartition(".")[2]
    if last in IN_BOTH and name.count(".") == 1 and "inplace" in kwargs:
        return f"torch.nn.functional.{last}"
    return name


@cache
def _plan(function: Any, name: str) -> tuple[tuple[str, ...], dict[str, Any]] | None:
    """The parameters that a function hands on by position, and the defaults of all others; None
    for a function that hands on its call unchanged."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    count = _POSITIONAL.get(name, sum(p.default is p.empty for p in parameters))
    last, method = name.rpartition(".")[2], name.startswith("torch.Tensor.")
    first = [p.name for p in parameters][:count]
    if method and first[:1] != ["self"]:
        first.insert(0, "self")
    rest = {p.name: p.default for p in list(parameters)[count:]}
    for other in _ONLY_HERE.get(last, ()):
        rest.pop(other, None)
    if last not in _WITH_OUT or method:
        rest.pop("out", None)
    elif last == "tensordot":
        rest["out"] = None
    return tuple(first), rest


def regrouped(
    function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call's arguments as PyTorch's function of that name hands them on."""
    if name in _OTHERWISE:
        return _OTHERWISE[name](*args, **kwargs)
    plan = _plan(function, name)
    if plan is None:
        return args, kwargs
    first, defaults = plan
    count = len(first)
    named = dict(kwargs)
    try:
        by_position = (*args[:count], *[named.pop(n) for n in first[len(args) :]])
    except KeyError:  # the function will say what is missing
        return args, kwargs
    given = dict(zip(defaults, args[count:], strict=False))
    if len(args) > count + len(defaults) or given.keys() & named:
        return args, kwargs
    rest = {**defaults, **given, **named}
    return by_position, {k: v for k, v in rest.items() if k in defaults or v is not None}


def _in_list(*tensors: object, indexing: object = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    in_list = len(tensors) == 1 and isinstance(tensors[0], (tuple, list))
    return tensors, {} if in_list and indexing is None else {"indexing": indexing}


def _one_by_one(*args: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if len(args) == 2 and isinstance(args[1], (list, tuple)):
        args = args[0], *args[1]
    return args, {}


_OTHERWISE: dict[str, Callable[..., Any]] = {
    "torch.functional.meshgrid": _in_list,
    "torch.functional.einsum": _one_by_one,
}


# Types of functions that live as long as the library.
_LASTING = tuple(
    map(type, (special.expit, _core.Tensor.add, _core.Tensor.__add__, _core.Tensor.numel))
)


@cache
def _in_python() -> dict[int, str]:
    """Names of what PyTorch writes in Python, methods of Tensor too, by their ids."""
    methods = {id(getattr(_core.Tensor, n)): f"torch.Tensor.{n}" for n in _METHODS_IN_PYTHON}
    return {k: name for k, name in _names().items() if of_python(name)} | methods


def handed_on(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]] | Literal[False] | None:
    """The arguments that `__torch_function__` is given for a call; None where they are the call's
    own, False where they are so in every call of the function."""
    name = _in_python().get(id(function))
    if name is None:
        name = spelled(function, kwargs or ())
        if name is None or not of_python(name):
            stays = type(function) in _LASTING and function.__name__ not in IN_BOTH
            return False if stays else None
    return regrouped(function, name, args, kwargs or {})


def of_python(name: str) -> bool:
    """Whether PyTorch writes the function of that name in Python, over its arguments' classes."""
    return name.startswith(("torch.nn.functional.", "torch.functional."))


def resolved(name: str) -> Any:
    """The object that a name that starts with "torch." has here; None where there is none."""
    value: Any = root()
    try:
        for part in name.split(".")[1:]:
            value = getattr(value, part)
    except AttributeError:
        return None
    return value
