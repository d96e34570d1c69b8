"""Large steps that compute element by element run strip by strip, and have the bits of eager."""

import threading

import pytest

import rushlight as torch
from rushlight._capture.run import Compiled

N = (1 << 15) + 1234


def gradient(x, y):
    x.grad = None
    loss = ((x.sin() * x).exp() + x.tanh() * y).mean()
    loss.backward()
    return loss, x.grad


def masks(x, y):
    x.grad = None
    z = torch.where(x > y, x * 2.5, y) * (x != 0)
    z.sum().backward()
    return z


def writes(x, y):
    with torch.no_grad():
        z = x * y
        z += 1
        z.mul_(z)
        w = z.view(2, -1).flatten()
        w -= z.double().float() / 3
        return z, w + z.mean()


def shifted(x, y):
    with torch.no_grad():
        z = x * y + 1
        a = z[1:] * 2 + z[:-1]
        z *= 3
        b = z[1:] - z[:-1]
        return a * b, z.half() * 2 + z.half()


def parameter(x, y):
    with torch.no_grad():
        z = (x + y) * 2
        y.mul_(0.5)
        w = (z + y) * 3
        y += w.clone() * 1e-3
        return w, torch.zeros(len(x)) + w * 2


def numbers(x, y):
    x.grad = None
    z = (x.tanh() * 3 - 0.5).tanh() / 7
    (z * y).sum().backward()
    return z, x.grad, (y.double() * 2 + 1).exp() * 0.1


def ones(x, y):
    with torch.no_grad():
        last, first = y[-1], y[:1].double()
        z = x * last + last.sin()
        w = (z * 2 - last) * (x * 2 + y.sum())
        v = torch.addcmul(torch.hypot(x, y).expm1(), x, w, value=0.1) + torch.nn.functional.mish(w)
        return (
            v * last,
            torch.nn.functional.gelu(v, approximate="tanh") * y[3],
            (x * last).half(),
            first + w,
        )


def flags(x, y):
    with torch.no_grad():
        return ((x * 8).int() % 3 + 1) * 2, (x > 0) | (y > 0) & (x > y)


def steps(x, y):
    return x.detach() * y + (y * y).exp() * x.detach()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [N, 3 * 1024 + 46])
@pytest.mark.parametrize(
    "function", [gradient, masks, writes, shifted, parameter, numbers, ones, flags, steps]
)
def test_the_bits_of_eager(function, n, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    x = [torch.randn(n).requires_grad_() for _ in range(2)]
    x[1].data.copy_(x[0].data)
    captured = Compiled(lambda y: function(x[0], y), fullgraph=True)
    try:
        for _ in range(6):
            y = torch.randn(n)
            ys = y.clone(), y.clone()
            found, wanted = captured(ys[0]), function(x[1], ys[1])
            pairs = zip(*(r if type(r) is tuple else (r,) for r in (found, wanted)), strict=True)
            for a, b in (*pairs, ys):
                assert a.dtype == b.dtype and torch.equal(a, b)
    finally:
        torch.set_num_threads(before)
    assert len(captured.variants) == 1


def test_what_only_a_group_uses_takes_no_memory():
    x = torch.randn(N).requires_grad_()
    captured = Compiled(lambda y: gradient(x, y))
    for _ in range(3):
        captured(torch.randn(N))
    _, planned, made = captured.variants[0].program.describe()
    assert planned < 2 * 4 * N + 4096 < 8 * 4 * N < made


def test_what_lies_between_steps_of_a_group_is_one_too():
    """The sums part the first group, and the steps after them make another."""
    x = torch.randn(N)
    captured = Compiled(lambda y: torch.stack([((y + k) * x * 2).sum() for k in range(4)]))
    for _ in range(5):
        y = torch.randn(N)
        assert torch.equal(captured(y), torch.stack([((y + k) * x * 2).sum() for k in range(4)]))
    _, planned, made = captured.variants[0].program.describe()
    assert planned < 5 * 4 * N < made


def test_other_threads_run_meanwhile():
    x, y = torch.randn(1 << 20), torch.randn(1 << 20)
    captured = Compiled(shifted)
    for _ in range(3):
        wanted = captured(x, y)[0]
    assert captured.variants
    found = []

    def call():
        found.extend(torch.equal(captured(x, y)[0], wanted) for _ in range(10))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 40


def test_a_graph_that_is_given_back():
    """Both parts have groups: what the second reads of the first is kept whole."""
    torch.manual_seed(0)
    x = [torch.randn(N).requires_grad_() for _ in range(2)]
    x[1].data.copy_(x[0].data)

    def function(x, y):
        return ((x.sin() * x).exp() + x.tanh() * y) * (y * 2 + 1)

    captured = Compiled(lambda y: function(x[0], y), fullgraph=True)
    for _ in range(6):
        y, g = torch.randn(N), torch.randn(N)
        found, wanted = captured(y), function(x[1], y)
        found.backward(g)
        wanted.backward(g)
        assert torch.equal(found, wanted) and torch.equal(x[0].grad, x[1].grad)
    assert len(captured.variants) == 1


def rows(x, y):
    z = torch.tanh(x + y[0]) * y[0] - y[0]
    w = x.clone()
    w -= x[1]
    return z, w, (x + y[:1]) * 2, y[0] / x, torch.where(x > y[0], x, y[0])


def test_rows_for_all_rows():
    """Small steps of which an argument is broadcast along the first dimensions."""
    torch.manual_seed(0)
    for shape in ((8, 64), (3, 5, 17), (64, 16), (7, 15), (2, 3, 1, 20)):
        captured = Compiled(rows, fullgraph=True)
        for _ in range(5):
            x, y = torch.randn(shape), torch.randn(shape)
            found, wanted = captured(x, y), rows(x, y)
            assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))
        assert len(captured.variants) == 1


def repeated(x, y):
    with torch.no_grad():
        a, b = x * y, x * y
        c = (x * 2 + y * 2) + a * b
        d = y * 2 + x * 3
        a *= b
        e = x * y + a
        b += x * y
        z = (x + y) * 1
        w = (x + y) * y + z
        z += x * y
        z += x * z
        return c, d, e, b, z, w + (x + y), z * y + z * y


def test_what_was_computed_is_not_computed_again():
    torch.manual_seed(0)
    for n in (3000, N):
        for dtype in (torch.float32, torch.float64):
            captured = Compiled(repeated, fullgraph=True)
            for _ in range(5):
                x, y = torch.randn(n, dtype=dtype), torch.randn(n, dtype=dtype)
                found, wanted = captured(x, y), repeated(x, y)
                assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))
            assert len(captured.variants) == 1
