"""The kinds of op. Each takes one statement and derives the rest; use these and no others.

| kind        | you write                          | derived                                     |
|-------------|------------------------------------|---------------------------------------------|
| `pointwise` | the local partial of each argument | vjp, jvp, broadcasting, promotion, in-place |
| `linear`    | its transpose                      | jvp is the op itself                        |
| `bilinear`  | two transposes                     | jvp by the product rule                     |
| `general`   | a vjp (a jvp only if it is faster) | the rest                                    |
| `composite` | plain Python in terms of other ops | everything                                  |
| `constant`  | nothing                            | never recorded                              |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, Unpack, overload

from ... import _core
from ..._base.dtypes import ALL
from ..._core import Category, DType, OpKind, ParamKind, ResultType, Source, Tensor, When
from . import reference as _reference
from .arrays import Array
from .formulas import BOOLEAN, Untraceable, trace, trace_partial
from .outputs import written
from .signature import parse
from .statement import OPS, Entry, Rule, casts_of, define, enter, read_by, sources, traits_of
from .words import Words

__all__ = [
    "bilinear",
    "composed",
    "composite",
    "constant",
    "general",
    "linear",
    "on_copy",
    "pointwise",
    "variant",
]

_RESULTS = {
    "promoted": ResultType.PROMOTED,
    "float": ResultType.FLOAT,
    "bool": ResultType.BOOL,
}
_WHENS = {"given": When.GIVEN, "scalar": When.SCALAR, "equals": When.EQUALS, "below": When.BELOW}
Op = _core.Op
_F = TypeVar("_F", bound=Callable[..., Any])


def _codes(category: int) -> tuple[int, ...]:
    return tuple(t.code for t in ALL if t.category == category)


# The element types by their codes, in the words that `refuses` uses.
_TYPES = {
    "bool": _codes(Category.BOOL),
    "int": _codes(Category.INTEGER),
    "byte": (DType.uint8,),
    "half": (DType.float16, DType.bfloat16),
    "float": _codes(Category.FLOATING),
    "complex": _codes(Category.COMPLEX),
}


def _numbers(words: str) -> list[int]:
    return [n for word in words.split() for n in _TYPES[word]]


def _refusals(refuses: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Arguments of `define`: the refused common types, those of single arguments, and the kernel
    that torch names."""
    common: dict[int, tuple[type, str]] = {}
    arguments = []
    kernel_name = None
    for key, why in refuses.items():
        who, _, words = key.rpartition(": ")
        kind, text = why if isinstance(why, tuple) else (NotImplementedError, why)
        if " " not in text:
            kernel_name = kernel_name or text
            text = f"\"{text}\" not implemented for '{{}}'"
        found = {
            n: (kind, text.format(ALL[n].scalar_name, c=ALL[n].c_name)) for n in _numbers(words)
        }
        if who:
            arguments.append((-1 if who == "any" else names.index(who), found))
        else:
            common.update(found)
    return {
        "refusals": common or None,
        "argument_refusals": arguments,
        "kernel_name": kernel_name,
    }


def _is_whole(partial: Any) -> bool:
    """Whether a partial reads g, and so gives the gradient itself instead of the factor."""
    return read_by(partial)[:1] == ("g",)


def _zero_rule(g: Tensor) -> Tensor:
    # This op and `where` below are entered after the table: it cannot import them.
    return OPS["zeros_like"].function(g)


def _partial_rule(partial: object, names: list[str], op: str) -> Rule:
    if not callable(partial):
        if partial == 0:
            return Rule(_zero_rule, [(Source.GRAD, 0)], partial)
        if partial == 1:
            return Rule(lambda g: g, [(Source.GRAD, 0)], partial)
        return Rule(lambda g: g * partial, [(Source.GRAD, 0)], partial)
    places = sources(read_by(partial), names, op)
    if _is_whole(partial):
        return Rule(partial, places, partial)

    def rule(g: Tensor, *saved: Tensor | complex) -> Tensor:
        value = partial(*saved)
        if isinstance(value, Tensor):
            if value.dtype.name == "bool":
                return OPS["where"].function(value, g, 0)
            if value.dtype.is_complex:
                value = value.conj()
        elif isinstance(value, complex):
            value = value.conjugate()
        elif value == 0:
            return _zero_rule(g)
        return g * value

    return Rule(rule, [(Source.GRAD, 0), *places], partial)


def _compile(op: Any) -> None:
    """Trace an op's composed forward and its partials; called by the core when first needed."""
    entry = op.entry
    if entry.traced_forward is not None:
        try:
            forward = entry.traced_forward
            _core.set_program(op, trace(forward, forward.__code__.co_argcount), False)
        except Untraceable:
            if entry.reference is None:
                raise
    if entry.traced_halves is not None:
        halves = entry.traced_halves
        _core.set_program(op, trace(halves, halves.__code__.co_argcount), True)
    for i, rule in enumerate(entry.rules):
        partial = rule.partial
        if not callable(partial):
            if partial == 1:
                _core.set_rule_program(op, i, True, None, [])
            elif partial == 0:
                program = trace(lambda g: g.trace.emit("where", False, g, 0), 1)
                _core.set_rule_program(op, i, False, program, [(Source.GRAD, 0)])
            elif isinstance(partial, (int, float)):
                program = trace(lambda g, c=partial: g * c, 1)
                _core.set_rule_program(op, i, False, program, [(Source.GRAD, 0)])
            continue
        if any(
            kind in (Source.ARG_SHAPE, Source.ARG_DTYPE, Source.GRADS) for kind, _ in rule.sources
        ):
            continue
        try:
            n = partial.__code__.co_argcount
            program = trace(partial, n) if _is_whole(partial) else trace_partial(partial, n)
        except (Untraceable, TypeError, AttributeError):
            continue
        _core.set_rule_program(op, i, False, program, rule.sources)


def pointwise(
    signature: str,
    *,
    partials: dict[str, Any] | None = None,
    forward: Callable[..., Any] | None = None,
    kernel: str | None = None,
    dtype: str = "promoted",
    domain: tuple[float, float] = (-2.0, 2.0),
    refuses: dict[str, Any] | None = None,
    reference_for: str = "",
    never: str = "",
    always: str = "",
    halves: Callable[..., Any] | None = None,
    **more: Unpack[Words],
) -> Op:
    """An op that maps elements to elements.

    partials: for each differentiable argument a number, or a lambda of the local derivative; a
    boolean value *selects* the gradient instead of multiplying it (no 0 * inf). Where the gradient
    is no product (g / other, or the real part of something complex), a lambda whose first parameter
    is g gives all of it. forward: for a composed function, a lambda of other pointwise ops, traced
    into one pass. reference: the definition on NumPy arrays of the common type; with a kernel of
    the op's name it serves complex numbers and tests. dtype: of the result: 'promoted', 'float'
    (integers become the default float) or 'bool'. domain: where tests draw arguments from. refuses:
    {"bool complex": why}: common types that the op does not take; `why` is torch's name of the
    kernel (for "... not implemented for 'Bool'"), a text with {} for the type's name, or (exception
    type, text); "condition: int float": types of one argument, "any: bool": of any. reference_for:
    common types ("bool int half") that go to `reference` in spite of a kernel; the result has its
    type. by_ops: what `reference` computes, in other ops on tensors of the CPU. never, always:
    common types without an element that is so, or with no other (for 'bool').
    halves: as forward, for halves; each step is rounded.
    """
    name, params, _ = parse(signature, OpKind.POINTWISE)
    names = [p[0] for p in params]
    rules = {arg: _partial_rule(p, names, name) for arg, p in (partials or {}).items()}
    if kernel is None and forward is None and _core.kernel_arity(name) >= 0:
        kernel = name
    numeric = [p for p in params if p[1] in (ParamKind.TENSOR, ParamKind.OPERAND, ParamKind.NUMBER)]
    arity = forward.__code__.co_argcount if forward else len(numeric)
    if kernel is not None:
        arity = _core.kernel_arity(kernel)
        if dtype == "bool":
            BOOLEAN.add(kernel)
    more.setdefault("in_place", True)
    if more.get("reference") is not None:
        more["reference"] = _reference.widened(more["reference"], "half" in reference_for)
    op = define(
        OpKind.POINTWISE,
        signature,
        None,
        rules,
        result=_RESULTS[dtype],
        kernel=kernel,
        arity=arity,
        reference_for=sum(1 << n for n in _numbers(reference_for)),
        by_steps=halves is not None,
        never=sum(1 << n for n in _numbers(never)),
        always=sum(1 << n for n in _numbers(always)),
        **{**_refusals(refuses or {}, names), **more},
    )
    op.entry.traced_forward, op.entry.traced_halves = forward, halves
    op.entry.domain, op.entry.partials = domain, partials or {}
    return op


def _rules(given: dict[str, Any], signature: str, kind: int) -> dict[str, Rule]:
    name, params, _ = parse(signature, kind)
    names = [p[0] for p in params]
    return {arg: Rule(rule, sources(read_by(rule), names, name)) for arg, rule in given.items()}


def on_copy(write: Callable[..., Any]) -> Callable[..., Any]:
    """The forward of an op that is given by a writing function."""

    def forward(x: Array, *args: Array | complex | str) -> Array:
        out = x.copy()
        return NotImplemented if write(out, *args) is NotImplemented else out

    return forward


def _with_kernel(more: Words, forward: Any, native: Any) -> Any:
    """A native kernel goes first; where it answers NotImplemented, the definition."""
    by_ops = more.get("is_")
    if by_ops is not None and (more.get("write") or more.get("shape")):
        raise TypeError("is_= is the way of in-place forms and of meta already")
    forward = forward or by_ops
    if forward is None:
        write = more.get("write")
        if write is None:
            raise TypeError("an op needs a forward, or write=")
        forward = on_copy(write)
        if native is not None:
            more["write"], native = native, on_copy(native)
    if native is None:
        return forward
    more["reference"] = forward
    return native


def linear(
    signature: str,
    forward: Callable[..., Any] | None = None,
    *,
    transpose: dict[str, Any],
    native: Any = None,
    **more: Unpack[Words],
) -> Op:
    """An op linear in the arguments that `transpose` names; `forward` computes it on ndarrays.

    Without a forward, `write=` says what the op writes to its first argument in place, or else to a
    copy of it (and `native=` does the same natively). Or `is_=` defines the op in other ops.
    """
    forward = _with_kernel(more, forward, native)
    return define(
        OpKind.LINEAR, signature, forward, _rules(transpose, signature, OpKind.LINEAR), **more
    )


def bilinear(
    signature: str,
    forward: Callable[..., Any] | None = None,
    *,
    transpose: dict[str, Any],
    native: Any = None,
    **more: Unpack[Words],
) -> Op:
    """An op linear in each of two arguments; each transpose reads the other argument."""
    forward = _with_kernel(more, forward, native)
    rules = _rules(transpose, signature, OpKind.BILINEAR)
    return define(OpKind.BILINEAR, signature, forward, rules, **more)


def general(
    signature: str,
    forward: Callable[..., Any] | None = None,
    *,
    vjp: dict[str, Any],
    native: Any = None,
    **more: Unpack[Words],
) -> Op:
    """Any other differentiable op: `vjp` gives each argument's gradient ('a, b' for several at
    once). The forward is as for `linear`."""
    forward = _with_kernel(more, forward, native)
    return define(
        OpKind.GENERAL, signature, forward, _rules(vjp, signature, OpKind.GENERAL), **more
    )


def constant(
    signature: str,
    forward: Callable[..., Any] | None = None,
    *,
    native: Any = None,
    **more: Unpack[Words],
) -> Op:
    """An op without derivative (comparisons, indices, integers)."""
    forward = _with_kernel(more, forward, native)
    return define(OpKind.CONSTANT, signature, forward, {}, **more)


def composed(signature: str, kernel: Any, **more: Unpack[Words]) -> Any:
    """A composite whose arguments a kernel works out, which then calls other ops
    (native/bindings/layout/composed.cpp)."""
    more.setdefault("out", False)
    return define(OpKind.COMPOSITE, signature, kernel, {}, **more)


@overload
def composite(function: _F) -> _F: ...
@overload
def composite(
    *,
    method: bool | None = None,
    where: str = "torch",
    name: str | None = None,
    doc: str | None = None,
    operator: str | None = None,
    reflected: str | None = None,
    samples: Any = None,
    asks: str = "all",
    signature: str | None = None,
    overloads: tuple[str, ...] = (),
    said: str | None = None,
    traits: str = "",
    autocast: str = "",
    elementwise: bool = False,
    out: Any = False,
    native: Any = None,
    remembers: bool = False,
) -> Callable[[_F], _F]: ...
def composite(
    function: Callable[..., Any] | None = None,
    *,
    method: bool | None = None,
    where: str = "torch",
    name: str | None = None,
    doc: str | None = None,
    operator: str | None = None,
    reflected: str | None = None,
    samples: Any = None,
    asks: str = "all",
    signature: str | None = None,
    overloads: tuple[str, ...] = (),
    said: str | None = None,
    traits: str = "",
    autocast: str = "",
    elementwise: bool = False,
    out: Any = False,
    native: Any = None,
    remembers: bool = False,
) -> Any:
    """A plain function of tensors in terms of other ops:
    a decorator that enters it in the table.

    name: of the op, where the function's own is another. doc: for a function made once for each of
    several ops. signature: where programs know another than the function's own. overloads, said,
    autocast: as in a statement (words.py). asks: whose `__torch_function__` may take a call over,
    that of "all", of "modes" alone (the arguments are data to make a tensor of), or of "nobody"
    (PyTorch shows the call to no one). out: the function, not the method, takes `out=`; of which
    types, as in a statement, in a list where there are several results. native: a kernel that gets
    the arguments of a call as they are, before anything is checked; where it answers
    NotImplemented, the function is called. remembers: the function ends in `_core.remember(op,
    ...)`, which depends on nothing but the types and sizes of tensors, whether their gradients are
    wanted, and the values of other arguments; calls with the like make that call at once.
    """

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        if name is not None:
            f.__name__ = f.__qualname__ = name
        f.__doc__ = doc or f.__doc__
        called = name or f.__name__
        plain = f
        if out:
            f = _taking_out(f, said or called, out)
        entry = Entry(called, OpKind.COMPOSITE, signature or called, f)
        entry.doc = f.__doc__ or ""
        entry.samples = samples
        entry.overloads, entry.said = overloads, said or ""
        entry.traits = traits_of(traits, entry.name)
        entry.autocast = casts_of(autocast, entry.name)
        entry.elementwise = elementwise
        f.entry = plain.entry = entry  # type: ignore[attr-defined]
        enter(
            entry,
            f,
            where=where,
            method=method,
            in_place=False,
            operator=operator,
            reflected=reflected,
            asks=asks,
            native=native,
            remembers=remembers,
        )
        return f

    return decorate(function) if function is not None else decorate


def _taking_out(f: Callable[..., Any], name: str, rule: object) -> Callable[..., Any]:
    """f with `out=`; signature.py adds `out=` to its parameters."""

    def function(*args: Any, out: Any = None, **named: Any) -> Any:
        result = f(*args, **named)
        return result if out is None else written(out, result, name, rule)

    function.__name__, function.__qualname__ = f.__name__, f.__qualname__
    function.__doc__, function.__module__ = f.__doc__, f.__module__
    several = "Sequence[Tensor]" if isinstance(rule, list) else "Tensor"
    function.plain, function.out = f, f"(*, out: {several} | None = None)"  # type: ignore[attr-defined]
    return function


def variant(op: Any, param: str, when: str, other: Any, value: float | str | None = None) -> None:
    """Let `other` (same parameters) take over `op` when an argument is a number ('scalar'), differs
    from its default ('given'), is `value` ('equals', the type included) or a number less than that
    ('below'). The first that fits is taken."""
    _core.add_variant(op, op.params.index(param), _WHENS[when], other, value)
    other.entry.variant_of = op.entry.variant_of or op.entry.name
