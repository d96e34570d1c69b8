"""Products of matrices of which one, or both, are sparse."""

from __future__ import annotations

from typing import Any

from .. import _root as rl
from .._base.device import cpu, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .._base.outside import np
from .._core import Tensor, kernels
from ..ops.table.arguments import typed
from ..ops.table.arrays import dim_in
from ._arithmetic import add, mul
from ._convert import coalesce, to_dense
from ._form import (
    BLOCKED,
    HANDLERS,
    NAMES,
    Parts,
    answers,
    at_places,
    become,
    build,
    integers,
    is_masked,
    layout_name,
    make,
    named,
    parts,
    placed,
    record,
    refuse,
    stay_here,
    transformed,
    values_at,
    values_of,
    wants,
)

__all__: list[str] = []

_PIECE = 1 << 15  # elements of the multiples that are made at a time


# ---- the transposed matrix

_OTHER = {
    sparse_csr: sparse_csc,
    sparse_csc: sparse_csr,
    sparse_bsr: sparse_bsc,
    sparse_bsc: sparse_bsr,
}


@answers("transpose", "swapaxes", "swapdims")
def transpose(input: object, dim0: int, dim1: int, node: str = "TransposeBackward0") -> Any:
    p = parts(input)
    ndim = len(p.shape)
    a, b = dim_in(dim0, ndim), dim_in(dim1, ndim)
    if a == b:
        return input
    shape = list(p.shape)
    shape[a], shape[b] = shape[b], shape[a]
    if p.layout is not sparse_coo:
        n = p.n_batch
        if {a, b} != {n, n + 1}:
            raise RuntimeError(
                "transpose(): can only transpose the two sparse dimensions of a tensor of layout "
                f"{NAMES[p.layout]}"
            )
        v = p.value.transpose(n + 1, n + 2).contiguous() if p.layout in BLOCKED else p.value
        made = make(_OTHER[p.layout], shape, p.indices, v)
    elif max(a, b) >= p.n_sparse:
        if min(a, b) < p.n_sparse:
            raise RuntimeError(
                "sparse transpose: transposed dimensions must be sparse Got sparse_dim: "
                f"{p.n_sparse}, d0: {a}, d1: {b}"
            )
        n = p.n_sparse - 1
        made = make(sparse_coo, shape, p.indices, p.value.transpose(a - n, b - n), p.coalesced)
    else:
        order = list(range(p.n_sparse))
        order[a], order[b] = b, a
        made = make(sparse_coo, shape, (rl.stack([p.indices[0][d] for d in order]),), p.value)
    return record(node, made, (input,), (lambda g: _swapped(g, a, b),))


def _swapped(g: Tensor, a: int, b: int) -> Any:
    return g.transpose(a, b) if parts(g) is None else transpose(g, a, b)


@answers("get mT", "get mH", "adjoint")
def matrix_transpose(input: object) -> Any:
    p = parts(input)
    if p.layout is not sparse_coo or (p.n_sparse == 2 and not p.n_dense):
        return t(input)
    if len(p.shape) < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{len(p.shape)}-D tensor."
        )
    if p.n_sparse < len(p.shape):
        raise RuntimeError(
            "sparse transpose: transposed dimensions must be sparse Got sparse_dim: "
            f"{p.n_sparse}, d0: {len(p.shape) - 2}, d1: {len(p.shape) - 1}"
        )
    return transpose(input, -2, -1)


@answers("t", "get T", "get H")
def t(input: object) -> Any:
    p = parts(input)
    if len(p.shape) < 2:
        return input
    if p.layout is sparse_coo and (p.n_sparse > 2 or p.n_dense):
        raise RuntimeError(
            "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{p.n_sparse} sparse and {p.n_dense} dense dimensions"
        )
    n = p.n_batch
    return transpose(input, n, n + 1, "TBackward0")


@answers("permute")
def permute(input: object, *dims: Any) -> Any:
    p = parts(input)
    if len(dims) == 1 and isinstance(dims[0], (tuple, list)):
        dims = tuple(dims[0])
    ndim = len(p.shape)
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(dims)}"
        )
    order = [dim_in(d, ndim) for d in dims]
    if len(set(order)) < ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    if order == list(range(ndim)):
        return input
    if p.layout is not sparse_coo:
        n = p.n_batch
        if order == [*range(n), n + 1, n, *range(n + 2, ndim)]:
            return transpose(input, n, n + 1)
        refuse("permute", (input,))
    n = p.n_sparse
    if any(d >= n for d in order[:n]):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not "
            "allowed.Only transpositions within sparse and dense dimensions are supported."
        )
    v = p.value.permute(0, *[d - n + 1 for d in order[n:]])
    places = integers(p.places()[order[:n]])
    shape = [p.shape[d] for d in order]
    same = p.coalesced and order[:n] == list(range(n))
    made = make(sparse_coo, shape, (places,), v, same)
    back = np.argsort(order).tolist()
    return record(
        "PermuteBackward0",
        made,
        (input,),
        (lambda g: g.permute(back) if parts(g) is None else permute(g, back),),
    )


@answers("movedim", "moveaxis")
def movedim(input: object, source: Any, destination: Any) -> Any:
    ndim = len(parts(input).shape)
    moved = np.moveaxis(np.empty((1,) * ndim), source, destination)  # raises as it should
    del moved
    pair = ([x] if isinstance(x, int) else list(x) for x in (source, destination))
    taken, put = ([dim_in(d, ndim) for d in dims] for dims in pair)
    order = [d for d in range(ndim) if d not in taken]
    for to, d in sorted(zip(put, taken, strict=True)):
        order.insert(to, d)
    return permute(input, order)


# ---- two matrices


def _plain(t: object) -> tuple[object, Parts]:
    """A sparse matrix whose values are single elements, and its parts."""
    p = parts(t)
    if p.layout in BLOCKED:
        t = HANDLERS["to_sparse"](t)
        p = parts(t)
    return t, p


def _check(a: Any, b: Any, name: str) -> tuple[Any, Any]:
    """The parts of two matrices that are multiplied; None of a dense one."""
    stay_here(name, a, b)
    p, q = parts(a), parts(b)
    have, want = (a if p is None else p.value).dtype, (b if q is None else q.value).dtype
    if have is not want:
        raise RuntimeError(f"expected scalar type {have.scalar_name} but found {want.scalar_name}")
    left, right = (a if p is None else p).shape, (b if q is None else q).shape
    if len(left) != 2 or len(right) != 2:
        which, shape = ("self", left) if len(left) != 2 else ("mat2", right)
        raise RuntimeError(f"{name}: {which} must be a matrix, got {len(shape)}-D tensor")
    if left[1] != right[0]:
        if q is None:
            raise RuntimeError(
                f"addmm: Argument #3 (dense): Expected dim 0 size {left[1]}, got {right[0]}"
            )
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({left[0]}x{left[1]} and "
            f"{right[0]}x{right[1]})"
        )
    for x in (p, q):
        if x is not None and x.value.ndim > 1 and x.n_dense:
            raise RuntimeError(
                f"{name}: a matrix with dense dimensions is not multiplied; this one has "
                f"{x.n_sparse} sparse and {x.n_dense} dense ones"
            )
    return p, q


def product(a: Any, b: Any, node: str = "MmBackward0") -> Any:
    """The product of two matrices, one of them sparse at least."""
    p, q = _check(a, b, "mm")
    if p is None:
        return named(node, t_of(product(t(b), t_of(a), node)))
    if q is not None:
        return _sparse_sparse(a, b, node)
    if p.layout in BLOCKED:
        a, p = _plain(a)
    if transformed(b):
        return _composed(a, b)
    made = times_dense(p, b)

    def for_a(g: Any) -> Tensor:
        if node != "SparseAddmmBackward0" and not is_masked(a):
            return g.mm(b.conj().t()) if parts(g) is None else product(g, b.conj().t())
        return at_places(p, sampled(g, b.conj(), p))

    def for_b(g: Tensor) -> Any:
        if not rl.is_grad_enabled() and parts(g) is None and not p.value.dtype.is_complex:
            return times_dense(p, g, transposed=True)
        return product(t(_conjugate(a)), g, node)

    return record(node, made, (a, b), (for_a, for_b))


def _composed(a: Any, b: Any) -> Tensor:
    """The product of dense ops, each of which has its rules for vmap and for tangents."""
    rows, columns = parts(a).places()
    part = b.index_select(0, integers(columns)) * values_of(a).unsqueeze(1)
    return rl.zeros((a.shape[0], b.shape[1]), dtype=b.dtype, device=cpu).index_add(
        0, integers(rows), part
    )


def _is_recorded(*tensors: object) -> bool:
    return rl.is_grad_enabled() and any(map(wants, tensors))


def _conjugate(t: Any) -> Tensor:
    return HANDLERS["conj_physical"](t) if t.dtype.is_complex else t


def t_of(x: Any) -> Tensor:
    return x.t() if parts(x) is None else t(x)


def times_dense(p: Parts, dense: Tensor, transposed: bool = False) -> Tensor:
    """The product with a dense matrix or vector, without history."""
    first, second, rows, columns, turned = p.matrix()
    turned = turned is not transposed
    dense = dense.detach()
    found = kernels.sparse_product(first, second, p.value, dense, rows, columns, turned)
    if found is not NotImplemented:
        return found
    with rl.no_grad():
        if dense.ndim == 1:
            return _times_in_pieces(p, dense.unsqueeze(1), transposed).squeeze(1)
        return _times_in_pieces(p, dense, transposed)


def _times_in_pieces(p: Parts, dense: Tensor, transposed: bool) -> Tensor:
    """The same of any type: for each value a multiple of a row is added to a row. It goes in
    pieces, so that the multiples take no more memory than the result and the caches hold them."""
    to, of = p.places()[::-1] if transposed else p.places()
    k = dense.shape[1]
    made = rl.zeros((p.shape[int(transposed)], k), dtype=dense.dtype, device=cpu)
    step = max(256, _PIECE // max(k, 1))
    for start in range(0, len(to), step):
        piece = slice(start, start + step)
        part = dense.index_select(0, integers(of[piece]))
        part = part.mul_(p.value[piece].unsqueeze(1))
        made.index_add_(0, integers(to[piece]), part)
    return made


def sampled(x: Any, y: Tensor, p: Parts) -> Tensor:
    """Of x @ y.T, the elements at the places of `p`."""
    if parts(x) is not None:
        x = to_dense(x)
    first, second, *_, turned = p.matrix()
    if not rl.is_grad_enabled() and not transformed(x) and not transformed(y):
        found = kernels.sparse_dots(first, second, *((y, x) if turned else (x, y)))
        if found is not NotImplemented:
            return found
    rows, columns = p.places()
    k = x.shape[1]
    step = max(256, _PIECE // max(k, 1))
    found = [
        (
            x.index_select(0, integers(rows[start : start + step]))
            * y.index_select(0, integers(columns[start : start + step]))
        ).sum(1)
        for start in range(0, len(rows), step)
    ]
    return rl.cat(found) if found else x.new_zeros(0)


def _sparse_sparse(a: object, b: object, node: str) -> Any:
    p, q = parts(a), parts(b)
    layout = p.layout if p.layout is q.layout else sparse_coo
    if layout in BLOCKED:
        layout = sparse_csr
    with rl.no_grad():
        made = _joined(*(coalesce(HANDLERS["to_sparse"](x)) for x in (a, b)))
        if layout is not sparse_coo:
            made = HANDLERS["to_sparse"](made, layout=layout)

    masked = node == "SparseAddmmBackward0"

    def for_a(g: object) -> Tensor:
        found = product(g, t(_conjugate(b)))
        return at_places(p, values_at(found, p)) if masked else found

    def for_b(g: object) -> Tensor:
        found = product(t(_conjugate(a)), g)
        return at_places(q, values_at(found, q)) if masked else found

    name = "SparseSparseMatmulBackward0" if masked else node
    return record(name, made, (a, b), (for_a, for_b))


def _joined(a: object, b: object) -> Any:
    """Each value (i, k) of a meets each (k, j) of b."""
    p, q = parts(a), parts(b)
    shape = p.shape[0], q.shape[1]
    pairs = (p.indices[0], p.value, q.indices[0], q.value)
    found = kernels.sparse_multiply(*pairs, shape[0], p.shape[1], shape[1])
    if found is not NotImplemented:
        return make(sparse_coo, shape, (found[0],), found[1], True)
    (rows, inner), (others, columns) = p.places(), q.places()
    starts = np.searchsorted(others, np.arange(p.shape[1] + 1))
    counts = np.diff(starts)[inner]
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    left = np.repeat(np.arange(len(rows)), counts)
    right = np.arange(total) - np.repeat(ends - counts, counts) + np.repeat(starts[inner], counts)
    places = np.stack([rows[left], columns[right]])
    v = p.value.index_select(0, integers(left)).mul_(q.value.index_select(0, integers(right)))
    return coalesce(make(sparse_coo, shape, (integers(places),), v))


# ---- as programs call it


@answers("mm")
def mm(input: object, mat2: Tensor) -> Any:
    return product(input, mat2)


@answers("mv")
def mv(input: Any, vec: Any) -> Any:
    if parts(vec) is not None or vec.dim() != 1:
        refuse("mv", (input, vec))
    _, p = _plain(input)
    if p.shape[-1] != len(vec):
        raise RuntimeError(
            f"mv: expected self.size(-1) == vec.size(-1), but got {p.shape[-1]} and {len(vec)}"
        )
    plain = len(p.shape) == 2 and not p.n_dense and p.value.dtype is vec.dtype
    if plain and not transformed(vec) and not _is_recorded(input, vec):
        return times_dense(p, vec)
    return named("MvBackward0", product(input, vec.unsqueeze(1)).squeeze(1))


@answers("bmm")
def bmm(input: Any, mat2: Any) -> Tensor:
    p, q = parts(input), parts(mat2)
    if q is not None:
        if p is not None:
            refuse("bmm", (input, mat2))
        return bmm(_batch_t(mat2), input.transpose(1, 2)).transpose(1, 2)
    if input.dim() != 3 or mat2.dim() != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    n, m, k = input.shape
    if tuple(mat2.shape[:2]) != (n, k):
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{n}, {k}] but got: [{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    if p.layout is not sparse_coo:
        input = HANDLERS["to_sparse"](input)
        p = parts(input)
    if p.n_dense:
        refuse("bmm", (input,))
    which, rows, columns = p.places()
    flat = Parts(
        sparse_coo,
        (n * m, n * k),
        (integers(np.stack([which * m + rows, which * k + columns])),),
        p.value,
        p.coalesced,
    )
    wide = mat2.detach().reshape(n * k, mat2.shape[2])
    made = times_dense(flat, wide).reshape(n, m, mat2.shape[2])

    def for_a(g: Any) -> Any:
        if not is_masked(input):
            return g.bmm(mat2.conj().transpose(1, 2))
        columns = mat2.conj().reshape(n * k, -1)
        return at_places(p, sampled(g.reshape(n * m, -1), columns, flat))

    def for_b(g: Tensor) -> Any:
        return bmm(_batch_t(_conjugate(input)), g)

    return record("BmmBackward0", made, (input, mat2), (for_a, for_b))


def _batch_t(x: object) -> Any:
    return transpose(x, 1, 2)


@answers("matmul", "__matmul__", "__rmatmul__")
def matmul(input: Any, other: Any) -> Any:
    p, q = parts(input), parts(other)
    a, b = len((input if p is None else p).shape), len((other if q is None else q).shape)
    if a == 2 and b == 2:
        return product(input, other)
    if a == 2 and b == 1 and q is None:
        return mv(input, other)
    if a == 1 and b == 2 and p is None:
        return mv(t(other), input)
    if a == 3 and b == 3:
        return bmm(input, other)
    if a > 2 and b == 2 and p is None:
        return product(input.reshape(-1, input.shape[-1]), other).reshape(*input.shape[:-1], -1)
    raise RuntimeError(
        f"reshape is not implemented for sparse tensors: a product of {a} and {b} dimensions needs "
        "it"
    )


@answers("linear")
def linear(input: Any, weight: Tensor, bias: object = None) -> Tensor:
    turned = t_of(weight)
    made = product(input, turned) if input.dim() == 2 else matmul(input, turned)
    return made if bias is None else made + bias


def _addmm(node: str, input: Any, mat1: object, mat2: object, beta: object, alpha: object) -> Any:
    made = product(mat1, mat2, node if node == "SparseAddmmBackward0" else "MmBackward0")
    if alpha != 1:
        made = made * alpha if parts(made) is None else mul(made, alpha)
    if beta == 0:
        return named(node, made)
    if parts(input) is not None and parts(made) is None:
        input = to_dense(input)
    if parts(input) is not None or parts(made) is not None:
        whole = add(mul(input, beta) if beta != 1 else input, made)
    else:
        whole = (input if beta == 1 else input * beta) + made
    return named(node, whole)


@answers("addmm")
def addmm(
    input: object, mat1: object, mat2: object, *, beta: object = 1, alpha: object = 1
) -> Tensor:
    return _addmm("AddmmBackward0", input, mat1, mat2, beta, alpha)


@answers("addmm_")
def addmm_(
    input: Any, mat1: Tensor, mat2: object, *, beta: complex = 1, alpha: object = 1
) -> Tensor:
    made = addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return input.copy_(made) if parts(input) is None else become(input, parts(made))


@answers("addmv")
def addmv(input: Any, mat: object, vec: object, *, beta: Any = 1, alpha: object = 1) -> Any:
    return input * beta + mv(mat, vec) * alpha


def _must_be_coo(name: str, t: object) -> Parts:
    p = parts(t)
    if p is None or p.layout is not sparse_coo:
        raise RuntimeError(
            f"{name}: expected a sparse COO tensor as first matrix, got {layout_name(t)}"
        )
    return p


def _must_be_matrix(name: str, dense: Any) -> None:
    if dense.dim() != 2:
        raise RuntimeError(f"{name}: Argument #3: matrices expected, got {dense.dim()}D tensor")


@typed("smm(input: Tensor, mat2: Tensor)")
def smm(input: Any, mat2: Any) -> Tensor:
    """The product of a sparse and a dense matrix, as a sparse one.

    >>> s = torch.sparse_coo_tensor([[0], [1]], [2.0], (2, 2))
    >>> torch.smm(s, torch.ones(2, 1)).to_dense()
    tensor([[2.],
            [0.]])
    """
    _must_be_coo("smm", input)
    _must_be_matrix("sspaddmm", mat2)
    return sspaddmm(make_empty(input.shape[0], mat2.shape[1], input.dtype), input, mat2)


def _rows_of_product(name: str, mat1: object, mat2: Any) -> tuple[Any, Tensor]:
    """The numbers of the rows of a sparse times a dense matrix that have values, and those."""
    _must_be_coo(name, mat1)
    mat1 = coalesce(mat1)
    _must_be_matrix(name, mat2)
    _check(mat1, mat2, name)
    if parts(mat2) is not None:
        refuse(name, (mat2,))
    rows, columns = parts(mat1).places()
    used, at = np.unique(rows, return_inverse=True)
    part = mat2.index_select(0, integers(columns)) * values_of(mat1).unsqueeze(1)
    empty = rl.zeros((len(used), mat2.shape[1]), dtype=part.dtype, device=cpu)
    return used, empty.index_add(0, integers(at.ravel()), part)


def make_empty(m: int, n: int, dtype: rl.dtype) -> Any:
    """A sparse matrix of zeros."""
    return make(
        sparse_coo,
        (m, n),
        (rl.empty((2, 0), dtype=rl.int64, device=cpu),),
        rl.empty(0, dtype=dtype, device=cpu),
        True,
    )


@typed(
    "sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1)"
)
def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2), of which mat2 is dense, as a sparse matrix.

    >>> s = torch.sparse_coo_tensor([[0], [1]], [2.0], (2, 2))
    >>> torch.sspaddmm(s, s, torch.ones(2, 2)).to_dense()
    tensor([[2., 4.],
            [0., 0.]])
    """
    used, whole = _rows_of_product("sspaddmm", mat1, mat2)
    _must_be_coo("sspaddmm", input)
    places = np.stack(
        [np.repeat(used, mat2.shape[1]), np.tile(np.arange(mat2.shape[1]), len(used))]
    )
    q = parts(input)
    joined = np.concatenate([q.places(), places], 1)
    v = rl.cat([values_of(input) * beta, whole.reshape(-1) * alpha])
    shape = (mat1.shape[0], mat2.shape[1])
    if tuple(input.shape) != shape:
        raise RuntimeError(
            f"sspaddmm: Argument #1: Expected dim 0 size {shape[0]}, got {input.shape[0]}"
        )
    return placed(v, shape, joined)


@typed("hspmm(mat1: Tensor, mat2: Tensor)")
def hspmm(mat1: Any, mat2: Any) -> Tensor:
    """The product of a sparse and a dense matrix, with its rows that are not 0 kept whole.

    >>> s = torch.sparse_coo_tensor([[0], [1]], [2.0], (2, 2))
    >>> torch.hspmm(s, torch.ones(2, 2))
    tensor(indices=tensor([[0]]),
           values=tensor([[2., 2.]]),
           size=(2, 2), nnz=1, layout=torch.sparse_coo)
    """
    used, whole = _rows_of_product("hspmm", mat1, mat2)
    return placed(whole, (mat1.shape[0], mat2.shape[1]), used[None])


answers("smm")(smm)
answers("sspaddmm")(sspaddmm)
HANDLERS["hspmm"] = hspmm  # no other room has the name


def reduced(a: Tensor, b: Tensor, reduce: str) -> Tensor:
    """A product of compressed rows with a dense matrix whose sums are means, greatest or least."""
    p = parts(a)
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, mean, amax or amin, got {reduce}")
    if p is None or p.layout is not sparse_csr:
        raise RuntimeError(f"Expect self to be of layout SparseCsr, got {layout_name(a)}")
    _check(a, b, "_sparse_mm_reduce_impl")
    rows, columns = p.places()
    which = integers(rows)
    part = b.index_select(0, integers(columns)) * values_of(a).unsqueeze(1)
    empty = rl.zeros((p.shape[0], b.shape[1]), dtype=part.dtype, device=cpu)
    if reduce in ("sum", "mean"):
        whole = empty.index_add(0, which, part)
        if reduce == "mean":
            counts = np.maximum(np.bincount(rows, minlength=p.shape[0]), 1)
            whole = whole / rl.from_numpy(counts).to(part.dtype).unsqueeze(1)
    else:
        index = which.unsqueeze(1).expand(part.shape)
        whole = empty.scatter_reduce(0, index, part, reduce, include_self=False)
    return named("SparseMmReduceImplBackward0", whole)


@typed(
    "(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1)",
    said="sparse_sampled_addmm",
)
def sampled_addmm(
    input: object, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0
) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2) at the places of input, compressed rows.

    >>> s = torch.eye(2).to_sparse_csr()
    >>> torch.sparse.sampled_addmm(s, torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])
    """
    p = parts(input)
    if p is None or p.layout is not sparse_csr:
        raise RuntimeError(f"Expected self to be a SparseCsr tensor, got {layout_name(input)}")
    stay_here("sampled_addmm", mat1, mat2)
    if p.n_batch:
        refuse("sampled_addmm", (input,))
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if matrix.dim() < 2:
            raise RuntimeError(
                f"sampled_addmm: Expected {name} to be a matrix, got {matrix.dim()}-D tensor"
            )
    if mat1.dtype is not mat2.dtype:
        raise RuntimeError(
            "sampled_addmm: Expected mat1 and mat2 to have the same dtype, but got "
            f"{mat1.dtype.scalar_name} and {mat2.dtype.scalar_name}"
        )
    if mat1.dim() != 2 or mat2.dim() != 2:
        raise RuntimeError(
            "sampled_addmm: Expected mat1 and mat2 to have the same batch size, but got "
            f"{list(mat1.shape[:-2])} and {list(mat2.shape[:-2])}"
        )
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            "sampled_addmm: mat1 and mat2 shapes cannot be multiplied "
            f"({mat1.shape[0]}x{mat1.shape[1]} and {mat2.shape[0]}x{mat2.shape[1]})"
        )
    if (mat1.shape[0], mat2.shape[1]) != tuple(p.shape):
        raise RuntimeError(
            f"self.shape[-2] must match mat1.shape[-2], and self.shape[-1] mat2.shape[-1]: "
            f"{list(p.shape)} and {[mat1.shape[0], mat2.shape[1]]}"
        )
    v = sampled(mat1, mat2.t(), p) * alpha + values_of(input) * beta
    return build(p, v, "SparseSampledAddmmBackward0")


def spmm(input: object, mat2: Tensor) -> Any:
    """`torch.mm`, by an older name.

    >>> torch.spmm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return mm_any(input, mat2)


def dsmm(input: object, mat2: object) -> Any:
    """`torch.mm`, by an older name.

    >>> torch.dsmm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return mm_any(input, mat2)


def mm_any(a: Any, b: object) -> Any:
    """A product of matrices, sparse or not."""
    return a.mm(b) if parts(a) is None and parts(b) is None else product(a, b)


def hsmm(mat1: object, mat2: object) -> Any:
    """`torch.hspmm`, by another name.

    >>> torch.hsmm(torch.eye(2).to_sparse(), torch.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])
    """
    return hspmm(mat1, mat2)


def saddmm(input: Any, mat1: object, mat2: object, *, beta: Any = 1, alpha: object = 1) -> Any:
    """`torch.addmm`, by an older name.

    >>> torch.saddmm(torch.ones(2, 1), torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[2.],
            [2.]])
    """
    return input.addmm(mat1, mat2, beta=beta, alpha=alpha)
