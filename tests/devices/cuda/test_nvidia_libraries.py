"""Products by cuBLAS and convolutions by cuDNN, as their stand-ins compute them (libraries.cpp).

Proven: that the calls say which numbers lie where, that work is queued in order, and what is done
without a library. What is expected is computed by NumPy in float64. Not proven: the libraries.
"""

from pathlib import Path

import _standin
import numpy as np
import pytest
from _inside import ran
from rushlight.backends import cuda, cudnn

import rushlight as torch
from rushlight import _core
from rushlight._devices import choices
from rushlight.ops.matrix.there import library

CUDA = torch.device("cuda")
F = torch.nn.functional
TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
ROUNDING = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11}
ROUNDING[torch.bfloat16] = 2.0**-8
NAMES = "RUSHLIGHT_CUBLAS_LIBRARY", "RUSHLIGHT_CUDNN_LIBRARY"


@pytest.fixture(autouse=True)
def _libraries(monkeypatch):
    for name in NAMES:
        monkeypatch.setenv(name, str(_standin.library()))
    library.why_not.cache_clear()
    library.taken.clear()
    provoked.clear()
    before = _core.accelerator_refuse_fallbacks(True)
    yield
    torch.cuda.synchronize()
    _core.accelerator_refuse_fallbacks(before)
    library.why_not.cache_clear()


provoked = []  # what a stand-in is to tell
chance = np.random.RandomState(35)


def there(*shape, dtype=torch.float32):
    """Random numbers on the device, and the same for NumPy."""
    here = torch.tensor(chance.standard_normal(shape)).to(dtype)
    return here.to(CUDA), here.to(torch.float64).numpy()


def near(found, expected, dtype, terms=0.0, also=0.0):
    """The result is rounded once; each of its terms was, in float32 or better, and so was each sum.

    terms: the depth times the sum of the terms' absolute values; also: of a rounding more.
    """
    narrow = ROUNDING[dtype]
    sums = min(narrow, 2.0**-24)
    bound = narrow * np.abs(expected) * 1.01 + 2 * sums * terms + also
    tiny = 2.0**-24 if dtype is torch.float16 else 0
    error = np.abs(found.cpu().to(torch.float64).numpy() - expected)
    assert found.dtype is dtype
    assert (error <= bound + tiny).all(), (error / (bound + tiny)).max()


def multiplied(a, b):
    """The product, and its depth times the product of absolute values."""
    return a @ b, a.shape[-1] * (np.abs(a) @ np.abs(b))


def computed(cublas=0, cudnn=0):
    """The libraries computed so many calls, and refused none."""
    assert library.taken == {name: n for name, n in (("cublas", cublas), ("cudnn", cudnn)) if n}


# ---- products


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("turned_a", [False, True])
@pytest.mark.parametrize("turned_b", [False, True])
def test_products_of_every_transposition(dtype, turned_a, turned_b):
    (a, x), (b, y) = there(130, 147, dtype=dtype), there(147, 129, dtype=dtype)
    if turned_a:
        a = a.t().contiguous().t()
    if turned_b:
        b = b.t().contiguous().t()
    near(a @ b, *swapped(multiplied(x, y), dtype))
    computed(cublas=1)


def swapped(found, dtype):
    return found[0], dtype, found[1]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_parts_of_larger_matrices(dtype):
    (a, x), (b, y) = there(140, 170, dtype=dtype), there(190, 150, dtype=dtype)
    near(a[3:, 5:155] @ b[7:157, 2:], *swapped(multiplied(x[3:, 5:155], y[7:157, 2:]), dtype))
    near(a[3:, 5:155].t() @ b[7:144, 2:], *swapped(multiplied(x[3:, 5:155].T, y[7:144, 2:]), dtype))
    computed(cublas=2)


def test_operands_that_cublas_cannot_read_take_our_way():
    (a, x), (b, y) = there(130, 300), there(150, 129)
    near(a[:, ::2] @ b, *swapped(multiplied(x[:, ::2], y), torch.float32))
    row, of_row = there(1, 150)
    spread, same = row.expand(130, 150), np.broadcast_to(of_row, (130, 150))
    near(spread @ b, *swapped(multiplied(same, y), torch.float32))
    computed()


STACKS = {
    "two stacks": ((5, 70, 90), (5, 90, 80), 1),
    "one matrix for all": ((4, 70, 90), (90, 100), 1),
    "one matrix before all": ((70, 90), (4, 90, 100), 1),
    "two dimensions": ((2, 3, 64, 90), (2, 3, 90, 80), 1),
    "one of two is spread": ((2, 1, 64, 90), (2, 3, 90, 80), 0),
    "a stack of one": ((1, 130, 147), (1, 147, 129), 1),
}


@pytest.mark.parametrize("a_shape, b_shape, calls", STACKS.values(), ids=STACKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_stacks(a_shape, b_shape, calls, dtype):
    (a, x), (b, y) = there(*a_shape, dtype=dtype), there(*b_shape, dtype=dtype)
    near(a @ b, *swapped(multiplied(x, y), dtype))
    turned = b.transpose(-1, -2).contiguous().transpose(-1, -2)
    near(a @ turned, *swapped(multiplied(x, y), dtype))
    computed(cublas=2 * calls)


def test_heads_side_by_side_are_no_stack_of_one_step():
    (q, x), (k, y) = there(2, 64, 3, 90), there(2, 64, 3, 90)
    found = q.transpose(1, 2) @ k.permute(0, 2, 3, 1)
    expected = multiplied(x.transpose(0, 2, 1, 3), y.transpose(0, 2, 3, 1))
    near(found, *swapped(expected, torch.float32))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", [(130, 129), (129,), (130, 1), (1, 129), ()], ids=str)
def test_something_added(dtype, shape):
    (a, x), (b, y) = there(130, 147, dtype=dtype), there(147, 129, dtype=dtype)
    c, z = there(*shape, dtype=dtype)
    expected, terms = multiplied(x, y)
    near(torch.addmm(c, a, b), expected + z, dtype, terms)
    near(torch.addmm(c, a, b, beta=-0.5, alpha=2), 2 * expected - 0.5 * z, dtype, 2 * terms)
    near(torch.addmm(c * float("nan"), a, b, beta=0), expected, dtype, terms)
    computed(cublas=3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_stacks_and_something_added(dtype):
    (a, x), (b, y) = there(5, 70, 90, dtype=dtype), there(5, 90, 80, dtype=dtype)
    c, z = there(5, 1, 80, dtype=dtype)
    expected, terms = multiplied(x, y)
    near(torch.baddbmm(c, a, b, beta=2), expected + 2 * z, dtype, terms)
    computed(cublas=1)


def test_linear_layers_and_all_their_gradients():
    (x, of_x), (w, of_w), (b, of_b) = there(3, 50, 96), there(160, 96), there(160)
    (g, of_g), dtype = there(3, 50, 160), torch.float32
    for t in (x, w, b):
        t.requires_grad_()
    expected, terms = multiplied(of_x, of_w.T)
    y = F.linear(x, w, b)
    near(y.detach(), expected + of_b, dtype, terms)
    y.backward(g)
    near(x.grad, *swapped(multiplied(of_g, of_w), dtype))
    rows_g, rows_x = of_g.reshape(150, 160), of_x.reshape(150, 96)
    near(w.grad, *swapped(multiplied(rows_g.T, rows_x), dtype))
    near(b.grad, rows_g.sum(0), dtype, 150 * np.abs(rows_g).sum(0))
    computed(cublas=3)


def test_the_gradient_of_a_shared_matrix_is_one_product_of_all_rows():
    (a, x), (b, _), (g, z) = there(4, 70, 90), there(90, 100), there(4, 70, 100)
    b.requires_grad_()
    (a @ b).backward(g)
    near(b.grad, *swapped(multiplied(x.reshape(280, 90).T, z.reshape(280, 100)), torch.float32))
    computed(cublas=2)


def test_products_wait_in_the_queue_like_kernels():
    (a, x), (b, y) = there(130, 147), there(147, 129)
    a = a + 1  # by a kernel that waits when the product is queued
    found = a @ b
    a.zero_()
    b.zero_()
    near(found, *swapped(multiplied((x + 1).astype(np.float32).astype(float), y), torch.float32))


def test_small_products_and_whole_numbers_are_ours():
    (a, x), (b, y) = there(40, 50), there(50, 60)
    near(a @ b, *swapped(multiplied(x, y), torch.float32))
    whole = torch.full((130, 147), 2).to(CUDA)
    assert (whole @ whole.t()).cpu().tolist() == [[588] * 130] * 130
    computed()


def test_what_is_large_is_the_devices_choice():
    (a, x), (b, y) = there(20, 30), there(30, 40)
    with choices.using(a._accelerator, least_library=20 * 30 * 40):
        near(a @ b, *swapped(multiplied(x, y), torch.float32))
    computed(cublas=1)
    with choices.using(a._accelerator, least_library=20 * 30 * 40 + 1):
        a @ b
    computed(cublas=1)


# ---- how numbers are rounded


def shortened(x):
    """Float32 numbers with 10 bits of their fraction."""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.rint(fraction * 2**11), exponent - 11)


def test_tf32_is_for_those_who_ask():
    (a, x), (b, y) = there(130, 147), there(147, 129)
    exact, terms = multiplied(x, y)
    short = multiplied(shortened(x), shortened(y))[0]
    assert np.abs(short - exact).max() > 1e-3
    near(a @ b, exact, torch.float32, terms)
    torch.set_float32_matmul_precision("high")
    try:
        assert cuda.matmul.allow_tf32
        near(a @ b, short, torch.float32, terms)
    finally:
        cuda.matmul.allow_tf32 = False
    assert torch.get_float32_matmul_precision() == "highest"
    near(a @ b, exact, torch.float32, terms)
    with pytest.warns(UserWarning, match="low is not one of 'highest', 'high', or 'medium'"):
        torch.set_float32_matmul_precision("low")
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_sums_of_halves_in_halves_can_be_forbidden(dtype, monkeypatch):
    (a, _), (b, _) = there(130, 147, dtype=dtype), there(147, 129, dtype=dtype)
    mode = _standin.number("standin_math")
    a @ b
    assert mode.value == 0
    letters = "fp16" if dtype is torch.float16 else "bf16"
    monkeypatch.setattr(cuda.matmul, f"allow_{letters}_reduced_precision_reduction", False)
    a @ b
    assert mode.value == 16


# ---- convolutions


def meetings(x, w, g, stride, padding, dilation, groups):
    """A convolution's result, and the gradients of x and w for g, by NumPy."""
    dims = range(x.ndim - 2)
    wide = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    y, to_x, to_w = np.zeros(g.shape), np.zeros(wide.shape), np.zeros(w.shape)
    of_in, of_out = w.shape[1], w.shape[0] // groups
    for tap in np.ndindex(*w.shape[2:]):
        first = [tap[d] * dilation[d] for d in dims]
        seen = tuple(
            slice(first[d], first[d] + (g.shape[2 + d] - 1) * stride[d] + 1, stride[d])
            for d in dims
        )
        for group in range(groups):
            ins = slice(group * of_in, (group + 1) * of_in)
            outs = slice(group * of_out, (group + 1) * of_out)
            part, weight = wide[(slice(None), ins, *seen)], w[(outs, slice(None), *tap)]
            y[:, outs] += np.einsum("nc...,kc->nk...", part, weight)
            to_x[(slice(None), ins, *seen)] += np.einsum("nk...,kc->nc...", g[:, outs], weight)
            flat_g = g[:, outs].reshape(len(x), of_out, -1)
            flat_x = part.reshape(len(x), of_in, -1)
            to_w[(outs, slice(None), *tap)] += np.einsum("nkl,ncl->kc", flat_g, flat_x)
    inner = tuple(slice(p, p + n) for p, n in zip(padding, x.shape[2:], strict=True))
    return y, to_x[(slice(None), slice(None), *inner)], to_w


CONVOLUTIONS = {
    "1d": ((3, 24, 200), (40, 24, 5), (1,), (2,), (1,), 1),
    "1d with steps": ((3, 24, 301), (60, 24, 5), (2,), (3,), (3,), 1),
    "2d": ((2, 16, 20, 21), (32, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "2d with steps": ((2, 16, 41, 38), (32, 16, 3, 4), (2, 3), (1, 2), (2, 1), 1),
    "groups": ((2, 16, 30, 20), (64, 4, 3, 3), (1, 1), (1, 0), (1, 1), 4),
    "a channel each": ((2, 64, 45, 45), (64, 1, 3, 3), (1, 1), (1, 1), (1, 1), 64),
    "3d": ((2, 8, 12, 17, 15), (16, 8, 3, 3, 2), (1, 2, 1), (1, 1, 0), (1, 1, 2), 1),
}


@pytest.mark.parametrize("case", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_convolutions_and_their_gradients(case, dtype):
    x_shape, w_shape, *how, groups = case
    (x, of_x), (w, of_w), (b, of_b) = (
        there(*shape, dtype=dtype) for shape in (x_shape, w_shape, w_shape[:1])
    )
    for t in (x, w, b):
        t.requires_grad_()
    with cudnn.flags(enabled=True, allow_tf32=False):
        y = [F.conv1d, F.conv2d, F.conv3d][len(x_shape) - 3](x, w, b, *how, groups)
        g, of_g = there(*y.shape, dtype=dtype)
        y.backward(g)
    expected = meetings(of_x, of_w, of_g, *how, groups)
    sizes = meetings(*map(np.abs, (of_x, of_w, of_g)), *how, groups)
    counts = of_w[0].size, of_w.size // of_w.shape[1], of_g[:, 0].size
    of_b = of_b.reshape(-1, *[1] * (len(x_shape) - 2))
    twice = (
        ROUNDING[dtype] * np.abs(expected[0]) * 1.01
    )  # the sum is rounded, then the bias is added
    near(y.detach(), expected[0] + of_b, dtype, counts[0] * sizes[0], also=twice)
    near(x.grad, expected[1], dtype, counts[1] * sizes[1])
    near(w.grad, expected[2], dtype, counts[2] * sizes[2])
    computed(cudnn=3)


def test_transposed_convolutions():
    (x, of_x), (w, of_w), (b, of_b) = there(2, 24, 23, 20), there(24, 8, 4, 4), there(16)
    with cudnn.flags(enabled=True, allow_tf32=False):
        found = F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1, groups=2)
    # The gradient of the convolution that goes the other way.
    zeros = np.zeros((2, 16, *found.shape[2:]))
    _, expected, _ = meetings(zeros, of_w, of_x, (2, 2), (1, 1), (1, 1), 2)
    _, sizes, _ = meetings(zeros, np.abs(of_w), np.abs(of_x), (2, 2), (1, 1), (1, 1), 2)
    also = ROUNDING[torch.float32] * np.abs(expected) * 1.01
    expected = expected + of_b.reshape(-1, 1, 1)
    near(found, expected, torch.float32, 12 * 16 * sizes, also)
    computed(cudnn=1)


def convolved(x, w):
    return F.conv2d(x, w, padding=1)


def test_convolutions_of_views():
    (x, of_x), (w, of_w) = there(2, 32, 21, 20), there(32, 3, 3, 16)
    (g, of_g), how = there(20, 21, 32, 2), ((1, 1), (1, 1), (1, 1), 1)
    x, of_x = x[:, ::2].transpose(2, 3), of_x[:, ::2].swapaxes(2, 3)
    w, of_w = w.permute(0, 3, 1, 2), of_w.transpose(0, 3, 1, 2)
    g, of_g = g.permute(3, 2, 0, 1), of_g.transpose(3, 2, 0, 1)
    x.requires_grad_()
    w.requires_grad_()
    with cudnn.flags(enabled=True, allow_tf32=False):
        y = convolved(x, w)
        y.backward(g)
    expected = meetings(of_x, of_w, of_g, *how)
    sizes = meetings(*map(np.abs, (of_x, of_w, of_g)), *how)
    for found, exact, size in zip((y.detach(), x.grad, w.grad), expected, sizes, strict=True):
        near(found, exact, torch.float32, 840 * size)
    computed(cudnn=3)


def test_tf32_of_convolutions_is_on_as_in_pytorch():
    (x, of_x), (w, of_w) = there(2, 16, 20, 21), there(32, 16, 3, 3)
    g = np.zeros((2, 32, 20, 21))
    how = g, (1, 1), (1, 1), (1, 1), 1
    short, exact = (
        meetings(shortened(of_x), shortened(of_w), *how)[0],
        meetings(of_x, of_w, *how)[0],
    )
    sizes = 144 * meetings(np.abs(of_x), np.abs(of_w), *how)[0]
    assert cudnn.allow_tf32
    near(convolved(x, w), short, torch.float32, sizes)
    with cudnn.flags(enabled=True, allow_tf32=False):
        near(convolved(x, w), exact, torch.float32, sizes)
    assert np.abs(short - exact).max() > 1e-3


def test_algorithms_that_give_the_same_each_time_where_that_is_asked(monkeypatch):
    (x, _), (w, _) = there(2, 16, 20, 22), there(32, 16, 3, 3)
    taken = _standin.number("standin_algorithm")
    convolved(x, w)
    assert taken.value == 1  # the second proposal, the first that may be taken
    monkeypatch.setattr(cudnn, "deterministic", True)
    convolved(x, w)
    assert taken.value == 0
    monkeypatch.setattr(cudnn, "deterministic", False)
    torch.use_deterministic_algorithms(True)
    try:
        taken.value = 1
        convolved(x, w)
    finally:
        torch.use_deterministic_algorithms(False)
    assert taken.value == 0


def test_cudnn_can_be_switched_off():
    (x, of_x), (w, of_w) = there(2, 16, 20, 21), there(32, 16, 3, 3)
    with cudnn.flags(enabled=False):
        found = convolved(x, w)
    how = np.zeros((2, 32, 20, 21)), (1, 1), (1, 1), (1, 1), 1
    sizes = 144 * meetings(np.abs(of_x), np.abs(of_w), *how)[0]
    near(found, meetings(of_x, of_w, *how)[0], torch.float32, sizes)
    computed()


# ---- trouble


def called(rows=130, columns=129, depth=147, stacks=1, line=147, turned=False, step=0):
    """A call of cuBLAS for matrices of 130 x 147 and 147 x 129, with numbers that may be wrong."""
    (a, _), (b, _), (out, _) = there(130, 147), there(147, 129), there(130, 129)
    laid = (turned, line, 0), (False, 129, 0), (False, 129, step)
    sizes = rows, columns, depth, stacks
    return _core.accelerator_multiply(a, b, out, sizes, *laid, 1, 0, False, True)


def test_the_stand_in_of_cublas_sees_wrong_numbers():
    assert not called()
    for wrong in ({"line": 146}, {"turned": True, "line": 129}, {"columns": 130}, {"stacks": 2}):
        provoked.append(wrong)
        assert called(**wrong).startswith("CUBLAS_STATUS_INVALID_VALUE"), wrong
    # Blocks are up to an eighth larger than what was asked for.
    for wrong in ({"rows": 160}, {"line": 200}, {"stacks": 2, "step": 130 * 129}):
        provoked.append(wrong)
        with pytest.raises(RuntimeError, match="CUBLAS_STATUS_EXECUTION_FAILED"):
            called(**wrong)
        assert "are not in one block" in _standin.said()


def test_the_stand_in_of_cudnn_sees_wrong_numbers():
    def called(x=(2, 16, 20, 21), w=(32, 16, 3, 3), y=(2, 32, 20, 21), stride=(1, 1), groups=1):
        given = [there(2, 16, 20, 21)[0], there(32, 16, 3, 3)[0], there(2, 32, 20, 21)[0]]
        places = (1, 1), stride, (1, 1)
        return _core.accelerator_convolve(0, *given, x, w, y, *places, groups, False, False)

    assert not called()
    for wrong in (
        {"y": (2, 32, 20, 20)},
        {"stride": (1, 2)},
        {"groups": 2},
        {"x": (2, 15, 20, 21)},
        {"stride": (1, 0)},
    ):
        provoked.append(wrong)
        assert called(**wrong).startswith("CUDNN_STATUS_BAD_PARAM"), wrong
    provoked.append("images beyond their memory")
    with pytest.raises(RuntimeError, match="CUDNN_STATUS_EXECUTION_FAILED"):
        called(x=(3, 16, 20, 21), y=(3, 32, 20, 21))


@pytest.mark.parametrize(
    ("function", "code"), [("cublasGemmStridedBatchedEx", 15), ("cudnnConvolutionForward", 4000)]
)
def test_a_library_refuses_what_it_computed_before(function, code, monkeypatch):
    monkeypatch.setattr(cudnn, "allow_tf32", False)
    a, b = there(130, 147)[0], there(147, 129)[0]
    images, kernels = there(2, 16, 20, 21)[0], there(32, 16, 3, 3)[0]
    call = (lambda: F.conv2d(images, kernels)) if "cudnn" in function else lambda: a @ b
    before = sum(_core.accelerator_kept_calls().values())
    made = [call() for _ in range(3)]  # all stay, so that no result has the memory of another
    assert sum(_core.accelerator_kept_calls().values()) > before
    _standin.fail(function, code)
    made += [call() for _ in range(3)]
    for found in made[1:]:
        np.testing.assert_allclose(found.cpu().numpy(), made[0].cpu().numpy(), rtol=0, atol=1e-4)


def test_what_a_library_refuses_is_computed_by_ours():
    (a, x), (b, y), (c, z) = there(130, 147), there(147, 129), there(129)
    _standin.fail("cublasGemmStridedBatchedEx", 15)
    expected, terms = multiplied(x, y)
    near(torch.addmm(c, a, b, beta=3), expected + 3 * z, torch.float32, terms)
    refusal = (
        "cublas: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasGemmStridedBatchedEx` for "
        "1 products of 130 x 147 and 147 x 129"
    )
    assert library.taken == {refusal: 1}
    (x, of_x), (w, of_w) = there(2, 16, 20, 23), there(32, 16, 3, 3)
    _standin.fail("cudnnConvolutionForward", 3000)
    how = np.zeros((2, 32, 20, 23)), (1, 1), (1, 1), (1, 1), 1
    sizes = 144 * meetings(np.abs(of_x), np.abs(of_w), *how)[0]
    for _ in range(2):  # what was refused is not asked again
        near(convolved(x, w), meetings(of_x, of_w, *how)[0], torch.float32, sizes)
    refusal = (
        "cudnn: CUDNN_STATUS_NOT_SUPPORTED when calling `cudnnConvolutionForward` for images of "
        "2 x 16 x 20 x 23, kernels of 32 x 16 x 3 x 3 and results of 2 x 32 x 20 x 23"
    )
    assert library.taken[refusal] == 2


def test_what_a_library_meets_is_an_error_with_its_words_and_the_sizes():
    (a, _), (b, _) = there(5, 70, 90), there(5, 90, 80)
    _standin.fail("cublasGemmStridedBatchedEx", 13)
    words = r"CUBLAS_STATUS_EXECUTION_FAILED when calling .* for 5 products of 70 x 90 and 90 x 80"
    with pytest.raises(RuntimeError, match=words):
        a @ b
    (x, _), (w, _) = there(2, 16, 20, 24), there(32, 16, 3, 3)
    _standin.fail("cudnnConvolutionForward", 5000)
    with pytest.raises(RuntimeError, match=r"CUDNN_STATUS_EXECUTION_FAILED .* 2 x 16 x 20 x 24"):
        convolved(x, w)
    a @ b
    computed(cublas=1)


@pytest.mark.parametrize("path, why", [("", "was found"), ("/none.so", "none.so")])
def test_without_a_library_ours_is_the_way(monkeypatch, path, why):
    monkeypatch.setenv(NAMES[0], path)
    fresh = ours(f"os.environ['{NAMES[0]}'] = {path!r}")
    assert why in fresh


def ours(*lines, more=""):
    """Why cuBLAS is not here in a new process, in which a product is right all the same."""
    text = (
        "import os, _standin",
        *lines,
        "import numpy as np, rushlight as torch",
        "from rushlight.ops.matrix.there import library",
        "a = torch.arange(130 * 147.).reshape(130, 147) % 7",
        "b = a.to('cuda')",
        more,
        "found = (b @ b.t()).cpu().numpy()",
        "assert (found == a.numpy() @ a.numpy().T).all()  # whole numbers, without rounding",
        "assert not library.taken",
        "print(library.why_not(b._accelerator, 'cublas'))",
    )
    return ran("-c", "\n".join(text)).strip()


def test_a_library_that_cannot_start_is_not_here():
    place = f"os.environ['{NAMES[0]}'] = str(_standin.library())"
    said = ours(place, more="_standin.fail('cublasCreate', 1)")
    assert said.endswith("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate_v2`")


def test_a_library_that_is_another_is_not_here():
    maps = Path("/proc/self/maps").read_text().splitlines()
    other = next(line.split()[-1] for line in maps if "libm.so" in line)
    assert "has no cublasCreate_v2" in ours(f"os.environ['{NAMES[0]}'] = {other!r}")
