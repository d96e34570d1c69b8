"""Hooks that send gradients as bytes: each process's with its own scale and zero point."""

from __future__ import annotations

from typing import Any

from .... import _root as rl
from ...._base.missing import missing_name as _missing_name
from ...._root import Tensor
from ...._torch.futures import Future
from ..._collectives import all_gather_into_tensor
from ..._groups import ProcessGroup, member

__all__ = ["quantization_perchannel_hook", "quantization_pertensor_hook"]


def _scales(rows: Tensor) -> Tensor:
    """The scale and the zero point of each row, so that its range and 0 lie within 0 to 255."""
    low = rows.amin(1).clamp(max=0).float()
    high = rows.amax(1).clamp(min=0).float()
    scale = ((high - low) / 255).clamp(min=rl.finfo(rl.float32).eps)
    zero = (-(low / scale).round()).clamp(0, 255)
    return rl.stack([scale, zero], 1)


def _mean_of_bytes(rows: Tensor, group: ProcessGroup | None, length: int) -> Future[object]:
    own = member(group)
    with_size = (own.size(), *rows.shape)
    scales = _scales(rows)
    sent = ((rows / scales[:, :1]).round() + scales[:, 1:]).clamp(0, 255).to(rl.uint8)
    every_scale = rl.empty(own.size(), *scales.shape, device=scales.device)
    every = rl.empty(with_size, dtype=rl.uint8, device=rows.device)
    first = all_gather_into_tensor(every_scale, scales, group=own, async_op=True)
    second = all_gather_into_tensor(every, sent, group=own, async_op=True)
    assert first is not None and second is not None

    def mean(_: Future[Any]) -> Tensor:
        first.wait()
        values = every_scale[..., :1] * (every.float() - every_scale[..., 1:])
        return values.sum(0).view(-1)[:length] / own.size()

    return second.get_future().then(mean)


def quantization_pertensor_hook(process_group: ProcessGroup | None, bucket: Any) -> Future[Any]:
    """Average the bucket over the processes, sent as bytes with one scale for all of it."""
    flat = bucket.buffer()
    return _mean_of_bytes(flat.view(1, -1), process_group, flat.numel())


def quantization_perchannel_hook(
    process_group: ProcessGroup | None, bucket: Any, bucket_size: int = 512
) -> Future[Any]:
    """Average the bucket over the processes, sent as bytes with a scale per bucket_size of them."""
    flat = bucket.buffer()
    rows = flat.new_zeros(-(-flat.numel() // bucket_size), bucket_size)
    rows.view(-1)[: flat.numel()] = flat
    return _mean_of_bytes(rows, process_group, flat.numel())


__getattr__ = _missing_name(__name__)
