"""Grad modes and inference mode: nesting, decorators, generators, threads."""

import asyncio
import threading

import pytest

from _subject import torch


@pytest.fixture
def x():
    return torch.ones(2, requires_grad=True)


def test_nesting(x):
    assert torch.is_grad_enabled()
    with torch.no_grad():
        assert not torch.is_grad_enabled() and not (x * 2).requires_grad
        with torch.enable_grad():
            assert torch.is_grad_enabled() and (x * 2).requires_grad
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_restored_after_an_exception():
    with pytest.raises(ValueError), torch.no_grad():
        raise ValueError
    assert torch.is_grad_enabled()


def test_set_grad_enabled_as_function_and_context(x):
    torch.set_grad_enabled(False)
    try:
        assert not (x * 2).requires_grad
    finally:
        torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    for train in (True, False):
        with torch.set_grad_enabled(train):
            assert (x * 2).requires_grad is train
    assert torch.is_grad_enabled()


def test_decorators(x):
    @torch.no_grad()
    def off(v):
        return v * 2

    @torch.no_grad
    def off_bare(v):
        return v * 2

    @torch.enable_grad()
    def on(v):
        return v * 2

    assert not off(x).requires_grad and not off_bare(x).requires_grad
    with torch.no_grad():
        assert on(x).requires_grad
    assert off.__name__ == "off"


def test_decorating_does_not_leak():
    @torch.set_grad_enabled(False)
    def off(v):
        return v * 2

    assert torch.is_grad_enabled()
    assert not off(torch.ones(1, requires_grad=True)).requires_grad
    assert torch.is_grad_enabled()


def test_one_object_used_twice(x):
    guard = torch.no_grad()
    for _ in range(2):
        with guard:
            assert not (x * 2).requires_grad
        assert torch.is_grad_enabled()


def test_generator(x):
    @torch.no_grad()
    def values():
        for _ in range(2):
            yield torch.is_grad_enabled()

    for inside in values():
        assert inside is False
        assert torch.is_grad_enabled()


def test_factories_keep_their_flag(x):
    with torch.no_grad():
        made = torch.ones(2, requires_grad=True)
        assert made.requires_grad and x.requires_grad
        assert x.requires_grad_().requires_grad
    assert (made * 2).requires_grad


def test_writing_in_place_under_no_grad(x):
    with torch.no_grad():
        x.add_(1)
        x[0] = 7.0
    assert x.tolist() == [7.0, 2.0] and x.requires_grad and x.is_leaf


def test_view_made_under_no_grad_written_outside(x):
    y = x * 2
    with torch.no_grad():
        view = y[0]
    with pytest.raises(RuntimeError, match=r"^A view was created in no_grad mode and is being"):
        view.mul_(2)
    assert y.tolist() == [2.0, 2.0]


def test_mode_belongs_to_the_thread():
    seen = {}

    def look():
        seen["other"] = torch.is_grad_enabled()
        torch.set_grad_enabled(False)

    with torch.no_grad():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        seen["inside"] = torch.is_grad_enabled()
    assert seen == {"other": True, "inside": False}
    assert torch.is_grad_enabled()


def test_inference_mode(x):
    with torch.inference_mode():
        y = x * 2
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        assert y.is_inference() and not y.requires_grad
        y.add_(1)
    assert not torch.is_inference_mode_enabled()
    assert not x.is_inference() and y.is_inference()


def test_inference_tensors_outside():
    with torch.inference_mode():
        y = torch.ones(2)
    with pytest.raises(
        RuntimeError,
        match=r"^Inplace update to inference tensor outside InferenceMode is not allowed",
    ):
        y.add_(1)
    with pytest.raises(RuntimeError, match=r"^Inference tensors cannot be saved for backward"):
        y * torch.ones(2, requires_grad=True)
    with pytest.raises(
        RuntimeError, match=r"^Setting requires_grad=True on inference tensor outside InferenceMode"
    ):
        y.requires_grad_()
    with pytest.raises(RuntimeError, match=r"^Inference tensors do not track version counter"):
        _ = y._version
    with torch.inference_mode():
        z = torch.ones(2)
    assert z.clone().add_(1).tolist() == [2.0, 2.0]


def test_inference_mode_off_and_decorator(x):
    with torch.inference_mode(False):
        assert (x * 2).requires_grad

    @torch.inference_mode()
    def infer(v):
        return v * 2

    assert infer(x).is_inference()


def test_async_generator_and_coroutine():
    @torch.no_grad()
    async def count():
        try:
            got = yield torch.is_grad_enabled()
            await asyncio.sleep(0)
            yield got, torch.is_grad_enabled()
        except KeyError:
            yield "caught", torch.is_grad_enabled()

    async def outside():
        async for inside in count():
            yield inside, torch.is_grad_enabled()

    async def main():
        seen = [v async for v in outside()]
        first = count()
        seen.append(await first.asend(None))
        seen.append(await first.asend(5))
        second = count()
        await second.asend(None)
        seen.append(await second.athrow(KeyError()))
        await second.aclose()
        return seen, torch.is_grad_enabled()

    seen, after = asyncio.run(main())
    assert seen == [(False, True), ((None, False), True), False, (5, False), ("caught", False)]
    assert after


def test_set_grad_enabled_takes_a_bool():
    for wrong in (1, "a", None):
        with pytest.raises(TypeError, match=r"'enabled' \(position 1\) must be bool, not"):
            torch.set_grad_enabled(wrong)
    assert torch.is_grad_enabled()


def test_nothing_is_recorded_in_inference_mode_even_with_grad_enabled(x):
    with torch.inference_mode(), torch.enable_grad():
        y = x * 2
        assert torch.is_grad_enabled()
    assert not y.requires_grad
    assert y.is_inference()
    assert torch.is_inference(y)


def test_inference_tensors_keep_their_shape_outside():
    with torch.inference_mode():
        t = torch.ones(2, 3)
        assert not t.view(3, 2)._is_view()
    for change in (lambda: t.resize_(7), lambda: t.t_(), lambda: t.unsqueeze_(0)):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            change()
    assert t.shape == (2, 3)


@pytest.mark.parametrize("create_graph", [False, True])
def test_modes_that_a_hook_leaves_on_end_with_its_node(x, create_graph):
    seen = []

    def spoil(g):
        torch.set_grad_enabled(not create_graph)
        if not create_graph:
            inference.__enter__()

    inference = torch.inference_mode()
    y = x * x
    z = y.exp()
    z.register_hook(spoil)
    y.register_hook(
        lambda g: seen.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
    )
    (g,) = torch.autograd.grad(z.sum(), x, create_graph=create_graph)
    assert seen == [(create_graph, False)]
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    assert g.requires_grad is create_graph and not g.is_inference()


def test_modes_are_put_back_after_an_error_in_backward(x):
    def spoil(g):
        torch.set_grad_enabled(True)
        raise ValueError("mine")

    y = (x * x).sum()
    y.register_hook(spoil)
    with torch.no_grad():
        with pytest.raises(ValueError, match="mine"):
            y.backward()
        assert not torch.is_grad_enabled()


def test_what_comes_of_inference_tensors_alone_is_not_recorded():
    with torch.inference_mode():
        x = torch.ones(2, 2, requires_grad=True)
    for view in (x.view(4), x[0], x[:, 1], x.t(), x.T, x.expand(3, 2, 2), x.unbind()[0]):
        assert view.is_inference() and not view.requires_grad and view.is_leaf
    for result in (x.sin(), x * x, -x, x.sum(), x @ x, torch.cat([x, x]), x.softmax(0)):
        assert not result.is_inference() and not result.requires_grad
    # A number and an ordinary tensor are recorded with, and a copy is the way out of the mode.
    for result in (x * 2, x + 1, x + torch.ones(2), x.clone()):
        assert not result.is_inference() and result.requires_grad
    (x + 1).sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
