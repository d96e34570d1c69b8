"""torch.autograd.profiler_util: what the profiler's results are made of."""

from .._missing import missing_name as _missing_name
from .profiler import EventList as EventList
from .profiler import FunctionEvent as FunctionEvent
from .profiler import FunctionEventAvg as FunctionEventAvg
from .profiler import Interval as Interval

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]

__getattr__ = _missing_name(__name__)
