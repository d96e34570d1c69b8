"""Another place of `torch.onnx`'s names."""

from .._missing import missing_name as _missing_name
from . import is_in_onnx_export as is_in_onnx_export

__getattr__ = _missing_name(__name__, late={"export": "rushlight.onnx"})
