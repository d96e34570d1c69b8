"""`torch.utils.mobile_optimizer`: names that programs import."""

from .._elsewhere import refusing as _refusing
from .._missing import missing_name as _missing_name

optimize_for_mobile = _refusing(
    "torch.utils.mobile_optimizer.optimize_for_mobile", "TorchScript for phones is not here."
)
generate_mobile_module_lints = _refusing(
    "torch.utils.mobile_optimizer.generate_mobile_module_lints",
    "TorchScript for phones is not here.",
)

__getattr__ = _missing_name(__name__)
