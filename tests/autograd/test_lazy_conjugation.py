"""`conj()` of a complex tensor is a view, and so is the imaginary part of one: writes go through,
and everything that reads values has the conjugate. Expectations are from NumPy and mathematics."""

import copy
import gc
import io
import pickle
import sys

import numpy as np
import pytest

import rushlight as torch

VALUES = np.array([[1 + 2j, 3 - 1j], [0.5j, -2 + 0j]])


def made(dtype=None, **given):
    return torch.tensor(VALUES.tolist(), dtype=dtype or torch.complex128, **given)


def numbers(x):
    return np.array(x.tolist())


def same(x, expected):
    __tracebackhide__ = True
    assert np.allclose(numbers(x), expected, rtol=1e-12, atol=1e-12), (x, expected)


# ---- the bits


def test_a_conjugate_is_a_view_with_a_bit():
    a = made()
    b = a.conj()
    assert b.is_conj() and torch.is_conj(b) and not a.is_conj() and not b.is_neg()
    assert b._base is a and b.data_ptr() == a.data_ptr()
    same(b, VALUES.conj())


def test_twice_is_the_tensor_as_it_was():
    a = made()
    assert not a.conj().conj().is_conj() and not torch._neg_view(torch._neg_view(a)).is_neg()
    same(a.conj().conj(), VALUES)
    same(torch._neg_view(a.conj()), -VALUES.conj())


def test_a_real_tensor_is_its_own_conjugate():
    a = torch.ones(2)
    assert a.conj() is a and a.resolve_conj() is a and a.resolve_neg() is a
    assert not a.is_conj() and not a.is_neg()


def test_the_imaginary_part_of_a_conjugate_is_a_negative_view():
    a = made()
    i, r = a.conj().imag, a.conj().real
    assert i.is_neg() and not i.is_conj() and not r.is_neg()
    assert i._base is a
    same(i, -VALUES.imag)
    same(r, VALUES.real)


VIEWS = {
    "index": (lambda x: x[0], lambda x: x[0]),
    "slice": (lambda x: x[:, 1:], lambda x: x[:, 1:]),
    "t": (lambda x: x.t(), lambda x: x.T),
    "reshape": (lambda x: x.view(4), lambda x: x.reshape(4)),
    "unsqueeze": (lambda x: x[None], lambda x: x[None]),
    "expand": (lambda x: x.expand(3, 2, 2), lambda x: np.broadcast_to(x, (3, 2, 2))),
    "diagonal": (lambda x: x.diagonal(), np.diagonal),
    "unbind": (lambda x: x.unbind()[1], lambda x: x[1]),
    "chunk": (lambda x: x.chunk(2)[1], lambda x: x[1:]),
    "strided": (lambda x: x.as_strided((2,), (1,), 1), lambda x: x.reshape(-1)[1:3]),
    "detach": (lambda x: x.detach(), lambda x: x),
    "data": (lambda x: x.data, lambda x: x),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_take_the_bit_over(name):
    ours, theirs = VIEWS[name]
    seen = ours(made().conj())
    assert seen.is_conj()
    same(seen, theirs(VALUES.conj()))


def test_the_adjoint_is_a_view():
    a = made()
    for x in (a.mH, a.H, torch.adjoint(a)):
        assert x.is_conj() and x.data_ptr() == a.data_ptr()
        same(x, VALUES.conj().T)
    assert torch.tensor(1j).mH.is_conj()
    assert torch.tensor(1.0).mH.item() == torch.tensor(1.0).mT.item() == 1.0


def test_results_have_no_bits():
    a = made()
    for x in (a.conj() + 0, a.conj().clone(), a.conj().resolve_conj(), a.mH.contiguous(),
              torch.conj_physical(a.conj()), torch.zeros_like(a.conj()),
              a.conj().to(torch.complex64), torch.tensor(a.conj().tolist())):  # fmt: skip
        assert not x.is_conj() and x.data_ptr() != a.data_ptr()
    assert a.conj().contiguous().is_conj()
    assert not a.conj().imag.resolve_neg().is_neg() and a.conj().resolve_neg().is_conj()


# ---- writes through


WRITES = {
    "number": (lambda b: b.__setitem__(0, 5 + 1j), lambda b: b.__setitem__(0, 5 + 1j)),
    "real_number": (lambda b: b.__setitem__(0, 5), lambda b: b.__setitem__(0, 5)),
    "all": (lambda b: b.__setitem__(slice(None), 5j), lambda b: b.fill(5j)),
    "mask": (
        lambda b: b.__setitem__(b.abs() > 2, 5j),
        lambda b: b.__setitem__(np.abs(b) > 2, 5j),
    ),
    "places": (
        lambda b: b.__setitem__(torch.tensor([1, 0]), torch.tensor([1j, 2j], dtype=b.dtype)),
        lambda b: b.__setitem__([1, 0], [1j, 2j]),
    ),
    "lazy_value": (
        lambda b: b.__setitem__(1, torch.tensor([1j, 2j], dtype=b.dtype).conj()),
        lambda b: b.__setitem__(1, [-1j, -2j]),
    ),
    "fill_": (lambda b: b.fill_(1j), lambda b: b.fill(1j)),
    "zero_": (lambda b: b.zero_(), lambda b: b.fill(0)),
    "mul_": (lambda b: b.mul_(2j), lambda b: np.multiply(b, 2j, b)),
    "add_itself": (lambda b: b.add_(b), lambda b: np.add(b, b, b)),
    "add_its_own_conjugate": (lambda b: b.add_(b.conj()), lambda b: np.add(b, b.conj(), b)),
    "exp_": (lambda b: b.exp_(), lambda b: np.exp(b, b)),
    "iadd": (lambda b: b.__iadd__(1j), lambda b: np.add(b, 1j, b)),
    "copy_": (lambda b: b.copy_(made()), lambda b: np.copyto(b, VALUES)),
    "copy_lazy": (lambda b: b.copy_(made().conj()), lambda b: np.copyto(b, VALUES.conj())),
    "conj_physical_": (lambda b: b.conj_physical_(), lambda b: np.conjugate(b, b)),
    "cumsum_": (lambda b: b.cumsum_(0), lambda b: np.copyto(b, b.cumsum(0))),
    "masked_fill_": (
        lambda b: b.masked_fill_(b.abs() > 2, 1j),
        lambda b: b.__setitem__(np.abs(b) > 2, 1j),
    ),
    "index_add_": (
        lambda b: b.index_add_(0, torch.tensor([1]), made(b.dtype)[:1].conj()),
        lambda b: np.add.at(b, [1], VALUES[:1].conj()),
    ),
    "out": (lambda b: torch.mul(made(), 2, out=b), lambda b: np.copyto(b, VALUES * 2)),
    "out_product": (
        lambda b: torch.mm(made(b.dtype), made(b.dtype), out=b),
        lambda b: np.copyto(b, VALUES @ VALUES),
    ),
    "out_full": (lambda b: torch.full((2, 2), 1j, out=b), lambda b: b.fill(1j)),
    "real": (lambda b: setattr(b, "real", torch.ones(2, 2)), lambda b: setattr(b, "real", 1)),
    "imag": (
        lambda b: setattr(b, "imag", torch.full((2, 2), 7.0)),
        lambda b: setattr(b, "imag", 7),
    ),
    "imag_in_place": (lambda b: b.imag.add_(1), lambda b: np.add(b.imag, 1, b.imag)),
    "transposed": (lambda b: b.t().mul_(1j), lambda b: np.multiply(b, 1j, b)),
    "constant_": (lambda b: torch.nn.init.constant_(b, 2), lambda b: b.fill(2)),
}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", WRITES)
def test_a_write_through_a_conjugate_changes_the_tensor(name, dtype):
    ours, theirs = WRITES[name]
    a = made(getattr(torch, dtype))
    b = a.conj()
    ours(b)
    expected = VALUES.conj().astype(dtype)
    theirs(expected)
    assert b.is_conj() and a._version == b._version > 0
    assert np.allclose(numbers(b), expected, rtol=1e-6)
    assert np.allclose(numbers(a), expected.conj(), rtol=1e-6)


def test_a_write_through_a_negative_changes_the_tensor():
    a = made()
    i = a.conj().imag
    i[0] = 5
    i.mul_(2).add_(1)
    same(a.imag, [[-11, -11], [0, -1]])
    same(a.real, VALUES.real)
    assert a._version == i._version == 3


def test_a_failed_write_changes_nothing():
    a = made()
    b = a.conj()
    with pytest.raises(RuntimeError):
        b.add_(torch.ones(3))
    with pytest.raises(RuntimeError):
        b.imag.mul_(1j)
    same(a, VALUES)
    assert a._version == 0


def test_random_numbers_and_functions_of_elements_go_through():
    a = made()
    b = a.conj().imag
    torch.manual_seed(0)
    b.uniform_(2, 3)
    assert ((numbers(b) >= 2) & (numbers(b) <= 3)).all() and (numbers(a).imag <= -2).all()
    b.apply_(lambda x: 1.0)
    same(a.imag, -np.ones((2, 2)))
    b.map_(torch.full((2, 2), 4.0, dtype=torch.float64), lambda x, y: x + y)
    same(a.imag, -5 * np.ones((2, 2)))


# ---- values


LINEAR_ALGEBRA = {
    "matmul": (lambda t, a, b: a @ b, lambda a, b: a @ b),
    "mm": (lambda t, a, b: t.mm(a, b), lambda a, b: a @ b),
    "bmm": (lambda t, a, b: t.bmm(a[None], b[None])[0], lambda a, b: a @ b),
    "addmm": (lambda t, a, b: t.addmm(b, a, b, beta=2), lambda a, b: 2 * b + a @ b),
    "mv": (lambda t, a, b: t.mv(a, b[0]), lambda a, b: a @ b[0]),
    "dot": (lambda t, a, b: t.dot(a[0], b[1]), lambda a, b: a[0] @ b[1]),
    "vdot": (lambda t, a, b: t.vdot(a[0], b[1]), lambda a, b: np.vdot(a[0], b[1])),
    "outer": (lambda t, a, b: t.outer(a[0], b[1]), lambda a, b: np.outer(a[0], b[1])),
    "einsum": (lambda t, a, b: t.einsum("ij,kj->ik", a, b), lambda a, b: a @ b.T),
    "linear": (lambda t, a, b: t.nn.functional.linear(a, b), lambda a, b: a @ b.T),
    "kron": (lambda t, a, b: t.kron(a, b), np.kron),
    "inv": (lambda t, a, b: t.linalg.inv(a), lambda a, b: np.linalg.inv(a)),
    "det": (lambda t, a, b: t.linalg.det(a), lambda a, b: np.linalg.det(a)),
    "solve": (lambda t, a, b: t.linalg.solve(a, b), np.linalg.solve),
    "svdvals": (lambda t, a, b: t.linalg.svdvals(a), lambda a, b: np.linalg.svd(a)[1]),
    "eigvalsh": (
        lambda t, a, b: t.linalg.eigvalsh(a @ a.mH),
        lambda a, b: np.linalg.eigvalsh(a @ a.conj().T),
    ),
    "norm": (lambda t, a, b: t.linalg.norm(a), lambda a, b: np.linalg.norm(a)),
    "mul": (lambda t, a, b: a * b, lambda a, b: a * b),
    "cat": (lambda t, a, b: t.cat([a, b, a.t()]), lambda a, b: np.concatenate([a, b, a.T])),
    "stack": (lambda t, a, b: t.stack([a, b]), lambda a, b: np.stack([a, b])),
    "where": (
        lambda t, a, b: t.where(t.tensor([True, False]), a, b),
        lambda a, b: np.where([True, False], a, b),
    ),
    "sum": (lambda t, a, b: a.sum(0) + b.mean(), lambda a, b: a.sum(0) + b.mean()),
    "prod": (lambda t, a, b: a.prod(), lambda a, b: a.prod()),
    "index": (lambda t, a, b: a[t.tensor([1, 1])], lambda a, b: a[[1, 1]]),
    "mask": (lambda t, a, b: a[b.abs() > 1], lambda a, b: a[np.abs(b) > 1]),
    "angle": (lambda t, a, b: a.angle() + b.abs(), lambda a, b: np.angle(a) + np.abs(b)),
    "exp": (lambda t, a, b: a.exp(), lambda a, b: np.exp(a)),
    "roll": (lambda t, a, b: a.roll(1, 0), lambda a, b: np.roll(a, 1, 0)),
    "equal": (lambda t, a, b: a == a.conj(), lambda a, b: a == a.conj()),
}  # fmt: skip


@pytest.mark.parametrize("which", ["first", "second", "both", "transposed"])
@pytest.mark.parametrize("name", LINEAR_ALGEBRA)
def test_ops_read_values(name, which):
    ours, theirs = LINEAR_ALGEBRA[name]
    other = VALUES + np.array([[2, 1j], [1, 3]])
    lazy = {"first": (True, False), "second": (False, True)}.get(which, (True, True))
    arrays = [v.conj() if put_off else v for v, put_off in zip((VALUES, other), lazy, strict=True)]
    args = [torch.tensor(v.tolist(), dtype=torch.complex128) for v in (VALUES, other)]
    args = [x.conj() if put_off else x for x, put_off in zip(args, lazy, strict=True)]
    if which == "transposed":
        arrays, args = [v.T for v in arrays], [x.t() for x in args]
    same(ours(torch, *args), theirs(*arrays))


def test_real_ops_read_negatives():
    x = made().conj().imag
    v = -VALUES.imag
    same(x @ x, v @ v)
    same(torch.nn.functional.linear(x, x, x[0]), v @ v.T + v[0])
    same(torch.nn.functional.conv1d(x[None], x[None, :, :1]), (v[:, :1].T @ v)[None])
    same(x.sort().values, np.sort(v))
    assert x.max().item() == v.max() and x.argmax().item() == v.argmax()
    same(torch.cumsum(x, 0), v.cumsum(0))
    same(x.half(), v)
    assert torch.arange(5)[torch._neg_view(torch.tensor([-1, -2]))].tolist() == [1, 2]
    assert torch.arange(5)[: torch._neg_view(torch.tensor(-2))].tolist() == [0, 1]


def test_comparisons():
    a = made()
    assert torch.equal(a.conj(), torch.conj_physical(a)) and not torch.equal(a.conj(), a)
    assert torch.allclose(a.conj(), torch.conj_physical(a))
    assert (a.conj() == a).tolist() == (VALUES.conj() == VALUES).tolist()
    assert (1 - 2j) in a.conj()


# ---- as Python and NumPy see them


def test_numpy_is_refused():
    a = made()
    refused = (
        r"^Can't call numpy\(\) on Tensor that has {} bit set. "
        r"Use tensor.resolve_{}\(\).numpy\(\) instead.$"
    )
    with pytest.raises(RuntimeError, match=refused.format("conjugate", "conj")):
        a.conj().numpy()
    with pytest.raises(RuntimeError, match=refused.format("negative", "neg")):
        a.conj().imag.numpy()
    with pytest.raises(RuntimeError, match="conjugate bit set"):
        np.asarray(a.conj())
    assert np.array_equal(a.conj().numpy(force=True), VALUES.conj())
    assert np.array_equal(a.conj().resolve_conj().numpy(), VALUES.conj())
    assert np.array_equal(a.conj().imag.resolve_neg().numpy(), -VALUES.imag)
    with pytest.raises((RuntimeError, TypeError)):
        memoryview(a.conj())


def test_an_array_of_values_does_not_take_writes():
    with pytest.raises(ValueError, match="read-only"):
        made().conj()._array[0] = 1


def test_view_as_real_and_other_dtypes_are_refused():
    a = made()
    with pytest.raises(RuntimeError, match=r"^view_as_real doesn't work on unresolved conjugated"):
        torch.view_as_real(a.conj())
    same(torch.view_as_real(a.conj().resolve_conj())[..., 1], -VALUES.imag)
    with pytest.raises(RuntimeError, match=r"^torch.Tensor.view is not supported for conjugate"):
        a.conj().view(torch.float64)
    with pytest.raises(RuntimeError, match=r"^torch.Tensor.view is not supported for tensors with"):
        a.conj().imag.view(torch.int64)
    pairs = torch._neg_view(torch.view_as_real(a))
    joined = torch.view_as_complex(pairs)
    assert joined.is_neg() and joined.data_ptr() == a.data_ptr()
    same(joined, -VALUES)


def test_the_storage_of_one_number_as_pairs():
    a = made()
    assert a[1, 0].real.storage_offset() == 4 and a.conj()[1, 0].imag.storage_offset() == 5
    same(a[1, 0].real.as_strided((2,), (2,)), VALUES[1].real)
    same(a.conj()[1, 0].imag.as_strided((2,), (2,)), -VALUES[1].imag)


def test_numbers_and_text():
    one = torch.tensor([1 + 2j]).conj()
    assert one.item() == complex(one) == one.tolist()[0] == 1 - 2j
    assert float(one.imag) == -2.0 and one.imag.item() == -2.0 and bool(one)
    assert f"{torch.tensor(1 + 2j).conj():.1f}" == "1.0-2.0j"
    assert repr(made(torch.complex64)[0].conj()) == "tensor([1.-2.j, 3.+1.j])"
    assert repr(one.imag) == "tensor([-2.])"
    assert list(range(torch._neg_view(torch.tensor(-3)))) == [0, 1, 2]
    assert [x.item() for x in made().conj()[0]] == [1 - 2j, 3 + 1j]


# ---- copies and files


def copied_to_a_file(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), copied_to_a_file]
)
def test_copies_and_files(again):
    a = made()
    same(again(a.conj()), VALUES.conj())
    same(again(a.conj().imag), -VALUES.imag)
    same(again(a.mH), VALUES.conj().T)
    assert again(a.conj()).dtype is torch.complex128


def test_files_keep_the_bits_and_the_shared_memory():
    a = made()
    b = a.conj()
    a2, b2 = copied_to_a_file([a, b])
    assert b2.is_conj() and not a2.is_conj() and copied_to_a_file(b.imag).is_neg()
    a2[0, 0] = 7 + 7j
    assert b2[0, 0].item() == 7 - 7j


def test_a_parameter_of_a_conjugate():
    a = made()
    p = torch.nn.Parameter(a.conj())
    same(p, VALUES.conj())
    same(copied_to_a_file(p), VALUES.conj())
    with torch.no_grad():
        p.zero_()
    same(a, 0 * VALUES)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "RMSprop", "Adagrad"])
def test_optimizers_write_through(kind):
    def trained(parameter, grad):
        parameter.grad = grad
        getattr(torch.optim, kind)([parameter], lr=0.5).step()
        return parameter.detach()

    a = made()
    start, grad = torch.tensor((-VALUES.imag).tolist()), torch.ones(2, 2, dtype=torch.float64)
    expected = numbers(trained(torch.nn.Parameter(start.double()), grad))
    lazy = trained(torch.nn.Parameter(a.conj().imag), torch._neg_view(-grad))
    same(lazy, expected)
    same(a.imag, -expected)


# ---- data, set_, resize_


def test_data_takes_the_bits_over():
    a, x = made(), made()
    x.data = a.conj()
    assert x.is_conj()
    x[0, 0] = 9j
    assert a[0, 0].item() == -9j
    x.data = a
    assert not x.is_conj() and x[0, 0].item() == -9j


def test_set_takes_memory_and_keeps_the_bits():
    a, x = made(), made()
    x.set_(a.conj())
    same(x, VALUES)
    assert not x.is_conj() and x.data_ptr() == a.data_ptr()
    y = made().conj()
    y.set_(a)
    assert y.is_conj()
    same(y, VALUES.conj())


def test_resize_keeps_the_bits():
    b = made().conj()
    b.resize_(4)
    assert b.is_conj()
    same(b, VALUES.conj().reshape(4))


# ---- gradients


def gradient_of(function):
    a = made(requires_grad=True)
    function(a).backward()
    return numbers(a.grad)


def test_gradients():
    # of f(a), real: df/dRe(a) + i df/dIm(a)
    assert np.allclose(gradient_of(lambda a: (a * a.conj()).real.sum()), 2 * VALUES)
    assert np.allclose(gradient_of(lambda a: a.conj().imag.sum()), -1j)
    assert np.allclose(gradient_of(lambda a: a.conj().real.sum()), 1)
    assert np.allclose(gradient_of(lambda a: (a.conj() ** 2).real.sum()), 2 * VALUES.conj())
    assert np.allclose(gradient_of(lambda a: (a @ a.mH).diagonal().sum().real), 2 * VALUES)
    assert np.allclose(gradient_of(lambda a: (a.conj().imag * a.imag).sum()), -2j * VALUES.imag)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a.conj() * b,
        lambda a, b: a.mH @ b.conj(),
        lambda a, b: torch.nn.functional.linear(a.conj(), b.conj()),
        lambda a, b: a.conj().exp().conj() * b,
        lambda a, b: torch.linalg.solve(a.mH + 5 * torch.eye(2), b.conj()),
        lambda a, b: torch.cat([a.conj(), b])[:, 0].resolve_conj(),
        lambda a, b: a.conj().imag * b.conj().real,
        lambda a, b: torch._neg_view(a.conj()).clone().mul_(b.conj()),
        lambda a, b: (a * 1).conj().mul_(b).conj(),
        lambda a, b: torch.view_as_complex(torch._neg_view(torch.view_as_real(a))) * b,
        lambda a, b: torch.einsum("ij,jk->ik", a.conj(), b.conj()),
        lambda a, b: torch.where(a.conj().abs() > 1, a.conj(), b),
    ],
)
def test_gradcheck(function):
    a, b = made(requires_grad=True), (made() * (0.5 + 1j)).requires_grad_()
    assert torch.autograd.gradcheck(function, (a, b))
    assert torch.autograd.gradcheck(function, (a, b), check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(function, (a, b))


def test_gradcheck_of_a_lazy_input():
    x = made().conj().requires_grad_()
    assert x.is_leaf and x.is_conj()
    assert torch.autograd.gradcheck(lambda x: x * x.conj() + x.imag, (x,))


def test_gradients_through_writes():
    a = made(requires_grad=True)
    b = a * 1
    c = b.conj()
    c[0] = c[1] * 2
    b.real.sum().backward()
    same(a.grad, [[0, 0], [3, 3]])

    a = made(requires_grad=True)
    b = a * 1
    b.conj().imag.mul_(3)
    b.imag.sum().backward()
    same(a.grad, 3j * np.ones((2, 2)))


def test_views_of_a_root_that_was_written_have_its_new_history():
    a = made(requires_grad=True)
    b = a * 1
    c, i = b.conj(), b.conj().imag
    b.mul_(2)
    assert type(c.grad_fn).__name__ == "ConjBackward0"
    assert [type(n).__name__ for n, _ in i.grad_fn.next_functions] == ["NegViewBackward0"]
    (c.real.sum() + i.sum()).backward()
    same(a.grad, (2 - 2j) * np.ones((2, 2)))


def test_nodes():
    a = made(requires_grad=True)
    assert type(a.conj().grad_fn).__name__ == "ConjBackward0"
    assert type(a.conj().resolve_conj().grad_fn).__name__ == "CloneBackward0"
    assert type(torch._neg_view(a).grad_fn).__name__ == "NegViewBackward0"
    b = a * 1
    b.conj_physical_()
    assert type(b.grad_fn).__name__ == "ConjPhysicalBackward1"
    i = a.conj().imag
    assert type(i.grad_fn).__name__ == "SelectBackward0"


def test_saved_values_keep_the_bits():
    a = made(requires_grad=True)
    c = a.conj()
    node = (c**2).grad_fn
    assert node._saved_self.is_conj()
    same(node._saved_self, VALUES.conj())

    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        y = c**2
    assert kept[0].is_conj()
    y.real.sum().backward()
    same(a.grad, 2 * VALUES.conj())


def test_a_write_after_saving_is_told():
    a = made(requires_grad=True)
    s = made().conj()
    y = (a * s).real.sum()
    s[0] = 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    t = made()
    y = (a * t.conj()).real.sum()
    t.mul_(2)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        y.backward()


def test_a_leaf_is_not_written_through_its_conjugate():
    a = made(requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        a.conj().mul_(2)
    with torch.no_grad():
        a.conj()[0] = 1j
    assert a[0, 0].item() == -1j


def test_hooks_and_given_gradients():
    a = made(requires_grad=True)
    c = a.conj()
    seen = []
    c.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
    g = made()
    c.backward(g)
    assert seen == [VALUES.tolist()]
    same(a.grad, 2 * VALUES.conj())

    a = made(requires_grad=True)
    a.conj().backward(g)
    a.grad.zero_()
    same(g, VALUES)  # nothing that the program gave is written
    (a * 1).backward(g.conj())
    same(a.grad, VALUES.conj())
    (a * 1).backward(g.conj())
    same(a.grad, 2 * VALUES.conj())


def test_a_lazy_grad_is_added_to():
    a = made(requires_grad=True)
    kept = made()
    a.grad = kept.conj()
    (a * 1).sum().backward(torch.tensor(1j, dtype=torch.complex128))
    same(a.grad, VALUES.conj() + 1j)
    same(kept, VALUES - 1j)


def test_gradients_of_gradients_stay_lazy():
    a = made(requires_grad=True)
    (g,) = torch.autograd.grad(a.conj(), a, made())
    assert g.is_conj()
    same(g, VALUES.conj())


def test_anomaly_mode_looks_at_values():
    a = made(requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=True), pytest.raises(RuntimeError, match="nan"):
        a.conj().imag.sub(a.conj().imag).sqrt().pow(1.5).div(0).sum().backward()


def test_mutation_on_saved_tensors():
    a = made(requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        b = a * 1
        c = b.conj()
        y = (c**2).real.sum()
        c.zero_()
        y.backward()
    same(a.grad, 2 * VALUES.conj())

    a = made(requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        b = a * 1
        y = (b * b.conj()).real.sum()
        b.zero_()
        y.backward()
    same(a.grad, 2 * VALUES)


# ---- transforms


def test_transforms():
    a = made()
    f = torch.func
    value, tangent = f.jvp(lambda x: x.conj() * x, (a,), (a * 1j,))
    same(value, VALUES.conj() * VALUES)
    same(tangent, (VALUES * 1j).conj() * VALUES + VALUES.conj() * VALUES * 1j)
    same(f.vmap(lambda x: x.conj() * 2)(a), VALUES.conj() * 2)
    same(f.vmap(lambda x: x.imag * 2)(a.conj()), -VALUES.imag * 2)
    assert f.vmap(lambda x: x.conj())(a).is_conj()
    same(
        f.vmap(torch.mm, (None, 0))(a.conj(), a.conj()[None]), (VALUES.conj() @ VALUES.conj())[None]
    )
    same(f.grad(lambda x: (x.conj() * x).real.sum())(a), 2 * VALUES)
    same(f.grad(lambda x: (x.conj() * x).real.sum())(a.conj()), 2 * VALUES.conj())


def test_writes_under_vmap_and_with_tangents():
    def step(x):
        y = x * 1
        y.conj().mul_(1j)
        return y

    same(torch.func.vmap(step)(made()), -1j * VALUES)
    value, tangent = torch.func.jvp(step, (made(),), (made(),))
    same(value, -1j * VALUES)
    same(tangent, -1j * VALUES)


def test_inference_mode():
    with torch.inference_mode():
        a = made()
        b = a.conj()
        b[0] = 1j
        same(a[0], [-1j, -1j])
    assert b.is_inference() and b.is_conj()


def written_through_views(x, strided, detached):
    """x written into conjugates, whose views were made before."""
    c = torch.zeros(6, dtype=x.dtype)[:: 2 if strided else 1][:3].conj()
    c = c.detach() if detached else c
    first, back, imag = c[:2], c.conj(), c.imag
    c.copy_(x)
    first.mul_(2)
    back[2:] = x[2:] * 3j
    imag.mul_(5)
    return c, first, back, imag


@pytest.mark.parametrize("detached", [False, True])
@pytest.mark.parametrize("strided", [False, True])
def test_views_of_a_conjugate_that_is_written_in_a_transform(strided, detached):
    def expected(x):
        c = np.array([2 * x[0], 2 * x[1], np.conj(3j * x[2])])
        c = c.real + 5j * c.imag
        return c, c[:2], c.conj(), c.imag

    x, t = np.array([1 + 2j, 3 - 1j, 0.5 + 0.25j]), np.array([0.25 - 1j, 1j, 2])
    value, tangent = torch.func.jvp(
        lambda x: written_through_views(x, strided, detached),
        (torch.tensor(x.tolist()).to(torch.complex128),),
        (torch.tensor(t.tolist()).to(torch.complex128),),
    )
    for found, want in zip([*value, *tangent], [*expected(x), *expected(t)], strict=True):
        same(found, want)


def squares(x, strided, detached):
    """8 x0^2 + 8 x1^2 + 450 x2^2."""
    c, first, back, imag = written_through_views(x + 0j, strided, detached)
    return (c.abs() ** 2).sum() + (first * back[:2]).real.sum() + (imag**2).sum()


@pytest.mark.parametrize("detached", [False, True])
@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("outer", ["jacfwd", "jacrev"])
@pytest.mark.parametrize("inner", ["jacfwd", "jacrev"])
def test_second_derivatives_through_views_of_a_conjugate(inner, outer, strided, detached):
    def of_squares(x):
        return squares(x, strided, detached)

    x = torch.tensor([1.0, 3.0, 0.5], dtype=torch.float64)
    hessian = getattr(torch.func, outer)(getattr(torch.func, inner)(of_squares))(x)
    same(hessian, np.diag([16.0, 16.0, 900.0]))


@pytest.mark.parametrize("detached", [False, True])
@pytest.mark.parametrize("strided", [False, True])
def test_gradients_of_each_element_through_views_of_a_conjugate(strided, detached):
    x = torch.tensor([1.0, 3.0, 0.5], dtype=torch.float64)

    def gradient(y):
        return torch.func.grad(lambda x: squares(x, strided, detached))(x) * y

    rows = torch.func.vmap(gradient)(torch.tensor([1.0, 2.0], dtype=torch.float64))
    same(rows, [[16.0, 48.0, 450.0], [32.0, 96.0, 900.0]])


# ---- memory


def test_nothing_is_kept_alive():
    a = made()
    array = a._array
    before = sys.getrefcount(array)
    for _ in range(50):
        b = a.conj()
        (b * 2).sum().item(), b.imag.add_(0), b.tolist(), b.resolve_conj(), b._array
        del b
    gc.collect()
    assert sys.getrefcount(array) == before
