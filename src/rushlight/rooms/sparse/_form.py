"""Sparse tensors: a Tensor that stands for indices and values.

Two mechanisms that exist for other ends carry it (docs/design/0014-sparse.md):

- `SparseTensor` is a subclass whose `__torch_function__` answers every public function, method and
  attribute: by a handler of this package (`answers`), by the function itself where that asks for
  nothing but the shape, the type or the graph (`PASSED_ON`), or by a refusal.
- It is a wrapped tensor of a level that is older than all transforms. So an op that meets one
  where nobody is asked, in the engine's rules above all, comes to `SparseLevel.call`, and finds the
  same handlers or the same refusal. The memory behind is a single NaN.

Its place in the graph is its own: `record` gives a result a node whose rules are functions here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from .. import _core
from .. import _root as rl
from .._base.device import cpu, resolve, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .._base.device import layout as _layout
from .._base.outside import np
from .._base.size import Size
from .._core import Flag, Op, Tensor, kernels
from .._levels.level import Level, Wrapper
from ..nn import Parameter, functional
from ..ops.table.arguments import wrong
from ..ops.table.statement import OPS

__all__: list[str] = []

COMPRESSED = (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)
BLOCKED = (sparse_bsr, sparse_bsc)
BY_ROWS = (sparse_csr, sparse_bsr)
NAMES = {
    sparse_coo: "Sparse",
    sparse_csr: "SparseCsr",
    sparse_csc: "SparseCsc",
    sparse_bsr: "SparseBsr",
    sparse_bsc: "SparseBsc",
}


# The names of the two tensors of indices of a compressed layout.
LABELS: dict[_layout, tuple[str, str]] = {
    layout: ("crow_indices", "col_indices")
    if layout in BY_ROWS
    else ("ccol_indices", "row_indices")
    for layout in COMPRESSED
}


def format_name(memory_format: object) -> str:
    """The name that torch's errors have for a memory format."""
    plain = str(memory_format).removeprefix("torch.").removesuffix("_format")
    return "".join(part.capitalize() for part in plain.split("_"))


def layout_name(t: object) -> str:
    """The name that torch's errors have for the layout of a tensor."""
    p = parts(t)
    return "Strided" if p is None else NAMES[p.layout]


_F = TypeVar("_F", bound=Callable[..., Any])
HANDLERS: dict[str, Callable[..., Any]] = {}


def _is_known(name: str) -> bool:
    """Whether an op, a function or a member of Tensor ("get x") has a name."""
    how, _, last = name.rpartition(" ")
    places = (Tensor,) if how else (Tensor, rl, functional)
    return any(hasattr(place, last) for place in places) or name.removesuffix("_") in OPS


def answers(*names: str) -> Callable[[_F], _F]:
    """Decorator: what answers the functions, methods, ops or attributes ("get x") of these names
    when an argument is sparse. Positional arguments come in the order of the op's parameters."""

    def decorate(function: _F) -> _F:
        for name in names:
            if name in HANDLERS or not _is_known(name):
                raise TypeError(
                    f"@answers({name!r}): there is "
                    f"{'one already' if name in HANDLERS else 'nothing of that name'}"
                )
            HANDLERS[name] = function
        return function

    return decorate


class Parts(Wrapper):
    """Indices and values of a sparse tensor.

    indices: of COO, one matrix of a column for each value; of the compressed layouts, where each
    row (or column) begins, and the columns (or rows). value: the values, without history.
    coalesced: of COO, whether columns are in order, and each occurs once.
    """

    strided = False
    __slots__ = ("_places", "coalesced", "indices", "layout", "shape")
    level: SparseLevel

    def __init__(
        self,
        layout: _layout,
        shape: Sequence[int],
        indices: tuple[Tensor, ...],
        values: Tensor,
        coalesced: bool = False,
    ) -> None:
        for t in (*indices, values):
            if t._accelerator is not None or t._on_meta:
                stay_here("_sparse_tensor", t)
        Wrapper.__init__(self, LEVEL, values)
        self.layout, self.indices = layout, indices
        self.shape = shape if type(shape) is Size else Size(shape)
        self.coalesced = coalesced
        self._places: Any = None

    def opaque(self) -> bool:
        return True

    @property
    def n_batch(self) -> int:
        """How many dimensions of a compressed layout are a batch."""
        return 0 if self.layout is sparse_coo else self.indices[0].ndim - 1

    @property
    def n_sparse(self) -> int:
        return len(self.indices[0]) if self.layout is sparse_coo else 2

    @property
    def n_dense(self) -> int:
        block = 2 if self.layout in BLOCKED else 0
        return self.value.ndim - self.n_batch - 1 - block

    @property
    def block(self) -> tuple[int, int]:
        """Rows and columns of a block; (1, 1) where values are single elements."""
        if self.layout not in BLOCKED:
            return 1, 1
        rows, columns = self.value.shape[self.n_batch + 1 : self.n_batch + 3]
        return int(rows), int(columns)

    @property
    def nnz(self) -> int:
        return int(self.indices[-1].shape[-1])

    @property
    def outer(self) -> tuple[int, ...]:
        """The sizes that `places` counts in."""
        if self.layout is sparse_coo:
            return tuple(self.shape[: self.n_sparse])
        b, (rows, columns) = self.n_batch, self.block
        return (*self.shape[:b], self.shape[b] // rows, self.shape[b + 1] // columns)

    def places(self) -> Any:
        """The coordinates of each value (of each block), an int64 array with a column for each."""
        if self._places is None:
            found = self._found()
            # PyTorch reads beyond its memory here, unless it was asked to check.
            outer = np.array(self.outer, np.int64)[:, None]
            if found.size and ((found < 0) | (found >= outer)).any():
                raise IndexError(
                    f"an index is out of range of the sparse tensor's size {list(self.shape)}: "
                    "make it with check_invariants=True to see which"
                )
            self._places = found
        return self._places

    def _found(self) -> Any:
        if self.layout is sparse_coo:
            return self.indices[0]._array
        starts, plain = (np.asarray(i._array, np.int64) for i in self.indices)
        if starts.ndim == 1:
            rows = kernels.sparse_rows(self.indices[0], len(plain))
            if rows is not NotImplemented:
                pair = [rows._array, plain]
                return np.stack(pair if self.layout in BY_ROWS else pair[::-1])
        counts = np.diff(starts, axis=-1)
        if (counts < 0).any() or (counts.sum(-1) != plain.shape[-1]).any():
            raise RuntimeError(
                "the compressed indices of a sparse tensor do not count its values: make it with "
                "check_invariants=True to see what is wrong"
            )
        n = counts.shape[-1]
        groups = np.arange(counts.size) % n if n else np.empty(0, np.int64)
        compressed = np.repeat(groups, counts.ravel())
        pair = [compressed, plain.ravel()]
        if self.layout not in BY_ROWS:
            pair.reverse()
        batch = starts.shape[:-1]
        which = np.repeat(np.arange(int(np.prod(batch))), plain.shape[-1])
        return np.stack([*np.unravel_index(which, batch), *pair] if batch else pair)

    def matrix(self) -> tuple[Tensor, Tensor | None, int, int, bool]:
        """A matrix of single elements as the kernels take it: the indices, how many rows and
        columns, and whether what these say is the transposed matrix."""
        rows, columns = self.shape[0], self.shape[1]
        if self.layout is sparse_coo:
            return self.indices[0], None, rows, columns, False
        first, second = self.indices
        if self.layout is sparse_csr:
            return first, second, rows, columns, False
        return first, second, columns, rows, True

    def linear(self) -> Any:
        """`places` as numbers: how many elements of `outer` come before each."""
        return linear(self.places(), self.outer)

    def flat(self, values: Tensor) -> Tensor:
        """Values with the batch and the count of them as one dimension."""
        b = self.n_batch
        return values.reshape(-1, *values.shape[b + 1 :]) if b else values

    def like(self, values: Tensor) -> Parts:
        """The same places with other values."""
        made = Parts(self.layout, self.shape, self.indices, values, self.coalesced)
        made._places = self._places
        return made


def linear(places: Any, sizes: Sequence[int]) -> Any:
    """Coordinates, one column each, as numbers in row-major order."""
    found = np.zeros(places.shape[1], np.int64)
    for row, size in zip(places, sizes, strict=True):
        found = found * size + row
    return found


def columns_of(places: Any, at: Any) -> Any:
    """Some columns of a matrix, taken row by row, which NumPy does many times faster."""
    found = np.empty((len(places), len(at)), places.dtype)
    for row, to in zip(places, found, strict=True):
        to[...] = row[at]
    return found


def in_order(numbers: Any) -> tuple[Any, Any]:
    """Numbers that are not negative in order, and where each stood; equal ones keep theirs."""
    shift = len(numbers).bit_length()
    if len(numbers) and int(numbers.max()) >> (62 - shift):
        order = np.argsort(numbers, kind="stable")
        return numbers[order], order
    # Sorted with their places as the last bits: many times faster than to sort the places.
    keys = numbers << shift
    keys |= np.arange(len(numbers))
    keys.sort()
    return keys >> shift, keys & ((1 << shift) - 1)


def coordinates(numbers: Any, sizes: Sequence[int]) -> Any:
    """The other way."""
    if not sizes:
        return np.zeros((0, len(numbers)), np.int64)
    if not numbers.size:
        return np.zeros((len(sizes), 0), np.int64)
    return np.stack(np.unravel_index(numbers, tuple(sizes)))


def integers(array: object) -> Tensor:
    """Indices as a tensor."""
    return rl.from_numpy(np.ascontiguousarray(array, np.int64))


# ---- the class, and who is asked

# Members that need only the shape, the type, the graph or the gradient: the core answers.
PASSED_ON = (
    frozenset(
        """size dim ndimension numel nelement element_size requires_grad_ backward register_hook
    register_post_accumulate_grad_hook retain_grad is_floating_point is_complex is_signed
    is_inference get_device grad __len__ __hash__ _is_view detach has_names is_pinned
    __format__ _set_flag is_conj is_neg
    resolve_conj resolve_neg is_grad_enabled""".split()
    )
    | frozenset(
        f"get {name}"
        for name in """shape dtype ndim grad_fn requires_grad is_leaf grad grad_dtype output_nr
    retains_grad _version _base data device is_cuda is_cpu is_meta is_mps is_quantized is_nested
    is_xpu is_mkldnn itemsize name names _backward_hooks _post_accumulate_grad_hooks""".split()
    )
    | frozenset(f"set {name}" for name in "requires_grad grad_dtype _backward_hooks".split())
)
_HOW = {"__get__": "get", "__set__": "set", "__delete__": "delete"}
_KNOWN: set[type] = {Tensor, Parameter}
_Builtin = type(Tensor.__torch_function__)
_GetSet = type(Tensor.shape)
# What answered, by the function or attribute and the types of all arguments: the core calls it.
# Of these types the values decide nothing about that.
_ANSWERS: dict[tuple[Any, ...], Callable[..., Any] | None] = {}
_SAID_BY_TYPE: set[type] = {int, float}


@functools.lru_cache(4096)
def _name(func: Any) -> str:
    name: str = func.__name__
    return f"{_HOW[name]} {func.__self__.__name__}" if name in _HOW else name


def _as_tensors_do(cls: type) -> bool:
    """Whether a class leaves calls to the functions that are called."""
    handler = getattr(cls, "__torch_function__", None)
    return issubclass(cls, Tensor) and isinstance(handler, _Builtin)


class SparseTensor(Tensor):
    """A tensor that keeps the places and the values of some elements; the others are zeros."""

    __module__ = "torch"

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        known = _KNOWN.issuperset(types)
        if not known and not all(t in _KNOWN or _as_tensors_do(t) for t in types):
            return NotImplemented  # another class, which is asked next
        name = _name(func)
        gets = name.startswith("get ")
        kinds = (func.__self__ if gets else func, *map(type, args))
        if name in PASSED_ON:
            if gets and known and type(kinds[0]) is _GetSet:
                _ANSWERS[kinds] = None
            before = _core.get_overrides()
            _core.set_overrides(max(before, _core.Overrides.MODES))
            try:
                return func(*args, **(kwargs or {}))
            finally:
                _core.set_overrides(before)
        why = wrong(func, args, kwargs or {}) if name in HANDLERS else None
        if why is not None:
            raise TypeError(why)
        result = answer(name, args, kwargs or {})
        if (
            known
            and not kwargs
            and (gets or " " not in name)
            and _SAID_BY_TYPE.issuperset(kinds[1:])
        ):
            _ANSWERS[kinds] = HANDLERS[name]
        if known or type(result) is not Tensor:
            return result
        return result.as_subclass(next(t for t in types if t not in _KNOWN))

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        text = str(HANDLERS["__repr__"](self))
        return f"Parameter containing:\n{text}" if getattr(self, "_is_param", False) else text

    __str__ = __repr__


_KNOWN.add(SparseTensor)
_SAID_BY_TYPE.update(_KNOWN)
_core.know_answers(SparseTensor, _ANSWERS)


def answer(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a function whose arguments are sparse, among others."""
    handler = HANDLERS.get(name)
    if handler is None:
        refuse(name, args)
    stay_here(name, *args, *kwargs.values(), device=kwargs.get("device"))
    out = kwargs.pop("out", None) if "out" in kwargs else None
    try:
        result = handler(*args, **kwargs)
    except AttributeError as error:  # an argument is no tensor, or not of the kind that it must be
        given = ", ".join(type(a).__name__ for a in (*args, *kwargs.values()))
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({given}), of which some "
            "are sparse"
        ) from error
    if out is None:
        return result
    if parts(out) is not None:
        return become(out, parts(result) if parts(result) is not None else None)
    if parts(result) is not None:
        refuse(f"{name}.out", args)
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def refuse(name: str, args: Sequence[object]) -> NoReturn:
    """Raise what a function without a handler is answered with, in PyTorch's words."""
    backend = "SparseCPU"
    for a in tree(args):
        p = parts(a)
        if p is not None and p.layout is not sparse_coo:
            backend = "SparseCsrCPU"
    name = name.removeprefix("get ").removeprefix("set ")
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend}' backend. It has no rule "
        "for sparse tensors: convert with .to_dense(), or compute with the values."
    )


def stay_here(name: str, *values: object, device: object = None) -> None:
    """Raise for a tensor that is not on the CPU, or a device that is not."""
    found = None if device is None else resolve(device)
    for v in values:
        if isinstance(v, Tensor):
            if v._accelerator is not None or v._on_meta:
                found = v.device
                break
        elif isinstance(v, (tuple, list)):
            stay_here(name, *v)
    if found is not None and found is not cpu:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the '{found.type.upper()}' backend. "
            "Sparse tensors live on the CPU here: call .cpu() first."
        )


def tree(args: Sequence[object]) -> list[Any]:
    """Arguments, and the elements of those that are lists."""
    return [x for a in args for x in (a if isinstance(a, (list, tuple)) else (a,))]


def parts(t: object) -> Any:
    """The Parts of a sparse tensor; None of anything else."""
    if not isinstance(t, Tensor):
        return None
    w = t._attached
    return w if type(w) is Parts else None


def sparse(t: object, name: str) -> Parts:
    """The Parts of a sparse tensor; raises for others, as the function `name` does."""
    p: Parts | None = parts(t)
    if p is None:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. It is for sparse "
            "tensors: convert with .to_sparse()."
        )
    return p


def coo(t: object, name: str) -> Parts:
    """The Parts of a COO tensor; raises for others, as the method `name` does."""
    p = parts(t)
    if p is None or p.layout is not sparse_coo:
        raise RuntimeError(
            f"{name} expected sparse coordinate tensor layout but got {layout_name(t)}"
        )
    return p


# ---- made


@functools.cache
def _blank(kind: rl.dtype) -> Tensor:
    """The element that stands in the memory of all sparse tensors of a type."""
    if kind.is_floating_point or kind.is_complex:
        return rl.full((), float("nan"), dtype=kind, device=cpu)
    return rl.full((), 1, dtype=kind, device=cpu)


def wrap(p: Parts) -> Any:
    """The tensor that stands for parts."""
    return _core.stand_for(SparseTensor, _blank(p.value.dtype), p.shape, Flag.TRANSFORMED, p)


def make(
    layout: _layout,
    shape: Sequence[int],
    indices: tuple[Tensor, ...],
    values: Tensor,
    coalesced: bool = False,
) -> Tensor:
    """A sparse tensor without history."""
    return wrap(Parts(layout, shape, indices, values.detach(), coalesced))


def become(t: Any, p: Any) -> Tensor:
    """Let a sparse tensor stand for other parts: what writes in place does."""
    if p is None:
        raise RuntimeError("a dense result cannot be written to a sparse tensor")
    if _core.is_grad_enabled() and t.requires_grad:
        if t.is_leaf:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
        raise NotImplementedError(
            "sparse tensors with a history are not written in place: use the function that gives a "
            "new tensor"
        )
    old = parts(t)
    if old.shape != p.shape or old.value.dtype is not p.value.dtype:
        t._wrapped = (0, None)
        t._array = _blank(p.value.dtype).expand(p.shape)
    t._wrapped = (Flag.TRANSFORMED, p)
    return t


# ---- in the graph

_Rule = Callable[[Any], Any]


class SparseNode(_core.FunctionNode):
    """The node of an op on sparse tensors: for each input a rule, or None."""

    def __init__(
        self, rules: tuple[_Rule | None, ...], needs: list[bool], masked: bool = False
    ) -> None:
        self.rules: Any = rules
        self.needs = needs
        self.masked = masked  # it reads gradients where the result has values only

    def _run_backward(self, grads: tuple[Tensor, ...]) -> tuple[object, ...]:
        if self.rules is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved "
                "tensors after they have already been freed). Saved intermediate values of the "
                "graph are freed when you call .backward() or autograd.grad(). Specify "
                "retain_graph=True if you need to backward through the graph a second time or if "
                "you need to access saved tensors after calling backward."
            )
        g = grads[0]
        return tuple(
            rule(g) if rule is not None and need and g is not None else None
            for rule, need in zip(self.rules, self.needs, strict=True)
        )

    def _release_saved(self) -> None:
        self.rules = None


@functools.cache
def _node(name: str) -> Any:
    return type(name, (SparseNode,), {"__module__": "torch.autograd.function"})


def wants(t: Any) -> bool:
    """Whether a tensor requires grad, without a question to its class."""
    return _core.gradient_edge(t) is not None if parts(t) is not None else bool(t.requires_grad)


def record(
    name: str,
    result: Tensor,
    inputs: Sequence[Any],
    rules: tuple[_Rule | None, ...],
    masked: bool | None = None,
) -> Any:
    """A fresh result, with a node where an input requires grad.

    masked: whether the rules read a gradient only where the result has values; None: they pass it
    on, so that is for the inputs to say.
    """
    needs = []
    for t in inputs:
        w = t._wrapped
        if w is not None and type(w) is not Parts:
            raise NotImplementedError(
                f"{name.removesuffix('Backward0')} of sparse tensors is not transformed by vmap, "
                "jvp or forward-mode: compute with the values, or with dense tensors."
            )
        needs.append(t.requires_grad if w is None else _core.gradient_edge(t) is not None)
    if True in needs and _core.is_grad_enabled() and result.dtype.is_differentiable:
        if masked is None:
            masked = all(is_masked(t) for t, need in zip(inputs, needs, strict=True) if need)
        node = _node(name)(rules, needs, masked)
        node._set_edges(list(inputs))
        node._attach([result], [result])
    return result


def transformed(t: Any) -> bool:
    """Whether a dense tensor stands for others in a transform."""
    w = t._wrapped
    return w is not None and type(w) is not Parts


def is_masked(t: Any) -> bool:
    """Whether of a gradient of a sparse tensor only what it has at the tensor's places is used."""
    if parts(t) is None:
        return False
    edge = _core.gradient_edge(t)
    return edge is not None and getattr(edge[0], "masked", False) is True


def named(name: str, result: Tensor) -> Tensor:
    """A result whose last node has a name."""
    p = parts(result)
    if not _core.is_grad_enabled() or not wants(result):
        return result
    cut = wrap(p) if p is not None else result.detach()
    return record(name, cut, (result,), (lambda g: g,))


def values_of(t: object) -> Tensor:
    """The values of a sparse tensor, as a function of it."""
    p = parts(t)
    if not (_core.is_grad_enabled() and wants(t)):
        return p.value
    return record("ValuesBackward0", p.value.detach(), (t,), (lambda g: at_places(p, g),))


def at_places(p: Parts, gradient: Tensor) -> Tensor:
    """The gradient of a sparse tensor, of those of its values. Values of the same index have the
    same gradient, which stands there once."""
    if p.layout is sparse_coo and not p.coalesced and p.nnz > 1:
        numbers = p.linear()
        found, first = np.unique(numbers, return_index=True)
        if len(found) < len(numbers):
            indices = integers(columns_of(p.places(), first))
            gradient = gradient.index_select(0, integers(first))
            p = Parts(sparse_coo, p.shape, (indices,), gradient.detach(), True)
    return build(p, gradient)


def build(
    p: Parts, values: Tensor, name: str = "SparseCooTensorWithDimsAndTensorsBackward0"
) -> Tensor:
    """The sparse tensor of other values at the same places, as a function of them."""
    return of_parts(p.like(values.detach()), values, name)


def of_parts(p: Parts, values: Tensor, name: str) -> Tensor:
    """The sparse tensor of parts, as a function of the values that it has without history."""
    return record(name, wrap(p), (values,), (lambda g: values_at(g, p),), True)


def placed(
    values: Tensor,
    shape: Sequence[int],
    places: Any,
    name: str = "SparseCooTensorWithDimsAndTensorsBackward0",
    coalesced: bool = False,
) -> Any:
    """The COO tensor of values, as a function of them; places: an array with a column for each."""
    p = Parts(sparse_coo, shape, (integers(places),), values.detach(), coalesced)
    return of_parts(p, values, name)


def values_at(g: Any, p: Parts) -> Tensor:
    """The values of a tensor, dense or sparse, at the places of a sparse tensor."""
    q = parts(g)
    if q is not None:
        if q.layout is p.layout and all(map(_same, q.indices, p.indices)):
            return values_of(g)
        if p.layout in BLOCKED or q.layout in BLOCKED:
            return values_at(HANDLERS["to_dense"](g), p)
        if q.layout is not sparse_coo or not q.coalesced:
            if q.layout is not sparse_coo:
                g = HANDLERS["to_sparse"](g)
            g = HANDLERS["coalesce"](g)
            q = parts(g)
        if q.n_sparse != len(p.outer):
            return values_at(HANDLERS["to_dense"](g), p)
        return _unflat(looked_up(values_of(g), q.linear(), p.linear()), p)
    rows, columns = p.block
    if p.layout in BLOCKED:
        b = p.n_batch
        outer, dense = p.outer, p.shape[b + 2 :]
        g = g.reshape(*outer[:b], outer[b], rows, outer[b + 1], columns, *dense)
        g = g.transpose(b + 1, b + 2)
        rest = (rows, columns, *dense)
    else:
        rest = tuple(p.shape[len(p.outer) :])
    flat = g.reshape(int(np.prod(p.outer)), *rest)
    return _unflat(flat.index_select(0, integers(p.linear())), p)


def _same(a: Tensor, b: Tensor) -> bool:
    return a is b or (a.shape == b.shape and np.array_equal(a._array, b._array))


def _unflat(values: Tensor, p: Parts) -> Tensor:
    """Values in the shape that those of `p` have."""
    shape = (*p.value.shape[: p.n_batch + 1], *values.shape[1:])
    return values.reshape(shape) if p.n_batch else values


def looked_up(values: Tensor, have: Any, asked: Any) -> Tensor:
    """Of values with the sorted numbers `have`, those with the numbers `asked`; zeros where there
    are none."""
    if not len(have):
        return values.new_zeros((len(asked), *values.shape[1:]))
    at = np.minimum(np.searchsorted(have, asked), len(have) - 1)
    found = values.index_select(0, integers(at))
    hit = have[at] == asked
    if hit.all():
        return found
    miss = rl.from_numpy(~hit).reshape(-1, *[1] * (values.ndim - 1))
    return found.masked_fill(miss, 0)


# ---- where nobody is asked


class SparseLevel(Level):
    """Older than all transforms, and never left."""

    __slots__ = ()
    name = "sparse"
    differentiates = False
    wrapper_name = "SparseTensorImpl"

    def __init__(self) -> None:
        super().__init__()
        self.number = 0.5  # type: ignore[assignment]  # below that of any transform
        self.active = True

    def call(self, op: Op, args: Sequence[Any]) -> Any:
        name = op.__name__
        if name == "add" and parts(args[1]) is None:  # gradients have no order
            args = (args[1], args[0], *args[2:])
        return answer(name, args, {})

    def in_place(self, op: Op, args: Sequence[Any]) -> Any:
        return answer(op.base.__name__ + "_", args, {})

    def function(self, cls: Any, args: Sequence[Any]) -> Tensor:
        return cls._run(args)[1]

    def backward(
        self, roots: Any, gradients: Any, retain: bool, create_graph: bool, inputs: Any
    ) -> Any:
        roots = tuple(map(_as_edge, roots))
        if inputs is not None:
            inputs = tuple(map(_as_edge, inputs))
        return _core.run_backward(roots, gradients, retain, create_graph, inputs)

    def grad_fn(self, t: Any) -> Any:
        edge = _core.gradient_edge(t)
        return None if edge is None or isinstance(edge[0], _core.AccumulateGrad) else edge[0]

    def array(self, t: Any) -> Any:
        raise RuntimeError(
            "Cannot access data pointer of Tensor that doesn't have storage. It is sparse: use "
            ".to_dense(), or the arrays of its indices and values."
        )

    def item(self, t: Any, refusal: str) -> Any:
        if t.numel() != 1:
            raise RuntimeError(f"a Tensor with {t.numel()} elements cannot be converted to Scalar")
        return HANDLERS["to_dense"](t).detach()

    def data(self, w: Any) -> Tensor:
        return wrap(w.like(w.value.data))

    def detach(self, w: Any) -> Tensor:
        return wrap(w.like(w.value))

    def set_requires_grad(self, w: Any, on: bool) -> None:
        pass  # the tensor is the variable itself


def _as_edge(t: Tensor) -> Any:
    if parts(t) is None:
        return t
    edge = _core.gradient_edge(t)
    if edge is None:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    return edge


LEVEL = SparseLevel()
