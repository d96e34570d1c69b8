"""Optimizers and learning-rate schedules: `torch.optim`."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .._missing import missing_name as _missing_name
from . import lr_scheduler as lr_scheduler
from .adagrad import Adagrad as Adagrad
from .adam import Adam as Adam
from .adamw import AdamW as AdamW
from .optimizer import Optimizer as Optimizer
from .rmsprop import RMSprop as RMSprop
from .sgd import SGD as SGD

if _TYPE_CHECKING:
    from . import swa_utils as swa_utils
    from ._adafactor import Adafactor as Adafactor
    from ._muon import Muon as Muon
    from .adadelta import Adadelta as Adadelta
    from .adamax import Adamax as Adamax
    from .asgd import ASGD as ASGD
    from .lbfgs import LBFGS as LBFGS
    from .nadam import NAdam as NAdam
    from .radam import RAdam as RAdam
    from .rprop import Rprop as Rprop
    from .sparse_adam import SparseAdam as SparseAdam

_late = {
    "ASGD": "asgd",
    "Adadelta": "adadelta",
    "Adafactor": "_adafactor",
    "Adamax": "adamax",
    "LBFGS": "lbfgs",
    "Muon": "_muon",
    "NAdam": "nadam",
    "RAdam": "radam",
    "Rprop": "rprop",
    "SparseAdam": "sparse_adam",
    "swa_utils": "swa_utils",
}

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]

__getattr__ = _missing_name(__name__, late=_late)
