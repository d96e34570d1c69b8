"""MPI as the collectives use it: memory as it lies, datatypes, operators, communicators.

mpi4py is imported by `load`, when a group of more than one process starts. Every transfer is a
non-blocking one; see `_work` for the waiting. Tensors that come here are dense and contiguous.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache, partial
from threading import Lock
from typing import Any

from .. import _core
from .. import _root as rl
from .._core import Tensor
from . import _board, _mpirun, _peers
from ._errors import DistBackendError
from ._work import Request, drive, finished, pending

# Each launcher's variables for how many processes there are.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "PMIX_NAMESPACE")
_AT_EXIT = 5.0  # seconds that a process which ends waits for the others
# Bytes of an all-reduce that MPI gets at once, and at least so many for each process. The
# memory of MPI then stays in the caches: 100 MB between two processes take 8 ms, 30 to 44 ms whole.
_PIECE = 2 << 20
_PIECE_OF_EACH = 64 << 10


def launched() -> bool:
    """Whether mpirun, mpiexec or srun started this process."""
    return any(name in os.environ for name in _SIZES)


def _one_machine() -> bool:
    """Whether the launcher says that all processes are on this machine."""
    here = os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE")
    return here is not None and here == os.environ.get("OMPI_COMM_WORLD_SIZE")


@cache
def load() -> Any:
    """mpi4py's module MPI, started.

    Raises RuntimeError that says what to install.
    """
    os.environ.update(_mpirun.settings(_one_machine()))
    try:
        import mpi4py
    except ImportError:
        raise RuntimeError(_mpirun.MISSING.format(what="mpi4py")) from None
    mpi4py.rc.finalize = False
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        text = _mpirun.MISSING.format(what="an MPI library that mpi4py can load")
        raise RuntimeError(f"{text}\nmpi4py says: {error}") from None
    if _board.VARIABLE not in os.environ:  # the supervisor that set it ends the others
        _end_all_with_the_first_error(MPI)
    atexit.register(_end, MPI)
    return MPI


def _end_all_with_the_first_error(MPI: Any) -> None:
    """An exception that nobody catches ends all processes: the others would wait for this one.

    Where no launcher can end them, this one ends without them, and they notice.
    """
    before = sys.excepthook

    def hook(kind: Any, value: Any, trace: Any) -> None:
        before(kind, value, trace)
        sys.stdout.flush()
        sys.stderr.flush()
        if _peers.watched():
            _board.failing = True
        elif MPI.Is_initialized() and not MPI.Is_finalized() and MPI.COMM_WORLD.size > 1:
            MPI.COMM_WORLD.Abort(1)

    sys.excepthook = hook


def _end(MPI: Any) -> None:
    """The end of a process: what is under way is done first, for as long as the others live."""
    if MPI.Is_finalized() or _board.failing or _peers.lost():
        return
    requests: list[Request] = [r for work in pending() for r in work._requests]
    try:
        together = finished([*requests, MPI.COMM_WORLD.Ibarrier()], _AT_EXIT, _peers.lost)
    except DistBackendError:
        together = False
    if together or not _peers.watched():
        MPI.Finalize()


# ---- datatypes and operators


@cache
def _words(itemsize: int) -> Any:
    """The datatype that moves elements of a size, whatever they mean."""
    MPI = load()
    names = {1: "BYTE", 2: "INT16_T", 4: "INT32_T", 8: "INT64_T", 16: "C_DOUBLE_COMPLEX"}
    return getattr(MPI, names[itemsize])


_NUMBERS = {
    rl.float32: "FLOAT",
    rl.float64: "DOUBLE",
    rl.int8: "INT8_T",
    rl.int16: "INT16_T",
    rl.int32: "INT32_T",
    rl.int64: "INT64_T",
    rl.uint8: "UINT8_T",
    rl.uint16: "UINT16_T",
    rl.uint32: "UINT32_T",
    rl.uint64: "UINT64_T",
    rl.bool: "C_BOOL",
}
_PARTS = {rl.complex64: "FLOAT", rl.complex128: "DOUBLE"}  # two numbers, summed each by itself
_OPERATORS = {"SUM": "SUM", "PRODUCT": "PROD", "MIN": "MIN", "MAX": "MAX"}
_OPERATORS |= {"BAND": "BAND", "BOR": "BOR", "BXOR": "BXOR"}
# Of truth values: the sum is whether any is true, the product whether all are.
_OF_BOOL = {"SUM": "LOR", "MAX": "LOR", "BOR": "LOR", "PRODUCT": "LAND", "MIN": "LAND"}
_OF_BOOL |= {"BAND": "LAND", "BXOR": "LXOR"}


@cache
def _reduction(op: str, dtype: Any) -> tuple[Any, Any, int]:
    """MPI's datatype and operator of a reduction, and how many numbers an element has.

    Raises RuntimeError for a dtype that cannot be reduced so.
    """
    MPI = load()
    if dtype == rl.bool:
        return MPI.C_BOOL, getattr(MPI, _OF_BOOL[op]), 1
    if dtype in _NUMBERS and op in _OPERATORS:
        return getattr(MPI, _NUMBERS[dtype]), getattr(MPI, _OPERATORS[op]), 1
    if dtype in _PARTS and op == "SUM":
        return getattr(MPI, _PARTS[dtype]), MPI.SUM, 2
    if dtype.is_floating_point and dtype.itemsize > 1:
        kind = getattr(MPI, _NUMBERS.get(dtype, "INT16_T"))
        return kind, _own_operator(MPI, _core.between_address(dtype.name, op)), 1
    raise RuntimeError(f"Invalid scalar type: {op} of {dtype} between processes is not defined.")


def _own_operator(MPI: Any, address: int) -> Any:
    """An operator from the address of a C function, by the MPI library that mpi4py runs on.

    mpi4py makes operators of Python functions alone, which a reduction would call with the GIL.
    """
    create = ctypes.CDLL(MPI.__file__).MPI_Op_create
    handle = (ctypes.c_void_p if MPI._sizeof(MPI.Op) == 8 else ctypes.c_int)()
    if create(ctypes.c_void_p(address), 1, ctypes.byref(handle)):
        raise RuntimeError("MPI_Op_create failed.")
    return MPI.Op.fromhandle(handle.value)


def _memory(tensor: Tensor) -> Any:
    size = tensor.numel() * tensor.element_size()
    return load().buffer.fromaddress(tensor.data_ptr() if size else 0, size)


def _moved(tensor: Tensor) -> list[Any]:
    """A tensor's memory, for transfers that do not look into it."""
    return [_memory(tensor), tensor.numel(), _words(tensor.element_size())]


class Communicator:
    """The processes of a group, as MPI connects them; ranks are those of the group."""

    rank: int
    size: int

    def __init__(self, comm: Any) -> None:
        """comm: the collectives' own; messages, and tensors in pieces, go by duplicates of it."""
        self._comm, self._messages = comm, comm.Dup()
        self._line = _Line(comm.Dup())
        self.rank, self.size = int(comm.rank), int(comm.size)

    @classmethod
    def world(cls, rank: int) -> Communicator:
        """All processes, in the order of the ranks they give."""
        return cls(load().COMM_WORLD.Split(0, rank))

    def part(self, ranks: list[int], tag: int) -> Communicator:
        """The group of these ranks; only they call."""
        chosen = self._comm.group.Incl(ranks)
        made = Communicator(self._comm.Create_group(chosen, tag))
        chosen.Free()
        return made

    def free(self) -> None:
        """Give MPI its communicators back."""
        if not load().Is_finalized():
            self._messages.Free()
            self._line.comm.Free()
            self._comm.Free()

    def all_reduce(self, tensor: Tensor, op: str) -> Request:
        """Each process's tensor becomes the result."""
        kind, operator, parts = _reduction(op, tensor.dtype)
        memory, count = _memory(tensor), tensor.numel() * parts
        piece = max(_PIECE, self.size * _PIECE_OF_EACH)
        if len(memory) <= piece:
            return self._comm.Iallreduce(load().IN_PLACE, [memory, count, kind], operator)
        pieces = []
        for begin in range(0, len(memory), piece):
            part = memory[begin : begin + piece]
            spec = [part, len(part) * count // len(memory), kind]
            pieces.append(partial(self._line.comm.Iallreduce, load().IN_PLACE, spec, operator))
        return self._line.appended(pieces)

    def reduce(self, tensor: Tensor, op: str, root: int) -> Request:
        """The root's tensor becomes the result; the others' stay."""
        kind, operator, parts = _reduction(op, tensor.dtype)
        spec = [_memory(tensor), tensor.numel() * parts, kind]
        if self.rank == root:
            return self._comm.Ireduce(load().IN_PLACE, spec, operator, root)
        return self._comm.Ireduce(spec, None, operator, root)

    def broadcast(self, tensor: Tensor, root: int) -> Request:
        """Each process's tensor becomes the root's."""
        return self._comm.Ibcast(_moved(tensor), root)

    def all_gather(self, output: Tensor, input: Tensor) -> Request:
        """The output, of `size` times as many elements, gets all inputs in the order of ranks."""
        target = _moved(output)
        target[1] = input.numel()
        return self._comm.Iallgather(_moved(input), target)

    def reduce_scatter(self, output: Tensor, input: Tensor, op: str) -> Request:
        """The output gets this rank's part of the result; the input has `size` parts."""
        kind, operator, parts = _reduction(op, input.dtype)
        count = output.numel() * parts
        target = [_memory(output), count, kind]
        return self._comm.Ireduce_scatter_block([_memory(input), count, kind], target, operator)

    def all_to_all(
        self, output: Tensor, input: Tensor, outputs: list[int] | None, inputs: list[int] | None
    ) -> Request:
        """Part i of the input goes to rank i; outputs, inputs: elements of each part if unequal."""
        target, source = _moved(output), _moved(input)
        if outputs is None and inputs is None:
            target[1] //= self.size
            source[1] //= self.size
            return self._comm.Ialltoall(source, target)
        target[1] = outputs or [output.numel() // self.size] * self.size
        source[1] = inputs or [input.numel() // self.size] * self.size
        return self._comm.Ialltoallv(source, target)

    def barrier(self) -> Request:
        """Done when all have started it."""
        return self._comm.Ibarrier()

    def send(self, tensor: Tensor, peer: int, tag: int, own: bool = False) -> Request:
        """A message; own: one of a collective's."""
        return (self._comm if own else self._messages).Isend(_moved(tensor), peer, tag)

    def receive(self, tensor: Tensor, peer: int | None, tag: int, own: bool = False) -> Request:
        """A message from a rank; None: from any."""
        source = load().ANY_SOURCE if peer is None else peer
        return _Receipt((self._comm if own else self._messages).Irecv(_moved(tensor), source, tag))


class _Line:
    """All-reduces in pieces: one piece at a time, in the order in which they were asked for.

    The order is that of all processes, so the pieces meet, whoever waits for which of them.
    """

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self._waiting: deque[tuple[_Pieces, Callable[[], Any]]] = deque()
        self._running: tuple[_Pieces, Any] | None = None
        self._lock = Lock()  # of the thread that tests requests; others wait

    def appended(self, pieces: Sequence[Callable[[], object]]) -> Request:
        """Add a tensor by functions that start its pieces; the request is for the whole tensor."""
        made = _Pieces(self, len(pieces))
        self._waiting.extend((made, piece) for piece in pieces)
        if not self.go_on():
            drive(self.go_on)
        return made

    def go_on(self) -> bool:
        """Test the piece that runs and start the next ones; whether none is left."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            return self._go_on()
        finally:
            self._lock.release()

    def _go_on(self) -> bool:
        while True:
            if self._running is None:
                if not self._waiting:
                    return True
                owner, start = self._waiting.popleft()
                self._running = owner, start()
            owner, request = self._running
            if not request.Test():
                return False
            self._running = None
            owner.left -= 1


class _Pieces:
    """The request of a tensor that goes in pieces."""

    def __init__(self, line: _Line, left: int) -> None:
        self._line, self.left = line, left

    def Test(self) -> bool:
        """Go on; whether no piece is left."""
        if self.left:
            self._line.go_on()
        return not self.left


class _Receipt:
    """A message that is awaited; afterwards it tells the sender and the size."""

    def __init__(self, request: Any) -> None:
        self._request, self._status = request, load().Status()
        self._done = False

    def Test(self) -> bool:
        """Go on; whether it has come."""
        if not self._done:
            self._done = self._request.Test(self._status)
        return self._done

    @property
    def source(self) -> int:
        """The rank that sent it."""
        return int(self._status.source)

    @property
    def bytes(self) -> int:
        """How many bytes came."""
        return int(self._status.Get_elements(load().BYTE))
