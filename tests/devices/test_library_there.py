"""The library's other rooms with tensors on the accelerator: distributions, sparse tensors,
transforms, explain, files, processes."""

import copy
import io
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import rushlight as torch
from _alone import PATIENCE
from rushlight import devices, explain, func

D = torch.distributions
THERE = "opencl"


def there(values, dtype="float64", grad=False):
    made = torch.tensor(values, dtype=getattr(torch, dtype), device=THERE)
    return made.requires_grad_() if grad else made


def host(t):
    assert t.device.type == THERE
    return t.detach().cpu().numpy()


def close(have, want, rtol=1e-9):
    np.testing.assert_allclose(host(have), np.asarray(want), rtol=rtol, atol=1e-12)


# ---- distributions

_A, _B = np.array([0.5, 2.0]), np.array([1.5, 3.0])
_SPD = np.array([[2.0, 0.5], [0.5, 1.0]])

# The class, what it is given (a float stays one), the same distribution of SciPy, whether it has
# a cdf.
CASES = {
    "normal": (D.Normal, (_A, 1.5), stats.norm(_A, 1.5), True),
    "normal of a number": (D.Normal, (0.5, _B), stats.norm(0.5, _B), True),
    "cauchy": (D.Cauchy, (_A, 2.0), stats.cauchy(_A, 2.0), True),
    "laplace": (D.Laplace, (0.5, _B), stats.laplace(0.5, _B), True),
    "uniform": (D.Uniform, (-1.0, _B), stats.uniform(-1.0, _B + 1.0), True),
    "exponential": (D.Exponential, (_B,), stats.expon(scale=1 / _B), True),
    "gamma": (D.Gamma, (_B, 2.0), stats.gamma(_B, scale=0.5), True),
    "chi2": (D.Chi2, (_B,), stats.chi2(_B), True),
    "beta": (D.Beta, (2.0, _B), stats.beta(2.0, _B), False),
    "gumbel": (D.Gumbel, (_A, 2.0), stats.gumbel_r(_A, 2.0), True),
    "student": (D.StudentT, (5.0, _A, 2.0), stats.t(5.0, _A, 2.0), False),
    "half normal": (D.HalfNormal, (_B,), stats.halfnorm(scale=_B), True),
    "half cauchy": (D.HalfCauchy, (_B,), stats.halfcauchy(scale=_B), True),
    "weibull": (D.Weibull, (_B, 2.0), stats.weibull_min(2.0, scale=_B), True),
    "pareto": (D.Pareto, (_B, 4.0), stats.pareto(4.0, scale=_B), True),
    "log normal": (D.LogNormal, (_A, 0.5), stats.lognorm(0.5, scale=np.exp(_A)), True),
    "von mises": (D.VonMises, (_A, 3.0), stats.vonmises(3.0, _A), False),
    "poisson": (D.Poisson, (_B,), stats.poisson(_B), False),
    "binomial": (lambda p: D.Binomial(7, p), (_A / 3,), stats.binom(7, _A / 3), False),
    "geometric": (D.Geometric, (_A / 3,), stats.geom(_A / 3, loc=-1), False),
    "bernoulli": (D.Bernoulli, (_A / 3,), stats.bernoulli(_A / 3), False),
}


def made_there(name):
    cls, given, _, _ = CASES[name]
    return cls(*(there(v) if isinstance(v, np.ndarray) else v for v in given))


@pytest.mark.parametrize("name", CASES)
def test_distributions_are_scipys(name):
    _, _, want, has_cdf = CASES[name]
    d = made_there(name)
    x = want.ppf([[0.3], [0.8]])
    value = there(x)
    density = want.logpmf if hasattr(want.dist, "pmf") else want.logpdf
    close(d.log_prob(value), density(x), rtol=1e-8)
    assert d.mean.device.type == d.variance.device.type == THERE
    if name not in ("cauchy", "half cauchy", "von mises"):
        close(d.mean, want.mean())
        close(d.variance, want.var())
    if has_cdf:
        close(d.cdf(value), want.cdf(x), rtol=1e-8)
    close(d.expand((3, 2)).log_prob(value[:1]), np.broadcast_to(density(x[:1]), (3, 2)), 1e-8)


@pytest.mark.parametrize("name", CASES)
def test_samples_are_distributed_so(name):
    want = CASES[name][2]
    torch.manual_seed(7)
    sample = host(made_there(name).sample((2000,)))
    assert sample.shape == (2000, 2)
    if name == "von mises":  # SciPy's is on the line
        sample = np.cos(sample - _A)
        assert np.abs(sample.mean(0) - 0.8100).max() < 0.02  # I1(3) / I0(3)
        return
    for q in (0.2, 0.5, 0.8):
        at = want.ppf(q)
        p = want.cdf(at)  # of whole numbers more than q
        have = (sample <= at + 1e-9).mean(0)
        assert (abs(have - p) <= 5 * np.sqrt(p * (1 - p) / 2000) + 1e-9).all(), q


def test_gradients_go_through_samples():
    torch.manual_seed(0)
    loc, scale = there([1.0, 2.0], grad=True), there([0.5, 3.0], grad=True)
    x = D.Normal(loc, scale).rsample((50,))
    in_loc, in_scale = torch.autograd.grad(x.sum(), (loc, scale))
    close(in_loc, [50.0, 50.0])
    close(in_scale, ((host(x) - host(loc)) / host(scale)).sum(0))
    high = there([2.0, 4.0], grad=True)
    u = D.Uniform(1.0, high).rsample((50,))
    (in_high,) = torch.autograd.grad(u.sum(), high)
    close(in_high, ((host(u) - 1) / (host(high) - 1)).sum(0))


def test_distributions_of_vectors():
    cov, loc = there(_SPD), there([1.0, 2.0])
    x = np.array([0.3, -1.0])
    want = stats.multivariate_normal([1.0, 2.0], _SPD)
    for how in (
        {"covariance_matrix": cov},
        {"precision_matrix": torch.linalg.inv(cov)},
        {"scale_tril": torch.linalg.cholesky(cov)},
    ):
        d = D.MultivariateNormal(loc, **how)
        close(d.log_prob(there(x)), want.logpdf(x))
        close(d.entropy(), want.entropy())
        assert d.rsample((3,)).device.type == THERE
    d = D.LowRankMultivariateNormal(loc, there([[1.0], [0.5]]), there([1.0, 2.0]))
    full = np.array([[2.0, 0.5], [0.5, 2.25]])
    close(d.log_prob(there(x)), stats.multivariate_normal([1.0, 2.0], full).logpdf(x))
    assert d.sample((3,)).device.type == THERE
    close(D.Wishart(4.0, cov).log_prob(cov), stats.wishart(4.0, _SPD).logpdf(_SPD))
    assert D.Wishart(4.0, cov).sample().device.type == THERE
    assert D.LKJCholesky(3, there(1.5)).sample().device.type == THERE
    close(D.Dirichlet(there([1.5, 3.0])).mean, [1 / 3, 2 / 3])


def test_supports_and_divergences():
    p = np.array([0.2, 0.3, 0.5])
    close(D.Categorical(there(p)).entropy(), -(p * np.log(p)).sum())
    assert host(D.Categorical(there(p)).enumerate_support()).tolist() == [0, 1, 2]
    assert host(D.OneHotCategorical(there(p)).enumerate_support()).tolist() == np.eye(3).tolist()
    assert host(D.Bernoulli(there(0.3)).enumerate_support()).tolist() == [0.0, 1.0]
    a, b = D.Normal(there(1.0), 2.0), D.Normal(0.5, there(3.0))
    close(D.kl_divergence(a, b), math.log(1.5) + (4 + 0.25) / 18 - 0.5)
    mixed = D.MixtureSameFamily(D.Categorical(there([0.4, 0.6])), D.Normal(there([0.0, 1.0]), 1.0))
    density = 0.4 * stats.norm.pdf(0.3) + 0.6 * stats.norm.pdf(0.3, 1)
    close(mixed.log_prob(there(0.3)), math.log(density))


def log_determinant(transform, x):
    """log |det J| by the determinant of the Jacobian of the first elements."""
    x = torch.tensor(x)
    jacobian = torch.autograd.functional.jacobian(lambda v: transform(v)[:-1], x)
    return np.log(abs(np.linalg.det(jacobian.numpy())))


def test_transforms():
    x = np.array([0.3, -0.7, 1.1])
    t = D.transforms
    stick = t.StickBreakingTransform()
    y = stick(there(x))
    assert abs(host(y).sum() - 1) < 1e-12
    close(stick.inv(y), x)
    close(stick.log_abs_det_jacobian(there(x), y), log_determinant(stick, x))
    factor = t.CorrCholeskyTransform()(there(x))
    close((factor @ factor.mT).diagonal(), [1.0, 1.0, 1.0])
    scaled = D.TransformedDistribution(D.Normal(there(x), 1.0), [t.ExpTransform()])
    close(
        scaled.log_prob(there([1.0, 2.0, 3.0])), stats.lognorm(1, scale=np.exp(x)).logpdf([1, 2, 3])
    )


# ---- sparse tensors

_X = [[0.0, 2.0], [3.0, 0.0]]
_I, _V = [[0, 1], [1, 0]], [2.0, 3.0]


def sparse():
    return torch.tensor(_X).to_sparse()


def csr():
    return torch.tensor(_X).to_sparse_csr()


def x():
    return there(_X, "float32")


def starts():
    return torch.tensor([0, 1, 2], device=THERE)


def refused_by_default(make):
    with torch.device(THERE):
        return make()


SPARSE = {
    "to_sparse": lambda: x().to_sparse(),
    "to_sparse of rows": lambda: x().to_sparse(1),
    "to_sparse in a layout": lambda: x().to_sparse(layout=torch.sparse_csr),
    **{
        f"to_sparse_{kind}": (lambda kind=kind: getattr(x(), f"to_sparse_{kind}")())
        for kind in ("coo", "csr", "csc")
    },
    "to_sparse_bsr": lambda: x().to_sparse_bsr((1, 1)),
    "to_sparse_bsc": lambda: x().to_sparse_bsc((1, 1)),
    "coo of values": lambda: torch.sparse_coo_tensor(_I, there(_V), (2, 2)),
    "coo of indices": lambda: torch.sparse_coo_tensor(there(_I, "int64"), _V, (2, 2)),
    "coo on a device": lambda: torch.sparse_coo_tensor(_I, _V, (2, 2), device=THERE),
    "coo without values": lambda: torch.sparse_coo_tensor((2, 2), device=THERE),
    "coo by default": lambda: refused_by_default(lambda: torch.sparse_coo_tensor(_I, _V)),
    "csr": lambda: torch.sparse_csr_tensor(starts(), starts()[:2], there(_V), (2, 2)),
    "csr on a device": lambda: torch.sparse_csr_tensor([0, 1, 2], [1, 0], _V, device=THERE),
    "csc": lambda: torch.sparse_csc_tensor(starts(), starts()[:2], there(_V), (2, 2)),
    "spdiags": lambda: torch.sparse.spdiags(x(), torch.tensor([0, 1]), (2, 2)),
    "to": lambda: sparse().to(THERE),
    "to of csr": lambda: csr().to(device=THERE),
    "to like": lambda: sparse().to(x()),
    "as_tensor": lambda: torch.as_tensor(sparse(), device=THERE),
    "zeros_like": lambda: torch.zeros_like(sparse(), device=THERE),
    "new_zeros": lambda: sparse().new_zeros((2, 2), device=THERE),
    "@": lambda: sparse() @ x(),
    "reversed @": lambda: x() @ sparse(),
    "csr @": lambda: csr() @ x(),
    "mv": lambda: sparse().mv(x()[0]),
    "sparse.mm": lambda: torch.sparse.mm(sparse(), x()),
    "sparse.addmm": lambda: torch.sparse.addmm(x(), sparse(), x()),
    "sampled_addmm": lambda: torch.sparse.sampled_addmm(csr(), x(), x()),
    "hspmm": lambda: torch.hspmm(sparse(), x()),
    "+": lambda: x() + sparse(),
    "*": lambda: sparse() * x(),
    "sparse_mask": lambda: x().sparse_mask(sparse()),
    "embedding": lambda: torch.nn.Embedding(3, 2, sparse=True, device=THERE)(starts()),
    "embedding bag": lambda: torch.nn.EmbeddingBag(3, 2, mode="sum", sparse=True, device=THERE)(
        starts(), starts()[:1]
    ),
    "gather": lambda: torch.gather(x().requires_grad_(), 0, starts()[None, :2], sparse_grad=True),
}


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_tensors_stay_on_the_cpu(name):
    with pytest.raises(NotImplementedError, match="with arguments from the 'OPENCL' backend") as e:
        SPARSE[name]()
    assert "Sparse tensors live on the CPU here: call .cpu() first." in str(e.value)


def test_nothing_is_written_before_the_refusal():
    dense, s = x(), sparse()
    for write in (lambda: dense.add_(s), lambda: dense.addmm_(s, dense), lambda: dense.copy_(s)):
        with pytest.raises(NotImplementedError, match=r"call \.cpu\(\)"):
            write()
    close(dense, _X)
    table = torch.nn.Embedding(3, 2, sparse=True, device=THERE)
    with torch.no_grad():  # without a gradient none is sparse
        close(table(starts()), table.weight.detach().cpu().numpy())


def test_sparse_tensors_where_an_accelerator_is_the_default():
    dense = torch.tensor(_X, device="cpu")
    with torch.device(THERE):
        s = dense.to_sparse()
        assert s.device.type == "cpu"
        total = torch.sparse.mm(s, dense)
        assert torch.zeros_like(s)._nnz() == 0
    assert total.tolist() == (dense @ dense).tolist()


# ---- torch.func and torch.autograd.functional

_M = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]])


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobians_of_batches(strategy):
    m, v = there(_M), there([0.3, -0.7])
    jacobian = torch.autograd.functional.jacobian(
        lambda t: torch.sin(m @ t), v, vectorize=True, strategy=strategy
    )
    close(jacobian, np.cos(_M @ [0.3, -0.7])[:, None] * _M)
    unused = torch.autograd.functional.jacobian(
        lambda t: torch.ones(2, device=THERE), v, vectorize=True, strategy=strategy
    )
    close(unused, np.zeros((2, 2)))
    hessian = torch.autograd.functional.hessian(
        lambda t: (t**3).sum(), v, vectorize=True, outer_jacobian_strategy=strategy
    )
    close(hessian, np.diag([6 * 0.3, 6 * -0.7]))


def test_vmap_of_indices_and_gradients():
    m, at = there(_M), torch.tensor([1, 0, -1], device=THERE)
    close(func.vmap(lambda row, i: row[i])(m, at), [2.0, 3.0, 0.25])
    close(func.vmap(func.grad(lambda row: (row**2).sum()))(m), 2 * _M)
    with pytest.raises(IndexError, match="out of range"):
        func.vmap(lambda row, i: row[i])(m, at + 2)
    weight = there(_M.T)
    for_each = func.vmap(func.grad(lambda w, row: (row @ w).sum()), in_dims=(None, 0))
    close(for_each(weight, m), np.repeat(_M[:, :, None], 3, 2))
    traces = func.vmap(func.grad(torch.trace))(there(np.ones((2, 3, 3))))
    close(traces, np.stack([np.eye(3)] * 2))
    found = func.vmap(func.grad(lambda row: row.take(at[:1]).sum()))(m)
    close(found, np.tile([0.0, 1.0], (3, 1)))
    table = torch.nn.functional.embedding
    rows = func.vmap(lambda i: table(i, m, padding_idx=0))(at[:2, None])
    close(rows, _M[[1, 0]][:, None])


def test_a_custom_function_of_which_one_output_is_used():
    class Both(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(a, b):
            return a * b, a + b

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, first, second):
            a, b = ctx.saved_tensors
            return first * b + second, first * a + second

    m = there(_M, grad=True)
    (g,) = torch.autograd.grad(Both.apply(m, m)[0].sum(), m)
    close(g, 2 * _M)
    close(func.vmap(func.grad(lambda r: Both.apply(r, r)[1].sum()))(m.detach()), np.full((3, 2), 2))


def test_a_number_as_the_gradient():
    y = there([2.0], grad=True)
    (y * 3).backward(gradient=[2.0])
    close(y.grad, [6.0])


# ---- explain, testing


def test_what_a_graph_keeps_is_counted():
    def table(device):
        torch.manual_seed(0)
        layers = torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2)
        m = torch.nn.Sequential(*layers).to(device)
        y = m(torch.ones(4, 3, device=device)).pow(2).mean()
        found = explain.saved(y)
        return [found.total, found.unique, found.parameters, found.freed], explain.tree(y)

    (numbers, tree), (want, on_cpu) = table(THERE), table("cpu")
    assert numbers == want
    assert numbers[1] == 4 * (4 * 3 + 4 * 5 + 2 * 5 + 4 * 2)
    assert str(tree) == str(on_cpu)


@pytest.mark.parametrize("device", [THERE, "meta"])
def test_nodes_of_several_steps(device):
    y = torch.nn.Linear(2, 3, device=device)(torch.ones(4, 2, device=device))
    names = [type(node).__name__ for node, _ in y.grad_fn.next_functions if node is not None]
    assert names == ["AccumulateGrad", "TBackward0"]


def test_assert_close_between_devices():
    near = torch.testing.assert_close
    near(torch.ones(2), torch.ones(2, device=THERE), check_device=False)
    with pytest.raises(AssertionError, match="not close"):
        near(torch.ones(2), torch.zeros(2, device=THERE), check_device=False)
    with pytest.raises(AssertionError, match="'device' do not match: cpu != opencl:0"):
        near(torch.ones(2), torch.ones(2, device=THERE))


# ---- copies and files


def test_copies_share_and_pickles_do_not():
    a = there([1.0, 2.0])
    shown, sent = copy.copy(a), pickle.loads(pickle.dumps(a))
    a.fill_(5)
    close(shown, [5.0, 5.0])
    close(sent, [1.0, 2.0])
    p = torch.nn.Parameter(a)
    assert copy.copy(p).data_ptr() == p.data_ptr()
    assert isinstance(pickle.loads(pickle.dumps(p)), torch.nn.Parameter)


def test_what_map_location_is_shown():
    file = io.BytesIO()
    torch.save([there([1.0, 2.0]), torch.ones(2)], file)
    seen = []

    def moved(storage, location):
        seen.append((location, storage.device.type, storage.nbytes()))
        return storage.to(device=THERE) if location == "cpu" else storage.cpu()

    file.seek(0)
    first, second = torch.load(file, map_location=moved)
    assert seen == [("opencl:0", "cpu", 16), ("cpu", "cpu", 8)]
    assert (first.device.type, first.tolist()) == ("cpu", [1.0, 2.0])
    close(second, [1.0, 1.0])


# ---- what is made on the device


def test_indices_of_triangles():
    for name, of in (("tril_indices", np.tril_indices), ("triu_indices", np.triu_indices)):
        assert (
            host(getattr(torch, name)(3, 4, device=THERE)).tolist()
            == np.stack(of(3, 0, 4)).tolist()
        )


def test_histograms():
    values = np.array([0.1, 0.4, 0.45, 0.9])
    hist, edges = torch.histogram(there(values), 2, range=(0.0, 1.0))
    close(hist, [3.0, 1.0])
    close(edges, [0.0, 0.5, 1.0])


def test_sobol_sequences_where_an_accelerator_is_the_default():
    want = torch.quasirandom.SobolEngine(2, scramble=True, seed=3).draw(4)
    with torch.device(THERE):
        have = torch.quasirandom.SobolEngine(2, scramble=True, seed=3).draw(4)
    assert have.tolist() == want.tolist()


@pytest.mark.parametrize("dtype", ["float32", "bool", "complex64", "bfloat16"])
def test_clones_in_a_memory_format(dtype, refuse):
    y = torch.arange(24).view(1, 2, 3, 4).to(getattr(torch, dtype))
    for name in ("contiguous_format", "preserve_format", "channels_last"):
        form = getattr(torch, name)
        for view in (lambda t: t, lambda t: t.transpose(1, 2), lambda t: t[..., ::2]):
            want = view(y).clone(memory_format=form)
            have = view(y.to(THERE)).clone(memory_format=form)
            assert have.stride() == want.stride()
            assert have.cpu().tolist() == want.tolist()


# ---- processes

_PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import _pocl
_pocl.prepare()
import rushlight as torch
import rushlight.distributed as dist
import rushlight.multiprocessing as mp

def of(r):
    return torch.tensor([1.0, 2.0], device="opencl") * (r + 1)

def told(queue, x, module):
    y = queue.get()
    queue.task_done()
    same = x.device == y.device == next(module.parameters()).device
    print("sent", same, x.device.type, x.tolist(), y.tolist(), flush=True)

def collect(r, n):
    a, b, c = of(r), of(r), torch.ones(2, 2, device="opencl") * (r + 1)
    dist.all_reduce(a)
    dist.broadcast(b, 1)
    dist.all_reduce(c[:, 0], dist.ReduceOp.MAX)
    every = [torch.zeros(2, device="opencl") for _ in range(n)]
    dist.all_gather(every, of(r))
    part = torch.zeros(2, device="opencl")
    dist.reduce_scatter(part, [of(r) + i for i in range(n)])
    other = torch.zeros(2, device="opencl")
    works = [dist.isend(of(r), 1 - r), dist.irecv(other, 1 - r)]
    [work.wait() for work in works]
    found = [a, b, c, *every, part, other]
    assert all(t.device.type == "opencl" for t in found)
    return [t.tolist() for t in found]

def trained(device, r, **how):
    torch.manual_seed(r)
    m = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.SyncBatchNorm(3)).to(device)
    m = torch.nn.parallel.DistributedDataParallel(m, **how)
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]]) * (r + 1)
    x = x if how.get("device_ids") else x.to(device)
    for _ in range(2):
        m.zero_grad()
        m(x)[:, 0].pow(3).sum().backward()
        with torch.no_grad():
            [p.sub_(p.grad, alpha=0.1) for p in m.parameters()]
    assert all(p.device.type == device for p in m.parameters())
    return [p.detach().cpu() for p in m.parameters()]

def divided(device):
    from rushlight.distributed.fsdp import fully_shard
    torch.manual_seed(0)
    m = torch.nn.Linear(4, 3).to(device)
    fully_shard(m)
    m(torch.ones(2, 4, device=device)).pow(2).sum().backward()
    return [p.grad.full_tensor().cpu() for p in m.parameters()]

if __name__ == "__main__":
    dist.init_process_group("gloo")
    r, n = dist.get_rank(), dist.get_world_size()
    print("rank", r, collect(r, n), flush=True)
    want = trained("cpu", r)
    for how in ({{}}, {{"device_ids": [0]}}, {{"find_unused_parameters": True}}):
        for a, b in zip(want, trained("opencl", r, **how), strict=True):
            torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-5)
    for a, b in zip(divided("cpu"), divided("opencl"), strict=True):
        torch.testing.assert_close(b, a)
    dist.destroy_process_group()
    if r == 0:
        context = mp.get_context("spawn")
        queue = context.JoinableQueue()
        given = queue, of(0), torch.nn.Linear(2, 2).to("opencl")
        child = context.Process(target=told, args=given)
        child.start()
        queue.put(of(2))
        queue.join()
        child.join()
"""


def test_two_processes(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM.format(folder=str(Path(__file__).parent)))
    command = [sys.executable, "-m", "rushlight", "run", "--nproc", "2", str(program)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, env=dict(os.environ), check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    each = [[1.0, 2.0], [2.0, 4.0]]
    for r in range(2):
        want = [
            [3.0, 6.0],
            [2.0, 4.0],
            [[2.0, r + 1.0], [2.0, r + 1.0]],
            *each,
            [3.0 + 2 * r, 6.0 + 2 * r],
            each[1 - r],
        ]
        assert f"rank {r} {want}" in done.stdout
    assert "sent True opencl [1.0, 2.0] [3.0, 6.0]" in done.stdout


def test_collectives_keep_their_own_numbers_on_the_cpu():
    devices.forget_fallbacks()
    torch.distributed.init_process_group(
        store=torch.distributed.HashStore(), rank=0, world_size=1, backend="gloo"
    )
    try:
        with torch.device(THERE):
            found = [None]
            torch.distributed.all_gather_object(found, {"a": 1})
            torch.distributed.barrier()
        assert found == [{"a": 1}]
    finally:
        torch.distributed.destroy_process_group()
    assert devices.fallbacks() == {}
