"""How DistributedDataParallel makes the mean of the processes' gradients, during backward.

Parameters lie in buckets, in the reverse of their order, about as backward comes to them. When all
gradients of a bucket are there its all-reduce starts, bucket after bucket, so that all processes
start the same; while it runs, backward goes on. The last one started queues the end: wait for all,
and bring the means to `.grad`.

A bucket of several parameters has a flat buffer. A large parameter is a bucket by itself, and its
gradient is reduced where it lies.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from .. import _core
from .. import _root as rl
from .._core import Tensor
from .._tensor.foreach import _foreach_copy_
from . import _collectives, _objects
from ._groups import ProcessGroup
from ._options import ReduceOp
from ._work import Work

FIRST_BUCKET = 1 << 20  # bytes
DEFAULT_CAP = 25 << 20
_ALONE = 1 << 18  # bytes of a parameter that is reduced where its gradient lies
_BROADCAST = 250 << 20  # bytes of a message

_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This "
    "error indicates that your module has parameters that were not used in producing loss. "
)
_FIND_THEM = (
    "You can enable unused parameter detection by passing the keyword argument "
    "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \n"
    "making sure all `forward` function outputs participate in calculating loss. "
)
_NOT_FOUND = (
    "Since `find_unused_parameters=True` is enabled, this likely means that not all `forward` "
    "outputs participate in computing loss: return from `forward` only what the loss is made of. "
)
_TWICE = (
    "Expected to mark a variable ready only once. It was reached by two backward passes after one "
    "forward: a parameter is used outside the module's `forward`, or in several reentrant "
    "`checkpoint`s. If each iteration has the same graph, `_set_static_graph()` allows it; else "
    "use `checkpoint(..., use_reentrant=False)`."
)


class GradBucket:
    """Gradients that are reduced together: what a communication hook is given."""

    __module__ = "rushlight.distributed"

    def __init__(
        self, index: int, buffer: Tensor, parameters: Sequence[Tensor], last: bool
    ) -> None:
        self._index, self._buffer, self._last = index, buffer, last
        self._parameters = list(parameters)

    def index(self) -> int:
        """Which bucket it is; 0 is the first that is reduced."""
        return self._index

    def buffer(self) -> Tensor:
        """All gradients as one flat tensor."""
        return self._buffer

    def gradients(self) -> list[Tensor]:
        """The gradients, as views of the buffer."""
        return _views(self._buffer, self._parameters)

    def parameters(self) -> list[Tensor]:
        """The parameters whose gradients these are."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Whether no bucket comes after it."""
        return self._last

    def set_buffer(self, buffer: Tensor) -> None:
        """Take another flat tensor in the buffer's place."""
        self._buffer = buffer


def _views(flat: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    parts = flat.split([t.numel() for t in like])
    return [part.view(t.shape) for part, t in zip(parts, like, strict=True)]


class _Bucket:
    """Parameters that are reduced together, by their indices, and where they are in it."""

    def __init__(self, number: int, indices: list[int], parameters: list[Tensor], sparse: bool):
        self.number, self.indices, self.parameters = number, indices, parameters
        self.sparse = sparse
        self.waiting = 0  # gradients that are not there yet
        self.flat: Tensor | None = None  # the buffer, made when it is first used
        self.views: Sequence[Tensor] = ()
        self.memory: Tensor | None = None  # what is being reduced
        self.work: Work | None = None
        self.future: Any = None  # of a communication hook

    def buffer(self) -> Tensor:
        if self.flat is None:
            first = self.parameters[0]
            size = sum(p.numel() for p in self.parameters)
            self.flat = rl.zeros(size, dtype=first.dtype, device=first.device)
            self.views = _views(self.flat, self.parameters)
        return self.flat


def assigned(parameters: Sequence[Tensor], sparse: Sequence[bool], cap: int) -> list[list[int]]:
    """The indices of each bucket's parameters.

    >>> from rushlight.distributed._reducer import assigned
    >>> weights = [torch.zeros(10), torch.zeros(2, dtype=torch.float64), torch.zeros(3)]
    >>> assigned(weights, [False] * 3, 1 << 20)
    [[1], [2, 0]]
    """
    made: list[list[int]] = []
    open_ones: dict[Any, tuple[list[int], int]] = {}
    limits: dict[Any, int] = {}
    for i in reversed(range(len(parameters))):
        p = parameters[i]
        size = p.numel() * p.element_size()
        if sparse[i] or size >= _ALONE:
            made.append([i])
            continue
        kind = p.dtype, p.device
        indices, total = open_ones.get(kind, ([], 0))
        if not indices:
            made.append(indices)
        indices.append(i)
        total += size
        if total >= limits.get(kind, min(FIRST_BUCKET, cap)):
            limits[kind] = cap
            open_ones.pop(kind, None)
        else:
            open_ones[kind] = (indices, total)
    return sorted(made, key=lambda indices: -min(indices))  # a bucket is ready with its last


def _node(tensor: Tensor) -> Any:
    """Where its gradient goes: the node of the op that made it, or of the leaf."""
    edge = _core.gradient_edge(tensor)
    assert edge is not None
    return edge[0]


class Reducer:
    """The buckets of a module's parameters, and how far each has come in this iteration."""

    as_views: bool
    find_unused: bool
    static: bool

    def __init__(
        self,
        named: Sequence[tuple[str, Tensor]],
        sparse: Sequence[bool],
        group: ProcessGroup,
        cap: int,
        find_unused: bool,
        as_views: bool,
        static: bool,
    ) -> None:
        """named: the parameters that need gradients; sparse: whether each gets a sparse one."""
        self.names: list[str] = [name for name, _ in named]
        self.parameters: list[Tensor] = [p for _, p in named]
        self.group = group
        self.find_unused, self.as_views, self.static = find_unused, as_views, static
        self.hook: Callable[[Any, GradBucket], Any] | None = None
        self.state: Any = None
        self._divisor = group.size()
        self._joining: tuple[Work, Tensor, bool] | None = None  # who still has inputs
        self._uneven = False  # others may take part with zeros, by `shadow`
        self._place(sparse, cap)
        count = len(self.parameters)
        self._expecting = False  # a backward that reduces comes, or runs
        self._begun = False  # ... and has reached a parameter
        self._ready = [False] * count
        self._used = [False] * count  # by a backward since the last reduction
        self._calls: list[int] | None = None  # of a static graph: how often each is reached
        self._left: list[int] = [0] * count  # ... and how often it still will be
        self._next = 0  # the bucket that starts next
        self._running: list[_Bucket] = []
        self._used_work: tuple[Work | None, Tensor] | None = None
        self._not_reached: list[int] = []  # parameters that the outputs do not depend on
        self._saved: dict[int, Tensor] = {}  # gradients of parameters that this process did not use
        self.handles = [
            p.register_post_accumulate_grad_hook(partial(self._arrived, i))
            for i, p in enumerate(self.parameters)
        ]

    def _place(self, sparse: Sequence[bool], cap: int) -> None:
        self.buckets: list[_Bucket] = []
        self._bucket_of: list[Any] = [None] * len(self.parameters)
        for indices in assigned(self.parameters, sparse, cap):
            chosen = [self.parameters[i] for i in indices]
            bucket = _Bucket(len(self.buckets), indices, chosen, sparse[indices[0]])
            self.buckets.append(bucket)
            for i in indices:
                self._bucket_of[i] = bucket

    # ---- before backward

    def check_finished(self) -> None:
        """RuntimeError where the backward before has not reached all parameters."""
        if not (self._expecting and self._begun):
            return
        missing = [i for i, done in enumerate(self._ready) if not done]
        rank = self.group.rank()
        names = ", ".join(sorted(self.names[i] for i in missing))
        raise RuntimeError(
            f"{_UNFINISHED}{_NOT_FOUND if self.find_unused else _FIND_THEM}\n"
            f"Parameters which did not receive grad for rank {rank}: {names}\n"
            f"Parameter indices which did not receive grad for rank {rank}: "
            f"{' '.join(map(str, missing))}"
        )

    def prepare(self, outputs: Iterable[Tensor]) -> None:
        """A backward comes: from `outputs`, where unused parameters are looked for."""
        self._reset()
        self._expecting = True
        if self.static:
            self._await_outputs(list(outputs))
        elif self.find_unused:
            self._not_reached = self._unused(outputs)

    def skip(self) -> None:
        """The backward that comes, of a forward in `no_sync`, reduces nothing."""
        self._expecting = False

    def _reset(self) -> None:
        for bucket in self.buckets:
            bucket.waiting = len(bucket.indices)
            bucket.memory = bucket.work = bucket.future = None
        self._ready = [False] * len(self.parameters)
        self._next = 0
        self._running = []
        self._begun = False
        self._saved = {}
        if self._calls is not None:
            self._left = list(self._calls)

    def _unused(self, outputs: Iterable[Tensor]) -> list[int]:
        """The parameters that the graph of the outputs does not reach."""
        wanted = {_node(p): i for i, p in enumerate(self.parameters)}
        stack = [_node(t) for t in outputs if t.requires_grad]
        seen = set(stack)
        while stack:
            for node, _ in getattr(stack.pop(), "next_functions", ()):
                if node is not None and node not in seen:
                    seen.add(node)
                    stack.append(node)
        return [i for node, i in wanted.items() if node not in seen]

    # ---- during backward

    def _arrived(self, i: int, parameter: Tensor) -> None:
        """The gradient of a parameter is complete: its hook."""
        self._used[i] = True
        if not self._expecting:
            return
        if self.static:
            self._count(i)
            return
        if not self._begun:
            self._begun = True
            for unused in self._not_reached:
                self._mark(unused)
        self._mark(i)

    def _mark(self, i: int) -> None:
        if self._ready[i]:
            raise RuntimeError(
                f"{_TWICE}\nParameter at index {i} with name {self.names[i]} has been marked as "
                "ready twice. This means that multiple autograd engine  hooks have fired for this "
                "particular parameter during this iteration."
            )
        self._ready[i] = True
        bucket = self._bucket_of[i]
        bucket.waiting -= 1
        if not bucket.waiting and bucket.number == self._next:
            self._advance()
        elif self._running:
            self._go_on()

    def _go_on(self) -> None:
        """Test the transfer that runs: MPI goes on with all of them."""
        work = self._running[0].work
        if work is None or work.is_completed():
            self._running.pop(0)

    def _advance(self) -> None:
        """Start the buckets that are ready, in their order."""
        while self._next < len(self.buckets) and not self.buckets[self._next].waiting:
            self._start(self.buckets[self._next])
            self._next += 1
        if self._next == len(self.buckets) and self._begun:
            if self.find_unused or self.static:
                self._start_used()
            _core.queue_callback(self._finish)

    def _factor(self) -> float:
        if self._joining is not None:
            work, count, by_all = self._joining
            self._joining = None
            work.wait()
            self._divisor = self.group.size() if by_all else int(count)
        return 1.0 / self._divisor

    def _start(self, bucket: _Bucket) -> None:
        if bucket.sparse:
            return  # gathered at the end: its size is another in each process
        with rl.no_grad():
            gradients = [self._gradient(i) for i in bucket.indices]
            if self.hook is None and len(bucket.indices) == 1 and gradients[0] is not None:
                memory = gradients[0]
                if not memory.is_contiguous() or bucket.indices[0] in self._saved:
                    memory = memory.clone(memory_format=rl.contiguous_format)
            else:
                memory = self._filled(bucket, gradients)
            bucket.memory = memory
            if self.hook is not None:
                self._call_hook(bucket, memory)
                return
            factor, op = self._factor(), ReduceOp.SUM
            if self.group.size() == 2 and not self._uneven:
                op = ReduceOp.AVG  # of two it needs no pass of its own
            elif factor != 1.0:
                memory.mul_(factor)
        bucket.work = _collectives.all_reduce(memory, op, self.group, True)
        self._running.append(bucket)

    def _gradient(self, i: int) -> Tensor | None:
        grad = self.parameters[i].grad
        if grad is None:
            return None
        if grad.dtype != self.parameters[i].dtype:
            grad = grad.to(self.parameters[i].dtype)
        if not self._used[i] and (self.find_unused or self.static):
            self._saved[i] = grad.clone() if self.as_views else grad
        return grad.detach()

    def _filled(self, bucket: _Bucket, gradients: list[Tensor | None]) -> Tensor:
        """The bucket's buffer, with the gradients; zeros where there is none."""
        flat = bucket.buffer()
        for view, grad in zip(bucket.views, gradients, strict=True):
            if grad is None:
                view.zero_()
            elif grad.data_ptr() != view.data_ptr():
                view.copy_(grad)
        return flat

    def _call_hook(self, bucket: _Bucket, memory: Tensor) -> None:
        assert self.hook is not None
        last = bucket.number == len(self.buckets) - 1
        given = GradBucket(bucket.number, memory, bucket.parameters, last)
        future = self.hook(self.state, given)
        if not hasattr(future, "wait"):
            raise RuntimeError(
                "DDP communication hook's callback must return a torch.futures.Future object, but "
                f"got {type(future).__module__}.{type(future).__qualname__}"
            )
        bucket.future = future

    # ---- the end

    def _start_used(self) -> None:
        counts = rl.tensor([int(used) for used in self._used], dtype=rl.int32, device="cpu")
        work = _collectives.all_reduce(counts, ReduceOp.SUM, self.group, True)
        self._used_work = (work, counts)

    def _finish(self) -> None:
        """All are started: wait, and give the parameters their means."""
        self._expecting = self._begun = False
        unused: set[int] = set()
        with rl.no_grad():
            for bucket in self.buckets:
                self._complete(bucket)
            if self._used_work is not None:
                work, counts = self._used_work
                self._used_work = None
                assert work is not None
                work.wait()
                unused = {i for i, count in enumerate(counts.tolist()) if not count}
            for bucket in self.buckets:
                if not bucket.sparse:
                    self._bring(bucket, unused)
        self._used = [False] * len(self.parameters)
        self._divisor, self._uneven = self.group.size(), False
        self._reset()

    def _complete(self, bucket: _Bucket) -> None:
        if bucket.sparse:
            self._reduce_sparse(bucket)
        elif bucket.work is not None:
            bucket.work.wait()
        elif bucket.future is not None:
            found = bucket.future.wait()
            found = found[0] if isinstance(found, (list, tuple)) else found
            assert bucket.memory is not None
            if found is not bucket.memory:
                bucket.memory.copy_(found.view(-1))

    def _bring(self, bucket: _Bucket, unused: set[int]) -> None:
        """The means become `.grad`: views of the buffer, or copies into what is there."""
        memory = bucket.memory
        if memory is None:
            return
        flat = memory is bucket.flat
        views = bucket.views if flat else [memory.view(bucket.parameters[0].shape)]
        for i, p, view in zip(bucket.indices, bucket.parameters, views, strict=True):
            grad = p.grad
            if i in unused:
                if grad is not None and i in self._saved and self.as_views:
                    grad.copy_(self._saved[i])
            elif grad is not None and grad.data_ptr() == view.data_ptr():
                continue
            elif self.as_views:
                p.grad = view
            elif grad is None:
                p.grad = view.clone() if flat else view
            else:
                grad.copy_(view)

    def _reduce_sparse(self, bucket: _Bucket) -> None:
        """The sum of sparse gradients: all processes' indices and values, one after the other."""
        p = bucket.parameters[0]
        own = p.grad if p.grad is not None else rl.zeros_like(p).to_sparse(1)
        own = own.coalesce()
        count, size = own._nnz(), self.group.size()
        counts = rl.zeros(size, dtype=rl.int64, device="cpu")
        _collectives.all_gather_into_tensor(
            counts, rl.tensor([count], dtype=rl.int64, device="cpu"), self.group
        )
        told = counts.tolist()
        longest = max(told)
        if not longest:
            return
        indices = self._gathered(own.indices().t(), longest, told)
        values = self._gathered(own.values() * self._factor(), longest, told)
        from ..sparse._making import sparse_coo_tensor  # few programs use it

        p.grad = sparse_coo_tensor(indices.t(), values, p.shape).coalesce()

    def _gathered(self, rows: Tensor, longest: int, counts: list[int]) -> Tensor:
        """The rows of all processes, of which each has another number."""
        padded = rl.zeros((longest, *rows.shape[1:]), dtype=rows.dtype)
        padded[: rows.shape[0]] = rows
        every = rl.empty((len(counts) * longest, *rows.shape[1:]), dtype=rows.dtype)
        _collectives.all_gather_into_tensor(every, padded, self.group)
        parts = every.split(longest)
        return rl.cat([part[:count] for part, count in zip(parts, counts, strict=True)])

    # ---- processes that have fewer inputs than others

    def await_count(self, work: Work, count: Tensor, by_all: bool) -> None:
        """The divisor is what `work` brings into `count`; by_all: the group's size all the same."""
        self._joining, self._uneven = (work, count, by_all), True

    def shadow(self) -> None:
        """Take part in the reductions of a backward with zeros."""
        with rl.no_grad():
            works: list[Any] = []
            for bucket in self.buckets:
                if bucket.sparse:
                    continue
                zeros = bucket.buffer().zero_()
                if self.hook is None:
                    works.append(_collectives.all_reduce(zeros, ReduceOp.SUM, self.group, True))
                else:
                    self._call_hook(bucket, zeros)
                    works.append(bucket.future)
            if self.find_unused or self.static:
                none = rl.zeros(len(self.parameters), dtype=rl.int32, device="cpu")
                works.append(_collectives.all_reduce(none, ReduceOp.SUM, self.group, True))
            for work in works:
                work.wait()
            for bucket in self.buckets:
                if bucket.sparse:
                    before, bucket.parameters[0].grad = bucket.parameters[0].grad, None
                    self._reduce_sparse(bucket)
                    bucket.parameters[0].grad = before

    # ---- a static graph

    def _await_outputs(self, outputs: list[Tensor]) -> None:
        for t in outputs:
            if t.requires_grad:
                t.register_hook(self._outputs_reached)
                return

    def _outputs_reached(self, grad: Tensor) -> None:
        """Backward begins; with checkpoints inside, it ends when the outermost backward ends."""
        if not self._expecting:
            return
        self._begun = True
        if self._calls is None:
            self._left = [0] * len(self.parameters)
            _core.queue_callback(self._first_ended)
            return
        for i, calls in enumerate(self._calls):
            if not calls:
                self._mark(i)

    def _count(self, i: int) -> None:
        if self._calls is None:
            self._left[i] += 1
            return
        self._left[i] -= 1
        if self._left[i] < 0:
            raise RuntimeError(
                "Your training graph has changed in this iteration, e.g., one parameter is used "
                "in first iteration, but then got unused in the second iteration. this is not "
                "compatible with static_graph set to True.\n"
                f"Parameter at index {i} with name {self.names[i]} was reached more often."
            )
        if not self._left[i]:
            self._mark(i)

    def _first_ended(self) -> None:
        """The first backward has told how often each parameter is reached: reduce all now."""
        self._calls = list(self._left)
        for i in range(len(self.parameters)):
            self._mark(i)


# ---- hooks that are here


class BuiltinCommHookType(enum.IntEnum):
    """The hooks that `_register_builtin_comm_hook` takes."""

    ALLREDUCE = 0
    FP16_COMPRESS = 1


def _all_reduce_hook(group: ProcessGroup, bucket: GradBucket) -> Any:
    """The mean of the processes' buffers."""
    work = _collectives.all_reduce(bucket.buffer().div_(group.size()), ReduceOp.SUM, group, True)
    assert work is not None
    return work.get_future()


def _half_hook(group: ProcessGroup, bucket: GradBucket) -> Any:
    """The same, sent as float16."""
    half = bucket.buffer().to(rl.float16).div_(group.size())
    work = _collectives.all_reduce(half, ReduceOp.SUM, group, True)
    assert work is not None
    return work.get_future()


BUILTIN = {
    BuiltinCommHookType.ALLREDUCE: _all_reduce_hook,
    BuiltinCommHookType.FP16_COMPRESS: _half_hook,
}

# ---- the same tensors everywhere


def verify(group: ProcessGroup, named: Sequence[tuple[str, Tensor]]) -> None:
    """RuntimeError where a process has other parameters than rank 0 of the group."""
    if group.size() == 1:
        return
    own = [(list(p.shape), str(p.dtype)) for _, p in named]
    every: list[Any] = [None] * group.size()
    _objects.all_gather_object(every, own, group)
    first, rank = every[0], group.rank()
    for other, theirs in enumerate(every):
        if theirs == first:
            continue
        if len(theirs) != len(first):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {other} has {len(theirs)} "
                f"params, while rank 0 has inconsistent {len(first)} params."
            )
        i = next(i for i, one in enumerate(theirs) if one != first[i])
        (shape, dtype), (wanted, wanted_dtype) = theirs[i], first[i]
        what = f"sizes {shape}" if shape != wanted else f"dtype {dtype}"
        rest = f"Rank 0 has {wanted} of {wanted_dtype} ({named[i][0]} there)." if not rank else ""
        raise RuntimeError(
            f"[{other}]: params[{i}] in this process with {what} appears not to match "
            f"{'sizes' if shape != wanted else 'dtypes'} of the same param in process 0. {rest}"
        ).with_traceback(None)


def broadcast_coalesced(
    group: ProcessGroup, tensors: Sequence[Tensor], root: int = 0, limit: int = _BROADCAST
) -> None:
    """Each tensor becomes that of the group's rank `root`, in few messages."""
    if group.size() == 1:
        return
    waiting: list[tuple[Any, Tensor, list[Tensor]]] = []
    with rl.no_grad():
        for together in _by_dtype(tensors, limit):
            flat = (
                together[0].view(-1)
                if len(together) == 1 and together[0].is_contiguous()
                else (rl.cat([t.reshape(-1) for t in together]))
            )
            work = _collectives.broadcast(flat, None, group, True, root)
            waiting.append((work, flat, together))
        for work, flat, together in waiting:
            work.wait()
            if group.rank() != root and flat.data_ptr() != together[0].data_ptr():
                _foreach_copy_(together, _views(flat, together))


def _by_dtype(tensors: Sequence[Tensor], limit: int) -> Iterable[list[Tensor]]:
    """Lists of tensors of one dtype and device, each of at most `limit` bytes or of one tensor."""
    open_ones: dict[Any, tuple[list[Tensor], int]] = {}
    for t in tensors:
        t = t.detach()
        size = t.numel() * t.element_size()
        if not size:
            continue
        kind = t.dtype, t.device
        chosen, total = open_ones.get(kind, ([], 0))
        if chosen and total + size > limit:
            yield chosen
            chosen, total = [], 0
        chosen.append(t)
        open_ones[kind] = (chosen, total + size)
    for chosen, _ in open_ones.values():
        yield chosen
