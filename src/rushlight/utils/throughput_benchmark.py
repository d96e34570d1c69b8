"""`torch.utils.throughput_benchmark`: names that programs import."""

from .._elsewhere import refusing as _refusing
from .._missing import missing_name as _missing_name

ThroughputBenchmark = _refusing(
    "torch.utils.throughput_benchmark.ThroughputBenchmark", "it measures TorchScript."
)

__getattr__ = _missing_name(__name__)
