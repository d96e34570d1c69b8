"""autocast: which type each call computes in, against PyTorch where it is installed; GradScaler."""

import functools
import warnings

import pytest

import rushlight as torch
from rushlight.amp import GradScaler, autocast, custom_bwd, custom_fwd

# Calls with x and y of shape (3, 3) and a target t of classes.
CALLS = """x @ y; torch.mm(x, y); x.matmul(y); F.linear(x, y); x + y; torch.cat([x, y]); x.prod()
torch.stack([x, y]); F.mse_loss(x, y); torch.addmm(x, x, y); x.softmax(0); torch.linalg.inv(x)
torch.linalg.solve(x, y); F.cross_entropy(x, t); torch.einsum('ij,jk', x, y); torch.cdist(x, y)
F.layer_norm(x, (3,)); torch.dot(x[0], y[0]); torch.mv(x, y[0]); torch.outer(x[0], y[0]); x.trace()
F.scaled_dot_product_attention(x[None], y[None], y[None]); F.gelu(x); F.l1_loss(x, y); torch.exp(x)
torch.baddbmm(x[None], x[None], y[None]); torch.sum(x); torch.linalg.norm(x); F.nll_loss(x, t)
F.prelu(x, y[0]); torch.quantile(x, 0.5); x.index_copy(0, t, y); torch.kron(x, y); torch.var(x)
torch.linalg.vecdot(x, y); torch.matrix_power(x, 2); torch.addmv(x[0], x, y[0]); torch.pinverse(x)
F.bilinear(x, y, torch.ones(2, 3, 3)); F.smooth_l1_loss(x, y); x.__rmatmul__(y); torch.polar(x, y)
F.binary_cross_entropy_with_logits(x, y); torch.linalg.qr(x)[0]; torch.linalg.svd(x)[0]
F.conv1d(x, x[None]); torch.addr(x, x[0], y[0]); F.kl_div(x, y)""".replace("\n", ";").split(";")
PAIRS = ["float32 float32", "float32 bfloat16", "bfloat16 bfloat16", "float64 float64"]


def types(library, call, pair, **settings):
    """The result's type, or the exception's."""
    first, second = (getattr(library, name) for name in pair.split())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = {"torch": library, "F": library.nn.functional}
        names["x"] = (library.eye(3) + 0.25).to(first)
        names["y"] = (library.eye(3) + 0.5).to(second)
        names["t"] = library.tensor([0, 1, 2])
        try:
            with library.autocast("cpu", **settings):
                return str(eval(call.strip(), names).dtype)
        except (RuntimeError, TypeError) as error:
            return type(error).__name__


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("call", CALLS)
def test_types_are_pytorchs(call, pair):
    pytorch = pytest.importorskip("torch")
    assert types(torch, call, pair) == types(pytorch, call, pair)


def test_products_are_in_the_lower_precision():
    a = torch.ones(2, 2)
    for kind in (torch.bfloat16, torch.float16):
        with autocast("cpu", dtype=kind):
            assert (a @ a).dtype is kind and (a + a).dtype is torch.float32
            with autocast("cpu", enabled=False):
                assert (a @ a).dtype is torch.float32
            assert torch.nn.Linear(2, 2)(a).dtype is kind
    assert (a @ a).dtype is torch.float32 and not torch.is_autocast_enabled("cpu")


def test_calls_inside_functions_are_seen_and_out_is_left_alone():
    a = torch.ones(2, 2)
    layer = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())
    with autocast("cpu"):
        assert layer(a).dtype is torch.bfloat16
        assert torch.mm(a, a, out=torch.empty(2, 2)).dtype is torch.float32


def test_gradients_have_the_weights_type_and_meet_in_one_cast():
    w = torch.full((2, 2), 1 + 2**-12, requires_grad=True)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    with autocast("cpu"):
        y = (x @ w).sum() + (x @ w).sum()
        casts = len(torch.amp._casting.state.kept)
    y.backward()
    assert casts == 1 and w.grad.dtype is torch.float32
    assert w.grad.tolist() == [[8.0, 8.0], [12.0, 12.0]]
    assert not torch.amp._casting.state.kept


def test_as_a_decorator_and_after_an_error():
    a = torch.ones(2, 2)
    assert autocast("cpu")(lambda: a @ a)().dtype is torch.bfloat16
    with pytest.raises(ZeroDivisionError), autocast("cpu"):
        1 / 0  # noqa: B018
    assert (a @ a).dtype is torch.float32


def test_the_settings():
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16
    torch.set_autocast_dtype("cpu", torch.float16)
    try:
        with torch.autocast("cpu"):
            assert torch.is_autocast_cpu_enabled() and not torch.is_autocast_enabled()
            assert (torch.ones(1, 1) @ torch.ones(1, 1)).dtype is torch.float16
    finally:
        torch.set_autocast_dtype("cpu", torch.bfloat16)


def test_what_is_not_here_warns_and_does_nothing():
    a = torch.ones(2, 2)
    with pytest.warns(UserWarning, match="CUDA is not available or torch_xla is imported"):
        context = autocast("cuda")
    with context:
        assert (a @ a).dtype is torch.float32
    with pytest.warns(UserWarning, match="CPU Autocast only supports dtypes of torch.bfloat16"):
        autocast("cpu", dtype=torch.float64)
    with pytest.raises(RuntimeError, match=r"^Expected one of cpu, cuda, "):
        autocast("foo")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`, got: `<class 'int"):
        autocast(1)


def test_custom_functions():
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            seen.append((a.dtype, torch.is_autocast_enabled("cpu")))
            return a @ b

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, g):
            seen.append(torch.is_autocast_enabled("cpu"))
            a, b = ctx.saved_tensors
            return g @ b.t(), a.t() @ g

    a = torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True)
    with autocast("cpu"):
        out = Product.apply(a, a)
    out.sum().backward()
    assert seen == [(torch.float32, False), False] and out.dtype is torch.float32


# --- GradScaler


def setup(value):
    p = torch.nn.Parameter(torch.tensor([1.0]))
    optimizer = torch.optim.SGD([p], lr=1.0)
    scaler = GradScaler("cpu", init_scale=4.0, growth_interval=2)
    scaler.scale((p * value).sum()).backward()
    return p, optimizer, scaler


def test_a_finite_step_and_growth():
    p, optimizer, scaler = setup(0.5)
    assert p.grad.item() == 2.0
    scaler.step(optimizer)
    assert p.item() == 0.5 and scaler.get_scale() == 4.0
    scaler.update()
    p.grad = None
    scaler.scale((p * 0.5).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert p.item() == 0.0 and scaler.get_scale() == 8.0


def test_an_infinite_step_is_left_out():
    p, optimizer, scaler = setup(float("inf"))
    scaler.step(optimizer)
    scaler.update()
    assert p.item() == 1.0 and scaler.get_scale() == 2.0


def test_unscale_once():
    p, optimizer, scaler = setup(0.5)
    scaler.unscale_(optimizer)
    assert p.grad.item() == 0.5
    with pytest.raises(RuntimeError, match="has already been called on this optimizer since"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called since the last"):
        scaler.step(optimizer)
    assert p.item() == 0.5


def test_its_state():
    _, optimizer, scaler = setup(float("nan"))
    scaler.step(optimizer)
    scaler.update()
    other = GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert (
        other.state_dict()
        == scaler.state_dict()
        == {
            "scale": 2.0,
            "growth_factor": 2.0,
            "backoff_factor": 0.5,
            "growth_interval": 2,
            "_growth_tracker": 0,
        }
    )


def test_disabled():
    with pytest.warns(UserWarning, match="CUDA is not available.  Disabling"):
        scaler = GradScaler()
    assert not scaler.is_enabled() and scaler.get_scale() == 1.0 and scaler.state_dict() == {}
    assert scaler.scale(3) == 3
    optimizer = functools.partial(lambda: 7)
    optimizer.step = lambda: 7
    assert scaler.step(optimizer) == 7
