"""Layers, losses, initialisers and the `Module` that holds them: `torch.nn`."""

from .._base.missing import missing_name as _missing_name
from .._base.missing import show_whole as _show_whole
from . import functional as functional
from . import init as init
from . import modules as modules
from . import parameter as parameter
from . import utils as utils
from .modules import Module as Module
from .modules import __all__ as _layers
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import factory_kwargs as factory_kwargs

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
        **dict.fromkeys(_layers, "modules"),
        "DataParallel": "parallel",
        "UninitializedBuffer": "parameter",
        "UninitializedParameter": "parameter",
        "attention": "attention",
        "grad": "grad",
        "parallel": "parallel",
    },
)
_show_whole(__name__)
