"""Operations of one's own: `torch.autograd.Function` with forward and backward."""

import pytest

from _subject import torch


class Multiply(torch.autograd.Function):
    """The product of two tensors, its derivative written by hand."""

    @staticmethod
    def forward(ctx, first, second):
        ctx.save_for_backward(first, second)
        return first * second

    @staticmethod
    def backward(ctx, incoming):
        first, second = ctx.saved_tensors
        return incoming * second, incoming * first


class Exp(torch.autograd.Function):
    """The exponential, which needs its result only."""

    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


class Scale(torch.autograd.Function):
    """Times a Python number, which gets no gradient."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


def test_forward_and_backward():
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([3.0, 4.0], requires_grad=True)
    y = Multiply.apply(a, b)
    assert y.tolist() == [3.0, 8.0] and y.requires_grad and not y.is_leaf
    y.backward(torch.ones(2))
    assert a.grad.tolist() == [3.0, 4.0] and b.grad.tolist() == [1.0, 2.0]


def test_node_is_named_after_the_class():
    y = Exp.apply(torch.tensor(0.5, requires_grad=True))
    assert repr(y) == "tensor(1.6487, grad_fn=<ExpBackward>)"
    assert type(y.grad_fn).__name__ == "ExpBackward"
    assert y.grad_fn.name() == "ExpBackward"


def test_in_the_middle_of_other_operations():
    x = torch.tensor([0.1, 0.2], requires_grad=True)
    (Exp.apply(x * 2) + 1).sum().backward()
    expected = torch.tensor([0.1, 0.2], requires_grad=True)
    ((expected * 2).exp() + 1).sum().backward()
    assert torch.equal(x.grad, expected.grad)


def test_numbers_pass_through():
    x = torch.ones(2, requires_grad=True)
    y = Scale.apply(x, 2.5)
    assert y.grad_fn.factor == 2.5
    y.sum().backward()
    assert x.grad.tolist() == [2.5, 2.5]


def test_no_recording_inside_forward():
    seen = []

    class Watch(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(((x * 2).requires_grad, torch.is_grad_enabled()))
            return x + 1

        @staticmethod
        def backward(ctx, g):
            return g

    Watch.apply(torch.ones(1, requires_grad=True))
    assert seen == [(False, False)]


def test_without_requires_grad_there_is_no_node():
    y = Exp.apply(torch.ones(1))
    assert not y.requires_grad and y.grad_fn is None


def test_under_no_grad_there_is_no_node():
    with torch.no_grad():
        assert Exp.apply(torch.ones(1, requires_grad=True)).grad_fn is None


def test_needs_input_grad():
    seen = []

    class Watch(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return g, None

    Watch.apply(torch.ones(1, requires_grad=True), torch.ones(1)).backward()
    assert seen == [(True, False)]


def test_too_few_gradients():
    class Short(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return g

    y = Short.apply(torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True))
    with pytest.raises(
        RuntimeError,
        match=r"^function ShortBackward returned an incorrect number of gradients "
        r"\(expected 2, got 1\)",
    ):
        y.backward()


def test_gradient_of_another_shape():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return torch.ones(7)

    y = Wrong.apply(torch.ones(3, requires_grad=True))
    with pytest.raises(
        RuntimeError,
        match=r"^Function WrongBackward returned an invalid gradient at index 0 - got \[7\] but "
        r"expected shape compatible with \[3\]",
    ):
        y.backward(torch.ones(3))


def test_two_results():
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g2, g3):
            return g2 * 2 + g3 * 3

    x = torch.ones(2, requires_grad=True)
    double, triple = Both.apply(x)
    (double + 10 * triple).sum().backward()
    assert x.grad.tolist() == [32.0, 32.0]


def test_unused_result_gets_zeros():
    seen = []

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g2, g3):
            seen.append(g3.tolist())
            return g2 * 2 + g3 * 3

    x = torch.ones(2, requires_grad=True)
    Both.apply(x)[0].sum().backward()
    assert seen == [[0.0, 0.0]] and x.grad.tolist() == [2.0, 2.0]


def test_exceptions_in_backward_keep_their_type():
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Fails.apply(torch.ones(1, requires_grad=True)).backward()


def test_twice_differentiable():
    x = torch.tensor(0.5, requires_grad=True)
    (first,) = torch.autograd.grad(Exp.apply(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert abs(second.item() - 1.6487212) < 1e-6


def test_freed_with_the_graph():
    y = Exp.apply(torch.ones(1, requires_grad=True))
    y.backward()
    with pytest.raises(RuntimeError, match=r"^Trying to backward through the graph a second time"):
        y.backward()
