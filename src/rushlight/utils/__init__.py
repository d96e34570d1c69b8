"""Helpers beside the tensors: datasets and loaders, hook handles."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .._base.missing import missing_name as _missing_name
from ..autograd._swapped import swap_tensors as swap_tensors

if _TYPE_CHECKING:
    from . import checkpoint as checkpoint
    from . import data as data
    from . import dlpack as dlpack
    from . import hooks as hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]

__getattr__ = _missing_name(
    __name__,
    late={
        name: name
        for name in """_contextlib _device _python_dispatch _pytree backcompat benchmark checkpoint
        collect_env cpp_extension data deterministic dlpack flop_counter hooks mobile_optimizer
        model_zoo tensorboard throughput_benchmark weak""".split()
    }
    | {"ThroughputBenchmark": "throughput_benchmark", "set_module": "_misc"},
)
