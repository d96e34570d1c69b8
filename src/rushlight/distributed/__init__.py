"""`torch.distributed` for one process: a group of one, whose collectives give what they are given.

`is_available()` is False: processes do not talk to each other here, and programs that ask go on as
one process. A program that starts a group of one anyway finds it working.
"""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

from .. import _root as rl
from .._core import Tensor
from .._missing import missing_name as _missing_name
from ._named_only import NamedOnly as _NamedOnly

__all__ = [
    "Backend",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "GroupMember",
    "P2POp",
    "ProcessGroup",
    "ReduceOp",
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
]


class DistError(RuntimeError):
    """What goes wrong between processes."""


class DistBackendError(DistError):
    """What goes wrong in a backend."""


class DistNetworkError(DistError):
    """What goes wrong in the network."""


class DistStoreError(DistError):
    """What goes wrong in a store."""


class Backend(str):
    """The name of a backend, in lower case.

    >>> torch.distributed.Backend("GLOO")
    'gloo'
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": GLOO, "cuda": NCCL}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())


class ReduceOp(enum.Enum):
    """How the values of processes become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]


class Work:
    """What a collective with `async_op=True` gives: it is done already."""

    def __init__(self, value: Any = None) -> None:
        self._value = value

    def wait(self, timeout: Any = None) -> bool:
        """True: it is done."""
        return True

    def is_completed(self) -> bool:
        """True: it is done."""
        return True

    def is_success(self) -> bool:
        """True: nothing can fail."""
        return True

    def exception(self) -> None:
        """None: nothing can fail."""

    def result(self) -> Any:
        """What the collective gave."""
        return self._value


class ProcessGroup:
    """A group of one process."""

    def __init__(self, backend: str = "gloo") -> None:
        self._backend = Backend(backend)

    def rank(self) -> int:
        """0."""
        return 0

    def size(self) -> int:
        """1."""
        return 1

    def name(self) -> str:
        """The backend's name."""
        return self._backend


class _Groups(type):
    """`group.WORLD` and `GroupMember.WORLD`: the group of all processes; None before it starts."""

    _world: ProcessGroup | None = None

    @property
    def WORLD(cls) -> ProcessGroup | None:
        return _Groups._world


class group(metaclass=_Groups):
    """Where `group.WORLD` is."""


class GroupMember(metaclass=_Groups):
    """Where `GroupMember.WORLD` is, and what a process has that is in no group."""

    NON_GROUP_MEMBER = -100


class P2POp:
    """A send or receive for `batch_isend_irecv`, which one process has no partner for."""

    def __init__(self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None) -> None:
        self.op, self.tensor, self.peer = op, tensor, peer


# ---- the group


def is_available() -> bool:
    """False: processes do not talk to each other here."""
    return False


def is_initialized() -> bool:
    """Whether `init_process_group` was called.

    >>> torch.distributed.is_initialized()
    False
    """
    return _Groups._world is not None


def is_backend_available(backend: str) -> bool:
    """False: see `is_available`."""
    return False


def _no_backend() -> bool:
    """False: see `is_available`."""
    return False


is_gloo_available = is_mpi_available = is_nccl_available = is_ucc_available = _no_backend
is_xccl_available = _no_backend


def is_torchelastic_launched() -> bool:
    """Whether torchrun started the process.

    >>> torch.distributed.is_torchelastic_launched()
    False
    """
    return "TORCHELASTIC_RUN_ID" in os.environ


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Start the group of this process; the numbers not given come from RANK and WORLD_SIZE.

    Raises ValueError where they are told nowhere or there is a group already, NotImplementedError
    for more than one process.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    found = {"RANK": rank, "WORLD_SIZE": world_size}
    for name, value in found.items():
        if value == -1:
            if name not in os.environ:
                raise ValueError(
                    "Error initializing torch.distributed using env:// rendezvous: environment "
                    f"variable {name} expected, but not set"
                )
            found[name] = int(os.environ[name])
    if found["WORLD_SIZE"] != 1 or found["RANK"] != 0:
        raise NotImplementedError(
            f"torch.distributed of {found['WORLD_SIZE']} processes is not in rushlight: it "
            "computes in one process (world_size=1, rank=0)."
        )
    _Groups._world = ProcessGroup(backend or "gloo")


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End the group."""
    if group is None and _Groups._world is None:
        raise AssertionError("Process group cannot be None")
    if group is None or group is _Groups._world:
        _Groups._world = None


def _group(group: ProcessGroup | None) -> ProcessGroup:
    if group is not None:
        return group
    if _Groups._world is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
    return _Groups._world


def get_rank(group: ProcessGroup | None = None) -> int:
    """0, in a group.

    >>> torch.distributed.get_rank()
    Traceback (most recent call last):
        ...
    ValueError: Default process group has not been initialized, please make sure to call...
    """
    return _group(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """1, in a group."""
    return _group(group).size()


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """The name that `init_process_group` was given."""
    return _group(group)._backend


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """[0]."""
    return list(range(_group(group).size()))


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank itself: there is one group."""
    return group_rank


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank itself: there is one group."""
    return global_rank


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """LOCAL_RANK of the environment, or the fallback."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device context and "
        "want the code to run locally instead."
    )


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: Any = None,
    backend: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> ProcessGroup | int:
    """Another group of this process; what is no member gets `GroupMember.NON_GROUP_MEMBER`."""
    world = _group(None)
    if ranks is not None and 0 not in ranks:
        return GroupMember.NON_GROUP_MEMBER
    return ProcessGroup(backend or world._backend)


# ---- collectives: each process of one has what all have


def _done(value: Any, async_op: bool) -> Work | None:
    return Work(value) if async_op else None


def _written(target: Tensor, source: Tensor) -> Tensor:
    with rl.no_grad():
        return target.copy_(source.reshape(target.shape))


def all_reduce(
    tensor: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """The tensor keeps its values."""
    _group(group)
    return _done([tensor], async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The tensor keeps its values."""
    _group(group)
    return _done([tensor], async_op)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """The tensor keeps its values."""
    _group(group)
    return _done([tensor], async_op)


def all_gather(
    tensor_list: list[Tensor],
    tensor: Tensor,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """The one tensor of the list gets the values."""
    _group(group)
    _written(tensor_list[0], tensor)
    return _done([tensor_list], async_op)


def _copying(name: str, doc: str) -> Callable[..., Work | None]:
    """A collective that writes its second argument to its first."""

    def collective(
        output: Tensor,
        input: Tensor,
        *settings: Any,
        group: ProcessGroup | None = None,
        async_op: bool = False,
        **more: Any,
    ) -> Work | None:
        _group(group)
        return _done([_written(output, input)], async_op)

    collective.__name__ = collective.__qualname__ = name
    collective.__doc__ = doc
    return collective


all_gather_into_tensor = _copying("all_gather_into_tensor", "The output gets the input's values.")
reduce_scatter_tensor = _copying("reduce_scatter_tensor", "The output gets the input's values.")
all_to_all_single = _copying("all_to_all_single", "The output gets the input's values.")


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """The output gets the values of the one tensor of the list."""
    _group(group)
    return _done([_written(output, input_list[0])], async_op)


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """The one output gets the values of the one input."""
    _group(group)
    _written(output_tensor_list[0], input_tensor_list[0])
    return _done(output_tensor_list, async_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The one tensor of the list gets the values."""
    _group(group)
    if not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _written(gather_list[0], tensor)
    return _done([gather_list], async_op)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """The tensor gets the values of the one tensor of the list."""
    _group(group)
    if not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    return _done([_written(tensor, scatter_list[0])], async_op)


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """The list's one place gets the object."""
    _group(group)
    object_list[0] = obj


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    group_dst: int | None = None,
) -> None:
    """The list's one place gets the object."""
    _group(group)
    if object_gather_list is not None:
        object_gather_list[0] = obj


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """The list keeps its objects."""
    _group(group)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """The output's one place gets the one object of the input."""
    _group(group)
    if scatter_object_input_list:
        scatter_object_output_list[0] = scatter_object_input_list[0]


def barrier(
    group: ProcessGroup | None = None,
    async_op: bool = False,
    device_ids: Any = None,
    timeout: Any = None,
) -> Work | None:
    """Nobody to wait for."""
    _group(group)
    return _done(None, async_op)


def monitored_barrier(
    group: ProcessGroup | None = None, timeout: Any = None, wait_all_ranks: bool = False
) -> None:
    """Nobody to wait for."""
    _group(group)


def _no_partner(
    tensor: Any = None,
    peer: int | None = None,
    group: ProcessGroup | None = None,
    *args: Any,
    **kwargs: Any,
) -> NoReturn:
    """Refused: a group of one has no other process to send to or receive from."""
    _group(group)
    raise ValueError(
        "Invalid peer: a group of one process has no other to send to or to receive from."
    )


send = recv = isend = irecv = batch_isend_irecv = _no_partner

sys.meta_path.append(_NamedOnly())
__getattr__ = _missing_name(
    __name__,
    {
        "DeviceMesh": "device_mesh",
        "init_device_mesh": "device_mesh",
        **dict.fromkeys(
            ["FileStore", "HashStore", "PrefixStore", "QueueEmptyError", "Store", "TCPStore"],
            "_stores",
        ),
        "register_rendezvous_handler": "_rendezvous",
        "rendezvous": "_rendezvous",
        **{
            name: name
            for name in """algorithms checkpoint constants device_mesh distributed_c10d elastic
            fsdp nn optim pipelining rpc tensor utils""".split()
        },
    },
)
