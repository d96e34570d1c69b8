"""`conj()` and the parts of complex tensors as views: which tensors are lazy, what is written
through them, what is refused, and the graph."""

import pytest
from compat import cases, check, check_second_order, second_order

VIEWS = """
x.conj()
x.conj().conj()
x.mH
x.H
x.t().conj()
s.mH
t.adjoint(x)
x.conj()[0]
x.conj()[:, 1:]
x.conj().t()
x.conj().view(12)
x.conj()[None].squeeze(0)
x.conj().expand(2, 3, 4)
x.conj().diagonal()
x.conj().unbind()[1]
x.conj().split(2)[1]
x.conj().detach()
x.conj().data
x.conj().contiguous()
x.mH.contiguous()
x.conj().clone()
x.conj().resolve_conj()
x.conj().resolve_neg()
x.conj().real
x.conj().imag
x.imag
x.conj().imag.resolve_neg()
x.conj().imag[0]
t._neg_view(x)
t._neg_view(x.conj())
t._neg_view(x).real
t._neg_view(x).imag
t._neg_view(t._neg_view(x))
t._neg_view(x).conj()
t.view_as_complex(t._neg_view(t.view_as_real(x)))
t.view_as_real(t._neg_view(x))
t.conj_physical(x.conj())
-x.conj()
x.conj() + 1
t.zeros_like(x.conj())
t.empty_like(x.conj()).zero_()
x.conj().new_zeros(2)
x.conj().to(t.complex128)
x.conj().as_strided((2, 2), (1, 4), 1)
t.cat([x.conj(), y.conj()])
t.stack([x.conj(), y])
x.conj().reshape(4, 3)
x.mH.reshape(12)
x.conj().flatten()
x.conj().movedim(0, 1)
x.conj().unfold(0, 2, 1)
t.asarray(x.conj())
""".split("\n")

PRODUCTS = """
x.conj() @ y.mT
x @ y.mH
x.mH @ y.conj()
t.mm(x, y.mH)
t.addmm(sq.conj(), sq.mH, sq2.conj())
t.bmm(b3.conj(), b3.mH)
t.mv(x.conj(), v.conj())
t.dot(v.conj(), u)
t.vdot(v.conj(), u)
t.outer(v.conj(), u.conj())
t.einsum('ij,kj->ik', x.conj(), y.conj())
t.einsum('ij,kj->ik', x, y.conj())
F.linear(x.conj(), y.conj())
F.linear(x, y.conj(), w.conj())
t.kron(v.conj(), u)
t.tensordot(x.conj(), y, ([1], [1]))
t.linalg.inv(sq.mH)
t.linalg.det(sq.conj())
t.linalg.solve(sq.mH, sq2.conj())
t.linalg.norm(x.conj())
t.linalg.svdvals(x.mH)
x.conj().exp() * x
x.conj().pow(2)
x.conj() / nz
x.conj().sum(0)
x.conj().prod()
x.conj().mean()
x.conj().cumsum(0)
x.conj().abs()
x.conj().sgn()
t.where(msk, x.conj(), y)
x.conj()[idx]
x.conj()[msk]
x.conj().masked_fill(msk, 2)
x.conj().gather(0, gi)
x.conj().index_select(0, idx)
x.conj().roll(1)
x.conj().imag @ y.conj().imag.mT
x.conj().imag.sin() * x.imag
(x * x.conj()).real
""".split("\n")

WRITES = """
a[0] = 5
a[0] = 5j
a[0] = y[1].conj()
a[msk] = 1j
a[idx] = y[:2]
a[idx] = y[:2].conj()
a[...] = y
a.fill_(2j)
a.zero_()
a.mul_(1j)
a.add_(a)
a.add_(y.conj())
a.copy_(y)
a.copy_(y.conj())
a.exp_()
a += 1
a.conj_physical_()
a.cumsum_(0)
a.masked_fill_(msk, 1j)
a.index_add_(0, idx, y[:2].conj())
a.scatter_(0, gi, y[:2])
a.real = 1
a.imag = y.real
a.imag.mul_(3)
a.imag[0] = 2
a.real.copy_(y.imag)
a.conj().mul_(2j)
a.t().mul_(2j)
a.t_()
a.unsqueeze_(0)
a[0].imag.add_(1)
""".split("\n")

LINES = [
    f"o = {line}; (o, o.is_conj(), o.is_neg(), o._is_view())  # cplx" for line in VIEWS if line
]
LINES += [f"{line}  # cplx" for line in PRODUCTS if line]
LINES += [
    f"o = x.clone(); a = o.conj(); {line}; (o, a, o._version, a._version, a.is_conj())  # cplx"
    for line in WRITES
    if line
]

CASES = cases(
    "\n".join(LINES)
    + """
# out=, data, set_, resize_
o = t.zeros_like(x); t.mul(x, y, out=o.conj()); o             # cplx nograd
o = t.zeros_like(sq); t.mm(sq, sq2, out=o.conj()); o          # cplx nograd
o = t.zeros_like(x); t.full((3, 4), 1j, out=o.conj()); o      # cplx nograd
o = t.zeros_like(x); t.stack([v, u, v], out=o.conj()); o      # cplx nograd
o = y.clone(); o.data = x.detach().conj(); (o, o.is_conj())   # cplx nograd
o = y.clone(); o.set_(x.detach().conj()); (o, o.is_conj())    # cplx nograd
o = y.clone().conj(); o.set_(x.detach()); (o, o.is_conj())    # cplx nograd
o = x.detach().clone().conj(); o.resize_(4, 3); (o, o.is_conj())    # cplx nograd
# what is refused
x.detach().conj().numpy()                 # cplx raises
x.detach().conj().imag.numpy()            # cplx raises
np.asarray(x.detach().conj())             # cplx raises
t.view_as_real(x.conj())                  # cplx raises
x.conj().view(t.float32)                  # c64 raises
x.conj().imag.view(t.int32)               # c64 raises
x.detach().conj().numpy(force=True).tolist()    # cplx nograd
# as Python sees them
s.conj().item()                           # cplx nograd
complex(s.conj())                         # cplx nograd
float(s.conj().imag)                      # cplx nograd
x.conj().tolist()                         # cplx nograd
repr(x.conj())                            # cplx nograd
repr(x.conj().imag)                       # cplx nograd
t.equal(x.conj(), t.conj_physical(x))     # cplx
t.equal(x.conj(), x)                      # cplx
x.conj() == x                             # cplx nograd
x.conj() is x                             # f i64
x.conj_physical() is x                    # f i64
t.is_conj(x), t.is_neg(x)                 # all
"""
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)


@pytest.mark.parametrize("case", second_order(CASES), ids=str)
def test_second_order(case):
    check_second_order(case)
