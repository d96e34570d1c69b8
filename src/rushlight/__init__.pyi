"""torch's root namespace. Written by tools/public_stub.py."""

from . import backends as backends
from . import cuda as cuda
from . import func as func
from . import linalg as linalg
from . import memory as memory
from . import nn as nn
from . import optim as optim
from . import overrides as overrides
from . import profiler as profiler
from . import return_types as return_types
from . import serialization as serialization
from . import special as special
from . import storage as storage
from . import utils as utils
from ._root import *  # noqa: F403
from ._torch_alias import install_as_torch as install_as_torch
from ._version import __version__ as __version__
from .func import vmap as vmap
from .serialization import load as load
from .serialization import save as save
