"""Attention with a function of the program's own for scores and masks.

A `mask_mod(batch, head, q, k)` says which places may be seen, a `score_mod(score, batch, head, q,
k)` changes scores; both are written for numbers and mapped over all places. A `BlockMask` keeps
which blocks of places are to be computed; here the scores are computed as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ... import _root as rl
from ..._base import dtypes
from ..._base.device import DeviceLike
from ..._base.missing import missing_name as _missing_name
from ..._core import Tensor
from ...func import vmap

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_MaskMod: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
FlexKernelOptions = dict[str, Any]
_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """Further values that `flex_attention` is asked for."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """Further values that `flex_attention` gave."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Every place may be seen."""
    return rl.ones((), dtype=dtypes.bool)


def and_masks(*mask_mods: _MaskMod) -> _MaskMod:
    """A mask of the places that all masks let be seen."""

    def every(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        seen = rl.ones((), dtype=dtypes.bool)
        for mask in mask_mods:
            seen = seen & mask(b, h, q, k)
        return seen

    return every


def or_masks(*mask_mods: _MaskMod) -> _MaskMod:
    """A mask of the places that some mask lets be seen."""

    def some(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        seen = rl.zeros((), dtype=dtypes.bool)
        for mask in mask_mods:
            seen = seen | mask(b, h, q, k)
        return seen

    return some


def _over_places(function: Callable[..., Tensor], scores: bool) -> Callable[..., Tensor]:
    """A function of one place over (batch, head, q, k); `scores`: it has a score first."""
    for axis in (3, 2, 1, 0):
        dims = [None] * 4
        dims[axis] = 0  # type: ignore[call-overload]
        function = vmap(function, in_dims=((0, *dims) if scores else tuple(dims)))
    return function


def _places(*sizes: int) -> list[Tensor]:
    return [rl.arange(n) for n in sizes]


def create_mask(
    mod_fn: Callable[..., Tensor],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: DeviceLike | None = None,
) -> Tensor:
    """The mask as a tensor (B, H, Q_LEN, KV_LEN) of bool; None stands for 1."""
    sizes = B or 1, H or 1, Q_LEN, KV_LEN
    with rl.no_grad():
        found = _over_places(mod_fn, False)(*_places(*sizes))
    return found.to(dtypes.bool).expand(sizes)


class BlockMask:
    """Which blocks of a mask are to be computed, and the mask.

    seq_lengths: of queries and keys. kv_num_blocks (B, H, rows): how many blocks of keys each row
    of blocks sees in part; kv_indices (B, H, rows, columns): those first. full_*: those seen whole.
    """

    dq_kv_order: Tensor | None
    dq_kv_order_spt: Tensor | None
    dq_write_order: Tensor | None
    dq_write_order_full: Tensor | None
    full_kv_indices: Tensor | None
    full_kv_num_blocks: Tensor | None
    full_q_indices: Tensor | None
    full_q_num_blocks: Tensor | None
    kv_indices: Tensor
    kv_num_blocks: Tensor
    q_indices: Tensor | None
    q_num_blocks: Tensor | None
    seq_lengths: tuple[int, int]

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (128, 128),
        mask_mod: _MaskMod = noop_mask,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | None = None,
        dq_kv_order_spt: Tensor | None = None,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.dq_write_order, self.dq_write_order_full = dq_write_order, dq_write_order_full
        self.dq_kv_order, self.dq_kv_order_spt = dq_kv_order, dq_kv_order_spt

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = 128,
        mask_mod: _MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Any = None,
    ) -> BlockMask:
        """The mask of the blocks of keys that each row of blocks sees."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided")
        sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            rows, columns = kv_indices.shape[-2:]
            seq_lengths = (rows * sizes[0], columns * sizes[1])
        kv = (kv_num_blocks, kv_indices)
        full: Any = (full_kv_num_blocks, full_kv_indices)
        queries: Any = (None,) * 4
        if compute_q_blocks:
            whole = (None, None) if full_kv_indices is None else _transposed(*full)
            queries = (*_transposed(*kv), *whole)
        mask = mask_mod or noop_mask
        return cls(
            *(seq_lengths, *kv, *full, *queries, sizes, mask),
            dq_write_order=dq_write_order,
            dq_write_order_full=dq_write_order_full,
            dq_kv_order=dq_kv_order if isinstance(dq_kv_order, rl.Tensor) else None,
        )

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """The parts, in the order in which the class takes them; the sizes one by one."""
        sizes: Any = (*self.seq_lengths,) if flatten else (self.seq_lengths,)
        blocks: Any = (*self.BLOCK_SIZE,) if flatten else (self.BLOCK_SIZE,)
        kv = (self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices)
        q = (self.q_num_blocks, self.q_indices, self.full_q_num_blocks, self.full_q_indices)
        dq = (self.dq_write_order, self.dq_write_order_full)
        orders = (*dq, self.dq_kv_order, self.dq_kv_order_spt)
        return (*sizes, *kv, *q, *orders, *blocks, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, queries, keys)."""
        return (*self.kv_num_blocks.shape[:2], *self.seq_lengths)

    def numel(self) -> int:
        """How many places the mask has."""
        return math.prod(self.shape)

    def to_dense(self) -> Tensor:
        """(B, H, rows, columns) of int: 1 where a block is seen."""
        dense = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            dense = dense + _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return dense

    def sparsity(self) -> float:
        """How much need not be computed, in percent."""
        area = self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - int(self.to_dense().sum()) * area / self.numel())

    def to(self, device: DeviceLike) -> BlockMask:
        """The same mask: there is one device."""
        return self

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def _dense(counts: Tensor, indices: Tensor) -> Tensor:
    columns = indices.shape[-1]
    used = rl.arange(columns) < counts.unsqueeze(-1)
    dense = rl.zeros(indices.shape, dtype=dtypes.int32)
    return dense.scatter_add(-1, indices.to(dtypes.int64), used.to(dtypes.int32))


def _transposed(counts: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """The blocks of queries that see each column of blocks."""
    return _ordered(_dense(counts, indices).transpose(-2, -1))


def _ordered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many are true in each row, and the columns with those first."""
    indices = rl.argsort(blocks.to(dtypes.int32), dim=-1, descending=True, stable=True)
    return blocks.sum(-1, dtype=dtypes.int32), indices.to(dtypes.int32)


def create_block_mask(
    mask_mod: _MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: DeviceLike | None = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """The blocks that a mask sees, in part or whole."""
    sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, columns = (-(-n // size) for n, size in zip((Q_LEN, KV_LEN), sizes, strict=True))
    padded = rl.zeros(*mask.shape[:2], rows * sizes[0], columns * sizes[1], dtype=dtypes.bool)
    padded[..., :Q_LEN, :KV_LEN] = mask
    blocks = padded.reshape(*mask.shape[:2], rows, sizes[0], columns, sizes[1])
    seen = blocks.sum((3, 5))
    whole = seen == sizes[0] * sizes[1]
    if not separate_full_blocks:
        parts: tuple[Any, Any, Any, Any] = (*_ordered(seen > 0), None, None)
    else:
        parts = (*_ordered((seen > 0) & ~whole), *_ordered(whole))
    return BlockMask.from_kv_blocks(*parts, sizes, mask_mod, (Q_LEN, KV_LEN))


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Tensor] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention whose scores `score_mod` changes and whose mask is `block_mask`'s.

    query (B, Hq, L, E), key (B, H, S, E), value (B, H, S, Ev), with H = Hq unless enable_gqa.
    scale: 1 / sqrt(E) if not given. A query that sees nothing gives zeros. return_lse: also the
    logarithm of the sum of each row's exponentials, (B, Hq, L).
    """
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.ndim != 4:
            raise ValueError(f"NYI: query, key, and value must be 4D tensors; {name} is not.")
    heads, kv_heads = query.shape[1], key.shape[1]
    if heads != kv_heads:
        if not enable_gqa:
            raise ValueError(
                f"Expect query and key/value to have the same number of heads but got Hq={heads} "
                f"and Hkv={kv_heads}. Try setting enable_gqa=True for GQA."
            )
        key, value = (t.repeat_interleave(heads // kv_heads, 1) for t in (key, value))
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = (query @ key.transpose(-2, -1)) * scale
    if score_mod is not None:
        scores = _over_places(score_mod, True)(scores, *_places(*scores.shape))
    if block_mask is not None:
        b, h = block_mask.shape[:2]
        seen = create_mask(block_mask.mask_mod, b, h, *scores.shape[-2:])
        scores = scores.masked_fill(~seen, -math.inf)
    highest = scores.detach().amax(-1, keepdim=True)
    none = highest == -math.inf
    weights = (scores - highest.masked_fill(none, 0)).exp()
    total = weights.sum(-1, keepdim=True)
    out = (weights / total.masked_fill(none, 1)) @ value
    lse = (total.masked_fill(none, 1).log() + highest).squeeze(-1)
    if return_aux is not None:
        most = highest.squeeze(-1)
        return out, AuxOutput(
            lse if return_aux.lse else None, most if return_aux.max_scores else None
        )
    return (out, lse) if return_lse else out


__getattr__ = _missing_name(__name__)
