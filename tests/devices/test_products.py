"""Products, convolutions, attention and recurrent layers on the accelerator: against NumPy, against
the CPU, and without the host."""

import itertools

import numpy as np
import pytest

import rushlight as torch
from rushlight import _core, nn

F = nn.functional
pytestmark = pytest.mark.usefixtures("refuse")


@pytest.fixture
def others(refuse):
    """A test needs what is no product, which may go by way of the host."""
    _core.accelerator_refuse_fallbacks(False)


TYPES = {"float32": 2e-6, "float64": 1e-14, "float16": 1e-3, "bfloat16": 8e-3}


@pytest.fixture
def draw():
    generator = torch.Generator()
    generator.manual_seed(7)

    def draw(*shape, dtype=torch.float32):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    return draw


def near(have, want, tolerance=1e-5):
    assert have.shape == want.shape
    assert have.dtype is want.dtype
    have, want = (t.detach().cpu().double().numpy() for t in (have, want))
    scale = np.abs(want).max(initial=1.0)
    np.testing.assert_allclose(have, want, rtol=0, atol=tolerance * scale)


def both(function, tensors, tolerance=1e-5):
    """The function on the CPU and on the accelerator, and the gradients of all tensors."""
    found = []
    seeds = None
    for device in ("cpu", "opencl"):
        leaves = [t.to(device).requires_grad_() for t in tensors]
        out = function(*leaves)
        if seeds is None:
            seeds = torch.randn(*out.shape, dtype=torch.float64).to(out.dtype)
        grads = torch.autograd.grad(out, leaves, seeds.to(device))
        found.append((out, *grads))
    for want, have in zip(*found, strict=True):
        near(have, want, tolerance)


# ---- products


@pytest.mark.parametrize("name", TYPES)
def test_matrices(draw, name):
    a, b = (draw(*shape, dtype=getattr(torch, name)) for shape in ((37, 29), (29, 18)))
    want = a.double() @ b.double()
    have = a.to("opencl") @ b.to("opencl")
    assert have.dtype is a.dtype
    near(have.cpu().double(), want, TYPES[name])


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64"])
def test_integers_wrap_as_on_the_host(name):
    dtype = getattr(torch, name)
    a = (torch.arange(35).reshape(5, 7) * 3).to(dtype)
    b = (torch.arange(42).reshape(7, 6) - 11).to(dtype)
    want = np.matmul(a.numpy(), b.numpy())
    assert np.array_equal((a.to("opencl") @ b.to("opencl")).cpu().numpy(), want)
    large = torch.tensor([[2**40, 3]]), torch.tensor([[2**20], [7]])
    assert (large[0].to("opencl") @ large[1].to("opencl")).item() == 2**60 + 21


SHAPES = [
    ((5,), (5,)),
    ((5,), (5, 3)),
    ((4, 5), (5,)),
    ((4, 5), (5, 3)),
    ((5,), (2, 5, 3)),
    ((2, 4, 5), (5,)),
    ((2, 4, 5), (5, 3)),
    ((4, 5), (2, 5, 3)),
    ((2, 4, 5), (2, 5, 3)),
    ((6, 1, 4, 5), (2, 5, 3)),
    ((1, 2, 4, 5), (6, 1, 5, 3)),
    ((3, 1, 2, 1, 4, 5), (2, 1, 3, 5, 2)),
]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_matmul_of_any_dimensions(draw, a, b):
    both(torch.matmul, [draw(*a), draw(*b)])
    both(torch.matmul, [draw(*a, dtype=torch.float64), draw(*b, dtype=torch.float64)], 1e-13)


def test_one_factor_alone_has_a_gradient(draw):
    for first in (True, False):
        a, b, g = draw(3, 4, 5), draw(5, 2), draw(3, 4, 2)
        found = []
        for device in ("cpu", "opencl"):
            x, y = a.to(device), b.to(device)
            leaf = (x if first else y).requires_grad_()
            found += torch.autograd.grad(x @ y, leaf, g.to(device))
        near(found[1], found[0])


def test_operands_that_are_not_contiguous(draw):
    a, b = draw(6, 8).to("opencl"), draw(12, 10).to("opencl")
    for x in (a.t(), a[::2, 1::2].t(), a[:, :1].expand(6, 5).t(), a[2:, 3:].t()):
        for y in (b[: x.shape[1]], b.t()[: x.shape[1]], b[0].expand(x.shape[1], 10)):
            near((x @ y).cpu(), x.cpu() @ y.cpu())


def test_no_elements(draw):
    for m, k, n in ((0, 3, 2), (2, 0, 3), (2, 3, 0)):
        both(torch.matmul, [draw(m, k), draw(k, n)])
    both(torch.bmm, [draw(0, 2, 3), draw(0, 3, 4)])
    bias, a, b = (t.to("opencl") for t in (draw(3), draw(2, 0), draw(0, 3)))
    near(torch.addmm(bias, a, b).cpu(), bias.cpu().expand(2, 3))


def test_long_sums_are_cut_into_pieces(draw):
    a, b = draw(100_003), draw(100_003)
    near(torch.dot(a.to("opencl"), b.to("opencl")).cpu(), torch.dot(a, b), 1e-5)
    x, y = draw(5, 20_001), draw(20_001, 6)
    bias = draw(6)
    near(torch.addmm(bias.to("opencl"), x.to("opencl"), y.to("opencl")).cpu(), bias + x @ y)
    ones = torch.ones(1, 70_000, dtype=torch.float16).to("opencl")
    assert (ones[:, :40_000] @ ones[:, :40_000].t()).item() == 40_000
    counts = torch.ones(1, 70_000, dtype=torch.int64).to("opencl")
    assert (counts @ counts.t()).item() == 70_000


def test_a_product_is_the_same_each_time(draw):
    a, b = draw(40, 3000).to("opencl"), draw(3000, 9).to("opencl")
    first = (a @ b).cpu().numpy()
    assert all(np.array_equal(first, (a @ b).cpu().numpy()) for _ in range(3))


def test_something_added(draw, others):
    m, v, s = draw(4, 5), draw(5), draw(3, 4, 5)
    for beta, alpha in ((1, 1), (0.5, 2.0), (0, 1)):
        more = {"beta": beta, "alpha": alpha}
        for bias in (draw(4, 3), draw(1, 3), draw(4, 1), draw(1, 1)):
            both(lambda *t, more=more: torch.addmm(*t, **more), [bias, m, draw(5, 3)])
        for name, given in (
            ("addmv", [draw(4), m, v]),
            ("addr", [draw(4, 5), draw(4), v]),
            ("baddbmm", [draw(3, 4, 2), s, draw(3, 5, 2)]),
            ("addbmm", [draw(4, 2), s, draw(3, 5, 2)]),
        ):
            function = getattr(torch, name)
            there = function(*(t.to("opencl") for t in given), **more)
            near(there.cpu(), function(*given, **more))


def test_a_beta_of_zero_ignores_what_is_no_number(draw):
    nothing = torch.full((2, 2), float("nan")).to("opencl")
    a, b = draw(2, 3), draw(3, 2)
    near(torch.addmm(nothing, a.to("opencl"), b.to("opencl"), beta=0).cpu(), a @ b)


@pytest.mark.parametrize("shape", [(6,), (5, 6), (2, 3, 6), (2, 0, 6)])
def test_linear(draw, shape):
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-13)):
        x, w, bias = (draw(*s, dtype=dtype) for s in (shape, (4, 6), (4,)))
        both(F.linear, [x, w, bias], tolerance)
        both(F.linear, [x, w], tolerance)
    turned = draw(6, 4).t()
    both(F.linear, [draw(*shape), turned, draw(8)[::2]])


def test_halves_are_rounded_once(draw):
    x, w, bias = (draw(*s, dtype=torch.bfloat16) for s in ((9, 300), (5, 300), (5,)))
    exact = x.double() @ w.double().t() + bias.double()
    there = F.linear(x.to("opencl"), w.to("opencl"), bias.to("opencl")).cpu()
    assert (there.double() - exact).abs().max() <= exact.abs().max() * 2**-8
    both(F.linear, [x, w, bias], 8e-3)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("mm", [(2, 3), (4, 5)]),
        ("mm", [(2, 3), (3,)]),
        ("bmm", [(2, 3, 4), (3, 4, 5)]),
        ("mv", [(2, 3), (2,)]),
        ("dot", [(2,), (3,)]),
        ("addmm", [(3, 3), (2, 3), (3, 4)]),
        ("matmul", [(2, 2, 3), (3, 3, 4)]),
        ("matmul", [(), (3,)]),
    ],
)
def test_errors_are_the_cpus(draw, others, name, shapes):
    given, said = [draw(*shape) for shape in shapes], []
    for device in ("cpu", "opencl"):
        with pytest.raises(RuntimeError) as caught:
            getattr(torch, name)(*(t.to(device) for t in given))
        said.append(str(caught.value))
    assert said[0] == said[1]


# ---- convolutions

GEOMETRIES = [
    dict(stride=1, padding=0, dilation=1, groups=1),
    dict(stride=2, padding=1, dilation=1, groups=2),
    dict(stride=3, padding=2, dilation=2, groups=1),
    dict(stride=1, padding=1, dilation=2, groups=4),
]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolution(draw, dims, geometry):
    function = getattr(F, f"conv{dims}d")
    size, k = (9, 8, 7)[:dims], (3, 2, 3)[:dims]
    x, w, bias = draw(2, 4, *size), draw(8, 4 // geometry["groups"], *k), draw(8)
    there = function(x.to("opencl"), w.to("opencl"), bias.to("opencl"), **geometry)
    near(there.cpu(), function(x, w, bias, **geometry))
    both(lambda x, w: function(x, w, **geometry), [x, w])
    both(lambda x, w: function(x, w, **geometry), [x.double(), w.double()], 1e-13)


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed_convolution(draw, dims, geometry):
    function = getattr(F, f"conv_transpose{dims}d")
    size, k = (5, 4, 3)[:dims], (3, 2, 3)[:dims]
    x, w = draw(2, 4, *size), draw(4, 8 // geometry["groups"], *k)
    both(lambda x, w: function(x, w, **geometry), [x, w])


def test_convolution_is_what_its_definition_says(draw):
    x, w = draw(2, 2, 5, 6), draw(3, 2, 2, 3)
    want = np.zeros((2, 3, 4, 4))
    a, b = x.double().numpy(), w.double().numpy()
    for i, j in itertools.product(range(4), range(4)):
        want[:, :, i, j] = np.einsum("nchw,ochw->no", a[:, :, i : i + 2, j : j + 3], b)
    near(F.conv2d(x.to("opencl"), w.to("opencl")).cpu().double(), torch.tensor(want))


def test_convolution_of_strided_images(draw, others):
    x, w = draw(2, 12, 10, 3).permute(0, 3, 1, 2), draw(4, 2, 3, 3).transpose(2, 3)
    both(lambda x, w: F.conv2d(x[:, :2, ::2], w), [x, w])
    both(lambda x, w: F.conv2d(x[0, :2, ::2], w), [x, w])


def test_convolution_without_images(draw):
    w = draw(3, 2, 3, 3).to("opencl").requires_grad_()
    out = F.conv2d(draw(0, 2, 5, 5).to("opencl"), w)
    assert out.shape == (0, 3, 3, 3)
    (found,) = torch.autograd.grad(out, w, out.detach())
    assert not found.cpu().numpy().any()


def test_gradient_of_a_weight_from_many_places(draw):
    both(F.conv2d, [draw(4, 1, 40, 40), draw(2, 1, 3, 3)])


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_convolution_of_halves(draw, name):
    dtype = getattr(torch, name)
    x, w = draw(2, 16, 6, 6, dtype=dtype), draw(4, 16, 3, 3, dtype=dtype)
    both(lambda x, w: F.conv2d(x, w, padding=1), [x, w], TYPES[name])


def test_patches_as_columns(draw):
    more = dict(dilation=(1, 2), padding=(1, 0), stride=(2, 1))
    both(lambda x: F.unfold(x, (2, 3), **more), [draw(2, 3, 7, 8)])
    places = F.unfold(draw(2, 3, 7, 8), (2, 3), **more).shape[-1]
    both(lambda c: F.fold(c, (7, 8), (2, 3), **more), [draw(2, 18, places)])


# ---- attention


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("heads", [(4, 4), (4, 2), (4, 1)])
def test_attention(draw, heads, causal):
    more = dict(is_causal=causal, enable_gqa=heads[0] != heads[1])
    q, k, v = draw(2, heads[0], 7, 4), draw(2, heads[1], 9, 4), draw(2, heads[1], 9, 4)
    call = F.scaled_dot_product_attention
    both(lambda *t: call(*t, **more), [q, k, v])
    both(lambda *t: call(*t, **more), [t.double() for t in (q, k, v)], 1e-13)


def test_attention_under_masks(draw):
    q, k, v = draw(2, 3, 5, 4), draw(2, 3, 6, 4), draw(2, 3, 6, 4)
    seen = torch.arange(30).reshape(5, 6) % 4 != 1
    seen[2] = False
    call = F.scaled_dot_product_attention
    for mask in (seen, draw(5, 6), draw(2, 1, 1, 6), draw(2, 3, 5, 6)):
        both(lambda *t, mask=mask: call(*t, attn_mask=mask.to(t[0].device)), [q, k, v])
    both(lambda q, k, v, mask: call(q, k, v, attn_mask=mask), [q, k, v, draw(2, 3, 5, 6)])
    turned = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v)]
    both(call, turned)
    both(call, [t.bfloat16() for t in (q, k, v)], 1.6e-2)


# ---- recurrent layers


LAYERS = [
    (nn.RNN, {}),
    (nn.RNN, {"nonlinearity": "relu", "bias": False}),
    (nn.GRU, {}),
    (nn.LSTM, {}),
    (nn.LSTM, {"num_layers": 2, "bidirectional": True}),
]


@pytest.mark.parametrize(("kind", "more"), LAYERS)
def test_recurrent_layers(draw, others, kind, more):
    layer, there = kind(3, 4, **more), kind(3, 4, device="opencl", **more)
    with torch.no_grad():
        for p, q in zip(there.parameters(), layer.parameters(), strict=True):
            p.copy_(q)
    x, seed = draw(5, 2, 3), draw(5, 2, 8 if "bidirectional" in more else 4)
    _core.accelerator_forget_fallbacks()
    found = []
    for device, net in (("cpu", layer), ("opencl", there)):
        out, last = net(x.to(device))
        wanted = list(net.parameters())
        grads = torch.autograd.grad(out, wanted, seed.to(device))
        found.append((out, *(last if isinstance(last, tuple) else (last,)), *grads))
    for want, have in zip(*found, strict=True):
        near(have.cpu(), want)
    assert not any("layer" in name for name in _core.accelerator_fallbacks())
