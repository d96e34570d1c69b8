"""Autograd, functions and transforms on the accelerator: the CPU is what they are compared with."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.utils.checkpoint import checkpoint

THERE = "opencl"
F = nn.functional


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def both(program, *inputs):
    """What a program gives on both devices; inputs that require grad do so on each."""
    found = []
    for device in ("cpu", THERE):
        given = [x.detach().to(device).requires_grad_(x.requires_grad) for x in inputs]
        found.append(program(*given))
    return found


def near(here, there):
    if isinstance(here, (tuple, list)):
        assert len(here) == len(there)
        for a, b in zip(here, there, strict=True):
            near(a, b)
        return
    assert there.device.type == THERE and there.dtype is here.dtype and there.shape == here.shape
    assert torch.allclose(there.detach().cpu(), here.detach(), rtol=1e-5, atol=1e-5)


def leaf(*shape, seed=0):
    return numbers(*shape, seed=seed).requires_grad_()


class TestBackward:
    def test_a_graph_with_shared_parts(self):
        def program(x, w):
            h = torch.tanh(x @ w)
            (h.sum() + (h * h).mean() * h[0, 1]).backward()
            return x.grad, w.grad

        near(*both(program, leaf(3, 4), leaf(4, 5, seed=1)))

    def test_twice(self):
        def program(x):
            (g,) = torch.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
            (h,) = torch.autograd.grad((g * g).sum(), x)
            return g, h

        near(*both(program, leaf(5)))

    def test_gradients_add_up(self):
        x = leaf(3).detach().to(THERE).requires_grad_()
        for _ in range(2):
            (x * 3).sum().backward()
        assert x.grad.tolist() == [6.0] * 3 and x.grad.device.type == THERE
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            y = (x * x).sum()
            y.backward()
            y.backward()

    def test_retained_and_accumulated_where_values_are_kept(self):
        def program(x):
            y = x.exp()
            y.retain_grad()
            z = (y * y).sum()
            z.backward(retain_graph=True)
            z.backward()
            return x.grad, y.grad

        near(*both(program, leaf(4)))

    def test_hooks(self):
        seen = []

        def program(x):
            x.register_hook(lambda g: seen.append(g.device.type) or g * 2)
            y = x * 3
            y.register_hook(lambda g: g + 1)
            y.sum().backward()
            return x.grad

        near(*both(program, leaf(3)))
        assert seen == ["cpu", THERE]

    def test_hooks_of_modules(self):
        def program(x):
            layer = nn.Linear(3, 2).to(x.device)
            with torch.no_grad():
                layer.weight.fill_(0.5)
                layer.bias.zero_()
            layer.register_full_backward_hook(lambda m, into, out: (into[0] * 10,))
            layer.register_forward_hook(lambda m, args, out: out * 2)
            layer(x).sum().backward()
            return x.grad, layer.weight.grad

        near(*both(program, leaf(4, 3)))

    def test_saved_tensor_hooks(self):
        def program(x):
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t.cpu(), lambda t: t.to(x)):
                y = (x.exp() * x).sum()
            y.backward()
            return x.grad

        near(*both(program, leaf(4)))

    def test_saved_on_the_cpu(self):
        def program(x):
            with torch.autograd.graph.save_on_cpu():
                y = (x.exp() * x).sum()
            y.backward()
            return x.grad

        near(*both(program, leaf(4)))

    def test_anomaly_mode_names_the_call(self):
        x = torch.zeros(2, device=THERE, requires_grad=True)
        with pytest.warns(UserWarning, match="Error detected"), torch.autograd.detect_anomaly():  # noqa: SIM117
            with pytest.raises(RuntimeError, match="returned nan values"):
                (x.sqrt() * 0).sum().backward()

    def test_gradcheck(self):
        x = numbers(2, 3).double().to(THERE).requires_grad_()
        assert torch.autograd.gradcheck(lambda t: torch.softmax(t.sin(), 1).cumsum(0), (x,))


class TestInPlace:
    def test_on_views(self):
        def program(x):
            y = x * 1
            y[0].mul_(2)
            y[:, 1].add_(3)
            y.T[2].exp_()
            y.sum().backward()
            return y, x.grad

        near(*both(program, leaf(3, 3)))

    def test_written_after_it_was_saved(self):
        x = torch.ones(2, device=THERE, requires_grad=True)
        y = x.exp()
        z = y * y
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()

    def test_subscripts_assigned(self):
        def program(x, v):
            y = torch.zeros(4, 3, device=x.device)
            y[1:3] = x
            y[0, :2] = v
            y[y == 0] = 5
            (y * y).sum().backward()
            return y, x.grad, v.grad

        near(*both(program, leaf(2, 3), leaf(2, seed=1)))

    def test_leaves_are_refused(self):
        x = torch.ones(2, device=THERE, requires_grad=True)
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            x.add_(1)


class TestFunctions:
    def test_a_custom_function(self):
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x * x

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return 3 * x * x * g

        def program(x):
            y = Cube.apply(x)
            y.sum().backward()
            return y, x.grad

        near(*both(program, leaf(3)))

    @pytest.mark.parametrize("reentrant", [False, True])
    def test_checkpoints(self, reentrant):
        def program(x):
            y = checkpoint(lambda t: torch.tanh(t @ t), x, use_reentrant=reentrant)
            y.sum().backward()
            return y, x.grad

        near(*both(program, leaf(3, 3)))

    def test_checkpoints_draw_the_same_numbers_again(self):
        x = torch.ones(1000, device=THERE, requires_grad=True)
        y = checkpoint(lambda t: F.dropout(t, 0.5), x, use_reentrant=False)
        y.sum().backward()
        assert y.equal(x.grad)


class TestTransforms:
    def test_vmap(self):
        def program(x, w):
            return torch.func.vmap(lambda row: torch.softmax(w @ row, 0))(x)

        near(*both(program, numbers(4, 3), numbers(5, 3, seed=1)))

    def test_gradients_for_each_sample(self):
        def program(w, x):
            one = torch.func.grad(lambda w, row: torch.tanh(row @ w).sum())
            return torch.func.vmap(one, (None, 0))(w, x)

        near(*both(program, numbers(3, 2), numbers(5, 3, seed=1)))

    def test_forward_mode(self):
        def program(x, v):
            return torch.func.jvp(lambda t: torch.cumsum(t.exp(), 0) * t, (x,), (v,))

        near(*both(program, numbers(4), numbers(4, seed=1)))

    def test_hessians(self):
        def program(x):
            return torch.func.hessian(lambda t: (t**3).sum() * t[0])(x), torch.func.jacfwd(
                lambda t: t.sin() * t.flip(0)
            )(x)

        near(*both(program, numbers(3)))

    def test_a_functional_call(self):
        def program(w, b, x):
            layer = nn.Linear(3, 2, device=x.device)
            return torch.func.functional_call(layer, {"weight": w, "bias": b}, (x,))

        near(*both(program, numbers(2, 3), numbers(2, seed=1), numbers(4, 3, seed=2)))

    def test_random_numbers_in_a_batch(self):
        x = torch.ones(3, 500, device=THERE)
        found = torch.func.vmap(lambda t: F.dropout(t, 0.5), randomness="different")(x)
        assert not found[0].equal(found[1]) and set(found.flatten().tolist()) == {0.0, 2.0}


class TestPrecision:
    def test_autocast(self):
        a, b = numbers(4, 4).to(THERE), numbers(4, 4, seed=1).to(THERE)
        with torch.autocast(THERE, dtype=torch.bfloat16):
            product = a @ b
            assert product.dtype is torch.bfloat16 and (product.sum() + a.sum()).dtype is not None
        assert torch.allclose(product.float(), a @ b, rtol=0.05, atol=0.1)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
    def test_a_network_in_another_type(self, dtype):
        def program(x):
            torch.manual_seed(0)
            net = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))
            net = net.to(dtype).to(x.device)
            F.cross_entropy(net(x.to(dtype)), torch.tensor([0, 2], device=x.device)).backward()
            return [p.grad for p in net.parameters()]

        here, there = both(program, numbers(2, 6))
        tolerance = {torch.float16: 3e-3, torch.bfloat16: 3e-2, torch.float64: 1e-10}[dtype]
        for a, b in zip(here, there, strict=True):
            assert b.dtype is dtype and torch.allclose(b.cpu(), a, rtol=tolerance, atol=tolerance)


class TestBetweenDevices:
    def test_a_copy_into_a_tensor_of_the_other_device(self):
        """As in PyTorch, the gradient goes back to where the source is; once more for twice."""
        for here, there in (("cpu", THERE), (THERE, "cpu")):
            source = leaf(3).detach().to(here).requires_grad_()
            target = torch.zeros(3, device=there)
            target.copy_(source * 2)
            (g,) = torch.autograd.grad((target * target).sum(), source, create_graph=True)
            assert g.device.type == here
            assert torch.allclose(g.cpu(), 8 * source.detach().cpu())
            g.sum().backward()
            assert source.grad.device.type == here and source.grad.tolist() == [8.0] * 3

    def test_what_a_node_receives_says_its_device(self):
        y = leaf(2).detach().to(THERE).requires_grad_() * 2
        assert y.grad_fn._input_metadata[0].device == y.device

    def test_a_rule_that_answers_on_another_device(self):
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g.cpu()

        x = torch.ones(2, device=THERE, requires_grad=True)
        for given in (x, x * 1):
            with pytest.raises(RuntimeError, match=r"expected device opencl:0 but got cpu"):
                Wrong.apply(given).sum().backward()
        assert x.grad is None
