"""Products that are added to what was there before add themselves, several read a matrix in a form
that is made once: with the bits of eager."""

import pytest

import rushlight as torch
from rushlight._capture.run import Compiled


def sums(x, y, w, z):
    return x @ w + y @ w, x @ w + (z + 1), (z - 1) + x @ w


def chain(x, y, w, z):
    p = x @ w
    for k in range(4):
        p = p + (y * k) @ w
    return p


def in_place(x, y, w, z):
    p = z * 2
    p += x @ w
    p.add_(y @ w)
    z += x @ w
    return p


def used_twice(x, y, w, z):
    p, q = x @ w, y @ w
    r = p + q
    return r, r + p, (p + q) * q, p + p


def written_meanwhile(x, y, w, z):
    a, p = x * 1, x @ w
    b = a @ w
    a.mul_(3)
    p = p + b
    b = a @ w
    p.mul_(2)
    p = p + b
    q = a @ w
    s = q.clone()
    q += p
    return p, q, s


def of_itself(x, y, w, z):
    a, square = z * 2, w.t() @ w
    b = a + a @ square
    b += b @ square
    return b


def other_layouts(x, y, w, z):
    turned = (z.t() * 2).contiguous().t() + x @ w
    flat = (x @ w).flatten() + (y @ w).reshape(-1)
    row = x @ w + (z[0] * 3)
    part = (z * 2)[:-1] + (x @ w)[:-1]
    return turned, flat, row, part


def turned(x, y, w, z):
    a, b = z @ w.t(), (z * 2) @ w.t()
    c = torch.nn.functional.linear(z, w[:, : z.shape[1]], x[0, : w.shape[0]])
    return a, b, c, z[:, 1:] @ w[:, 1:].t(), z[:, 1:] @ w[:, 1:].t()


def turned_and_written(x, y, w, z):
    v = w * 2
    a = z @ v.t()
    v += 1
    b = z @ v.t()
    c = (z + 1) @ v.t()
    w -= 0.5
    d = z @ w.t()
    e = z @ w.t() + d
    w.copy_(v)
    return a, b, c, d, e, z @ w.t()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "m, k, n", [(8, 64, 64), (120, 16, 20), (30, 130, 131), (50, 7, 2), (1, 9, 9), (70, 5, 1)]
)
@pytest.mark.parametrize(
    "function",
    [
        *(sums, chain, in_place, used_twice, written_meanwhile, of_itself, other_layouts),
        *(turned, turned_and_written),
    ],
)
def test_the_bits_of_eager(function, m, k, n, dtype):
    torch.manual_seed(0)
    captured = Compiled(function, fullgraph=True)
    for _ in range(6):
        shapes = (m, k), (m, k), (k, n), (m, n)
        given = [torch.randn(shape, dtype=dtype) for shape in shapes]
        again = [t.clone() for t in given]
        found, wanted = captured(*given), function(*again)
        if isinstance(found, torch.Tensor):
            found, wanted = (found,), (wanted,)
        for a, b in zip((*found, *given), (*wanted, *again), strict=True):
            assert a.dtype == b.dtype and torch.equal(a, b)
    assert len(captured.variants) == 1


def test_gradients_from_several_places():
    """They are added where they come from, and nothing holds them meanwhile."""
    torch.manual_seed(0)
    weights = [torch.randn(64, 64).mul_(0.1).requires_grad_() for _ in range(2)]
    weights[1].data.copy_(weights[0].data)

    def step(w, x):
        w.grad = None
        h = x
        for _ in range(3):
            h = h @ w + x @ w
        (h * h).sum().backward()
        return h

    captured = Compiled(lambda x: step(weights[0], x), fullgraph=True)
    for _ in range(5):
        x = torch.randn(4, 64)
        assert torch.equal(captured(x), step(weights[1], x))
        assert torch.equal(weights[0].grad, weights[1].grad)
    _, planned, made = captured.variants[0].program.describe()
    assert planned < 2 * weights[0].nbytes < 5 * weights[0].nbytes < made


def test_a_form_is_made_once():
    """A matrix of which several products read the columns takes memory once more, no more."""
    w = torch.randn(64, 64)
    captured = Compiled(lambda x: x @ w.t() @ w.t() @ w.t() @ w.t(), fullgraph=True)
    for _ in range(5):
        x = torch.randn(4, 64)
        assert torch.equal(captured(x), x @ w.t() @ w.t() @ w.t() @ w.t())
    assert w.nbytes < captured.variants[0].program.describe()[1] < 1.5 * w.nbytes


def test_a_form_in_both_parts():
    torch.manual_seed(0)
    weights = [torch.randn(32, 32).requires_grad_() for _ in range(2)]
    weights[1].data.copy_(weights[0].data)

    def function(w, x):
        return torch.tanh(x @ w.t() @ w.t() @ w @ w)

    captured = Compiled(lambda x: function(weights[0], x), fullgraph=True)
    for _ in range(6):
        xs = [torch.randn(5, 32).requires_grad_()]
        xs.append(xs[0].detach().clone().requires_grad_())
        found, wanted = captured(xs[0]), function(weights[1], xs[1])
        g = torch.randn(5, 32)
        found.backward(g)
        wanted.backward(g)
        assert torch.equal(found, wanted) and torch.equal(xs[0].grad, xs[1].grad)
        assert torch.equal(weights[0].grad, weights[1].grad)
        with torch.no_grad():
            for w in weights:
                w.mul_(0.9)
    assert len(captured.variants) == 1
