"""The collectives: which tensors each takes, and where the memory of the tensors goes.

Each checks the arguments, brings the tensors into the form for a communicator (dense and
contiguous; a contiguous tensor is taken as it lies), starts requests, and gives the steps to do
when the requests are done. `_start` is the one place where a collective begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from .. import _root as rl
from .._core import Tensor
from . import _debug, _groups
from ._groups import ProcessGroup, member, place, present
from ._options import RedOpType, ReduceOp
from ._work import Request, Work, seconds

_After = Callable[[], None]


def _start(
    name: str,
    group: ProcessGroup,
    async_op: bool,
    begin: Callable[[Any], Request | Sequence[Request]],
    *,
    kept: object,
    after: _After | None = None,
    result: object = None,
    limit: float | None = None,
) -> Work | None:
    """Begin a collective; wait for it, or give its work. begin: takes the communicator."""
    group._started = number = group._started + 1
    board = group._board
    if board is not None:
        board.entered(number, name, group._number)
    if _debug.get_debug_level() == _debug.DebugLevel.DETAIL and group.size() > 1:
        _debug.check(group, name, number, result)
    found = begin(group._communicator)
    requests: list[Any] = found if isinstance(found, list) else [found]
    work = Work(
        name,
        requests,
        kept=kept,
        after=after,
        result=result,
        limit=group._limit if limit is None else limit,
        late=None if board is None else lambda: group._late(number),
        left=None if board is None else board.left,
        lost=group._lost(),
    )
    if async_op:
        return work._start()
    work.wait()
    return None


# ---- arguments


def _check_tensor(tensor: object, name: str) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(tensor)} instead."
        )


def _check_tensors(tensors: object, name: str) -> None:
    if not isinstance(tensors, list) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(tensors)} instead."
        )


def _check_dtypes(*tensors: Tensor) -> None:
    first = tensors[0].dtype
    for tensor in tensors:
        if tensor.dtype != first:
            raise ValueError(
                f"Invalid usage of tensors with different dtypesFound {first} and  {tensor.dtype}"
            )


def _check_sizes(name: str, tensors: Sequence[Tensor], like: Tensor) -> None:
    for i, tensor in enumerate(tensors):
        if tensor.shape != like.shape:
            raise RuntimeError(
                f"ProcessGroupGloo::{name}: invalid tensor size at index {i} "
                f"(expected {_size(like)}, got {_size(tensor)})"
            )


def _size(tensor: Tensor) -> str:
    return "(" + ", ".join(map(str, tensor.shape)) + ")"


def _dense(tensor: Tensor) -> Tensor:
    """The tensor, or RuntimeError where it has no dense memory."""
    if tensor._on_meta or tensor.layout != rl.strided:
        raise RuntimeError(
            f"No backend type associated with device type {tensor.device.type}: a collective "
            f"reads and writes dense tensors, not {tensor.layout} on {tensor.device}."
        )
    return tensor


def _read(tensor: Tensor) -> Tensor:
    """A contiguous tensor of the values on the CPU; the tensor's own memory where it is that."""
    found = _dense(tensor).detach().resolve_conj().resolve_neg()
    return found.cpu().contiguous()


def _written(tensor: Tensor) -> tuple[Tensor, _After | None]:
    """Contiguous memory of the CPU with the tensor's values, for a collective that writes, and the
    step that copies the memory back."""
    own = _dense(tensor).detach()
    plain = not own.is_conj() and not own.is_neg()
    if plain and own.is_contiguous() and own._accelerator is None:
        return own, None
    copy = own.resolve_conj().resolve_neg().cpu().contiguous()

    def back() -> None:
        own.copy_(copy)

    return copy, back


def _each(*steps: _After | None) -> _After | None:
    """A function that runs all the steps; None where there are none."""
    found = [step for step in steps if step is not None]
    if len(found) < 2:
        return found[0] if found else None

    def run() -> None:
        for step in found:
            step()

    return run


def _joined(tensors: Sequence[Tensor]) -> Tensor | None:
    """The memory of contiguous tensors, each behind the last, as one flat tensor; None for tensors
    that lie apart, or are not on the CPU."""
    if any(t._accelerator is not None for t in tensors):
        return None
    if not tensors or not all(t.is_contiguous() and not t.is_conj() for t in tensors):
        return None
    first, place = tensors[0], tensors[0].data_ptr()
    storage = first.untyped_storage().data_ptr()
    total = 0
    for tensor in tensors:
        if tensor.numel() and tensor.data_ptr() != place + total * first.element_size():
            return None
        if tensor.untyped_storage().data_ptr() != storage:
            return None
        total += tensor.numel()
    return first.detach().as_strided((total,), (1,))


# ---- reductions: SUM and the others are MPI's, AVG and PREMUL_SUM are a SUM and a product


_OF_INTEGERS = (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR)
_OF_COMPLEX = (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM)


def _kind(name: str, op: object, tensor: Tensor) -> RedOpType:
    """The kind of a reduction; ValueError, RuntimeError where the dtype has none such."""
    kind = op.op if isinstance(op, ReduceOp) else op
    if not isinstance(kind, RedOpType):
        raise TypeError(f"{name}(): op is a ReduceOp, such as ReduceOp.SUM, not {op!r}")
    if tensor.dtype.is_complex and kind not in _OF_COMPLEX:
        raise ValueError(f"{name} does not support {kind} on complex tensors")
    if tensor.dtype.is_floating_point and kind in _OF_INTEGERS:
        raise RuntimeError(f"Cannot use ReduceOp.{kind.name} with non-integral dtype")
    if kind == RedOpType.AVG and tensor.dtype == rl.bool:
        raise RuntimeError("result type Float can't be cast to the desired output type Bool")
    return kind


def _basic(kind: RedOpType) -> str:
    """The name of the reduction that the processes do."""
    return "SUM" if kind in (RedOpType.AVG, RedOpType.PREMUL_SUM) else kind.name


def _prepared(op: Any, kind: RedOpType, tensor: Tensor) -> Tensor:
    """The summand of a process: its values, times the factor of PREMUL_SUM."""
    return tensor * op.factor if kind == RedOpType.PREMUL_SUM else tensor


def _averaged(kind: RedOpType, tensor: Tensor, size: int) -> _After | None:
    """The step that makes a mean of a sum."""
    if kind != RedOpType.AVG:
        return None

    def divide() -> None:
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
            tensor.div_(size)
        else:
            tensor.div_(size, rounding_mode="trunc")

    return divide


def all_reduce(
    tensor: Tensor,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Each process's tensor becomes the reduction of all."""
    _check_tensor(tensor, "tensor")
    own = present("all_reduce", group)
    if own is None:
        return None
    kind = _kind("all_reduce", op, tensor)
    memory, back = _written(tensor)
    if kind == RedOpType.PREMUL_SUM:
        memory.mul_(op.factor)
    if kind == RedOpType.AVG and own.size() == 2 and memory.dtype.is_floating_point:
        name, mean = "MEAN", None
    else:
        name, mean = _basic(kind), _averaged(kind, memory, own.size())
    return _start(
        "all_reduce",
        own,
        async_op,
        lambda c: c.all_reduce(memory, name),
        kept=memory,
        after=_each(mean, back),
        result=[tensor],
    )


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: object = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The tensor of rank `dst` becomes the reduction of all; the others' stay."""
    _check_tensor(tensor, "tensor")
    own = present("reduce", group)
    if own is None:
        return None
    root = place(own, dst, group_dst)
    kind = _kind("reduce", op, tensor)
    memory, back = _written(tensor) if own.rank() == root else (_read(tensor), None)
    if kind == RedOpType.PREMUL_SUM:
        memory = _prepared(op, kind, memory)
        if own.rank() == root:
            back = _copies([tensor], [memory])
    mean = _averaged(kind, memory, own.size()) if own.rank() == root else None
    return _start(
        "reduce",
        own,
        async_op,
        lambda c: c.reduce(memory, _basic(kind), root),
        kept=memory,
        after=_each(mean, back),
        result=[tensor],
    )


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Each process's tensor becomes that of rank `src`."""
    _check_tensor(tensor, "tensor")
    own = present("broadcast", group)
    if own is None:
        return None
    root = place(own, src, group_src)
    memory, back = _written(tensor)
    return _start(
        "broadcast",
        own,
        async_op,
        lambda c: c.broadcast(memory, root),
        kept=memory,
        after=back if own.rank() != root else None,
        result=[tensor],
    )


def _copies(targets: Sequence[Tensor], sources: Sequence[Tensor]) -> _After:
    def run() -> None:
        with rl.no_grad():
            for target, source in zip(targets, sources, strict=True):
                target.copy_(source.reshape(target.shape))

    return run


def all_gather(
    tensor_list: list[Tensor],
    tensor: Tensor,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """The list's tensors become those of all processes, in the order of ranks."""
    _check_tensors(tensor_list, "tensor_list")
    _check_tensor(tensor, "tensor")
    _check_dtypes(*tensor_list, tensor)
    own = present("all_gather", group)
    if own is None:
        return None
    if len(tensor_list) != own.size():
        raise RuntimeError(
            "ProcessGroupGloo::allgather: invalid output tensor list at index 0 "
            f"(expected length {own.size()}, got {len(tensor_list)})"
        )
    _check_sizes("allgather", tensor_list, tensor)
    source = _read(tensor)
    flat = _joined(tensor_list)
    if flat is not None:
        begin: Any = lambda c: c.all_gather(flat, source)
        kept: Any = (flat, source)
        after = None
    else:  # each process's goes to its place in the others' lists
        pairs = [_written(t) for t in tensor_list]
        memories = [memory for memory, _ in pairs]
        memories[own.rank()] = source
        begin = lambda c: [c.broadcast(memory, i) for i, memory in enumerate(memories)]
        kept = memories
        backs = [back for i, (_, back) in enumerate(pairs) if i != own.rank()]
        after = _each(_copies([tensor_list[own.rank()]], [source]), *backs)
    return _start("all_gather", own, async_op, begin, kept=kept, after=after, result=[tensor_list])


def all_gather_into_tensor(
    output_tensor: Tensor,
    input_tensor: Tensor,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """The output becomes the inputs of all processes, joined or stacked in the order of ranks."""
    _check_tensor(output_tensor, "output_tensor")
    _check_tensor(input_tensor, "input_tensor")
    _check_dtypes(input_tensor, output_tensor)
    own = present("all_gather_into_tensor", group)
    if own is None:
        return None
    if output_tensor.numel() != own.size() * input_tensor.numel():
        raise RuntimeError(
            "ProcessGroupGloo::allgather: invalid tensor size: the output has "
            f"{output_tensor.numel()} elements, and {own.size()} inputs of "
            f"{_size(input_tensor)} have {own.size() * input_tensor.numel()}."
        )
    source = _read(input_tensor)
    memory, back = _written(output_tensor)
    return _start(
        "all_gather_into_tensor",
        own,
        async_op,
        lambda c: c.all_gather(memory, source),
        kept=(memory, source),
        after=back,
        result=[output_tensor],
    )


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: object = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """The output becomes this rank's part of the reduction of all inputs."""
    _check_tensor(output, "output")
    _check_tensor(input, "input")
    _check_dtypes(input, output)
    own = present("reduce_scatter_tensor", group)
    if own is None:
        return None
    if output.numel() * own.size() != input.numel():
        raise RuntimeError(
            f"reduce_scatter_tensor: the input has {input.numel()} elements, and the output's "
            f"{output.numel()} times {own.size()} processes are {output.numel() * own.size()}."
        )
    kind = _kind("reduce_scatter_tensor", op, input)
    source = _prepared(op, kind, _read(input))
    memory, back = _written(output)
    return _start(
        "reduce_scatter_tensor",
        own,
        async_op,
        lambda c: c.reduce_scatter(memory, source, _basic(kind)),
        kept=(memory, source),
        after=_each(_averaged(kind, memory, own.size()), back),
        result=[output],
    )


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: object = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """The output becomes the reduction of all tensors at this rank's place of the lists."""
    _check_tensor(output, "output")
    _check_tensors(input_list, "input_list")
    _check_dtypes(output, *input_list)
    own = present("reduce_scatter", group)
    if own is None:
        return None
    if len(input_list) != own.size():
        raise RuntimeError(
            "ProcessGroupGloo::reduce_scatter: invalid input tensor list "
            f"(expected length {own.size()}, got {len(input_list)})"
        )
    _check_sizes("reduce_scatter", [input_list[own.rank()]], output)
    kind = _kind("reduce_scatter", op, output)
    memory, back = _written(output)
    mean = _averaged(kind, memory, own.size())
    same = all(t.numel() == output.numel() for t in input_list)
    flat = _joined(input_list) if same else None
    if flat is not None:
        source: Any = _prepared(op, kind, flat)
        begin: Any = lambda c: c.reduce_scatter(memory, source, _basic(kind))
    else:
        source = [_prepared(op, kind, _read(t)) for t in input_list]
        memory.copy_(source[own.rank()].reshape(memory.shape))
        source[own.rank()] = memory
        begin = lambda c: [c.reduce(t, _basic(kind), i) for i, t in enumerate(source)]
    return _start(
        "reduce_scatter",
        own,
        async_op,
        begin,
        kept=(memory, source),
        after=_each(mean, back),
        result=[output],
    )


# ---- from one, to one, from each to each


def _check_list_of_root(
    name: str, way: str, tensors: list[Tensor], like: Tensor, group: ProcessGroup
) -> None:
    """The root's list has a tensor for each process, of the same dtype and size; way: in words."""
    _check_tensors(tensors, f"{name}_list")
    _check_dtypes(like, *tensors)
    if len(tensors) != group.size():
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: Incorrect {way} list size {len(tensors)}. "
            f"{way.capitalize()} list size should be {group.size()}, same as size of the process "
            "group."
        )
    _check_sizes(name, tensors, like)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The list of rank `dst` (0 if none is told) becomes the tensors of all."""
    _check_tensor(tensor, "tensor")
    own = present("gather", group)
    if own is None:
        return None
    root = place(own, dst, group_dst, default=0)
    source = _read(tensor)
    if own.rank() != root:
        if gather_list:
            raise ValueError(
                "Argument ``gather_list`` must NOT be specified on non-destination ranks."
            )
        return _start(
            "gather",
            own,
            async_op,
            lambda c: c.send(source, root, 0, own=True),
            kept=source,
            result=[],
        )
    if not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _check_list_of_root("gather", "output", gather_list, tensor, own)
    pairs = [_written(t) for t in gather_list]
    others = [i for i in range(own.size()) if i != root]
    return _start(
        "gather",
        own,
        async_op,
        lambda c: [c.receive(pairs[i][0], i, 0, own=True) for i in others],
        kept=(pairs, source),
        after=_each(_copies([gather_list[root]], [source]), *(pairs[i][1] for i in others)),
        result=gather_list,
    )


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """The tensor becomes the one at this rank's place in the list of rank `src` (0 if not told)."""
    _check_tensor(tensor, "tensor")
    own = present("scatter", group)
    if own is None:
        return None
    root = place(own, src, group_src, default=0)
    memory, back = _written(tensor)
    if own.rank() != root:
        if scatter_list:
            raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
        return _start(
            "scatter",
            own,
            async_op,
            lambda c: c.receive(memory, root, 0, own=True),
            kept=memory,
            after=back,
            result=[tensor],
        )
    if not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _check_list_of_root("scatter", "input", scatter_list, tensor, own)
    sources = [_read(t) for t in scatter_list]
    others = [i for i in range(own.size()) if i != root]
    return _start(
        "scatter",
        own,
        async_op,
        lambda c: [c.send(sources[i], i, 0, own=True) for i in others],
        kept=sources,
        after=_copies([tensor], [sources[root]]),
        result=[tensor],
    )


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Tensor i of the inputs becomes, at rank i, the output at this rank's place."""
    _check_tensors(output_tensor_list, "output_tensor_list")
    _check_tensors(input_tensor_list, "input_tensor_list")
    own = present("all_to_all", group)
    if own is None:
        return None
    for name, tensors in (("output", output_tensor_list), ("input", input_tensor_list)):
        if len(tensors) != own.size():
            raise RuntimeError(
                f"all_to_all: the {name} list has {len(tensors)} tensors, and the group "
                f"{own.size()} processes."
            )
    _check_dtypes(*output_tensor_list, *input_tensor_list)
    sources = [_read(t) for t in input_tensor_list]
    pairs = [_written(t) for t in output_tensor_list]
    others = [i for i in range(own.size()) if i != own.rank()]

    def begin(c: Any) -> list[Request]:
        receipts = [c.receive(pairs[i][0], i, 0, own=True) for i in others]
        return receipts + [c.send(sources[i], i, 0, own=True) for i in others]

    here = _copies([output_tensor_list[own.rank()]], [sources[own.rank()]])
    return _start(
        "all_to_all",
        own,
        async_op,
        begin,
        kept=(sources, pairs),
        after=_each(here, *(pairs[i][1] for i in others)),
        result=output_tensor_list,
    )


def _parts(sizes: Sequence[int] | None, tensor: Tensor, size: int) -> list[int] | None:
    """How many elements each part of a tensor has, from its sizes along dimension 0."""
    if not sizes:
        if tensor.dim() == 0 or tensor.shape[0] % size:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        return None
    rows = tensor.shape[0] if tensor.dim() else 0
    if len(sizes) != size:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != rows:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    each = tensor.numel() // rows if rows else 0
    return [int(count) * each for count in sizes]


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Part i of the input, along dimension 0, becomes at rank i the output's part of this rank.

    The sizes are of the parts; equal parts where they are not given.
    """
    _check_tensor(output, "output")
    _check_tensor(input, "input")
    _check_dtypes(output, input)
    own = present("all_to_all_single", group)
    if own is None:
        return None
    outputs = _parts(output_split_sizes, output, own.size())
    inputs = _parts(input_split_sizes, input, own.size())
    source = _read(input)
    memory, back = _written(output)
    return _start(
        "all_to_all_single",
        own,
        async_op,
        lambda c: c.all_to_all(memory, source, outputs, inputs),
        kept=(memory, source),
        after=back,
        result=[output],
    )


# ---- messages


class _Message(Work):
    """A message that was sent or is awaited."""

    _group: ProcessGroup

    def source_rank(self) -> int:
        """The rank that sent it."""
        return self._source if self._done else -1

    _source = -1


def _message(
    name: str,
    tensor: Tensor,
    group: ProcessGroup,
    peer: int | None,
    begin: Callable[[Any], Any],
    back: _After | None,
) -> _Message:
    request = begin(group._communicator)
    limit, lost = group._limit, group._lost(peer)
    work = _Message(name, [request], kept=tensor, result=[tensor], limit=limit, lost=lost)

    def arrived() -> None:
        if hasattr(request, "source"):
            work._source = group._ranks[request.source]
            expected = tensor.numel() * tensor.element_size()
            if request.bytes != expected:
                raise RuntimeError(
                    f"{name}: rank {work._source} sent {request.bytes} bytes, and the tensor "
                    f"{_size(tensor)} of {tensor.dtype} has {expected}: send and receive tensors "
                    "of the same size and type."
                )
        if back is not None:
            back()

    work._after = arrived
    return work


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Start to send a tensor to a process; it may not change until the work is done."""
    _check_tensor(tensor, "tensor")
    own = present("isend", group)
    if own is None:
        return None
    peer = place(own, dst, group_dst)
    if peer == own.rank():
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the "
            "current process."
        )
    memory = _read(tensor)
    work = _message("send", memory, own, peer, lambda c: c.send(memory, peer, tag), None)
    return work._start()


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Start to receive a tensor from a process, or from any; the sizes are the same there."""
    _check_tensor(tensor, "tensor")
    own = present("irecv", group)
    if own is None:
        return None
    peer = None
    if src is not None or group_src is not None:
        peer = place(own, src, group_src)
        if peer == own.rank():
            raise ValueError(
                "Invalid source rank: source rank should not be the same as the rank of the "
                "current process."
            )
    memory, back = _written(tensor)
    work = _message("recv", memory, own, peer, lambda c: c.receive(memory, peer, tag), back)
    return work._start()


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to a process, and wait until it may change."""
    if present("send", group) is None:
        return None
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Wait for a tensor from a process, or from any; the rank that sent it."""
    if present("recv", group) is None:
        return -1
    work = irecv(tensor, src, group, tag, group_src)
    assert work is not None
    work.wait()
    return work.source_rank()


class P2POp:
    """A message for `batch_isend_irecv`: op is `isend` or `irecv`."""

    op: Callable[..., Any]
    tag: int
    tensor: Tensor

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        _check_tensor(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group: ProcessGroup = member(group)
        self.group_peer: int = place(self.group, peer, group_peer)
        self.peer: int = self.group._ranks[self.group_peer]

    def __repr__(self) -> str:
        name = self.op.__name__
        return f"P2POp({name} pg={self.group.group_name}, group_peer={self.group_peer})"


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Start messages together; a work for each."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type "
            "``torch.distributed.P2POp``."
        )
    works = []
    for p in p2p_op_list:
        peer = {"group_dst" if p.op is isend else "group_src": p.group_peer}
        works.append(p.op(p.tensor, group=p.group, tag=p.tag, **peer))
    return works


# ---- barriers


def barrier(
    group: ProcessGroup | None = None,
    async_op: bool = False,
    device_ids: object = None,
    timeout: timedelta | None = None,
) -> Work | None:
    """Wait until all processes of the group are here."""
    own = present("barrier", group)
    if own is None:
        return None
    return _start(
        "barrier",
        own,
        async_op,
        lambda c: c.barrier(),
        kept=None,
        result=[],
        limit=seconds(timeout),
    )


def monitored_barrier(
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    wait_all_ranks: bool = False,
) -> None:
    """A barrier that says which processes did not come in time.

    wait_all_ranks: name all of them, not the first. Raises RuntimeError.
    """
    own = present("monitored_barrier", group)
    if own is None:
        return None
    limit = seconds(timeout) or own._limit
    ms = 0 if limit is None else round(limit * 1000)
    token = rl.zeros(1, dtype=rl.uint8, device="cpu")
    c = own._communicator
    if own.rank() == 0:
        others = range(1, own.size())
        requests = {
            i: c.receive(rl.zeros(1, dtype=rl.uint8, device="cpu"), i, 1, own=True) for i in others
        }
        late = []
        for i, request in requests.items():
            lost = own._lost(i)
            work = Work("monitored_barrier", [request], kept=token, limit=limit, lost=lost)
            try:
                work.wait()
            except RuntimeError:
                late.append(i)
                limit = 1e-3  # the time is over: who has come by now has come
                if not wait_all_ranks:
                    break
        if late:
            names = ", ".join(str(own._ranks[i]) for i in late)
            are = "Ranks" if len(late) > 1 else "Rank"
            raise RuntimeError(f"{are} {names} failed to pass monitoredBarrier in {ms} ms")
        answers = [c.send(token, i, 1, own=True) for i in others]
        Work("monitored_barrier", answers, kept=token, limit=limit).wait()
        return
    asked = [
        c.send(token, 0, 1, own=True),
        c.receive(rl.zeros(1, dtype=rl.uint8, device="cpu"), 0, 1, own=True),
    ]
    try:
        lost = own._lost(0)
        Work("monitored_barrier", asked, kept=token, limit=limit, lost=lost).wait()
    except RuntimeError as error:
        raise RuntimeError(
            f"Rank {_groups.get_rank()} successfully reached monitoredBarrier, but received errors "
            "while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank."
        ) from error
