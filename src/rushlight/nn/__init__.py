"""Layers, losses, initialisers and the `Module` that holds them: `torch.nn`."""

from . import functional as functional
from . import init as init
from . import parameter as parameter
from .modules import *
from .modules import __all__ as _modules
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from . import modules as modules
from . import utils as utils

__all__ = ["Buffer", "Parameter", "functional", "init", "modules", "parameter", "utils", *_modules]
