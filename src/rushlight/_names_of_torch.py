"""Names of torch that few programs use, by table: what PyTorch's CPU build answers, or a refusal
that says why.

`rushlight.__getattr__` asks here last (`_missing.missing_name(rest=...)`), so nothing of this is
imported by programs that need none of it.
"""

from __future__ import annotations

import enum
import math
import os
from collections.abc import Callable, Iterator
from typing import Any

from . import _dtypes, _jit_types
from ._control_flow import cond, while_loop
from ._core import Tensor
from ._device import LAYOUTS
from ._elsewhere import refusing
from ._quantized import NAMES as _QUANTIZED
from ._tensor_rare import not_on_cpu
from .storage import mapped

__all__ = ["NAMES"]

# ---- operators of other devices: names without a kernel on the CPU

_NOT_ON_CPU = """
batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats
batch_norm_gather_stats_with_counts batch_norm_stats cudnn_affine_grid_generator cudnn_batch_norm
cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose
cudnn_grid_sampler miopen_batch_norm miopen_convolution miopen_convolution_add_relu
miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution
miopen_rnn mkldnn_adaptive_avg_pool2d mkldnn_linear_backward_weights mkldnn_max_pool2d
mkldnn_max_pool3d native_norm
"""


def _absent(name: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise not_on_cpu(name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Refused: no kernel of it runs on the CPU, in PyTorch either."
    return function


def cudnn_is_acceptable(input: Tensor) -> bool:
    """False: nothing runs in cuDNN."""
    return False


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
    from ._root import convolution  # a name of the table

    result: Tensor = convolution(
        input, weight, bias, stride, padding, dilation, False, [0] * (weight.ndim - 2), groups
    )
    return result


# ---- what is compiled or traced, and what packs weights for a library

_COMPILED = "nothing is compiled or traced here: functions run as Python runs them."
_PACKED = "it packs weights for a library that is not here: torch.nn.functional.linear computes it."
_REFUSED = {
    _COMPILED: """import_ir_module import_ir_module_from_buffer merge_type_from_type_comment
    parse_ir parse_schema parse_type_comment unify_type_list""",
    _PACKED: """fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation
    fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation
    fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix
    mkldnn_rnn_layer""",
}
_REFUSED_CLASSES = {
    _COMPILED: """AliasDb Argument ArgumentSpec BenchmarkConfig BenchmarkExecutionStats Block
    BufferDict CallStack Capsule ClassType Code CompilationUnit CompleteArgumentSpec
    ConcreteModuleType ConcreteModuleTypeBuilder DeepCopyMemoTable EnumType ErrorReport
    ExecutionPlan FileCheck FunctionSchema Gradient Graph GraphExecutorState IODescriptor
    InferredType InterfaceType LiteScriptModule ModuleDict OperatorInfo ParameterDict
    ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator ScriptDictKeyIterator
    ScriptFunction ScriptList ScriptListIterator ScriptMethod ScriptModule ScriptModuleSerializer
    ScriptObject ScriptObjectProperty StaticModule ThroughputBenchmark TracingState Use Value""",
    "there is no table of kernels by device to choose from.": """DispatchKey DispatchKeySet
    ExcludeDispatchKeyGuard""",
    "torch.save and torch.load write and read files.": """DeserializationStorageContext
    PyTorchFileWriter SerializationStorageContext""",
}


def refused_class(name: str, reason: str, namespace: str = "torch") -> type:
    """A class that programs can name and ask `isinstance` about, and that cannot be made."""
    doc = f"Refused: {reason}"
    members = {"__init__": refusing(f"{namespace}.{name}", reason), "__doc__": doc}
    return type(name, (), {**members, "__module__": namespace.replace("torch", "rushlight", 1)})


# ---- sizes that a compiler does not know yet: here every size is a number


def _symbolic(name: str, base: type) -> type:
    """A class of such sizes: no value is of it."""
    return refused_class(name, f"sizes are numbers here: write {base.__name__}(x).")


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


def sym_not(a: Any) -> bool:
    """Whether it is false.

    >>> torch.sym_not(True)
    False
    """
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers, a float where one of them is.

    >>> torch.sym_max(5, 4.0)
    5.0
    """
    return _of_both(max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers, a float where one of them is.

    >>> torch.sym_min(3, 4.0)
    3.0
    """
    return _of_both(min, a, b)


def _of_both(choose: Callable[..., Any], a: Any, b: Any) -> Any:
    chosen = choose(a, b)
    return float(chosen) if isinstance(a, float) or isinstance(b, float) else chosen


def sym_ite(b: Any, t: Any, f: Any) -> Any:
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


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Raises RuntimeError where a number is not in a range."""
    low = -(2**63) if min is None else min
    high = 2**63 - 1 if max is None else max
    if not low <= int(size) <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


def sym_constrain_range_for_size(
    size: Any, *, min: int | None = None, max: int | None = None
) -> None:
    """Raises RuntimeError where a number is no size in a range."""
    if max is not None and max <= 2:
        raise RuntimeError(
            f"Max value to constrain_range_for_size must be greater than 2. got: {max}"
        )
    sym_constrain_range(size, min=0 if min is None else min, max=max)


def sym_fresh_size(expr: Any) -> int:
    """The size itself."""
    return int(expr)


def _root_of(a: Any) -> float:
    """The square root of a number.

    >>> torch.sym_sqrt(9)
    3.0
    """
    return math.sqrt(a)


_root_of.__name__ = _root_of.__qualname__ = "sym_sqrt"

# ---- files


def from_file(
    filename: Any,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
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
    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.join(os.path.dirname(here), *path_components)


# ---- enumerations and exceptions


class AggregationType(enum.Enum):
    """How values of one name are put together."""

    SUM = 0
    AVG = 1


_TAGS = """core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout
generated inplace inplace_view maybe_aliasing_or_mutating needs_contiguous_strides
needs_exact_strides needs_fixed_stride_order nondeterministic_bitwise nondeterministic_seeded out
out_variant pointwise pt2_compliant_tag reduction view_copy"""
_enum: Any = enum.Enum
Tag: Any = _enum("Tag", [(word, n) for n, word in enumerate(_TAGS.split())], module="rushlight")


class FatalError(Exception):
    """Raised where PyTorch gives up; nothing here raises it."""


class _LoggerBase:
    """Counts what is reported to it; nothing reports."""

    def set_logger(self) -> None:
        """Nothing: nothing reports."""

    def get_counter_val(self, name: str) -> int:
        """0: nothing reports."""
        return 0


class LockingLogger(_LoggerBase):
    """As the base."""


class NoopLogger(_LoggerBase):
    """As the base."""


class classproperty:
    """Decorator: a property of a class, read without an instance."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self._get = func

    def __get__(self, instance: object, owner: type) -> Any:
        return self._get(owner)


# ---- switches of devices that are not here

_HALVES = {"ipu": _dtypes.float16, "xla": _dtypes.bfloat16}


def _autocast_of(device: str) -> Iterator[tuple[str, Any]]:
    """The autocast functions of a device type, under torch's names."""

    def of(verb: str, what: str, function: Any) -> tuple[str, Any]:
        name = f"{verb}_autocast_{device}_{what}"
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"`{verb}_autocast_{what}` of {device}."
        return name, function

    kept = {"dtype": _HALVES[device], "enabled": False}
    yield of("get", "dtype", lambda: kept["dtype"])
    yield of("set", "dtype", lambda dtype, /: kept.update(dtype=dtype))
    yield of("is", "enabled", lambda: kept["enabled"])
    yield of("set", "enabled", lambda enabled, /: kept.update(enabled=bool(enabled)))


def get_device_module(device: Any = None) -> Any:
    """The module of a device type: unless one is named torch.cpu, or the accelerator's.

    >>> torch.get_device_module("cpu") is torch.cpu
    True
    """
    import importlib

    from . import _present_device as present
    from ._device import accelerators, resolve

    if device is None:
        device = accelerators.kind if present.available() else "cpu"
    kind = getattr(device, "type", None) or str(device).split(":")[0]
    if kind not in ("cpu", "cuda", "mps", "xpu", "opencl"):
        resolve(device)
        raise RuntimeError(f"Invalid device module '{kind}'.")
    return importlib.import_module(f"rushlight.{kind}")


def thread_safe_generator() -> None:
    """None: there is no generator for this thread alone, unless a worker of data has made one."""


def init_num_threads() -> None:
    """Nothing: `set_num_threads` says how many threads there are."""


def _no(name: str, doc: str) -> Any:
    def function() -> bool:
        return False

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"False: {doc}."
    return function


def compiled_with_cxx11_abi() -> bool:
    """True: the core is built with today's ABI.

    >>> torch.compiled_with_cxx11_abi()
    True
    """
    return True


def prepare_multiprocessing_environment(path: str) -> None:
    """Nothing: processes need no preparation."""


def profiler_allow_cudagraph_cupti_lazy_reinit_cuda12() -> bool:
    """False: there is no CUDA to profile."""
    return False


def _from_futures() -> dict[str, Any]:
    from . import futures, jit

    return {"Future": futures.Future, "fork": jit.fork, "wait": jit.wait, "JITException": jit.Error}


def _all() -> dict[str, Any]:
    from . import _C

    names: dict[str, Any] = dict(_jit_types.TYPES)
    names |= {name: _absent(name) for name in _NOT_ON_CPU.split()}
    for reason, words in _REFUSED.items():
        names |= {name: refusing(f"torch.{name}", reason) for name in words.split()}
    for reason, words in _REFUSED_CLASSES.items():
        names |= {name: refused_class(name, reason) for name in words.split()}
    for name, base in (("SymInt", int), ("SymFloat", float), ("SymBool", bool)):
        names[name] = _symbolic(name, base)
    for device in _HALVES:
        names |= dict(_autocast_of(device))
    names |= {f.__name__: f for f in _FUNCTIONS}
    names |= _from_futures()
    names |= _QUANTIZED
    names |= {
        "sym_sqrt": _root_of,
        "is_vulkan_available": _no("is_vulkan_available", "there is no Vulkan here"),
        "SUM": AggregationType.SUM,
        "AVG": AggregationType.AVG,
        "LoggerBase": _LoggerBase,
        "Node": refused_class("Node", _COMPILED),
        "StorageBase": _C.StorageBase,
        "DisableTorchFunction": _C.DisableTorchFunction,
        "DisableTorchFunctionSubclass": _C.DisableTorchFunctionSubclass,
        "PRIVATE_OPS": ("unique_dim",),
        "USE_GLOBAL_DEPS": True,
        "USE_RTLD_GLOBAL_WITH_LIBTORCH": False,
        "TYPE_CHECKING": False,
        "has_lapack": True,
        "has_mkl": False,
        "has_openmp": False,
        "has_spectral": True,
        "jagged": LAYOUTS["torch.jagged"],
    }
    return names


_FUNCTIONS: tuple[Any, ...] = (
    *(cudnn_is_acceptable, mkldnn_convolution, sym_int, sym_float, sym_not, sym_max, sym_min),
    *(sym_ite, sym_sum, sym_constrain_range, sym_constrain_range_for_size, sym_fresh_size),
    *(from_file, get_file_path, AggregationType, Tag, FatalError),
    *(LockingLogger, NoopLogger, classproperty, get_device_module, thread_safe_generator),
    *(init_num_threads, compiled_with_cxx11_abi, prepare_multiprocessing_environment),
    *(profiler_allow_cudagraph_cupti_lazy_reinit_cuda12, cond, while_loop),
)

NAMES: dict[str, Any] = _all()
for _value in NAMES.values():
    if getattr(_value, "__module__", "").startswith("rushlight._names_of_torch"):
        _value.__module__ = "rushlight"
