"""What a function is told, shown and given inside of transforms, against PyTorch: refusals, printing,
random numbers by seed, custom Functions, dual tensors.

A case is a function of the library `m` and of tensors x of 3 elements and z (4, 3) in (0, 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both import check_same, first_sentence

import rushlight

pytorch = pytest.importorskip("torch")

# ruff: noqa: E501  a case a line

_rng = np.random.default_rng(5)
ARRAYS = [_rng.random(3), _rng.random((4, 3))]


def fw(m: Any) -> Any:
    return m.autograd.forward_ad


def F(m: Any) -> Any:
    return m.autograd.functional


def total(a: Any) -> Any:
    return (a**2).sum()


def inside(run: Any) -> dict[str, Any]:
    """`run(m, a)` inside of each transform."""
    return {
        "grad": lambda m, x, z: m.func.grad(lambda a: (run(m, a), a.sum())[1])(x),
        "jvp": lambda m, x, z: m.func.jvp(lambda a: (run(m, a), a.sum())[1], (x,), (x,)),
        "vmap": lambda m, x, z: m.func.vmap(lambda a: (run(m, a), a.sum())[1])(z),
    }


def captured(m: Any, method: str, args: Any) -> Any:
    """A method that gives a tensor other memory, of one that the function was not given."""
    fixed, t = m.zeros(3), m.zeros(4)
    words = {"t": t, "storage": t.untyped_storage(), "double": t.double()}
    given = [words.get(a, a) if isinstance(a, str) else a for a in args]
    return m.func.grad(lambda a: (getattr(fixed, method)(*given), a.sum())[1])(m.ones(2))


def hooked(m: Any, function: Any) -> Any:
    with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return function()


CASES: dict[str, Any] = {
    # complex Jacobians
    "jacrev of complex": lambda m, x, z: m.func.jacrev(lambda a: a * a)(m.complex(x, x)),
    "jacrev to complex": lambda m, x, z: m.func.jacrev(lambda a: m.complex(a, a))(x),
    "jacrev of the second": lambda m, x, z: m.func.jacrev(lambda a, b: (a, b), (0, 1))(x, m.complex(x, x)),
    "jacfwd of complex": lambda m, x, z: m.func.jacfwd(lambda a: a.abs())(m.complex(x, x)),
    "jacfwd to complex": lambda m, x, z: m.func.jacfwd(lambda a: m.complex(a, a))(x),
    "jacfwd of integers": lambda m, x, z: m.func.jacfwd(lambda a: a)(x.long()),
    "hessian of complex": lambda m, x, z: m.func.hessian(lambda a: (a.abs() ** 2).sum())(m.complex(x, x)),
    # plain loops
    "jacrev by rows": lambda m, x, z: m.func.jacrev(lambda a: Reading.of(m).apply(a), chunk_size=1)(x),
    # has_aux
    **{
        f"{name} aux {aux!r}": lambda m, x, z, run=run, aux=aux: run(m, x, aux)
        for aux in (3, "a", None, [1])
        for name, run in {
            "grad": lambda m, x, aux: m.func.grad(lambda a: (a.sum(), aux), has_aux=True)(x),
            "vjp": lambda m, x, aux: m.func.vjp(lambda a: (a.sum(), aux), x, has_aux=True),
            "jvp": lambda m, x, aux: m.func.jvp(lambda a: (a.sum(), aux), (x,), (x,), has_aux=True),
            "jacrev": lambda m, x, aux: m.func.jacrev(lambda a: (a, aux), has_aux=True)(x),
            "jacfwd": lambda m, x, aux: m.func.jacfwd(lambda a: (a, aux), has_aux=True)(x),
        }.items()
    },
    "aux is the variable": lambda m, x, z: [t.requires_grad for t in m.func.jacrev(lambda a: (a * 2, a), has_aux=True)(x)],
    "vjp of the variable": lambda m, x, z: m.func.vjp(lambda a: a, x)[0].requires_grad,
    # structures
    "jvp of another structure": lambda m, x, z: m.func.jvp(lambda a: a, (x,), (x, x)),
    "jvp of a deeper structure": lambda m, x, z: m.func.jvp(lambda a: a, ([x, {"a": x}],), ([x, x],)),
    "vjp of another structure": lambda m, x, z: m.func.vjp(lambda a: (a, [a]), x)[1](x),
    # saved-tensor hooks
    "hooks around grad": lambda m, x, z: hooked(m, lambda: m.func.grad(total)(x)),
    "hooks around hessian": lambda m, x, z: hooked(m, lambda: m.func.hessian(total)(x)),
    "hooks around jvp": lambda m, x, z: hooked(m, lambda: m.func.jvp(total, (x,), (x,))),
    "hooks inside vjp": lambda m, x, z: m.func.vjp(lambda a: hooked(m, lambda: total(a)), x),
    "hooks inside vmap": lambda m, x, z: m.func.vmap(lambda a: hooked(m, lambda: total(a)))(z),
    "hooks when a vjp is used": lambda m, x, z: (lambda f: hooked(m, lambda: f(x.sum())))(m.func.vjp(total, x)[1]),
    # grad mode and histories
    "vjp made without grad": lambda m, x, z: m.no_grad()(m.func.vjp)(m.sin, x.requires_grad_())[1](z[0])[0].requires_grad,
    # what is refused inside
    **{f"requires_grad_ in {n}": f for n, f in inside(lambda m, a: a.requires_grad_()).items()},
    **{f"requires_grad_ of another in {n}": f for n, f in inside(lambda m, a: m.zeros(2).requires_grad_(False)).items()},
    **{f"requires_grad set in {n}": f for n, f in inside(lambda m, a: setattr(m.zeros(2), "requires_grad", True)).items()},
    **{f"{name} in {n}": f for name in ("jacobian", "hessian", "vjp", "hvp") for n, f in inside(lambda m, a, name=name: getattr(F(m), name)(total, a)).items()},
    **{
        f"captured.{method}{args}": lambda m, x, z, method=method, args=args: captured(m, method, args)
        for method, args in (
            ("set_", ()), ("set_", ("t",)), ("set_", ("t", 0, (2,))), ("set_", ("storage",)), ("set_", ("storage", 0, (2,))),
            ("set_", ("double",)), ("set_", (3,)), ("resize_", (2,)), ("resize_", (3,)), ("resize_as_", ("t",)),
        )
    },
    "retain_grad in grad": lambda m, x, z: m.func.grad(lambda a: ((a * 2).retain_grad(), a.sum())[1])(x),
    "retain_grad in vmap": lambda m, x, z: m.func.vmap(lambda a: ((a * 2).retain_grad(), a.sum())[1])(z),
    # forward mode switched off
    "jvp switched off": lambda m, x, z: m.func.jvp(lambda a: off(m, lambda: a * 2), (x,), (x,)),
    "write switched off": lambda m, x, z: m.func.jvp(lambda a: (b := a.clone(), off(m, lambda: b.mul_(2)))[0], (x,), (x,)),
    "fresh write switched off": lambda m, x, z: m.func.jvp(lambda a: (b := m.zeros(3).double(), off(m, lambda: b.copy_(a)))[0], (x,), (x,)),
    "jvp in inference mode": lambda m, x, z: m.inference_mode()(m.func.jvp)(m.sin, (x,), (x,)),
    # functional
    "jacobian of numbers": lambda m, x, z: F(m).jacobian(lambda a, b: a * 2, (x[0], x[1]), vectorize=True),
    "jacobian of a number and a row": lambda m, x, z: F(m).jacobian(lambda a, b: (a * b, b.sum()), (x[0], x), vectorize=True),
    "hessian of numbers": lambda m, x, z: F(m).hessian(lambda a, b: a**3 * b, (x[0], x[1]), vectorize=True),
    "hessian of numbers apart": lambda m, x, z: F(m).hessian(lambda a, b: a**3, (x[0], x[1]), vectorize=True),
    **{
        f"{name} strict {n}": lambda m, x, z, name=name, f=f: getattr(F(m), name)(f, (x, x), (x, x), strict=True)
        for name in ("hvp", "vhp")
        for n, f in enumerate((lambda a, b: (a**3).sum(), lambda a, b: a.sum() + b.sum(), lambda a, b: a.detach().sum()))
    },
    # dual tensors
    "make_dual shares versions": lambda m, x, z: in_level(m, lambda: (d := fw(m).make_dual(x, x), x.add_(1), d.mul_(2), x._version, d._version, fw(m).unpack_dual(d).primal._version)[3:]),
    "make_dual shares memory": lambda m, x, z: in_level(m, lambda: (d := fw(m).make_dual(x, z[0]), d.mul_(2), x, fw(m).unpack_dual(d).tangent)[2:]),
    "primal is another tensor": lambda m, x, z: in_level(m, lambda: (p := fw(m).unpack_dual(fw(m).make_dual(x, x)).primal, p is x, p._base is x)[1:]),
    "the tangent itself": lambda m, x, z: in_level(m, lambda: (t := z[0].clone(), fw(m).unpack_dual(fw(m).make_dual(x, t)).tangent is t)[1]),
    "not the tangent itself": lambda m, x, z: in_level(m, lambda: (t := x.clone(), fw(m).unpack_dual(fw(m).make_dual(z[1], t)).tangent.mul_(2), t)[2]),
    "as_strided beyond": lambda m, x, z: in_level(m, lambda: tuple(fw(m).unpack_dual(fw(m).make_dual(x[1:], x[1:].clone()).as_strided((3,), (1,), 0)))),
    "make_dual of a leaf": lambda m, x, z: in_level(m, lambda: fw(m).make_dual(x.requires_grad_(), z[0]).add_(1)),
    "nodes of duals": lambda m, x, z: in_level(m, lambda: (d := fw(m).make_dual(x.requires_grad_(), z[0]), d.grad_fn.name(), d.is_leaf, (d * 2).grad_fn.name())[1:]),
    "a leaf written without grad": lambda m, x, z: in_level(m, lambda: written_leaf(m, x, z)),
    # random numbers
    **{
        f"{name} {r}": lambda m, x, z, f=f, r=r: (m.manual_seed(7), m.func.vmap(lambda a: f(m, a), randomness=r)(z))[1]
        for r in ("different", "same", "error")
        for name, f in {
            "randn": lambda m, a: m.randn(20),
            "rand size": lambda m, a: m.rand(size=(2, 3)),
            "randint": lambda m, a: m.randint(0, 9, (5,)),
            "randperm": lambda m, a: m.randperm(5),
            "normal": lambda m, a: m.normal(0.0, 1.0, (20,)),
            "normal of tensors": lambda m, a: m.normal(a, a[0] + 1),
            "randn_like": lambda m, a: m.randn_like(a),
            "rand_like of another": lambda m, a: m.rand_like(m.zeros(7)),
            "bernoulli": lambda m, a: m.bernoulli(a),
            "bernoulli_ of numbers": lambda m, a: a.clone().bernoulli_(0.5),
            "bernoulli_ of probabilities": lambda m, a: a.clone().bernoulli_(a),
            "bernoulli_ of one probability": lambda m, a: a.clone().bernoulli_(a[0]),
            "bernoulli_ of what is shared": lambda m, a: m.zeros(3).double().bernoulli_(a),
            "uniform_ of what is shared": lambda m, a: m.zeros(3).uniform_(),
            "dropout": lambda m, a: m.nn.functional.dropout(a + 1),
            "dropout of what is shared": lambda m, a: m.nn.functional.dropout(m.ones(5)),
            "into out=": lambda m, a: m.randn(3, out=m.zeros(3)),
            "randperm into out=": lambda m, a: m.randperm(3, out=m.zeros(3).long()),
        }.items()
    },
    "two maps": lambda m, x, z: (m.manual_seed(7), m.func.vmap(m.func.vmap(lambda a: m.randn(2), randomness="different"), randomness="different")(z))[1],
    "a map of the same": lambda m, x, z: (m.manual_seed(7), m.func.vmap(m.func.vmap(lambda a: m.randn(2), randomness="same"), randomness="different")(z))[1],
    "the same in chunks": lambda m, x, z: (m.manual_seed(7), m.func.vmap(lambda a: (m.randn(2), m.randn(2)), randomness="same", chunk_size=3)(z))[1],
    "jacfwd of a draw": lambda m, x, z: (m.manual_seed(7), m.func.jacfwd(lambda a: m.bernoulli(a) * a, randomness="same")(x))[1],
    "jacfwd of a normal": lambda m, x, z: (m.manual_seed(7), m.func.jacfwd(lambda a: m.normal(a, 1.0) * a, randomness="same")(x))[1],
    "jacfwd of dropout": lambda m, x, z: (m.manual_seed(7), m.func.jacfwd(lambda a: m.nn.functional.dropout(a), randomness="different")(x))[1],
    # anomaly mode
    "anomaly around vmap of grad": lambda m, x, z: anomaly(m, lambda: m.func.vmap(m.func.grad(total))(z)),
    "anomaly around a hessian": lambda m, x, z: anomaly(m, lambda: m.func.hessian(total)(x)),
    "nan under vmap": lambda m, x, z: anomaly(m, lambda: m.func.vmap(m.func.grad(lambda a: ((a * 0).sqrt() * 0).sum()))(z)),
    # gradcheck
    **{
        f"gradcheck {name} {fast} {forward}": lambda m, x, z, f=f, fast=fast, forward=forward: m.autograd.gradcheck(f(m), (x.requires_grad_(), z[:0].clone().requires_grad_()), fast_mode=fast, check_forward_ad=forward)
        for fast in (False, True)
        for forward in (False, True)
        for name, f in {
            "empty": lambda m: lambda a, e: a * 2 + e.sum(),
            "empty result": lambda m: lambda a, e: (e * 2, a.exp()),
            "a shape that depends on values": lambda m: lambda a, e, at=[]: (at.append(float(a.sum())) if not at else None, a if float(a.sum()) > at[0] else a[:2])[1],
        }.items()
    },
    "gradgradcheck forward over reverse": lambda m, x, z: m.autograd.gradgradcheck(lambda a: a**3, x.requires_grad_(), check_fwd_over_rev=True),
}  # fmt: skip


def in_level(m: Any, function: Any) -> Any:
    with fw(m).dual_level():
        return function()


def off(m: Any, function: Any) -> Any:
    with fw(m)._set_fwd_grad_enabled(False):
        return function()


def anomaly(m: Any, function: Any) -> Any:
    with m.autograd.detect_anomaly():
        return function()


def written_leaf(m: Any, x: Any, z: Any) -> Any:
    x.requires_grad_()
    with m.no_grad():
        x.copy_(fw(m).make_dual(z[0], z[1].clone()))
    (x * 2).sum().backward()
    return fw(m).unpack_dual(x).tangent, x.is_leaf, x.grad


class Reading:
    """A Function whose backward reads a value, which vmap cannot do."""

    @staticmethod
    def of(m: Any) -> Any:
        return type(
            "Read",
            (m.autograd.Function,),
            {
                "forward": staticmethod(lambda a: a * 2),
                "setup_context": staticmethod(lambda ctx, inputs, output: None),
                "backward": staticmethod(lambda ctx, g: g * max(2.0, 0 * g.sum().item())),
            },
        )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_same_as_pytorch(name: str) -> None:
    check_same(pytorch, CASES[name], ARRAYS, lambda e: first_sentence(e).rstrip("."))


# ---- printing

PRINTED: dict[str, Any] = {
    "grad": lambda m, show: m.func.grad(lambda a: (show(a), show(a * 2), show(a > 1), show(m.zeros(2)), a.sum())[-1])(m.ones(2)),
    "jvp": lambda m, show: m.func.jvp(lambda a: (show(a), show(a.detach()), a)[-1], (m.ones(2),), (m.ones(2),)),
    "vmap": lambda m, show: m.func.vmap(lambda a: (show(a), show(a * 2), show(m.zeros(2)), a)[-1])(m.ones(2, 3)),
    "vmap of columns": lambda m, show: m.func.vmap(lambda a: (show(a), a)[-1], in_dims=1)(m.ones(2, 3)),
    "vmap of vmap": lambda m, show: m.func.vmap(m.func.vmap(lambda a: (show(a), a)[-1]))(m.ones(2, 3, 2)),
    "vmap of grad": lambda m, show: m.func.vmap(m.func.grad(lambda a: (show(a), show(m.zeros(1)), a.sum())[-1]))(m.ones(2, 3)),
    "grad of grad": lambda m, show: m.func.grad(m.func.grad(lambda a: (show(a), a**2)[-1]))(m.tensor(2.0)),
    "hessian": lambda m, show: m.func.hessian(lambda a: (show(a), (a**2).sum())[-1])(m.ones(2)),
    "captured": lambda m, show: (lambda c: m.func.grad(lambda a: (show(c), a.sum())[-1])(m.ones(2)))(m.ones(3)),
}  # fmt: skip


@pytest.mark.parametrize("name", PRINTED)
def test_prints_as_pytorch_does(name: str) -> None:
    texts = []
    for m in (pytorch, rushlight):
        seen: list[str] = []
        PRINTED[name](m, lambda t, seen=seen: seen.append(repr(t)))
        texts.append(seen)
    assert texts[1] == texts[0]


# ---- custom Functions


def function(m: Any, **methods: Any) -> Any:
    methods = {name: staticmethod(f) for name, f in methods.items()}
    return type("Custom", (m.autograd.Function,), methods)


def dual_of(m: Any, f: Any, *args: Any) -> Any:
    """The result's value and tangent, and the first argument's."""
    with fw(m).dual_level():
        first = fw(m).make_dual(args[0].clone(), m.ones(3).double())
        out = f.apply(first, *args[1:])
        return [t for d in (out, first) for t in fw(m).unpack_dual(d)]


def dirty(ctx: Any, a: Any, *others: Any) -> Any:
    ctx.mark_dirty(a)
    return a.mul_(3)


def told(m: Any, x: Any, jvp: Any, *more: Any) -> Any:
    seen: list[Any] = []
    forward = lambda ctx, *a: (
        ctx.save_for_backward(a[0]),
        ctx.save_for_forward(*kept(a)),
        a[0] * 2,
    )[-1]
    dual_of(
        m, function(m, forward=forward, jvp=lambda ctx, *t: (jvp(seen, ctx, t), t[0])[1]), x, *more
    )
    return seen


def kept(args: Any) -> Any:
    return args[1:2] if len(args) > 1 and hasattr(args[1], "shape") else ()


def dims_told(m: Any, in_dims: Any, call: Any, *args: Any) -> Any:
    seen: list[Any] = []

    def rule(info: Any, dims: Any, a: Any, b: Any) -> Any:
        parts = list(b.values()) if isinstance(b, dict) else b if isinstance(b, list) else [b]
        seen.append(
            (
                info.batch_size,
                dims,
                tuple(a.shape),
                [tuple(t.shape) for t in parts if hasattr(t, "shape")],
            )
        )
        return a.movedim(dims[0], 0) * 1, 0

    f = function(
        m,
        forward=lambda a, b: a * 1,
        setup_context=lambda ctx, i, o: None,
        backward=lambda ctx, g: (g, None),
        vmap=rule,
    )
    m.func.vmap(lambda *a: call(f, *a), in_dims=in_dims)(*args)
    return repr(seen)


def enabled(m: Any) -> Any:
    seen: list[Any] = []

    def note() -> Any:
        seen.append((fw(m)._is_fwd_grad_enabled(), m.is_grad_enabled()))

    def jvp(ctx: Any, t: Any) -> Any:
        # Forward mode is on here and off in PyTorch, whose jvp of a jvp is 0 for that.
        seen.append(m.is_grad_enabled())
        return t * 2

    f = function(m, forward=lambda ctx, a: (note(), a * 2)[1], jvp=jvp)
    dual_of(m, f, m.ones(3).double())
    return seen


FUNCTIONS: dict[str, Any] = {
    "dirty, tangent made anew": lambda m, x, z: dual_of(m, function(m, forward=dirty, jvp=lambda ctx, t: t * 3), x),
    "dirty, tangent in place": lambda m, x, z: dual_of(m, function(m, forward=dirty, jvp=lambda ctx, t: t.mul_(3)), x),
    "dirty, no tangent": lambda m, x, z: dual_of(m, function(m, forward=dirty, jvp=lambda ctx, t: None), x),
    "view, tangent made anew": lambda m, x, z: dual_of(m, function(m, forward=lambda ctx, a: a.view(-1), jvp=lambda ctx, t: t * 1), x),
    "view, tangent itself": lambda m, x, z: dual_of(m, function(m, forward=lambda ctx, a: a.view(-1), jvp=lambda ctx, t: t), x),
    "view, view of the tangent": lambda m, x, z: dual_of(m, function(m, forward=lambda ctx, a: a.view(-1), jvp=lambda ctx, t: t.view(-1)), x),
    "tangent that is a number": lambda m, x, z: dual_of(m, function(m, forward=lambda ctx, a: a * 2, jvp=lambda ctx, t: 3), x),
    "tangent of integers": lambda m, x, z: dual_of(m, function(m, forward=lambda ctx, a: a.long(), jvp=lambda ctx, t: t), x),
    "tangents of a number and integers": lambda m, x, z: told(m, x, lambda seen, ctx, t: seen.extend(v is None for v in t), x.long(), 3),
    "tangent of a plain tensor": lambda m, x, z: told(m, x, lambda seen, ctx, t: seen.append(t[1]), z[0]),
    "saved for backward only": lambda m, x, z: told(m, x, lambda seen, ctx, t: seen.append(len(ctx.saved_tensors))),
    "saved for forward": lambda m, x, z: told(m, x, lambda seen, ctx, t: seen.extend(ctx.saved_tensors), z[0]),
    "forward mode in forward, recording in jvp": lambda m, x, z: enabled(m),
    "dims of columns": lambda m, x, z: dims_told(m, (1, None), lambda f, a, b: f.apply(a, b), z, z),
    "dims from the end": lambda m, x, z: dims_told(m, (-1, 0), lambda f, a, b: f.apply(a, b), z, x),
    "dims in a list": lambda m, x, z: dims_told(m, (1, None), lambda f, a, b: f.apply(a, [a, b, 3]), z, x),
    "dims in a dictionary": lambda m, x, z: dims_told(m, 1, lambda f, a: f.apply(a, {"k": a}), z),
    "node in grad": lambda m, x, z: node_names(m, lambda f: m.func.grad(f)(x)),
    "node in vmap of grad": lambda m, x, z: node_names(m, lambda f: m.func.vmap(m.func.grad(f))(z)),
    "tensors by keyword only": lambda m, x, z: m.func.vmap(lambda a: by_keyword(m).apply(a, y=a))(z),
}  # fmt: skip


def node_names(m: Any, run: Any) -> Any:
    f = function(
        m,
        forward=lambda a: a * 2,
        setup_context=lambda ctx, i, o: None,
        backward=lambda ctx, g: g * 2,
    )
    f.generate_vmap_rule = True
    seen: list[Any] = []
    run(lambda a: (out := f.apply(a), seen.append(out.grad_fn.name()), out.sum())[-1])
    return seen


def by_keyword(m: Any) -> Any:
    f = function(
        m,
        forward=lambda x, *, y: x * y,
        setup_context=lambda ctx, i, o: None,
        backward=lambda ctx, g: g,
    )
    f.generate_vmap_rule = True
    return f


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_told_what_pytorch_tells_them(name: str) -> None:
    check_same(pytorch, FUNCTIONS[name], ARRAYS, lambda e: first_sentence(e).rstrip("."))
