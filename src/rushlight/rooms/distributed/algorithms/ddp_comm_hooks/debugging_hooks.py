"""A hook that sends nothing: the time of a step without communication."""

from __future__ import annotations

from typing import Any

from ...._base.missing import missing_name as _missing_name
from ...._torch.futures import Future

__all__ = ["noop_hook"]


def noop_hook(_: object, bucket: Any) -> Future[Any]:
    """The bucket as it is: each process goes on with its own gradients."""
    future: Future[object] = Future()
    future.set_result(bucket.buffer())
    return future


__getattr__ = _missing_name(__name__)
