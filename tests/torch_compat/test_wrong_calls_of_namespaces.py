"""Functions of torch.sparse, torch.distributions, torch.optim and other namespaces called wrongly: an
argument of another type, shape or sign. The exception's type and first sentence are PyTorch's.
"""

import importlib

import pytest
from compat import cases, check, oracle, subject

NAMESPACES = """sparse masked quasirandom signal.windows distributions fx amp nn.attention.flex_attention
nn.utils.parametrize nn.utils.parametrizations nn.utils.prune nn.utils.stateless nn.utils.fusion
optim.swa_utils utils.flop_counter utils.data.datapipes.iter utils.data.datapipes.map testing func""".split()
for library in (oracle, subject):
    for path in NAMESPACES:
        importlib.import_module(f"{library.__name__}.{path}")

CASES = cases("""
t.sparse_coo_tensor('a', [1.0, 2.0], (2, 2))  # raises nograd
t.sparse_coo_tensor(t.ones(2,2,2,2), [1.0, 2.0], (2, 2))  # raises nograd
t.sparse_csr_tensor(None, [0, 1], [1.0, 2.0], (2, 2))  # raises nograd
t.sparse_csr_tensor({}, [0, 1], [1.0, 2.0], (2, 2))  # raises nograd
t.sparse_csc_tensor(None, [0, 1], [1.0, 2.0], (2, 2))  # raises nograd
t.sparse_csc_tensor({}, [0, 1], [1.0, 2.0], (2, 2))  # raises nograd
t.sparse_bsr_tensor(None, [0, 1], [[[1.0]], [[2.0]]], (2, 2))  # raises nograd
t.sparse_bsr_tensor({}, [0, 1], [[[1.0]], [[2.0]]], (2, 2))  # raises nograd
t.sparse_compressed_tensor(None, [0, 1], [1.0, 2.0], (2, 2), layout=t.sparse_csr)  # raises nograd
t.sparse_compressed_tensor({}, [0, 1], [1.0, 2.0], (2, 2), layout=t.sparse_csr)  # raises nograd
t.sparse.mm(t.eye(3).to_sparse(), t.ones(2, 2))  # raises nograd
t.sparse.mm(t.eye(2).to_sparse(), t.eye(3).to_sparse())  # raises nograd
t.sparse.addmm(t.ones(2, 2), None, t.ones(2, 2))  # raises nograd
t.sparse.addmm(t.ones(2, 2), -1, t.ones(2, 2))  # raises nograd
t.sparse.sum(None, 0)  # raises nograd
t.sparse.sum(t.eye(2).to_sparse(), 0, 'a')  # raises nograd
t.sparse.softmax(None, 1)  # raises nograd
t.sparse.softmax(-1, 1)  # raises nograd
t.sparse.log_softmax(None, 1)  # raises nograd
t.sparse.log_softmax(-1, 1)  # raises nograd
t.sparse.spdiags(None, t.tensor([0]), (2, 2))  # raises nograd
t.sparse.spdiags(-1, t.tensor([0]), (2, 2))  # raises nograd
t.sparse.sampled_addmm(None, t.ones(2, 2), t.ones(2, 2))  # raises nograd
t.sparse.sampled_addmm(-1, t.ones(2, 2), t.ones(2, 2))  # raises nograd
t.smm(None, t.ones(2, 2))  # raises nograd
t.smm(-1, t.ones(2, 2))  # raises nograd
t.hspmm(None, t.ones(2, 2))  # raises nograd
t.hspmm(-1, t.ones(2, 2))  # raises nograd
t.sspaddmm(None, t.eye(2).to_sparse(), t.ones(2, 2))  # raises nograd
t.sspaddmm(-1, t.eye(2).to_sparse(), t.ones(2, 2))  # raises nograd
t.eye(2).to_sparse(None)  # raises nograd
t.eye(2).to_sparse(0)  # raises nograd
t.eye(2).to_sparse_csr('a')  # raises nograd
t.eye(2).to_sparse_csr([])  # raises nograd
t.eye(2).to_sparse_bsr(None)  # raises nograd
t.eye(2).to_sparse_bsr(1.5)  # raises nograd
t.eye(2).sparse_mask(t.eye(3).to_sparse())  # raises nograd
t.eye(2).to_sparse().sparse_resize_(None, 2, 0)  # raises nograd
t.eye(2).to_sparse().sparse_resize_(-1, 2, 0)  # raises nograd
t.eye(2).to_sparse().sparse_resize_and_clear_(None, 2, 0)  # raises nograd
t.eye(2).to_sparse().sparse_resize_and_clear_(-1, 2, 0)  # raises nograd
t.eye(2).to_sparse().select(None, 1)  # raises nograd
t.eye(2).to_sparse().select(1.5, 1)  # raises nograd
t.eye(2).to_sparse().transpose(None, 1)  # raises nograd
t.eye(2).to_sparse().transpose(1.5, 1)  # raises nograd
t.eye(2).to_sparse().index_select(None, t.tensor([0]))  # raises nograd
t.eye(2).to_sparse().index_select(1.5, t.tensor([0]))  # raises nograd
t.eye(2).to_sparse().narrow_copy(0, -1, 1)  # raises nograd
t.cat(None, 0)  # raises nograd
t.cat(-1, 0)  # raises nograd
t.add(None, t.eye(2).to_sparse())  # raises nograd
t.add([], t.eye(2).to_sparse())  # raises nograd
t.mul(None, t.eye(2).to_sparse())  # raises nograd
t.mul([], t.eye(2).to_sparse())  # raises nograd
t.masked.masked_tensor(None, t.ones(2, 2).bool())  # raises nograd
t.masked.masked_tensor(t.ones(3,3), t.ones(2, 2).bool())  # raises nograd
t.masked.as_masked_tensor(None, t.ones(2, 2).bool())  # raises nograd
t.masked.as_masked_tensor(t.ones(3,3), t.ones(2, 2).bool())  # raises nograd
t.masked.sum(t.ones(()), 0, mask=t.ones(2, 2).bool())  # raises nograd
t.masked.sum(t.ones(2, 2), 1.5, mask=t.ones(2, 2).bool())  # raises nograd
t.masked.mean(None, 0)  # raises nograd
t.masked.mean(t.ones(2, 2), 1.5)  # raises nograd
t.masked.prod(t.ones(2, 2), 1.5)  # raises nograd
t.masked.prod(t.ones(2, 2), t.ones(7))  # raises nograd
t.masked.amax(t.ones(2, 2), 1.5)  # raises nograd
t.masked.amax(t.ones(2, 2), t.ones(7))  # raises nograd
t.masked.argmax(t.ones(0), 0)  # raises nograd
t.masked.argmax(t.ones(3,dtype=t.complex64), 0)  # raises nograd
t.masked.softmax(t.ones(2, 2), 1.5)  # raises nograd
t.masked.softmax(t.ones(2, 2), t.ones(()))  # raises nograd
t.masked.norm(t.ones(3,dtype=t.int64), 2.0, 0)  # raises nograd
t.masked.norm(t.ones(2, 2), 2.0, t.ones(()))  # raises nograd
t.masked.normalize(None, 2.0, 0)  # raises nograd
t.masked.normalize(t.ones(2, 2), 2.0, 1.5)  # raises nograd
t.masked.var(None, 0, False)  # raises nograd
t.masked.var(t.ones(2, 2), 1.5, False)  # raises nograd
t.masked.median(None, 0)  # raises nograd
t.masked.median(t.ones(2, 2), [])  # raises nograd
t.masked.cumsum(None, 0)  # raises nograd
t.masked.cumsum(t.ones(2, 2), [])  # raises nograd
t.masked.logsumexp(t.ones(2, 2), 1.5)  # raises nograd
t.masked.logsumexp(t.ones(2, 2), t.ones(7))  # raises nograd
t.masked.logaddexp(t.ones(0), t.ones(2, 2))  # raises nograd
t.quasirandom.SobolEngine(None, False, 1)  # raises nograd
t.quasirandom.SobolEngine(t.ones(0), False, 1)  # raises nograd
t.quasirandom.SobolEngine(3).draw(-1)  # raises nograd
t.quasirandom.SobolEngine(3).draw(t.ones(0))  # raises nograd
t.quasirandom.SobolEngine(3).draw_base2(None)  # raises nograd
t.quasirandom.SobolEngine(3).draw_base2(t.ones(3,dtype=t.int64))  # raises nograd
t.quasirandom.SobolEngine(3).fast_forward(t.eye(3).to_sparse())  # raises nograd
t.signal.windows.hamming(None)  # raises nograd
t.signal.windows.hamming(t.ones(0))  # raises nograd
t.signal.windows.kaiser(None, beta=1.0)  # raises nograd
t.signal.windows.kaiser(t.ones(0), beta=1.0)  # raises nograd
t.signal.windows.gaussian(None, std=1.0)  # raises nograd
t.signal.windows.gaussian(t.ones(0), std=1.0)  # raises nograd
t.signal.windows.exponential(None, center=None, tau=1.0)  # raises nograd
t.signal.windows.exponential(t.ones(0), center=None, tau=1.0)  # raises nograd
t.signal.windows.general_cosine(None, a=[0.5, 0.5])  # raises nograd
t.signal.windows.general_cosine(t.ones(0), a=[0.5, 0.5])  # raises nograd
t.signal.windows.general_hamming(None, alpha=0.5)  # raises nograd
t.signal.windows.general_hamming(t.ones(0), alpha=0.5)  # raises nograd
t.signal.windows.nuttall(None, sym=True)  # raises nograd
t.signal.windows.nuttall(t.ones(0), sym=True)  # raises nograd
t.hann_window(-1, True)  # raises nograd
t.kaiser_window(-1, True, 12.0)  # raises nograd
t.hamming_window(-1, True, 0.5, 0.5)  # raises nograd
t.blackman_window(None)  # raises nograd
t.blackman_window(-1)  # raises nograd
t.stft(t.ones(()), 8, 2, 8, t.ones(8), return_complex=True)  # raises nograd
t.stft(t.ones(20), 8, -1, 8, t.ones(8), return_complex=True)  # raises nograd
t.istft(None, 8, 2, 8, t.ones(8))  # raises nograd
t.istft(-1, 8, 2, 8, t.ones(8))  # raises nograd
t.linalg.cholesky_ex(t.ones(()))  # raises nograd
t.linalg.cholesky_ex(t.ones(3,3,dtype=t.int64))  # raises nograd
t.linalg.ldl_factor(t.ones(()))  # raises nograd
t.linalg.ldl_factor(t.ones(3,3,dtype=t.int64))  # raises nograd
t.linalg.ldl_factor_ex(t.ones(()))  # raises nograd
t.linalg.ldl_factor_ex(t.ones(3,3,dtype=t.int64))  # raises nograd
t.linalg.ldl_solve(None, t.tensor([1, 2, 3], dtype=t.int32), t.ones(3, 2))  # raises nograd
t.linalg.ldl_solve(-1, t.tensor([1, 2, 3], dtype=t.int32), t.ones(3, 2))  # raises nograd
t.linalg.householder_product(None, t.ones(3))  # raises nograd
t.linalg.householder_product(-1, t.ones(3))  # raises nograd
t.linalg.lu_solve(None, t.tensor([1, 2, 3], dtype=t.int32), t.ones(3, 2))  # raises nograd
t.linalg.lu_solve(-1, t.tensor([1, 2, 3], dtype=t.int32), t.ones(3, 2))  # raises nograd
t.linalg.lu_factor(None)  # raises nograd
t.linalg.lu_factor(-1)  # raises nograd
t.linalg.lu_factor_ex(None)  # raises nograd
t.linalg.lu_factor_ex(-1)  # raises nograd
t.linalg.lu(None)  # raises nograd
t.linalg.lu(-1)  # raises nograd
t.linalg.inv_ex(None)  # raises nograd
t.linalg.inv_ex(-1)  # raises nograd
t.linalg.solve_ex(None, t.ones(3))  # raises nograd
t.linalg.solve_ex(-1, t.ones(3))  # raises nograd
t.linalg.solve_triangular(t.ones(()), t.ones(3, 2), upper=True)  # raises nograd
t.linalg.solve_triangular(t.ones(2,2,2,2), t.ones(3, 2), upper=True)  # raises nograd
t.linalg.tensorsolve(t.ones(2,2,2,2), t.ones(2, 2))  # raises nograd
t.linalg.tensorsolve(t.eye(4).reshape(2, 2, 4), t.ones(2, 2), 'a')  # raises nograd
t.linalg.tensorinv(t.ones(3,3), 2)  # raises nograd
t.linalg.tensorinv(t.eye(4).reshape(2, 2, 4), 'a')  # raises nograd
t.linalg.matrix_exp(t.ones(()))  # raises nograd
t.linalg.matrix_exp(t.ones(3,3,dtype=t.int64))  # raises nograd
t.linalg.vander(None, N=2)  # raises nograd
t.linalg.vander(-1, N=2)  # raises nograd
t.linalg.vecdot(None, t.ones(3))  # raises nograd
t.linalg.vecdot(-1, t.ones(3))  # raises nograd
t.linalg.cond(None, 2)  # raises nograd
t.linalg.matrix_rank(None, atol=1.0)  # raises nograd
t.linalg.lstsq(t.ones(()), t.ones(3, 1))  # raises nograd
t.linalg.lstsq(t.eye(3), t.ones(()))  # raises nograd
t.linalg.eig(t.ones(()))  # raises nograd
t.linalg.eigh(t.ones(()), 'U')  # raises nograd
t.linalg.eigh(t.eye(3), 'a')  # raises nograd
t.linalg.cross(None, t.ones(3))  # raises nograd
t.linalg.cross(-1, t.ones(3))  # raises nograd
t.linalg.multi_dot(None)  # raises nograd
t.linalg.multi_dot(-1)  # raises nograd
t.orgqr(t.ones(()), t.ones(3))  # raises nograd
t.orgqr(t.ones(2,2,2,2), t.ones(3))  # raises nograd
t.ormqr(None, t.ones(3), t.eye(3), True, False)  # raises nograd
t.ormqr(-1, t.ones(3), t.eye(3), True, False)  # raises nograd
t.geqrf(None)  # raises nograd
t.geqrf(-1)  # raises nograd
t.lu_unpack(None, t.tensor([1, 2, 3], dtype=t.int32))  # raises nograd
t.lu_unpack(-1, t.tensor([1, 2, 3], dtype=t.int32))  # raises nograd
t.cholesky_inverse(None)  # raises nograd
t.cholesky_inverse(-1)  # raises nograd
t.cholesky_solve(None, t.eye(3))  # raises nograd
t.cholesky_solve(-1, t.eye(3))  # raises nograd
t.lobpcg(t.ones(()), 2)  # raises nograd
t.lobpcg(t.ones(2,3), 2)  # raises nograd
t.svd_lowrank(t.ones(()), 2)  # raises nograd
t.svd_lowrank(t.eye(9), 'a')  # raises nograd
t.pca_lowrank(None, 2)  # raises nograd
t.pca_lowrank(t.ones(3,3,dtype=t.int64), 2)  # raises nograd
t.special.airy_ai(None)  # raises nograd
t.special.airy_ai(-1)  # raises nograd
t.special.modified_bessel_k0(None)  # raises nograd
t.special.modified_bessel_k0(-1)  # raises nograd
t.special.spherical_bessel_j0(None)  # raises nograd
t.special.spherical_bessel_j0(-1)  # raises nograd
t.special.chebyshev_polynomial_t(None, t.ones(3))  # raises nograd
t.special.hermite_polynomial_h(None, 2)  # raises nograd
t.special.laguerre_polynomial_l(None, 2)  # raises nograd
t.special.legendre_polynomial_p(None, t.ones(3))  # raises nograd
t.special.shifted_chebyshev_polynomial_t(None, 2)  # raises nograd
t.special.zeta(t.ones(3), t.ones(0))  # raises nograd
t.special.multigammaln(t.ones(3) + 3, -1)  # raises nograd
t._foreach_add(None, [t.ones(2)])  # raises nograd
t._foreach_add((1,2,3), [t.ones(2)])  # raises nograd
t._foreach_add_(None, [t.ones(2)])  # raises nograd
t._foreach_add_((1,2,3), [t.ones(2)])  # raises nograd
t._foreach_mul(None, 2)  # raises nograd
t._foreach_mul((1,2,3), 2)  # raises nograd
t._foreach_div(None, [2.0])  # raises nograd
t._foreach_div((1,2,3), [2.0])  # raises nograd
t._foreach_sqrt(None)  # raises nograd
t._foreach_sqrt(-1)  # raises nograd
t._foreach_norm(None, 2)  # raises nograd
t._foreach_norm(-1, 2)  # raises nograd
t._foreach_addcmul(None, [t.ones(2)], [t.ones(2)], 1.0)  # raises nograd
t._foreach_addcmul((1,2,3), [t.ones(2)], [t.ones(2)], 1.0)  # raises nograd
t._foreach_addcdiv_(None, [t.ones(2)], [t.ones(2)], [1.0])  # raises nograd
t._foreach_addcdiv_((1,2,3), [t.ones(2)], [t.ones(2)], [1.0])  # raises nograd
t._foreach_lerp(None, [t.ones(2)], 0.5)  # raises nograd
t._foreach_lerp((1,2,3), [t.ones(2)], 0.5)  # raises nograd
t._foreach_pow(None, 2)  # raises nograd
t._foreach_pow((1,2,3), 2)  # raises nograd
t._foreach_maximum(None, 2.0)  # raises nograd
t._foreach_maximum((1,2,3), 2.0)  # raises nograd
t._foreach_copy_(None, [t.ones(2)])  # raises nograd
t._foreach_copy_(-1, [t.ones(2)])  # raises nograd
t._foreach_zero_(None)  # raises nograd
t._foreach_zero_(-1)  # raises nograd
t._foreach_max(None)  # raises nograd
t._foreach_max(-1)  # raises nograd
t.amp.autocast('cpu', t.bfloat16, t.ones(0))  # raises nograd
t.amp.GradScaler('cpu', 2.0, None, 0.5, 10, True)  # raises nograd
t.amp.GradScaler('cpu', 2.0, t.ones(0), 0.5, 10, True)  # raises nograd
t.amp.GradScaler('cpu').scale(None)  # raises nograd
t.amp.GradScaler('cpu').unscale_(t.optim.SGD([t.ones(2, requires_grad=True)], 0.1))  # raises nograd
t.amp.GradScaler('cpu').update(2.0)  # raises nograd
t.nn.utils.parametrize.register_parametrization(None, 'weight', t.nn.Identity())  # raises nograd
t.nn.utils.parametrize.register_parametrization(t.nn.Linear(2, 2), [], t.nn.Identity())  # raises nograd
t.nn.utils.parametrize.remove_parametrizations(t.nn.Linear(2,2), 'weight', True)  # raises nograd
t.nn.utils.parametrize.remove_parametrizations(t.nn.Linear(2, 2), 'a', True)  # raises nograd
t.nn.utils.parametrizations.orthogonal(None, 'weight', 'cayley')  # raises nograd
t.nn.utils.parametrizations.orthogonal(t.ones(2,2,2,2), 'weight', 'cayley')  # raises nograd
t.nn.utils.parametrizations.weight_norm(None, 'weight', 0)  # raises nograd
t.nn.utils.parametrizations.weight_norm(t.nn.Linear(2, 2), [], 0)  # raises nograd
t.nn.utils.parametrizations.spectral_norm(None, 'weight', 1)  # raises nograd
t.nn.utils.parametrizations.spectral_norm(t.ones(2,2,2,2), 'weight', 1)  # raises nograd
t.nn.utils.prune.l1_unstructured(None, 'weight', 0.5)  # raises nograd
t.nn.utils.prune.l1_unstructured(t.nn.Linear(2, 2), 'weight', None)  # raises nograd
t.nn.utils.prune.random_unstructured(None, 'weight', 1)  # raises nograd
t.nn.utils.prune.random_unstructured(t.nn.Linear(2, 2), 'weight', None)  # raises nograd
t.nn.utils.prune.ln_structured(None, 'weight', 1, 2, 0)  # raises nograd
t.nn.utils.prune.ln_structured(t.nn.Linear(2, 2), 'weight', None, 2, 0)  # raises nograd
t.nn.utils.prune.random_structured(None, 'weight', 1, 0)  # raises nograd
t.nn.utils.prune.random_structured(t.nn.Linear(2, 2), 'weight', None, 0)  # raises nograd
t.nn.utils.prune.custom_from_mask(None, 'weight', t.ones(2, 2))  # raises nograd
t.nn.utils.prune.custom_from_mask(t.nn.Linear(2, 2), 'weight', t.ones(()))  # raises nograd
t.nn.utils.prune.remove(t.nn.Linear(2,2), 'weight')  # raises nograd
t.nn.utils.prune.remove(t.nn.Linear(2, 2), t.ones(3,3))  # raises nograd
t.nn.utils.prune.global_unstructured(None, t.nn.utils.prune.L1Unstructured, amount=1)  # raises nograd
t.nn.utils.prune.global_unstructured([], t.nn.utils.prune.L1Unstructured, amount=1)  # raises nograd
t.nn.utils.prune.L1Unstructured(None)  # raises nograd
t.nn.utils.prune.L1Unstructured(-1)  # raises nograd
t.nn.utils.prune.LnStructured(None, 2, 0)  # raises nograd
t.nn.utils.prune.LnStructured(-1, 2, 0)  # raises nograd
t.optim.SGD(None, 0.1, 0.9, 0.0, 0.0, False)  # raises nograd
t.optim.SGD([], 0.1, 0.9, 0.0, 0.0, False)  # raises nograd
t.optim.Adam(None, 0.1, (0.9, 0.99), 1e-08, 0.0, False)  # raises nograd
t.optim.Adam([], 0.1, (0.9, 0.99), 1e-08, 0.0, False)  # raises nograd
t.optim.AdamW(None, 0.1, (0.9, 0.99), 1e-08, 0.0)  # raises nograd
t.optim.AdamW([], 0.1, (0.9, 0.99), 1e-08, 0.0)  # raises nograd
t.optim.Adafactor(None, 0.1, -0.8, (None, 0.001), 1.0, 0.0)  # raises nograd
t.optim.Adafactor([], 0.1, -0.8, (None, 0.001), 1.0, 0.0)  # raises nograd
t.optim.Muon(None, 0.1, 0.1, 0.9, True)  # raises nograd
t.optim.Muon([], 0.1, 0.1, 0.9, True)  # raises nograd
t.optim.Adagrad(None, 0.1, 0.0, 0.0, 0.0, 1e-10)  # raises nograd
t.optim.Adagrad([], 0.1, 0.0, 0.0, 0.0, 1e-10)  # raises nograd
t.optim.Adadelta(None, 0.1, 0.9, 1e-06, 0.0)  # raises nograd
t.optim.Adadelta([], 0.1, 0.9, 1e-06, 0.0)  # raises nograd
t.optim.Adamax(None, 0.1, (0.9, 0.99), 1e-08, 0.0)  # raises nograd
t.optim.Adamax([], 0.1, (0.9, 0.99), 1e-08, 0.0)  # raises nograd
t.optim.ASGD(None, 0.1, 0.0001, 0.75, 1000000.0, 0.0)  # raises nograd
t.optim.ASGD([], 0.1, 0.0001, 0.75, 1000000.0, 0.0)  # raises nograd
t.optim.LBFGS(None, 0.1, 20, None, 1e-07, 1e-09, 100, None)  # raises nograd
t.optim.LBFGS([], 0.1, 20, None, 1e-07, 1e-09, 100, None)  # raises nograd
t.optim.NAdam(None, 0.1, (0.9, 0.99), 1e-08, 0.0, 0.004)  # raises nograd
t.optim.NAdam([], 0.1, (0.9, 0.99), 1e-08, 0.0, 0.004)  # raises nograd
t.optim.RAdam(None, 0.1, (0.9, 0.99), 1e-08, 0.0)  # raises nograd
t.optim.RAdam([], 0.1, (0.9, 0.99), 1e-08, 0.0)  # raises nograd
t.optim.RMSprop(None, 0.1, 0.99, 1e-08, 0.0, 0.0, False)  # raises nograd
t.optim.RMSprop([], 0.1, 0.99, 1e-08, 0.0, 0.0, False)  # raises nograd
t.optim.Rprop(None, 0.1, (0.5, 1.2), (1e-06, 50))  # raises nograd
t.optim.Rprop([], 0.1, (0.5, 1.2), (1e-06, 50))  # raises nograd
t.optim.SparseAdam(None, 0.1, (0.9, 0.99), 1e-08)  # raises nograd
t.optim.SparseAdam([], 0.1, (0.9, 0.99), 1e-08)  # raises nograd
t.optim.SGD([t.ones(2, requires_grad=True)], 0.1).add_param_group(None)  # raises nograd
t.optim.SGD([t.ones(2, requires_grad=True)], 0.1).load_state_dict(None)  # raises nograd
t.optim.SGD([t.ones(2, requires_grad=True)], 0.1).load_state_dict({})  # raises nograd
t.optim.SGD([t.ones(2, requires_grad=True)], 0.1).step('a')  # raises nograd
t.optim.swa_utils.AveragedModel(t.nn.Linear(2, 2), -1, None, None, False)  # raises nograd
t.optim.swa_utils.AveragedModel(t.nn.Linear(2, 2)).update_parameters(None)  # raises nograd
t.optim.swa_utils.SWALR(None, 0.5, 10, 'cos')  # raises nograd
t.optim.swa_utils.SWALR(t.optim.SGD([t.ones(2, requires_grad=True)], 0.1), 0.5, 10, -1)  # raises nograd
t.optim.swa_utils.get_ema_avg_fn(None)  # raises nograd
t.optim.swa_utils.get_ema_avg_fn(1.5)  # raises nograd
t.optim.swa_utils.get_ema_multi_avg_fn(None)  # raises nograd
t.optim.swa_utils.get_ema_multi_avg_fn(1.5)  # raises nograd
t.optim.swa_utils.update_bn(None, t.nn.BatchNorm1d(2))  # raises nograd
t.optim.swa_utils.update_bn(t.ones(()), t.nn.BatchNorm1d(2))  # raises nograd
t.utils.data.datapipes.iter.Concater(None)  # raises nograd
t.utils.data.datapipes.iter.Zipper(None)  # raises nograd
t.utils.data.datapipes.map.SequenceWrapper([1, 2], t.ones(0))  # raises nograd
t.utils.data.datapipes.map.Zipper(None)  # raises nograd
t.utils.data.datapipes.map.Concater(None)  # raises nograd
t.testing.assert_close(None, t.ones(2), rtol=0.0, atol=0.0)  # raises nograd
t.testing.assert_close(t.ones(()), t.ones(2), rtol=0.0, atol=0.0)  # raises nograd
t.testing.make_tensor(-1, dtype=t.float32, device='cpu', low=0, high=1)  # raises nograd
t.testing.make_tensor((2, 3), dtype=t.float32, device='cpu', low='a', high=1)  # raises nograd
t.library.define(None, '(Tensor x) -> Tensor')  # raises nograd
t.fx.symbolic_trace(None)  # raises nograd
t.fx.Graph().placeholder(None)  # raises nograd
t.fx.Graph().get_attr(None)  # raises nograd
t.fx.Graph().call_function(None, (1,))  # raises nograd
t.fx.Graph().call_function(abs, 'a')  # raises nograd
t.fx.Graph().call_module(None, ())  # raises nograd
t.fx.Graph().call_module('x', t.ones(0))  # raises nograd
t.fx.Graph().create_node(None, 'x')  # raises nograd
t.fx.Graph().create_node(t.ones(3,3), 'x')  # raises nograd
t.fx.GraphModule(None, t.fx.Graph())  # raises nograd
t.fx.GraphModule(-1, t.fx.Graph())  # raises nograd
t.fx.replace_pattern(t.fx.symbolic_trace(t.nn.ReLU()), abs, abs)  # raises nograd
t.fx.wrap(None)  # raises nograd
t.distributions.Normal(0.0, 1.0).log_prob(t.ones(3,dtype=t.bool))  # raises nograd
t.distributions.Normal(0.0, 1.0).cdf(t.ones(3,dtype=t.bool))  # raises nograd
t.distributions.Normal(0.0, 1.0).expand(None)  # raises nograd
t.distributions.Normal(0.0, 1.0).expand((2,), 'a')  # raises nograd
t.distributions.Normal(0.0, 1.0).sample(t.ones(()))  # raises nograd
t.distributions.Bernoulli(0.5).log_prob(t.ones(3,dtype=t.int64))  # raises nograd
t.distributions.Normal(None, 1.0)  # raises nograd
t.distributions.Bernoulli(None)  # raises nograd
t.distributions.Categorical(None)  # raises nograd
t.distributions.Categorical(t.ones(()))  # raises nograd
t.distributions.OneHotCategorical(None)  # raises nograd
t.distributions.OneHotCategorical(t.ones(()))  # raises nograd
t.distributions.Beta(None, 1.0)  # raises nograd
t.distributions.Gamma(None, 1.0)  # raises nograd
t.distributions.Dirichlet(None)  # raises nograd
t.distributions.Exponential(None)  # raises nograd
t.distributions.Poisson(None)  # raises nograd
t.distributions.Uniform(None, 1.0)  # raises nograd
t.distributions.Laplace(None, 1.0)  # raises nograd
t.distributions.Cauchy(None, 1.0)  # raises nograd
t.distributions.Chi2(None)  # raises nograd
t.distributions.StudentT(None, 0.0, 1.0)  # raises nograd
t.distributions.VonMises(None, 1.0)  # raises nograd
t.distributions.Weibull(None, 1.0)  # raises nograd
t.distributions.Pareto(None, 1.0)  # raises nograd
t.distributions.Kumaraswamy(None, 1.0)  # raises nograd
t.distributions.Geometric(None)  # raises nograd
t.distributions.Binomial(None, 0.3)  # raises nograd
t.distributions.NegativeBinomial(None, 0.3)  # raises nograd
t.distributions.Multinomial()  # raises nograd
t.distributions.Multinomial(3, t.ones(()))  # raises nograd
t.distributions.MultivariateNormal(None, t.eye(2))  # raises nograd
t.distributions.MultivariateNormal(t.eye(3).to_sparse(), t.eye(2))  # raises nograd
t.distributions.LowRankMultivariateNormal(None, t.ones(2, 1), t.ones(2))  # raises nograd
t.distributions.LowRankMultivariateNormal(t.ones(0), t.ones(2, 1), t.ones(2))  # raises nograd
t.distributions.LKJCholesky(None, 1.0)  # raises nograd
t.distributions.LKJCholesky(t.ones(0), 1.0)  # raises nograd
t.distributions.Wishart(-1, t.eye(2))  # raises nograd
t.distributions.Wishart(True, t.eye(2))  # raises nograd
t.distributions.HalfNormal(None)  # raises nograd
t.distributions.HalfCauchy(None)  # raises nograd
t.distributions.LogNormal(None, 1.0)  # raises nograd
t.distributions.LogisticNormal(None, t.ones(2))  # raises nograd
t.distributions.Gumbel(None, 1.0)  # raises nograd
t.distributions.ContinuousBernoulli(None)  # raises nograd
t.distributions.ContinuousBernoulli(t.ones(3,dtype=t.int64))  # raises nograd
t.distributions.FisherSnedecor(None, 3.0)  # raises nograd
t.distributions.InverseGamma(None, 3.0)  # raises nograd
t.distributions.RelaxedBernoulli(t.tensor(0.5), None)  # raises nograd
t.distributions.RelaxedOneHotCategorical(t.tensor(0.5), None)  # raises nograd
t.distributions.RelaxedOneHotCategorical(t.tensor(0.5), t.ones(()))  # raises nograd
t.distributions.Independent(None, 1)  # raises nograd
t.distributions.Independent(t.distributions.Normal(t.ones(2), 1.0), 1.5)  # raises nograd
t.distributions.MixtureSameFamily(None, t.distributions.Normal(t.ones(2), 1.0))  # raises nograd
t.distributions.TransformedDistribution(None, t.distributions.ExpTransform())  # raises nograd
t.distributions.TransformedDistribution(t.distributions.Normal(0.0, 1.0), 'a')  # raises nograd
t.distributions.GeneralizedPareto(None, 1.0, 0.1)  # raises nograd
t.distributions.AffineTransform(0.0, 1.0, 0, 'a')  # raises nograd
t.distributions.ComposeTransform([t.distributions.ExpTransform()], 'a')  # raises nograd
t.distributions.ReshapeTransform(None, (6,))  # raises nograd
t.distributions.ReshapeTransform(t.ones(()), (6,))  # raises nograd
t.distributions.StackTransform(None, 0)  # raises nograd
t.distributions.StackTransform(t.ones(()), 0)  # raises nograd
t.distributions.CatTransform(None, 0)  # raises nograd
t.distributions.CatTransform(t.ones(()), 0)  # raises nograd
t.distributions.IndependentTransform(None, 1)  # raises nograd
t.distributions.PowerTransform(2.0, 'a')  # raises nograd
t.nn.functional.grid_sample(t.ones(0), t.ones(1, 2, 2, 2), 'bilinear', 'zeros', False)  # raises nograd
t.nn.functional.grid_sample(t.ones(1, 1, 2, 2), t.ones(0), 'bilinear', 'zeros', False)  # raises nograd
t.nn.functional.ctc_loss(t.ones(5, 1, 3), t.ones(0), t.tensor([5]), t.tensor([2]))  # raises nograd
t.nn.utils.stateless.functional_call(t.nn.Linear(2, 2), {}, 'a')  # raises nograd
t.nn.utils.stateless.functional_call(t.nn.Linear(2, 2), {}, 1.5)  # raises nograd
t.func.functional_call(t.nn.Linear(2, 2), None, (t.ones(2),))  # raises nograd
t.func.functional_call(t.nn.Linear(2, 2), {}, 'a')  # raises nograd
t.func.stack_module_state('a')  # raises nograd
t.func.linearize(None, t.ones(2))  # raises nograd
t.func.linearize(t.sin, {})  # raises nograd
t.nn.utils.fusion.fuse_conv_bn_eval(None, t.nn.BatchNorm2d(1).eval())  # raises nograd
t.utils.flop_counter.FlopCounterMode(None, 2, True, 'a')  # raises nograd
t.utils._pytree.tree_map(None, [1, -2])  # raises nograd
t.utils._pytree.tree_unflatten(None, t.utils._pytree.tree_flatten([1])[1])  # raises nograd
""")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)
