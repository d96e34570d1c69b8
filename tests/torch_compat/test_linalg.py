"""The matmul family with batching, einsum, decompositions' everyday part, errors by shape."""

import pytest
from compat import cases, check, check_second_order, second_order

CASES = cases("""
x @ n                             # num
x @ n                             # bool
x @ v                             # num
v @ n                             # fc i64
v @ u                             # fc i64
b3 @ n                            # fc i64
b3 @ b4                           # fc i64
b3 @ m                            # f
x @ b4                            # f
h4 @ h4.transpose(-1, -2)         # f
b3 @ v                            # f
v @ b4                            # f
b1 @ b4[:, None]                  # f
b1 @ n                            # f
x.t() @ y                         # f
x @ y.t()                         # f
nc @ n                            # f
step @ n                          # f
x[:, 1:3] @ n[1:3]                # f
e @ m                             # f
x.t()[:, :0] @ x[:0]              # f
t.matmul(x, n)                    # mix
t.matmul(b3, b4)                  # f
t.matmul(v, u)                    # f
t.matmul(x, v)                    # f
x.matmul(n)                       # f
b3.matmul(b4)                     # f
t.mm(x, n)                        # num
x.mm(n)                           # f
x.mm(x.t())                       # f
t.mm(x.t(), x)                    # f
t.bmm(b3, b4)                     # num
b3.bmm(b4)                        # f
t.bmm(b3, b3b.transpose(1, 2))    # f
t.mv(x, v)                        # fc i64
x.mv(v)                           # f
t.dot(v, u)                       # fc i64
v.dot(u)                          # f i64
v.inner(u)                        # f
t.inner(x, y)                     # f
t.vdot(v, u)                      # fc
t.outer(v, w)                     # num
t.ger(v, u)                       # f
v.outer(u)                        # f
t.kron(x, n)                      # f
t.addmm(x, x, sq)                 # fc i64
t.addmm(v, x, sq)                 # f
t.addmm(x, x, sq, beta=0.5, alpha=2)   # f
x.addmm(x, sq)                    # f
t.addmv(w, x, v)                  # f
t.addbmm(m[:3], b3, b4)           # f
t.baddbmm(b3 @ b4, b3, b4)        # f
t.addr(x, w, v)                   # f
t.chain_matmul(x, sq, n)          # f
linalg.multi_dot([x, sq, n])      # f
t.tensordot(b3, b4, dims=([2], [1]))   # f loose
t.tensordot(x, n, 1)              # f
t.tensordot(x, y, 2)              # f
t.cross(x[:, :3], y[:, :3], dim=1)     # f
linalg.cross(x[:, :3], y[:, :3])  # f
F.linear(x, w54)                  # fc
F.linear(x, w54, w5)              # fc
F.linear(b3, w54, w5)             # f
F.linear(b3, w54)                 # f
F.linear(v, w54, w5)              # f
F.linear(v, w54)                  # f
F.linear(x, sq)                   # f
F.linear(nc, w54, w5)             # f
F.linear(h4.transpose(2, 3), w54, w5)  # f
F.bilinear(x, y, h4.reshape(5, 6, 4)[:, :4, :].contiguous())    # f loose
# einsum
t.einsum('ij,jk->ik', x, n)       # f i64
t.einsum('ij,jk', x, n)           # f
t.einsum('ij->ji', x)             # f
t.einsum('ij->', x)               # f
t.einsum('ij->i', x)              # f
t.einsum('ij->j', x)              # f
t.einsum('ii->i', sq)             # f
t.einsum('ii', sq)                # f
t.einsum('i,i->', v, u)           # f
t.einsum('i,j->ij', v, w)         # f
t.einsum('bij,bjk->bik', b3, b4)  # f loose
t.einsum('bij,jk->bik', b3, n)    # f
t.einsum('ij,ij->ij', x, y)       # f
t.einsum('ij,ij->', x, y)         # f
t.einsum('ij,j->i', x, v)         # f
t.einsum('...ij,...jk->...ik', b3, b4)     # f loose
t.einsum('...i,i->...', b3, v)    # f
t.einsum('bhid,bhjd->bhij', h4, h4)    # f loose
t.einsum('bhij,bhjd->bhid', h4, h4.transpose(2, 3))    # f loose
t.einsum('i,ij,j->', w, x, v)     # f loose
t.einsum('ij,jk,kl->il', x, sq, n)     # f loose
t.einsum('ij , jk -> ik', x, n)   # f
t.einsum('ij,jk->ik', [x, n])     # f
t.einsum('Ab,bC->AC', x, n)       # f
t.einsum('bn,anm,bm->ba', x[:, :4], h4[0, :, :, :4], y)    # f loose
t.einsum('ij,jk->ik', x, y)       # raises
t.einsum('ij->k', x)              # raises
t.einsum('ijk->i', x)             # raises
t.einsum('ij,jk->ik', x)          # raises
t.einsum('i1->i', x)              # raises
t.inner(v, u.double())            # raises
t.tensordot(x, n.double(), 1)     # raises
linalg.multi_dot([x, n.double()])      # raises
linalg.multi_dot([x, n.to('meta')])    # raises
t.inner(v, u.to('meta'))          # raises
# linalg
linalg.det(sq)                    # f
t.det(sq)                         # f
linalg.slogdet(sq)                # f
t.logdet(spd)                     # f
linalg.inv(spd)                   # f loose
t.inverse(spd)                    # f loose
linalg.solve(spd, x.t())          # f loose
linalg.solve(spd, v)              # f loose
linalg.cholesky(spd)              # f loose
t.linalg.cholesky(spd) @ v        # f loose
linalg.qr(sq)[0].abs()            # f loose nonode
linalg.svdvals(x)                 # f loose
linalg.eigvalsh(spd)              # f loose
linalg.matrix_power(sq, 3)        # f loose
t.matrix_power(sq, 2)             # f loose
linalg.solve_triangular(tri, x.t(), upper=False)   # f loose
t.triangular_solve(x.t(), tri, upper=False)[0]     # f loose
linalg.pinv(spd)                  # f loose nograd nonode
linalg.lstsq(spd, x.t()).solution # f loose nograd
linalg.matrix_rank(spd)           # f
t.matrix_exp(sq / 8)              # f loose no2nd
linalg.inv(t.zeros(2, 2))         # raises
linalg.lu_solve(spd, 5 * t.ones(3, dtype=t.int32), spd)    # raises
linalg.lu_solve(spd, t.zeros(3, dtype=t.int32), spd)       # raises
linalg.lu_solve(spd, t.ones(3, dtype=t.int64), spd)        # raises
linalg.lu_solve(spd, t.ones(2, dtype=t.int32), spd)        # raises
linalg.lu_solve(spd, t.ones(3, dtype=t.int32), spd[0])     # raises
linalg.lu_solve(spd[0], t.ones(0, dtype=t.int32), spd)     # raises
linalg.lu_solve(spd, t.ones(3, dtype=t.int32), spd[:2])    # raises
linalg.lu_solve(spd[:, :2], t.ones(2, dtype=t.int32), spd) # raises
linalg.cholesky(-spd)             # raises
# errors
t.mm(x, y)                        # raises
x @ y                             # raises
t.mm(x, v)                        # raises
t.mm(b3, n)                       # raises
t.mm(v, n)                        # raises
t.bmm(x, n)                       # raises
t.bmm(b3, b3)                     # raises
t.bmm(b3[:1], b4)                 # raises
t.mv(x, w)                        # raises
t.mv(v, x)                        # raises
t.dot(v, w)                       # raises
t.dot(x, v)                       # raises
t.matmul(s, v)                    # raises
t.matmul(x, s)                    # raises
x @ w                             # raises
w @ n                             # raises
b3 @ b3                           # raises
h4 @ b4                           # raises
x @ 3                             # raises
x @ 'a'                           # raises
x @ m_float64.t()                 # raises
t.mm(m_int64, n)                  # raises
t.mm(m_float32, m_float64.t())    # raises
t.dot(v, t.arange(4))             # raises
t.bmm(b3, b4.double())            # raises
t.addmm(x, x, y)                  # raises
t.addmm(w, x, sq)                 # raises
F.linear(x, m)                    # raises
F.linear(x, w54, v)               # raises
t.outer(x, v)                     # raises
v.t() @ x                         # raises
x.mm(3)                           # raises
t.matmul(x)                       # raises
""")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)


@pytest.mark.parametrize("case", second_order(CASES), ids=str)
def test_second_order(case):
    check_second_order(case)
