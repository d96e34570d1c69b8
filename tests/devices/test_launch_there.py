"""How calls reach the device: layouts, numbers and results for kernels, and the kernels that larger
products take. Against NumPy in float64."""

import struct
import threading

import numpy as np
import pytest

import rushlight as torch
from rushlight import _core
from rushlight._devices import launch as _launch
from rushlight._devices import texts
from rushlight._devices import there as _kernels
from rushlight.ops.matrix.there import products as _products

pytestmark = pytest.mark.usefixtures("refuse")

TOLERANCES = {"float32": 2e-6, "float64": 1e-14, "float16": 1e-3, "bfloat16": 8e-3}


def there(shape, dtype="float32", seed=0):
    """Numbers on the device, and the same as NumPy's float64."""
    drawn = np.random.default_rng(seed).standard_normal(shape)
    cpu = torch.tensor(drawn).to(getattr(torch, dtype))
    return cpu.to("opencl"), cpu.double().numpy()


def near(have, want, dtype="float32"):
    assert have.dtype is getattr(torch, dtype)
    assert have.shape == want.shape
    scale = max(np.abs(want).max(initial=0), 1)
    have = have.detach().cpu().double().numpy()
    np.testing.assert_allclose(have, want, rtol=0, atol=TOLERANCES[dtype] * scale)


# ---- what a launch is given


def unpacked(layout):
    numbers = struct.unpack("13q", layout)
    ndim = numbers[0]
    assert not any(numbers[1 + ndim : 7]) and not any(numbers[7 + ndim :])
    return list(zip(numbers[1 : 1 + ndim], numbers[7 : 7 + ndim], strict=True))


def test_a_layout_joins_neighbours():
    a = torch.empty(2, 1, 3, 4, 5, dtype=torch.float64, device="opencl")
    assert unpacked(_launch.layout(a)) == [(120, 8)]
    assert unpacked(_launch.layout(a.transpose(0, 2))) == [(3, 160), (2, 480), (20, 8)]
    assert unpacked(_launch.layout(a[..., ::2])) == [(24, 40), (3, 16)]
    assert unpacked(_launch.layout(a, (7, 2, 5), (0, 6, 3))) == [(7, 0), (2, 48), (5, 24)]
    assert unpacked(_launch.layout(a, (), ())) == []
    assert unpacked(_launch.layout(a[:, :, :0])) == [(2, 480), (0, 8)]
    with pytest.raises(ValueError, match="stride"):
        _launch.layout(a, (1, 2), (3,))


def test_a_layout_has_six_dimensions_at_most():
    a = torch.empty(2, device="opencl")
    assert len(unpacked(_launch.layout(a, (2,) * 6, (1,) * 6))) == 6
    assert _launch.layout(a, (2,) * 7, (1,) * 7) is None


def test_a_struct_is_read_of_its_text():
    layout = struct.pack("13q", *range(13))
    assert texts.struct_of("linalg.cl", "Layout").size == 104
    stack = texts.struct_of("linalg.cl", "Stack").pack(row=13, column=14, places=layout)
    assert stack == struct.pack("15q", *range(15))
    window = texts.struct_of("pooling.cl", "Window")
    names = "sizes", "out", "kernels", "strides", "pads", "dilations"
    given = {name: range(3 * i, 3 * i + 3) for i, name in enumerate(names)}
    assert window.pack(**given) == struct.pack("18q", *range(18))
    with pytest.raises(TypeError, match="dilations"):
        window.pack(**{name: given[name] for name in names[:-1]})
    for computed, letter in (("float32", "f"), ("float64", "d")):
        operand = texts.struct_of("complex.cl", "Operand", computed)
        made = operand.pack(places=layout, type=7, re=0.5, im=-2)
        assert made == layout + struct.pack(f"q2{letter}", 7, 0.5, -2)
    with pytest.raises(KeyError, match="no struct Nothing"):
        texts.struct_of("linalg.cl", "Nothing")


def test_numbers_are_read_of_their_texts():
    numbers = texts.numbers_of("complex.cl")
    assert (numbers.IS_NUMBER, numbers.COPY, numbers.CONJ_NEG) == (-1, 256, 258)
    assert texts.numbers_of("accelerator_call.h").SCALAR == 255


@pytest.mark.parametrize(
    ("dtype", "value", "bytes"),
    [
        ("float32", 0.1, np.float32(0.1).tobytes()),
        ("bfloat16", 1e300, np.float32(np.inf).tobytes()),
        ("float64", 0.1, np.float64(0.1).tobytes()),
        ("float64", np.float64(3), np.float64(3).tobytes()),
        ("int8", -5, np.int64(-5).tobytes()),
        ("bool", 2.5, np.int64(2).tobytes()),
    ],
)
def test_a_number_has_the_type_that_is_computed_in(dtype, value, bytes):
    like = torch.empty(1, dtype=getattr(torch, dtype), device="opencl")
    assert _launch.number(value, like) == bytes


def test_a_number_beyond_the_integers_is_refused():
    with pytest.raises(OverflowError):
        _launch.number(2**63, torch.empty(1, dtype=torch.int64, device="opencl"))


def test_what_kernels_take():
    a, b = torch.empty(2, device="opencl"), torch.empty(2, dtype=torch.int8, device="opencl")
    assert _launch.takes(a) and _launch.takes(a, b)
    assert not _launch.takes(a, torch.empty(2))
    assert not _launch.takes(a, None) and not _launch.takes(None, a)
    assert not _launch.takes(a, torch.empty(2, dtype=torch.complex64, device="opencl"))


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (_core.kernels.softmax, "a kernel there already"),
        (
            _core.kernels.transpose,
            "no kernel that accelerators compute",
        ),  # it looks at layouts alone
        (torch.nn.Linear, "is no op"),
        (len, "is no op"),
    ],
)
def test_a_target_has_one_kernel(target, said):
    _kernels.load()
    with pytest.raises(TypeError, match=said):
        _kernels.there(target)(len)


def test_a_kernel_of_no_op_is_an_error():
    with pytest.raises(KeyError, match="_no_such_op"):
        _kernels.named("_no_such_op")


@pytest.mark.parametrize(
    ("takes", "types", "other", "taken"),
    [
        ("float", "float16", None, True),
        ("float", "int32", None, False),
        ("int", "bool", None, False),
        ("bool int", "bool", None, True),
        ("float32 float64 same", "float64", "float32", False),
        ("float32 float64 same", "float64", "float64", True),
        ("float, index: int64", "float32", "int64", True),
        ("float, index: int64", "float32", "float32", False),
        ("real", "complex64", None, False),
    ],
)
def test_the_types_that_a_kernel_takes(takes, types, other, taken):
    given = torch.zeros(2, dtype=getattr(torch, types)).to("opencl")
    more = None if other is None else torch.zeros(2, dtype=getattr(torch, other)).to("opencl")
    bits = _kernels._taken(takes, lambda x, index=None: x)
    assert _core.accelerator_fits(bits, (given, more)) is taken
    assert _core.accelerator_fits(bits, ([given, given], more)) is taken
    assert not _core.accelerator_fits(bits, (given.cpu(), more))


def test_a_type_of_no_parameter_is_an_error():
    with pytest.raises(TypeError, match="has not all of these parameters: indices"):
        _kernels._taken("float, indices: int64", lambda x, index: x)
    with pytest.raises(KeyError, match="floats"):
        _kernels._taken("floats", lambda x: x)


def test_results_have_the_layout_of_the_cpu():
    cpu = torch.empty(3, 4, 5).permute(2, 0, 1)
    made = _launch.made("softmax", cpu.to("opencl"), 1)
    want = _core.kernels.softmax(cpu, 1)
    assert made.device.type == "opencl"
    assert (made.shape, made.stride(), made.dtype) == (want.shape, want.stride(), want.dtype)
    with pytest.raises(IndexError):
        _launch.made("softmax", cpu.to("opencl"), 3)
    with pytest.raises(TypeError, match="accelerator"):
        _launch.made("softmax", cpu, 1)


def test_nothing_is_copied_for_a_reduction_of_a_transposed_tensor():
    a, held = there((6, 7, 5))
    turned = a.permute(2, 0, 1)
    before = _core.accelerator_counts(0)[4]
    total = turned.sum((0, 2))
    assert _core.accelerator_counts(0)[4] - before == 1
    near(total, held.sum((2, 1)))


def test_threads_that_run_different_programs():
    a, held = there((50,))
    works = [(lambda k=k: (a * k + a).abs() - k, abs(held * k + held) - k) for k in range(4)]
    found = [None] * len(works)

    def run(i):
        for _ in range(50):
            found[i] = works[i][0]()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for have, (_, want) in zip(found, works, strict=True):
        near(have, want)


# ---- products


@pytest.fixture
def ways(monkeypatch):
    """Forces a kernel of products; gives what was launched."""
    launched = []
    start = _products.start

    def noted(file, name, *args, **options):
        launched.append(name)
        start(file, name, *args, **options)

    monkeypatch.setattr(_products, "start", noted)

    def force(way):
        tile = _products._N.BLOCK if way == "TILED" else _products._N.TILE
        monkeypatch.setattr(_products.choices, "product", lambda *given: (way, tile))
        return launched

    return force


WAYS = {"": "product", "TILED": "product_tiled", "PACKED": "product_packed"}
FLOATS = [(way, dtype) for way in WAYS for dtype in ("float32", "float64", "bfloat16")]


@pytest.mark.parametrize(("way", "dtype"), FLOATS)
def test_products_at_the_edges_of_tiles(ways, way, dtype):
    launched = ways(way)
    for m, n, k in [(1, 1, 1), (16, 8, 16), (17, 9, 3), (64, 64, 16), (65, 63, 33), (130, 70, 49)]:
        (a, x), (b, y) = there((m, k), dtype, 1), there((k, n), dtype, 2)
        near(a @ b, x @ y, dtype)
    assert launched.count(WAYS[way]) == 6
    turned, held = there((33, 70), dtype, 3)
    other, y = there((20, 33), dtype, 4)
    near(turned.t() @ other.t(), held.T @ y.T, dtype)
    near(turned[:, ::2].t() @ turned[:, 1::2], held[:, ::2].T @ held[:, 1::2], dtype)


@pytest.mark.parametrize("way", WAYS)
def test_stacks_biases_and_factors(ways, way):
    ways(way)
    (a, x), (b, y), (c, z) = there((3, 1, 20, 18)), there((2, 18, 17), seed=1), there((17,), seed=2)
    near(a @ b, x @ y)
    near(a[0, 0] @ b, x[0, 0] @ y)
    near(a @ b[0], x @ y[0])
    near(torch.nn.functional.linear(a, b[1].t(), c), x @ y[1] + z)
    near(torch.addmm(c, a[1, 0], b[0], beta=-2, alpha=0.5), 0.5 * (x[1, 0] @ y[0]) - 2 * z)
    stack, held = there((2, 20, 18), seed=3)
    near(torch.addbmm(c, stack, b, beta=3), (held @ y).sum(0) + 3 * z)
    a.requires_grad_(), b.requires_grad_()
    seed, g = there((3, 2, 20, 17), seed=4)
    to_a, to_b = torch.autograd.grad(a @ b, (a, b), seed)
    near(to_a, (g @ y.swapaxes(-1, -2)).sum(1, keepdims=True))
    near(to_b, (x.swapaxes(-1, -2) @ g).sum(0))


@pytest.mark.parametrize("way", ["", "TILED"])
def test_a_long_sum_is_cut(ways, way):
    launched = ways(way)
    (a, x), (b, y) = there((10, 1100)), there((1100, 12), seed=1)
    near(a @ b, x @ y)
    assert launched == [WAYS[way], "sum_pieces"]


@pytest.mark.parametrize("way", ["", "PACKED"])
def test_integers_wrap(ways, way):
    ways(way)
    a = torch.arange(20 * 18).reshape(20, 18) * 2**56 + 1
    b = torch.arange(18 * 17).reshape(18, 17) - 100
    have = a.to("opencl") @ b.to("opencl")
    np.testing.assert_array_equal(have.cpu().numpy(), a.numpy() @ b.numpy())


def test_which_kernel_a_product_takes(monkeypatch):
    like = torch.empty(1, device="opencl")
    facts = _products.numbered(0).facts
    large, thin, shallow = (64, 64, 64), (64, 15, 1024), (512, 512, 8)

    def way(sizes, stacks=1):
        return _products.choices.product(0, like.dtype, sizes, sizes[2], stacks)[0]

    monkeypatch.setattr(_products.choices, "_chosen", {})  # by the facts, anew
    for is_cpu, name in ((True, "PACKED"), (False, "TILED")):
        monkeypatch.setattr(facts, "is_cpu", is_cpu)
        _products.choices._chosen.clear()
        assert way(large) == name
        assert way(thin) == ""
        assert way((32, 32, 32)) == ""
        assert way((32, 32, 32), stacks=100) == name
        assert way(shallow) == ("PACKED" if is_cpu else "")
