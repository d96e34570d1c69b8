"""From dense to sparse, between the layouts, and back; what a sparse tensor is made of."""

from __future__ import annotations

from typing import Any

from .. import _root as rl
from .._base.device import (
    contiguous_format,
    cpu,
    cuda,
    preserve_format,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from .._base.device import layout as _layout
from .._base.outside import np
from .._core import Tensor, kernels
from ..ops.table.arguments import typed
from ._form import (
    BLOCKED,
    BY_ROWS,
    COMPRESSED,
    HANDLERS,
    LABELS,
    NAMES,
    Parts,
    answers,
    become,
    build,
    columns_of,
    coo,
    coordinates,
    format_name,
    in_order,
    integers,
    layout_name,
    linear,
    make,
    parts,
    record,
    refuse,
    sparse,
    stay_here,
    values_at,
    values_of,
    wrap,
)

__all__: list[str] = []


# ---- parts


@answers("indices")
def indices(self: object) -> Tensor:
    p = coo(self, "indices")
    if not p.coalesced:
        raise RuntimeError(
            "Cannot get indices on an uncoalesced tensor, please call .coalesce() first"
        )
    return p.indices[0].detach()


@answers("values")
def values(self: object) -> Tensor:
    p = parts(self)
    if p is None:
        raise RuntimeError("values expected sparse tensor layout but got Strided")
    if p.layout is sparse_coo and not p.coalesced:
        raise RuntimeError(
            "Cannot get values on an uncoalesced tensor, please call .coalesce() first"
        )
    found = values_of(self)
    return found.detach() if found is p.value else found


@answers("_indices")
def _indices(self: object) -> Tensor:
    p = sparse(self, "_indices")
    if p.layout is not sparse_coo:
        refuse("_indices", (self,))
    return p.indices[0].detach()


@answers("_values")
def _values(self: object) -> Tensor:
    return sparse(self, "_values").value.detach()


@answers("_nnz")
def _nnz(self: object) -> int:
    return sparse(self, "_nnz").nnz


@answers("is_coalesced")
def is_coalesced(self: object) -> bool:
    return coo(self, "is_coalesced").coalesced


@answers("_coalesced_")
def _coalesced_(self: object, coalesced: bool) -> Any:
    coo(self, "_coalesced_").coalesced = bool(coalesced)
    return self


@answers("_with_values")
def _with_values(self: object, values: Tensor) -> Any:
    p = parts(self)
    return build(p, values)


@answers("sparse_dim", "_dimI")
def sparse_dim(self: object) -> int:
    p = parts(self)
    return 0 if p is None else p.n_sparse


@answers("dense_dim", "_dimV")
def dense_dim(self: Any) -> int:
    p = parts(self)
    return self.dim() if p is None else p.n_dense


def _compressed_part(name: str, which: int, by_rows: bool) -> Any:
    def part(self: Any) -> Tensor:
        p = parts(self)
        if p is None or p.layout is sparse_coo or (p.layout in BY_ROWS) != by_rows:
            raise RuntimeError(
                f"{name} expected sparse {'row' if by_rows else 'column'} compressed tensor layout "
                f"but got {layout_name(self)}"
            )
        return p.indices[which].detach()

    part.__name__ = part.__qualname__ = name
    return answers(name)(part)


crow_indices, col_indices = (_compressed_part(n, i, True) for i, n in enumerate(LABELS[sparse_csr]))
ccol_indices, row_indices = (
    _compressed_part(n, i, False) for i, n in enumerate(LABELS[sparse_csc])
)


@answers("coalesce")
def coalesce(self: object) -> Any:
    p = coo(self, "coalesce")
    return self if p.coalesced else _coalesced(self, p)


def sums(values: Tensor, group: Any, n: int) -> Tensor:
    """The sum of the values of each group; whether any is true, of booleans."""
    shape = (n, *values.shape[1:])
    if values.dtype is rl.bool:
        return sums(values.to(rl.uint8), group, n).to(rl.bool)
    return rl.zeros(shape, dtype=values.dtype, device=cpu).index_add(0, integers(group), values)


def _coalesced(t: object, p: Parts) -> Tensor:
    found = kernels.sparse_coalesce(p.indices[0], p.value, p.outer)
    if found is not NotImplemented:
        merged = Parts(sparse_coo, p.shape, (found[0],), found[1], True)
        return record("CoalesceBackward0", wrap(merged), (t,), (lambda g: g,))
    numbers = p.linear()
    if numbers.size < 2 or (np.diff(numbers) > 0).all():
        merged = Parts(sparse_coo, p.shape, p.indices, p.value, True)
    else:
        ordered, order = in_order(numbers)
        begins = np.empty(len(ordered), bool)
        begins[0] = True
        np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
        starts = np.flatnonzero(begins)
        picked = integers(columns_of(p.places(), order[starts]))
        value = p.value.index_select(0, integers(order))
        if len(starts) < len(order):
            value = sums(value, np.cumsum(begins) - 1, len(starts))
        merged = Parts(sparse_coo, p.shape, (picked,), value, True)
    return record("CoalesceBackward0", wrap(merged), (t,), (lambda g: g,))


# ---- to dense


def dense_of(p: Parts) -> Tensor:
    """The dense tensor of parts, without history."""
    if p.layout not in BLOCKED and not p.n_batch:
        order, (first, second) = p.outer, (*p.indices, None)[:2]
        if p.layout is sparse_csc:
            order = order[::-1]
        found = kernels.sparse_to_dense(first, second, p.value, order)
        if found is not NotImplemented:
            return found.transpose(0, 1).contiguous() if p.layout is sparse_csc else found
    n, (rows, columns) = int(np.prod(p.outer)), p.block
    made = sums(p.flat(p.value), p.linear(), n)
    if p.layout not in BLOCKED:
        return made.reshape(tuple(p.shape))
    b, dense = p.n_batch, p.shape[p.n_batch + 2 :]
    made = made.reshape(*p.outer, rows, columns, *dense)
    return made.transpose(b + 1, b + 2).reshape(tuple(p.shape))


@answers("to_dense")
def to_dense(self: Any, dtype: object = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor with all its zeros.

    Its gradient has values where the sparse tensor has; with `masked_grad=False` everywhere.
    """
    p = parts(self)
    if p is None:
        return self if dtype is None else self.to(dtype)
    with rl.no_grad():
        made = dense_of(p)

    def rule(g: Tensor) -> Tensor:
        if masked_grad is False:
            return to_sparse_as(g, p)
        return sparse_mask(g, coalesced_like(self))

    made = record("ToDenseBackward0", made, (self,), (rule,))
    return made if dtype is None else made.to(dtype)


def to_sparse_as(g: Tensor, p: Parts) -> Tensor:
    """A dense gradient in a sparse layout, with all its values."""
    if parts(g) is not None:
        return g
    if p.layout is sparse_coo:
        return _to_coo(g, p.n_sparse)
    return _to_compressed(g, p.layout, p.block if p.layout in BLOCKED else None, p.n_dense)


def coalesced_like(t: object) -> Any:
    """A tensor at the places of another, each once, without history."""
    p = parts(t)
    if p.layout is not sparse_coo or p.coalesced:
        return t
    with rl.no_grad():
        return coalesce(t)


@answers("sparse_mask")
def sparse_mask(self: Any, mask: Any) -> Tensor:
    p = sparse(mask, "sparse_mask")
    if self.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} "
            f"but mask has size {list(mask.shape)}"
        )
    before = values_at(self, p)
    if parts(self) is not None:
        made = wrap(p.like(before.detach()))
        return record("SparseMaskBackward0", made, (self,), (lambda g: g,))
    return record(
        "SparseMaskBackward0",
        wrap(p.like(before.detach())),
        (before,),
        (lambda g: values_at(g, p),),
    )


# ---- to sparse

_NODES = {layout: f"To{NAMES[layout]}Backward0" for layout in COMPRESSED}


@answers("to_sparse")
@typed(
    "to_sparse(self: Tensor, *, layout: layout | None = None, blocksize: Ints | None = None, "
    "dense_dim: int | None = None)",
    "to_sparse(self: Tensor, sparse_dim: int)",
    method=True,
)
def to_sparse(self: object, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor in a sparse layout.

    to_sparse(sparse_dim=None): in coordinates, for that many first dimensions.
    to_sparse(layout=None, blocksize=None, dense_dim=None): in a layout.
    """
    if "sparse_dim" in kwargs or (args and not isinstance(args[0], _layout)):
        if len(args) + len(kwargs) > 1:
            raise TypeError(
                f"to_sparse() takes 0 positional arguments but {len(args)} was given"
                if args
                else "to_sparse() got an unexpected keyword argument"
            )
        n = args[0] if args else kwargs["sparse_dim"]
        return _to_coo(self, None if n is None else int(n))
    return _to_layout(self, *args, **kwargs)


def _to_layout(
    self: Any, layout: Any = None, blocksize: object = None, dense_dim: int | None = None
) -> Tensor:
    p = parts(self)
    target = sparse_coo if layout is None else layout
    name = "dense_to_sparse" if p is None else "sparse_to_sparse"
    if target is strided:
        return to_dense(self)
    needed = target in BLOCKED and (p is None or p.layout not in BLOCKED)
    if needed if blocksize is None else target not in BLOCKED:
        raise RuntimeError(
            f"{name}: conversion from {layout_name(self)} to {NAMES[target]} "
            f"{'without' if blocksize is None else 'with'} blocksize argument given is not "
            "supported"
        )
    if target is sparse_coo:
        return _to_coo(self, None if dense_dim is None else self.dim() - dense_dim)
    return _to_compressed(self, target, blocksize, dense_dim)


def _to_coo(t: object, n: int | None) -> Any:
    p = parts(t)
    if p is None:
        return _dense_to_coo(t, n)
    if p.layout is sparse_coo:
        if n is not None and n != p.n_sparse:
            raise RuntimeError(
                "to_sparse: conversion from Sparse to Sparse with sparse_dim argument "
                "!=self.sparse_dim() is not supported"
            )
        return t
    if n is not None and n != 2:
        raise RuntimeError(
            f"sparse_compressed_to_sparse: conversion from {NAMES[p.layout]} to Sparse with "
            "sparse_dim argument !=2 is not supported"
        )
    return _elements(t, p)


def _elements(t: object, p: Parts) -> Tensor:
    """A compressed tensor in coordinates: those of its batch, too."""
    places, v = p.places(), p.flat(p.value)
    coalesced = p.layout is sparse_csr
    if p.layout in BLOCKED:
        rows, columns = p.block
        n = places.shape[1]
        spread = np.repeat(places[:, :, None], rows * columns, 2)
        spread[-2] = spread[-2] * rows + np.repeat(np.arange(rows), columns)
        spread[-1] = spread[-1] * columns + np.tile(np.arange(columns), rows)
        places = spread.reshape(len(places), n * rows * columns)
        v = v.reshape(n * rows * columns, *v.shape[3:])
    if not coalesced:
        _, order = in_order(linear(places, p.shape[: len(places)]))
        places, v = columns_of(places, order), v.index_select(0, integers(order))
    made = Parts(sparse_coo, p.shape, (integers(places),), v, True)
    return record("ToSparseBackward1", wrap(made), (t,), (lambda g: _as_layout(g, p),))


def _as_layout(g: object, p: Parts) -> Any:
    """A gradient in the layout of what it is of."""
    q = parts(g)
    if q is None or q.layout is p.layout:
        return g
    return build(p, values_at(g, p))


def _dense_to_coo(t: Any, n: int | None) -> Tensor:
    stay_here("_to_sparse", t)
    ndim = t.dim()
    if n is None:
        n = ndim
    if not 0 <= n <= ndim:
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{ndim}] range, but {n} is given"
        )
    if n == 0 and ndim > 0:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    outer = tuple(t.shape[:n])
    flat = t.detach().reshape(int(np.prod(outer)), *t.shape[n:])
    numbers = _nonzero_rows(flat)
    value = flat.index_select(0, integers(numbers))
    made = make(sparse_coo, t.shape, (integers(coordinates(numbers, outer)),), value, True)
    name = "ToSparseBackward1" if n == ndim else "ToSparseBackward0"
    return record(name, made, (t,), (to_dense,))


def _nonzero_rows(flat: Tensor) -> object:
    """The numbers of the rows with an element that is not 0."""
    there = (flat != 0)._array
    return np.flatnonzero(there.reshape(len(there), -1).any(1) if there.ndim > 1 else there)


def _to_compressed(t: Any, target: _layout, blocksize: Any, dense_dim: int | None) -> Tensor:
    p = parts(t)
    same = p is not None and p.layout is target
    if isinstance(blocksize, int):
        blocksize = blocksize, blocksize
    if same and (blocksize is None or tuple(blocksize) == p.block):
        return t
    if p is not None and p.layout is sparse_coo:
        if p.n_sparse != 2 or (dense_dim is not None and int(dense_dim) != p.n_dense):
            raise RuntimeError(
                "coo_to_sparse_csr: conversion from Sparse to "
                f"{NAMES[target]} for input tensors with sparse_dim()!=2 is not supported"
            )
        return _compressed_from(coalesce(t), target, blocksize)
    n_dense = (0 if p is None else p.n_dense) if dense_dim is None else int(dense_dim)
    if p is not None:
        if p.n_batch and target not in BLOCKED and p.layout not in BLOCKED:
            return _compressed_from(_elements(t, p), target, blocksize, p.n_batch)
        if p.n_batch:
            return _dense_to_compressed(to_dense(t), target, blocksize, n_dense)
        return _compressed_from(_elements(t, p), target, blocksize)
    if t.dim() < n_dense + 2:
        raise IndexError(
            f"to_sparse_{str(target).rpartition('_')[2]}: a tensor of 2 dimensions or more is "
            f"needed, besides {n_dense} dense ones; this one has {t.dim()}"
        )
    return _dense_to_compressed(t, target, blocksize, n_dense)


def _dense_to_compressed(t: Any, target: _layout, blocksize: object, n_dense: int) -> Tensor:
    stay_here(f"_to_{repr(target)[6:]}", t)
    b = t.dim() - n_dense - 2
    rows, columns = _blocks(t.shape[b : b + 2], target, blocksize)
    outer = (*t.shape[:b], t.shape[b] // rows, t.shape[b + 1] // columns)
    x = t.detach()
    dense = tuple(t.shape[b + 2 :])
    if target in BLOCKED:
        x = x.reshape(*outer[: b + 1], rows, outer[b + 1], columns, *dense).transpose(b + 1, b + 2)
        flat = x.reshape(int(np.prod(outer)), rows, columns, *dense)
    else:
        flat = x.reshape(int(np.prod(outer)), *dense)
    numbers = _nonzero_rows(flat)
    places = coordinates(numbers, outer)
    value = flat.index_select(0, integers(numbers))
    made = _compress(target, t.shape, places, outer, value, b)
    return record(_NODES[target], wrap(made), (t,), (to_dense,))


def _blocks(sizes: Any, target: _layout, blocksize: Any) -> tuple[int, int]:
    if target not in BLOCKED:
        return 1, 1
    rows, columns = map(int, blocksize)
    name = f"dense_to_sparse_{str(target).rpartition('_')[2]}"
    if rows < 1 or columns < 1:
        raise RuntimeError(
            f"{name}: blocksize needs to be a tuple of two positive ints, got ({rows}, {columns})"
        )
    if sizes[0] % rows or sizes[1] % columns:
        raise RuntimeError(
            f"{name}: tensor sparse size ({sizes[0]},{sizes[1]}) must be divisible by given "
            f"blocksize ({rows},{columns})"
        )
    return rows, columns


def _compress(target: _layout, shape: Any, places: Any, outer: Any, value: Tensor, b: int) -> Parts:
    """Parts in a compressed layout, of distinct places in row-major order."""
    groups, plain = places[-2], places[-1]
    n = outer[-2]
    if target in BY_ROWS and not b:
        begins = kernels.sparse_starts(integers(groups), n)
        if begins is not NotImplemented:
            return Parts(target, shape, (begins, integers(plain)), value)
    if target not in BY_ROWS:
        groups, plain, n = plain, groups, outer[-1]
        which = linear(places[:b], outer[:b]) if b else np.zeros(len(plain), np.int64)
        order = np.lexsort((plain, groups, which))
        groups, plain = groups[order], plain[order]
        places = columns_of(places, order)
        value = value.index_select(0, integers(order))
    batch = tuple(outer[:b])
    n_batch = int(np.prod(batch))
    which = linear(places[:b], batch) if b else np.zeros(len(plain), np.int64)
    counts = np.bincount(which * n + groups, minlength=n_batch * n).reshape(n_batch, n)
    starts = np.zeros((n_batch, n + 1), np.int64)
    np.cumsum(counts, 1, out=starts[:, 1:])
    each = set(starts[:, -1].tolist())
    if len(each) > 1:
        raise RuntimeError("Expect the same number of specified elements per batch.")
    a, q = starts[0], plain
    if b:
        nnz = each.pop() if each else 0
        a, q = starts.reshape(*batch, n + 1), plain.reshape(*batch, nnz)
        value = value.reshape(*batch, nnz, *value.shape[1:])
    return Parts(target, shape, (integers(a), integers(q)), value)


def _compressed_from(t: object, target: _layout, blocksize: object, b: int = 0) -> Any:
    """A compressed tensor of a coalesced one in coordinates, the first b of which are a batch."""
    p = parts(t)
    if target is sparse_csr and not b:
        at = p.indices[0]
        starts = kernels.sparse_starts(at[0], p.shape[0])
        if starts is not NotImplemented:
            made = wrap(Parts(target, p.shape, (starts, at[1]), p.value))
            return record(_NODES[target], made, (t,), (lambda g: _as_layout(g, p),))
    places, outer, value = p.places(), tuple(p.shape[: b + 2]), p.value
    rows, columns = _blocks(outer[b:], target, blocksize)
    if target in BLOCKED:
        outer = (*outer[:b], outer[b] // rows, outer[b + 1] // columns)
        within = places[-2] % rows * columns + places[-1] % columns
        blocks = np.stack([places[-2] // rows, places[-1] // columns])
        numbers, which = np.unique(linear(blocks, outer), return_inverse=True)
        value = sums(value, which * rows * columns + within, len(numbers) * rows * columns)
        value = value.reshape(len(numbers), rows, columns, *value.shape[1:])
        places = coordinates(numbers, outer)
    made = wrap(_compress(target, p.shape, places, outer, value, b))
    return record(_NODES[target], made, (t,), (lambda g: _as_layout(g, p),))


@answers("to_sparse_coo")
def to_sparse_coo(self: object) -> Tensor:
    return _to_coo(self, None)


def _converts(layout: _layout) -> None:
    """Let the method of a layout's name convert to the layout."""
    name, blocked = f"to_{str(layout).removeprefix('torch.')}", layout in BLOCKED
    taken = f"self: Tensor, {'blocksize: Ints, ' if blocked else ''}dense_dim: int | None = None"

    def of_blocks(self: Any, blocksize: object, dense_dim: int | None = None) -> Tensor:
        return _to_compressed(self, layout, blocksize, dense_dim)

    def of_elements(self: Any, dense_dim: int | None = None) -> Tensor:
        return _to_compressed(self, layout, None, dense_dim)

    takes = typed(f"{name}({taken})", said=name, method=True)
    answers(name)(takes(of_blocks if blocked else of_elements))


for _target in COMPRESSED:
    _converts(_target)


# ---- copies, and other element types


@answers("clone")
def clone(input: object, memory_format: object = None) -> Any:
    if memory_format is not None:
        raise RuntimeError(f"unsupported memory format option {format_name(memory_format)}")
    p = parts(input)
    fresh = tuple(i.clone() for i in p.indices)
    made = make(p.layout, p.shape, fresh, p.value.clone(), p.coalesced)
    return record("CloneBackward0", made, (input,), (lambda g: g,))


@answers("__deepcopy__")
def _deepcopy(self: Any, memo: dict[int, Any]) -> Tensor:
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    made = clone(self.detach())
    if self.requires_grad:
        made.requires_grad_()
    made.__dict__.update(
        {key: value for key, value in self.__dict__.items() if not isinstance(value, Tensor)}
    )
    if self.grad is not None:
        made.grad = self.grad.clone()
    memo[id(self)] = made
    return made


@answers("__reduce_ex__")
def _reduce_ex(self: object, protocol: object) -> Any:
    from ._making import _rebuild_sparse_tensor

    p = parts(self)
    data = (*(i.detach() for i in p.indices), p.value.detach(), p.shape)
    if p.layout is sparse_coo:
        data = (*data, p.coalesced)
    return _rebuild_sparse_tensor, (p.layout, data)


def cast(t: object, dtype: object) -> Any:
    """The tensor in another element type."""
    p = parts(t)
    if p.value.dtype is dtype:
        return t
    made = wrap(p.like(p.value.to(dtype)))

    def rule(g: Tensor) -> Tensor:
        return g.to(p.value.dtype) if parts(g) is None else cast(g, p.value.dtype)

    return record("ToCopyBackward0", made, (t,), (rule,))


@answers("to", "_to_copy")
def to(
    self: object,
    *args: object,
    device: object = None,
    dtype: object = None,
    layout: _layout | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: object = None,
    other: object = None,
) -> Tensor:
    given = list(args)
    if other is not None:
        given.insert(0, other)
    for a in given:
        if isinstance(a, Tensor):
            dtype = a.dtype
        elif isinstance(a, rl.dtype):
            dtype = a
        elif isinstance(a, (str, int, rl.device)) and not isinstance(a, bool) and device is None:
            device = a
    if device is not None:
        stay_here("to", device=device)
    if layout is not None and layout is not parts(self).layout:
        raise RuntimeError(
            "to(options) doesn't support converting to a different layout, but got self.layout "
            f"being {layout_name(self)} and options.layout set as "
            f"{'Strided' if layout is strided else NAMES[layout]}"
        )
    made = cast(self, dtype or parts(self).value.dtype)
    fits = (None, preserve_format, *([contiguous_format] if made is self else []))
    if memory_format not in fits:
        name = "COO" if parts(self).layout is sparse_coo else NAMES[parts(self).layout]
        raise RuntimeError(
            f"to(options): {name.removeprefix('Sparse')} only supports memory format Preserve, but "
            f"got {format_name(memory_format)} instead."
        )
    return clone(made) if copy and made is self else made


def _casts() -> None:
    kinds = """double:float64 float:float32 half:float16 bfloat16:bfloat16 long:int64 int:int32
    short:int16 char:int8 byte:uint8 bool:bool cfloat:complex64 cdouble:complex128"""
    for pair in kinds.split():
        name, kind = pair.split(":")

        def method(self: object, memory_format: object = None, _kind: str = kind) -> Tensor:
            return to(self, dtype=getattr(rl, _kind), memory_format=memory_format)

        answers(name)(method)


_casts()


@answers("cpu")
def _cpu(self: object, memory_format: object = None) -> Tensor:
    return to(self, memory_format=memory_format)


@answers("cuda")
def _cuda(self: object, device: Any = None, *args: Any, **kwargs: object) -> Any:
    stay_here("cuda", device=cuda(device))


@answers("_to_device")
def _to_device(input: object, device: Any, *args: object) -> object:
    stay_here("to", device=device.name)
    return input


@answers("type")
def _type(self: Any, dtype: Any = None, non_blocking: bool = False) -> str:
    if dtype is None:
        return f"torch.sparse.{self.dtype.scalar_name}Tensor"
    if isinstance(dtype, str):
        return cast(self, getattr(rl, rl.empty(0).type(dtype.replace("sparse.", "")).dtype.name))
    return cast(self, dtype if isinstance(dtype, rl.dtype) else dtype.dtype)


@answers("type_as")
def _type_as(self: object, other: Any) -> object:
    if parts(other) is None:
        return to(self, layout=strided)
    return cast(self, other.dtype)


@answers("zeros_like")
def zeros_like(input: object, **kwargs: object) -> Any:
    p = parts(input)
    _check_format(p, kwargs)
    return _zeros(p, p.shape, kwargs)


def _check_format(p: Parts, how: dict[str, object]) -> None:
    if p.layout is sparse_coo and how.get("memory_format") is not None:
        raise RuntimeError("memory format option is only supported by strided tensors")


@answers("new_zeros", "new_empty")
def _new_zeros(self: object, *size: Any, **kwargs: Any) -> Tensor:
    if "size" in kwargs:
        size = tuple(kwargs.pop("size"))
    elif len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    p = parts(self)
    if p.layout is not sparse_coo:
        refuse("new_zeros", (self,))
    kind = kwargs.get("dtype") or p.value.dtype
    indices = rl.empty((len(size), 0), dtype=rl.int64, device=cpu)
    made = make(sparse_coo, size, (indices,), rl.empty(0, dtype=kind, device=cpu), True)
    return made.requires_grad_() if kwargs.get("requires_grad") else made


def _zeros(p: Parts, shape: Any, how: dict[str, Any]) -> Tensor:
    kind = how.get("dtype") or p.value.dtype
    if how.get("layout") is strided:
        return rl.zeros(
            tuple(shape), dtype=kind, device=cpu, requires_grad=bool(how.get("requires_grad"))
        )
    b = p.n_batch
    value = rl.empty((*p.value.shape[:b], 0, *p.value.shape[b + 1 :]), dtype=kind, device=cpu)
    if p.layout is sparse_coo:
        indices: tuple[Tensor, ...] = (rl.empty((p.n_sparse, 0), dtype=rl.int64, device=cpu),)
    else:
        plain = p.indices[1]
        indices = (
            rl.zeros_like(p.indices[0]),
            rl.empty((*plain.shape[:-1], 0), dtype=plain.dtype, device=cpu),
        )
    made = make(p.layout, shape, indices, value, True)
    return made.requires_grad_() if how.get("requires_grad") else made


@answers("empty_like")
def _empty_like(input: object, **kwargs: Any) -> object:
    p = parts(input)
    _check_format(p, kwargs)
    if p.layout is sparse_coo:
        return _zeros(p, p.shape, kwargs)
    kind = kwargs.get("dtype") or p.value.dtype
    return make(p.layout, p.shape, p.indices, rl.zeros_like(p.value, dtype=kind))


# ---- in place


@answers("zero_")
def zero_(input: object) -> Any:
    p = parts(input)
    return become(input, parts(_zeros(p, p.shape, {})))


@answers("copy_", "_copied_")
def copy_(input: Any, src: Any, non_blocking: bool = False) -> Any:
    p, q = parts(input), parts(src)
    if p is None or q is None:
        kinds = (t.type() if w is None else _type(t) for t, w in ((input, p), (src, q)))
        have, given = kinds
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{have} and src type = {given}"
        )
    if p.layout is not q.layout or (p.layout is not sparse_coo and p.shape != q.shape):
        raise RuntimeError(
            f"copy of sparse compressed tensors having different layouts is not supported: "
            f"{NAMES[p.layout]} and {NAMES[q.layout]}"
        )
    fresh = tuple(i.clone() for i in q.indices)
    value = q.value.to(p.value.dtype, copy=True)
    return become(input, Parts(p.layout, q.shape, fresh, value, q.coalesced))


@answers("detach_")
def _detach_(self: Any) -> Tensor:
    self._cut()
    return self


@answers("sparse_resize_")
@typed("sparse_resize_(self: Tensor, size: Sizes, sparse_dim: int, dense_dim: int)", method=True)
def sparse_resize_(self: object, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    p = sparse(self if _is_coo(self) else None, "sparse_resize_")
    _check_resized(size, sparse_dim, dense_dim)
    old, n = list(p.shape), p.n_sparse
    if p.nnz:
        help = (
            " on a non-empty sparse tensor is not supported. You could try the following "
            "options: 1. If you need an empty sparse tensor of this size, call `x = "
            "torch.sparse_coo_tensor(size)`. 2. If you need to resize this tensor, you have the "
            "following options: 1. For both sparse and dense dimensions, keep the number of them "
            "constant and the size of them non-shrinking, and then try the same call again. 2. Or, "
            "create a new sparse tensor with the correct indices and values from this sparse "
            "tensor."
        )
        if sparse_dim != n:
            raise RuntimeError(
                f"changing the number of sparse dimensions (from {n} to {sparse_dim}){help}"
            )
        if dense_dim != p.n_dense:
            raise RuntimeError(
                f"changing the number of dense dimensions (from {p.n_dense} to {dense_dim}){help}"
            )
        for what, a, b in (("sparse", old[:n], size[:n]), ("dense", old[n:], size[n:])):
            if any(y < x for x, y in zip(a, b, strict=True)):
                raise RuntimeError(
                    f"shrinking the size of {what} dimensions (from {a} to {list(b)}){help}"
                )
    return _resized(self, p, size, sparse_dim)


def _is_coo(t: object) -> bool:
    p = parts(t)
    return p is not None and p.layout is sparse_coo


def _check_resized(size: Any, sparse_dim: int, dense_dim: int) -> None:
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )


def _resized(t: object, p: Parts, size: Any, n: int) -> Tensor:
    indices, value = p.indices[0], p.value
    if n != p.n_sparse:
        indices = rl.empty((n, 0), dtype=rl.int64, device=cpu)
    wanted = (p.nnz, *size[n:])
    if tuple(value.shape) != wanted:
        grown = rl.zeros(wanted, dtype=value.dtype, device=cpu)
        if p.nnz:
            grown[tuple(slice(s) for s in value.shape)] = value
        value = grown
    return become(t, Parts(sparse_coo, size, (indices,), value, p.coalesced))


@answers("sparse_resize_and_clear_")
@typed(
    "sparse_resize_and_clear_(self: Tensor, size: Sizes, sparse_dim: int, dense_dim: int)",
    method=True,
)
def sparse_resize_and_clear_(self: object, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    p = sparse(self if _is_coo(self) else None, "sparse_resize_and_clear_")
    _check_resized(size, sparse_dim, dense_dim)
    value = rl.empty((0, *size[sparse_dim:]), dtype=p.value.dtype, device=cpu)
    indices = rl.empty((sparse_dim, 0), dtype=rl.int64, device=cpu)
    return become(self, Parts(sparse_coo, size, (indices,), value, True))


@answers("resize_as_sparse_")
def resize_as_sparse_(input: object, the_template: Tensor) -> Tensor:
    """The size of another sparse tensor, in place.

    >>> x = torch.sparse_coo_tensor((2, 2))
    >>> torch.resize_as_sparse_(x, torch.sparse_coo_tensor((3, 4))).shape
    torch.Size([3, 4])
    """
    p, q = (sparse(t, "resize_as_sparse_") for t in (input, the_template))
    if p.layout is not sparse_coo or q.layout is not sparse_coo:
        refuse("resize_as_sparse_", (input, the_template))
    return sparse_resize_(input, tuple(q.shape), q.n_sparse, q.n_dense)


def _copy_of(method: Any) -> Any:
    """The function that gives a copy of a part."""

    def copied(input: object, *, out: Tensor | None = None) -> Tensor:
        found = method(input).clone()
        return found if out is None else out.resize_(found.shape).copy_(found)

    copied.__name__ = copied.__qualname__ = f"{method.__name__}_copy"
    copied.__doc__ = f"A copy of `Tensor.{method.__name__}()`."
    HANDLERS[copied.__name__] = copied  # no other room has the name
    return copied


indices_copy: Any = _copy_of(indices)
values_copy: Any = _copy_of(values)
crow_indices_copy: Any = _copy_of(crow_indices)
col_indices_copy: Any = _copy_of(col_indices)
ccol_indices_copy: Any = _copy_of(ccol_indices)
row_indices_copy: Any = _copy_of(row_indices)
_indices_copy: Any = _copy_of(_indices)
_values_copy: Any = _copy_of(_values)
