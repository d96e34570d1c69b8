"""Layers, losses, initialisers and the `Module` that holds them: `torch.nn`."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .._missing import missing_name as _missing_name
from . import functional as functional
from . import init as init
from . import modules as modules
from . import parameter as parameter
from . import utils as utils
from .modules import LATE as _LATE
from .modules import __all__ as _layers
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import factory_kwargs as factory_kwargs

if _TYPE_CHECKING:
    from . import attention as attention
    from . import parallel as parallel
    from ._uninitialized import UninitializedBuffer as UninitializedBuffer
    from ._uninitialized import UninitializedParameter as UninitializedParameter
    from .modules import *  # noqa: F403
    from .parallel import DataParallel as DataParallel
else:
    globals().update({name: vars(modules)[name] for name in _layers if name not in _LATE})

__all__ = [
    "Buffer",
    "Parameter",
    "factory_kwargs",
    "functional",
    "init",
    "modules",
    "parameter",
    "utils",
    *_layers,
]

__getattr__ = _missing_name(
    __name__,
    late={
        **dict.fromkeys(set(_layers) & set(_LATE), "modules"),
        "DataParallel": "parallel",
        "UninitializedBuffer": "parameter",
        "UninitializedParameter": "parameter",
        "attention": "attention",
        "grad": "grad",
        "parallel": "parallel",
    },
)
