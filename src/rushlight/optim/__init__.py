"""Optimizers and learning-rate schedules: `torch.optim`."""

from .._missing import missing_name as _missing_name
from . import lr_scheduler as lr_scheduler
from .adagrad import Adagrad as Adagrad
from .adam import Adam as Adam
from .adam import AdamW as AdamW
from .optimizer import Optimizer as Optimizer
from .rmsprop import RMSprop as RMSprop
from .sgd import SGD as SGD

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]

__getattr__ = _missing_name(__name__)
