"""Hooks that average a bucket of gradients: as it is, or sent in half precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import _root as rl
from ...._base.missing import missing_name as _missing_name
from ...._root import Tensor
from ...._torch.futures import Future
from ..._collectives import all_reduce
from ..._groups import ProcessGroup, member

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]

Hook = Callable[[Any, Any], Future[Any]]


def _sum(tensor: Tensor, group: ProcessGroup | None) -> Future[Any]:
    """A future of a list with the tensor, which becomes the sum over the group's processes."""
    work = all_reduce(tensor, group=group, async_op=True)
    assert work is not None  # this process is in the group: `member` has told so
    return work.get_future()


def _mean(tensor: Tensor, group: ProcessGroup | None) -> Future[Any]:
    """A future of the tensor, which becomes the mean over the group's processes.

    It is divided first, so that the sum does not leave the range of half precision.
    """
    own = member(group)
    tensor.div_(own.size())
    return _sum(tensor, own).then(lambda future: future.value()[0])


def allreduce_hook(process_group: ProcessGroup | None, bucket: Any) -> Future[Any]:
    """Average the bucket over the processes, as DistributedDataParallel does without a hook."""
    return _mean(bucket.buffer(), process_group)


def _compress(dtype: Any, group: ProcessGroup | None, bucket: Any) -> Future[object]:
    buffer = bucket.buffer()
    return _mean(buffer.to(dtype), group).then(lambda future: buffer.copy_(future.value()))


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: object) -> Future[Any]:
    """Average the bucket over the processes, sent as float16."""
    return _compress(rl.float16, process_group, bucket)


def bf16_compress_hook(process_group: ProcessGroup | None, bucket: object) -> Future[Any]:
    """Average the bucket over the processes, sent as bfloat16."""
    return _compress(rl.bfloat16, process_group, bucket)


def _compressed(dtype: object, hook: Hook) -> Hook:
    def compressed_hook(state: object, bucket: Any) -> Future[object]:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))
        return hook(state, bucket).then(lambda future: buffer.copy_(future.value()))

    return compressed_hook


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gives another hook the bucket as float16."""
    return _compressed(rl.float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gives another hook the bucket as bfloat16."""
    return _compressed(rl.bfloat16, hook)


__getattr__ = _missing_name(__name__)
