"""`torch.sparse`: tensors of which only some elements are kept.

`_form.py` says what a sparse tensor is, and who answers a call with one; the modules beside it
answer: `_making` and `_convert` for what a tensor is made of, `_arithmetic`, `_products` and
`_shapes` for what is computed, `_rows` for the gradients of embeddings.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _root as rl
from .._base.device import sparse_bsc, sparse_bsr, sparse_coo
from .._base.errors import refused as _refused
from .._base.missing import missing_name as _missing_name
from .._base.outside import np
from .._core import Tensor
from ..ops.table.arguments import typed as _typed
from . import _arithmetic, _convert, _form, _making, _products
from . import _shapes as _shapes  # handlers only
from . import _text as _text
from ._form import parts as _parts
from ._products import sampled_addmm

__all__ = [
    "SparseSemiStructuredTensor",
    "SparseSemiStructuredTensorCUSPARSELT",
    "SparseSemiStructuredTensorCUTLASS",
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "solve",
    "spdiags",
    "spsolve",
    "sum",
    "to_sparse_semi_structured",
]


def _call_method(name: str, *args: object, **kwargs: object) -> Tensor:
    """Call the function behind a method of Tensor that is about sparse tensors."""
    return _form.HANDLERS[name](*args, **kwargs)


def _tensors(name: str, **given: object) -> None:
    """Raise for an argument that is no tensor."""
    for i, (argument, value) in enumerate(given.items(), 1):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"{name}(): argument '{argument}' (position {i}) must be Tensor, not "
                f"{type(value).__name__}"
            )


def mm(
    sparse: Tensor, dense: Tensor, reduce: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The product of a sparse matrix with a dense or sparse one.

    The gradient for a sparse matrix is sparse, at its places. reduce: of compressed rows, "sum",
    "mean", "amax" or "amin" of the products that would be summed.

    >>> a = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3), requires_grad=True)
    >>> y = torch.sparse.mm(a, torch.ones(3, 2))
    >>> y.sum().backward()
    >>> a.grad
    tensor(indices=tensor([[0, 1],
                           [2, 0]]),
           values=tensor([2., 2.]),
           size=(2, 3), nnz=2, layout=torch.sparse_coo)
    """
    _tensors("_sparse_mm", sparse=sparse, dense=dense)
    if reduce is not None:
        made = _products.reduced(sparse, dense, reduce)
    elif _parts(sparse) is None and _parts(dense) is None:
        made = sparse.mm(dense)
    else:
        made = _products.product(sparse, dense, "SparseAddmmBackward0")
    return made if out is None else out.copy_(made)


def addmm(
    input: Any, mat1: object, mat2: object, *, beta: Any = 1.0, alpha: object = 1.0
) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2), of which mat1 is sparse; its gradient is, too.

    >>> a = torch.eye(2).to_sparse()
    >>> torch.sparse.addmm(torch.ones(2, 2), a, torch.ones(2, 2), beta=2.0)
    tensor([[3., 3.],
            [3., 3.]])
    """
    _tensors("_sparse_addmm", input=input, mat1=mat1, mat2=mat2)
    if _parts(mat1) is None and _parts(mat2) is None and _parts(input) is None:
        return input.addmm(mat1, mat2, beta=beta, alpha=alpha)
    return _products._addmm("SparseAddmmBackward0", input, mat1, mat2, beta, alpha)


@_typed(
    "(input: Tensor)",
    "(input: Tensor, *, dtype: dtype)",
    "(input: Tensor, dim: Ints)",
    "(input: Tensor, dim: Ints, *, dtype: dtype)",
    said="_sparse_sum",
)
def _sum_takes(input: object, dim: object = None, *, dtype: object = None) -> None:
    """Refuse what is no argument of `sum`."""


def sum(input: Any, dim: object = None, dtype: object = None) -> Tensor:
    """The sum of the elements, or along dimensions: sparse where a sparse dimension is left.

    >>> a = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    >>> torch.sparse.sum(a)
    tensor(12.)
    >>> torch.sparse.sum(a, 0).to_dense()
    tensor([4., 0., 8.])
    """
    if dtype is not None:
        _sum_takes(input, dim, dtype=dtype)
    elif dim is not None:
        _sum_takes(input, dim)
    elif not isinstance(input, Tensor):
        _sum_takes(input)
    _form.coo(input, "coalesce")
    if dtype is not None:
        input = _convert.cast(input, dtype)
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return _arithmetic.total(input, node="SparseSumBackward0")
    kind = input.dtype if dtype is not None else None
    return _arithmetic.total(input, dim, dtype=kind, node="SparseSumBackward0")


@_typed(
    "_sparse_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None)",
    said="_sparse_softmax",
)
def softmax(input: object, dim: int, *, dtype: object = None) -> Tensor:
    """softmax along a dimension, of the values that are there.

    >>> a = torch.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [1.0, 1.0, 5.0], (2, 3))
    >>> torch.sparse.softmax(a, 1).to_dense()
    tensor([[0.5000, 0.0000, 0.5000],
            [0.0000, 1.0000, 0.0000]])
    """
    return _arithmetic.softmax(input, dim, dtype, False)


@_typed(
    "_sparse_log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None)",
    said="_sparse_log_softmax",
)
def log_softmax(input: object, dim: int, *, dtype: object = None) -> Tensor:
    """The logarithm of `softmax`.

    >>> a = torch.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [1.0, 1.0, 5.0], (2, 3))
    >>> torch.sparse.log_softmax(a, 1).to_dense()
    tensor([[-0.6931,  0.0000, -0.6931],
            [ 0.0000,  0.0000,  0.0000]])
    """
    return _arithmetic.softmax(input, dim, dtype, True)


@_typed(
    "_spdiags(diagonals: Tensor, offsets: Tensor, shape: Sizes, layout: layout | None = None)",
    said="_spdiags",
)
def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """A sparse matrix whose diagonals are the rows of a matrix.

    offsets: the diagonal of each row; 0 is the main diagonal, above are positive numbers.
    Element j of a row stands in column j.

    >>> torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0, -1]), (3, 3)).to_dense()
    tensor([[1., 0., 0.],
            [1., 1., 0.],
            [0., 1., 1.]])
    """
    _tensors("_spdiags", diagonals=diagonals, offsets=offsets)
    _form.stay_here("_spdiags", diagonals, offsets)
    rows = diagonals.reshape(1, -1) if diagonals.dim() == 1 else diagonals
    if rows.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    which = offsets.reshape(1) if offsets.dim() == 0 else offsets
    if which.dim() != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if len(rows) != len(which):
        raise RuntimeError(
            f"Number of diagonals ({len(rows)}) does not match the number of offsets ({len(which)})"
        )
    if layout in (sparse_bsr, sparse_bsc) or str(layout) == "torch.strided":
        raise RuntimeError(
            "Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got "
            f"{_form.NAMES.get(layout, 'Strided')}"
        )
    if which.dtype is not rl.int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {which.dtype.scalar_name}")
    numbers = which._array
    if len(np.unique(numbers)) < len(numbers):
        raise RuntimeError("Offset tensor contains duplicate values")
    m, n = map(int, shape)
    width = rows.shape[1]
    found = []
    for i, offset in enumerate(numbers.tolist()):
        columns = np.arange(max(offset, 0), min(width, n, m + offset))
        found.append(np.stack([columns - offset, columns, np.full(len(columns), i)]))
    places = np.concatenate(found, 1) if found else np.zeros((3, 0), np.int64)
    values = rows[_form.integers(places[2]), _form.integers(places[1])]
    made = _form.placed(values, (m, n), places[:2], "SpdiagsBackward0")
    return made if layout in (None, sparse_coo) else made.to_sparse(layout=layout)


class check_sparse_tensor_invariants:
    """Check, or do not check, the indices of every sparse tensor that is made.

    As a context manager, as a decorator, or by `enable()` and `disable()`. Off at the start.

    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse_coo_tensor([[0], [7]], [1.0], (2, 2))
    Traceback (most recent call last):
        ...
    RuntimeError: size is inconsistent with indices: for dim 1, size is 2 but found index 7
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether every sparse tensor is checked.

        >>> torch.sparse.check_sparse_tensor_invariants.is_enabled()
        False
        """
        return _making._Checks.on

    @staticmethod
    def enable() -> None:
        """Check every sparse tensor from now on."""
        _making._Checks.on = True

    @staticmethod
    def disable() -> None:
        """Check only those whose call says so."""
        _making._Checks.on = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context "
                "manager instance for context nesting."
            )
        self.saved_state = self.is_enabled()
        _making._Checks.on = self.state

    def __exit__(self, *exc: object) -> None:
        _making._Checks.on = bool(self.saved_state)
        self.saved_state = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: object, **kwargs: object) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def as_sparse_gradcheck(gradcheck: Callable[..., bool]) -> Callable[..., bool]:
    """`gradcheck` for functions of sparse tensors: they are given by their values.

    masked: whether only the elements that are there are varied; False varies all of them.

    >>> check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> x = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_()
    >>> check(lambda s: s.to_dense(), x, masked=True)
    True
    """

    def checked(func: Any, inputs: Any, **kwargs: object) -> bool:
        masked = kwargs.pop("masked", False)
        given = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
        shapes: list[Any] = []
        plain: list[object] = []
        for x in given:
            p = _parts(x)
            if p is None or not x.requires_grad:
                shapes.append(None)
                plain.append(x)
                continue
            if p.layout is sparse_coo and not p.coalesced:
                p = _parts(_convert.coalesced_like(x))
            if not masked:  # the zeros are values, too
                everywhere = _convert.dense_of(p)
                ones = rl.ones_like(everywhere)
                how = {"layout": p.layout} if p.layout is not sparse_coo else {}
                if p.layout in _form.BLOCKED:
                    how["blocksize"] = p.block
                full = (
                    ones.to_sparse(p.n_sparse) if p.layout is sparse_coo else ones.to_sparse(**how)
                )
                q = _parts(full)
                p = q.like(_form.values_at(everywhere, q))
            shapes.append(p)
            plain.append(p.value.detach().clone().requires_grad_())

        def of_values(*values: Any) -> Any:
            made = [
                x if p is None else _form.build(p, x) for p, x in zip(shapes, values, strict=True)
            ]
            found = func(*made)
            outs = found if isinstance(found, (tuple, list)) else (found,)
            dense = tuple(_convert.to_dense(o) if _parts(o) is not None else o for o in outs)
            return dense if isinstance(found, (tuple, list)) else dense[0]

        return gradcheck(of_values, tuple(plain), **kwargs)

    return checked


class _TensorType(type):
    """The older constructors, torch.sparse.FloatTensor and its like."""

    kind: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not args:
            return _making.sparse_coo_tensor((0,), dtype=cls.kind)
        if isinstance(args[0], int):
            return _making.sparse_coo_tensor(args, dtype=cls.kind)
        if len(args) > 1 and isinstance(args[1], Tensor) and args[1].dtype is not cls.kind:
            raise TypeError(
                f"expected {cls.kind.scalar_name}Tensor (got {args[1].dtype.scalar_name}Tensor)"
            )
        return _making.sparse_coo_tensor(*args, dtype=cls.kind, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        p = _parts(instance)
        return p is not None and p.layout is sparse_coo and p.value.dtype is cls.kind

    def __repr__(cls) -> str:
        return f"<class 'torch.sparse.{cls.__name__}'>"


def _legacy(name: str, kind: rl.dtype) -> object:
    doc = f"Sparse tensors of dtype {kind.name}: an older form of `torch.sparse_coo_tensor`."
    return _TensorType(name, (), {"kind": kind, "__module__": "torch.sparse", "__doc__": doc})


BFloat16Tensor: object = _legacy("BFloat16Tensor", rl.bfloat16)
ByteTensor: Any = _legacy("ByteTensor", rl.uint8)
CharTensor: Any = _legacy("CharTensor", rl.int8)
DoubleTensor: Any = _legacy("DoubleTensor", rl.float64)
FloatTensor: Any = _legacy("FloatTensor", rl.float32)
HalfTensor: Any = _legacy("HalfTensor", rl.float16)
ShortTensor: Any = _legacy("ShortTensor", rl.int16)
IntTensor: Any = _legacy("IntTensor", rl.int32)
LongTensor: Any = _legacy("LongTensor", rl.int64)

_SEMI = "pruned matrices of NVIDIA's GPUs are multiplied on those only."
spsolve: Any = _refused("torch.sparse.spsolve", "solve with a dense matrix: torch.linalg.solve.")
solve: Any = _refused("torch.sparse.solve", "solve with a dense matrix: torch.linalg.solve.")
to_sparse_semi_structured: Any = _refused("torch.sparse.to_sparse_semi_structured", _SEMI)


class SparseSemiStructuredTensor(Tensor):
    """Refused: pruned matrices of NVIDIA's GPUs are multiplied on those only."""

    def __new__(cls, *args: Any, **kwargs: object) -> Any:
        raise NotImplementedError(f"torch.sparse.{cls.__name__} is not in rushlight: {_SEMI}")


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """Refused, as `SparseSemiStructuredTensor` is."""


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """Refused, as `SparseSemiStructuredTensor` is."""


__getattr__ = _missing_name(__name__)
