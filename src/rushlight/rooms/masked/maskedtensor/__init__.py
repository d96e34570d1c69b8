"""`torch.masked.maskedtensor`: the class and what makes its tensors."""

from ..._base.missing import missing_name as _missing_name
from . import core, creation
from .core import MaskedTensor, is_masked_tensor

__all__ = ["MaskedTensor", "core", "creation", "is_masked_tensor"]

__getattr__ = _missing_name(__name__)
