"""Bodies of names that few programs use, of torch itself and of its rooms: rows of names.txt."""

from __future__ import annotations

import contextlib
import enum
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

from .. import _root as rl
from .._base import FOLDER
from .._base import dtypes as _dtypes
from .._base.device import LAYOUTS, _Named, accelerators, resolve
from .._base.errors import warn
from .._core import Tensor
from ..nn import functional
from ..storage import mapped
from ._present_device import general as present
from . import find

# ---- sizes that a compiler does not know yet: here every size is a number


def sym_int(a: Any) -> int:
    """The number without its fraction.

    >>> torch.sym_int(-3.7)
    -3
    """
    return int(a)


def sym_float(a: Any) -> float:
    """The number as a float.

    >>> torch.sym_float(3)
    3.0
    """
    return float(a)


def sym_not(a: object) -> bool:
    """Whether it is false.

    >>> torch.sym_not(True)
    False
    """
    return not a


def sym_max(a: object, b: object) -> Any:
    """The larger of two numbers, a float where one of them is.

    >>> torch.sym_max(5, 4.0)
    5.0
    """
    return _of_both(max, a, b)


def sym_min(a: object, b: object) -> Any:
    """The smaller of two numbers, a float where one of them is.

    >>> torch.sym_min(3, 4.0)
    3.0
    """
    return _of_both(min, a, b)


def _of_both(choose: Callable[..., Any], a: object, b: object) -> Any:
    chosen = choose(a, b)
    return float(chosen) if isinstance(a, float) or isinstance(b, float) else chosen


def sym_ite(b: object, t: object, f: object) -> Any:
    """t where b is true, else f; both are of one type.

    >>> torch.sym_ite(True, 1, 2)
    1
    """
    if type(t) is not type(f):
        raise AssertionError(f"t and f must be of one type, got {type(t)} and {type(f)}")
    return t if b else f


def sym_sum(args: Any) -> Any:
    """The sum of numbers.

    >>> torch.sym_sum([1, 2, 3])
    6
    """
    return sum(args)


def sym_sqrt(a: Any) -> float:
    """The square root of a number.

    >>> torch.sym_sqrt(9)
    3.0
    """
    return math.sqrt(a)


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Raises RuntimeError where a number is not in a range."""
    low = -(2**63) if min is None else min
    high = 2**63 - 1 if max is None else max
    if not low <= int(size) <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


def sym_constrain_range_for_size(
    size: object, *, min: int | None = None, max: int | None = None
) -> None:
    """Raises RuntimeError where a number is no size in a range."""
    if max is not None and max <= 2:
        raise RuntimeError(
            f"Max value to constrain_range_for_size must be greater than 2. got: {max}"
        )
    sym_constrain_range(size, min=0 if min is None else min, max=max)


# ---- files, devices, loggers


def from_file(
    filename: Any,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: object = None,
    layout: object = None,
    device: object = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """A tensor over a file's memory: `size` elements from its start.

    shared: what is written to the tensor is written to the file, which is made as long as needed;
    else the file stays as it is. Raises RuntimeError where the file is not there or too short.
    """
    kind: Any = dtype or _dtypes.get_default_dtype()
    count = int(size or 0)
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
    return mapped(filename, bool(shared), count * kind.itemsize).view(kind)


def get_file_path(*path_components: str) -> str:
    """A path beside the package's folder: `get_file_path("torch", "version.py")`."""
    return os.path.join(os.path.dirname(os.path.dirname(FOLDER)), *path_components)


def get_device_module(device: object = None) -> Any:
    """The module of a device type: unless one is named torch.cpu, or the accelerator's.

    >>> torch.get_device_module("cpu") is torch.cpu
    True
    """
    if device is None:
        device = accelerators.kind if present.available() else "cpu"
    kind = getattr(device, "type", None) or str(device).split(":")[0]
    if kind not in ("cpu", "cuda", "mps", "xpu", "opencl"):
        resolve(device)
        raise RuntimeError(f"Invalid device module '{kind}'.")
    return find("torch", kind)


class LoggerBase:
    """Counts what is reported to it; nothing reports."""

    def set_logger(self) -> None:
        """Nothing: nothing reports."""

    def get_counter_val(self, name: str) -> int:
        """0: nothing reports."""
        return 0


class _Autocast:
    """The switches of autocast for a device that is not here: kept, and without effect."""

    def __init__(self, dtype: _dtypes.dtype) -> None:
        self.dtype, self.enabled = dtype, False

    def get_dtype(self) -> _dtypes.dtype:
        """The type that autocast would use."""
        return self.dtype

    def set_dtype(self, dtype: _dtypes.dtype, /) -> None:
        """Keep the type; nothing uses it."""
        self.dtype = dtype

    def is_enabled(self) -> bool:
        """Whether autocast was turned on."""
        return self.enabled

    def set_enabled(self, enabled: bool, /) -> None:
        """Keep the setting; nothing uses it."""
        self.enabled = bool(enabled)


ipu, xla = _Autocast(_dtypes.float16), _Autocast(_dtypes.bfloat16)

# ---- operators


def mkldnn_convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: Any,
    stride: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    """A convolution over as many dimensions as the weight has beside its first two."""
    result: Tensor = rl.convolution(
        input, weight, bias, stride, padding, dilation, False, [0] * (weight.ndim - 2), groups
    )
    return result


class qscheme(_Named):
    """How a quantized tensor scales its integers: known by name."""

    __slots__ = ()
    __module__ = "rushlight"

    def __reduce__(self) -> str:
        return self._name


def _scheme(name: str) -> qscheme:
    self = object.__new__(qscheme)
    object.__setattr__(self, "_name", name)
    return self


per_channel_affine = _scheme("per_channel_affine")
per_channel_affine_float_qparams = _scheme("per_channel_affine_float_qparams")
per_channel_symmetric = _scheme("per_channel_symmetric")
per_tensor_affine = _scheme("per_tensor_affine")
per_tensor_symmetric = _scheme("per_tensor_symmetric")
jagged = LAYOUTS["torch.jagged"]
qint32, qint8, quint2x4, quint4x2, quint8 = (
    _dtypes._BY_NAME[name] for name in "qint32 qint8 quint2x4 quint4x2 quint8".split()
)

# ---- torch.nn and torch.optim


def assert_int_or_pair(arg: Any, arg_name: str, message: str) -> None:
    """Raises AssertionError unless the argument is a number or a pair."""
    if not isinstance(arg, int) and len(arg) != 2:
        raise AssertionError(message.format(arg_name))


def _upsample(mode: str, **corners: bool) -> Callable[..., object]:
    def upsample(input: Any, size: object = None, scale_factor: object = None) -> Any:
        warn(
            f"`nn.functional.upsample_{mode}` is deprecated. "
            "Use `nn.functional.interpolate` instead.",
        )
        return functional.interpolate(input, size, scale_factor, mode=mode, **corners)

    upsample.__name__ = upsample.__qualname__ = f"upsample_{mode}"
    upsample.__doc__ = f"Deprecated: `interpolate` with mode {mode!r}."
    return upsample


upsample_nearest = _upsample("nearest")
upsample_bilinear = _upsample("bilinear", align_corners=True)


class Broadcasting:
    """In annotations: a number for a list of numbers."""

    def __getitem__(self, types: object) -> None:
        return None


BroadcastingList1, BroadcastingList2, BroadcastingList3 = (Broadcasting() for _ in range(3))


class ScalingType(enum.IntEnum):
    """How the scales of a scaled product lie."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.IntEnum):
    """In which order the scales of a scaled product lie."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


_attention: dict[str, Callable[..., object]] = {}
_active: list[str] = []


def list_flash_attention_impls() -> list[str]:
    """The implementations that were registered, and PyTorch's names of its own."""
    return sorted({"FA3", "FA4", *_attention})


def current_flash_attention_impl() -> str | None:
    """The implementation that was activated last; None: the one that is here."""
    return _active[-1] if _active else None


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """Enters an implementation, which `activate_flash_attention_impl` calls."""
    _attention[impl] = register_fn


def activate_flash_attention_impl(impl: str) -> None:
    """Calls what was registered under a name; attention is computed as before."""
    if impl not in list_flash_attention_impls():
        raise ValueError(
            f"Unknown flash attention impl '{impl}'. Available implementations: "
            f"{list_flash_attention_impls()}"
        )
    if impl not in _attention:
        raise ModuleNotFoundError(f"flash attention {impl} runs on GPUs only")
    _attention[impl]()
    _active[:] = [impl]


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Forgets which implementation was activated."""
    _active.clear()


def replicate(network: object, devices: Sequence[Any], detach: bool = False) -> list[Any]:
    """The network for each device: there is one."""
    return [network for _ in devices]


def parallel_apply(
    modules: Sequence[Any],
    inputs: Sequence[object],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[object] | None = None,
) -> list[Any]:
    """The results of the modules for their inputs, one after the other."""
    if len(modules) != len(inputs):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of inputs "
            f"{len(inputs)}"
        )
    named = kwargs_tup or [{}] * len(modules)
    return [
        module(*(x if isinstance(x, (list, tuple)) else (x,)), **kwargs)
        for module, x, kwargs in zip(modules, inputs, named, strict=True)
    ]


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Any, swapin_parameters: dict[str, Any], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """For the length of a `with` block an optimizer has other parameters and another state.

    swapin_parameters: in the order of the optimizer's own. swapin_optim_state: as its state_dict.
    """
    groups, state = optimizer.param_groups, optimizer.state
    count = sum(len(group["params"]) for group in groups)
    values = list(swapin_parameters.values())
    if len(values) != count:
        raise ValueError(f"{len(values)} parameters are given, and the optimizer has {count}")
    numbers = [n for group in swapin_optim_state["param_groups"] for n in group["params"]]
    by_number = dict(zip(numbers, values, strict=True))
    optimizer.param_groups = [
        {**group, "params": [by_number[n] for n in group["params"]]}
        for group in swapin_optim_state["param_groups"]
    ]
    optimizer.state = type(state)(dict)
    for number, kept in swapin_optim_state["state"].items():
        optimizer.state[by_number[number]] = dict(kept)
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = groups, state


# ---- torch.autograd and its profiler


class EnforceUnique:
    """Raises RuntimeError where a key is seen twice."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def see(self, *key: object) -> None:
        """Notes a key."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Counts steps for those who ask, and gives the largest count."""

    _current_step = 0
    _steps: dict[str, int] = {}  # noqa: RUF012 - of the class, as in PyTorch

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Begins to count for someone."""
        cls._steps[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Ends to count for someone; whether that was done before."""
        return cls._steps.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Counts a step of someone."""
        cls._steps[requester] = cls._steps.get(requester, cls._current_step) + 1
        cls._current_step = max(cls._current_step, max(cls._steps.values()))
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The largest count."""
        return cls._current_step


class MemRecordsAcc:
    """Records of memory by time."""

    def __init__(self, mem_records: Sequence[Any]) -> None:
        self._records = sorted(mem_records, key=lambda record: record[0].start_ns())

    def in_interval(self, start_us: float, end_us: float) -> Iterator[Any]:
        """The records between two times, in microseconds."""
        for record in self._records:
            if start_us * 1000 <= record[0].start_ns() <= end_us * 1000:
                yield record


class Emit(contextlib.AbstractContextManager["Emit"]):
    """Accepted: no profiler listens."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes

    def __exit__(self, *exc: object) -> None:
        return None


class NestedIOFunction:
    """Refused: PyTorch's form of Function for nested arguments, which it deprecates."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(_NESTED)

    def __init_subclass__(cls) -> None:
        raise NotImplementedError(_NESTED)


_NESTED = (
    "torch.autograd.NestedIOFunction is not in rushlight: derive from torch.autograd.Function."
)


# ---- what else libraries import


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str | None = None,
    func_name: str | None = None,
) -> Callable[..., Any]:
    """A function that calls one of two functions: an argument chooses."""

    def choose(*args: object, **kwargs: object) -> Any:
        given = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if given else if_false)(*args, **kwargs)

    choose.__doc__ = if_true.__doc__ or if_false.__doc__
    choose.__name__ = func_name or choose.__name__
    choose.__module__ = module_name or choose.__module__
    return choose


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    """A tensor reshaped to sizes that are a tensor."""
    return x.reshape([int(n) for n in shape.tolist()])


class DispatchKeySet:
    """A set of dispatch keys; nothing is dispatched by them."""

    def __init__(self, *keys: Any) -> None:
        self._keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def has(self, key: Any) -> bool:
        """Whether a key is in it."""
        return key in self._keys

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(sorted(key.name for key in self._keys))})"


try:
    tqdm: Any = import_module("tqdm").tqdm
except ImportError:

    class tqdm:  # type: ignore[no-redef]
        """A progress bar that writes how much is done, where the package tqdm is not installed."""

        def __init__(
            self, iterable: Iterable[Any] | None = None, total: int | None = None, **how: Any
        ) -> None:
            self._over, self.total, self.n = iterable, total, 0
            self.disable = bool(how.get("disable", False))

        def __iter__(self) -> Iterator[Any]:
            for value in self._over or ():
                yield value
                self.update(1)

        def update(self, n: int) -> None:
            """So much more is done."""
            self.n += n
            if not self.disable:
                of = f"{100 * self.n / self.total:.1f}%" if self.total else f"{self.n}"
                sys.stderr.write(f"\r{of}")
                sys.stderr.flush()

        def close(self) -> None:
            """Nothing more is done."""
            if not self.disable:
                sys.stderr.write("\n")
            self.disable = True

        def __enter__(self) -> tqdm:
            return self

        def __exit__(self, *exc: object) -> None:
            self.close()
