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
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING

_collects = _gc.isenabled()
_gc.disable()  # what an import makes stays: looking for cycles in it takes a tenth of its time
__path__.append(_os.path.join(__path__[0], "rooms"))  # a wheel has the rooms beside the base
try:
    from . import _core as _core
    from . import _root as _base
    from ._base.late import connect as _connect
    from ._base.missing import ByRow as _ByRow
    from ._base.missing import missing_name as _missing_name
    from ._base.version import __version__ as __version__

    _names = _base._public()
    globals().update(_names)
    _functions = _base.ops.namespace("torch")

    from . import _callbacks as _callbacks

    _sys.meta_path.append(_ByRow())
    _connect(package=lambda: _sys.modules[__name__])
finally:
    if _collects:
        _gc.enable()
    if not _gc.get_freeze_count():  # else the next collection would look at each of them
        _gc.freeze()
        _gc.unfreeze()  # to the oldest generation

if _TYPE_CHECKING:
    from . import (
        backends,
        cuda,
        fft,
        func,
        linalg,
        memory,
        nn,
        optim,
        overrides,
        profiler,
        serialization,
        special,
        utils,
    )
    from ._alias import install_as_torch
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
__all__ += [*_names, *(name for name in _functions.known() if not name.startswith("_"))]

if _os.environ.get("RUSHLIGHT_TRACE"):
    from . import _trace_calls

    _trace_calls.follow_environment()

# Imported when they are asked for: modules, and under the name of their module what is in them.
# A name that few programs use has a row in _torch/names.txt, or a file there.
_MODULES = """amp backends cuda devices distributed distributions explain fft func fx linalg masked
memory multiprocessing nn optim overrides profiler serialization signal sparse special testing
utils""".split()
# The operations that have a `torch._foreach_` name, with and without a variant in place.
_EACH = """abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min cos cosh div erf erfc exp
expm1 floor frac lerp lgamma log log10 log1p log2 maximum minimum mul neg pow reciprocal round rsqrt
sigmoid sign sin sinh sqrt sub tan tanh trunc"""
_EACH_ONCE = "clone copy_ max mm norm powsum zero_"
_LATE_NAMES = {
    "_tensor.foreach": " ".join(
        [f"_foreach_{name}{end}" for name in _EACH.split() for end in ("", "_")]
        + [f"_foreach_{name}" for name in _EACH_ONCE.split()]
    ),
    "_alias": "install_as_torch",
    "autograd.anomaly_mode": """is_anomaly_check_nan_enabled is_anomaly_enabled
        set_anomaly_enabled""",
    "func": "vmap",
    "amp": "GradScaler",
    "amp.autocast_mode": """autocast autocast_decrement_nesting autocast_increment_nesting
        clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype
        is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
        set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
        set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype""",
    "explain._magics": "load_ipython_extension",
    "serialization": "load save",
    "sparse._convert": """_indices_copy _values_copy ccol_indices_copy col_indices_copy
        crow_indices_copy indices_copy resize_as_sparse_ row_indices_copy values_copy""",
    "sparse._making": """sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor
        sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor""",
    "sparse._products": "dsmm hsmm hspmm saddmm smm spmm sspaddmm",
}
_LATE = {
    **{name: name for name in _MODULES},
    **{name: module for module, names in _LATE_NAMES.items() for name in names.split()},
}
__getattr__ = _missing_name(__name__, _LATE, functions=_functions)
