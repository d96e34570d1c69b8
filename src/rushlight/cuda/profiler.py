"""`torch.cuda.profiler`: named, and refused."""

from .._elsewhere import refusing as _refusing
from .._missing import missing_name as _missing_name

__all__ = ["init", "profile", "start", "stop"]

_WHY = "there is no CUDA device here."
init, profile = (
    _refusing("torch.cuda.profiler.init", _WHY),
    _refusing("torch.cuda.profiler.profile", _WHY),
)
start, stop = (
    _refusing("torch.cuda.profiler.start", _WHY),
    _refusing("torch.cuda.profiler.stop", _WHY),
)

__getattr__ = _missing_name(__name__)
