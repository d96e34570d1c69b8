"""torch's root namespace without the rooms built on it (nn, optim, utils, func, ...).

Its own functions must not rely on builtins by name: `int`, `sum` and others mean torch's here.

These rooms say `from rushlight import _root as rl` and find every tensor function, dtype and mode
here; `rushlight/__init__.py` gives the same names, and the rooms, to programs.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

from . import _core as _core
from ._base import FOLDER as _FOLDER
from ._base import determinism as _determinism
from ._base import device as _device
from ._base import dtypes as _dtypes
from ._base import errors as _errors
from ._base import size as _size
from ._base.dtypes import dtype

# The core makes shapes and element types of these; it must know them before any op is defined.
# Errors name a line of the program: lines of files in `folder` are skipped.
_core.register(size=_size.Size, device=_device.device, dtypes=list(_dtypes.ALL), folder=_FOLDER)

from . import _tensor as _tensor  # noqa: E402
from . import autograd as autograd  # noqa: E402
from . import ops as ops  # noqa: E402
from . import random as random  # noqa: E402
from . import storage as _storage  # noqa: E402
from ._base import dlpack as _dlpack  # noqa: E402
from ._base import printing as _printing  # noqa: E402
from ._base import switches as _switches  # noqa: E402
from ._base.threads import get_num_interop_threads as get_num_interop_threads  # noqa: E402
from ._base.threads import get_num_threads as get_num_threads  # noqa: E402
from ._base.threads import set_num_interop_threads as set_num_interop_threads  # noqa: E402
from ._base.threads import set_num_threads as set_num_threads  # noqa: E402
from .ops.table import arrays as _arrays  # noqa: E402
from .ops.table.arrays import warn_once as _warn_once  # noqa: E402

Tensor = _core.Tensor
Size = _size.Size
e, pi, inf, nan = math.e, math.pi, math.inf, math.nan
newaxis = None
OutOfMemoryError = _errors.OutOfMemoryError
AcceleratorError = _errors.AcceleratorError


def set_default_dtype(d: dtype) -> None:
    """Set the dtype that Python floats become.

    >>> torch.set_default_dtype(torch.float64)
    >>> torch.tensor(0.5).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    _dtypes.set_default_dtype(d)
    _core.set_default_dtype(d.code)


def set_default_tensor_type(t: str | type) -> None:
    """Set the default dtype by a legacy tensor type (deprecated).

    >>> torch.set_default_tensor_type(torch.DoubleTensor)
    >>> torch.get_default_dtype()
    torch.float64
    >>> torch.set_default_tensor_type("torch.FloatTensor")
    """
    _warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives."
    )
    made: Any = t
    if isinstance(t, str):
        module, _, name = t.rpartition(".")
        types = _tensor.cuda_types() if module == "torch.cuda" else _tensor.tensor_types()
        made = types.get(name)
    if not isinstance(made, _tensor.TensorType) or not made.dtype.is_floating_point:
        raise TypeError(
            "invalid type object: only floating-point types are supported as the default type. "
            f"{t!r} is none."
        )
    on_cuda = made.__module__ == "torch.cuda"
    if on_cuda:
        made(0)  # an error where there is no such device
    set_default_dtype(made.dtype)
    if on_cuda or _device.is_accelerator(_device.get_default_device().type):
        _device.set_default_device(_device.cuda(None) if on_cuda else None)


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Refuse what PyTorch calls not deterministic, and fill the memory of `torch.empty`.

    Every kernel here is deterministic anyway.

    >>> torch.use_deterministic_algorithms(True)
    >>> torch.empty(2)
    tensor([nan, nan])
    >>> torch.use_deterministic_algorithms(False)
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, builtins.bool):
            place = " (position 1)" if name == "mode" else ""
            raise TypeError(
                f"_set_deterministic_algorithms(): argument '{name}'{place} must be bool, not "
                f"{type(value).__name__}"
            )
    _determinism.level = (1 if warn_only else 2) if mode else 0
    _determinism.warn_only = warn_only
    _core.set_alerts(mode)


def are_deterministic_algorithms_enabled() -> bool:
    """The setting of `use_deterministic_algorithms`; every kernel here is deterministic anyway.

    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    return _determinism.level > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was told to warn only.

    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _determinism.warn_only


_DEBUG_MODES = ("default", "warn", "error")


def set_deterministic_debug_mode(debug_mode: builtins.int | str) -> None:
    """`use_deterministic_algorithms` by number or word: 0 "default", 1 "warn", 2 "error".

    >>> torch.set_deterministic_debug_mode("warn")
    >>> torch.get_deterministic_debug_mode()
    1
    >>> torch.set_deterministic_debug_mode(0)
    """
    if not isinstance(debug_mode, (builtins.int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    modes = _DEBUG_MODES if isinstance(debug_mode, str) else (0, 1, 2)
    if debug_mode not in modes:
        listed = "`default`, `warn`, `error`" if isinstance(debug_mode, str) else "0, 1, or 2"
        said = f"expected one of {listed}" if isinstance(debug_mode, str) else f"expected {listed}"
        raise RuntimeError(f"invalid value of debug_mode, {said}, but got {debug_mode}")
    number = modes.index(debug_mode)  # type: ignore[arg-type]
    use_deterministic_algorithms(number > 0, warn_only=number == 1)


def get_deterministic_debug_mode() -> builtins.int:
    """The setting of `set_deterministic_debug_mode`, as a number.

    >>> torch.get_deterministic_debug_mode()
    0
    """
    return _determinism.level


def set_warn_always(b: bool, /) -> None:
    """Whether warnings that are given once come each time.

    >>> torch.set_warn_always(False)
    >>> torch.is_warn_always_enabled()
    False
    """
    if not isinstance(b, builtins.bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _arrays.warn_always = b


def is_warn_always_enabled() -> bool:
    """The setting of `set_warn_always`.

    >>> torch.is_warn_always_enabled()
    False
    """
    return _arrays.warn_always


def set_flush_denormal(mode: bool) -> bool:
    """False: numbers too small for full precision are kept here.

    With False there is nothing to do, and the answer is True.

    >>> torch.set_flush_denormal(False)
    True
    """
    if not isinstance(mode, builtins.bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return not mode


def set_float32_matmul_precision(precision: str) -> None:
    """How float32 products may be computed on devices of CUDA's driver: "highest", in float32, or
    "high" or "medium", in TF32, which has 10 bits of a number's fraction.

    >>> torch.set_float32_matmul_precision("high")
    >>> torch.backends.cuda.matmul.allow_tf32
    True
    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision in ("highest", "high", "medium"):
        _switches.matmul.fp32_precision = "ieee" if precision == "highest" else "tf32"
        _switches.matmul.precision = precision
    else:
        _errors.warn(f"{precision} is not one of 'highest', 'high', or 'medium': nothing changes")


def get_float32_matmul_precision() -> str:
    """As it was set; 'highest' at first.

    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return _switches.matmul.precision


def _exports() -> dict[str, Any]:
    names: dict[str, Any] = {}
    names.update({n: getattr(_dtypes, n) for n in _dtypes.__all__ if n != "set_default_dtype"})
    names.update({n: getattr(_device, n) for n in _device.__all__ if n not in ("resolve",)})
    names.update({n: getattr(random, n) for n in random.__all__ if n != "fork_rng"})
    names.update(is_tensor=_tensor.is_tensor, typename=_tensor.typename)  # asked about anything
    names.update(_tensor.tensor_types())
    for n in ("ComplexFloatTensor", "ComplexDoubleTensor"):  # names that `type()` gives
        del names[n]
    names.update({n: getattr(_storage, n) for n in (*_storage.__all__, "is_storage")})
    names.update(to_dlpack=_dlpack.to_dlpack, from_dlpack=_dlpack.from_dlpack)
    modes = ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode")
    for n in (*modes, "is_grad_enabled", "is_inference_mode_enabled"):
        names[n] = getattr(autograd.grad_mode, n)
    names["set_printoptions"] = _printing.set_printoptions
    return names


globals().update(_exports())


def __getattr__(name: str) -> Any:
    """A function of the op table, whose room is read now."""
    if name not in ops.namespace("torch"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = ops.namespace("torch")[name]
    return found


def _public() -> dict[str, Any]:
    """The public names of this file: without imported modules and typing's words."""
    modules = type(builtins)
    return {
        k: v
        for k, v in globals().items()
        if not k.startswith("_")
        and k not in ("Any", "TYPE_CHECKING", "annotations")
        and (not isinstance(v, modules) or v in (autograd, ops, random, _storage))
    }


ops.install_documentation()
