"""vmap: what an op does when dimension 0 of some arguments is a batch that the
program does not see.

A rule gets the op, its arguments as the program gave them (wrapped ones included) and the level.
Rules come in families, by what the op does with dimensions:

- pointwise: dimensions are aligned from the right, behind the batch.
- shifted: the op names its dimensions by `dim`, `shape`, ...: each moves by one.
- trailing: the op only looks at the last dimensions; the batch is one more leading one.
- folded: dimension 0 is a batch already; the two become one.
- composed: the result in terms of other ops on the wrapped tensors (`_batching_rules.py`).

What has no rule runs once for each element, with a warning the first time; `unbatched_ops` lists
those ops.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from .. import _core
from ..autograd import _levels as levels
from ..autograd._levels import Batch, Level, batch
from ..ops.table.statement import OPS, namespace

__all__ = ["RULES", "unbatched_ops"]

_Tensor = _core.Tensor
_call = _core.call_op
_T = namespace("torch")

Rule = Callable[[Any, Any, Level], Any]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorator: the batching rule of the ops of these names."""

    def enter(f: Rule) -> Rule:
        for name in names:
            RULES[name] = f
        return f

    return enter


def _batch_call(op: Any, slots: Any, level: Level) -> Any:
    entry = op.entry
    found = RULES.get(entry.name)
    if found is None:
        found = RULES[entry.name] = pointwise if entry.kind == "pointwise" else looped
    return found(op, slots, level)


# ---- what rules are made of


def inner(t: Any, level: Level) -> Any:
    """The batched value of a tensor of this level, else None."""
    if not isinstance(t, _Tensor):
        return None
    w = t._wrapped
    return w.value if w is not None and w.level is level else None


def spread(t: Any, level: Level) -> Any:
    """The value with the batch as dimension 0, expanded where it had none."""
    value = inner(t, level)
    return t.expand(level.size, *t.shape) if value is None else value


def wrap(out: Any, level: Level) -> Any:
    """A result (or several) whose dimension 0 is the batch."""
    if isinstance(out, _Tensor):
        return batch(level, out)
    if out is None:
        return None
    wrapped = tuple(wrap(o, level) for o in out)
    return wrapped if type(out) in (tuple, list) else type(out)(wrapped)


def normal(dim: int, ndim: int) -> int:
    """A dimension the program named, counted from the front; torch's error where there is none."""
    n = max(ndim, 1)
    if not -n <= dim < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
        )
    return dim % n


# ---- pointwise


def pointwise(op: Any, slots: Any, level: Level) -> Any:
    values = list(slots)
    ndim = 0
    batched = []
    low = False
    for i, a in enumerate(slots):
        if isinstance(a, _Tensor):
            n = a.ndim
            if n > ndim:
                ndim = n
            w = a._wrapped
            if w is not None and w.level is level:
                batched.append(i)
                values[i] = w.value
                low = low or n == 0
    if low and len(values) > 1:
        _same_types(slots, values, batched)
    for i in batched:
        n = slots[i].ndim
        if n < ndim:
            v = values[i]
            values[i] = v.reshape(v.shape[:1] + (1,) * (ndim - n) + v.shape[1:])
    return batch(level, _call(op, values))


def pointwise_results(op: Any, slots: Any, level: Level) -> Any:
    """An op of one tensor that is pointwise though it is not said to be;
    it may have several results."""
    values = [spread(a, level) if isinstance(a, _Tensor) else a for a in slots]
    return wrap(_call(op, values), level)


def _same_types(slots: Any, values: list[Any], batched: list[int]) -> None:
    """A batched number has a dimension, but is to count as a number when types are promoted."""
    tensors = [i for i, a in enumerate(slots) if isinstance(a, _Tensor)]
    numbers = [a for a in slots if type(a) in (int, float, complex)]
    if len(tensors) < 2 and not numbers:
        return
    wanted = _core.result_type(tuple(slots[i] for i in tensors) + tuple(numbers))
    if wanted is _core.result_type(tuple(values[i] for i in tensors) + tuple(numbers)):
        return
    for i in batched:
        v = values[i]
        if v.dtype is not wanted and v.dtype.category == wanted.category:
            values[i] = v.to(wanted)


# ---- shifted


def _shifted_dim(d: Any, ndim: int) -> Any:
    return normal(d, ndim) + 1


def _reduction(full: str | None = None, dim: str = "dim") -> Rule:
    """An op that reduces `dim`: an int, several, or all (None or ())."""

    def reduce(op: Any, slots: Any, level: Level) -> Any:
        values = list(slots)
        x = slots[0]
        value = inner(x, level)
        at = op.params.index(dim)
        d, n = slots[at], x.ndim
        if n == 0:
            if d is not None and d != ():
                for one in d if isinstance(d, (tuple, list)) else (d,):
                    normal(one, 0)
            value, d = value.unsqueeze(1), (1,) if isinstance(d, (tuple, list)) or d is None else 1
            if "keepdim" in op.params:
                values[op.params.index("keepdim")] = False
        elif d is None or d == ():
            d = tuple(range(1, n + 1))
        elif isinstance(d, (tuple, list)):
            d = tuple(_shifted_dim(i, n) for i in d)
        else:
            d = _shifted_dim(d, n)
        values[0], values[at] = value, d
        return wrap(_call(OPS[full].function if full else op, values), level)

    return reduce


for _name, _full in {
    "sum": "_sum_dims",
    "_sum_dims": None,
    "mean": "_mean_dims",
    "_mean_dims": None,
    "nansum": None,
    "_var": None,
    "_std": None,
    "_var_mean": None,
    "_std_mean": None,
    "amax": None,
    "amin": None,
    "logsumexp": None,
    "_vector_norm": None,
    "_distance_norm": None,
    "any": None,
    "all": None,
    "count_nonzero": None,
}.items():
    RULES[_name] = _reduction(_full)


def _one_dim(reduce_all: str | None = None) -> Rule:
    """An op that reduces one dimension, or (None) all of them as one row."""

    def reduce(op: Any, slots: Any, level: Level) -> Any:
        values = list(slots)
        x = slots[0]
        value = inner(x, level)
        at = op.params.index("dim")
        keep = op.params.index("keepdim") if "keepdim" in op.params else None
        n, keepdim = x.ndim, keep is not None and bool(slots[keep])
        whole = slots[at] is None
        if whole or n == 0:
            if not whole:
                normal(slots[at], 0)
            value, d = value.reshape(level.size, -1 if level.size else math.prod(x.shape)), 1
            if keep is not None:
                values[keep] = False
        else:
            d = _shifted_dim(slots[at], n)
        values[0], values[at] = value, d
        target = OPS[reduce_all].function if reduce_all else op
        out = _call(target, values)
        if whole and keepdim and n:
            out = _reshaped(out, (level.size, *(1,) * n))
        return wrap(out, level)

    return reduce


def _reshaped(out: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(out, _Tensor):
        return out.reshape(shape)
    return type(out)(tuple(o.reshape(shape) for o in out))


for (
    _name
) in "argmax argmin kthvalue mode _max_dim _min_dim _median_dim _nanmedian_dim aminmax".split():
    RULES[_name] = _one_dim()
RULES["prod"] = RULES["_prod_dim"] = _one_dim("_prod_dim")


def _all_as_row(target: str, pick: int | None = None) -> Rule:
    """An op of all elements: the op `target` along one row for each element of the batch."""

    def reduce(op: Any, slots: Any, level: Level) -> Any:
        value = inner(slots[0], level)
        out = OPS[target].function(value.reshape(level.size, math.prod(slots[0].shape)), 1)
        return wrap(out if pick is None else out[pick], level)

    return reduce


RULES["_max_all"] = _all_as_row("amax")
RULES["_min_all"] = _all_as_row("amin")
RULES["_median_all"] = _all_as_row("_median_dim", 0)
RULES["_nanmedian_all"] = _all_as_row("_nanmedian_dim", 0)

_DIMS = frozenset("dim dim0 dim1 dim2 dims dimension".split())
_SHAPES = frozenset(["shape"])


def _along(*, keeps_number: bool = True) -> Rule:
    """An op along dimensions it names; every tensor argument has the batch in front."""

    def shift(op: Any, slots: Any, level: Level) -> Any:
        values = list(slots)
        tensors = [i for i, a in enumerate(slots) if isinstance(a, _Tensor)]
        n = slots[tensors[0]].ndim
        scalar = n == 0 and keeps_number
        for i in tensors:
            v = spread(slots[i], level)
            values[i] = v.unsqueeze(1) if scalar and v.ndim == 1 else v
        for i, name in enumerate(op.params):
            a = slots[i]
            if name == "dims" and a is None:
                values[i] = (1, 2)
            elif name in _DIMS and a is not None:
                if isinstance(a, (tuple, list)):
                    values[i] = tuple(_shifted_dim(d, n) for d in a)
                else:
                    values[i] = _shifted_dim(a, n)
            elif name in _SHAPES and a is not None:
                values[i] = (level.size, *a)
        out = _call(op, values)
        if scalar:
            squeezed = [o.squeeze(1) for o in (out if not isinstance(out, _Tensor) else (out,))]
            out = squeezed[0] if isinstance(out, _Tensor) else type(out)(squeezed)
        return wrap(out, level)

    return shift


_ALONG = """
    softmax log_softmax _softmax_as _log_softmax_as glu cumsum cumprod cummax cummin logcumsumexp
    _sort _stable_sort topk gather _scatter _scatter_zero _scatter_value scatter_add scatter_reduce
    flip rot90 select_scatter slice_scatter diagonal_scatter transpose _slice _split
    split_with_sizes unfold
    _transpose_in_place _squeeze_dims _squeeze_dim _squeeze_dim_in_place _squeeze_dims_in_place
"""
_ALONG_SHAPED = "_gather_backward _slice_backward _select_backward _unfold_backward"
for _name in _ALONG.split():
    if _name in OPS:
        RULES[_name] = _along()


@rule(*_ALONG_SHAPED.split())
def _into_zeros(op: Any, slots: Any, level: Level) -> Any:
    """Ops that write into zeros of a shape: their dimensions are those of the shape."""
    values = list(slots)
    n = len(slots[op.params.index("shape")])
    for i, name in enumerate(op.params):
        a = slots[i]
        if isinstance(a, _Tensor):
            values[i] = spread(a, level)
        elif name in _DIMS:
            values[i] = _shifted_dim(a, n)
        elif name == "shape":
            values[i] = (level.size, *a)
    return wrap(_call(op, values), level)


@rule("select", "unbind")
def _select(op: Any, slots: Any, level: Level) -> Any:
    at = op.params.index("dim")
    n = slots[0].ndim
    values = [inner(slots[0], level), *slots[1:]]
    if n == 0:
        return _call(op, [_T["zeros"](()), *slots[1:]])  # raises
    values[at] = _shifted_dim(slots[at], n)
    return wrap(_call(op, values), level)


@rule("diagonal", "_diagonal_backward")
def _diagonal(op: Any, slots: Any, level: Level) -> Any:
    values = list(slots)
    values[0] = inner(slots[0], level)
    n = slots[0].ndim
    if "shape" in op.params:
        at = op.params.index("shape")
        n, values[at] = len(slots[at]), (level.size, *slots[at])
    for name in ("dim1", "dim2"):
        at = op.params.index(name)
        values[at] = _shifted_dim(slots[at], n)
    return wrap(_call(op, values), level)


@rule("diag_embed")
def _diag_embed(op: Any, slots: Any, level: Level) -> Any:
    values = [inner(slots[0], level), *slots[1:]]
    n = slots[0].ndim + 1
    for at in (2, 3):
        values[at] = _shifted_dim(slots[at], n)
    return wrap(_call(op, values), level)


@rule("unsqueeze", "_unsqueeze_in_place")
def _unsqueeze(op: Any, slots: Any, level: Level) -> Any:
    n = slots[0].ndim + 1
    return wrap(_call(op, [inner(slots[0], level), _shifted_dim(slots[1], n)]), level)


@rule("_squeeze", "_squeeze_in_place")
def _squeeze(op: Any, slots: Any, level: Level) -> Any:
    dims = tuple(i + 1 for i, n in enumerate(slots[0].shape) if n == 1)
    return wrap(OPS["_squeeze_dims"].function(inner(slots[0], level), dims), level)


@rule("_set_away")
def _set_away(op: Any, slots: Any, level: Level) -> Any:
    values = [spread(t, level) for t in slots[:2]]
    return wrap(_call(op, [*values, (level.size, *slots[2])]), level)


@rule("t", "_t_in_place")
def _t(op: Any, slots: Any, level: Level) -> Any:
    value, n = inner(slots[0], level), slots[0].ndim
    if n > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {n}D")
    return wrap(value.transpose(1, 2) if n == 2 else OPS["alias"].function(value), level)


@rule("permute", "_permute_back")
def _permute(op: Any, slots: Any, level: Level) -> Any:
    x, dims = slots
    if len(dims) != x.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {x.ndim} is not "
            f"equal to len(dims) = {len(dims)}"
        )
    return wrap(_call(op, [inner(x, level), (0, *(_shifted_dim(d, x.ndim) for d in dims))]), level)


@rule("view", "_unsafe_view", "_reshape_alias")
def _view(op: Any, slots: Any, level: Level) -> Any:
    x, size = slots
    value = inner(x, level)
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    if len(size) == 1 and not isinstance(size[0], int):
        return wrap(_call(op, [value, size]), level)  # another dtype
    return wrap(_call(op, [value, (level.size, *_sizes(x, size))]), level)


def _sizes(x: Any, size: Any) -> tuple[int, ...]:
    """The sizes with -1 worked out; torch's error where they do not fit."""
    known = 1
    unknown = -1
    for i, n in enumerate(size):
        if n == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        else:
            known *= n
    total = math.prod(x.shape)
    fits = known == total if unknown < 0 else known and total % known == 0
    if not fits:
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {total}")
    if unknown < 0:
        return tuple(size)
    return (*size[:unknown], total // known, *size[unknown + 1 :])


@rule("expand")
def _expand(op: Any, slots: Any, level: Level) -> Any:
    x, size = slots[0], slots[1]
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    value, more = inner(x, level), len(size) - x.ndim
    if more > 0:
        value = value.reshape(value.shape[:1] + (1,) * more + value.shape[1:])
    return wrap(_call(op, [value, (level.size, *size), *slots[2:]]), level)


@rule("sum_to")
def _sum_to(op: Any, slots: Any, level: Level) -> Any:
    x, shape = slots
    value, more = inner(x, level), x.ndim - len(shape)
    if more > 0:
        value = value.sum(tuple(range(1, more + 1)))
    return wrap(_call(op, [value, (level.size, *shape)]), level)


@rule("repeat")
def _repeat(op: Any, slots: Any, level: Level) -> Any:
    x, times = slots
    if len(times) == 1 and isinstance(times[0], (tuple, list)):
        times = times[0]
    value, more = inner(x, level), len(times) - x.ndim
    if more > 0:
        value = value.reshape(value.shape[:1] + (1,) * more + value.shape[1:])
    return wrap(_call(op, [value, (1, *times)]), level)


@rule("roll")
def _roll(op: Any, slots: Any, level: Level) -> Any:
    x, shifts, dims = slots
    value = inner(x, level)
    if dims is None or dims == ():
        flat = value.reshape(level.size, math.prod(x.shape))
        return wrap(_call(op, [flat, shifts, 1]).reshape(value.shape), level)
    one = isinstance(dims, int)
    moved = _shifted_dim(dims, x.ndim) if one else tuple(_shifted_dim(d, x.ndim) for d in dims)
    return wrap(_call(op, [value, shifts, moved]), level)


@rule("_spread")
def _spread_rule(op: Any, slots: Any, level: Level) -> Any:
    x, shape, dim, keepdim = slots
    value, n = inner(x, level), len(shape)
    dims = range(n) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
    lost = sorted(d % n for d in dims) if n else []
    if not keepdim:
        for d in lost:
            value = value.unsqueeze(d + 1)
    return wrap(value.expand(level.size, *shape), level)


@rule("cat")
def _cat(op: Any, slots: Any, level: Level) -> Any:
    tensors, dim = slots
    # torch lets old empty tensors of one dimension be joined with anything.
    kept = [t for t in tensors if t.shape != (0,)] or list(tensors)
    n = kept[0].ndim
    return wrap(_call(op, [[spread(t, level) for t in kept], _shifted_dim(dim, n)]), level)


@rule("stack")
def _stack(op: Any, slots: Any, level: Level) -> Any:
    tensors, dim = slots
    moved = _shifted_dim(dim, tensors[0].ndim + 1)
    return wrap(_call(op, [[spread(t, level) for t in tensors], moved]), level)


# ---- trailing


def trailing(op: Any, slots: Any, level: Level) -> Any:
    """Every tensor has the batch in front; the op looks at the last dimensions only."""
    values = [spread(a, level) if isinstance(a, _Tensor) else a for a in slots]
    return wrap(_call(op, values), level)


_TRAILING = """
    alias clone _contiguous_copy _to_copy _to_device _conj _neg_view
    view_as_real view_as_complex complex polar
    tril triu inv det _linalg_slogdet _slogdet cholesky _cholesky _qr _eigh _eig _svd matrix_exp
    _lu_factor cholesky_solve constant_pad_nd _zeroed _overwrite_number solve_triangular
    _triangular_solve _pixel_shuffle _pixel_unshuffle mvlgamma pinv
"""
for _name in _TRAILING.split():
    if _name in OPS:
        RULES[_name] = trailing
for _name in "_divided frexp".split():
    if _name in OPS:
        RULES[_name] = pointwise_results


# ---- folded


def folded(op: Any, slots: Any, level: Level) -> Any:
    """Dimension 0 of the first argument is a batch already: both become one."""
    x = slots[0]
    value = spread(x, level)
    n = x.shape[0]
    values = [value.flatten(0, 1), *slots[1:]]
    for i, name in enumerate(op.params):
        if name == "shape" and i:
            values[i] = (level.size * slots[i][0], *slots[i][1:])
        elif i and isinstance(slots[i], _Tensor):
            values[i] = spread(slots[i], level).flatten(0, 1)
    out = _call(op, values)
    if isinstance(out, _Tensor):
        return wrap(out.unflatten(0, (level.size, n)), level)
    return wrap(tuple(o.unflatten(0, (level.size, n)) for o in out), level)


def _is_spatial(name: str) -> bool:
    return name.startswith(
        ("_max_pool", "_avg_pool", "_adaptive_", "_lp_pool", "_upsample_", "_reflect_pad",
         "_replicate_pad", "_circular_pad", "_im2col", "_col2im", "_pool_", "_channel_shuffle",
         "_to_format")
    )  # fmt: skip


def register_spatial() -> None:
    """Ops on (N, C, ...) whose N is a batch."""
    for name in OPS:
        if _is_spatial(name) and name not in RULES:
            RULES[name] = folded


register_spatial()


# ---- one by one

_warned: set[str] = set()


def warn_of_loop(name: str) -> None:
    """Say once that an op runs once for each element."""
    if name not in _warned:
        _warned.add(name)
        warnings.warn(
            "There is a performance drop because we have not yet implemented the batching rule "
            f"for {name}: it runs once for each element of the batch.",
            UserWarning,
            stacklevel=5,
        )


def looped(op: Any, slots: Any, level: Level) -> Any:
    """The last resort: the op once for each element."""
    name = op.entry.name
    warn_of_loop(name)
    if not level.size:
        raise RuntimeError(f"vmap: {name} cannot be mapped over a dimension of size 0")

    def element(a: Any, i: int) -> Any:
        if isinstance(a, (list, tuple)) and a and isinstance(a[0], _Tensor):
            return [element(x, i) for x in a]
        value = inner(a, level)
        return a if value is None else value[i]

    results = [_call(op, [element(a, i) for a in slots]) for i in range(level.size)]
    if isinstance(results[0], _Tensor):
        return wrap(_stacked(name, results), level)
    columns = [_stacked(name, list(c)) for c in zip(*results, strict=True)]
    kind = type(results[0])
    return wrap(tuple(columns) if kind in (tuple, list) else kind(tuple(columns)), level)


def _stacked(name: str, rows: list[Any]) -> Any:
    if any(r.shape != rows[0].shape for r in rows):
        k = next(k for k, r in enumerate(rows) if r.shape != rows[0].shape)
        raise RuntimeError(
            f"stack expects each tensor to be equal size, but got {list(rows[0].shape)} at entry "
            f"0 and {list(rows[k].shape)} at entry {k}. Under vmap the result of {name} must have "
            "one shape for all elements of the batch."
        )
    return _T["stack"](rows)


def unbatched_ops() -> list[str]:
    """The ops that vmap still runs once for each element of the batch, as PyTorch does too.

    Of the functions among them (those that are Python over other ops), only the calls that decide
    by values: `embedding_bag` with mode='max' or a padding_idx, `lstsq` with another driver.

    >>> "histc" in unbatched_ops()
    True
    """
    ops = [
        name
        for name, e in OPS.items()
        if e.kind not in ("composite", "pointwise") and RULES.get(name, looped) is looped
    ]
    return ops + sorted(BY_ELEMENT)


BY_ELEMENT: set[str] = set()
"""Functions over ops that run once for each element when they ask for values (`_composites`)."""


# ---- in place


def _reads_itself(entry: Any) -> bool:
    """Whether a gradient rule of an op asks for its first argument."""
    return any(source == (0, 0) for rule in entry.rules for source in rule.sources)


_ARITHMETIC = frozenset(
    "clamp_max clamp_min copy div logical_and logical_or logical_xor mul sub".split()
)
_BROADCAST = frozenset(
    "add arctan2 atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor "
    "copysign gcd lcm".split()
)
_BY_THEIR_NAME = frozenset("fill index_fill index_put index_add scatter_add scatter_reduce".split())


def _refuse_write(op: Any, slots: Any, level: Level) -> None:
    """torch's words for a write of what differs from element to element to what does not."""
    name = levels.public_name(op.__name__)[:-1]
    if name in _BROADCAST:
        shape = list(slots[0].shape)
        raise RuntimeError(
            f"output with shape {shape} doesn't match the broadcast shape {[level.size, *shape]}. "
            "Under vmap the written tensor is one that all elements share: make it from one that "
            f"differs (zeros_like), or use {name} in place of {name}_."
        )
    if name in _ARITHMETIC or (name == "masked_fill" and inner(slots[1], level) is not None):
        what = "inplace arithmetic"
    else:
        what = f"{name}_" if name in _BY_THEIR_NAME else f"aten::{name}_"
    raise RuntimeError(
        f"vmap: {what}(self, *extra_args) is not possible because there exists a Tensor `other` in "
        "extra_args that has more elements than `self`. This happened due to `other` being vmapped "
        "over but `self` not being vmapped over in a vmap. Please try to use out-of-place "
        f"operators instead of {what}. If said operator is being called inside the PyTorch "
        "framework, please file a bug report instead."
    )


def _batch_in_place(op: Any, slots: Any, level: Level) -> Any:
    self = slots[0]
    value = inner(self, level)
    if value is None:
        if not levels.all_alike(slots, level):
            _refuse_write(op, slots, level)
        if not levels.made_since(self, level):
            _call(op, [_element_of_all(a, level) for a in slots])
            return self
        _let_have_batch(self, level)
        value = inner(self, level)
    self._wrapped.alike = self._wrapped.alike and levels.all_alike(slots, level)
    if (
        _core.is_grad_enabled()
        and _reads_itself(op.base.entry)
        and any(isinstance(a, _Tensor) and levels.needs_grad(a) for a in slots)
    ):
        # A rule saves the values that are about to be overwritten.
        slots = [batch(level, value.clone()), *slots[1:]]
    result = _call(op.base, slots)
    if result._seen.shape != self._seen.shape:
        raise RuntimeError(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}"
        )
    if not _core.can_cast(result.dtype.code, self.dtype.code):
        raise RuntimeError(
            f"result type {result.dtype.scalar_name} can't be cast to the desired output type "
            f"{self.dtype.scalar_name}"
        )
    value.copy_(spread(result, level))
    levels.show_history(self, value.requires_grad)
    return self


def _element_of_all(a: Any, level: Level) -> Any:
    """An argument as it is outside of a vmap, whose elements are the same for all."""
    if levels.has_tensors(a):
        return [_element_of_all(x, level) for x in a]
    return a if inner(a, level) is None else levels.one_of(a)


def _let_have_batch(self: Any, level: Level) -> None:
    """A tensor that was made inside gets a batch of the same elements."""
    if self._wrapped is None:
        _core.check_in_place(self, _core.is_grad_enabled() and self.requires_grad)

    def with_copies(inside: Any) -> Any:
        return batch(level, levels.copies(inside, level.size), True)

    levels.take_part(self, level, with_copies)


Batch.call = staticmethod(_batch_call)
Batch.in_place = staticmethod(_batch_in_place)
