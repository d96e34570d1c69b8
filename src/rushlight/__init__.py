"""PyTorch's autograd as a library of its own: `import rushlight as torch`.

>>> import rushlight as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])

In the examples of docstrings `nn` and `F` are `torch.nn` and `torch.nn.functional`, `np` is NumPy.
"""

import gc as _gc
import os as _os
from typing import TYPE_CHECKING as _TYPE_CHECKING

_collects = _gc.isenabled()
_gc.disable()  # what an import makes stays: looking for cycles in it takes a tenth of its time
try:
    from . import _core as _core
    from . import _root as _base
    from . import func as func  # before the names are copied: it changes some of them
    from ._missing import missing_name as _missing_name
    from ._version import __version__ as __version__

    _names = _base._public()
    globals().update(_names)
    _nn = _base._nn
    _conj, _neg_view = _base._conj, _base._neg_view  # private in torch, too

    from . import _C as _C
    from . import _callbacks as _callbacks
    from . import backends, cuda, linalg, nn, optim, special, utils
    from ._torch_alias import install_as_torch
    from .func import vmap
finally:
    if _collects:
        _gc.enable()
    if not _gc.get_freeze_count():  # else the next collection would look at each of them
        _gc.freeze()
        _gc.unfreeze()  # to the oldest generation

if _TYPE_CHECKING:
    from . import fft, memory, overrides, profiler, serialization
    from .serialization import load, save

__all__ = [
    "backends",
    "cuda",
    "func",
    "install_as_torch",
    "linalg",
    "load",
    "nn",
    "optim",
    "save",
]
__all__ += ["fft", "memory", "overrides", "profiler", "serialization", "special", "utils", "vmap"]
__all__ += _names

if _os.environ.get("RUSHLIGHT_TRACE"):
    from . import _trace_calls

    _trace_calls.follow_environment()

# Imported when it is asked for: a name, and the module that it is or that has it.
_MODULES = """__config__ _dynamo _inductor _library _logging accelerator amp ao compiler
cpu distributed distributions export fft functional futures fx hub jit library memory
monitor mps multiprocessing onnx overrides package profiler quantization serialization
testing torch_version types version xpu""".split()
_LATE = {
    **{name: name for name in _MODULES},
    **dict.fromkeys(
        """autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache
        get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype is_autocast_cache_enabled
        is_autocast_cpu_enabled is_autocast_enabled set_autocast_cache_enabled
        set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled
        set_autocast_gpu_dtype""".split(),
        "amp.autocast_mode",
    ),
    "_assert": "_asserts",
    "Event": "_absent_device",
    "PyTorchFileReader": "_elsewhere",
    "GradScaler": "amp",
    "Stream": "_absent_device",
    "compile": "compiler",
    "load": "serialization",
    "save": "serialization",
}
__getattr__ = _missing_name(__name__, _LATE)
