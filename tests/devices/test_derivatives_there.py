"""Ways through the rules that a whole backward does not take: one result alone, and forward mode.

For each differentiable op of the table in float32, on the accelerator and on the CPU.
"""

import pytest
import sweep

import rushlight as torch

cases = sweep.cases
NAMES = [
    name
    for name in cases.DIFFERENTIABLE
    if name not in cases.RANDOM and cases.takes(name, "float32")
]


def results(call):
    outs = cases.tensors_in(cases.plain(call.run()))
    return [t for t in outs if t.is_floating_point() or t.is_complex()]


def differing(have, want):
    """How the numbers differ: the strides are what the rules make them."""
    return sweep.differing([t.contiguous() for t in have], [t.contiguous() for t in want])


def tangents(call, inside):
    """The derivative of all results by all leaves, in the direction of ones."""
    tensors = call.tensors
    leaves = [tensors[i] for i in inside]

    def function(*given):
        following = iter(given)
        new = [next(following) if i in inside else t for i, t in enumerate(tensors)]
        return tuple(results(call.having(new)))

    return torch.func.jvp(function, tuple(leaves), tuple(map(torch.ones_like, leaves)))[1]


def gradient_of(out, leaves):
    size = torch.view_as_real(out) if out.is_complex() else out
    found = torch.autograd.grad(size.sum(), leaves, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, leaves, strict=True)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_cpu(name):
    for call in cases.calls(name, "float32"):
        inside = call.leaves
        moved = call.mapped(sweep.there)
        if not inside:
            continue
        try:
            want = tangents(call, inside)
        except cases.REFUSALS:
            continue  # no forward mode
        said = differing(tangents(moved, inside), want)
        assert not said, f"{call!r}: tangents: {said}"
        pairs = []
        for one in (call, moved):
            tensors = [t.detach().requires_grad_(i in inside) for i, t in enumerate(one.tensors)]
            outs = [t for t in results(one.having(tensors)) if t.requires_grad]
            leaves = [tensors[i] for i in inside]
            pairs.append([gradient_of(t, leaves) for t in outs] if len(outs) > 1 else [])
        for k, (want, have) in enumerate(zip(*pairs, strict=True)):
            said = differing(have, want)
            assert not said, f"{call!r}: gradient of result {k}: {said}"


def test_one_part_of_many():
    """Parts without a gradient get zeros where the others are."""
    for take in (
        lambda x: x.chunk(2, 1)[1],
        lambda x: x.split([1, 1], 1)[0],
        lambda x: x.unbind()[2],
        lambda x: next(iter(x)),
        lambda x: x.unsafe_chunk(2)[0],
    ):
        grads = []
        for device in ("cpu", "opencl"):
            x = torch.ones(3, 2, device=device, requires_grad=True)
            take(x).sum().backward()
            grads.append(x.grad.cpu())
        assert torch.equal(*grads), grads
    x = torch.ones(2, 3, device="opencl", requires_grad=True)
    torch.nn.LSTM(3, 4).to("opencl")(x[None])[1][1].sum().backward()
    assert x.grad.device.type == "opencl"
