"""`torch.library`: operators of a program's own, with a backward, a shape rule and a vmap rule.

    @torch.library.custom_op("mylib::sin", mutates_args=())
    def sin(x: torch.Tensor) -> torch.Tensor: ...

An operator is a `Function` whose parts are registered step by step.
"""

from __future__ import annotations

import ast
import collections.abc
import contextlib
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import _root as rl
from .._base import dtypes
from .._base.device import device as _device
from .._base.missing import missing_name as _missing_name
from .._base.pytree import (
    broadcast_to_and_flatten,
    tree_flatten,
    tree_leaves,
    tree_map_only,
    tree_unflatten,
)
from .._core import Tensor
from .._levels.composites import batch_level, warn_of_loop
from ..autograd.function import Function
from ..ops.table.aten import CUSTOM

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]

# The schema's words for annotations of parameters.
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


def _type_text(annotation: object) -> str:
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
    prototype_function: Callable[..., object],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: object = (),
) -> str:
    """The schema that a function's annotations say.

    Raises ValueError for a parameter without an annotation, or with one unknown to schemas.

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


class _Call:
    """A call of an operator that takes or gives lists of tensors, which a Function has flat."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.flat, self._given = tree_flatten(values)
        self._found: Any = None

    def arguments(self, flat: Any) -> tuple[object, ...]:
        found: tuple[Any, ...] = tree_unflatten(list(flat), self._given)
        return found

    def taken(self, result: object) -> tuple[object, ...]:
        """The result of the operator, flat."""
        flat, self._found = tree_flatten(result)
        return tuple(flat)

    def result(self, flat: Any) -> Any:
        return tree_unflatten(list(flat), self._found)

    def dims(self, dims: object) -> tuple[Any, ...]:
        """The dimensions of a batch in the result: one for all, or as the result stands."""
        return tuple(broadcast_to_and_flatten(dims, self._found) or ())

    def gradients(self, found: tuple[Any, ...]) -> tuple[object, ...]:
        """The gradients of all arguments, flat; None stands for no gradient of a list, too."""
        given = self.arguments(self.flat)
        if len(found) > len(given) and not any(found[len(given) :]):
            found = found[: len(given)]
        flat: list[object] = [None]
        for value, grad in zip(given, found, strict=False):
            count = len(tree_flatten(value)[0])
            grads = [grad] if not isinstance(value, (list, tuple)) else grad
            flat += [None] * count if grads is None else grads
            if len(found) != len(given) or (grads is not None and len(grads) != count):
                raise RuntimeError(
                    "Expected the return from backward to be of the same structure as the inputs. "
                    f"Got: {tree_flatten(found)[1]} (return from backward), {self._given} (inputs)"
                )
        return tuple(flat)


def _defaults_at_the_end(values: Sequence[object], defaults: Sequence[object]) -> int:
    """How many of the last values are the parameters' defaults."""
    count = 0
    for value, default in zip(reversed(values), reversed(defaults[: len(values)]), strict=True):
        if isinstance(value, (Tensor, list, tuple)) or value != default:
            break
        count += 1
    return count


def _memory(t: Tensor) -> int:
    """A number that is equal for tensors in the same memory."""
    return t.untyped_storage()._cdata if t._wrapped is None else id(t)


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
        self._lists = re.search(r"Tensor(\([^)]*\))?\??\[", schema) is not None
        self._function = self._make_function()

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    # ---- what is registered

    def register_autograd(
        self,
        backward: Callable[..., Any],
        /,
        *,
        setup_context: Callable[..., Any] | None = None,
    ) -> None:
        """Give it a backward: `backward(ctx, *grads)`, one gradient for each argument.

        setup_context: `(ctx, inputs, output)`, called after each forward to save for it. An
        argument or a result that is a list of tensors has a list of gradients. Gradients of last
        arguments that have their default values may be left out.
        """
        if self._mutated or self._schema.endswith("-> ()"):
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self!r} with "
                f"schema {self._qualname}{self._schema}. Please create a functional operator and "
                "register an autograd formula for that."
            )
        self._backward, self._setup = backward, setup_context

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Registers the function for the device meta: shapes and types. Also a decorator."""
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
            if batch_level([*bound.arguments.values()]) is not None:
                raise self._no_loop("the fallback path doesn't work on out= or view ops", ";")
            return self._run(bound.arguments)
        return self._applied(tuple(bound.arguments.values()))

    def _applied(self, values: tuple[object, ...]) -> Any:
        if not self._lists:
            return self._function.apply(*values)
        call = _Call(values)
        return call.result(self._function.apply(call, *call.flat))

    def _no_loop(self, why: str, mark: str = ".") -> RuntimeError:
        return RuntimeError(
            f"Batching rule not implemented for {self._qualname}{mark} {why}. "
            "torch.library.register_vmap gives one."
        )

    def _loop(self, info: Any, in_dims: tuple[object, ...], *values: Any) -> Any:
        """The operator under vmap without a rule: runs once for each element."""
        if self._schema.endswith("-> ()"):
            raise self._no_loop("The fallback path does not support operations with no returns")
        if self._lists:
            raise self._no_loop("We could not generate a fallback")
        if info.batch_size == 0:
            raise self._no_loop("The fallback path does not support vmap over dims of size 0")
        warn_of_loop(self._qualname)
        rows = []
        for i in range(info.batch_size):
            pairs = zip(values, in_dims, strict=True)
            row = self._applied(tuple(v if d is None else v.select(d, i) for v, d in pairs))
            rows.append(row if isinstance(row, tuple) else (row,))
        if not all(isinstance(out, Tensor) for out in rows[0]):
            raise self._no_loop("We could not generate a fallback")
        found = tuple(rl.stack(outs) for outs in zip(*rows, strict=True))
        return (found, (0,) * len(found)) if isinstance(row, tuple) else (found[0], 0)

    def _check(self, i: int, name: str, value: object) -> None:
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
        self._check_aliases([*arguments.values()], result)
        return result

    def _check_aliases(self, arguments: object, result: object) -> None:
        seen = {_memory(t) for t in tree_leaves(arguments) if isinstance(t, Tensor)}
        for out in tree_leaves(result):
            if not isinstance(out, Tensor):
                continue
            if _memory(out) in seen:
                raise RuntimeError(
                    f"{self._name} (with implementation in {inspect.getmodule(self._init_fn)}): "
                    "The output of this custom operator (1) must not also be an input to this "
                    "custom operator and (2) may not alias any inputs to this custom operator or "
                    "other returns. The most common way to trigger this error is if we have "
                    "y = custom_op(x) and y and x are the same Tensor. Please instead return a "
                    "clone of the offending output tensor(s) (e.g. return x.clone()) or refactor "
                    "the custom operator to not return y."
                )
            seen.add(_memory(out))

    def _make_function(self) -> Any:
        op = self
        names = list(self._signature.parameters)
        only_named = [
            n
            for n, p in self._signature.parameters.items()
            if p.kind is inspect.Parameter.KEYWORD_ONLY
        ]

        count = len(names) - len(only_named)
        defaults = [p.default for p in self._signature.parameters.values()]

        def forward(*values: Any) -> Any:
            if not op._lists:
                return op._run(dict(zip(names, values, strict=True)))
            call, *flat = values
            return call.taken(op._run(dict(zip(names, call.arguments(flat), strict=True))))

        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: object) -> None:
            if op._lists:
                ctx._call, *flat = inputs
                inputs, output = ctx._call.arguments(flat), ctx._call.result(output)
            ctx._spare = _defaults_at_the_end(inputs[:count], defaults)
            if op._setup is None:
                return
            if only_named:
                named = dict(zip(only_named, inputs[count:], strict=True))
                op._setup(ctx, inputs[:count], named, output)
            else:
                op._setup(ctx, inputs, output)

        def backward(ctx: Any, *grads: Any) -> object:
            if op._backward is None:
                raise RuntimeError(
                    f"Trying to backward through {op._namespace}.{op._name}.default but no "
                    "autograd formula was registered. Please use register_autograd to add one."
                )
            if op._lists:
                results = ctx._call.result(grads)
                grads = results if isinstance(results, tuple) else (results,)
            found = op._backward(ctx, *grads)
            found = found if isinstance(found, tuple) else (found,)
            if count - ctx._spare <= len(found) < count:
                found = (*found, *[None] * (count - len(found)))
            found = (*found, *[None] * len(only_named))
            return ctx._call.gradients(found) if op._lists else found

        members: dict[str, object] = {
            "forward": staticmethod(forward),
            "setup_context": staticmethod(setup_context),
            "backward": staticmethod(backward),
        }
        rule = self._vmap
        if rule is None:
            members["vmap"] = staticmethod(self._loop)
        elif not self._lists:
            members["vmap"] = staticmethod(rule)
        else:

            def of_lists(info: object, in_dims: Any, call: Any, *flat: object) -> object:
                found, dims = rule(info, call.arguments(in_dims[1:]), *call.arguments(flat))
                return call.taken(found), call.dims(dims)

            members["vmap"] = staticmethod(of_lists)
        return type(
            f"GeneratedBackwardFor_{self._namespace}_{self._name}_default", (Function,), members
        )


_known: dict[str, CustomOpDef] = CUSTOM


def custom_op(
    name: str,
    fn: Callable[..., object] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: object = None,
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
    backward: Callable[..., object],
    /,
    *,
    setup_context: Callable[..., object] | None = None,
    lib: object = None,
) -> None:
    """Give an operator a backward: see `CustomOpDef.register_autograd`."""
    _op_of(op).register_autograd(backward, setup_context=setup_context)


def register_fake(
    op: str | CustomOpDef,
    func: Callable[..., object] | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """Give an operator what it does on the device meta. Also a decorator."""
    return _op_of(op).register_fake if func is None else _op_of(op).register_fake(func)


def register_kernel(
    op: str | CustomOpDef,
    device_types: str | Sequence[str],
    func: Callable[..., object] | None = None,
    /,
    *,
    lib: object = None,
) -> Any:
    """Give an operator another function for a kind of device. Also a decorator."""
    return _op_of(op).register_kernel(device_types, func)


def register_vmap(
    op: str | CustomOpDef, func: Callable[..., object] | None = None, /, *, lib: object = None
) -> Any:
    """Give an operator a rule for vmap. Also a decorator."""
    return _op_of(op).register_vmap(func)


# ---- operators of a schema: `Library`

_ARGUMENT = re.compile(r"^(?P<type>[^ ]+(?:\([^)]*\))?\S*) (?P<name>\w+)(?:=(?P<default>.*))?$")
_VALUES: dict[str, Any] = {"None": None, "True": True, "False": False, "[]": []}


def _parsed(schema: str) -> tuple[str, inspect.Signature, frozenset[str], str]:
    """A schema's name, parameters, written parameters, and the rest of the text."""
    found = re.match(r"^([\w.:]+)\((.*)\)\s*->\s*(.+)$", schema.strip(), re.S)
    if found is None:
        raise ValueError(
            f"Expected a schema of the form name(arguments) -> results, got {schema!r}"
        )
    name, inner, _ = found.groups()
    parts = [p.strip() for p in re.split(r",(?![^(\[]*[)\]])", inner) if p.strip()]
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters, written = [], set()
    for part in parts:
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        argument = _ARGUMENT.match(part)
        if argument is None:
            raise ValueError(
                f"Expected an argument of a type and a name, got {part!r} in {schema!r}"
            )
        text: str | None = argument["default"]
        default: Any = inspect.Parameter.empty
        if text is not None:
            default = _VALUES.get(text, text)
            if default is text:
                with contextlib.suppress(ValueError, SyntaxError):
                    default = ast.literal_eval(text)
        annotation = Tensor if re.match(r"^Tensor(\([^)]*\))?$", argument["type"]) else Any
        if "!" in argument["type"]:
            written.add(argument["name"])
        parameters.append(
            inspect.Parameter(argument["name"], kind, default=default, annotation=annotation)
        )
    return name, inspect.Signature(parameters), frozenset(written), schema[len(name) :].strip()


class _SchemaOp(CustomOpDef):
    """An operator of a schema; what it does is told later."""

    def __init__(self, name: str, schema: str) -> None:
        _, signature, written, text = _parsed(schema)

        def no_kernel(*args: object, **kwargs: object) -> Any:
            raise NotImplementedError(
                f"Could not run '{name}': there is no kernel for it. torch.library.impl gives one."
            )

        no_kernel.__signature__ = signature  # type: ignore[attr-defined]
        no_kernel.__annotations__ = {n: p.annotation for n, p in signature.parameters.items()}
        super().__init__(name, no_kernel, tuple(written), text)
        self._composite: Callable[..., Any] | None = None

    def implement(self, key: str, fn: Callable[..., object]) -> None:
        """Registers the function for a dispatch key, or a kind of device."""
        word = key.lower()
        if word in ("", "compositeimplicitautograd", "default") or word.startswith("autograd"):
            self._composite = fn
        elif word == "meta":
            self._fake = fn
        elif word == "compositeexplicitautograd":
            for kind in ("cpu", "meta"):
                self._kernels.setdefault(kind, fn)
        else:
            self._kernels[word] = fn

    def __call__(self, *args: Any, **kwargs: object) -> Any:
        if self._composite is not None and self._backward is None:
            return self._composite(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def _check_aliases(self, arguments: object, result: object) -> None:
        """Nothing: the schema says what may be an alias."""

    def _run(self, arguments: dict[str, object]) -> Any:
        if self._composite is not None and not self._kernels:
            self._kernels["cpu"] = self._composite
        return super()._run(arguments)


class Library:
    """Operators of a namespace: made by `define`, told what they do by `impl`.

    kind: "DEF" for a new namespace, "FRAGMENT" for more of one, "IMPL" for kernels only.

    >>> lib = torch.library.Library("examples_of_library", "DEF")
    >>> lib.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> lib.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")
    >>> torch.ops.examples_of_library.twice(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("prim", "aten") and kind == "DEF":
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._op_defs: set[str] = set()

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Make an operator of a schema: "name(Tensor x, int n=1) -> Tensor"; returns its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        name = _parsed(schema)[0].rpartition("::")[2]
        qualified = f"{self.ns}::{name.split('.')[0]}"
        _known[qualified] = _SchemaOp(qualified, schema)
        self._op_defs.add(qualified)
        return name

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Say what an operator does: for a kind of device, or for all."""
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        name = op_name if isinstance(op_name, str) else str(getattr(op_name, "__name__", op_name))
        name = name.rpartition("::")[2].split(".")[0]
        op = _known.get(f"{self.ns}::{name}")
        if op is None:
            raise RuntimeError(
                f"There is no operator {self.ns}::{name} of a program's own: operators of PyTorch "
                "cannot be given other kernels here."
            )
        key = dispatch_key or self.dispatch_key
        if isinstance(op, _SchemaOp):
            op.implement(key, fn)
        else:
            op.register_kernel(key.lower() or "cpu", fn)

    def _destroy(self) -> None:
        for name in self._op_defs:
            _known.pop(name, None)
        self._op_defs.clear()


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Any:
    """A library whose operators are there until the end of the block."""
    made = Library(*args, **kwargs)
    try:
        yield made
    finally:
        made._destroy()


def define(
    qualname: str,
    schema: str | Callable[..., object],
    *,
    lib: Library | None = None,
    tags: object = (),
) -> Any:
    """Make an operator by name ("namespace::name") of a schema without a name.

    >>> torch.library.define("examples_of_define::thrice", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("examples_of_define::thrice", "cpu")
    ... def thrice(x):
    ...     return 3 * x
    >>> torch.ops.examples_of_define.thrice(torch.ones(2))
    tensor([3., 3.])
    """
    if not isinstance(qualname, str):
        raise ValueError(
            "define(qualname, schema): expected qualname to be instance of str, got "
            f"{type(qualname)}"
        )
    if qualname.count("::") != 1:
        raise ValueError(f"Expected `qualname` to be of the form `namespace::name`, got {qualname}")
    space, name = qualname.split("::")
    if not isinstance(schema, str):
        raise ValueError(
            f"define(qualname, schema, ...): expected schema to look like e.g. "
            f'"(Tensor x) -> Tensor" but got "{schema}"'
        )
    (lib or Library(space, "FRAGMENT")).define(name + schema)
    return None


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """Say what an operator does for kinds of devices ("cpu", "default"). Also a decorator."""
    if isinstance(qualname, Library):  # the older form: impl(lib, name, dispatch_key)
        library, name, key = qualname, types, func or ""

        def wrap(fn: Any) -> Any:
            library.impl(name, fn, key)
            return fn

        return wrap
    if func is None:
        return lambda fn: impl(qualname, types, fn, lib=lib)
    op = _op_of(qualname)
    for kind in [types] if isinstance(types, str) else types:
        if isinstance(op, _SchemaOp):
            op.implement(kind if kind != "default" else "CompositeExplicitAutograd", func)
        else:
            op.register_kernel(kind, func)
    return None


def impl_abstract(
    qualname: str | CustomOpDef,
    func: Callable[..., object] | None = None,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
) -> Any:
    """An older name of `register_fake`."""
    return register_fake(qualname, func, lib=lib)


# ---- opcheck


class OpCheckError(Exception):
    """An operator does not do what was registered for it."""


def _copied(values: object, device: str | None = None) -> Any:
    def copy(t: Tensor) -> Tensor:
        made = t.detach().clone()
        return (made if device is None else made.to(device)).requires_grad_(t.requires_grad)

    return tree_map_only(Tensor, copy, values)


def _results(op: CustomOpDef, given: Any) -> list[object]:
    args, kwargs = given
    return tree_leaves(op(*args, **kwargs))


def _check_schema(op: CustomOpDef, given: object) -> None:
    args, kwargs = _copied(given)
    bound = op._signature.bind(*args, **kwargs)
    before = _copied(bound.arguments)
    op(*args, **kwargs)
    for name, value in bound.arguments.items():
        pairs = zip(tree_leaves(value), tree_leaves(before[name]), strict=True)
        changed = [t for t, b in pairs if isinstance(t, Tensor) and not rl.equal(t, b)]
        if changed and name not in op._mutated:
            raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")


def _check_autograd(op: CustomOpDef, given: object) -> None:
    """That a backward, where gradients are wanted and there is one, gives as many as it must."""
    args, kwargs = _copied(given)
    wanted = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor) and t.requires_grad]
    if wanted and op._backward is not None:
        outs = [t for t in _results(op, (args, kwargs)) if isinstance(t, Tensor) and t.grad_fn]
        rl.autograd.grad(outs, wanted, [rl.ones_like(t) for t in outs], allow_unused=True)


def _check_fake(op: CustomOpDef, given: object) -> None:
    if op._fake is None and "meta" not in op._kernels and not hasattr(op, "_composite"):
        raise RuntimeError(
            f"There was no fake impl registered for {op!r}. This is necessary for "
            "torch.compile/export/fx tracing to work. Please use `torch.library.register_fake` to "
            "add an fake impl."
        )
    real, fake = _results(op, _copied(given)), _results(op, _copied(given, "meta"))
    if len(real) != len(fake):
        raise RuntimeError(f"The fake impl gives {len(fake)} results, and the operator {len(real)}")
    for i, (r, f) in enumerate(zip(real, fake, strict=True)):
        for what in ("shape", "dtype") if isinstance(r, Tensor) else ():
            if getattr(r, what) != getattr(f, what):
                raise RuntimeError(
                    f"{what} {getattr(f, what)} of result {i} of the fake impl is not equal to "
                    f"{getattr(r, what)} of the operator"
                )


_CHECKS: dict[str, Callable[[CustomOpDef, Any], None]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_dynamic": _check_fake,  # programs are recorded by what op makes of meta
}


def opcheck(
    op: object,
    args: tuple[object, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = tuple(_CHECKS),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Checks an operator against the registered parts: written arguments, the number of gradients,
    and results on the device meta.

    Raises OpCheckError, or gives the exceptions without `raise_exception`.

    >>> @torch.library.custom_op("examples::thrice", mutates_args=())
    ... def thrice(x: torch.Tensor) -> torch.Tensor:
    ...     return 3 * x
    >>> _ = thrice.register_fake(lambda x: torch.empty_like(x))
    >>> torch.library.opcheck(thrice, (torch.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    if (rtol is None) != (atol is None):
        raise ValueError("opcheck(op, ...): if you specify one of rtol/atol, you must specify both")
    found = op if isinstance(op, CustomOpDef) else getattr(op, "_op", None)
    if not isinstance(found, CustomOpDef):
        raise ValueError(
            "opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. "
            f"torch.ops.aten.sin.default, got {type(op)}: here, an operator of `custom_op` or "
            "`define`."
        )
    names = tuple(_CHECKS) if test_utils == "ALL" else test_utils
    names = (names,) if isinstance(names, str) else names
    if not isinstance(names, (tuple, list)) or not set(names) <= _CHECKS.keys():
        raise ValueError(
            f"opcheck(op, ..., test_utils={names}), expected test_utils to be subset of "
            f"{tuple(_CHECKS)} but it was not"
        )
    results: dict[str, Any] = {}
    for name in names:
        try:
            _CHECKS[name](found, (args, kwargs or {}))
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            results[name] = error
    return results


def fallthrough_kernel() -> None:
    """Stands for no kernel: calling it raises NotImplementedError."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def get_ctx() -> Any:
    """RuntimeError: no function of `register_fake` makes symbolic sizes here."""
    raise RuntimeError(
        "get_ctx() can only be called inside of a fake impl registered with "
        "torch.library.register_fake; sizes are numbers here."
    )


__getattr__ = _missing_name(__name__)
