"""Methods of Tensor about sparse tensors: their code is imported when one is first called.

A sparse tensor takes these calls over (sparse/_form.py); what runs here has a dense one.
"""

from __future__ import annotations

from typing import Any

from .._base.late import late

__all__ = ["METHODS"]

_SPARSE = ">>> x = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))"
_DENSE = ">>> x = torch.tensor([[0.0, 2.0], [0.0, 3.0]])"


def _method(name: str, doc: str) -> Any:
    def method(self: Any, *args: object, **kwargs: object) -> Any:
        return late.sparse_method(name, self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = doc
    method.__annotations__["return"] = _NO_TENSOR.get(name, "Any")
    return method


_NO_TENSOR = dict.fromkeys("_nnz _dimI _dimV sparse_dim dense_dim".split(), "int")
_NO_TENSOR["is_coalesced"] = "bool"


_CONVERT = {
    "to_dense": "The tensor with all its zeros; a dense tensor itself."
    f"\n\n{_SPARSE}\n>>> x.to_dense()\ntensor([[0., 0., 3.],\n        [4., 0., 0.]])",
    "to_sparse": "The tensor in a sparse layout: in coordinates, for `sparse_dim` first "
    "dimensions, or in `layout`, with `blocksize` and `dense_dim`."
    f"\n\n{_DENSE}\n>>> x.to_sparse().indices()\ntensor([[0, 1],\n        [1, 1]])",
    "to_sparse_coo": "The tensor in coordinates."
    f"\n\n{_DENSE}\n>>> x.to_sparse_coo().values()\ntensor([2., 3.])",
    "to_sparse_csr": "The tensor in compressed rows."
    f"\n\n{_DENSE}\n>>> x.to_sparse_csr().crow_indices()\ntensor([0, 1, 2])",
    "to_sparse_csc": "The tensor in compressed columns."
    f"\n\n{_DENSE}\n>>> x.to_sparse_csc().ccol_indices()\ntensor([0, 0, 2])",
    "to_sparse_bsr": "The tensor in compressed rows of blocks."
    f"\n\n{_DENSE}\n>>> x.to_sparse_bsr((2, 1)).col_indices()\ntensor([1])",
    "to_sparse_bsc": "The tensor in compressed columns of blocks."
    f"\n\n{_DENSE}\n>>> x.to_sparse_bsc((2, 1)).row_indices()\ntensor([0])",
    "sparse_mask": "What the tensor has at the places where a sparse tensor has values."
    f"\n\n{_SPARSE}\n>>> torch.ones(2, 3).sparse_mask(x.coalesce()).values()\ntensor([1., 1.])",
    "coalesce": "The same tensor with indices in order, each once; values of one index are summed."
    "\n\n>>> x = torch.sparse_coo_tensor([[1, 1]], [3.0, 4.0])\n>>> x.coalesce().values()\n"
    "tensor([7.])",
    "is_coalesced": "Whether the indices are in order and each occurs once."
    f"\n\n{_SPARSE}\n>>> x.is_coalesced(), x.coalesce().is_coalesced()\n(False, True)",
    "_coalesced_": "Say whether the indices are in order and each occurs once.",
    "indices": "The coordinates of the values, a column for each; of a coalesced tensor."
    f"\n\n{_SPARSE}\n>>> x.coalesce().indices()\ntensor([[0, 1],\n        [2, 0]])",
    "values": "The values, as a function of the tensor; of a coalesced one."
    f"\n\n{_SPARSE}\n>>> x.coalesce().values()\ntensor([3., 4.])",
    "_indices": "The coordinates of the values, coalesced or not.",
    "_values": "The values without history, coalesced or not.",
    "_with_values": "A sparse tensor with other values at the same places.",
    "_nnz": "How many values there are.",
    "_dimI": "How many dimensions are sparse.",
    "_dimV": "How many dimensions are dense.",
    "sparse_dim": f"How many dimensions are sparse.\n\n{_SPARSE}\n>>> x.sparse_dim()\n2",
    "dense_dim": f"How many dimensions are dense.\n\n{_SPARSE}\n>>> x.dense_dim()\n0",
    "crow_indices": "Where each row of values begins, in compressed rows."
    f"\n\n{_SPARSE}\n>>> x.to_sparse_csr().crow_indices()\ntensor([0, 1, 2])",
    "col_indices": "The column of each value, in compressed rows."
    f"\n\n{_SPARSE}\n>>> x.to_sparse_csr().col_indices()\ntensor([2, 0])",
    "ccol_indices": "Where each column of values begins, in compressed columns."
    f"\n\n{_SPARSE}\n>>> x.to_sparse_csc().ccol_indices()\ntensor([0, 1, 1, 2])",
    "row_indices": "The row of each value, in compressed columns."
    f"\n\n{_SPARSE}\n>>> x.to_sparse_csc().row_indices()\ntensor([1, 0])",
    "sparse_resize_": "Another size and number of sparse and dense dimensions, in place; values "
    "keep their places."
    f"\n\n{_SPARSE}\n>>> x.sparse_resize_((4, 5), 2, 0).shape\ntorch.Size([4, 5])",
    "sparse_resize_and_clear_": "Another size and number of sparse and dense dimensions, in place, "
    "without any values."
    f"\n\n{_SPARSE}\n>>> x.sparse_resize_and_clear_((4, 5), 2, 0)._nnz()\n0",
    "resize_as_sparse_": "The size of another sparse tensor, in place."
    f"\n\n{_SPARSE}\n>>> x.resize_as_sparse_(torch.sparse_coo_tensor((4, 5))).shape\n"
    "torch.Size([4, 5])",
}
_PRODUCTS = {
    "smm": "The product of a sparse and a dense matrix, as a sparse one."
    f"\n\n{_SPARSE}\n>>> x.smm(torch.ones(3, 1)).to_dense()\ntensor([[3.],\n        [4.]])",
    "sspaddmm": "beta * self + alpha * (mat1 @ mat2), of which mat2 is dense, as a sparse matrix."
    f"\n\n{_SPARSE}\n>>> x.sspaddmm(x, torch.ones(3, 3))._nnz()\n8",
}
METHODS: dict[str, Any] = {name: _method(name, doc) for name, doc in (_CONVERT | _PRODUCTS).items()}
