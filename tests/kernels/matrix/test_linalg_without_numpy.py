"""torch.linalg where neither NumPy nor the BLAS library is there, as in a browser: every function
gives a result or torch's error, of empty, singular and infinite matrices, too."""

from _alone import run_alone

_START = """
sys.modules["numpy"] = None
import warnings
import rushlight as torch
import rushlight.ops.matrix.products  # names the library
from rushlight._core import kernels

warnings.simplefilter("ignore")
kernels.set_blas_library("")
L, nan, inf = torch.linalg, float("nan"), float("inf")
"""

_SWEEP = """
SHAPES = (0, 0), (0, 3), (3, 0), (2, 0, 0), (0, 2, 2), (2, 0, 3), (0, 2, 3), (2, 3), (3, 2), (3,)
matrices = [torch.tensor([[2.0, 0.5], [0.5, 3.0]]), torch.ones(3, 3), -torch.eye(2)]
matrices += [torch.zeros(s) for s in SHAPES]
matrices += [torch.stack([torch.eye(2), torch.ones(2, 2)]), torch.eye(2, dtype=torch.int64)]
for value in (nan, inf):
    corner = torch.eye(3)
    corner[2, 0] = value
    matrices += [torch.full((2, 3), value), corner, torch.stack([torch.eye(3), corner])]
matrices += [m.to(torch.complex128) for m in matrices if m.is_floating_point()]

def right(a):
    return torch.ones((*a.shape[:-1], 2), dtype=a.dtype)

def pivots(a, of=torch.int32):
    return torch.ones((*a.shape[:-2], min(a.shape[-2:])), dtype=of)

norms = ("fro", "nuc", 1, -1, 2, -2, inf, -inf)
special = {
    "cond": [lambda a, p=p: L.cond(a, p) for p in norms],
    "cross": [lambda a: L.cross(a, a)],
    "cholesky": [L.cholesky, lambda a: L.cholesky(a, upper=True), torch.cholesky],
    "cholesky_ex": [
        L.cholesky_ex,
        lambda a: L.cholesky_ex(a, upper=True),
        lambda a: L.cholesky_ex(a, check_errors=True),
    ],
    "eigh": [L.eigh, lambda a: L.eigh(a, "U"), lambda a: L.eigh(a, "?")],
    "householder_product": [lambda a: L.householder_product(a, pivots(a, a.dtype))],
    "inv_ex": [L.inv_ex, lambda a: L.inv_ex(a, check_errors=True)],
    "ldl_factor_ex": [L.ldl_factor_ex, lambda a: L.ldl_factor_ex(a, check_errors=True)],
    "ldl_solve": [lambda a: L.ldl_solve(a, pivots(a), right(a))],
    "lstsq": [
        lambda a, d=d: L.lstsq(a, right(a), driver=d) for d in ("gels", "gelsy", "gelsd", "gelss")
    ],
    "lu_factor_ex": [L.lu_factor_ex, lambda a: L.lu_factor_ex(a, check_errors=True)],
    "lu_solve": [
        lambda a: L.lu_solve(a, pivots(a), right(a)),
        lambda a: torch.lu_unpack(a, pivots(a)),
    ],
    "matrix_norm": [lambda a, p=p: L.matrix_norm(a, p) for p in norms],
    "matrix_power": [lambda a: L.matrix_power(a, -1), lambda a: L.matrix_power(a, 3)],
    "matrix_rank": [L.matrix_rank, lambda a: L.matrix_rank(a, hermitian=True)],
    "multi_dot": [lambda a: L.multi_dot([a, a, a])],
    "norm": [lambda a, p=p: L.norm(a, p) for p in norms],
    "pinv": [L.pinv, lambda a: L.pinv(a, hermitian=True), torch.pinverse],
    "qr": [lambda a, m=m: L.qr(a, m) for m in ("reduced", "complete", "r", "?")],
    "solve": [lambda a: L.solve(a, right(a)), lambda a: L.solve(a, right(a).mT, left=False)],
    "solve_ex": [
        lambda a: L.solve_ex(a, right(a)),
        lambda a: L.solve_ex(a, right(a)[..., 0]),
        lambda a: L.solve_ex(a, right(a), check_errors=True),
        lambda a: L.solve_ex(a, torch.ones(7, 2)),
    ],
    "solve_triangular": [
        lambda a: L.solve_triangular(a, right(a), upper=True),
        lambda a: torch.cholesky_solve(right(a), a),
    ],
    "svd": [L.svd, lambda a: L.svd(a, False)],
    "tensorinv": [lambda a: L.tensorinv(a, ind=1)],
    "tensorsolve": [lambda a: L.tensorsolve(a, right(a)[..., 0])],
    "vecdot": [lambda a: L.vecdot(a, a)],
    "vector_norm": [lambda a, p=p: L.vector_norm(a, p) for p in (2, 1, 0, 3, -1, inf, -inf)],
}
found = {n for n in dir(L) if not n.startswith("_") and n != "LinAlgError"}
names = {n for n in found if callable(getattr(L, n))}
assert set(special) < names and len(names) > 35
calls = 0
for name in sorted(names):
    for function in special.get(name, [getattr(L, name)]):
        for a in matrices:
            try:
                function(a)
                calls += 1
            except ModuleNotFoundError as error:
                raise AssertionError((name, a)) from error
            except (RuntimeError, IndexError, TypeError):
                pass
assert calls > 1000, calls
"""

_RESULTS = """
def error(function, *given, **named):
    try:
        function(*given, **named)
    except RuntimeError as said:
        return str(said)

one, two = torch.ones(2, 2), torch.stack([torch.eye(2), torch.ones(2, 2)])
minor = "input is not positive-definite (the leading minor of order {} is not positive-definite)."
for call, words in {
    (L.inv, one): "linalg.inv: The diagonal element 2 is zero, the inversion",
    (L.inv, two): "linalg.inv: (Batch element 1): The diagonal element 2 is zero",
    (L.solve, two, one): "torch.linalg.solve: (Batch element 1): The solver failed because",
    (L.lu_factor, one): "torch.linalg.lu_factor: U[2,2] is zero",
    (L.ldl_factor, 0 * one): "torch.linalg.ldl_factor: D[1,1] is zero",
    (L.cholesky, -two): minor.format(1),
    (L.cholesky, two): minor.format(2),
    (L.eig, one * nan): "torch.linalg.eig: input tensor should not contain infs or NaNs.",
    (L.eigh, one * inf): "linalg.eigh: The algorithm failed to converge",
    (L.svd, one * nan): "linalg.svd: The algorithm failed to converge",
}.items():
    assert words in (error(*call) or ""), (call, words, error(*call))

empty = torch.zeros(2, 0, 3)
u, s, vh = L.svd(empty)
assert u.shape == (2, 0, 0) and s.shape == (2, 0) and torch.equal(vh, torch.eye(3).expand(2, 3, 3))
q, r = L.qr(empty.mT, "complete")
assert r.shape == (2, 3, 0) and torch.equal(q, torch.eye(3).expand(2, 3, 3))
assert torch.equal(L.ldl_factor_ex(torch.zeros(2, 0, 0)).info, torch.zeros(2, dtype=torch.int32))
assert torch.equal(torch.orgqr(torch.ones(3, 2), torch.ones(0)), torch.eye(3, 2))
assert L.eig(torch.zeros(0, 3, 3)).eigenvalues.shape == (0, 3)

high = torch.tensor([[1.0, inf], [0.0, 1.0]])  # what is not read may be anything
assert torch.equal(L.eigvalsh(high), torch.ones(2))
s = L.svdvals(torch.stack([torch.eye(2), high]))
assert s[0].tolist() == [1, 1] and s[1].isnan().all()
bad = torch.tensor([[4.0, 2 + 1j], [2 - 1j, 1.0]], dtype=torch.complex128)  # a pivot of -0.25
low, up = L.cholesky_ex(bad), L.cholesky_ex(bad, upper=True)
assert low.info == up.info == 2 and torch.equal(low.L, up.L.mH.resolve_conj())
assert low.L.tolist() == [[2, 0], [1 - 0.5j, -0.25]]
x, info = L.solve_ex(torch.tensor([[1.0, 1.0], [1.0, 1.0]]), torch.tensor([1.0, 2.0]))
assert info == 2 and x.tolist() == [-inf, inf]
assert L.ldl_factor_ex(torch.tensor([[nan, 0.0], [0.0, 1.0]])).info == 1
large = torch.tensor([[3e200, 4e200], [3.0, 4.0]], dtype=torch.float64)
assert ((L.vector_norm(large, dim=1) / large[:, 0] * 3 - 5).abs() < 1e-14).all()
assert L.vector_norm(torch.tensor([3 + 4j, 0]), 1) == 5 and L.vector_norm(one, 0) == 4
"""


def test_every_function_answers():
    run_alone(_START + _SWEEP)


def test_results_and_words_of_errors():
    run_alone(_START + _RESULTS)
