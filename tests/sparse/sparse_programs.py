"""Small programs over sparse tensors, as text: they run on PyTorch and on rushlight.

In each, s and s2 are tensors in coordinates (s with an index that occurs twice, where told), c and
c2 compressed rows, h has a dense dimension, and D, W, V are dense. All require grad.
"""

from typing import Any

RESULTS = """
s.to_dense()
s.to_dense(masked_grad=False)
s.coalesce()
s * 2
2 * s
s / 3
-s
s + s2
s - s2
torch.add(s, s2, alpha=3)
s * s2
s * D
D * s
D + s
D - s
torch.add(D, s, alpha=2)
s.t()
s.transpose(0, 1)
s.mm(W)
torch.mm(s, W)
s @ W
s @ V
torch.mv(s, V)
torch.sparse.mm(s, W)
torch.sparse.mm(s, s2.t())
torch.mm(s, s2.t())
torch.sparse.addmm(ones(3, 2), s, W, beta=2, alpha=3)
torch.addmm(ones(3, 2), s, W, beta=2, alpha=3)
V[:3] @ s
D[:, :3] @ s
torch.sparse.sum(s)
torch.sparse.sum(s, 0)
torch.sparse.sum(s, (1,))
torch.sparse.sum(s, (0, 1))
s.sum()
s.sum(0)
s.sum(1, keepdim=True)
torch.sparse.softmax(s, 0)
torch.sparse.softmax(s, 1)
torch.sparse.log_softmax(s, 1)
s.sin()
s.relu()
s.abs()
s.sqrt()
s.log1p()
s.floor()
s.sign()
s.isnan()
s.pow(2)
s.square()
s.tanh()
s.norm()
s.any()
torch.cat([s, s2])
torch.cat([s, s2], 1)
torch.stack([s, s2])
torch.stack([s, s2], 2)
s[0]
s[1, 2]
s[..., 2]
s[None]
s.select(1, 2)
s.index_select(0, torch.tensor([1, 0, 1]))
s.index_select(1, torch.tensor([2, 0]))
s.unbind()[1]
s.narrow_copy(1, 1, 2)
s.unsqueeze(0)
s.permute(1, 0)
s.to(torch.float32)
s.float()
s.clone()
s.sparse_mask(s2.detach().coalesce())
D.sparse_mask(s2.detach().coalesce())
s.coalesce().values()
s.coalesce().indices()
torch.sparse_coo_tensor(s.detach().coalesce()._indices()[:, :3], V[:3], (3, 4))
torch.sparse_coo_tensor(s.detach()._indices(), V * 2, (3, 4))
torch.sparse_csr_tensor(torch.tensor([0, 1, 3, 4]), torch.tensor([2, 0, 2, 3]), V, (3, 4))
torch.sparse_bsr_tensor(torch.tensor([0, 1]), torch.tensor([1]), W.reshape(1, 4, 2), (4, 4))
D.to_sparse()
D.to_sparse(1)
D.to_sparse_csr()
D.to_sparse_csc()
D.to_sparse_bsr((1, 2))
D.to_sparse_bsc((3, 2))
D.to_sparse_csr().to_sparse()
D.to_sparse().to_sparse_csr()
D.to_sparse().to_sparse_csc()
D.to_sparse_bsr((1, 2)).to_dense()
D.to_sparse_csr().to_sparse_bsr((3, 2))
s.to_sparse_csr()
s.mul(torch.tensor(2.0, dtype=torch.float64))
torch.smm(s, W)
torch.hspmm(s, W)
torch.sspaddmm(s, s @ s2.t(), D)
torch.bmm(torch.stack([s, s2]).detach(), torch.stack([W, W]))
F.linear(s, W.t())
F.linear(D[:, :3], s.t())
torch.zeros_like(s)
s.new_zeros(2, 3)
c.to_dense()
c.to_sparse()
c.to_sparse_csc()
c * 2
c + c2
c * D.detach()
c.mm(W)
c @ W
c @ V
torch.sparse.mm(c, W)
torch.sparse.mm(c, W, "sum")
torch.sparse.mm(c, W, "mean")
torch.sparse.mm(c, W, "amax")
torch.sparse.mm(c, W, "amin")
D[:, :3] @ c
c.sum()
c.sum(0, keepdim=True)
c.t()
c.sin()
c.relu()
c.values()
c.crow_indices()
c.clone()
c[1]
torch.sparse.sampled_addmm(c, D, torch.eye(4, dtype=torch.float64), beta=0.5, alpha=2.0)
h.to_dense()
h.sum(0)
h.sum(2)
torch.sparse.sum(h, (0, 2))
h + h
h * 2
torch.sparse.softmax(h, 1)
torch.sparse.softmax(h, 2)
h.transpose(0, 1)
h.coalesce().values()
h[1]
h.select(2, 1)
torch.cat([h, h], 2)
h.index_select(2, torch.tensor([1, 0, 1]))
F.embedding(torch.tensor([1, 0, 1]), W, sparse=True)
F.embedding(torch.tensor([[1, 0], [3, 1]]), W, padding_idx=0, sparse=True)
F.embedding(torch.tensor([1, 0, 1]), W * 2, sparse=True)
F.embedding_bag(torch.tensor([1, 0, 2, 1]), W, torch.tensor([0, 2]), sparse=True)
F.embedding_bag(torch.tensor([1, 0, 2, 1]), W, torch.tensor([0, 2]), mode="sum", sparse=True)
torch.gather(W, 0, torch.tensor([[1, 0], [3, 3]]), sparse_grad=True)
torch.sparse.spdiags(torch.ones(3, 3), torch.tensor([0, -1, 2]), (4, 4))
torch.sparse.spdiags(torch.ones(3, 3), torch.tensor([0, -1, 2]), (3, 5), torch.sparse_csr)
""".strip().split("\n")


def names(torch: Any, twice: bool = False) -> dict[str, Any]:
    """The tensors of a program, made anew."""
    f64 = torch.float64

    def coordinates(columns: list[list[int]], dense: bool = False) -> Any:
        values = torch.tensor([1.5, -2.0, 3.0, 0.5], dtype=f64)
        if dense:
            values = torch.stack([values, values * 2], 1)
        shape = (3, 4, 2) if dense else (3, 4)
        return torch.sparse_coo_tensor(columns, values, shape)

    once = [[0, 1, 1, 2], [2, 0, 2, 3]]
    columns = [[0, 1, 1, 0], [2, 0, 2, 2]] if twice else once
    rows = coordinates(once).to_sparse_csr()
    grid = torch.arange(12.0, dtype=f64).reshape(3, 4) - 5
    found = {
        "s": coordinates(columns),
        "s2": coordinates(once),
        "c": rows,
        "c2": rows * 2,
        "h": coordinates(columns, True),
        "D": grid,
        "W": torch.arange(8.0, dtype=f64).reshape(4, 2) - 3,
        "V": torch.arange(4.0, dtype=f64) - 1,
    }
    leaves = {name: t.detach().requires_grad_() for name, t in found.items()}
    ones = lambda *size: torch.ones(*size, dtype=f64)
    return leaves | {"torch": torch, "F": torch.nn.functional, "ones": ones}


LEAVES = ("s", "s2", "c", "c2", "h", "D", "W", "V")


def dense(t: Any) -> Any:
    """A tensor's elements as an ndarray."""
    t = t.detach()
    return (t if str(t.layout) == "torch.strided" else t.to_dense()).numpy()


def gradients(result: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The gradients of a weighted sum of the result's elements, and their layouts."""
    torch = given["torch"]
    y = result if str(result.layout) == "torch.strided" else result.to_dense()
    weights = torch.arange(float(y.numel()), dtype=y.dtype).reshape(y.shape) + 1
    (y * weights).sum().backward()
    return {name: given[name].grad for name in LEAVES if given[name].grad is not None}
