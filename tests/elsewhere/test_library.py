"""torch.library.custom_op: values, gradients, meta, vmap, refusals."""

from typing import List  # noqa: UP035

import numpy as np
import pytest
from rushlight.library import custom_op, infer_schema, register_autograd, register_fake

import rushlight as torch
from rushlight import Tensor
from rushlight.utils._pytree import tree_leaves


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


# ---- lists of tensors, gradients that are left out, vmap without a rule, opcheck


def graded(op, *values):
    """The gradients of the leaves that an operator takes, from all of its results."""
    leaves = [torch.full((2,), v, dtype=torch.float64, requires_grad=True) for v in values]
    outs = tree_leaves(op(leaves))
    assert all(out.grad_fn is not None for out in outs)
    sum((i + 1) * out.sum() for i, out in enumerate(outs)).backward()
    return [leaf.grad.tolist() for leaf in leaves]


def one(a: Tensor) -> List[Tensor]:  # noqa: UP006
    return [a * 2, a + 1]


def nested(a: Tensor, b: Tensor) -> tuple[Tensor, list[Tensor]]:
    return a * b, [a + b, a * 3]


def given(a: list[Tensor], k: float = 2.0) -> Tensor:
    return a[0] * k + a[1]


def both_ways(a: list[Tensor], b: Tensor) -> list[Tensor]:
    return [x * b for x in a]


def keep(ctx, inputs, output):
    ctx.inputs = inputs


def back_both(ctx, g):
    a, b = ctx.inputs
    return [b * x for x in g], sum(x * y for x, y in zip(a, g, strict=True))


LISTS = {
    one: (lambda ctx, g: g[0] * 2 + g[1], lambda f, x: f(x[0])),
    nested: (
        lambda ctx, g, h: (
            g * ctx.inputs[1] + h[0] + 3 * h[1],
            g * ctx.inputs[0] + h[0],
        ),
        lambda f, x: f(x[0], x[1]),
    ),
    given: (lambda ctx, g: [g * 2, g], lambda f, x: f(x)),
    both_ways: (back_both, lambda f, x: f(x[:2], x[2])),
}


@pytest.mark.parametrize("function", LISTS, ids=lambda f: f.__name__)
def test_lists_of_tensors_have_the_gradients_of_the_plain_function(function):
    backward, call = LISTS[function]
    op = custom_op(f"tests::{function.__name__}", function, mutates_args=())
    op.register_autograd(backward, setup_context=keep)
    leaves = [1.5, 2.0, -3.0][: 1 if function is one else 3 if function is both_ways else 2]
    assert graded(lambda x: call(op, x), *leaves) == graded(lambda x: call(function, x), *leaves)


def test_a_list_of_gradients_of_another_length_is_refused():
    op = custom_op("tests::given", given, mutates_args=())
    for length in (1, 3):
        op.register_autograd(lambda ctx, g, length=length: [g] * length)
        with pytest.raises(RuntimeError, match="Expected the return from backward to be of"):
            graded(op, 1.0, 2.0)
    op.register_autograd(lambda ctx, g: None)
    x = [torch.ones(2, requires_grad=True) for _ in range(2)]
    op(x).sum().backward()
    assert [t.grad for t in x] == [None, None]


@pytest.mark.parametrize("left_out", [(), (None,), (None, None)])
@pytest.mark.parametrize("call", [{}, {"k": 2.0}, {"k": 3.0}])
def test_gradients_of_defaults_may_be_left_out(sin, left_out, call):
    sin.register_autograd(lambda ctx, g: (g * 5, *left_out))
    x = torch.ones(2, requires_grad=True)
    out = sin(x, **call)
    if not left_out and call:
        with pytest.raises(RuntimeError, match="an incorrect number of gradients"):
            out.sum().backward()
    else:
        out.sum().backward()
        assert x.grad.tolist() == [5.0, 5.0]


ALIASES = {
    "view": lambda x: (x.view(-1), x * 1),
    "part": lambda x: (x * 1, x[0]),
    "twice": lambda x: (x * 2,) * 2,
    "parts of one": lambda x: (x * 2).unbind(),
}


@pytest.mark.parametrize("name", ALIASES)
def test_results_in_memory_of_others_are_refused(name):
    def made(x: Tensor) -> tuple[Tensor, Tensor]:
        return ALIASES[name](x)

    op = custom_op("tests::alias", made, mutates_args=())
    with pytest.raises(RuntimeError, match="may not alias any inputs to this custom operator"):
        op(torch.ones(2, 2))


def test_no_backward_for_what_writes_or_gives_nothing():
    def writes(x: Tensor, y: Tensor) -> Tensor:
        return y * 2

    def nothing(x: Tensor) -> None:
        pass

    for op in (
        custom_op("tests::writes", writes, mutates_args={"x"}),
        custom_op("tests::nothing", nothing, mutates_args=()),
    ):
        with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-funct"):
            op.register_autograd(lambda ctx, g: g)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_vmap_without_a_rule_runs_once_for_each_element(sin):
    sin = with_backward(sin)
    x = torch.rand(3, 2, 4, dtype=torch.float64, requires_grad=True)
    for in_dims in (0, 1, 2):
        out = torch.vmap(sin, in_dims=(in_dims, None))(x, 2.0)
        assert torch.equal(out.movedim(0, in_dims), sin(x, 2.0))
    (out.cos().sum()).backward()
    expected = torch.autograd.grad((x * 2).sin().cos().sum(), x)[0]
    assert torch.allclose(x.grad, expected)
    assert torch.vmap(torch.vmap(sin))(x).tolist() == sin(x).tolist()

    def pair(x: Tensor) -> tuple[Tensor, Tensor]:
        return x + 1, x.sum()

    first, second = torch.vmap(custom_op("tests::pair", pair, mutates_args=()))(x)
    assert torch.equal(first, x + 1) and second.shape == (3,)


def test_what_vmap_cannot_loop_over_is_told(sin):
    def writes(x: Tensor) -> None:
        x.add_(1)

    x = torch.ones(2, 2)
    for op, values, text in (
        (custom_op("tests::writes", writes, mutates_args={"x"}), x, "doesn't work on out="),
        (custom_op("tests::one", one, mutates_args=()), x, "We could not generate a fallback"),
        (sin, x[:0], "does not support vmap over dims of size 0"),
    ):
        with pytest.raises(RuntimeError, match=f"^Batching rule not implemented for tests.*{text}"):
            torch.vmap(op)(values)
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_opcheck(sin):
    opcheck, x = torch.library.opcheck, torch.rand(3, requires_grad=True)
    found = opcheck(sin, (x,), raise_exception=False)
    assert found["test_schema"] == "SUCCESS" and "no fake impl" in str(found["test_faketensor"])
    sin.register_fake(lambda x, k=1.0: x.new_empty(x.numel() + 1))
    with pytest.raises(torch.library.OpCheckError, match=r"test_faketensor failed with shape"):
        opcheck(sin, (x,))
    sin.register_fake(lambda x, k=1.0: torch.empty_like(x))
    assert set(opcheck(with_backward(sin), (x, 2.0)).values()) == {"SUCCESS"}
    sin.register_autograd(lambda ctx, g: (g, g, g))
    with pytest.raises(torch.library.OpCheckError, match=r"autograd_registration failed with func"):
        opcheck(torch.ops.tests.sin, (x,))

    def lies(x: Tensor) -> Tensor:
        return x.add_(1) * 2

    op = custom_op("tests::lies", lies, mutates_args=())
    with pytest.raises(torch.library.OpCheckError, match="Argument x is not defined as mutable"):
        opcheck(op, (x.detach(),))
    with pytest.raises(ValueError, match="to be subset of"):
        opcheck(op, (x,), test_utils="test_all")
    with pytest.raises(ValueError, match="op must be instance of"):
        opcheck(torch.sin, (x,))
