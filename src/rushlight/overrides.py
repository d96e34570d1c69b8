"""`torch.overrides`: classes and modes that take calls over with `__torch_function__`.

Whether a call is taken over is decided by the gate that each public function begins with
(native/core/override.h); here is what programs ask about it, and the modes.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from . import _core, fft, linalg, special
from . import _root as rl
from ._base.errors import warn
from ._base.late import late
from ._base.missing import missing_name as _missing_name
from ._base.size import Size
from ._core import Tensor
from .nn import functional, init
from .ops.table.documentation import public_signature
from .ops.table.names import namespace

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])


# ---- asking


def has_torch_function(relevant_args: Iterable[object]) -> bool:
    """Whether the class of one of the arguments, or a mode, takes calls over.

    >>> class Unit:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return "mine"
    >>> torch.overrides.has_torch_function((torch.zeros(1), Unit()))
    True
    >>> torch.overrides.has_torch_function((torch.zeros(1),))
    False
    """
    return _core.has_torch_function(relevant_args)


def has_torch_function_unary(relevant: object) -> bool:
    """Whether the class of an argument, or a mode, takes calls over.

    >>> torch.overrides.has_torch_function_unary(torch.zeros(1))
    False
    """
    return _core.has_torch_function_unary(relevant)


def has_torch_function_variadic(*relevant: object) -> bool:
    """`has_torch_function` of arguments given one by one.

    >>> torch.overrides.has_torch_function_variadic(torch.zeros(1), 2)
    False
    """
    return _core.has_torch_function_variadic(*relevant)


def handle_torch_function(
    public_api: Callable[..., object],
    relevant_args: Iterable[object],
    *args: object,
    **kwargs: object,
) -> Any:
    """Give a call to the mode and the classes that take it over.

    public_api: the function that was called, with args and kwargs. relevant_args: those of its
    arguments whose classes are asked.

    >>> def halve(x):
    ...     if torch.overrides.has_torch_function_unary(x):
    ...         return torch.overrides.handle_torch_function(halve, (x,), x)
    ...     return x / 2
    >>> class Half:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} of a {cls.__name__}"
    >>> halve(torch.ones(1)), halve(Half())
    (tensor([0.5000]), 'halve of a Half')
    """
    return _core.handle_torch_function(public_api, relevant_args, args, kwargs)


def wrap_torch_function(
    dispatcher: Callable[..., Iterable[object]],
) -> Callable[[_Function], _Function]:
    """Decorator: a function whose calls classes and modes may take over.

    dispatcher: gives, of the function's arguments, those whose classes are asked.

    >>> @torch.overrides.wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(1))
    tensor([2.])
    """

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def wrapped(*args: object, **kwargs: object) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if _core.has_torch_function(relevant):
                return _core.handle_torch_function(wrapped, relevant, args, kwargs)
            return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    return decorate


def redispatch_function(func: object, types: object, args: object, kwargs: object) -> Tensor | Size:
    """Call a function past its own gate; calls inside it are taken over as ever.

    For a `__torch_function__` that wants to see what a function is made of.

    >>> class Named(torch.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return torch.overrides.redispatch_function(func, types, args, kwargs or {})
    >>> torch.ones(2).as_subclass(Named) + 1
    tensor([2., 2.])
    """
    return _core.skip_one_hop(func, types, args, kwargs)


def is_tensor_like(inp: object) -> bool:
    """Whether something is a tensor, or of a class that takes calls over.

    >>> torch.overrides.is_tensor_like(torch.zeros(1)), torch.overrides.is_tensor_like([0.0])
    (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


# ---- modes


class TorchFunctionMode:
    """Takes over every call of a public function inside its `with` block, on this thread.

    Calls inside `__torch_function__` go to the modes entered before.

    >>> class Log(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(torch.overrides.resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     x = torch.ones(2) + 1
    torch.ones
    torch.Tensor.add
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} must define __torch_function__(self, func, types, args=(), "
            "kwargs=None)"
        )

    __enter__ = _core.c_method(_core.begin_mode)
    __exit__ = _core.c_method(_core.end_mode)

    @classmethod
    def push(cls, *args: object, **kwargs: object) -> Any:
        """The mode itself: an older way to write `with Mode():`."""
        warn(
            "`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`",
        )
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing.

    >>> with torch.overrides.BaseTorchFunctionMode():
    ...     torch.ones(2) + 1
    tensor([2., 2.])
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> object:
    modes = _core.entered_modes()
    return modes[-1] if modes else None


_get_current_function_mode_stack = _core.entered_modes
_push_mode = _core.enter_mode
_pop_mode = _core.leave_mode


@contextlib.contextmanager
def _pop_mode_temporarily() -> Iterator[object]:
    mode = _core.leave_mode()
    try:
        yield mode
    finally:
        _core.enter_mode(mode)


# ---- what can be taken over

# Members of Tensor without a gate: how instances come to be and are told apart, and the library's.
_NO_GATE = (
    "__delitem__ __dict__ __getattribute__ __hash__ __init__ __init_subclass__ __iter__ __new__ "
    "__subclasshook__ __torch_function__ "
    "_array _attached _bump_version _contiguous _cut _flags _forget_accumulator _grad _hooks "
    "_accelerator _form _host_array _make_subclass _make_wrapper_subclass _on_meta "
    "_offset _repr_html_ _seen _set_flag _typed_storage _wrapped as_subclass"
).split()
# Functions that PyTorch lists as never taken over, since they have no tensors or make new tensors,
# though the classes of arguments are asked.
_COUNTED_AS_IGNORED = (
    "arange as_strided bartlett_window blackman_window empty empty_permuted empty_strided eye fill "
    "full hamming_window hann_window kaiser_window linspace logspace normal ones rand rand_like "
    "randint randint_like randn randn_like randperm range result_type scalar_tensor tril_indices "
    "triu_indices vander zeros"
).split()
_METHODS_COUNTED_AS_IGNORED = (
    "new new_empty new_full new_ones new_tensor new_zeros stride unflatten"
).split()


def _namespaces() -> dict[str, tuple[object, dict[str, object]]]:
    """Of each public namespace: the object with the functions, and the functions."""
    found: dict[str, tuple[Any, dict[str, Any]]] = {}
    root = late.package()
    for name, owner, table in (
        ("torch", root, {**vars(rl), **namespace("torch")}),
        ("torch.nn.functional", functional, vars(functional)),
        ("torch.nn.init", init, vars(init)),
        ("torch.linalg", linalg, vars(linalg)),
        ("torch.special", special, vars(special)),
        ("torch.fft", fft, vars(fft)),
    ):
        functions = {n: f for n, f in table.items() if not n.startswith("_") and callable(f)}
        found[name] = owner, functions
    return found


def _asks_classes(function: Any) -> bool:
    kind = type(function)  # `__class__` of a Public is the function's
    return kind is _core.Op or (kind is _core.Public and not function._asks)


_Tables = tuple[dict[Any, list[Any]], dict[Any, str], set[Any]]


@functools.cache
def _tables() -> _Tables:
    """The functions that can be taken over by the object that has them; every name; the rest."""
    from ._torch import functional as in_python

    overridable: dict[object, list[object]] = {}
    names: dict[Any, str] = {}
    ignored: set[object] = set()
    for where, (owner, functions) in _namespaces().items():
        layers = where == "torch.nn.functional"
        for name, function in functions.items():
            if not _asks_classes(function) or (where == "torch" and name in _COUNTED_AS_IGNORED):
                ignored.add(function)
            elif name[-1] != "_":
                overridable.setdefault(owner, []).append(function)
            entry = getattr(function, "entry", None)
            own = entry is not None and entry.name == name
            if function not in names or (own and (layers or names[function] != f"torch.{name}")):
                names[function] = f"{where}.{name}"
    for name in in_python.__all__:
        names[getattr(in_python, name)] = f"torch.functional.{name}"
    for name in dir(Tensor):
        member = getattr(Tensor, name)
        if getattr(object, name, None) == member:
            continue
        where = f"torch.Tensor.{name}"
        gated = name not in _NO_GATE
        if callable(member):
            if member not in names or (
                name[-1] == "_" and name == member.__name__
            ):  # what writes in place is a method first
                names[member] = where
            kept = gated and name not in _METHODS_COUNTED_AS_IGNORED
            if kept:
                overridable.setdefault(Tensor, []).append(member)
            else:
                ignored.add(member)
        elif hasattr(member, "__get__"):
            names[member.__get__] = f"{where}.__get__"
            names[member.__set__] = f"{where}.__set__"
            if gated:
                overridable[member] = [member.__get__]
    return overridable, names, ignored


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that can be taken over, by the module or class that has them.

    Of an attribute it is the `__get__`.

    >>> torch.add in torch.overrides.get_overridable_functions()[torch]
    True
    """
    return _tables()[0]


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions that no class of an argument takes over.

    >>> torch.Tensor.as_subclass in torch.overrides.get_ignored_functions()
    True
    >>> torch.add in torch.overrides.get_ignored_functions()
    False
    """
    return _tables()[2]


@functools.cache
def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose result `Tensor.__torch_function__` leaves as it is: it stands somewhere.

    >>> torch.Tensor.grad.__get__ in torch.overrides.get_default_nowrap_functions()
    True
    """
    places: tuple[Any, ...] = (Tensor._base, Tensor.grad, Tensor._grad)
    return {place.__get__ for place in places}


def _signature(function: Any) -> inspect.Signature | None:
    entry = getattr(function, "entry", None)
    if entry is None or entry.kind == "composite":
        try:
            return inspect.signature(function)
        except (TypeError, ValueError):
            return None
    own = public_signature(function)
    return own.replace(parameters=[p.replace(annotation=p.empty) for p in own.parameters.values()])


def _dummy(function: object) -> Callable[..., int]:
    signature = _signature(function)

    def dummy(*args: object, **kwargs: object) -> int:
        return -1

    if signature is not None:
        dummy.__signature__ = signature  # type: ignore[attr-defined]
    return dummy


@functools.cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function that can be taken over, one of the same signature that gives -1.

    >>> torch.overrides.get_testing_overrides()[torch.add](torch.ones(1), 1)
    -1
    """
    return {f: _dummy(f) for functions in _tables()[0].values() for f in functions}


def resolve_name(f: object) -> str | None:
    """The name that programs know a function by; None of one that is not public.

    >>> torch.overrides.resolve_name(torch.Tensor.add)
    'torch.Tensor.add'
    >>> torch.overrides.resolve_name(torch.Tensor.shape.__get__)
    'torch.Tensor.shape.__get__'
    """
    return _tables()[1].get(f)


def is_tensor_method_or_property(func: Callable[..., object]) -> bool:
    """Whether a function is a method of Tensor, or the `__get__` of an attribute.

    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
    True
    >>> torch.overrides.is_tensor_method_or_property(torch.add)
    False
    """
    return func in get_overridable_functions()[Tensor] or func.__name__ == "__get__"


__getattr__ = _missing_name(__name__)
