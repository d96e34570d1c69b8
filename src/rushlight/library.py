"""`torch.library`: operators of a program's own, with a backward, a shape rule and a vmap rule.

    @torch.library.custom_op("mylib::sin", mutates_args=())
    def sin(x: torch.Tensor) -> torch.Tensor: ...

An operator is a `Function` that its parts are registered with one after the other.
"""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import _dtypes as dtypes
from . import _root as rl
from ._core import Tensor
from ._device import device as _device
from ._elsewhere import refusing as _refusing
from ._missing import missing_name as _missing_name
from .autograd.function import Function

__all__ = [
    "CustomOpDef",
    "custom_op",
    "infer_schema",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]

# What a parameter's annotation is called in a schema.
_TYPES: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    complex: "Scalar",
    dtypes.dtype: "ScalarType",
    _device: "Device",
    int | float | bool: "Scalar",
}
_SEQUENCES = (list, tuple, collections.abc.Sequence)


def _type_text(annotation: Any) -> str:
    """An annotation in a schema's words; "" for one that a schema cannot say."""
    if annotation in _TYPES:
        return _TYPES[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType) and type(None) in inner:
        rest = tuple(t for t in inner if t is not type(None))
        text = _type_text(rest[0] if len(rest) == 1 else typing.Union[rest])  # noqa: UP007
        return f"{text}?" if text else ""
    if origin in _SEQUENCES and inner:
        text = _type_text(inner[0])
        return f"{text}[]" if text else ""
    return ""


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Any = (),
) -> str:
    """The schema that a function's annotations say.

    Raises ValueError for a parameter without one, or with one that a schema cannot say.

    >>> def scaled(x: torch.Tensor, k: float = 1.0) -> torch.Tensor:
    ...     return x * k
    >>> torch.library.infer_schema(scaled, mutates_args=())
    '(Tensor x, float k=1.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function)

    def refuse(what: str) -> ValueError:
        return ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    parts: list[str] = []
    mutated = 0
    for name, p in signature.parameters.items():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise refuse("We do not support positional-only args, varargs, or varkwargs.")
        if p.kind is p.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        if name not in hints:
            raise refuse(f"Parameter {name} must have a type annotation.")
        text = _type_text(hints[name])
        if not text:
            raise refuse(f"Parameter {name} has unsupported type {hints[name]}.")
        if mutates_args == "unknown" or name in mutates_args:
            if not text.startswith("Tensor"):
                if mutates_args != "unknown":
                    raise refuse(f"Parameter {name} is in mutable_args but only Tensors can be.")
            else:
                text = text.replace("Tensor", f"Tensor(a{mutated}!)", 1)
                mutated += 1
        default = p.default
        if default is not p.empty:
            shown = f'"{default}"' if isinstance(default, str) else str(default)
            parts.append(f"{text} {name}={shown}")
        else:
            parts.append(f"{text} {name}")
    given = hints.get("return", type(None))
    results = typing.get_args(given) if typing.get_origin(given) is tuple else (given,)
    if given is type(None):
        shown = "()"
    else:
        names = [_type_text(r) for r in results]
        if not all(names):
            raise refuse(f"Return has unsupported type {given}.")
        shown = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f"{op_name or ''}({', '.join(parts)}) -> {shown}"


class CustomOpDef:
    """An operator that `custom_op` made; it is called as its function is."""

    def __init__(self, name: str, fn: Callable[..., Any], mutates_args: Any, schema: str) -> None:
        self._qualname = name
        self._namespace, _, self._name = name.partition("::")
        self._init_fn, self._schema = fn, schema
        self._signature = inspect.signature(fn)
        self._mutated = frozenset(() if isinstance(mutates_args, str) else mutates_args)
        self._kernels: dict[str, Callable[..., Any]] = {}
        self._fake: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self._vmap: Callable[..., Any] | None = None
        self._function = self._make_function()

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    # ---- what is registered

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Give it a backward: `backward(ctx, *grads)`, one gradient for each argument.

        setup_context: `(ctx, inputs, output)`, called after each forward to save for it.
        """
        self._backward, self._setup = backward, setup_context

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Give it what it does on the device meta: shapes and types. Also a decorator."""
        self._fake = fn
        return fn

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Give it a rule for vmap: `(info, in_dims, *args)` to `(output, out_dims)`. Also a
        decorator."""
        if func is None:
            return self.register_vmap
        self._vmap = func
        self._function = self._make_function()
        return func

    def register_kernel(
        self, device_types: str | Sequence[str], fn: Callable[..., Any] | None = None, /
    ) -> Any:
        """Give it another function for a kind of device. Also a decorator."""
        if fn is None:
            return lambda f: self.register_kernel(device_types, f)
        for kind in [device_types] if isinstance(device_types, str) else device_types:
            self._kernels[kind] = fn
        return fn

    # ---- calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise RuntimeError(
                f"{self._qualname}() {error}. Declaration: {self._qualname}{self._schema}"
            ) from None
        bound.apply_defaults()
        for i, (name, value) in enumerate(bound.arguments.items()):
            self._check(i, name, value)
        if self._mutated:
            for name in self._mutated:
                t = bound.arguments[name]
                if isinstance(t, Tensor) and t.requires_grad and rl.is_grad_enabled():
                    raise RuntimeError(
                        f"{self._qualname} writes its argument {name!r}, which requires grad: an "
                        "operator that writes cannot be differentiated."
                    )
            return self._run(bound.arguments)
        return self._function.apply(*bound.arguments.values())

    def _check(self, i: int, name: str, value: Any) -> None:
        p = self._signature.parameters[name]
        said = typing.get_type_hints(self._init_fn).get(name)
        if said is Tensor and not isinstance(value, Tensor):
            raise RuntimeError(
                f"{self._qualname}() Expected a value of type 'Tensor' for argument '{p.name}' but "
                f"instead found type '{type(value).__name__}'.\nPosition: {i}\nValue: {value!r}\n"
                f"Declaration: {self._qualname}{self._schema}"
            )

    def _run(self, arguments: dict[str, Any]) -> Any:
        tensors = [v for v in arguments.values() if isinstance(v, Tensor)]
        kind = tensors[0].device.type if tensors else "cpu"
        function = self._kernels.get(kind, self._init_fn)
        if kind == "meta" and self._fake is not None:
            function = self._fake
        kinds = {n: p.kind for n, p in self._signature.parameters.items()}
        named = {n: v for n, v in arguments.items() if kinds[n] is inspect.Parameter.KEYWORD_ONLY}
        result = function(*[v for n, v in arguments.items() if n not in named], **named)
        for out in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(out, Tensor) and any(out is t for t in tensors):
                raise RuntimeError(
                    f"{self._name} (with implementation in {inspect.getmodule(self._init_fn)}): "
                    "The output of this custom operator (1) must not also be an input to this "
                    "custom operator and (2) may not alias any inputs to this custom operator or "
                    "other returns. The most common way to trigger this error is if we have "
                    "y = custom_op(x) and y and x are the same Tensor. Please instead return a "
                    "clone of the offending output tensor(s) (e.g. return x.clone()) or refactor "
                    "the custom operator to not return y."
                )
        return result

    def _make_function(self) -> Any:
        op = self
        names = list(self._signature.parameters)
        only_named = [
            n
            for n, p in self._signature.parameters.items()
            if p.kind is inspect.Parameter.KEYWORD_ONLY
        ]

        def forward(*values: Any) -> Any:
            return op._run(dict(zip(names, values, strict=True)))

        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            if op._setup is None:
                return
            if only_named:
                count = len(names) - len(only_named)
                named = dict(zip(only_named, inputs[count:], strict=True))
                op._setup(ctx, inputs[:count], named, output)
            else:
                op._setup(ctx, inputs, output)

        def backward(ctx: Any, *grads: Any) -> Any:
            if op._backward is None:
                raise RuntimeError(
                    f"Trying to backward through {op._namespace}.{op._name}.default but no "
                    "autograd formula was registered. Please use register_autograd to add one."
                )
            found = op._backward(ctx, *grads)
            if only_named:
                found = found if isinstance(found, tuple) else (found,)
                found = (*found, *[None] * len(only_named))
            return found

        members: dict[str, Any] = {
            "forward": staticmethod(forward),
            "setup_context": staticmethod(setup_context),
            "backward": staticmethod(backward),
        }
        if self._vmap is not None:
            members["vmap"] = staticmethod(self._vmap)
        return type(
            f"GeneratedBackwardFor_{self._namespace}_{self._name}_default", (Function,), members
        )


_known: dict[str, CustomOpDef] = {}


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Decorator: an operator of a function over tensors, by name ("namespace::name").

    mutates_args: the names of the tensors that it writes to. The function must be annotated, or a
    schema be given.

    >>> @torch.library.custom_op("examples::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return x + x
    >>> twice(torch.ones(2))
    tensor([2., 2.])
    """
    if fn is None:
        return lambda f: custom_op(
            name, f, mutates_args=mutates_args, device_types=device_types, schema=schema
        )
    text = infer_schema(fn, mutates_args=mutates_args) if schema is None else schema
    if name.count("::") != 1:
        raise ValueError(f"Expected `name` to be of the form `namespace::name`, got {name}")
    op = _known[name] = CustomOpDef(name, fn, mutates_args, text)
    return op


def _op_of(op: str | CustomOpDef) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if op not in _known:
        raise RuntimeError(f"There is no operator {op!r}: torch.library.custom_op makes one.")
    return _known[op]


def register_autograd(
    op: str | CustomOpDef,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Any = None,
) -> None:
    """Give an operator a backward: see `CustomOpDef.register_autograd`."""
    _op_of(op).register_autograd(backward, setup_context=setup_context)


def register_fake(
    op: str | CustomOpDef, func: Callable[..., Any] | None = None, /, **settings: Any
) -> Any:
    """Give an operator what it does on the device meta. Also a decorator."""
    return _op_of(op).register_fake if func is None else _op_of(op).register_fake(func)


def register_kernel(
    op: str | CustomOpDef,
    device_types: str | Sequence[str],
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Any = None,
) -> Any:
    """Give an operator another function for a kind of device. Also a decorator."""
    return _op_of(op).register_kernel(device_types, func)


def register_vmap(
    op: str | CustomOpDef, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Any:
    """Give an operator a rule for vmap. Also a decorator."""
    return _op_of(op).register_vmap(func)


_NO_TRITON = "there is no Triton, whose kernels run on a GPU."
triton_op = _refusing("torch.library.triton_op", _NO_TRITON)
wrap_triton = _refusing("torch.library.wrap_triton", _NO_TRITON)

__getattr__ = _missing_name(__name__)
