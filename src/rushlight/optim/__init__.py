"""Optimizers and learning-rate schedules: `torch.optim`. Each is imported when a program asks.

Editors read __init__.pyi.
"""

from .._base.missing import missing_name as _missing_name
from .._base.missing import show_whole as _show_whole
from .optimizer import Optimizer as Optimizer

_NAMES = "ASGD LBFGS SGD Adadelta Adagrad Adam AdamW Adamax NAdam RAdam RMSprop Rprop"
_LATE = {name: name.lower() for name in _NAMES.split()}
_LATE |= {"Adafactor": "_adafactor", "Muon": "_muon", "SparseAdam": "sparse_adam"}

__all__ = sorted(["Optimizer", "lr_scheduler", "swa_utils", *_LATE])

__getattr__ = _missing_name(
    __name__, late=_LATE | {name: name for name in ["lr_scheduler", "swa_utils", *_LATE.values()]}
)
_show_whole(__name__)
