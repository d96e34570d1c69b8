"""Names that few programs use, of modules other than torch itself: by module, found when asked for.

`_missing.missing_name` looks here before it says that a name is missing.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from . import _core
from ._elsewhere import refusing
from ._errors import warn
from ._names_of_torch import NAMES as _OF_TORCH
from ._names_of_torch import refused_class

__all__ = ["find"]

# ---- torch.nn.functional

_NO_FLOAT8 = "its scales come in forms of accelerators; torch._scaled_mm multiplies float8."


def _assert_int_or_pair(arg: Any, arg_name: str, message: str) -> None:
    """Raises AssertionError unless the argument is a number or a pair."""
    if not isinstance(arg, int) and len(arg) != 2:
        raise AssertionError(message.format(arg_name))


def _upsample(mode: str, **corners: bool) -> Callable[..., Any]:
    def upsample(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
        functional = import_module("rushlight.nn.functional")

        warn(
            f"`nn.functional.upsample_{mode}` is deprecated. "
            "Use `nn.functional.interpolate` instead.",
        )
        return functional.interpolate(input, size, scale_factor, mode=mode, **corners)

    upsample.__name__ = upsample.__qualname__ = f"upsample_{mode}"
    upsample.__doc__ = f"Deprecated: `interpolate` with mode {mode!r}."
    return upsample


class _Broadcasting:
    """In annotations: a number for a list of numbers."""

    def __getitem__(self, types: Any) -> None:
        return None


class _ScalingType(enum.IntEnum):
    """How the scales of a scaled product lie."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class _SwizzleType(enum.IntEnum):
    """In which order the scales of a scaled product lie."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def _functional() -> dict[str, Any]:
    overrides = import_module("rushlight.overrides")
    kept = "handle_torch_function has_torch_function"
    return {
        **{f"BroadcastingList{n}": _Broadcasting() for n in (1, 2, 3)},
        **{name: getattr(overrides, name) for name in kept.split()},
        "has_torch_function_unary": _core.has_torch_function_unary,
        "has_torch_function_variadic": _core.has_torch_function_variadic,
        "DType": int,
        "GRID_SAMPLE_INTERPOLATION_MODES": {"bilinear": 0, "nearest": 1, "bicubic": 2},
        "GRID_SAMPLE_PADDING_MODES": {"zeros": 0, "border": 1, "reflection": 2},
        "ScalingType": _ScalingType,
        "SwizzleType": _SwizzleType,
        "TYPE_CHECKING": False,
        "Tensor": _core.Tensor,
        "assert_int_or_pair": _assert_int_or_pair,
        "boolean_dispatch": import_module("rushlight._jit_internal").boolean_dispatch,
        "scaled_mm": refusing("torch.nn.functional.scaled_mm", _NO_FLOAT8),
        "scaled_grouped_mm": refusing("torch.nn.functional.scaled_grouped_mm", _NO_FLOAT8),
        "reproducibility_notes": {},
        "sparse_support_notes": {},
        "tf32_notes": {},
        "upsample_nearest": _upsample("nearest"),
        "upsample_bilinear": _upsample("bilinear", align_corners=True),
    }


# ---- torch.nn.attention


def _attention() -> dict[str, Any]:
    known: dict[str, Callable[..., Any]] = {}
    active: list[str] = []

    def list_flash_attention_impls() -> list[str]:
        """The implementations that were registered, and PyTorch's names of its own."""
        return sorted({"FA3", "FA4", *known})

    def current_flash_attention_impl() -> str | None:
        """The implementation that was activated last; None: the one that is here."""
        return active[-1] if active else None

    def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
        """Enters an implementation, which `activate_flash_attention_impl` calls."""
        known[impl] = register_fn

    def activate_flash_attention_impl(impl: str) -> None:
        """Calls what was registered under a name; attention is computed as before."""
        if impl not in list_flash_attention_impls():
            raise ValueError(
                f"Unknown flash attention impl '{impl}'. Available implementations: "
                f"{list_flash_attention_impls()}"
            )
        if impl not in known:
            raise ModuleNotFoundError(f"flash attention {impl} runs on GPUs only")
        known[impl]()
        active[:] = [impl]

    def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
        """Forgets which implementation was activated."""
        active.clear()

    return {f.__name__: f for f in (*locals().values(),) if callable(f)}


# ---- torch.nn.parallel, for one device


def _replicate(network: Any, devices: Sequence[Any], detach: bool = False) -> list[Any]:
    """The network for each device: there is one."""
    return [network for _ in devices]


def _parallel_apply(
    modules: Sequence[Any],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """What each module makes of its inputs, one after the other."""
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


def _parallel() -> dict[str, Any]:
    lists = import_module("rushlight.nn.parallel.scatter_gather")
    found = {"gather": lists.gather, "scatter": lists.scatter}
    return {**found, "replicate": _replicate, "parallel_apply": _parallel_apply}


# ---- torch.optim


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


# ---- torch.autograd.profiler, torch.profiler

_NVPROF = "there is no NVIDIA profiler here."


class _EnforceUnique:
    """Raises RuntimeError where a key is seen twice."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def see(self, *key: Any) -> None:
        """Notes a key."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class _KinetoStepTracker:
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


class _MemRecordsAcc:
    """Records of memory by time."""

    def __init__(self, mem_records: Sequence[Any]) -> None:
        self._records = sorted(mem_records, key=lambda record: record[0].start_ns())

    def in_interval(self, start_us: float, end_us: float) -> Iterator[Any]:
        """Those between two times, in microseconds."""
        for record in self._records:
            if start_us * 1000 <= record[0].start_ns() <= end_us * 1000:
                yield record


class _Emit(contextlib.AbstractContextManager["_Emit"]):
    """Accepted: no profiler listens."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes

    def __exit__(self, *exc: object) -> None:
        return None


class _DeviceType(enum.Enum):
    """Kinds of devices in traces."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20


def _kineto_available() -> bool:
    """False: traces are not written by Kineto."""
    return False


# ---- others


class _NestedIOFunction:
    """Refused: PyTorch's form of Function for nested arguments, which it deprecates."""

    __init__ = refusing("torch.autograd.NestedIOFunction", "derive from torch.autograd.Function.")

    def __init_subclass__(cls) -> None:
        refusing("torch.autograd.NestedIOFunction", "derive from torch.autograd.Function.")()


@contextlib.contextmanager
def _enable_reentrant_dispatch() -> Iterator[None]:
    """Nothing: calls inside a call are dispatched anyway."""
    yield


def _get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The generators of the devices that tensors are on: none but the CPU's, which is no device."""
    return [], []


def _set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Nothing: there are no devices with generators."""


_GRAPH = "there is no accelerator to capture work of."
_MODULES: dict[str, Any] = {
    "torch": lambda: _OF_TORCH,
    "torch.nn.functional": _functional,
    "torch.nn.attention": _attention,
    "torch.nn.parallel": _parallel,
    "torch.optim": lambda: {
        "swap_in_optimizer_params_and_state": swap_in_optimizer_params_and_state
    },
    "torch.autograd": lambda: {
        "NestedIOFunction": _NestedIOFunction,
        "kineto_available": _kineto_available,
    },
    "torch.autograd.profiler": lambda: {
        "EnforceUnique": _EnforceUnique,
        "KinetoStepTracker": _KinetoStepTracker,
        "MemRecordsAcc": _MemRecordsAcc,
        "emit_itt": type("emit_itt", (_Emit,), {"__doc__": _Emit.__doc__}),
        "emit_nvtx": type("emit_nvtx", (_Emit,), {"__doc__": _Emit.__doc__}),
        "load_nvprof": refusing("torch.autograd.profiler.load_nvprof", _NVPROF),
        "parse_nvprof_trace": refusing("torch.autograd.profiler.parse_nvprof_trace", _NVPROF),
    },
    "torch.profiler": lambda: {
        "DeviceType": _DeviceType,
        "ExecutionTraceObserver": refused_class(
            "ExecutionTraceObserver",
            "torch.profiler.profile records what runs.",
            "torch.profiler",
        ),
        "kineto_available": _kineto_available,
    },
    "torch.random": lambda: {"thread_safe_generator": _OF_TORCH["thread_safe_generator"]},
    "torch.overrides": lambda: {"enable_reentrant_dispatch": _enable_reentrant_dispatch},
    "torch.utils.checkpoint": lambda: {
        "SAC_IGNORED_OPS": set(),
        "get_device_states": _get_device_states,
        "set_device_states": _set_device_states,
    },
    "torch.utils.hooks": lambda: {
        "BackwardHook": import_module("rushlight.nn.modules._calling").BackwardHook
    },
    "torch.accelerator": lambda: {
        "Graph": refused_class("Graph", _GRAPH, "torch.accelerator"),
    },
    "torch.testing": lambda: {
        "FileCheck": import_module("rushlight.testing._file_check").FileCheck
    },
    "torch.func": lambda: {"rearrange": import_module("rushlight.func._rearrange").rearrange},
}
_found: dict[str, dict[str, Any]] = {}


def find(namespace: str, name: str) -> Any:
    """What a module has under a name, or NotImplemented."""
    if namespace not in _MODULES:
        return NotImplemented
    if namespace not in _found:
        _found[namespace] = _MODULES[namespace]()
    return _found[namespace].get(name, NotImplemented)
