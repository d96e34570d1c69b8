"""Which implementations `scaled_dot_product_attention` may use; here there is one for all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from ..._base.missing import missing_name as _missing_name

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(Enum):
    """PyTorch's implementations of scaled dot-product attention.

    >>> nn.attention.SDPBackend.MATH.value
    0
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_enabled = [
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.OVERRIDEABLE,
]


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """Those that the present block allows."""
    return list(_enabled)


@contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict[str, object]]:
    """Accepted: within the block PyTorch uses these implementations only; the values are the same.

    >>> x = torch.ones(1, 2, 4)
    >>> with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
    ...     F.scaled_dot_product_attention(x, x, x).shape
    torch.Size([1, 2, 4])
    """
    if not isinstance(backends, list | SDPBackend):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, "
            f"got {type(backends).__name__}"
        )
    asked = backends if isinstance(backends, list) else [backends]
    global _enabled
    before = _enabled
    _enabled = [backend for backend in before if backend in asked]
    if set_priority:
        _enabled = list(dict.fromkeys(asked))
    try:
        yield {}
    finally:
        _enabled = before


__getattr__ = _missing_name(__name__)
