"""torch.func and forward_ad against PyTorch: the same program on both, values, dtypes and errors alike.

A case is a function of the library `m` and of tensors: x, y of 3 elements, z (4, 3), w (5, 4, 3), images (2, 3, 6, 6) and
filters (4, 3, 3, 3). What it raises must have PyTorch's type and first sentence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both import check_same

pytorch = pytest.importorskip("torch")
pytest.importorskip("torch.func")
pytest.importorskip("torch.autograd.forward_ad")

# ruff: noqa: E501  a case a line

_rng = np.random.default_rng(0)
SHAPES = ((3,), (3,), (4, 3), (5, 4, 3), (2, 3, 6, 6), (4, 3, 3, 3))
ARRAYS = [_rng.standard_normal(shape) for shape in SHAPES]


def f3(m: Any) -> Any:
    return lambda x: (x.sin() * x.exp()).sum() * x[0]


def fw(m: Any) -> Any:
    return m.autograd.forward_ad


CASES: dict[str, Any] = {
    "vmap mask": lambda m, x, y, z, *_: m.func.vmap(lambda a: (a[a > 0], a)[1])(z),
    "vmap is_nonzero": lambda m, x, y, z, *_: m.func.vmap(lambda a: (m.is_nonzero(a.sum()), a)[1])(
        z
    ),
    "vmap tensor of tensors": lambda m, x, y, z, *_: m.func.vmap(
        lambda a: (m.tensor([a.sum(), a.sum()]), a)[1]
    )(z),
    "vmap format": lambda m, x, y, z, *_: m.func.vmap(lambda a: (f"{a.sum():.2f}", a)[1])(z),
    "vmap float": lambda m, x, y, z, *_: m.func.vmap(lambda a: (float(a.sum()), a)[1])(z),
    "vmap equal": lambda m, x, y, z, *_: m.func.vmap(lambda a: (m.equal(a, a), a)[1])(z),
    "vmap allclose": lambda m, x, y, z, *_: m.func.vmap(lambda a: (m.allclose(a, a), a)[1])(z),
    "vmap tolist": lambda m, x, y, z, *_: m.func.vmap(lambda a: (a.tolist(), a)[1])(z),
    "vmap numpy": lambda m, x, y, z, *_: m.func.vmap(lambda a: (a.numpy(), a)[1])(z),
    "grad": lambda m, x, *_: m.func.grad(f3(m))(x),
    "gradgrad": lambda m, x, *_: m.func.grad(lambda z: m.func.grad(f3(m))(z).pow(2).sum())(x),
    "hess": lambda m, x, *_: m.func.hessian(f3(m))(x),
    "jacrevrev": lambda m, x, *_: m.func.jacrev(m.func.jacrev(f3(m)))(x),
    "jacfwdfwd": lambda m, x, *_: m.func.jacfwd(m.func.jacfwd(f3(m)))(x),
    "jacrevfwd": lambda m, x, *_: m.func.jacrev(m.func.jacfwd(f3(m)))(x),
    "vmaphess": lambda m, x, y, z, *_: m.func.vmap(m.func.hessian(f3(m)))(z),
    "vmapjvp": lambda m, x, y, z, *_: m.func.vmap(lambda a: m.func.jvp(f3(m), (a,), (a * 2,)))(z),
    "jvpvmap": lambda m, x, y, z, *_: m.func.jvp(lambda q: m.func.vmap(f3(m))(q), (z,), (z * 2,)),
    "gradvmap": lambda m, x, y, z, *_: m.func.grad(lambda q: m.func.vmap(f3(m))(q).sum())(z),
    "vmapvmap": lambda m, x, y, z, w, *_: m.func.vmap(
        m.func.vmap(lambda a, b: (a * b).sum() + b, in_dims=(0, None)), in_dims=(0, None)
    )(w, x),
    "vmap grad closure": lambda m, x, y, z, *_: m.func.vmap(
        lambda a: m.func.grad(lambda q: (q * a).sin().sum())(x)
    )(z),
    "vmap in 1 out 1": lambda m, x, y, z, *_: m.func.vmap(lambda a: a * 2, in_dims=1, out_dims=1)(
        z
    ),
    "vmap out neg": lambda m, x, y, z, *_: m.func.vmap(
        lambda a: (a * 2, a.sum()), in_dims=1, out_dims=(-1, 0)
    )(z),
    "vmap chunk": lambda m, x, y, z, *_: m.func.vmap(lambda a: a * 2, chunk_size=3)(z),
    "vmap dict": lambda m, x, y, z, *_: m.func.vmap(
        lambda d: {"s": d["a"] + d["b"]}, in_dims=({"a": 0, "b": None},)
    )({"a": z, "b": x}),
    "confusion": lambda m, x, *_: m.func.grad(
        lambda a: (a * m.func.grad(lambda b: (a + b).pow(3).sum())(x)).sum()
    )(x),
    "confusion jvp": lambda m, x, y, *_: m.func.jvp(
        lambda a: a * m.func.grad(lambda b: (a * b).sin().sum())(y), (x,), (y,)
    ),
    "vjp": lambda m, x, *_: (lambda o, f: (o, f(m.ones_like(o) * 2)))(
        *m.func.vjp(lambda a: a.sin() * a.sum(), x)
    ),
    "vjp2": lambda m, x, y, *_: (lambda o, f: (o, f({"k": m.ones_like(x)})))(
        *m.func.vjp(lambda a, b: {"k": a.sin() * b}, x, y)
    ),
    "linearize": lambda m, x, y, *_: (lambda o, f: (o, f(y)))(
        *m.func.linearize(lambda a: a.sin() * a.sum(), x)
    ),
    "aux": lambda m, x, y, *_: m.func.grad_and_value(
        lambda a: ((a * a).sum(), {"q": a * 2}), has_aux=True
    )(x),
    "argnums": lambda m, x, y, *_: m.func.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, y),
    "argnum-1": lambda m, x, y, *_: m.func.grad(lambda a, b: (a * b).sum(), argnums=-1)(x, y),
    "jacrev tuple": lambda m, x, y, *_: m.func.jacrev(
        lambda a, b: (a * b, (a + b).sum()), argnums=(0, 1)
    )(x, y),
    "jacfwd tuple": lambda m, x, y, *_: m.func.jacfwd(
        lambda a, b: (a * b, (a + b).sum()), argnums=(0, 1)
    )(x, y),
    "jacrev chunk": lambda m, x, y, *_: m.func.jacrev(lambda a: a.sin() * a.sum(), chunk_size=2)(x),
    "outer grad": lambda m, x, *_: (lambda v: m.autograd.grad(m.func.grad(f3(m))(v).sum(), v))(
        x.requires_grad_()
    ),
    "vmap where": lambda m, x, y, z, *_: m.func.vmap(lambda a: m.where(a > 0, a, -a * y))(z),
    "vmap index": lambda m, x, y, z, *_: m.func.vmap(lambda a, i: a[i])(z, m.tensor([0, 2, 1, 0])),
    "vmap index2": lambda m, x, y, z, w, *_: m.func.vmap(lambda a, i: a[:, i])(
        w, m.tensor([0, 2, 1, 0, 1])
    ),
    "vmap index un": lambda m, x, y, z, w, *_: m.func.vmap(lambda i: x[i])(
        m.tensor([[0, 2], [1, 0]])
    ),
    "vmap setitem": lambda m, x, y, z, w, *_: m.func.vmap(
        lambda a: (lambda c: (c.__setitem__(0, c[1] * 2), c)[1])(a.clone())
    )(z),
    "vmap inplace": lambda m, x, y, z, w, *_: m.func.vmap(lambda a: a.clone().mul_(2).add_(y))(z),
    "vmap inplace err": lambda m, x, y, z, w, *_: m.func.vmap(lambda a: y.clone().mul_(a))(z),
    "vmap zeros_like inplace": lambda m, x, y, z, w, *_: m.func.vmap(
        lambda a: m.zeros_like(a).add_(a)
    )(z),
    "vmap new_zeros inplace": lambda m, x, y, z, w, *_: m.func.vmap(
        lambda a: a.new_zeros(3).add_(a)
    )(z),
    "vmap softmax": lambda m, x, y, z, w, *_: m.func.vmap(lambda a: m.softmax(a, -1))(w),
    "vmap max": lambda m, x, y, z, w, *_: m.func.vmap(lambda a: a.max(-1))(w),
    "vmap item": lambda m, x, y, z, w, *_: m.func.vmap(lambda a: a.sum().item())(w),
    "vmap if": lambda m, x, y, z, w, *_: m.func.vmap(lambda a: a if a.sum() > 0 else -a)(w),
    "vmap rand err": lambda m, x, y, z, w, *_: m.func.vmap(lambda a: a + m.rand(3))(z),
    "vmap drop err": lambda m, x, y, z, w, *_: m.func.vmap(lambda a: m.nn.functional.dropout(a))(z),
    "vmap sizes": lambda m, x, y, z, w, *_: m.func.vmap(lambda a, b: a)(z, x),
    "vmap ret int": lambda m, x, y, z, w, *_: m.func.vmap(lambda a: 3)(z),
    "vmap noargs": lambda m, *_: m.func.vmap(lambda: 3)(),
    "vmap indim": lambda m, x, *_: m.func.vmap(lambda a: a, in_dims=5)(x),
    "vmap indim none": lambda m, x, *_: m.func.vmap(lambda a: a, in_dims=None)(x),
    "vmap indims bad": lambda m, x, *_: m.func.vmap(lambda a: a, in_dims=(0, 0))(x),
    "vmap out bad": lambda m, x, *_: m.func.vmap(lambda a: a, out_dims=(0, 0))(x),
    "vmap nontensor": lambda m, x, *_: m.func.vmap(lambda a, b: a)(x, 3),
    "vmap randomness bad": lambda m, x, *_: m.func.vmap(lambda a: a, randomness="foo")(x),
    "grad nonscalar": lambda m, x, *_: m.func.grad(lambda a: a)(x),
    "grad int": lambda m, x, *_: m.func.grad(lambda a: 3)(x),
    "grad argnum": lambda m, x, *_: m.func.grad(lambda a: a.sum(), argnums=2)(x),
    "grad argnum bad": lambda m, x, *_: m.func.grad(lambda a: a.sum(), argnums="q")(x),
    "grad aux bad": lambda m, x, *_: m.func.grad(lambda a: a.sum(), has_aux=True)(x),
    "grad int in": lambda m, x, *_: m.func.grad(lambda a: a.sum())(m.tensor([1, 2])),
    "vjp struct": lambda m, x, *_: m.func.vjp(lambda a: a, x)[1]((x, x)),
    "vjp nonT": lambda m, x, *_: m.func.vjp(lambda a: 3, x),
    "vjp in": lambda m, x, *_: m.func.vjp(lambda a: a, 3),
    "jvp struct": lambda m, x, *_: m.func.jvp(lambda a: a, (x,), (x, x)),
    "jvp notuple": lambda m, x, *_: m.func.jvp(lambda a: a, x, x),
    "jvp shape": lambda m, x, *_: m.func.jvp(lambda a: a, (x,), (x[:2],)),
    "jvp int": lambda m, x, *_: m.func.jvp(lambda a: 3, (x,), (x,)),
    "jvp const": lambda m, x, y, *_: m.func.jvp(lambda a: y, (x,), (x,)),
    "jvp strict": lambda m, x, y, *_: m.func.jvp(lambda a: y, (x,), (x,), strict=True),
    "jacrev int": lambda m, x, *_: m.func.jacrev(lambda a: 3)(x),
    "no_grad out": lambda m, x, *_: m.no_grad()(m.func.grad(f3(m)))(x),
    "fw none": lambda m, x, *_: fw(m).make_dual(x, x),
    "jac conv": lambda m, *a: m.func.jacrev(
        lambda w: m.nn.functional.conv2d(a[4], w).sum((0, 2, 3))
    )(a[5]),
    "jacfwd conv": lambda m, *a: m.func.jacfwd(
        lambda w: m.nn.functional.conv2d(a[4], w).sum((0, 2, 3))
    )(a[5]),
    "vmap pool": lambda m, *a: m.func.vmap(lambda x: m.nn.functional.max_pool2d(x, 2))(a[4]),
    "vmap grad pool": lambda m, *a: m.func.vmap(
        m.func.grad(lambda x: m.nn.functional.max_pool2d(x, 2).pow(2).sum())
    )(a[4]),
    "vmap ln": lambda m, *a: m.func.vmap(lambda x, w: m.nn.functional.layer_norm(x, (3,), w))(
        a[3], a[3][:, 0]
    ),
}


def case(function: Any) -> Any:
    """Decorator: a case that needs statements."""
    CASES[function.__name__.replace("_", " ")] = function
    return function


@case
def forward_ad_(m: Any, x: Any, y: Any, *_: Any) -> Any:
    with fw(m).dual_level():
        d = fw(m).make_dual(x, y)
        return tuple(fw(m).unpack_dual((d.sin() * d).sum()))


@case
def forward_ad_of_integers(m: Any, *_: Any) -> Any:
    with fw(m).dual_level():
        return fw(m).make_dual(m.tensor([1, 2]), m.tensor([1, 2]))


@case
def forward_ad_of_another_shape(m: Any, x: Any, y: Any, *_: Any) -> Any:
    with fw(m).dual_level():
        return fw(m).make_dual(x, y[:2])


@case
def forward_ad_in_place(m: Any, x: Any, y: Any, *_: Any) -> Any:
    with fw(m).dual_level():
        d = fw(m).make_dual(x.clone(), y.clone())
        z = d * 1
        z[1:].mul_(d[:2])
        z.add_(1)
        return tuple(fw(m).unpack_dual(z.exp()))


@case
def forward_ad_written_into_a_plain_tensor(m: Any, x: Any, y: Any, *_: Any) -> Any:
    with fw(m).dual_level():
        d = fw(m).make_dual(x.clone(), y.clone())
        z = m.zeros(4, dtype=m.float64)
        z[1:] = d
        z[0] = d[0] * 2
        return tuple(fw(m).unpack_dual(z.exp()))


@case
def forward_ad_and_out(m: Any, x: Any, y: Any, *_: Any) -> Any:
    with fw(m).dual_level():
        return m.add(fw(m).make_dual(x, y), y, out=m.empty(3, dtype=m.float64))


@case
def forward_ad_overwritten_at_random(m: Any, x: Any, y: Any, *_: Any) -> Any:
    with fw(m).dual_level():
        return fw(m).unpack_dual(fw(m).make_dual(x, y).normal_()).tangent


@case
def reverse_over_forward_ad(m: Any, x: Any, y: Any, *_: Any) -> Any:
    x.requires_grad_()
    with fw(m).dual_level():
        d = fw(m).make_dual(x, y)
        return m.autograd.grad(fw(m).unpack_dual((d.sin() * d).sum()).tangent, x)


@case
def forward_ad_over_reverse(m: Any, x: Any, y: Any, *_: Any) -> Any:
    x.requires_grad_()
    with fw(m).dual_level():
        d = fw(m).make_dual(x, y)
        (g,) = m.autograd.grad((d.sin() * d).sum(), d, create_graph=True)
        return tuple(fw(m).unpack_dual(g))


def network(m: Any) -> Any:
    class Network(m.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.filters, self.last = m.nn.Conv2d(3, 4, 3), m.nn.Linear(64, 2)

        def forward(self, x: Any) -> Any:
            return self.last(m.relu(self.filters(x)).flatten(1))

    made = Network().double()
    rng = np.random.default_rng(1)
    with m.no_grad():
        for p in made.parameters():
            p.copy_(m.from_numpy(rng.standard_normal(tuple(p.shape))))
    return made


@case
def gradients_of_each_sample(m: Any, *tensors: Any) -> Any:
    made = network(m)
    parameters = {k: v.detach() for k, v in made.named_parameters()}

    def loss(p: Any, x: Any, y: Any) -> Any:
        out = m.func.functional_call(made, p, (x.unsqueeze(0),))
        return m.nn.functional.cross_entropy(out, y.unsqueeze(0))

    every = m.func.vmap(m.func.grad(loss), in_dims=(None, 0, 0))
    return every(parameters, tensors[4], m.tensor([0, 1]))


@case
def ensemble(m: Any, *tensors: Any) -> Any:
    models = [network(m), network(m)]
    parameters, buffers = m.func.stack_module_state(models)

    def call(p: Any, b: Any, x: Any) -> Any:
        return m.func.functional_call(models[0], (p, b), (x,))

    return m.func.vmap(call, in_dims=(0, 0, None))(parameters, buffers, tensors[4])


@case
def custom_function(m: Any, x: Any, y: Any, z: Any, *_: Any) -> Any:
    class Sine(m.autograd.Function):  # type: ignore[misc, name-defined]
        generate_vmap_rule = True

        @staticmethod
        def forward(a: Any) -> Any:
            return a.sin()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0].cos()

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * ctx.saved_tensors[0].cos()

    def total(a: Any) -> Any:
        return Sine.apply(a).sum()

    return (
        m.func.vmap(m.func.grad(total))(z),
        m.func.jvp(Sine.apply, (x,), (y,)),
        m.func.hessian(total)(x),
        m.func.vmap(Sine.apply)(z),
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_same_as_pytorch(name: str) -> None:
    check_same(pytorch, CASES[name], ARRAYS)
