"""autograd.functional, forward_ad, custom Functions in transforms and the smaller parts of torch.func
against PyTorch: results, exceptions and signatures.

A case is a function of the library `m` and of tensors x, y of 3 elements and z (4, 3).
"""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest
from both import check_same, first_sentence

import rushlight

pytorch = pytest.importorskip("torch")
pytest.importorskip("torch.func")
pytest.importorskip("torch.autograd.functional")
pytest.importorskip("torch.autograd.forward_ad")

# ruff: noqa: E501  a case a line

_rng = np.random.default_rng(3)
ARRAYS = [_rng.standard_normal(shape) for shape in ((3,), (3,), (4, 3))]


def several(a: Any, b: Any) -> Any:
    return a * b.exp(), (a + b).sum()


def number(a: Any, b: Any) -> Any:
    return (a * b.exp()).sum() ** 2


CASES: dict[str, Any] = {}
for _vectorize, _strategy, _create, _strict in itertools.product(
    (False, True), ("reverse-mode", "forward-mode"), (False, True), (False, True)
):
    _options = {"vectorize": _vectorize, "create_graph": _create, "strict": _strict}
    _name = f"{_strategy} {_vectorize} {_create} {_strict}"
    CASES[f"jacobian {_name}"] = lambda m, x, y, z, o=_options, s=_strategy: (
        m.autograd.functional.jacobian(several, (x, y), strategy=s, **o)
    )
    CASES[f"hessian {_name}"] = lambda m, x, y, z, o=_options, s=_strategy: (
        m.autograd.functional.hessian(number, (x, y), outer_jacobian_strategy=s, **o)
    )


def F(m: Any) -> Any:
    return m.autograd.functional


def cube(a: Any) -> Any:
    return a.pow(3).sum()


CASES |= {
    "jacobian strategy": lambda m, x, y, z: F(m).jacobian(cube, x, strategy="foo"),
    "jacobian independent": lambda m, x, y, z: F(m).jacobian(
        lambda a: y, x, vectorize=True, strategy="forward-mode"
    ),
    "jacobian independent rows": lambda m, x, y, z: F(m).jacobian(lambda a: y, x, vectorize=True),
    "jacobian of a list": lambda m, x, y, z: F(m).jacobian(cube, [x]),
    "jacobian of nothing": lambda m, x, y, z: F(m).jacobian(
        lambda a: a[:0], x, vectorize=True, strategy="forward-mode"
    ),
    "jacobian other type": lambda m, x, y, z: F(m).jacobian(
        lambda a: a.float() * 2, x, vectorize=True, strategy="forward-mode"
    ),
    "jacobian without grad mode": lambda m, x, y, z: m.no_grad()(F(m).jacobian)(
        lambda a: a.sin() * a.sum(), x
    ),
    "jacobian with graph": lambda m, x, y, z: (
        F(m)
        .jacobian(lambda a: a.sin() * a.sum(), x.requires_grad_(), create_graph=True)
        .requires_grad
    ),
    "jacobian of a matrix": lambda m, x, y, z: F(m).jacobian(
        lambda a: (a @ x).sin(), z, vectorize=True, strategy="forward-mode"
    ),
    "hessian not a number": lambda m, x, y, z: F(m).hessian(lambda a: a * 2, x),
    "hessian of a tuple": lambda m, x, y, z: F(m).hessian(lambda a: (a.sum(),), x),
    "hessian forward": lambda m, x, y, z: (
        F(m)
        .hessian(
            lambda a: cube(a).reshape(1), x, vectorize=True, outer_jacobian_strategy="forward-mode"
        )
        .detach()
    ),
    "vjp none": lambda m, x, y, z: F(m).vjp(lambda a: a * 2, x),
    "vjp size": lambda m, x, y, z: F(m).vjp(lambda a: a * 2, x, x[:2]),
    "vjp of a tuple": lambda m, x, y, z: F(m).vjp(lambda a: a * 2, x, (x, x)),
    "vjp": lambda m, x, y, z: F(m).vjp(several, (x, y), (x, y.sum())),
    "vjp entry": lambda m, x, y, z: F(m).vjp(several, (x, y), (x[:2], y.sum())),
    "jvp none": lambda m, x, y, z: F(m).jvp(lambda a: a * 2, x),
    "jvp": lambda m, x, y, z: F(m).jvp(several, (x, y), (y, x)),
    "jvp strict": lambda m, x, y, z: F(m).jvp(lambda a: y, x, x, strict=True),
    "hvp": lambda m, x, y, z: F(m).hvp(cube, x, y),
    "hvp strict": lambda m, x, y, z: F(m).hvp(lambda a: a.sum(), x, x, strict=True),
    "vhp": lambda m, x, y, z: F(m).vhp(number, (x, y), (y, x)),
    "vhp strict": lambda m, x, y, z: F(m).vhp(lambda a: a.sum(), x, x, strict=True),
    "vhp size": lambda m, x, y, z: F(m).vhp(cube, x, x[:2]),
    "hvp none": lambda m, x, y, z: F(m).hvp(cube, x),
    "vjp of text": lambda m, x, y, z: F(m).vjp(cube, "a", x),
    "functionalize": lambda m, x, y, z: m.func.functionalize(lambda a: a.clone().add_(1))(x),
    "functionalize writes": lambda m, x, y, z: (m.func.functionalize(lambda a: a.add_(1))(x), x),
    "functionalize remove": lambda m, x, y, z: m.func.functionalize(cube, remove="foo"),
    "debug_unwrap": lambda m, x, y, z: unwrapped(m, lambda read: m.func.vmap(read)(z)),
    "debug_unwrap jvp": lambda m, x, y, z: unwrapped(m, lambda read: m.func.jvp(read, (x,), (y,))),
    "debug_unwrap plain": lambda m, x, y, z: m.func.debug_unwrap(x),
    "linearize size": lambda m, x, y, z: m.func.linearize(cube, x)[1](x[:2]),
    "linearize type": lambda m, x, y, z: m.func.linearize(cube, x)[1](x.float()),
    "linearize text": lambda m, x, y, z: m.func.linearize(lambda a: 3, x)[0],
    "linearize tuple": lambda m, x, y, z: m.func.linearize(several, x, y)[1](y, x),
    "jacrev chunks": lambda m, x, y, z: m.func.jacrev(lambda a: a.sin() * a.sum(), chunk_size=1)(x),
    "jacrev no chunk": lambda m, x, y, z: m.func.jacrev(cube, chunk_size=0),
    "vmap no chunk": lambda m, x, y, z: m.func.vmap(cube, chunk_size=0)(z),
    "vmap chunks": lambda m, x, y, z: m.func.vmap(
        lambda a: (a * 2, a.sum()), chunk_size=3, out_dims=(1, 0)
    )(z),
    "jacfwd random": lambda m, x, y, z: m.func.jacfwd(lambda a: a * m.rand(3))(x),
    "jacfwd same": lambda m, x, y, z: (
        m.func.jacfwd(lambda a: a * m.rand(3).double(), randomness="same")(x).shape
    ),
    "batch norm": lambda m, x, y, z: m.func.replace_all_batch_norm_modules_(
        m.nn.BatchNorm1d(3).double()
    )(z).detach(),
    "make_dual no level": lambda m, x, y, z: fw(m).make_dual(x, y),
    "unpack_dual no level": lambda m, x, y, z: fw(m).unpack_dual(x).tangent,
    "exit_dual_level": lambda m, x, y, z: fw(m).exit_dual_level(),
    "exit_dual_level number": lambda m, x, y, z: fw(m).exit_dual_level(level=3),
    "current level": lambda m, x, y, z: in_level(m, lambda: fw(m)._current_level),
    "no current level": lambda m, x, y, z: fw(m)._current_level,
    "make_dual size": lambda m, x, y, z: in_level(m, lambda: fw(m).make_dual(x, y[:2])),
    "make_dual twice": lambda m, x, y, z: in_level(
        m, lambda: fw(m).make_dual(fw(m).make_dual(x, y), y)
    ),
    "make_dual of a dual": lambda m, x, y, z: in_level(
        m, lambda: fw(m).make_dual(x, fw(m).make_dual(x, y))
    ),
    "make_dual number": lambda m, x, y, z: in_level(m, lambda: fw(m).make_dual(x, 3.0)),
    "make_dual of a number": lambda m, x, y, z: in_level(m, lambda: fw(m).make_dual(3.0, x)),
    "make_dual level": lambda m, x, y, z: in_level(m, lambda: fw(m).make_dual(x, y, level=1)),
    "unpack_dual number": lambda m, x, y, z: in_level(m, lambda: fw(m).unpack_dual(3.0)),
    "no_grad keeps tangents": lambda m, x, y, z: in_level(m, lambda: m.no_grad()(doubled)(m, x, y)),
    "inference drops tangents": lambda m, x, y, z: in_level(
        m, lambda: m.inference_mode()(doubled)(m, x, y)
    ),
    "numpy of a dual": lambda m, x, y, z: in_level(m, lambda: fw(m).make_dual(x, y).numpy().sum()),
    "data of a dual": lambda m, x, y, z: in_level(
        m, lambda: fw(m).unpack_dual(fw(m).make_dual(x, y).data).tangent
    ),
}


def fw(m: Any) -> Any:
    return m.autograd.forward_ad


def doubled(m: Any, x: Any, y: Any) -> Any:
    return fw(m).unpack_dual(fw(m).make_dual(x, y) * 2).tangent


def in_level(m: Any, function: Any) -> Any:
    with fw(m).dual_level():
        return function()


def unwrapped(m: Any, run: Any) -> Any:
    kept: list[Any] = []
    run(lambda a: (kept.append(m.func.debug_unwrap(a)), a)[1])
    return kept[0]


def case(function: Any) -> Any:
    CASES[function.__name__.replace("_", " ")] = function
    return function


@case
def tangents_switched_off(m: Any, x: Any, y: Any, z: Any) -> Any:
    with fw(m).dual_level():
        d = fw(m).make_dual(x, y)
        with fw(m)._set_fwd_grad_enabled(False):
            inside = d * 2
        off, on = (fw(m).unpack_dual(t).tangent for t in (inside, d * 2))
        return off, on


@case
def a_decorated_level(m: Any, x: Any, y: Any, z: Any) -> Any:
    return fw(m).dual_level()(doubled)(m, x, y)


# ---- custom Functions


def functions(m: Any) -> dict[str, Any]:
    """The sine as a custom Function in every style, and the names of the methods it ran."""
    ran: list[Any] = []

    class Sine(m.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(a: Any) -> Any:
            ran.append("forward")
            return a.sin()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0].cos()

    class Old(m.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ran.append("forward")
            ctx.save_for_backward(a)
            ctx.save_for_forward(a)
            return a.sin()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0].cos()

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * ctx.saved_tensors[0].cos()

    class Generated(Sine):
        generate_vmap_rule = True

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * ctx.saved_tensors[0].cos()

    class Own(Generated):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info: Any, in_dims: Any, a: Any) -> Any:
            ran.append((type(info).__name__, info.batch_size, info.randomness, in_dims))
            return Own.apply(a), in_dims[0]

    class Both(Own):
        generate_vmap_rule = True

    class Unpaired(Sine):
        @staticmethod
        def vmap(info: Any, in_dims: Any, a: Any) -> Any:
            return Old.apply(a)

    class Mispaired(Sine):
        @staticmethod
        def vmap(info: Any, in_dims: Any, a: Any) -> Any:
            return Old.apply(a), (0, 0)

    made = {c.__name__: c for c in (Sine, Old, Generated, Own, Both, Unpaired, Mispaired)}
    return {"ran": ran, **made}


def dual(m: Any, f: Any, x: Any, y: Any) -> Any:
    with fw(m).dual_level():
        return tuple(fw(m).unpack_dual(f(fw(m).make_dual(x, y))))


USES: dict[str, Any] = {
    "plain": lambda m, f, x, y, z: f(x),
    "grad": lambda m, f, x, y, z: m.func.grad(lambda a: f(a).sum())(x),
    "grad of grad": lambda m, f, x, y, z: m.func.grad(
        lambda b: m.func.grad(lambda a: f(a).sum())(b).sum()
    )(x),
    "vmap": lambda m, f, x, y, z: m.func.vmap(f)(z),
    "vmap of what is shared": lambda m, f, x, y, z: m.func.vmap(lambda a: a + f(x))(z),
    "vmap of grad": lambda m, f, x, y, z: m.func.vmap(m.func.grad(lambda a: f(a).sum()))(z),
    "vmap of jvp": lambda m, f, x, y, z: m.func.vmap(lambda a: m.func.jvp(f, (a,), (y,)))(z),
    "grad of vmap": lambda m, f, x, y, z: m.func.grad(lambda q: m.func.vmap(f)(q).sum())(z),
    "jvp": lambda m, f, x, y, z: m.func.jvp(f, (x,), (y,)),
    "forward_ad": lambda m, f, x, y, z: dual(m, f, x, y),
    "jacrev": lambda m, f, x, y, z: m.func.jacrev(f)(x),
    "jacfwd": lambda m, f, x, y, z: m.func.jacfwd(f)(x),
    "hessian": lambda m, f, x, y, z: m.func.hessian(lambda a: f(a).sum())(x),
    "vjp": lambda m, f, x, y, z: m.func.vjp(f, x)[1](y),
    "many gradients": lambda m, f, x, y, z: m.autograd.grad(
        f(v := x.requires_grad_()), v, z, is_grads_batched=True
    ),
}
for _style, _use in itertools.product(functions(rushlight), USES):
    # Two that are wrong in their vmap: where they are wrong otherwise too, either may be said first.
    if _style != "ran" and (_style[-6:] != "paired" or _use == "vmap"):
        CASES[f"{_style}: {_use}"] = lambda m, x, y, z, s=_style, u=_use: USES[u](
            m, functions(m)[s].apply, x, y, z
        )


@case
def forward_runs_once_and_vmap_is_told(m: Any, x: Any, y: Any, z: Any) -> Any:
    made = functions(m)
    for style in ("Old", "Generated"):
        dual(m, made[style].apply, x, y)
    for style in ("Generated", "Own"):
        m.func.jvp(made[style].apply, (x,), (y,))
        m.func.vmap(made[style].apply, in_dims=1)(z)
        m.func.jacfwd(made[style].apply)(x)
    # Where the batch lies is the library's own business.
    return [r if isinstance(r, str) else r[:3] for r in made["ran"]]


@case
def jvp_of_several_results(m: Any, x: Any, y: Any, z: Any) -> Any:
    class Product(m.autograd.Function):  # type: ignore[misc, name-defined]
        generate_vmap_rule = True

        @staticmethod
        def forward(a: Any, b: Any, k: Any) -> Any:
            return a * b * k, a + b

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(*inputs[:2])
            ctx.save_for_backward(*inputs[:2])
            ctx.k = inputs[2]

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            a, b = ctx.saved_tensors
            return g * b * ctx.k + h, g * a * ctx.k + h, None

        @staticmethod
        def jvp(ctx: Any, s: Any, t: Any, _: Any) -> Any:
            a, b = ctx.saved_tensors
            return (s * b + t * a) * ctx.k, s + t

    def total(a: Any, b: Any) -> Any:
        return sum(o.sum() for o in Product.apply(a, b, 2.0))

    return (
        m.func.jvp(lambda a: Product.apply(a, x, 2.0), (x,), (y,)),
        m.func.vmap(lambda a: Product.apply(a, x, 2.0))(z),
        m.func.vmap(lambda a: m.func.grad(total, (0, 1))(a, x))(z),
        m.func.vmap(lambda a: m.func.jvp(lambda q: Product.apply(q, x, 2.0), (a,), (a,)))(z),
        m.func.grad(lambda w: m.func.vmap(lambda a: total(a, w))(z).sum())(x),
        m.func.hessian(total, (0, 1))(x, y),
    )


def one_method(m: Any, forward: Any, jvp: Any) -> Any:
    return type(
        "One", (m.autograd.Function,), {"forward": staticmethod(forward), "jvp": staticmethod(jvp)}
    )


CASES |= {
    "jvp gives too few": lambda m, x, y, z: dual(
        m, one_method(m, lambda ctx, a: (a * 2, a * 3), lambda ctx, t: t).apply, x, y
    ),
    "jvp gives another shape": lambda m, x, y, z: dual(
        m, one_method(m, lambda ctx, a: a * 2, lambda ctx, t: t[:2]).apply, x, y
    ),
    "jvp of a view": lambda m, x, y, z: dual(
        m, one_method(m, lambda ctx, a: a.view_as(a), lambda ctx, t: t.view_as(t)).apply, x, y
    ),
    "jvp of the input": lambda m, x, y, z: dual(
        m, one_method(m, lambda ctx, a: a, lambda ctx, t: t * 1).apply, x, y
    ),
}


@case
def jvp_in_place(m: Any, x: Any, y: Any, z: Any) -> Any:
    def forward(ctx: Any, a: Any) -> Any:
        ctx.mark_dirty(a)
        return a.mul_(2)

    with fw(m).dual_level():
        d = fw(m).make_dual(x.clone(), y.clone())
        out = one_method(m, forward, lambda ctx, t: t.mul_(2)).apply(d)
        return out is d, *fw(m).unpack_dual(out), *fw(m).unpack_dual(d)


@case
def reverse_over_a_custom_jvp(m: Any, x: Any, y: Any, z: Any) -> Any:
    x.requires_grad_()
    with fw(m).dual_level():
        out = functions(m)["Old"].apply(fw(m).make_dual(x, y))
        tangent = fw(m).unpack_dual(out).tangent
        return m.autograd.grad(tangent.sum(), x)


# ---- running them


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_same_as_pytorch(name: str) -> None:
    # Where a sentence of PyTorch's is all there is, ours may go on after it.
    check_same(pytorch, CASES[name], ARRAYS, lambda e: first_sentence(e).rstrip("."))


def shape_of_signature(function: Any) -> list[tuple[Any, ...]]:
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


NAMES = [
    *(f"autograd.functional.{n}" for n in "vjp jvp jacobian hessian vhp hvp".split()),
    *(
        f"autograd.forward_ad.{n}"
        for n in "dual_level enter_dual_level exit_dual_level make_dual unpack_dual".split()
    ),
    *(f"func.{n}" for n in pytorch.func.__all__ if n != "rearrange"),
    *("vmap", "autograd.grad", "autograd.backward"),
]


@pytest.mark.parametrize("name", NAMES)
def test_same_signature(name: str) -> None:
    a, b = rushlight, pytorch
    for part in name.split("."):
        a, b = getattr(a, part), getattr(b, part)
    assert shape_of_signature(a) == shape_of_signature(b)
