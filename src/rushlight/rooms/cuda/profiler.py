"""torch.cuda.profiler: NVIDIA's profilers are not told when to begin and to end. With a device of
CUDA that is no error; without any the names refuse, by their row of names.txt."""

from __future__ import annotations

from contextlib import nullcontext as _nullcontext

from .._base.device import cuda_is_here as _cuda_is_here
from .._torch import fill as _fill

if _cuda_is_here():
    start = stop = lambda: None
    profile = _nullcontext
_fill("cuda.profiler", globals())
