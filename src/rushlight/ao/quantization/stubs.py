"""The place in which PyTorch has the stubs of quantized parts."""

from ..._missing import missing_name as _missing_name
from . import DeQuantStub as DeQuantStub
from . import QuantStub as QuantStub
from . import QuantWrapper as QuantWrapper

__getattr__ = _missing_name(__name__)
