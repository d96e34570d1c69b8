"""PowerSGD: gradients are sent as products of two thin matrices.

Vogels et al., "PowerSGD: Practical Low-Rank Gradient Compression for Distributed Optimization"
(2019): one step of power iteration. For a gradient M and a thin Q, the mean of P = M Q over the
processes is made orthonormal, then the mean of Q = M^T P is taken; M becomes P Q^T. The difference
is added to the next step's gradient (error feedback), which begins with this Q (warm start).
"""

from __future__ import annotations

import logging
import math
from typing import Any

from .... import _root as rl
from ...._base.missing import missing_name as _missing_name
from ...._base.outside import np
from ...._root import Tensor
from ...._torch.futures import Future
from ....linalg import qr
from ....random import fork_rng
from ..._groups import ProcessGroup, default_group, member
from .default_hooks import _mean, _sum

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]

logger: logging.Logger = logging.getLogger(__name__)


class PowerSGDState:
    """The options of PowerSGD, and what it keeps between steps.

    Compression begins at step start_powerSGD_iter. A matrix of n x m is compressed where
    (n + m) * matrix_approximation_rank * min_compression_rate < n * m.

    Raises ValueError for start_powerSGD_iter under 2 with error feedback or warm start.
    """

    use_error_feedback: bool
    warm_start: bool

    def __init__(
        self,
        process_group: ProcessGroup | None,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is "
                "enabled, because PowerSGD can only be applied after the first two iterations in "
                "DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng: Any = np.random.RandomState(random_seed)  # the same in all processes
        self.error_dict: dict[int, Tensor] = {}  # these three by number of the bucket
        self.p_memory_dict: dict[int, Tensor] = {}
        self.q_memory_dict: dict[int, Tensor] = {}
        self.iter: int = 0
        self.total_numel_before_compression: int = 0
        self.total_numel_after_compression: int = 0
        self.compression_stats_logging_frequency: int = max(1, compression_stats_logging_frequency)
        self.next_stats_report: int = 0
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape

    def __getstate__(self) -> dict[str, Any]:
        logger.warning("A process group cannot be saved: the saved state is without it.")
        return {name: value for name, value in vars(self).items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = default_group()
        vars(self).update(state)

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Count a step at its last bucket."""
        if bucket.is_last():
            self.iter += 1

    def compression_stats(self) -> tuple[float, int, int]:
        """The rate of compression so far, and the numbers of elements before and after it."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after > 0 else 0, before, after)

    def _count(self, bucket: Any, before: int, after: int) -> None:
        self.total_numel_before_compression += before
        self.total_numel_after_compression += after
        if bucket.is_last() and self.iter >= self.next_stats_report:
            rate, before, after = self.compression_stats()
            logger.info(
                "PowerSGD, step %s: %s elements sent as %s, rate %s",
                *(self.iter, before, after, rate),
            )
            self.next_stats_report = self.iter + self.compression_stats_logging_frequency

    def _with_error(self, index: int, flat: Tensor) -> Tensor | None:
        """Add the last step's error to the gradients; what they then are, if it is needed."""
        if not self.use_error_feedback:
            return None
        if index in self.error_dict:
            flat.add_(self.error_dict[index])
        return flat.clone()

    def _keep(self, index: int, wanted: Tensor | None, flat: Tensor) -> None:
        """Keep what the next step uses."""
        if wanted is not None:
            self.error_dict[index] = wanted - flat
        if not self.warm_start:
            self.p_memory_dict.clear()
            self.q_memory_dict.clear()

    def _fill(self, qs: list[Tensor]) -> None:
        """Fill matrices with random numbers of this state's next seed, not the program's."""
        with fork_rng(devices=[]):
            rl.manual_seed(int(self.rng.randint(1_000_000_000)))
            for q in qs:
                q.copy_(rl.randn(*q.shape, dtype=q.dtype))


def _orthogonalize(matrices: Tensor, epsilon: float) -> None:
    """Make the columns of each matrix orthonormal, in place; [batch, rows, columns]."""
    columns = matrices.shape[2]
    if columns > 2 and matrices.dtype not in (rl.float16, rl.bfloat16):
        matrices.copy_(qr(matrices)[0])
        return
    for i in range(columns):  # Gram-Schmidt
        column = matrices[:, :, i : i + 1]
        column /= column.norm(dim=1, keepdim=True) + epsilon
        if i + 1 < columns:
            rest = matrices[:, :, i + 1 :]
            rest -= (column * rest).sum(dim=1, keepdim=True) * column


def _pieces(memory: Tensor, sizes: list[tuple[int, int, int]]) -> list[Tensor]:
    """A vector as matrices one after the other."""
    parts = memory.split([b * n * m for b, n, m in sizes])
    return [part.view(size) for part, size in zip(parts, sizes, strict=True)]


def powerSGD_hook(state: PowerSGDState, bucket: Any) -> Future[Any]:
    """Average the bucket's matrices by PowerSGD, each by itself; the other gradients as they are.

    A gradient of more than two dimensions is a matrix of its first by all others.
    """
    group = member(state.process_group)
    flat = bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return _mean(flat, group)
    index = bucket.index()
    wanted = state._with_error(index, flat)

    by_shape: dict[object, list[Tensor]] = {}
    whole: list[Tensor] = []
    before = after = 0
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0], -1)
        n, m = matrix.shape
        thin = (n + m) * min(n, m, state.matrix_approximation_rank)
        before += n * m
        if thin * state.min_compression_rate < n * m:
            by_shape.setdefault(matrix.shape, []).append(matrix)
            after += thin
        else:
            whole.append(gradient)
            after += n * m
    state._count(bucket, before, after)

    stacked = []  # the matrices, by threes of dimensions, with what they are copied back to
    for same in by_shape.values():
        if state.batch_tensors_with_same_shape and len(same) > 1:
            stacked.append((rl.stack(same), same))
        else:
            stacked += [(matrix.unsqueeze(0), []) for matrix in same]
    sizes = [
        (batch, n, m, min(n, m, state.matrix_approximation_rank))
        for batch, n, m in (tuple(matrices.shape) for matrices, _ in stacked)
    ]
    p_sizes, q_sizes = [(b, n, r) for b, n, m, r in sizes], [(b, m, r) for b, n, m, r in sizes]
    fresh = index not in state.p_memory_dict or not state.warm_start
    if fresh:
        for memory, all_sizes in ((state.p_memory_dict, p_sizes), (state.q_memory_dict, q_sizes)):
            memory[index] = flat.new_empty(sum(map(math.prod, all_sizes)))
    p_memory, q_memory = state.p_memory_dict[index], state.q_memory_dict[index]
    ps, qs = _pieces(p_memory, p_sizes), _pieces(q_memory, q_sizes)
    if fresh:
        state._fill(qs)
    for (matrices, _originals), p, q in zip(stacked, ps, qs, strict=True):
        _orthogonalize(q, state.orthogonalization_epsilon)
        rl.bmm(matrices, q, out=p)

    whole_memory = rl.cat([t.view(-1) for t in whole]) if whole else flat.new_empty(0)
    whole_mean = _mean(whole_memory, group)
    p_sum = _sum(p_memory, group)

    def finish(future: Future[object]) -> Tensor:
        whole_mean.wait()
        for target, part in zip(whole, whole_memory.split([t.numel() for t in whole]), strict=True):
            target.copy_(part.view(target.shape))
        for (matrices, _originals), p, q in zip(stacked, ps, qs, strict=True):
            _orthogonalize(p, state.orthogonalization_epsilon)
            rl.bmm(matrices.transpose(1, 2), p, out=q)
        _sum(q_memory, group).wait()
        q_memory.div_(group.size())
        for (matrices, originals), p, q in zip(stacked, ps, qs, strict=True):
            rl.bmm(p, q.transpose(1, 2), out=matrices)
            for original, matrix in zip(originals, matrices, strict=bool(originals)):
                original.copy_(matrix)
        state._keep(index, wanted, flat)
        state.maybe_increase_iter(bucket)
        return flat

    return p_sum.then(finish)


def batched_powerSGD_hook(state: PowerSGDState, bucket: Any) -> Future[Any]:
    """Average the whole bucket by PowerSGD, as one square matrix filled up with zeros.

    Faster than `powerSGD_hook` and less exact: the square's rows have no meaning.
    """
    group = member(state.process_group)
    flat = bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return _mean(flat, group)
    index, length = bucket.index(), flat.numel()
    side, rank = math.ceil(math.sqrt(length)), state.matrix_approximation_rank
    state._count(bucket, length, side * rank * 2)
    padded = flat.new_zeros(side * side)
    padded[:length] = flat
    wanted = state._with_error(index, padded)
    matrix = padded.view(side, side)
    if index not in state.p_memory_dict or not state.warm_start:
        for memory in (state.p_memory_dict, state.q_memory_dict):
            memory[index] = flat.new_empty(side, rank)
        state._fill([state.q_memory_dict[index]])
    p, q = state.p_memory_dict[index], state.q_memory_dict[index]
    _orthogonalize(q.unsqueeze(0), 0)
    rl.matmul(matrix, q, out=p)

    def finish(_: Future[object]) -> Tensor:
        _orthogonalize(p.unsqueeze(0), 0)
        rl.matmul(matrix.t(), p, out=q)
        _sum(q, group).wait()
        q.div_(group.size())
        rl.matmul(p, q.t(), out=matrix)
        state._keep(index, wanted, padded)
        state.maybe_increase_iter(bucket)
        flat.copy_(padded[:length])
        return flat

    return _sum(p, group).then(finish)


__getattr__ = _missing_name(__name__)
