"""The place in which PyTorch has `LinearCrossEntropyOptions`."""

from ..._missing import missing_name as _missing_name
from .linear_loss import LinearCrossEntropyOptions as LinearCrossEntropyOptions

__getattr__ = _missing_name(__name__)
