"""Memory that processes share: `share_memory_()` of tensors and storages.

A shared block is a file without a name, mapped. A forked process has the block as it is. A process
that is sent a tensor by `multiprocessing` (an argument of a Process, a Queue, a Pipe) gets the
file's number, and maps the file, too. This is PyTorch's "file_descriptor" strategy. A tensor of an
accelerator is sent by value.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["send_as", "share"]

UntypedStorage = _core.UntypedStorage


class _Block(mmap.mmap):
    """A block of shared memory: the mapped pages of a file, and the file's number. The block closes
    the file."""

    is_shared = True
    file: int

    def __new__(cls, file: int, nbytes: int) -> _Block:
        try:
            block = super().__new__(cls, file, nbytes)
        except BaseException:
            os.close(file)
            raise
        block.file = file
        return block

    def __del__(self) -> None:
        os.close(self.file)


def _new_block(nbytes: int) -> _Block:
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("rushlight")
    else:
        with tempfile.TemporaryFile() as named:
            file = os.dup(named.fileno())
    try:
        os.ftruncate(file, nbytes)
    except BaseException:
        os.close(file)
        raise
    return _Block(file, nbytes)


def share(storage: Any) -> Any:
    """Move the bytes of a storage to shared memory, unless they are there. Gives it back."""
    if not storage.is_shared():
        if storage._is_meta:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        nbytes = max(storage.nbytes(), 1)
        try:
            block = _new_block(nbytes)
        except OSError as error:
            raise RuntimeError(
                f"unable to allocate shared memory(shm) for file <unnamed>: {error.strerror} "
                f"({error.errno}). {nbytes} bytes were asked for."
            ) from None
        storage._move(block)
    return storage


def _received(file: Any, nbytes: int, capacity: int) -> Any:
    storage = UntypedStorage(0)
    storage._move(_Block(file.detach(), capacity), nbytes)
    return storage


def _reduce_storage(storage: Any) -> Any:
    block = storage._owner if storage.is_shared() else None
    if block is None:  # by value; an accelerator's memory is never sent as it is
        return storage.__reduce_ex__(2)
    return _received, (DupFd(block.file), storage.nbytes(), len(block))


def _placed(cls: Any, storage: Any, dtype: Any, place: Any, requires_grad: bool) -> Any:
    tensor = _core.place(storage, dtype, *place)
    if cls is None:
        return tensor.requires_grad_(requires_grad)
    send_as(cls)
    return Tensor._make_subclass(cls, tensor, requires_grad)


def _reduce_tensor(tensor: Any) -> Any:
    if not tensor.is_shared() or tensor.is_conj() or tensor.is_neg():
        return tensor.__reduce_ex__(2)
    if tensor._accelerator is not None and (tensor.is_leaf or not tensor.requires_grad):
        return tensor.__reduce_ex__(2)
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries.  If you just want to transfer the data, "
            "call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    place = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    cls = None if type(tensor) is Tensor else type(tensor)
    storage = tensor.untyped_storage()
    return _placed, (cls, storage, tensor.dtype, place, tensor.requires_grad)


def send_as(cls: type) -> None:
    """Send tensors of a class as their place in shared memory, where they are there."""
    ForkingPickler.register(cls, _reduce_tensor)


ForkingPickler.register(UntypedStorage, _reduce_storage)
send_as(Tensor)
