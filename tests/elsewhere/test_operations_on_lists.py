"""torch._foreach_* by hand-computed numbers: forms, in-place results, gradients, refused calls."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch


def two() -> list[torch.Tensor]:
    return [torch.tensor([1.0, 4.0]), torch.tensor([[9.0]])]


@pytest.mark.parametrize(
    ("call", "first", "second"),
    [
        ("sqrt(x)", [1, 2], [[3]]),
        ("add(x, 1)", [2, 5], [[10]]),
        ("add(x, [1, 2])", [2, 5], [[11]]),
        ("add(x, x, alpha=2)", [3, 12], [[27]]),
        ("mul(x, torch.tensor(2.0))", [2, 8], [[18]]),
        ("addcmul(x, x, x, [1, 2])", [2, 20], [[171]]),
        ("addcdiv(x, x, x, torch.tensor([1.0, 2.0]))", [2, 5], [[11]]),
        ("lerp(x, [t * 3 for t in x], 0.5)", [2, 8], [[18]]),
        ("pow(2, x)", [2, 16], [[512]]),
        ("maximum(x, [2, 10])", [2, 4], [[10]]),
        ("clamp_max(x, 3)", [1, 3], [[3]]),
        ("norm(x)", 17**0.5, 9),
        ("norm(x, float('inf'))", 4, 9),
        ("norm(x, 1)", 5, 9),
        ("max(x)", 4, 9),
    ],
)
def test_values(call: str, first: object, second: object) -> None:
    found = eval(f"torch._foreach_{call}", {"torch": torch, "x": two()})
    np.testing.assert_allclose(found[0], first, rtol=1e-6)
    np.testing.assert_allclose(found[1], second, rtol=1e-6)


@pytest.mark.parametrize("kind", [list, tuple])
def test_in_place_gives_the_given_list_with_its_own_tensors(kind: type) -> None:
    x = kind(two())
    before = list(x)
    assert torch._foreach_mul_(x, [2, 3]) is x
    assert all(a is b for a, b in zip(x, before, strict=True))
    assert x[0].tolist() == [2, 8] and x[1].tolist() == [[27]]
    torch._foreach_copy_(x, two())
    torch._foreach_zero_(list(x)[:1])
    assert x[0].tolist() == [0, 0] and x[1].tolist() == [[9]]


def test_gradients_reach_each_tensor() -> None:
    x = [t.requires_grad_() for t in two()]
    sum(t.sum() for t in torch._foreach_div(torch._foreach_mul(x, x), [1, 3])).backward()
    assert x[0].grad.tolist() == [2, 8] and x[1].grad.tolist() == [[6]]


def test_an_optimizer_written_with_lists_steps_like_sgd() -> None:
    grads, lr, momentum = [torch.full_like(t, 2.0) for t in two()], 0.1, 0.9
    x, y = two(), [torch.nn.Parameter(t) for t in two()]
    buffers = [torch.zeros_like(t) for t in x]
    sgd = torch.optim.SGD(y, lr=lr, momentum=momentum)
    for _ in range(3):
        torch._foreach_mul_(buffers, momentum)
        torch._foreach_add_(buffers, grads)
        torch._foreach_add_(x, buffers, alpha=-lr)
        for p, g in zip(y, grads, strict=True):
            p.grad = g
        sgd.step()
    for a, b in zip(x, y, strict=True):
        torch.testing.assert_close(a, b.detach())


def test_refused_calls_change_nothing() -> None:
    x = two()
    for call, said in [
        (lambda: torch._foreach_add_(x, x[:1]), "same number of tensors, got 2 and 1"),
        (lambda: torch._foreach_add_(x, [1.0]), "same number of elements as scalar list"),
        (lambda: torch._foreach_exp_([]), "at least one tensor"),
        (lambda: torch._foreach_mul_(x, torch.ones(1)), "expected to be 0 dim"),
    ]:
        with pytest.raises(RuntimeError, match=said):
            call()
    with pytest.raises(TypeError, match="as element 1 in argument 0, but got int"):
        torch._foreach_zero_([x[0], 3])
    assert x[0].tolist() == [1, 4]
