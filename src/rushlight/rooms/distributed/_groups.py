"""Groups of processes: how they start and end, which process has which rank."""

from __future__ import annotations

import importlib.util
import itertools
import os
import zlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from .._base.errors import warn
from . import _board, _peers, _solo
from ._options import Backend
from ._work import pending, seconds
from .constants import default_pg_timeout

if TYPE_CHECKING:
    from ._mpi import Communicator
else:
    Communicator = Any  # so that the annotations can be read where there is no MPI


class ProcessGroup:
    """Processes that compute together; each has a rank in it.

    `torch.distributed`'s functions take it as `group`.
    """

    group_desc: str
    group_name: str

    def __init__(
        self,
        communicator: Communicator | _solo.Solo,
        ranks: Sequence[int],
        backend: Backend,
        timeout: timedelta,
        name: str,
        desc: str,
    ) -> None:
        """ranks: the global ones, in the order of the group's."""
        self._communicator, self._ranks, self._backend = communicator, list(ranks), backend
        self._places = {rank: i for i, rank in enumerate(self._ranks)}
        self._limit = seconds(timeout)
        self._started = 0  # collectives
        self.group_name, self.group_desc = name, desc
        self._number = int(name)
        self._board: _board.Board | None = (
            _board.opened() if self._number == 0 else default_group()._board
        )
        self.bound_device_id: None = None

    def rank(self) -> int:
        """This process's number in the group."""
        return self._communicator.rank

    def size(self) -> int:
        """How many processes the group has."""
        return self._communicator.size

    def name(self) -> str:
        """The backend's name."""
        return str(self._backend)

    def set_timeout(self, timeout: timedelta) -> None:
        """How long a collective may take."""
        self._limit = seconds(timeout)

    def _get_sequence_number_for_group(self) -> int:
        """How many collectives were started."""
        return self._started

    def get_group_store(self) -> Any:
        """The store of the processes."""
        return _World.store()

    def _late(self, number: int) -> str:
        """Who has not come to a collective; told to the supervisor, which shows where they are."""
        if self._board is None:
            return ""
        late = self._board.behind(number, self._ranks, self._number)
        self._board.timed_out(late)
        return f" Ranks that have not come: {late}." if late else ""

    def _lost(self, peer: int | None = None) -> Callable[[], str] | None:
        """The function that names the dead of the group; None: a launcher watches over the group.

        peer: its rank in the group.
        """
        if not _peers.watched():
            return None
        return partial(_peers.lost, self._ranks if peer is None else [self._ranks[peer]])

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_desc}, rank {self.rank()} of {self.size()}>"


class _World:
    """This process's groups, and the store that it shares with the other processes."""

    group: ProcessGroup | None = None
    groups: dict[ProcessGroup, str]  # each with its backend's name
    _store: Any = None

    @classmethod
    def store(cls) -> object:
        """The store that the processes share, started when it is first asked for by all."""
        if cls._store is None:
            from . import _stores

            group = default_group()
            if group.size() == 1:
                cls._store = _stores.HashStore()
            else:
                cls._store = _shared_store(group)
        return cls._store


_World.groups = {}
_numbers = itertools.count()


class _Groups(type):
    """`group.WORLD` and `GroupMember.WORLD`: the group of all processes; None before it starts."""

    @property
    def WORLD(cls) -> ProcessGroup | None:
        return _World.group

    @WORLD.setter
    def WORLD(cls, value: ProcessGroup | None) -> None:
        _World.group = value


class group(metaclass=_Groups):
    """Where `group.WORLD` is."""


class GroupMember(metaclass=_Groups):
    """Where `GroupMember.WORLD` is, and what a process has that is in no group."""

    NON_GROUP_MEMBER = -100


for _class in (ProcessGroup, group, GroupMember):
    _class.__module__ = "rushlight.distributed"


# ---- what there is


def is_available() -> bool:
    """True: the package is here. A job of several processes raises an error where it lacks MPI.

    >>> torch.distributed.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` was called.

    >>> torch.distributed.is_initialized()
    False
    """
    return _World.group is not None


def is_mpi_available() -> bool:
    """Whether mpi4py is installed."""
    return importlib.util.find_spec("mpi4py") is not None


def is_gloo_available() -> bool:
    """True: MPI answers for it."""
    return True


def _not_here() -> bool:
    """False: a backend of GPUs."""
    return False


is_nccl_available: Callable[[], bool] = _not_here
is_ucc_available: Callable[[], bool] = _not_here
is_xccl_available: Callable[[], bool] = _not_here


def is_backend_available(backend: str) -> bool:
    """Whether `init_process_group` takes a backend's name."""
    here = {"gloo": is_gloo_available, "mpi": is_mpi_available}
    return here.get(backend.lower(), _not_here)()


def is_torchelastic_launched() -> bool:
    """Whether torchrun started the process.

    >>> torch.distributed.is_torchelastic_launched()
    False
    """
    return "TORCHELASTIC_RUN_ID" in os.environ


# ---- start and end


def _backend_of_cpu(backend: str | None) -> Backend:
    """The backend that answers for the CPU, of what `init_process_group` is given.

    Raises RuntimeError for one that needs a GPU, AssertionError for an unknown name.
    """
    if backend is None:
        return Backend(Backend.UNDEFINED)
    name = Backend(backend)
    chosen = name
    for part in name.split(","):
        device, colon, of_device = part.partition(":")
        one = of_device if colon else device
        if one not in Backend.backend_list:
            raise AssertionError(f"Unknown backend type {one}")
        if one in ("nccl", "ucc", "xccl"):
            raise RuntimeError(
                f"Distributed package doesn't have {one.upper()} built in. Processes "
                'meet by way of the host here: use backend="gloo" or "mpi", or none.'
            )
        if colon and device == "cpu":
            chosen = Backend(one)
    return chosen


def _check_timeout(timeout: object) -> timedelta:
    if timeout is None:
        return default_pg_timeout
    if not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    return timeout


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: object = None,
    device_id: object = None,
    _ranks: list[int] | None = None,
) -> None:
    """Start the group of all processes: this one goes on when all have called.

    backend: "mpi" or "gloo" (MPI answers for both), or none. Processes started by `rushlight run
    --nproc`, `rushlight torchrun`, mpirun or srun know their ranks and how many they are; others
    tell them, or RANK and WORLD_SIZE do, and meet at init_method ("env://", "tcp://host:port",
    "file:///path") or at the store.

    timeout: how long one collective may wait, half an hour if not given.

    Raises ValueError for ranks told nowhere or for a second group, RuntimeError where MPI is not
    installed and there is more than one process.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    limit = _check_timeout(timeout)
    name = _backend_of_cpu(backend)
    from . import _mpi

    if _mpi.launched() and world_size != 1:
        communicator: Any = _started_by_mpi(world_size, rank)
    elif store is None and _alone(init_method, world_size, rank):
        communicator = _solo.Solo()
    else:
        if store is None:
            from ._rendezvous import rendezvous

            store, rank, world_size = next(
                iter(rendezvous(init_method or "env://", rank, world_size, timeout=limit))
            )
        elif rank < 0 or world_size < 1:
            raise AssertionError("rank and world_size must be given with a store")
        if world_size == 1:
            communicator = _solo.Solo()
        else:
            from . import _adopted, _mpirun

            if not is_mpi_available():  # before anyone waits for the others
                raise RuntimeError(_mpirun.MISSING.format(what="mpi4py"))
            _adopted.join(store, rank, world_size)
            communicator = _mpi.Communicator.world(rank)
    _World._store = store
    ranks = range(communicator.size)
    _World.group = ProcessGroup(communicator, ranks, name, limit, "0", "default_pg")
    _World.groups[_World.group] = name


def _alone(init_method: str | None, world_size: int, rank: int) -> bool:
    """Whether the numbers say one process, and nothing where others could meet it."""
    if init_method not in (None, "env://") or "MASTER_ADDR" in os.environ:
        return False
    size = os.environ.get("WORLD_SIZE") if world_size == -1 else world_size
    own = os.environ.get("RANK") if rank == -1 else rank
    return (str(own), str(size)) == ("0", "1")


def _started_by_mpi(world_size: int, rank: int) -> Communicator:
    """The communicator of the processes that a launcher started.

    Raises ValueError where the program is told other numbers than the launcher's.
    """
    from . import _mpi

    MPI = _mpi.load()
    size, own = MPI.COMM_WORLD.size, MPI.COMM_WORLD.rank
    told = world_size if world_size != -1 else int(os.environ.get("WORLD_SIZE", size))
    if told != size:
        raise ValueError(
            f"world_size is {told}, and the launcher (mpirun or srun) started {size} processes. "
            "Start as many, or leave world_size out."
        )
    wanted = rank if rank != -1 else int(os.environ.get("RANK", own))
    if not 0 <= wanted < size:
        raise ValueError(f"rank is {wanted}; of {size} processes the ranks are 0 to {size - 1}.")
    return _mpi.Communicator.world(wanted)


def _shared_store(world: ProcessGroup) -> object:
    """A store at rank 0 of processes that need none to start; all call."""
    import socket

    from ._objects import broadcast_object_list
    from ._stores import TCPStore

    place: list[Any] = [None]
    if world.rank() == 0:
        own = TCPStore("localhost", 0, world.size(), True, wait_for_workers=False)
        place = [(os.environ.get("MASTER_ADDR", socket.gethostname()), own.port)]
        broadcast_object_list(place, 0)
        return own
    broadcast_object_list(place, 0)
    host, port = place[0]
    return TCPStore(host, port, world.size(), wait_for_workers=False)


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End a group; without one, all."""
    if is_outside(group):
        return
    if group is None and _World.group is None:
        raise AssertionError("Process group cannot be None")
    chosen = _World.group if group is None else group
    if chosen not in _World.groups:
        raise ValueError("Invalid process group specified or has been destroyed")
    for work in pending():
        work.is_completed()
    ending = list(_World.groups) if chosen is _World.group else [chosen]
    for one in reversed(ending):
        one._communicator.free()
        del _World.groups[one]
    if chosen is _World.group:
        _World.group, _World._store = None, None


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: object = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: object = None,
    sort_ranks: bool = True,
) -> ProcessGroup | int:
    """A group of some of the processes; all call, in the same order.

    ranks: the global ones, all if not given. A process that is not among them gets
    `GroupMember.NON_GROUP_MEMBER`. Raises ValueError for ranks that are not there, or there twice.
    """
    world = default_group()
    chosen = list(range(world.size())) if ranks is None else [int(rank) for rank in ranks]
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"ranks list must not contain duplicate entries, got {chosen}")
    for rank in chosen:
        if not 0 <= rank < world.size():
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {world.size() - 1} "
                f"(world_size={world.size()})"
            )
    if sort_ranks:
        chosen.sort()
    limit = _check_timeout(timeout)
    name = world._backend if backend is None else _backend_of_cpu(backend)
    number = next(_numbers) + 1
    if world.rank() not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    tag = zlib.crc32(repr(chosen).encode()) % 30_000 if use_local_synchronization else number
    part = world._communicator.part(chosen, tag % 30_000)
    desc = group_desc or "undefined"
    made = ProcessGroup(part, chosen, name, limit, str(number), desc)
    _World.groups[made] = name
    return made


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
) -> tuple[ProcessGroup | int | None, list[ProcessGroup | int]]:
    """A group for each list of ranks: the one of this process, and all."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    all_ranks = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(all_ranks)) != len(all_ranks):
        twice = next(rank for rank in all_ranks if all_ranks.count(rank) > 1)
        raise ValueError(f"Rank {twice} has appeared in both subgroups")
    own: ProcessGroup | int | None = None
    made = []
    for ranks in ranks_per_subgroup_list:
        made.append(new_group(ranks, timeout, backend, group_desc=group_desc))
        if get_rank() in ranks:
            own = made[-1]
    return own, made


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
) -> tuple[ProcessGroup | int | None, list[ProcessGroup | int]]:
    """Groups of `group_size` processes each, one after the other: this process's, and all."""
    size = get_world_size()
    each = int(os.environ.get("LOCAL_WORLD_SIZE", size)) if group_size is None else group_size
    if each <= 0:
        raise ValueError(f"The arg 'group_size' ({each}) must be positive")
    if size < each:
        raise ValueError(f"The arg 'group_size' ({each}) must not exceed the world size ({size})")
    if size % each:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size={each}'")
    parts = [range(first, first + each) for first in range(0, size, each)]
    return new_subgroups_by_enumeration(parts, timeout, backend, group_desc=group_desc)


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: list[list[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> ProcessGroup | None:
    """The group of this process among parts of a group, told by the group's ranks; all call."""
    parent = member(parent_pg)
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parts = [[parent._ranks[rank] for rank in ranks] for ranks in split_ranks]
    own, _ = new_subgroups_by_enumeration(parts, timeout, backend, group_desc=group_desc)
    return own if isinstance(own, ProcessGroup) else None


# ---- who is who


def default_group() -> ProcessGroup:
    """The group of all processes; ValueError where none was started."""
    if _World.group is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
    return _World.group


def is_outside(group: object) -> bool:
    """Whether this process is not in the group."""
    return group is not None and group == GroupMember.NON_GROUP_MEMBER


def member(group: ProcessGroup | None) -> ProcessGroup:
    """The group that a call means, of which this process is one.

    Raises ValueError where no group was started, or that one was ended.
    """
    world = default_group()
    if group is None:
        return world
    if is_outside(group):
        raise ValueError("Invalid process group specified: this process is not in it.")
    if group not in _World.groups:
        raise ValueError("Invalid process group specified or has been destroyed")
    return group


def present(name: str, group: ProcessGroup | None) -> ProcessGroup | None:
    """The group that a call of a collective means; None, with a warning, outside of it."""
    if not is_outside(group):
        return member(group)
    warn(
        f"Running {name} on global rank {get_rank()} which does not belong to the given group.",
    )
    return None


def place(
    group: ProcessGroup, rank: int | None, group_rank: int | None, default: int | None = None
) -> int:
    """A rank in the group, of a global one or of one in the group; default: a global one.

    Raises ValueError where both or none are told, or there is no such rank.
    """
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if rank is None and group_rank is None:
        rank = default
    if rank is not None:
        return get_group_rank(group, rank)
    if group_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return int(group_rank)


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's rank in a group; -1 where it is not in it.

    >>> torch.distributed.get_rank()
    Traceback (most recent call last):
        ...
    ValueError: Default process group has not been initialized, please make sure to call...
    """
    return -1 if is_outside(group) else member(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many processes a group has; -1 where this one is not in it."""
    return -1 if is_outside(group) else member(group).size()


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """The name that `init_process_group` was given."""
    return member(group)._backend


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """The backend of each device."""
    name = member(group)._backend
    return f"cpu:{Backend.GLOO if name == Backend.UNDEFINED else name}"


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The global ranks of a group's processes, in the order of their ranks in it."""
    return list(member(group)._ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The global rank of a group's process; ValueError where it has none such."""
    if group is _World.group:
        return group_rank
    if not 0 <= group_rank < len(group._ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group._ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in a group of a process; ValueError where it is not in it."""
    found = group._places.get(global_rank)
    if found is None:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return found


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


def get_pg_count() -> int:
    """How many groups there are."""
    return len(_World.groups)
