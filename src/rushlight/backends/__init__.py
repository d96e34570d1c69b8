"""torch.backends: switches of libraries that are not here. Programs set them; nothing changes."""

from __future__ import annotations

from .._missing import missing_name as _missing_name
from . import cuda, cudnn, mkldnn, mps

__all__ = ["cuda", "cudnn", "mkldnn", "mps"]

__getattr__ = _missing_name(
    __name__, late={n: n for n in "cpu mkl openmp opt_einsum quantized xnnpack".split()}
)
