"""gradcheck and gradgradcheck: what passes, what is found, what the report says."""

import pytest

from _subject import NAME, torch

ours = pytest.mark.skipif(NAME == "torch", reason="beyond what PyTorch does")
check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def leaf(*shape, dtype=torch.float64):
    torch.manual_seed(3)
    return torch.rand(*(shape or (3,)), dtype=dtype).requires_grad_()


def wrong(scale, forward=lambda x: x * 2):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return forward(x)

        @staticmethod
        def backward(ctx, g):
            return g * scale

    return F.apply


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        torch.sin,
        lambda x: x,
        lambda x: (x * x, x.sum()),
        lambda x: x.t(),
        lambda x: x @ x.t(),
        lambda x: (x.detach() * 1).sum() * 0 + x.sum(),
    ],
)
def test_right_gradients_pass(function, fast):
    assert check(function, (leaf(2, 3),), fast_mode=fast)


def test_several_inputs_and_plain_arguments():
    a, b = leaf(2, 3), leaf(3, 2)
    assert check(lambda x, k, y: (x * k) @ y, (a, 3.0, b))
    assert a.grad is None


@ours
def test_lists_of_tensors_and_results_that_are_no_tensors():
    assert check(torch.cat, ([leaf(2), leaf(3)],))
    assert check(lambda x: (x.exp(), 3), (leaf(2),))


def test_noncontiguous_inputs():
    x = torch.rand(3, 2, dtype=torch.float64).t().requires_grad_()
    assert check(lambda t: (t * t).sum(0), (x,))


@pytest.mark.parametrize("fast", [False, True])
def test_wrong_gradients_are_found(fast):
    assert not check(wrong(3), (leaf(),), raise_exception=False, fast_mode=fast)
    with pytest.raises(
        RuntimeError, match=r"^Jacobian mismatch for output 0 with respect to input 0"
    ):
        check(wrong(3), (leaf(),), fast_mode=fast)


def test_complex():
    z = leaf(2, dtype=torch.complex128)
    assert check(lambda t: t * t, (z,))
    assert check(lambda t: t.abs(), (z,))
    assert check(lambda t: (t * t).real, (z,))
    with pytest.raises(
        RuntimeError, match=r"^While considering the imaginary part of complex outputs only"
    ):
        check(lambda t: t.detach() * t, (z,))


def test_double_precision_is_asked_for():
    with pytest.warns(
        UserWarning, match=r"^Input #0 requires gradient and is not a double precision"
    ):
        check(torch.sin, (leaf(dtype=torch.float32),), eps=1e-2, atol=1e-2)


def test_second_derivatives():
    assert check_twice(torch.sin, (leaf(),))
    assert check_twice(lambda x: x * 2, (leaf(),))
    assert check_twice(lambda x, y: x * y.exp(), (leaf(), leaf()))

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0].detach() ** 2

    assert check(Cube.apply, (leaf(),))
    assert not check_twice(Cube.apply, (leaf(),), raise_exception=False)


def test_given_second_gradients():
    g = leaf(3)
    assert check_twice(torch.sin, (leaf(),), (g,))


def test_batched_gradients():
    assert check(lambda x: x.sin() * x.sum(), (leaf(),), check_batched_grad=True)


def test_undefined_gradients():
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            if g is None or h is None:
                raise RuntimeError("cannot")
            return g * 2 + h * 3

    with pytest.raises(
        RuntimeError, match=r"cannot|Expected backward function to handle undefined output grads"
    ):
        check(F.apply, (leaf(),))
    x = leaf()
    both = F.apply(x)
    torch.autograd.grad((both[0] + both[1]).sum(), x)


def test_arguments_that_exclude_each_other():
    with pytest.raises(AssertionError, match="Expected at least one of check_forward_ad or"):
        check(torch.sin, (leaf(),), check_backward_ad=False)


def test_forward_mode():
    assert check(lambda x: x.sin() * x, (leaf(),), check_forward_ad=True)
    assert check_twice(torch.sin, (leaf(),), check_fwd_over_rev=True)


@ours
@pytest.mark.parametrize(
    "scale, lesson",
    [
        (4, "a factor of 2 too much"),
        (1, "a factor of 2 is missing"),
        (-2, "the sign is wrong"),
        (0, "is a term missing, or a tensor detached?"),
    ],
)
def test_the_report_teaches(scale, lesson):
    with pytest.raises(RuntimeError) as error:
        check(wrong(scale), (leaf(),))
    text = str(error.value)
    assert "3 of 9 elements differ. The worst: input element" in text and "ratio" in text
    assert lesson in text


def custom(backward):
    """x * 2 with a backward of one's own."""
    members = {"forward": lambda ctx, x: x * 2, "backward": lambda ctx, g: backward(g)}
    members = {name: staticmethod(function) for name, function in members.items()}
    return type("Custom", (torch.autograd.Function,), members).apply


@pytest.mark.parametrize("fast", [False, True])
def test_a_backward_that_gives_different_values_is_found(fast):
    calls = []

    def backward(g):
        calls.append(1)
        return g * 2 * (1 + 1e-8 * len(calls))  # never the same

    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        check(custom(backward), leaf(), fast_mode=fast)
    assert check(custom(backward), leaf(), fast_mode=fast, nondet_tol=1e-3)


def test_a_backward_that_vmap_cannot_map_is_told():
    stubborn = custom(lambda g: g * 2 if g.sum() > -1e9 else g)
    with pytest.raises(RuntimeError, match="While computing batched gradients, got: ") as caught:
        check(stubborn, leaf(), check_batched_grad=True)
    assert type(caught.value).__name__ == "GradcheckError"


def product(calls):
    """x * y, noting what forward and jvp are given."""

    def forward(ctx, x, y):
        calls.append(("forward", x.requires_grad))
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        return x * y

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x

    def jvp(ctx, a, b):
        calls.append(("jvp", a is None or b is None))
        x, y = ctx.saved_tensors
        return a * y + b * x

    members = {"forward": forward, "backward": backward, "jvp": jvp}
    members = {name: staticmethod(function) for name, function in members.items()}
    return type("Product", (torch.autograd.Function,), members).apply


@pytest.mark.parametrize(
    ("fast", "undefined", "count"),
    [(False, False, 4), (False, True, 8), (True, False, 2), (True, True, 6)],
)
def test_forward_mode_calls(fast, undefined, count):
    """One call for each element (or input) and two for each input without a tangent: of detached
    tensors, and with a tangent for each."""
    calls = []
    options = {"fast_mode": fast, "check_undefined_grad": undefined}
    assert check(product(calls), (leaf(2), leaf(2)), check_forward_ad=True, **options)
    jvps = [value for name, value in calls if name == "jvp"]
    assert jvps == [False] * count
    assert calls.count(("forward", False)) == count


def test_an_undefined_tangent_must_count_as_zeros():
    def jvp(ctx, a, b):
        return torch.ones(2, dtype=torch.float64) if b is None else a * ctx.y

    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        ctx.y = y
        return x * y

    members = {"forward": forward, "jvp": jvp, "backward": lambda ctx, g: (g * ctx.y, g * 0)}
    members = {name: staticmethod(function) for name, function in members.items()}
    f = type("F", (torch.autograd.Function,), members).apply
    x, y = leaf(2), torch.zeros(2, dtype=torch.float64).requires_grad_()
    with pytest.raises(RuntimeError, match=r"Mismatch in tangent values for output|mismatch"):
        check(f, (x, y), check_forward_ad=True, check_backward_ad=False)


def test_batched_tangents():
    assert check(torch.sin, leaf(2), check_forward_ad=True, check_batched_forward_grad=True)

    def jvp(ctx, t):
        return t * 2 + torch.randn_like(t) * 0

    members = {"forward": lambda ctx, x: x * 2, "jvp": jvp, "backward": lambda ctx, g: g * 2}
    members = {name: staticmethod(function) for name, function in members.items()}
    f = type("F", (torch.autograd.Function,), members).apply
    assert check(f, leaf(2), check_forward_ad=True)
    with pytest.raises(RuntimeError, match="While computing batched gradients, got: vmap: "):
        check(f, leaf(2), check_forward_ad=True, check_batched_forward_grad=True)


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("fast", [False, True])
def test_empty_inputs(fast, forward):
    options = {"fast_mode": fast, "check_forward_ad": forward}
    assert check(lambda x: x * 2, leaf(0, 3), **options)
    assert check(lambda x: x.sum(), leaf(3, 0), **options)
    assert check(lambda x, y: (x.sum() + y).exp(), (leaf(0), leaf(2)), **options)


@pytest.mark.parametrize("fast", [False, True])
def test_results_must_have_one_shape(fast):
    x = leaf(3)
    at = x.sum().item()
    with pytest.raises(AssertionError, match="Expected `func` to return outputs with the same sh"):
        check(lambda x: x if x.sum().item() > at else x[:2], x, fast_mode=fast)
    with pytest.raises(AssertionError, match="Expected `func` to return outputs with the same dt"):
        check(lambda x: x if x.sum().item() > at else x.float(), x, fast_mode=fast)


def test_undefined_gradients_that_fail_warn():
    def backward(ctx, g):
        return torch.ones(3, dtype=torch.float64) if g is None else g * 2

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    f = type("F", (torch.autograd.Function,), members).apply
    with (
        pytest.warns(UserWarning, match="Backwards compatibility: New undefined gradient support"),
        pytest.raises(RuntimeError, match="Expected all input grads to be undefined or zero"),
    ):
        check(f, leaf())
    assert check(f, leaf(), check_undefined_grad=False)


def test_second_derivatives_forward_over_reverse():
    assert check_twice(lambda x, y: x * y * x, (leaf(2), leaf(2)), check_fwd_over_rev=True)
    assert check_twice(torch.sin, leaf(2), check_fwd_over_rev=True, fast_mode=True)
