"""Layers, losses, initialisers and the `Module` that holds them: `torch.nn`."""

from .._missing import missing_name as _missing_name
from . import functional as functional
from . import init as init
from . import modules as modules
from . import parameter as parameter
from . import utils as utils
from .modules import *  # noqa: F403
from .modules import __all__ as _modules
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter

__all__ = ["Buffer", "Parameter", "functional", "init", "modules", "parameter", "utils", *_modules]

__getattr__ = _missing_name(__name__)
