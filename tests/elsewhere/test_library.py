"""torch.library.custom_op: values, gradients, meta, vmap, refusals."""

from typing import List  # noqa: UP035

import numpy as np
import pytest

import rushlight as torch
from rushlight import Tensor
from rushlight.library import custom_op, infer_schema, register_autograd, register_fake


@pytest.fixture
def sin():
    @custom_op("tests::sin", mutates_args=())
    def sin(x: Tensor, k: float = 1.0) -> Tensor:
        return torch.from_numpy(np.sin(x.detach().numpy() * k))

    return sin


def with_backward(op):
    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.k = inputs[1]

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.k * (x * ctx.k).cos(), None

    op.register_autograd(backward, setup_context=setup)
    return op


def test_values_defaults_and_names(sin):
    x = torch.tensor([0.5, 1.0], dtype=torch.float64)
    assert sin(x).tolist() == np.sin([0.5, 1.0]).tolist()
    assert sin(x, k=2.0).tolist() == sin(x, 2.0).tolist() == np.sin([1.0, 2.0]).tolist()
    assert repr(sin) == "<CustomOpDef(tests::sin)>"


def test_gradient(sin):
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: with_backward(sin)(x, 2.0), x)


def test_without_a_formula(sin):
    out = sin(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match=r"through tests\.sin\.default but no autograd formula"):
        out.sum().backward()


def test_by_name(sin):
    register_autograd("tests::sin", lambda ctx, g: (g, None))
    x = torch.ones(2, requires_grad=True)
    sin(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="no operator 'tests::none'"):
        register_fake("tests::none", lambda x: x)


def test_keyword_only_arguments():
    @custom_op("tests::scaled", mutates_args=())
    def scaled(x: Tensor, *, k: float) -> Tensor:
        return x * k

    def setup(ctx, inputs, keyword_only_inputs, output):
        assert len(inputs) == 1
        ctx.k = keyword_only_inputs["k"]

    scaled.register_autograd(lambda ctx, g: g * ctx.k, setup_context=setup)
    x = torch.ones(2, requires_grad=True)
    scaled(x, k=3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_several_results():
    @custom_op("tests::both", mutates_args=())
    def both(x: Tensor) -> tuple[Tensor, Tensor]:
        return x + 1, x * 2

    both.register_autograd(lambda ctx, a, b: a + 2 * b)
    x = torch.zeros(2, requires_grad=True)
    first, second = both(x)
    (first.sum() + second.sum()).backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_on_meta(sin):
    sin.register_fake(lambda x, k=1.0: torch.empty_like(x))
    out = sin(torch.ones(2, 3, device="meta"))
    assert out.is_meta and out.shape == (2, 3)


def test_under_vmap(sin):
    sin.register_vmap(lambda info, in_dims, x, k: (sin(x, k), in_dims[0]))
    x = torch.rand(4, 2)
    assert torch.vmap(sin)(x).tolist() == sin(x).tolist()


def test_it_writes_what_it_says():
    @custom_op("tests::add_one", mutates_args={"x"})
    def add_one(x: Tensor) -> None:
        x.add_(1)

    x = torch.zeros(2)
    before = x._version
    assert add_one(x) is None and x.tolist() == [1.0, 1.0] and x._version > before
    with pytest.raises(RuntimeError, match="requires grad"):
        add_one(torch.zeros(2, requires_grad=True))


def test_refusals(sin):
    with pytest.raises(
        RuntimeError, match=r"^tests::sin\(\) Expected a value of type 'Tensor' for"
    ):
        sin("a")
    with pytest.raises(RuntimeError, match="Declaration: tests::sin"):
        sin()

    @custom_op("tests::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    with pytest.raises(RuntimeError, match=r"must not also be an input to this custom operator"):
        same(torch.ones(1))
    with pytest.raises(ValueError, match="form `namespace::name`"):
        custom_op("same", mutates_args=())(same._init_fn)
    with pytest.raises(ValueError, match="Parameter x must have a type annotation"):
        custom_op("tests::bare", mutates_args=())(lambda x: x)


def declared(
    x: Tensor,
    n: int,
    sizes: list[int],
    w: Tensor | None = None,
    mode: str = "a",
) -> List[Tensor]:  # noqa: UP006
    return [x]


def test_schemas():
    said = '(Tensor x, SymInt n, SymInt[] sizes, Tensor? w=None, str mode="a") -> Tensor[]'
    assert infer_schema(declared, mutates_args=()) == said
    assert infer_schema(declared, mutates_args={"x"}).startswith("(Tensor(a0!) x, ")
