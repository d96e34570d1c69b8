"""Collectives of Python objects: their pickles go as bytes, after their lengths."""

from __future__ import annotations

import pickle
from typing import Any

from .. import _root as rl
from .._core import Tensor
from . import _collectives
from ._groups import ProcessGroup, is_outside, member, place, warn_outside


def to_tensor(obj: Any) -> Tensor:
    """An object's pickle as bytes."""
    return rl.frombuffer(bytearray(pickle.dumps(obj)), dtype=rl.uint8)


def from_tensor(tensor: Tensor) -> Any:
    """The object of a pickle's bytes."""
    return pickle.loads(tensor.contiguous().numpy().tobytes())


def _length(data: Tensor) -> Tensor:
    return rl.tensor([data.numel()], dtype=rl.int64)


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """The list becomes the objects of all processes, in the order of ranks."""
    if is_outside(group):
        warn_outside("all_gather_object")
        return
    own = member(group)
    data = to_tensor(obj)
    lengths = rl.zeros(own.size(), dtype=rl.int64)
    _collectives.all_gather_into_tensor(lengths, _length(data), own)
    longest = int(lengths.max())
    padded = rl.zeros(longest, dtype=rl.uint8)
    padded[: data.numel()] = data
    every = rl.empty(own.size() * longest, dtype=rl.uint8)
    _collectives.all_gather_into_tensor(every, padded, own)
    for i, length in enumerate(lengths.tolist()):
        object_list[i] = from_tensor(every[i * longest : i * longest + length])


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    group_dst: int | None = None,
) -> None:
    """The list of rank `dst` (0 if not told) becomes the objects of all."""
    if is_outside(group):
        warn_outside("gather_object")
        return
    own = member(group)
    root = place(own, 0 if dst is None and group_dst is None else dst, group_dst)
    if own.rank() == root and not object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    if own.rank() != root and object_gather_list:
        raise ValueError(
            "Argument ``object_gather_list`` must NOT be specified on non-destination ranks."
        )
    data = to_tensor(obj)
    lengths = rl.zeros(own.size(), dtype=rl.int64)
    _collectives.all_gather_into_tensor(lengths, _length(data), own)
    longest = int(lengths.max())
    padded = rl.zeros(longest, dtype=rl.uint8)
    padded[: data.numel()] = data
    if own.rank() != root:
        _collectives.gather(padded, None, group=own, group_dst=root)
        return
    every = list(rl.empty(own.size(), longest, dtype=rl.uint8).unbind())
    _collectives.gather(padded, every, group=own, group_dst=root)
    assert object_gather_list is not None
    for i, length in enumerate(lengths.tolist()):
        object_gather_list[i] = from_tensor(every[i][:length])


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """The list's objects become those of rank `src` (0 if not told)."""
    if is_outside(group):
        warn_outside("broadcast_object_list")
        return
    own = member(group)
    root = place(own, 0 if src is None and group_src is None else src, group_src)
    length = rl.zeros(len(object_list), dtype=rl.int64)
    parts = []
    if own.rank() == root:
        parts = [to_tensor(obj) for obj in object_list]
        length = rl.tensor([part.numel() for part in parts], dtype=rl.int64)
    _collectives.broadcast(length, group=own, group_src=root)
    total = int(length.sum())
    data = rl.cat(parts) if parts else rl.empty(total, dtype=rl.uint8)
    _collectives.broadcast(data, group=own, group_src=root)
    if own.rank() != root:
        for i, part in enumerate(data.split(length.tolist())):
            object_list[i] = from_tensor(part)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """The output's first place gets the object at this rank's place in the list of rank `src`."""
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    if is_outside(group):
        warn_outside("scatter_object_list")
        return
    own = member(group)
    root = place(own, 0 if src is None and group_src is None else src, group_src)
    if own.rank() != root:
        length = rl.zeros(1, dtype=rl.int64)
        _collectives.scatter(length, None, group=own, group_src=root)
        data = rl.empty(int(length), dtype=rl.uint8)
        _collectives.recv(data, group=own, group_src=root, tag=_TAG)
        scatter_object_output_list[0] = from_tensor(data)
        return
    if not scatter_object_input_list:
        raise ValueError("Argument ``scatter_object_input_list`` must be specified on source rank.")
    parts = [to_tensor(obj) for obj in scatter_object_input_list]
    lengths = [_length(part) for part in parts]
    _collectives.scatter(rl.zeros(1, dtype=rl.int64), lengths, group=own, group_src=root)
    works = [
        _collectives.isend(part, group=own, group_dst=i, tag=_TAG)
        for i, part in enumerate(parts)
        if i != root
    ]
    for work in works:
        if work is not None:
            work.wait()
    scatter_object_output_list[0] = from_tensor(parts[root])


_TAG = 30_001  # of the messages of objects


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send a list's objects to a process."""
    if is_outside(group):
        warn_outside("send_object_list")
        return
    own = member(group)
    peer = place(own, dst, group_dst)
    parts = [to_tensor(obj) for obj in object_list]
    lengths = rl.tensor([part.numel() for part in parts], dtype=rl.int64)
    _collectives.send(lengths, group=own, group_dst=peer, tag=_TAG)
    if parts:
        _collectives.send(rl.cat(parts), group=own, group_dst=peer, tag=_TAG)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Wait for a list of objects from a process, or from any; the rank that sent it."""
    if is_outside(group):
        warn_outside("recv_object_list")
        return -1
    own = member(group)
    lengths = rl.zeros(len(object_list), dtype=rl.int64)
    sender = _collectives.recv(lengths, src, own, _TAG, group_src)
    if object_list:
        data = rl.empty(int(lengths.sum()), dtype=rl.uint8)
        _collectives.recv(data, sender, own, _TAG)
        for i, part in enumerate(data.split(lengths.tolist())):
            object_list[i] = from_tensor(part)
    return sender
