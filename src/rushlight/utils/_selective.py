"""Selective checkpointing: results of a checkpointed region that are kept, not computed again.

`create_selective_checkpoint_contexts(policy)` gives the two contexts that `checkpoint`'s
`context_fn` returns. In the first run the core tells of each call of an op (observe.cpp in
native/core) and the results that the policy wants saved are kept by the number of their call. In
the second run the same calls come in the same order, and the core takes a kept result in the place
of the op's forward; the call is recorded as always.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Op, Tensor
from .._levels.running import carried
from .._tensor import memory_of
from ..ops.table.arrays import Array
from ..ops.table.aten import OpOverload, name_of

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]

_SELECTIVE = _core.Observed.SELECTIVE
_COMPOSITE = 4  # Op::Composite
_lock = threading.Lock()
_users = 0  # how many contexts are open in the process


class CheckpointPolicy(enum.Enum):
    """The treatment of an op's result in a checkpointed region.

    Offloading is saving: there is one memory.

    >>> torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE.name
    'MUST_SAVE'
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_RECOMPUTED = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)


class SelectiveCheckpointContext:
    """The first argument of a policy function, before the op and the op's arguments.

    >>> torch.utils.checkpoint.SelectiveCheckpointContext(is_recompute=True).is_recompute
    True
    """

    is_recompute: bool
    op_output: Any

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


class _State(threading.local):
    """The innermost context on a thread."""

    def __init__(self) -> None:
        self.open: list[_Run] = []


_state = _State()
carried.append(_state)


class _Kept:
    """The results of one call, and the versions they had."""

    def __init__(self, result: Tensor) -> None:
        self.single = isinstance(result, Tensor)
        given = (result,) if self.single else result
        self.tensors = [t.detach() if isinstance(t, Tensor) else t for t in given]
        self.versions = [t._version if isinstance(t, Tensor) else 0 for t in self.tensors]

    def arrays(self, may_change: bool) -> object:
        found = []
        for t, version in zip(self.tensors, self.versions, strict=True):
            if isinstance(t, Tensor) and t._version != version and not may_change:
                raise RuntimeError(
                    "Tensor cached during selective activation checkpoint has been mutated: it is "
                    f"at version {t._version}, and was kept at {version}. Do not keep what is "
                    "written in place, or pass allow_cache_entry_mutation=True."
                )
            found.append(memory_of(t) if isinstance(t, Tensor) else None)
        return found[0] if self.single else tuple(found)


class _Run:
    """One of the two contexts; counts the calls of ops inside it."""

    def __init__(self, kept: dict[int, _Kept]) -> None:
        self.kept = kept
        self.count = 0
        self.running: list[int] = []  # the numbers of the calls that have begun

    def __enter__(self) -> None:
        global _users
        self.count, self.running = 0, []
        _state.open.append(self)
        with _lock:
            _users += 1
            _core.observe(_SELECTIVE, True)

    def __exit__(self, *exc: object) -> None:
        global _users
        _state.open.pop()
        with _lock:
            _users -= 1
            if not _users:
                _core.observe(_SELECTIVE, False)

    def starts(self, op: Op) -> Any:
        self.running.append(self.count)
        self.count += 1
        return self.known(self.running[-1])

    def known(self, number: int) -> None:
        return None

    def ends(self, op: Op, arguments: tuple[Tensor, ...], result: Tensor) -> None:
        self.running.pop()


class _First(_Run):
    """The first run: asks the policy about each result."""

    def __init__(self, kept: dict[int, _Kept], policy: Callable[..., object]) -> None:
        super().__init__(kept)
        self.policy = policy

    def __enter__(self) -> None:
        self.kept.clear()
        super().__enter__()

    def ends(self, op: Op, arguments: tuple[Tensor, ...], result: Tensor) -> None:
        number = self.running.pop()
        if op.kind == _COMPOSITE or not isinstance(result, (Tensor, tuple)):
            return  # its parts are asked about, or it is no result of a kernel
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        answer = self.policy(context, name_of(op, result), *arguments)
        save = answer if isinstance(answer, bool) else answer not in _RECOMPUTED
        is_view = isinstance(result, Tensor) and result._is_view()
        if save and not is_view and not op.__name__.endswith("_"):
            self.kept[number] = _Kept(result)


class _Again(_Run):
    """The second run: gives what was kept."""

    def __init__(self, kept: dict[int, _Kept], may_change: bool) -> None:
        super().__init__(kept)
        self.may_change = may_change

    def known(self, number: int) -> Any:
        kept = self.kept.get(number)
        return None if kept is None else kept.arrays(self.may_change)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: list[OpOverload], allow_cache_entry_mutation: bool = False
) -> tuple[_Again | _First, ...]:
    """The contexts of a checkpoint that keeps the results of some ops.

    policy_fn_or_list: ops to save (`torch.ops.aten.mm.default`), or a function of a
    `SelectiveCheckpointContext`, the op and its arguments that gives a `CheckpointPolicy`.
    allow_cache_entry_mutation: do not mind when a kept tensor was written in place.

    >>> import functools
    >>> checkpoint = torch.utils.checkpoint
    >>> keep = functools.partial(
    ...     checkpoint.create_selective_checkpoint_contexts, [torch.ops.aten.mm.default]
    ... )
    >>> x = torch.eye(2, requires_grad=True)
    >>> y = checkpoint.checkpoint(
    ...     lambda a: a.mm(a).exp(), x, use_reentrant=False, context_fn=keep
    ... )
    >>> y.diagonal().sum().backward()
    >>> x.grad
    tensor([[5.4366, 0.0000],
            [0.0000, 5.4366]])
    """
    if isinstance(policy_fn_or_list, Sequence) and not isinstance(policy_fn_or_list, str):
        wanted = set(map(_named, policy_fn_or_list))

        def policy(
            context: SelectiveCheckpointContext, op: OpOverload, *arguments: object
        ) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in wanted else CheckpointPolicy.PREFER_RECOMPUTE

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[int, _Kept] = {}
    return _First(kept, policy), _Again(kept, allow_cache_entry_mutation)


def _named(op: OpOverload) -> OpOverload:
    if isinstance(op, OpOverload):
        return op
    if isinstance(op, _core.Op):
        return OpOverload(op.__name__)
    raise ValueError(
        f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. "
        "Please update the OpOverloadPacket to a specific OpOverload. For example, if you have "
        "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
    )


def _op_starts(op: Op) -> Array | None:
    return _state.open[-1].starts(op) if _state.open else None


def _op_ends(op: Op, arguments: tuple[Tensor, ...], result: Tensor) -> None:
    if _state.open and _state.open[-1].running:
        _state.open[-1].ends(op, arguments, result)
