"""Calls with more inputs, outputs or saved values than 16 bits count."""

import pytest

from _subject import torch

N = 70_000


@pytest.mark.parametrize(
    "pieces", [lambda x: x.unbind(), lambda x: x.split(1)], ids=["unbind", "split"]
)
def test_many_outputs(pieces):
    x = torch.arange(N, dtype=torch.float32).requires_grad_()
    out = pieces(x)
    (out[N - 1].sum() * 2 + out[65_535].sum() * 3 + out[0].sum()).backward()
    assert x.grad[N - 1] == 2 and x.grad[65_535] == 3 and x.grad[0] == 1
    assert x.grad.sum() == 6


@pytest.mark.parametrize("join", ["cat", "stack"])
def test_many_inputs(join):
    x = torch.ones(1, requires_grad=True)
    getattr(torch, join)([x] * N).sum().backward()
    assert x.grad == N


def test_a_function_of_many_inputs_and_saved_values():
    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return inputs[0] * 1

        @staticmethod
        def backward(ctx, g):
            assert len(ctx.saved_tensors) == N
            return (g,) * N

    x = torch.ones(1, requires_grad=True)
    First.apply(*[x] * N).backward()
    assert x.grad == N


def test_a_function_that_saves_a_late_output():
    """Output 299 comes back as output 299, not as 299 modulo 256."""

    class Many(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            outputs = tuple(x * i for i in range(300))
            ctx.save_for_backward(outputs[299])
            return outputs

        @staticmethod
        def backward(ctx, *gradients):
            (saved,) = ctx.saved_tensors
            return saved * gradients[299]

    x = torch.ones(1, requires_grad=True)
    y = Many.apply(x)[299]
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    assert first == 299
    # By the rule above, that of the saved output (299 x, whose own gradient is 299 again) times 1.
    (second,) = torch.autograd.grad(first, x)
    assert second == 299
