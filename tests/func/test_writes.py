"""What functions write inside of transforms: into fresh tensors, views, what they were given and
what they captured. In plain torch API, so that it can be checked on PyTorch."""

import pytest

from _subject import torch

func = torch.func
fw = torch.autograd.forward_ad
ONES = torch.ones(2, 3)
X = torch.tensor([0.5, -1.0, 2.0])


def close(a, b):
    assert torch.allclose(a, b, atol=1e-6), f"{a}\n{b}"


def rewritten(write, read=lambda whole, row: (whole, row)):
    """A function that writes its argument into a fresh tensor of which a view was taken before."""

    def f(y):
        whole = torch.zeros(2, 3)
        row = whole[0]
        write(whole, row, y)
        a, b = read(whole, row)
        return (a.sin() * torch.arange(1.0, 7).reshape(2, 3)).sum() + (b.exp() * X).sum()

    return f


WRITES = {
    "copy_": lambda w, r, y: w.copy_(y),
    "setitem": lambda w, r, y: w.__setitem__(slice(None), y),
    "setitem of a row": lambda w, r, y: w.__setitem__(0, y[1]),
    "add_": lambda w, r, y: w.add_(y),
    "mul_ after add_": lambda w, r, y: w.add_(1).mul_(y),
    "through the view": lambda w, r, y: r.copy_(y[1]),
    "through the view, then the whole": lambda w, r, y: (r.copy_(y[1]), w.mul_(y)),
    "through the whole, then the view": lambda w, r, y: (w.copy_(y), r.mul_(y[1])),
    "through another view": lambda w, r, y: w[0].add_(y[1]),
    "through a transposed view": lambda w, r, y: w.t().copy_(y.t()),
    "fill_": lambda w, r, y: w.fill_(y.sum()),
    "index_put_": lambda w, r, y: w.__setitem__([0, 1], y),
    "index_add_": lambda w, r, y: w.index_add_(0, torch.tensor([0]), y[:1]),
    "masked_fill_": lambda w, r, y: w.copy_(y).masked_fill_(w > 0.9, 0.5),
    "of a view of a view": lambda w, r, y: r[1:].copy_(y[0, 1:]),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_reaches_the_views_that_were_taken_before(name):
    f, y = rewritten(WRITES[name]), torch.tensor([[0.3, 1.0, -0.2], [0.1, -0.4, 0.7]])
    want = func.jacrev(f)(y)
    close(func.jacfwd(f)(y), want)
    along = torch.tensor([[1.0, 0.0, 2.0], [-1.0, 0.5, 0.0]])
    close(func.jvp(f, (y,), (along,))[1], (want * along).sum())
    mapped = func.vmap(lambda t: func.jvp(f, (y,), (t,))[1])(torch.stack([along, along * 2]))
    close(mapped, torch.stack([(want * along).sum(), (want * along).sum() * 2]))
    with fw.dual_level():
        close(fw.unpack_dual(f(fw.make_dual(y, along))).tangent, (want * along).sum())


def test_sibling_views_of_which_one_is_written():
    def f(y):
        whole = torch.zeros(4)
        first, second, both = whole[:3], whole[1:], whole.view(2, 2)
        first.copy_(y)
        second.mul_(2)
        return both.sum() + (first * second).sum()

    close(func.jacfwd(f)(X), func.jacrev(f)(X))


def test_views_of_what_was_made_outside_of_the_level():
    whole = torch.zeros(3)
    part = whole[1:]
    with fw.dual_level():
        whole.copy_(fw.make_dual(X, torch.ones(3)))
        assert fw.unpack_dual(part).tangent.tolist() == [1, 1]
        part.mul_(3)
        assert fw.unpack_dual(whole).tangent.tolist() == [1, 3, 3]
    assert fw.unpack_dual(whole).tangent is None
    assert whole.tolist() == [0.5, -3, 6] and part.tolist() == [-3, 6]
    part.add_(1)
    assert whole.tolist() == [0.5, -2, 7] and whole._version == 3


def test_a_real_view_of_a_complex_tensor():
    def f(y):
        z = torch.zeros(3, dtype=torch.complex64)
        real, pairs = z.real, torch.view_as_real(z)
        z.copy_(torch.complex(y, y * y))
        return (real.exp() + pairs[:, 1].sin()).sum()

    close(func.jacfwd(f)(X), X.exp() + 2 * X * (X * X).cos())


def test_a_result_does_not_share_its_tangent():
    def f(x):
        y = x + 1
        y.mul_(2)
        return x * y

    # d/dx x (2 x + 2) = 4 x + 2
    close(func.jvp(f, (X,), (torch.ones(3),))[1], 4 * X + 2)
    for g in (lambda x: x + 1, lambda x: x - 1, lambda x: 0 + x, lambda x: x.clone() + 0):
        value, tangent = func.jvp(lambda x, g=g: (g(x).zero_(), x)[1], (X,), (torch.ones(3),))
        close(value, X)
        close(tangent, torch.ones(3))


def squares(x):
    out = torch.zeros(3)
    out[0] = x[0] * x[1]
    out[1:] = x[1:] ** 3
    part = out[1:]
    part.mul_(x[0])
    return out.sum()


def test_hessians_of_functions_that_write_into_fresh_tensors():
    # x0 x1 + x0 x1^3 + x0 x2^3
    a, b, c = X.tolist()
    want = torch.tensor(
        [
            [0, 1 + 3 * b * b, 3 * c * c],
            [1 + 3 * b * b, 6 * a * b, 0],
            [3 * c * c, 0, 6 * a * c],
        ]
    )
    close(func.hessian(squares)(X), want)
    close(func.jacrev(func.jacrev(squares))(X), want)
    close(func.jacrev(func.jacfwd(squares))(X), want)
    functional = torch.autograd.functional
    for options in (
        {"vectorize": True},
        {"vectorize": True, "outer_jacobian_strategy": "forward-mode"},
    ):
        close(functional.hessian(squares, X, **options), want)


def test_control_flow_by_values_that_no_element_differs_in():
    def f(x):
        return (x**3).sum() if x.sum() > 0 else x.sum()

    close(func.hessian(f)(X), torch.diag(6 * X))
    close(func.hessian(lambda x: (x**3).sum() * x.sum().item())(X), torch.diag(6 * X) * 1.5)
    rows = func.vmap(lambda t: (t, func.grad(f)(X)), out_dims=(0, None))(torch.ones(2))
    close(rows[1], 3 * X**2)


CAPTURED = (
    r"During a grad \(vjp, jvp, grad, etc\) transform, the function provided attempted to call "
    r"in-place operation \({}\) that would mutate a captured Tensor"
)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("aten::add_.Tensor", lambda c, x: c.add_(x)),
        ("aten::add_.Tensor", lambda c, x: c.add_(1)),
        ("aten::copy_", lambda c, x: c.copy_(x)),
        ("aten::copy_", lambda c, x: c.__setitem__(0, x[0])),
        ("aten::copy_", lambda c, x: c.__setitem__(0, 1.0)),
        ("aten::index_put_", lambda c, x: c.__setitem__([0], x[0])),
        ("aten::fill_.Scalar", lambda c, x: c.fill_(2.0)),
        ("aten::zero_", lambda c, x: c.zero_()),
        ("aten::pow_.Scalar", lambda c, x: c.pow_(2)),
        ("aten::div_.Tensor", lambda c, x: c.div_(2)),
        ("aten::clamp_min_", lambda c, x: c.clamp_min_(2)),
        ("aten::clamp_.Tensor", lambda c, x: c.clamp_(x)),
        ("aten::xlogy_.Scalar_Other", lambda c, x: c.xlogy_(2)),
        ("aten::bitwise_left_shift_.Tensor_Scalar", lambda c, x: c.bitwise_left_shift_(1)),
        ("aten::logical_and_", lambda c, x: c.logical_and_(x)),
        ("aten::scatter_.value", lambda c, x: c.scatter_(0, (x > 9).long(), 1.0)),
        ("aten::index_fill_.int_Scalar", lambda c, x: c.index_fill_(0, (x[:1] > 9).long(), 1.0)),
        ("aten::scatter_reduce_.two", lambda c, x: c.scatter_reduce_(0, (x > 9).long(), x, "sum")),
        ("aten::bernoulli_.float", lambda c, x: c.bernoulli_(0.5)),
        ("aten::bernoulli_.Tensor", lambda c, x: c.bernoulli_(x.detach() * 0)),
        ("aten::random_.to", lambda c, x: c.random_(2)),
        ("aten::random_.from", lambda c, x: c.random_(1, 2)),
        ("aten::masked_fill_.Scalar", lambda c, x: c.masked_fill_(c > 0, 1.0)),
        ("aten::sin_", lambda c, x: c.sin_()),
        ("aten::t_", lambda c, x: c.t_()),
        ("aten::unsqueeze_", lambda c, x: c.unsqueeze_(0)),
        ("aten::squeeze_.dim", lambda c, x: c.squeeze_(0)),
        ("aten::resize_", lambda c, x: c.resize_(3)),
        ("aten::uniform_", lambda c, x: c.uniform_()),
        ("aten::normal_", lambda c, x: c.normal_()),
        ("aten::detach_", lambda c, x: c.detach_()),
        ("aten::mul_.Tensor", lambda c, x: c[0].mul_(2)),
        ("aten::mul_.Tensor", lambda c, x: c.detach().mul_(2)),
        ("aten::mul_.Tensor", lambda c, x: c.data.mul_(2)),
        ("aten::mul_.Tensor", lambda c, x: func.vmap(lambda e: e.mul_(2))(c)),
    ],
)
def test_what_a_function_captured_is_not_written(name, write):
    captured = torch.ones(3)

    def f(x):
        write(captured, x)
        return x.sum()

    for transformed in (func.grad(f), lambda x: func.jvp(f, (x,), (x,)), lambda x: func.vjp(f, x)):
        with pytest.raises(RuntimeError, match=CAPTURED.format(name)):
            transformed(X)
    assert captured.tolist() == [1, 1, 1] and not captured.requires_grad
    assert captured._version == 0


def test_what_an_outer_function_made_is_captured_by_the_inner_one():
    def outer(x):
        made = x * 1
        return func.grad(lambda y: (made.add_(y), (made * y).sum())[1])(x).sum()

    with pytest.raises(RuntimeError, match=CAPTURED.format("aten::add_.Tensor")):
        func.grad(outer)(X)


def test_what_a_function_was_given_is_written():
    given = torch.zeros(3)

    def f(x, b):
        b.add_(x)
        return (x * b).sum()

    close(func.grad(f)(X, given), 2 * X)
    close(given, X)
    close(func.grad(f)(X, b=given), 3 * X)
    close(given, 2 * X)
    assert not given.requires_grad
    close(func.jacrev(lambda x, b: (b.add_(1), x * b)[1])(X, given), torch.diag(2 * X + 1))
    close(func.jacfwd(lambda x, b: (b.add_(1), x * b)[1])(X, given), torch.diag(2 * X + 2))
    close(given, 2 * X + 2)
    value, tangent = func.jvp(lambda x: x.mul_(2), (X.clone(),), (torch.ones(3),))
    close(value, 2 * X)
    close(tangent, torch.full((3,), 2.0))

    def outer(x):
        made = x * 1
        return func.grad(lambda y, z: (z.add_(y), (z * y).sum())[1])(x, made).sum() + made.sum()

    # the inner gradient is z + y after the write, which is 3 x; made is 2 x
    close(func.grad(outer)(X), torch.full((3,), 5.0))


def test_a_given_tensor_with_a_history_keeps_it():
    leaf = X.clone().requires_grad_()
    given = leaf * 1
    func.grad(lambda x, b: (b.mul_(x), (x * b).sum())[1])(X, given)
    close(given, X * X)
    close(torch.autograd.grad(given.sum(), leaf)[0], X)


def test_vmap_writes_to_its_inputs_with_their_history():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.zeros(2, 3)
    func.vmap(lambda a, b: a.add_(b))(y, w)
    assert y.tolist() == [[1.0] * 3, [2.0] * 3]
    assert torch.autograd.grad(y.sum(), w)[0].tolist() == [3, 3]
    y = torch.zeros(3, 2)
    func.vmap(lambda a, b: a.add_(b), in_dims=(1, 0))(y, w)
    assert torch.autograd.grad(y.sum(), w)[0].tolist() == [3, 3]
    leaf = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used"):
        func.vmap(lambda a: a.add_(1))(leaf)
    y = leaf * 1
    func.vmap(lambda a: a.mul_(3))(y)
    assert torch.autograd.grad(y.sum(), leaf)[0].tolist() == [[3.0] * 3] * 2


def test_vmap_gives_back_the_tensor_itself():
    y = torch.ones(2, 3)
    assert func.vmap(lambda a: a)(y) is y
    assert func.vmap(lambda a: a.abs_())(y) is y
    assert func.vmap(lambda a: a.view(-1))(y)._base is y
    assert func.vmap(lambda a: a[0], in_dims=1)(y)._base is y
    y = torch.ones(2, 3, 4)
    for f, dim in ((lambda a: a.t().view(-1), 0), (lambda a: a.view(-1), 1)):
        with pytest.raises(RuntimeError, match="view size is not compatible with input tensor's"):
            func.vmap(f, in_dims=dim)(y)
    assert func.vmap(lambda a: a.t().reshape(-1))(y).shape == (2, 12)


SHARED = r"vmap: {}\(self, \*extra_args\) is not possible because there exists a Tensor `other` in"


@pytest.mark.parametrize(
    ("words", "write"),
    [
        (SHARED.format("inplace arithmetic"), lambda c, x: c.mul_(x)),
        (SHARED.format("inplace arithmetic"), lambda c, x: c.copy_(x)),
        (SHARED.format("inplace arithmetic"), lambda c, x: c.__setitem__(0, x[0])),
        (SHARED.format("index_put_"), lambda c, x: c.__setitem__([0, 1, 2], x)),
        (SHARED.format("fill_"), lambda c, x: c.fill_(x.sum())),
        (SHARED.format("aten::pow_"), lambda c, x: c.pow_(x)),
        (SHARED.format("inplace arithmetic"), lambda c, x: c.masked_fill_(x > 0, 1.0)),
        (SHARED.format("aten::masked_fill_"), lambda c, x: c.masked_fill_(c == 0, x.sum())),
        (SHARED.format("aten::lerp_"), lambda c, x: c.lerp_(x, 0.5)),
        (SHARED.format("aten::scatter_"), lambda c, x: c.scatter_(0, (x > 9).long(), 1.0)),
        (SHARED.format("inplace bernoulli"), lambda c, x: c.bernoulli_(x)),
        (
            r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]",
            lambda c, x: c.add_(x),
        ),
    ],
)
def test_what_all_elements_share_is_not_written_with_what_differs(words, write):
    with pytest.raises(RuntimeError, match=words):
        func.vmap(lambda x: write(torch.zeros(3), x), randomness="different")(torch.ones(2, 3))


def test_a_saved_argument_that_is_overwritten_under_vmap():
    """The rule of div reads the overwritten tensor, which needs no gradient itself."""

    def f(x, t):
        out = t.clone()
        out.div_(x)
        return out.sum()

    rows = func.vmap(func.grad(f))(X.expand(2, 3), torch.stack([X, 2 * X]))
    close(rows, torch.stack([-1 / X, -2 / X]))


def test_what_as_strided_shows_beyond_a_view_keeps_its_gradient():
    def f(x):
        y = x * 1
        beyond = y[::2].as_strided((2,), (1,))
        beyond.cumsum_(0)
        return (y**3).sum()

    a, b, _ = X.tolist()
    want = torch.diag(6 * X)
    want[0, 0], want[0, 1] = 6 * a + 6 * (a + b), 6 * (a + b)
    want[1, 0], want[1, 1] = 6 * (a + b), 6 * (a + b)
    close(func.hessian(f)(X), want)
    close(func.jacrev(func.jacrev(f))(X), want)


def test_views_of_a_view_that_was_given_another_shape_in_place():
    def f(x):
        whole = x.new_zeros(2, 3)
        row = whole[0]
        first = row.narrow(0, 0, 1)
        row.unsqueeze_(0)
        whole[0] = x * 1
        return (row * row).sum() + (first**3).sum()

    want = torch.diag(torch.tensor([2 + 6 * X[0].item(), 2.0, 2.0]))
    close(func.jacfwd(func.grad(f))(X), want)
    close(func.jacrev(func.jacfwd(f))(X), want)
    close(func.hessian(f)(X), want)


def test_numbers_written_where_only_the_value_has_a_batch():
    def f(x):
        y = x * 1
        y[0] = 0.7
        y[1:].mul_(x[0])
        return y

    def outer(x):
        return func.jacfwd(lambda q: f(q) * x.sum())(x).sin().sum()

    rows = torch.stack([X, X * 0.5])
    close(func.vmap(func.grad(outer))(rows), torch.stack([func.grad(outer)(r) for r in rows]))
