"""Factorisations that tell of failure, Householder products, special functions, short-time
transforms, windows, statistics: values, types, gradients and errors as PyTorch has them."""

import pytest
from compat import cases, check, check_second_order, second_order

CASES = cases("""
# linalg: what tells of failure by a number
linalg.cholesky_ex(spd)                        # f loose
linalg.cholesky_ex(spd, upper=True)            # f loose
linalg.cholesky_ex(-spd)                       # f nograd
linalg.cholesky_ex(t.stack([spd, -spd]))       # f nograd
linalg.cholesky_ex(-spd, check_errors=True)    # raises
linalg.cholesky_ex(x)                          # raises
linalg.inv_ex(spd)                             # f loose
linalg.inv_ex(t.zeros(2, 2))                   # f
linalg.inv_ex(t.zeros(2, 2), check_errors=True)    # raises
linalg.inv_ex(t.stack([spd, t.ones_like(spd)]))    # f nograd
linalg.solve_ex(spd, v)                        # f loose
linalg.solve_ex(spd, x.t())                    # f loose
linalg.solve_ex(spd, x, left=False)            # f loose
linalg.solve_ex(t.tensor([[1., 2], [2, 4]]), t.ones(2))    # f32
linalg.solve_ex(t.zeros(2, 2), t.ones(2), check_errors=True)    # raises
linalg.solve_ex(spd, t.ones(5))                # raises
linalg.lu_factor_ex(sq)                        # f loose
linalg.lu_factor_ex(t.ones(2, 3, 3))           # f32
linalg.lu_factor_ex(sq, pivot=False)           # raises
linalg.lu_factor(t.ones(2, 3, 3))              # raises
linalg.lu_factor(v)                            # raises
linalg.lu(sq)                                  # f loose
linalg.lu(x)                                   # f loose
linalg.lu(x.t())                               # f loose
t.lu(sq)                                       # f loose
sq.lu(get_infos=True)                          # f loose
t.lu_unpack(*linalg.lu_factor(x))              # f loose nonode
t.lu_unpack(*linalg.lu_factor(sq), unpack_data=False)[0]     # f32 nograd
t.lu_unpack(*linalg.lu_factor(sq), unpack_pivots=False)[1:]  # f32 loose
t.lu_unpack(sq, t.ones(4, dtype=t.int64))      # raises
t.lu_unpack(sq, t.zeros(4, dtype=t.int32))     # raises
t.lu_unpack(v.detach(), t.ones(4, dtype=t.int32))    # raises
x.t().lu_solve(*linalg.lu_factor(spd))         # f loose nonode
linalg.ldl_factor(sq + sq.t())                 # f loose nograd
linalg.ldl_factor_ex(t.zeros(2, 2))            # f32
linalg.ldl_factor_ex(x)                        # raises
linalg.ldl_factor_ex(idx2)                     # raises
linalg.ldl_solve(*linalg.ldl_factor(spd), x.t())    # f loose nograd
linalg.ldl_solve(spd, t.ones(3, dtype=t.int32), x.t())    # raises
linalg.ldl_solve(spd, t.ones(4), x.t())        # raises
linalg.ldl_solve(spd, t.ones(4, dtype=t.int32), x)    # raises
t.geqrf(x.t())                                 # f loose nograd
t.geqrf(v)                                     # raises
t.geqrf(idx2)                                  # raises
linalg.householder_product(x.t(), w)           # f loose
t.orgqr(sq, v[:2])                             # f loose
linalg.householder_product(x, w)               # raises
linalg.householder_product(x.t(), v)           # raises
t.ormqr(sq, v, x.t())                          # f loose
t.ormqr(sq, v, x, left=False)                  # f loose
t.ormqr(x.t(), w, x5.t(), transpose=True)      # f loose
t.ormqr(x.t(), w, x5, False, True)             # f loose
t.ormqr(sq, w, x.t())                          # raises
t.ormqr(sq, v, x)                              # raises
linalg.matmul(x, n)                            # f
t.frobenius_norm(x, (0, 1))                    # f nonode
t.frobenius_norm(x, 1, True)                   # f nonode
t.frobenius_norm(b3, (0, 1, 2))                # raises
t.nuclear_norm(x)                              # f loose nonode
t.nuclear_norm(b3, (1, 2), True)               # f loose nonode
t.solve(sq, sq)                                # raises
t.symeig(sq)                                   # raises
t.eig(sq)                                      # raises
t.lstsq(sq, sq)                                # raises
t.matrix_rank(sq)                              # raises
sq.eig()                                       # raises
sq.lstsq(sq)                                   # raises
# out=
linalg.inv_ex(spd, out=(t.empty(0), t.empty(0, dtype=t.int32)))    # f32 nograd loose
linalg.inv_ex(spd.detach(), out=(t.empty(0), t.empty(0)))          # raises
linalg.lu_factor(sq, out=(t.empty(0), t.empty(0, dtype=t.int32)))  # f32 nograd loose
linalg.qr(t.eye(2), out=(t.empty(0), t.empty(0)))                  # f32
t.max(x, 0, out=(t.empty(0), t.empty(0, dtype=t.int64)))           # f32 nograd
linalg.eigvalsh(spd, out=t.empty(0))           # f32 nograd loose
linalg.eigvals(t.eye(2), out=t.empty(0))       # raises
linalg.cond(spd, out=t.empty(0, dtype=t.int32))    # raises
t.fft.fft(x, out=t.empty(0, dtype=t.complex64))    # f32 nograd
t.fft.irfftn(x, out=t.empty(0))                # f32 nograd
t.fft.fft2(x, out=t.empty(0))                  # raises
t.fft.hfft(x, out=t.empty(0, dtype=t.complex64))   # raises
# special functions; PyTorch's values of bessel_y, airy_ai are single in double
t.special.bessel_y0(p)                         # f32 loose
t.special.bessel_y1(p)                         # f32 loose
t.special.modified_bessel_i0(x)                # f loose
t.special.modified_bessel_i1(x)                # f loose
t.special.modified_bessel_k0(p)                # f loose
t.special.modified_bessel_k1(p)                # f loose
t.special.scaled_modified_bessel_k0(p)         # f loose
t.special.scaled_modified_bessel_k1(p)         # f loose
t.special.modified_bessel_k0(t.tensor([0., -1, math.inf, math.nan]))   # f32
t.special.bessel_y0(t.tensor([0., -1, math.inf, math.nan]))            # f32
t.special.airy_ai(t.tensor([0., 200, math.nan]))                       # f32
t.special.spherical_bessel_j0(x)               # f loose
t.special.bessel_y0(gi)                        # f32 loose
t.special.bessel_y0(x.half())                  # raises
t.special.airy_ai(x.to(t.complex64))           # raises
t.special.chebyshev_polynomial_t(x, 5)         # f loose
t.special.chebyshev_polynomial_u(x, gi)        # f loose
t.special.chebyshev_polynomial_v(x / 4, 12)    # f loose
t.special.chebyshev_polynomial_w(x, -1)        # f
t.special.shifted_chebyshev_polynomial_t(unit, 20)    # f32 nograd loose
t.special.hermite_polynomial_h(x, 3.7)         # f loose
t.special.hermite_polynomial_he(2.0, v.abs() * 3)     # f loose nograd
t.special.laguerre_polynomial_l(x, 6)          # f loose
t.special.legendre_polynomial_p(x, gi)         # f loose
t.special.legendre_polynomial_p(x.half(), 2)   # raises
t.special.logsumexp(x, 1)                      # f
# short-time transforms
t.stft(line, 8, window=t.arange(1., 9.), return_complex=True)    # f loose nonode
t.stft(wide, 16, 5, 12, return_complex=True)   # f loose nonode
t.stft(line, 8, center=False, return_complex=False)    # f loose nonode
t.stft(line, 8, pad_mode='replicate', normalized=True, return_complex=True)    # f loose nonode
t.stft(line, 8, onesided=False, return_complex=True)    # f loose nonode
t.stft(line, 8, pad_mode='constant', return_complex=True)    # f loose nonode
t.stft(line + 1j, 8)                           # f32 nograd loose
k = t.ones(8); t.istft(line.stft(8, 2, 8, k, return_complex=True), 8, 2, 8, k)  # f loose nonode
t.istft(line.stft(8, return_complex=True), 8, length=44)    # f loose nonode
t.stft(line, 8)                                # raises
t.stft(line, 0, return_complex=True)           # raises
t.stft(line, 8, 0, return_complex=True)        # raises
t.stft(line, 8, 2, 9, return_complex=True)     # raises
t.stft(line, 8, window=v, return_complex=True) # raises
t.stft(v, 16, return_complex=True)             # raises
t.stft(b3, 4, return_complex=True)             # raises
t.istft(x, 4)                                  # raises
t.istft(x + 1j, 8)                             # raises
t.bartlett_window(7)                           # f32
t.bartlett_window(7, False)                    # f32
t.blackman_window(6)[1:]                       # f32 loose
t.kaiser_window(6, True, 5.0)                  # f32 loose
t.kaiser_window(1)                             # f32
t.bartlett_window(-1)                          # raises
# statistics
t.cov(x)                                       # f loose nonode
t.cov(v)                                       # f loose nonode
t.cov(gi)                                      # f32 loose
t.cov(x, correction=0, aweights=t.arange(1., 5.))      # f32 loose nonode
t.cov(x, fweights=idx4)                        # f loose nonode
t.corrcoef(x)                                  # f loose nonode
t.cov(b3)                                      # raises
t.cov(x, fweights=v)                           # raises
t.cov(x, fweights=idx)                         # raises
t.gradient(x)                                  # f nonode loose
t.gradient(x, spacing=[0.5, 2.0], edge_order=1)        # f nonode loose
t.gradient(b4, dim=(1, 2), spacing=2.0, edge_order=2)  # f nonode loose
t.gradient(line, spacing=(t.arange(50.) ** 2,), edge_order=2)    # f32 nonode loose
t.gradient(x, edge_order=3)                    # raises
t.gradient(x, spacing=[1.0, 2.0, 3.0])         # raises
t.gradient(x, dim=(0, 0))                      # raises
t.histogram(x, 5)                              # f nograd
t.histogram(line, t.tensor([-1., 0, 2]), weight=line.abs(), density=True)    # f32 nograd loose
x.histogram(4, range=(-1., 1.), density=True)  # f nograd loose
t.histogramdd(x, 2)                            # f nograd
t.histogram(gi, 5)                             # raises
t.histogram(x, 0)                              # raises
t.histogram(x, 3, range=(2., 1.))              # raises
t.segment_reduce(line, 'max', lengths=t.tensor([20, 0, 30]))       # f
t.segment_reduce(line, 'sum', offsets=t.tensor([0, 20, 50]))       # f loose
t.segment_reduce(x, 'mean', lengths=t.tensor([1, 2]))              # f
t.segment_reduce(x, 'prod', lengths=t.tensor([1, 2]), initial=2)   # f
t.segment_reduce(x, 'foo', lengths=t.tensor([1, 2]))               # raises
t.segment_reduce(x, 'sum', lengths=t.tensor([1, 1]))               # raises
t.segment_reduce(x, 'sum')                                         # raises
t.nonzero_static(ties, size=20)                # f32
ties.nonzero_static(size=3, fill_value=7)      # f32
t.nonzero_static(x, size=-1)                   # raises
t.unravel_index(gi, (2, 2))                    # f32
t.unravel_index(x, (2, 2))                     # raises
t.unravel_index(gi, (2, -2))                   # raises
""")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)


@pytest.mark.parametrize("case", second_order(CASES), ids=str)
def test_second_order_like_torch(case):
    check_second_order(case)
