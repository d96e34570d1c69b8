"""Sparse tensors as PyTorch has them: results, texts, gradients, errors."""

from typing import Any

import numpy as np
import pytest
from sparse_programs import LEAVES, RESULTS, dense, gradients, names

import rushlight

torch = pytest.importorskip("torch")

# PyTorch has no derivative, or none that works: here it has one.
NO_DERIVATIVE = (NotImplementedError, RuntimeError)
# Which layout a gradient comes in, where PyTorch's choice is not followed.
OTHER_LAYOUT = {
    "s * D": "D's gradient is dense, so that what computed D may be any function",
    "D * s": "the same",
    "s[1, 2]": "it is sparse, as of other selections",
    "s.norm()": "PyTorch has none",
}
# Here known to be coalesced.
OTHER_FLAG = ("s.sum(1, keepdim=True)",)
# How many values stand for the same elements.
OTHER_COUNT = ("s + s2", "s - s2", "torch.add(s, s2, alpha=3)", "s * s2")


def run(library: Any, program: str, twice: bool) -> tuple[Any, dict[str, Any]]:
    given = names(library, twice)
    return eval(program, given), given


@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("program", RESULTS)
def test_results_and_gradients(program: str, twice: bool) -> None:
    (theirs, given), (ours, mine) = (run(lib, program, twice) for lib in (torch, rushlight))
    assert str(ours.layout) == str(theirs.layout)
    assert str(ours.dtype) == str(theirs.dtype)
    assert ours.requires_grad == theirs.requires_grad
    np.testing.assert_allclose(dense(ours), dense(theirs), rtol=1e-12)
    if not (twice and program in OTHER_COUNT):
        assert str(ours.detach()) == str(theirs.detach())
    if str(theirs.layout) == "torch.sparse_coo" and program not in OTHER_FLAG:
        assert ours.is_coalesced() == theirs.is_coalesced()
    if not theirs.requires_grad:
        return
    try:
        expected = gradients(theirs, given)
    except NO_DERIVATIVE:
        return
    found = gradients(ours, mine)
    assert set(found) == set(expected)
    for name, gradient in expected.items():
        if program.startswith("s.sparse_mask") or program not in OTHER_LAYOUT:
            assert str(found[name].layout) == str(gradient.layout), name
        if not (twice and program in OTHER_COUNT):
            np.testing.assert_allclose(dense(found[name]), dense(gradient), rtol=1e-12)


@pytest.mark.parametrize("program", [p for p in RESULTS if "embedding" not in p])
def test_texts_with_history(program: str) -> None:
    """grad_fn is shown by PyTorch's name."""
    (theirs, _), (ours, _) = (run(lib, program, False) for lib in (torch, rushlight))
    node = type(theirs.grad_fn).__name__
    other = ("Squeeze", "NotImplemented", "Norm", "Any", "Linalg", "View", "Unbind")
    if theirs.requires_grad and not node.startswith(other):
        assert type(ours.grad_fn).__name__ == node


ERRORS = """
torch.sparse_coo_tensor(i, v, (2, 2, 2))
torch.sparse_coo_tensor(i, torch.tensor([1.0, 2.0]))
torch.sparse_coo_tensor(torch.tensor([0, 1]), v, (2, 3))
torch.sparse_coo_tensor(-i, v)
torch.sparse_coo_tensor(-i, v, (2, 3), check_invariants=True)
torch.sparse_coo_tensor(i, v, (2, 2), check_invariants=True)
torch.sparse_coo_tensor(i.flip(1), v, (2, 3), is_coalesced=True, check_invariants=True)
torch.sparse_coo_tensor(i, v.long(), (2, 3), requires_grad=True)
torch.sparse_csr_tensor([0, 1, 3], [2, 2, 0], v, (2, 4), check_invariants=True)
torch.sparse_csr_tensor([0, 4, 3], [2, 0, 2], v, (2, 4), check_invariants=True)
torch.sparse_csr_tensor([1, 1, 3], [2, 0, 2], v, (2, 4), check_invariants=True)
torch.sparse_csr_tensor([0, 1, 4], [2, 0, 2], v, (2, 4), check_invariants=True)
torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 2), check_invariants=True)
torch.sparse_csr_tensor([0, 1, 3], [-2, 0, 2], v, (2, 4), check_invariants=True)
torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (3, 4), check_invariants=True)
torch.sparse_csr_tensor([0, 1, 3], [2, 0], v, (2, 4), check_invariants=True)
torch.sparse_csc_tensor([0, 1, 3], [2, 0, 2], v, (2, 2), check_invariants=True)
torch.sparse_bsr_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 2), (5, 4), check_invariants=True)
torch.sparse_bsr_tensor([0, 1, 2], [0, 1], torch.ones(2))
torch.sparse_compressed_tensor([0, 1, 3], [2, 0, 2], v)
torch.sparse_compressed_tensor([0, 1, 3], [2, 0, 2], v, layout=torch.strided)
torch.ones(2, 3).to_sparse(3)
torch.ones(2, 3).to_sparse(0)
torch.ones(2, 3).to_sparse(layout=torch.sparse_bsr)
torch.ones(2, 3).to_sparse_bsr((2, 2))
torch.ones(2).coalesce()
torch.ones(2).indices()
torch.ones(2).values()
torch.ones(2).is_coalesced()
torch.ones(2).crow_indices()
torch.ones(2)._nnz()
s.values()
s.indices()
s.crow_indices()
c.indices()
c.coalesce()
c.is_coalesced()
c.ccol_indices()
s + torch.ones(2, 4)
s + 1
s + torch.ones(2, 5).to_sparse()
s * torch.ones(2, 5).to_sparse()
s / s
s.numpy()
s.tolist()
s.item()
s.storage()
s.untyped_storage()
s.data_ptr()
s.nbytes
c.stride()
s.contiguous()
s.reshape(8)
s.expand(2, 2, 4)
bool(s)
s == s
s.cos()
s.exp()
s.mean()
s.max()
s.view(8)
s.fill_(1)
torch.equal(s, s)
torch.linalg.vector_norm(s)
s.copy_(torch.ones(2, 4))
torch.ones(2, 4).copy_(s)
s.type_as(torch.ones(1, dtype=torch.double))
s.sparse_resize_((2, 3), 2, 0)
s.sparse_resize_((2, 4, 2), 2, 1)
s.sparse_resize_((2, 4, 2), 2, 0)
s.transpose(0, 5)
s.select(0, 7)
s.index_select(0, torch.tensor([7]))
s.__dlpack__()
torch.cat([s, torch.ones(2, 4)])
torch.cat([s, torch.ones(2, 5).to_sparse()])
torch.sparse.mm(s, torch.ones(2, 2))
torch.mm(s, torch.ones(2, 2))
s.double() @ torch.ones(4, 2)
torch.sparse.sum(torch.ones(2))
torch.sparse.spdiags(torch.ones(3, 3), torch.tensor([0, 0, 2]), (4, 4))
torch.sparse.spdiags(torch.ones(3, 3), torch.tensor([0, 2]), (4, 4))
torch.sparse.spdiags(torch.ones(3, 3), torch.tensor([0.0, 1.0, 2.0]), (4, 4))
torch.nn.utils.clip_grad_norm_(embedding(), 1.0)
torch.nn.utils.clip_grad_value_(embedding(), 1.0)
torch.optim.Adam(embedding()).step()
torch.optim.AdamW(embedding()).step()
torch.optim.RMSprop(embedding()).step()
torch.optim.Adagrad(embedding(), weight_decay=0.1).step()
torch.optim.SGD(embedding(), weight_decay=0.1).step()
torch.optim.SparseAdam([s])
torch.nn.EmbeddingBag(3, 2, mode="max", sparse=True)(i)
""".strip().split("\n")


def failure(library: Any, program: str) -> tuple[str, str]:
    def embedding() -> list[Any]:
        table = library.nn.Embedding(4, 2, sparse=True)
        table(library.tensor([1, 2])).sum().backward()
        return [table.weight]

    i, v = library.tensor([[0, 1, 1], [2, 0, 2]]), library.tensor([3.0, 4.0, 5.0])
    s = library.sparse_coo_tensor(i, v, (2, 4))
    given = {"torch": library, "i": i, "v": v, "s": s, "c": s.to_sparse_csr()}
    with pytest.raises(Exception) as caught:
        eval(program, given | {"embedding": embedding})
    first = str(caught.value).split("\n")[0].split(". ")[0].rstrip(".")
    return type(caught.value).__name__, first


@pytest.mark.parametrize("program", ERRORS)
def test_errors(program: str) -> None:
    theirs, ours = (failure(library, program) for library in (torch, rushlight))
    if "Could not run 'aten::" in theirs[1]:  # operators inside have other names here
        cut = [(kind, text.split("'aten::")[0]) for kind, text in (theirs, ours)]
        theirs, ours = cut
    assert ours == theirs


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {}),
        ("SGD", {"momentum": 0.9}),
        ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}),
        ("Adagrad", {"lr_decay": 0.1}),
        ("Adagrad", {"initial_accumulator_value": 0.3}),
        ("SparseAdam", {}),
        ("SparseAdam", {"betas": (0.5, 0.6), "maximize": True}),
    ],
)
def test_optimizers(name: str, options: dict[str, Any]) -> None:
    """Steps with sparse gradients, one of them with rows that the one before did not name."""
    weights = []
    for library in (torch, rushlight):
        start = np.random.default_rng(0).normal(size=(6, 3))
        table = library.nn.Embedding(6, 3, sparse=True, _weight=library.tensor(start))
        optimizer = getattr(library.optim, name)(table.parameters(), lr=0.1, **options)
        for k in range(4):
            optimizer.zero_grad()
            (table(library.tensor([1, k, 1])) ** 2).sum().backward()
            optimizer.step()
        weights.append(table.weight.detach().numpy())
    np.testing.assert_allclose(weights[1], weights[0], rtol=1e-12)


@pytest.mark.parametrize("first", ["sparse", "dense"])
def test_gradients_accumulate(first: str) -> None:
    """A leaf's gradient: sparse and sparse, then sparse and dense, in either order."""
    found = []
    for library in (torch, rushlight):
        weight = library.ones(4, 2, requires_grad=True)

        def rows(weight: Any = weight, library: Any = library) -> Any:
            at = library.tensor([1, 2, 1])
            return library.nn.functional.embedding(at, weight, sparse=True).sum()

        steps = [rows, rows, lambda weight=weight: (weight * 3).sum()]
        for step in steps if first == "sparse" else reversed(steps):
            step().backward()
            found.append(str(weight.grad))
    assert found[:3] == found[3:]


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr", "bsc"])
@pytest.mark.parametrize("writer", ["torch", "rushlight"])
def test_files(tmp_path: Any, layout: str, writer: str) -> None:
    """A file of one library is read by the other."""
    writes, reads = (torch, rushlight) if writer == "torch" else (rushlight, torch)
    block = [(2, 2)] if layout.startswith("b") else []
    x = getattr(writes.eye(4), f"to_sparse_{layout}")(*block)
    writes.save({"x": x, "again": [x]}, tmp_path / "x.pt")
    found = reads.load(tmp_path / "x.pt")
    assert str(found["x"]) == str(x)
    assert str(found["again"][0].layout) == f"torch.sparse_{layout}"
    assert LEAVES


@pytest.mark.parametrize(
    "program",
    [
        "torch.sparse_coo_tensor((2, 3))",
        "torch.sparse_coo_tensor((0, 3), dtype=torch.int64)",
        "torch.tensor(1.0).to_sparse()",
        "torch.tensor(0.0).to_sparse()",
        "torch.zeros(0, 3).to_sparse()",
        "torch.zeros(2, 0).to_sparse_csr()",
        "torch.mm(torch.zeros(0, 3).to_sparse(), torch.ones(3, 2))",
        "torch.mm(torch.zeros(2, 3).to_sparse(), torch.ones(3, 0))",
        "torch.ones(2, 2, 3).to_sparse_csr()",
        "torch.ones(2, 2, 3).to_sparse_csr().to_dense()",
        "torch.ones(2, 2, 3).to_sparse_csr(dense_dim=1)",
        "torch.ones(2, 4, 4).to_sparse_bsr((2, 2)).to_dense()",
        "torch.arange(16.0).reshape(4, 4).t().to_sparse_bsc((2, 2))",
        "torch.arange(16.0).reshape(4, 4).t().to_sparse_csc()",
        "torch.eye(2).half().to_sparse()",
        "torch.eye(2, dtype=torch.bfloat16).to_sparse().coalesce()",
        "torch.eye(2, dtype=torch.complex64).to_sparse() * 2j",
        "torch.eye(2, dtype=torch.int32).to_sparse().sum()",
        "torch.eye(2).bool().to_sparse_csr()",
        "torch.sparse_coo_tensor([[1, 1]], [True, True], (3,)).coalesce()",
        "torch.sparse_coo_tensor([[1, 1]], [200, 100], (3,), dtype=torch.uint8).coalesce()",
        "(torch.arange(3000.0).reshape(50, 60) % 7).to_sparse()",
        "(torch.arange(3000.0).reshape(50, 60) % 7).to_sparse_csr()",
        "torch.eye(3).to_sparse().detach().add_(torch.eye(3).to_sparse(), alpha=2)",
        "torch.ones(3, 3).sub_(torch.eye(3).to_sparse())",
        "torch.eye(3).to_sparse().mul_(2).div_(4).neg_()",
        "torch.eye(3).to_sparse().zero_()",
        "torch.eye(3).to_sparse().sparse_resize_((4, 5), 2, 0)",
        "torch.eye(3).to_sparse().sparse_resize_and_clear_((4, 5), 1, 1)",
        "torch.resize_as_sparse_(torch.eye(2).to_sparse(), torch.eye(3).to_sparse())",
        "torch.values_copy(torch.eye(2).to_sparse_csr())",
        "torch.col_indices_copy(torch.eye(2).to_sparse_csr())",
        "torch.sparse.mm(torch.eye(2).to_sparse_csr(), torch.eye(2).to_sparse_csr())",
        "torch.nn.Linear(3, 2).register_buffer('a', torch.eye(2).to_sparse())",
        "torch.zeros(2, 2).is_sparse, torch.eye(2).to_sparse().is_sparse",
        "torch.eye(2).to_sparse_csr().is_sparse, torch.eye(2).to_sparse_csr().is_sparse_csr",
        "torch.eye(2).to_sparse().type(), torch.eye(2).to_sparse().stride()",
        "isinstance(torch.eye(2).to_sparse(), torch.Tensor), len(torch.eye(2).to_sparse())",
    ],
)
def test_other_programs(program: str) -> None:
    theirs, ours = (str(eval(program, {"torch": library})) for library in (torch, rushlight))
    assert ours == theirs
