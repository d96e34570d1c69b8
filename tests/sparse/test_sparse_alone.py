"""Sparse tensors against dense NumPy and scipy.sparse, without PyTorch."""

import copy
import io
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import rushlight as torch

LAYOUTS = ["coo", "csr", "csc", "bsr", "bsc"]
DRAW = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def same_draws() -> None:
    """Each test has the same numbers, whichever ran before it."""
    DRAW.bit_generator.state = np.random.default_rng(0).bit_generator.state


def matrix(m: int, n: int, filled: float = 0.3) -> Any:
    """A dense ndarray of which a part is not 0."""
    return DRAW.normal(size=(m, n)) * (DRAW.random((m, n)) < filled)


def sparse(x: Any, layout: str) -> Any:
    block = [(2, 3)] if layout.startswith("b") else []
    return getattr(torch.from_numpy(x), f"to_sparse_{layout}")(*block)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_indices_are_those_of_scipy(layout: str) -> None:
    x = matrix(6, 9)
    ours = sparse(x, layout)
    if layout == "coo":
        theirs = scipy.sparse.coo_matrix(x)
        np.testing.assert_array_equal(ours.indices(), np.stack([theirs.row, theirs.col]))
    elif layout != "bsc":
        how = {"blocksize": (2, 3)} if layout == "bsr" else {}
        theirs = getattr(scipy.sparse, f"{layout}_matrix")(x, **how)
        theirs.sort_indices()  # blocks of a row come in the order of their first elements
        names = ("ccol", "row") if layout == "csc" else ("crow", "col")
        np.testing.assert_array_equal(getattr(ours, f"{names[0]}_indices")(), theirs.indptr)
        np.testing.assert_array_equal(getattr(ours, f"{names[1]}_indices")(), theirs.indices)
        np.testing.assert_array_equal(ours.values(), theirs.data)
    np.testing.assert_array_equal(ours.to_dense(), x)


@pytest.mark.parametrize("target", LAYOUTS)
@pytest.mark.parametrize("source", LAYOUTS)
def test_every_layout_converts_to_every_other(source: str, target: str) -> None:
    x = matrix(4, 6)
    block = [(2, 3)] if target.startswith("b") else []
    made = getattr(sparse(x, source), f"to_sparse_{target}")(*block)
    assert str(made.layout) == f"torch.sparse_{target}"
    np.testing.assert_array_equal(made.to_dense(), x)


def test_from_scipy_and_back() -> None:
    theirs = scipy.sparse.random(20, 30, 0.1, "csr", random_state=0)
    ours = torch.sparse_csr_tensor(theirs.indptr, theirs.indices, theirs.data, theirs.shape)
    back = scipy.sparse.csr_matrix(
        (ours.values().numpy(), ours.col_indices().numpy(), ours.crow_indices().numpy()),
        ours.shape,
    )
    assert abs(back - theirs).max() == 0
    np.testing.assert_allclose((ours @ torch.ones(30, dtype=torch.float64)), theirs @ np.ones(30))


PRODUCTS = {
    "sparse @ dense": lambda a, b: a @ b.to_dense(),
    "dense @ sparse": lambda a, b: a.to_dense() @ b,
    "sparse @ sparse": lambda a, b: torch.sparse.mm(a, b).to_dense(),
    "transposed": lambda a, b: (b.t() @ a.t().to_dense()).t(),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products(name: str, layout: str) -> None:
    x, y = matrix(8, 6), matrix(6, 9)
    found = PRODUCTS[name](sparse(x, layout), sparse(y, layout))
    np.testing.assert_allclose(found, x @ y, rtol=1e-12, atol=1e-12)


def test_product_in_many_pieces() -> None:
    theirs = scipy.sparse.random(300, 400, 0.2, random_state=1)
    y = DRAW.normal(size=(400, 50))
    ours = torch.sparse_coo_tensor(np.stack([theirs.row, theirs.col]), theirs.data, theirs.shape)
    np.testing.assert_allclose(torch.mm(ours, torch.from_numpy(y)), theirs @ y, rtol=1e-9)


def test_repeated_indices_are_summed() -> None:
    rows, columns = DRAW.integers(0, 5, 100), DRAW.integers(0, 6, 100)
    data = DRAW.normal(size=100)
    theirs = scipy.sparse.coo_matrix((data, (rows, columns)), (5, 6)).toarray()
    ours = torch.sparse_coo_tensor(np.stack([rows, columns]), data, (5, 6))
    np.testing.assert_allclose(ours.to_dense(), theirs, rtol=1e-12)
    merged = ours.coalesce()
    assert merged._nnz() == np.count_nonzero(theirs)
    assert merged.is_coalesced()
    assert merged.coalesce() is merged
    np.testing.assert_allclose(merged.to_dense(), theirs, rtol=1e-12)


ELEMENTWISE = {
    "add": lambda s, t: s + t,
    "sub": lambda s, t: s - t,
    "mul": lambda s, t: s * t,
    "scaled": lambda s, t: 2 * s - t / 3,
    "dense": lambda s, t: 1.0 * (t.to_dense() + s),
    "times dense": lambda s, t: s * (t.to_dense() + 1),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_elementwise(name: str, layout: str) -> None:
    class Plain(np.ndarray):
        def to_dense(self) -> Any:
            return self

    x, y = matrix(5, 6), matrix(5, 6)
    found = ELEMENTWISE[name](sparse(x, layout), sparse(y, layout)).to_dense()
    expected = ELEMENTWISE[name](x.view(Plain), y.view(Plain))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", "sin sinh tan asinh expm1 sqrt abs sign floor square".split())
def test_functions_that_keep_zeros(name: str) -> None:
    x = np.abs(matrix(5, 6))
    other = {"asinh": "arcsinh"}.get(name, name)
    s = sparse(x, "coo")
    np.testing.assert_allclose(getattr(s, name)().to_dense(), getattr(np, other)(x), rtol=1e-12)
    assert getattr(s, f"{name}_")() is s
    np.testing.assert_allclose(s.to_dense(), getattr(np, other)(x), rtol=1e-12)


def test_selections() -> None:
    x = DRAW.normal(size=(4, 5, 3)) * (DRAW.random((4, 5, 1)) < 0.4)
    for s in (torch.from_numpy(x).to_sparse(), torch.from_numpy(x).to_sparse(2)):
        at = torch.tensor([3, 0, 3, -1])
        np.testing.assert_array_equal(s[2].to_dense(), x[2])
        np.testing.assert_array_equal(s[:, 1].to_dense(), x[:, 1])
        np.testing.assert_array_equal(s.select(2, 0).to_dense(), x[:, :, 0])
        assert s[2, 1, 0].item() == x[2, 1, 0]
        np.testing.assert_array_equal(s.index_select(0, at).to_dense(), x[[3, 0, 3, -1]])
        np.testing.assert_array_equal(s.narrow_copy(1, 2, 2).to_dense(), x[:, 2:4])
        for dim in range(3):
            np.testing.assert_array_equal(
                torch.cat([s, s], dim).to_dense(), np.concatenate([x, x], dim)
            )
            np.testing.assert_allclose(s.sum(dim).to_dense(), x.sum(dim), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(torch.stack([s, s], 1).to_dense(), np.stack([x, x], 1))
        assert len(list(s)) == 4


def test_softmax_is_of_the_values_alone() -> None:
    x = matrix(6, 7, 0.5)
    x[:, 3] = 1  # no row without values, whose softmax NumPy would make of nothing
    shown = np.where(x == 0, -np.inf, x)
    e = np.exp(shown - shown.max(1, keepdims=True))
    found = torch.sparse.softmax(sparse(x, "coo"), 1)
    np.testing.assert_allclose(found.to_dense(), e / e.sum(1, keepdims=True), rtol=1e-12)
    found = torch.sparse.log_softmax(sparse(x, "coo"), 1)
    np.testing.assert_allclose(
        found.values(), np.log((e / e.sum(1, keepdims=True))[x != 0]), rtol=1e-10
    )


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_reductions_of_products(reduce: str) -> None:
    x, y = matrix(6, 7), DRAW.normal(size=(7, 3))
    x[2] = 0
    found = torch.sparse.mm(sparse(x, "csr"), torch.from_numpy(y), reduce)
    how = {"sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min}[reduce]
    for i, row in enumerate(x):
        parts = (row[:, None] * y)[row != 0]
        expected = how(parts, 0) if len(parts) else np.zeros(3)
        np.testing.assert_allclose(found[i], expected, rtol=1e-12)


CHECKED = {
    "to_dense": lambda s, d: s.to_dense(),
    "mm": lambda s, d: torch.sparse.mm(s, d),
    "mm of sparse": lambda s, d: torch.sparse.mm(s, s.t()).to_dense(),
    "mul": lambda s, d: (s * s).to_dense() * 3,
    "add": lambda s, d: (s * 2 + s).to_dense(),
    "softmax": lambda s, d: torch.sparse.softmax(s, 1).to_dense(),
    "sum": lambda s, d: torch.sparse.sum(s, 0).to_dense(),
    "sin": lambda s, d: s.sin().to_dense(),
    "cat": lambda s, d: torch.cat([s, s * 2], 1).to_dense(),
    "select": lambda s, d: s.select(0, 1).to_dense(),
    "rows": lambda s, d: s.to_sparse_csr() @ d,
    "dense": lambda s, d: d.t() @ s.t(),
}


@pytest.mark.parametrize("name", CHECKED)
def test_gradients_by_finite_differences(name: str) -> None:
    s = sparse(matrix(3, 4, 0.6), "coo").requires_grad_()
    d = torch.from_numpy(DRAW.normal(size=(4, 2))).requires_grad_()
    assert torch.autograd.gradcheck(CHECKED[name], (s, d), masked=True)
    second = torch.sparse.as_sparse_gradcheck(torch.autograd.gradgradcheck)
    assert second(CHECKED[name], (s, d), masked=True)


def test_gradient_of_values_trains_a_graph_layer() -> None:
    """Edge weights and features of a graph, as graph libraries compute with them."""
    edges = torch.tensor([[0, 1, 2, 2, 0], [1, 2, 0, 1, 1]])
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype=torch.float64, requires_grad=True)
    x = torch.from_numpy(DRAW.normal(size=(3, 2))).requires_grad_()
    adjacency = torch.sparse_coo_tensor(edges, weight, (3, 3)).coalesce()
    (torch.sparse.mm(adjacency, x) ** 2).sum().backward()
    dense = np.zeros((3, 3))
    np.add.at(dense, tuple(edges.numpy()), weight.detach().numpy())
    g = 2 * dense @ x.detach().numpy()
    full = g @ x.detach().numpy().T
    np.testing.assert_allclose(weight.grad, full[tuple(edges.numpy())], rtol=1e-12)
    np.testing.assert_allclose(x.grad, dense.T @ g, rtol=1e-12)


def test_embedding_gradients_and_steps() -> None:
    table = torch.nn.Embedding(1000, 4, sparse=True)
    start = table.weight.detach().clone()
    at = torch.tensor([[3, 7], [3, 999]])
    table(at).sum().backward()
    grad = table.weight.grad
    assert grad.is_sparse
    assert grad._nnz() == 4
    expected = np.zeros((1000, 4))
    np.add.at(expected, at.numpy().ravel(), 1)
    np.testing.assert_array_equal(grad.to_dense(), expected)
    torch.optim.SGD(table.parameters(), lr=0.5).step()
    np.testing.assert_allclose(table.weight.detach(), start - 0.5 * expected, rtol=1e-6)
    with torch.no_grad():
        assert not table(at).requires_grad


def test_nothing_answers_with_the_memory_behind() -> None:
    """Every public function of a sparse tensor gives a right result or raises one sentence."""
    x = matrix(3, 4)
    s = sparse(x, "coo").requires_grad_()
    for name in dir(torch.Tensor):
        if name.startswith("__") or name in ("T", "H", "mT", "mH", "data", "grad"):
            continue
        try:
            found = getattr(s, name)
            found = found() if callable(found) else found
        except Exception as error:  # any kind, but of one line with an advice or PyTorch's words
            assert len(str(error)) < 700, name
            continue
        if type(found) is torch.Tensor and found.dtype.is_floating_point:
            assert not torch.isnan(found).any(), name


def test_arguments_that_make_no_sense() -> None:
    bad = torch.sparse_coo_tensor([[0, 9], [0, 0]], [1.0, 2.0], (2, 2))  # not checked yet
    for use in (bad.to_dense, bad.coalesce, lambda: bad @ torch.ones(2, 2), lambda: bad + bad.t()):
        with pytest.raises(IndexError, match="out of range"):
            use()
    bad = torch.sparse_csr_tensor([0, 5, 1], [0], [1.0], (2, 2))
    with pytest.raises(RuntimeError, match="do not count its values"):
        bad.to_dense()
    with pytest.raises(RuntimeError, match="must be sparse_dim x nnz"):
        torch.sparse_coo_tensor([0, 1], [1.0, 2.0], (2,))
    with torch.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError):
        torch.sparse_coo_tensor([[7]], [1.0], (2,))
    assert not torch.sparse.check_sparse_tensor_invariants.is_enabled()
    with pytest.raises(NotImplementedError, match=r"torch\.linalg\.solve"):
        torch.sparse.spsolve(bad, torch.ones(2))
    with pytest.raises(RuntimeError, match="doesn't have storage"):
        torch.tensor(torch.eye(2).to_sparse())


def test_transforms_of_products() -> None:
    """A product with a constant sparse matrix is mapped and has tangents; the rest is refused."""
    x = matrix(3, 4)
    s, y = sparse(x, "coo"), torch.from_numpy(DRAW.normal(size=(5, 4, 2)))
    mapped = torch.func.vmap(lambda w: torch.sparse.mm(s, w))(y)
    np.testing.assert_allclose(mapped, x @ y.numpy(), rtol=1e-12)
    _, tangent = torch.func.jvp(lambda w: s @ w, (y[0],), (y[1],))
    np.testing.assert_allclose(tangent, x @ y[1].numpy(), rtol=1e-12)
    gradient = torch.func.grad(lambda w: (s @ w).pow(2).sum())(y[0])
    np.testing.assert_allclose(gradient, 2 * x.T @ x @ y[0].numpy(), rtol=1e-12)
    for use in (lambda w: (s * w).to_dense(), lambda w: w + s, lambda w: w.to_sparse().to_dense()):
        with pytest.raises((NotImplementedError, RuntimeError)):
            torch.func.vmap(use)(y[:, :3, :1].expand(5, 3, 4))
        with pytest.raises((NotImplementedError, RuntimeError)):
            one = torch.ones(3, 4, dtype=torch.float64)
            torch.func.jvp(use, (one,), (one,))


def test_assert_close() -> None:
    s = sparse(matrix(3, 4), "coo")
    torch.testing.assert_close(s, s.clone())
    torch.testing.assert_close(s.to_sparse_csr(), s.to_sparse_csr())
    torch.testing.assert_close(s, s.to_dense(), check_layout=False)
    with pytest.raises(AssertionError, match="Sparse COO values are not close"):
        torch.testing.assert_close(s, s * 2)
    with pytest.raises(AssertionError, match="number of specified values"):
        torch.testing.assert_close(s, torch.ones(3, 4, dtype=torch.float64).to_sparse())
    with pytest.raises(AssertionError, match="'layout' do not match"):
        torch.testing.assert_close(s, s.to_dense())


def test_older_constructors() -> None:
    made = torch.sparse.FloatTensor(torch.tensor([[0], [1]]), torch.tensor([2.0]), (2, 2))
    np.testing.assert_array_equal(made.to_dense(), [[0, 2], [0, 0]])
    assert isinstance(made, torch.sparse.FloatTensor)
    assert not isinstance(made, torch.sparse.DoubleTensor)
    assert torch.sparse.LongTensor(2, 3).dtype is torch.int64
    with pytest.raises(TypeError):
        torch.sparse.LongTensor(torch.tensor([[0]]), torch.tensor([2.0]))


def test_other_classes_of_tensors() -> None:
    class Own(torch.Tensor):
        pass

    s = sparse(matrix(3, 4), "coo")
    assert type(s @ torch.ones(4, 2, dtype=torch.float64).as_subclass(Own)) is Own
    kept = torch.nn.Parameter(s)
    assert isinstance(kept, torch.nn.Parameter)
    assert kept.requires_grad
    assert repr(kept).startswith("Parameter containing:\ntensor(indices=")


def test_second_backward_needs_the_graph() -> None:
    s = sparse(matrix(3, 4), "coo").requires_grad_()
    y = (s * 2).to_dense().sum()
    y.backward(retain_graph=True)
    once = s.grad.to_dense()
    y.backward()
    np.testing.assert_array_equal(s.grad.to_dense(), 2 * once)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_and_files(layout: str) -> None:
    x = matrix(4, 6)
    s = sparse(x, layout)
    file = io.BytesIO()
    torch.save({"s": s}, file)
    file.seek(0)
    for other in (copy.deepcopy(s), pickle.loads(pickle.dumps(s)), torch.load(file)["s"]):
        assert other.layout is s.layout
        np.testing.assert_array_equal(other.to_dense(), x)
    module = torch.nn.Module()
    module.register_buffer("s", s)
    module.float()
    assert module.state_dict()["s"].dtype is torch.float32


def test_a_file_with_wrong_indices_is_refused() -> None:
    s = torch.sparse_coo_tensor([[9]], [1.0], (2,))
    file = io.BytesIO()
    torch.save(s, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="found index 9"):
        torch.load(file)


def test_import_does_not_load_it() -> None:
    program = "import sys, rushlight; assert 'rushlight.sparse' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("name", "why"), [("add", "one already"), ("no_such_function", "nothing of that name")]
)
def test_a_handler_has_a_function_and_the_function_one_handler(name: str, why: str) -> None:
    from rushlight.sparse._form import answers

    with pytest.raises(TypeError, match=why):
        answers(name)(len)
