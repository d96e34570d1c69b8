"""`torch.testing`: comparing tensors in tests, and making them."""

from .._base.missing import missing_name as _missing_name
from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

__getattr__ = _missing_name(__name__)
