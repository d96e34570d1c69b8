"""How PyTorch names functions: the names in printed graphs and in generated code.

PyTorch's functions have the module they are written in as a part of their names:
`torch.nn.functional.dropout`, but `torch._C._nn.linear` for those in C++. Here one function may
stand in several namespaces, and be written anywhere; so the names are kept in a table.

Those that PyTorch writes in Python hand a call on with the arguments that have defaults by name,
and all of them: `regrouped` does the same to a call.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from .. import fft, linalg, special
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
# Those that call a method of their argument.
METHODS = ("sigmoid", "tanh")
# Parameters that a call is handed on with by position, although they have defaults here.
_POSITIONAL = {"torch.functional.split": 2}
_WITH_OUT = ("normalize", "norm")
_PREFIXES = ((linalg, "_linalg.linalg_"), (special, "_special.special_"), (fft, "_fft.fft_"))


def root() -> Any:
    """The package, as programs import it."""
    return sys.modules[_PACKAGE]


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
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def regrouped(
    function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call's arguments as PyTorch's function of that name hands them on."""
    signature = _signature(function)
    if signature is None:
        return args, kwargs
    parameters = signature.parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return args, {"indexing": None, **kwargs} if name.endswith(".meshgrid") else kwargs
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return args, kwargs
    bound.apply_defaults()
    values = dict(bound.arguments)
    count = _POSITIONAL.get(name, sum(p.default is p.empty for p in parameters))
    first = list(values)[:count]
    by_position = tuple(values.pop(n) for n in first)
    if name.rpartition(".")[2] not in _WITH_OUT and values.get("out", 0) is None:
        del values["out"]
    if name == "torch.functional.split":
        values.pop("split_size", None)
    if name == "torch.functional.tensordot":
        values.setdefault("out", None)
    if name == "torch.nn.functional.l1_loss":
        values.pop("weight", None) if values.get("weight") is None else None
    return by_position, values


def of_python(name: str) -> bool:
    """Whether PyTorch writes the function of that name in Python, over its arguments' classes."""
    return name.startswith(("torch.nn.functional.", "torch.functional."))


def resolved(name: str) -> Any:
    """What a name that starts with "torch." stands for here; None where nothing does."""
    value: Any = root()
    try:
        for part in name.split(".")[1:]:
            value = getattr(value, part)
    except AttributeError:
        return None
    return value


def as_functional(name: str, method: bool) -> Callable[..., Any]:
    """Stands for `torch.nn.functional.<name>` while a program is traced."""
    plain = getattr(functional, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        from .proxy import Proxy

        if not any(isinstance(a, Proxy) for a in (*args, *kwargs.values())):
            return plain(*args, **kwargs)
        if method:
            given = args[0] if args else kwargs["input"]
            return getattr(given, name)()
        args, kwargs = regrouped(plain, f"torch.nn.functional.{name}", args, kwargs)
        return Proxy.__torch_function__(plain, (), args, kwargs)

    call.__name__ = name
    return call
