"""Functions of torch.sparse, torch.distributions, torch.optim and other namespaces called wrongly:
an argument of another type, shape or sign. The exception's type and first sentence are PyTorch's.
"""

import importlib

import pytest
from compat import cases, check, oracle, subject

NAMESPACES = """sparse masked quasirandom signal.windows distributions fx amp nn.attention
nn.attention.flex_attention nn.utils.parametrize nn.utils.parametrizations nn.utils.prune
nn.utils.stateless nn.utils.fusion optim.swa_utils utils.flop_counter utils.data.datapipes.iter
utils.data.datapipes.map testing func""".split()
for library in (oracle, subject):
    for path in NAMESPACES:
        importlib.import_module(f"{library.__name__}.{path}")

CASES = cases("""
t.sparse_coo_tensor('a', [1.0, 2.0], (2, 2))  # raises
t.sparse_coo_tensor(t.ones(2,2,2,2), [1.0, 2.0], (2, 2))  # raises
t.sparse_csr_tensor(None, [0, 1], [1.0, 2.0], (2, 2))  # raises
t.sparse_csr_tensor({}, [0, 1], [1.0, 2.0], (2, 2))  # raises
t.sparse_csc_tensor(None, [0, 1], [1.0, 2.0], (2, 2))  # raises
t.sparse_csc_tensor({}, [0, 1], [1.0, 2.0], (2, 2))  # raises
t.sparse_bsr_tensor(None, [0, 1], [[[1.0]], [[2.0]]], (2, 2))  # raises
t.sparse_bsr_tensor({}, [0, 1], [[[1.0]], [[2.0]]], (2, 2))  # raises
t.sparse_compressed_tensor(None, [0, 1], [1.0, 2.0], (2, 2), layout=t.sparse_csr)  # raises
t.sparse_compressed_tensor({}, [0, 1], [1.0, 2.0], (2, 2), layout=t.sparse_csr)  # raises
t.sparse.mm(t.eye(3).to_sparse(), t.ones(2, 2))  # raises
t.sparse.mm(t.eye(2).to_sparse(), t.eye(3).to_sparse())  # raises
t.sparse.addmm(t.ones(2, 2), None, t.ones(2, 2))  # raises
t.sparse.addmm(t.ones(2, 2), -1, t.ones(2, 2))  # raises
t.sparse.sum(None, 0)  # raises
t.sparse.sum(t.eye(2).to_sparse(), 0, 'a')  # raises
t.sparse.softmax(None, 1)  # raises
t.sparse.softmax(-1, 1)  # raises
t.sparse.log_softmax(None, 1)  # raises
t.sparse.log_softmax(-1, 1)  # raises
t.sparse.spdiags(None, t.tensor([0]), (2, 2))  # raises
t.sparse.spdiags(-1, t.tensor([0]), (2, 2))  # raises
t.sparse.sampled_addmm(None, t.ones(2, 2), t.ones(2, 2))  # raises
t.sparse.sampled_addmm(-1, t.ones(2, 2), t.ones(2, 2))  # raises
t.smm(None, t.ones(2, 2))  # raises
t.smm(-1, t.ones(2, 2))  # raises
t.hspmm(None, t.ones(2, 2))  # raises
t.hspmm(-1, t.ones(2, 2))  # raises
t.sspaddmm(None, t.eye(2).to_sparse(), t.ones(2, 2))  # raises
t.sspaddmm(-1, t.eye(2).to_sparse(), t.ones(2, 2))  # raises
t.eye(2).to_sparse(None)  # raises
t.eye(2).to_sparse(0)  # raises
t.eye(2).to_sparse_csr('a')  # raises
t.eye(2).to_sparse_csr([])  # raises
t.eye(2).to_sparse_bsr(None)  # raises
t.eye(2).to_sparse_bsr(1.5)  # raises
t.eye(2).sparse_mask(t.eye(3).to_sparse())  # raises
t.eye(2).to_sparse().sparse_resize_(None, 2, 0)  # raises
t.eye(2).to_sparse().sparse_resize_(-1, 2, 0)  # raises
t.eye(2).to_sparse().sparse_resize_and_clear_(None, 2, 0)  # raises
t.eye(2).to_sparse().sparse_resize_and_clear_(-1, 2, 0)  # raises
t.eye(2).to_sparse().select(None, 1)  # raises
t.eye(2).to_sparse().select(1.5, 1)  # raises
t.eye(2).to_sparse().transpose(None, 1)  # raises
t.eye(2).to_sparse().transpose(1.5, 1)  # raises
t.eye(2).to_sparse().index_select(None, t.tensor([0]))  # raises
t.eye(2).to_sparse().index_select(1.5, t.tensor([0]))  # raises
t.eye(2).to_sparse().narrow_copy(0, -1, 1)  # raises
t.cat(None, 0)  # raises
t.cat(-1, 0)  # raises
t.add(None, t.eye(2).to_sparse())  # raises
t.add([], t.eye(2).to_sparse())  # raises
t.mul(None, t.eye(2).to_sparse())  # raises
t.mul([], t.eye(2).to_sparse())  # raises
t.masked.masked_tensor(None, t.ones(2, 2).bool())  # raises
t.masked.masked_tensor(t.ones(3,3), t.ones(2, 2).bool())  # raises
t.masked.as_masked_tensor(None, t.ones(2, 2).bool())  # raises
t.masked.as_masked_tensor(t.ones(3,3), t.ones(2, 2).bool())  # raises
t.masked.sum(t.ones(()), 0, mask=t.ones(2, 2).bool())  # raises
t.masked.sum(t.ones(2, 2), 1.5, mask=t.ones(2, 2).bool())  # raises
t.masked.mean(None, 0)  # raises
t.masked.mean(t.ones(2, 2), 1.5)  # raises
t.masked.prod(t.ones(2, 2), 1.5)  # raises
t.masked.prod(t.ones(2, 2), t.ones(7))  # raises
t.masked.amax(t.ones(2, 2), 1.5)  # raises
t.masked.amax(t.ones(2, 2), t.ones(7))  # raises
t.masked.argmax(t.ones(0), 0)  # raises
t.masked.argmax(t.ones(3,dtype=t.complex64), 0)  # raises
t.masked.softmax(t.ones(2, 2), 1.5)  # raises
t.masked.softmax(t.ones(2, 2), t.ones(()))  # raises
t.masked.norm(t.ones(3,dtype=t.int64), 2.0, 0)  # raises
t.masked.norm(t.ones(2, 2), 2.0, t.ones(()))  # raises
t.masked.normalize(None, 2.0, 0)  # raises
t.masked.normalize(t.ones(2, 2), 2.0, 1.5)  # raises
t.masked.var(None, 0, False)  # raises
t.masked.var(t.ones(2, 2), 1.5, False)  # raises
t.masked.median(None, 0)  # raises
t.masked.median(t.ones(2, 2), [])  # raises
t.masked.cumsum(None, 0)  # raises
t.masked.cumsum(t.ones(2, 2), [])  # raises
t.masked.logsumexp(t.ones(2, 2), 1.5)  # raises
t.masked.logsumexp(t.ones(2, 2), t.ones(7))  # raises
t.masked.logaddexp(t.ones(0), t.ones(2, 2))  # raises
t.quasirandom.SobolEngine(None, False, 1)  # raises
t.quasirandom.SobolEngine(t.ones(0), False, 1)  # raises
t.quasirandom.SobolEngine(3).draw(-1)  # raises
t.quasirandom.SobolEngine(3).draw(t.ones(0))  # raises
t.quasirandom.SobolEngine(3).draw_base2(None)  # raises
t.quasirandom.SobolEngine(3).draw_base2(t.ones(3,dtype=t.int64))  # raises
t.quasirandom.SobolEngine(3).fast_forward(t.eye(3).to_sparse())  # raises
t.signal.windows.hamming(None)  # raises
t.signal.windows.hamming(t.ones(0))  # raises
t.signal.windows.kaiser(None, beta=1.0)  # raises
t.signal.windows.kaiser(t.ones(0), beta=1.0)  # raises
t.signal.windows.gaussian(None, std=1.0)  # raises
t.signal.windows.gaussian(t.ones(0), std=1.0)  # raises
t.signal.windows.exponential(None, center=None, tau=1.0)  # raises
t.signal.windows.exponential(t.ones(0), center=None, tau=1.0)  # raises
t.signal.windows.general_cosine(None, a=[0.5, 0.5])  # raises
t.signal.windows.general_cosine(t.ones(0), a=[0.5, 0.5])  # raises
t.signal.windows.general_hamming(None, alpha=0.5)  # raises
t.signal.windows.general_hamming(t.ones(0), alpha=0.5)  # raises
t.signal.windows.nuttall(None, sym=True)  # raises
t.signal.windows.nuttall(t.ones(0), sym=True)  # raises
t.hann_window(-1, True)  # raises
t.kaiser_window(-1, True, 12.0)  # raises
t.hamming_window(-1, True, 0.5, 0.5)  # raises
t.blackman_window(None)  # raises
t.blackman_window(-1)  # raises
t.stft(t.ones(()), 8, 2, 8, t.ones(8), return_complex=True)  # raises
t.stft(t.ones(20), 8, -1, 8, t.ones(8), return_complex=True)  # raises
t.istft(None, 8, 2, 8, t.ones(8))  # raises
t.istft(-1, 8, 2, 8, t.ones(8))  # raises
t.linalg.cholesky_ex(t.ones(()))  # raises
t.linalg.cholesky_ex(t.ones(3,3,dtype=t.int64))  # raises
t.linalg.ldl_factor(t.ones(()))  # raises
t.linalg.ldl_factor(t.ones(3,3,dtype=t.int64))  # raises
t.linalg.ldl_factor_ex(t.ones(()))  # raises
t.linalg.ldl_factor_ex(t.ones(3,3,dtype=t.int64))  # raises
t.linalg.ldl_solve(None, t.tensor([1, 2, 3], dtype=t.int32), t.ones(3, 2))  # raises
t.linalg.ldl_solve(-1, t.tensor([1, 2, 3], dtype=t.int32), t.ones(3, 2))  # raises
t.linalg.householder_product(None, t.ones(3))  # raises
t.linalg.householder_product(-1, t.ones(3))  # raises
t.linalg.lu_solve(None, t.tensor([1, 2, 3], dtype=t.int32), t.ones(3, 2))  # raises
t.linalg.lu_solve(-1, t.tensor([1, 2, 3], dtype=t.int32), t.ones(3, 2))  # raises
t.linalg.lu_factor(None)  # raises
t.linalg.lu_factor(-1)  # raises
t.linalg.lu_factor_ex(None)  # raises
t.linalg.lu_factor_ex(-1)  # raises
t.linalg.lu(None)  # raises
t.linalg.lu(-1)  # raises
t.linalg.inv_ex(None)  # raises
t.linalg.inv_ex(-1)  # raises
t.linalg.solve_ex(None, t.ones(3))  # raises
t.linalg.solve_ex(-1, t.ones(3))  # raises
t.linalg.solve_triangular(t.ones(()), t.ones(3, 2), upper=True)  # raises
t.linalg.solve_triangular(t.ones(2,2,2,2), t.ones(3, 2), upper=True)  # raises
t.linalg.tensorsolve(t.ones(2,2,2,2), t.ones(2, 2))  # raises
t.linalg.tensorsolve(t.eye(4).reshape(2, 2, 4), t.ones(2, 2), 'a')  # raises
t.linalg.tensorinv(t.ones(3,3), 2)  # raises
t.linalg.tensorinv(t.eye(4).reshape(2, 2, 4), 'a')  # raises
t.linalg.matrix_exp(t.ones(()))  # raises
t.linalg.matrix_exp(t.ones(3,3,dtype=t.int64))  # raises
t.linalg.vander(None, N=2)  # raises
t.linalg.vander(-1, N=2)  # raises
t.linalg.vecdot(None, t.ones(3))  # raises
t.linalg.vecdot(-1, t.ones(3))  # raises
t.linalg.cond(None, 2)  # raises
t.linalg.matrix_rank(None, atol=1.0)  # raises
t.linalg.lstsq(t.ones(()), t.ones(3, 1))  # raises
t.linalg.lstsq(t.eye(3), t.ones(()))  # raises
t.linalg.eig(t.ones(()))  # raises
t.linalg.eigh(t.ones(()), 'U')  # raises
t.linalg.eigh(t.eye(3), 'a')  # raises
t.linalg.cross(None, t.ones(3))  # raises
t.linalg.cross(-1, t.ones(3))  # raises
t.linalg.multi_dot(None)  # raises
t.linalg.multi_dot(-1)  # raises
t.orgqr(t.ones(()), t.ones(3))  # raises
t.orgqr(t.ones(2,2,2,2), t.ones(3))  # raises
t.ormqr(None, t.ones(3), t.eye(3), True, False)  # raises
t.ormqr(-1, t.ones(3), t.eye(3), True, False)  # raises
t.geqrf(None)  # raises
t.geqrf(-1)  # raises
t.lu_unpack(None, t.tensor([1, 2, 3], dtype=t.int32))  # raises
t.lu_unpack(-1, t.tensor([1, 2, 3], dtype=t.int32))  # raises
t.cholesky_inverse(None)  # raises
t.cholesky_inverse(-1)  # raises
t.cholesky_solve(None, t.eye(3))  # raises
t.cholesky_solve(-1, t.eye(3))  # raises
t.lobpcg(t.ones(()), 2)  # raises
t.lobpcg(t.ones(2,3), 2)  # raises
t.svd_lowrank(t.ones(()), 2)  # raises
t.svd_lowrank(t.eye(9), 'a')  # raises
t.pca_lowrank(None, 2)  # raises
t.pca_lowrank(t.ones(3,3,dtype=t.int64), 2)  # raises
t.special.airy_ai(None)  # raises
t.special.airy_ai(-1)  # raises
t.special.modified_bessel_k0(None)  # raises
t.special.modified_bessel_k0(-1)  # raises
t.special.spherical_bessel_j0(None)  # raises
t.special.spherical_bessel_j0(-1)  # raises
t.special.chebyshev_polynomial_t(None, t.ones(3))  # raises
t.special.hermite_polynomial_h(None, 2)  # raises
t.special.laguerre_polynomial_l(None, 2)  # raises
t.special.legendre_polynomial_p(None, t.ones(3))  # raises
t.special.shifted_chebyshev_polynomial_t(None, 2)  # raises
t.special.zeta(t.ones(3), t.ones(0))  # raises
t.special.multigammaln(t.ones(3) + 3, -1)  # raises
t._foreach_add(None, [t.ones(2)])  # raises
t._foreach_add((1,2,3), [t.ones(2)])  # raises
t._foreach_add_(None, [t.ones(2)])  # raises
t._foreach_add_((1,2,3), [t.ones(2)])  # raises
t._foreach_mul(None, 2)  # raises
t._foreach_mul((1,2,3), 2)  # raises
t._foreach_div(None, [2.0])  # raises
t._foreach_div((1,2,3), [2.0])  # raises
t._foreach_sqrt(None)  # raises
t._foreach_sqrt(-1)  # raises
t._foreach_norm(None, 2)  # raises
t._foreach_norm(-1, 2)  # raises
t._foreach_addcmul(None, [t.ones(2)], [t.ones(2)], 1.0)  # raises
t._foreach_addcmul((1,2,3), [t.ones(2)], [t.ones(2)], 1.0)  # raises
t._foreach_addcdiv_(None, [t.ones(2)], [t.ones(2)], [1.0])  # raises
t._foreach_addcdiv_((1,2,3), [t.ones(2)], [t.ones(2)], [1.0])  # raises
t._foreach_lerp(None, [t.ones(2)], 0.5)  # raises
t._foreach_lerp((1,2,3), [t.ones(2)], 0.5)  # raises
t._foreach_pow(None, 2)  # raises
t._foreach_pow((1,2,3), 2)  # raises
t._foreach_maximum(None, 2.0)  # raises
t._foreach_maximum((1,2,3), 2.0)  # raises
t._foreach_copy_(None, [t.ones(2)])  # raises
t._foreach_copy_(-1, [t.ones(2)])  # raises
t._foreach_zero_(None)  # raises
t._foreach_zero_(-1)  # raises
t._foreach_max(None)  # raises
t._foreach_max(-1)  # raises
t.amp.autocast('cpu', t.bfloat16, t.ones(0))  # raises
t.amp.GradScaler('cpu', 2.0, None, 0.5, 10, True)  # raises
t.amp.GradScaler('cpu', 2.0, t.ones(0), 0.5, 10, True)  # raises
t.amp.GradScaler('cpu').scale(None)  # raises
t.amp.GradScaler('cpu').unscale_(t.optim.SGD([t.ones(2, requires_grad=True)], 0.1))  # raises
t.amp.GradScaler('cpu').update(2.0)  # raises
t.nn.utils.parametrize.register_parametrization(None, 'weight', t.nn.Identity())  # raises
t.nn.utils.parametrize.register_parametrization(t.nn.Linear(2, 2), [], t.nn.Identity())  # raises
t.nn.utils.parametrize.remove_parametrizations(t.nn.Linear(2,2), 'weight', True)  # raises
t.nn.utils.parametrize.remove_parametrizations(t.nn.Linear(2, 2), 'a', True)  # raises
t.nn.utils.parametrizations.orthogonal(None, 'weight', 'cayley')  # raises
t.nn.utils.parametrizations.orthogonal(t.ones(2,2,2,2), 'weight', 'cayley')  # raises
t.nn.utils.parametrizations.weight_norm(None, 'weight', 0)  # raises
t.nn.utils.parametrizations.weight_norm(t.nn.Linear(2, 2), [], 0)  # raises
t.nn.utils.parametrizations.spectral_norm(None, 'weight', 1)  # raises
t.nn.utils.parametrizations.spectral_norm(t.ones(2,2,2,2), 'weight', 1)  # raises
t.nn.utils.prune.l1_unstructured(None, 'weight', 0.5)  # raises
t.nn.utils.prune.l1_unstructured(t.nn.Linear(2, 2), 'weight', None)  # raises
t.nn.utils.prune.random_unstructured(None, 'weight', 1)  # raises
t.nn.utils.prune.random_unstructured(t.nn.Linear(2, 2), 'weight', None)  # raises
t.nn.utils.prune.ln_structured(None, 'weight', 1, 2, 0)  # raises
t.nn.utils.prune.ln_structured(t.nn.Linear(2, 2), 'weight', None, 2, 0)  # raises
t.nn.utils.prune.random_structured(None, 'weight', 1, 0)  # raises
t.nn.utils.prune.random_structured(t.nn.Linear(2, 2), 'weight', None, 0)  # raises
t.nn.utils.prune.custom_from_mask(None, 'weight', t.ones(2, 2))  # raises
t.nn.utils.prune.custom_from_mask(t.nn.Linear(2, 2), 'weight', t.ones(()))  # raises
t.nn.utils.prune.remove(t.nn.Linear(2,2), 'weight')  # raises
t.nn.utils.prune.remove(t.nn.Linear(2, 2), t.ones(3,3))  # raises
t.nn.utils.prune.global_unstructured(None, t.nn.utils.prune.L1Unstructured, amount=1)  # raises
t.nn.utils.prune.global_unstructured([], t.nn.utils.prune.L1Unstructured, amount=1)  # raises
t.nn.utils.prune.L1Unstructured(None)  # raises
t.nn.utils.prune.L1Unstructured(-1)  # raises
t.nn.utils.prune.LnStructured(None, 2, 0)  # raises
t.nn.utils.prune.LnStructured(-1, 2, 0)  # raises
t.optim.SGD(None, 0.1, 0.9, 0.0, 0.0, False)  # raises
t.optim.SGD([], 0.1, 0.9, 0.0, 0.0, False)  # raises
t.optim.Adam(None, 0.1, (0.9, 0.99), 1e-08, 0.0, False)  # raises
t.optim.Adam([], 0.1, (0.9, 0.99), 1e-08, 0.0, False)  # raises
t.optim.AdamW(None, 0.1, (0.9, 0.99), 1e-08, 0.0)  # raises
t.optim.AdamW([], 0.1, (0.9, 0.99), 1e-08, 0.0)  # raises
t.optim.Adafactor(None, 0.1, -0.8, (None, 0.001), 1.0, 0.0)  # raises
t.optim.Adafactor([], 0.1, -0.8, (None, 0.001), 1.0, 0.0)  # raises
t.optim.Muon(None, 0.1, 0.1, 0.9, True)  # raises
t.optim.Muon([], 0.1, 0.1, 0.9, True)  # raises
t.optim.Adagrad(None, 0.1, 0.0, 0.0, 0.0, 1e-10)  # raises
t.optim.Adagrad([], 0.1, 0.0, 0.0, 0.0, 1e-10)  # raises
t.optim.Adadelta(None, 0.1, 0.9, 1e-06, 0.0)  # raises
t.optim.Adadelta([], 0.1, 0.9, 1e-06, 0.0)  # raises
t.optim.Adamax(None, 0.1, (0.9, 0.99), 1e-08, 0.0)  # raises
t.optim.Adamax([], 0.1, (0.9, 0.99), 1e-08, 0.0)  # raises
t.optim.ASGD(None, 0.1, 0.0001, 0.75, 1000000.0, 0.0)  # raises
t.optim.ASGD([], 0.1, 0.0001, 0.75, 1000000.0, 0.0)  # raises
t.optim.LBFGS(None, 0.1, 20, None, 1e-07, 1e-09, 100, None)  # raises
t.optim.LBFGS([], 0.1, 20, None, 1e-07, 1e-09, 100, None)  # raises
t.optim.NAdam(None, 0.1, (0.9, 0.99), 1e-08, 0.0, 0.004)  # raises
t.optim.NAdam([], 0.1, (0.9, 0.99), 1e-08, 0.0, 0.004)  # raises
t.optim.RAdam(None, 0.1, (0.9, 0.99), 1e-08, 0.0)  # raises
t.optim.RAdam([], 0.1, (0.9, 0.99), 1e-08, 0.0)  # raises
t.optim.RMSprop(None, 0.1, 0.99, 1e-08, 0.0, 0.0, False)  # raises
t.optim.RMSprop([], 0.1, 0.99, 1e-08, 0.0, 0.0, False)  # raises
t.optim.Rprop(None, 0.1, (0.5, 1.2), (1e-06, 50))  # raises
t.optim.Rprop([], 0.1, (0.5, 1.2), (1e-06, 50))  # raises
t.optim.SparseAdam(None, 0.1, (0.9, 0.99), 1e-08)  # raises
t.optim.SparseAdam([], 0.1, (0.9, 0.99), 1e-08)  # raises
t.optim.SGD([t.ones(2, requires_grad=True)], 0.1).add_param_group(None)  # raises
t.optim.SGD([t.ones(2, requires_grad=True)], 0.1).load_state_dict(None)  # raises
t.optim.SGD([t.ones(2, requires_grad=True)], 0.1).load_state_dict({})  # raises
t.optim.SGD([t.ones(2, requires_grad=True)], 0.1).step('a')  # raises
t.optim.swa_utils.AveragedModel(t.nn.Linear(2, 2), -1, None, None, False)  # raises
t.optim.swa_utils.AveragedModel(t.nn.Linear(2, 2)).update_parameters(None)  # raises
t.optim.swa_utils.SWALR(None, 0.5, 10, 'cos')  # raises
t.optim.swa_utils.SWALR(t.optim.SGD([t.ones(2, requires_grad=True)], 0.1), 0.5, 10, -1)  # raises
t.optim.swa_utils.get_ema_avg_fn(None)  # raises
t.optim.swa_utils.get_ema_avg_fn(1.5)  # raises
t.optim.swa_utils.get_ema_multi_avg_fn(None)  # raises
t.optim.swa_utils.get_ema_multi_avg_fn(1.5)  # raises
t.optim.swa_utils.update_bn(None, t.nn.BatchNorm1d(2))  # raises
t.optim.swa_utils.update_bn(t.ones(()), t.nn.BatchNorm1d(2))  # raises
t.utils.data.datapipes.iter.Concater(None)  # raises
t.utils.data.datapipes.iter.Zipper(None)  # raises
t.utils.data.datapipes.map.SequenceWrapper([1, 2], t.ones(0))  # raises
t.utils.data.datapipes.map.Zipper(None)  # raises
t.utils.data.datapipes.map.Concater(None)  # raises
t.testing.assert_close(None, t.ones(2), rtol=0.0, atol=0.0)  # raises
t.testing.assert_close(t.ones(()), t.ones(2), rtol=0.0, atol=0.0)  # raises
t.testing.make_tensor(-1, dtype=t.float32, device='cpu', low=0, high=1)  # raises
t.testing.make_tensor((2, 3), dtype=t.float32, device='cpu', low='a', high=1)  # raises
t.library.define(None, '(Tensor x) -> Tensor')  # raises
t.fx.symbolic_trace(None)  # raises
t.fx.Graph().placeholder(None)  # raises
t.fx.Graph().get_attr(None)  # raises
t.fx.Graph().call_function(None, (1,))  # raises
t.fx.Graph().call_function(abs, 'a')  # raises
t.fx.Graph().call_module(None, ())  # raises
t.fx.Graph().call_module('x', t.ones(0))  # raises
t.fx.Graph().create_node(None, 'x')  # raises
t.fx.Graph().create_node(t.ones(3,3), 'x')  # raises
t.fx.GraphModule(None, t.fx.Graph())  # raises
t.fx.GraphModule(-1, t.fx.Graph())  # raises
t.fx.replace_pattern(t.fx.symbolic_trace(t.nn.ReLU()), abs, abs)  # raises
t.fx.wrap(None)  # raises
t.distributions.Normal(0.0, 1.0).log_prob(t.ones(3,dtype=t.bool))  # raises
t.distributions.Normal(0.0, 1.0).cdf(t.ones(3,dtype=t.bool))  # raises
t.distributions.Normal(0.0, 1.0).expand(None)  # raises
t.distributions.Normal(0.0, 1.0).expand((2,), 'a')  # raises
t.distributions.Normal(0.0, 1.0).sample(t.ones(()))  # raises
t.distributions.Bernoulli(0.5).log_prob(t.ones(3,dtype=t.int64))  # raises
t.distributions.Normal(None, 1.0)  # raises
t.distributions.Bernoulli(None)  # raises
t.distributions.Categorical(None)  # raises
t.distributions.Categorical(t.ones(()))  # raises
t.distributions.OneHotCategorical(None)  # raises
t.distributions.OneHotCategorical(t.ones(()))  # raises
t.distributions.Beta(None, 1.0)  # raises
t.distributions.Gamma(None, 1.0)  # raises
t.distributions.Dirichlet(None)  # raises
t.distributions.Exponential(None)  # raises
t.distributions.Poisson(None)  # raises
t.distributions.Uniform(None, 1.0)  # raises
t.distributions.Laplace(None, 1.0)  # raises
t.distributions.Cauchy(None, 1.0)  # raises
t.distributions.Chi2(None)  # raises
t.distributions.StudentT(None, 0.0, 1.0)  # raises
t.distributions.VonMises(None, 1.0)  # raises
t.distributions.Weibull(None, 1.0)  # raises
t.distributions.Pareto(None, 1.0)  # raises
t.distributions.Kumaraswamy(None, 1.0)  # raises
t.distributions.Geometric(None)  # raises
t.distributions.Binomial(None, 0.3)  # raises
t.distributions.NegativeBinomial(None, 0.3)  # raises
t.distributions.Multinomial()  # raises
t.distributions.Multinomial(3, t.ones(()))  # raises
t.distributions.MultivariateNormal(None, t.eye(2))  # raises
t.distributions.MultivariateNormal(t.eye(3).to_sparse(), t.eye(2))  # raises
t.distributions.LowRankMultivariateNormal(None, t.ones(2, 1), t.ones(2))  # raises
t.distributions.LowRankMultivariateNormal(t.ones(0), t.ones(2, 1), t.ones(2))  # raises
t.distributions.LKJCholesky(None, 1.0)  # raises
t.distributions.LKJCholesky(t.ones(0), 1.0)  # raises
t.distributions.Wishart(-1, t.eye(2))  # raises
t.distributions.Wishart(True, t.eye(2))  # raises
t.distributions.HalfNormal(None)  # raises
t.distributions.HalfCauchy(None)  # raises
t.distributions.LogNormal(None, 1.0)  # raises
t.distributions.LogisticNormal(None, t.ones(2))  # raises
t.distributions.Gumbel(None, 1.0)  # raises
t.distributions.ContinuousBernoulli(None)  # raises
t.distributions.ContinuousBernoulli(t.ones(3,dtype=t.int64))  # raises
t.distributions.FisherSnedecor(None, 3.0)  # raises
t.distributions.InverseGamma(None, 3.0)  # raises
t.distributions.RelaxedBernoulli(t.tensor(0.5), None)  # raises
t.distributions.RelaxedOneHotCategorical(t.tensor(0.5), None)  # raises
t.distributions.RelaxedOneHotCategorical(t.tensor(0.5), t.ones(()))  # raises
t.distributions.Independent(None, 1)  # raises
t.distributions.Independent(t.distributions.Normal(t.ones(2), 1.0), 1.5)  # raises
t.distributions.MixtureSameFamily(None, t.distributions.Normal(t.ones(2), 1.0))  # raises
t.distributions.TransformedDistribution(None, t.distributions.ExpTransform())  # raises
t.distributions.TransformedDistribution(t.distributions.Normal(0.0, 1.0), 'a')  # raises
t.distributions.GeneralizedPareto(None, 1.0, 0.1)  # raises
t.distributions.AffineTransform(0.0, 1.0, 0, 'a')  # raises
t.distributions.ComposeTransform([t.distributions.ExpTransform()], 'a')  # raises
t.distributions.ReshapeTransform(None, (6,))  # raises
t.distributions.ReshapeTransform(t.ones(()), (6,))  # raises
t.distributions.StackTransform(None, 0)  # raises
t.distributions.StackTransform(t.ones(()), 0)  # raises
t.distributions.CatTransform(None, 0)  # raises
t.distributions.CatTransform(t.ones(()), 0)  # raises
t.distributions.IndependentTransform(None, 1)  # raises
t.distributions.PowerTransform(2.0, 'a')  # raises
t.nn.functional.grid_sample(t.ones(0), t.ones(1, 2, 2, 2), 'bilinear', 'zeros', False)  # raises
t.nn.functional.grid_sample(t.ones(1, 1, 2, 2), t.ones(0), 'bilinear', 'zeros', False)  # raises
t.nn.functional.ctc_loss(t.ones(5, 1, 3), t.ones(0), t.tensor([5]), t.tensor([2]))  # raises
t.nn.utils.stateless.functional_call(t.nn.Linear(2, 2), {}, 'a')  # raises
t.nn.utils.stateless.functional_call(t.nn.Linear(2, 2), {}, 1.5)  # raises
t.func.functional_call(t.nn.Linear(2, 2), None, (t.ones(2),))  # raises
t.func.functional_call(t.nn.Linear(2, 2), {}, 'a')  # raises
t.func.stack_module_state('a')  # raises
t.func.linearize(None, t.ones(2))  # raises
t.func.linearize(t.sin, {})  # raises
t.nn.utils.fusion.fuse_conv_bn_eval(None, t.nn.BatchNorm2d(1).eval())  # raises
t.utils.flop_counter.FlopCounterMode(None, 2, True, 'a')  # raises
t.utils._pytree.tree_map(None, [1, -2])  # raises
t.utils._pytree.tree_unflatten(None, t.utils._pytree.tree_flatten([1])[1])  # raises
""")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)
