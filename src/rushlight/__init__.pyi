"""torch's root namespace. Written by tools/public_stub.py."""

from typing import Any

from . import amp as amp
from . import backends as backends
from . import cuda as cuda
from . import devices as devices
from . import distributed as distributed
from . import distributions as distributions
from . import explain as explain
from . import fft as fft
from . import func as func
from . import fx as fx
from . import linalg as linalg
from . import masked as masked
from . import memory as memory
from . import multiprocessing as multiprocessing
from . import nn as nn
from . import optim as optim
from . import overrides as overrides
from . import profiler as profiler
from . import return_types as return_types
from . import serialization as serialization
from . import signal as signal
from . import sparse as sparse
from . import special as special
from . import storage as storage
from . import testing as testing
from . import utils as utils
from ._alias import install_as_torch as install_as_torch
from ._base.version import __version__ as __version__
from ._root import *  # noqa: F403
from ._tensor.foreach import _foreach_abs as _foreach_abs
from ._tensor.foreach import _foreach_abs_ as _foreach_abs_
from ._tensor.foreach import _foreach_acos as _foreach_acos
from ._tensor.foreach import _foreach_acos_ as _foreach_acos_
from ._tensor.foreach import _foreach_add as _foreach_add
from ._tensor.foreach import _foreach_add_ as _foreach_add_
from ._tensor.foreach import _foreach_addcdiv as _foreach_addcdiv
from ._tensor.foreach import _foreach_addcdiv_ as _foreach_addcdiv_
from ._tensor.foreach import _foreach_addcmul as _foreach_addcmul
from ._tensor.foreach import _foreach_addcmul_ as _foreach_addcmul_
from ._tensor.foreach import _foreach_asin as _foreach_asin
from ._tensor.foreach import _foreach_asin_ as _foreach_asin_
from ._tensor.foreach import _foreach_atan as _foreach_atan
from ._tensor.foreach import _foreach_atan_ as _foreach_atan_
from ._tensor.foreach import _foreach_ceil as _foreach_ceil
from ._tensor.foreach import _foreach_ceil_ as _foreach_ceil_
from ._tensor.foreach import _foreach_clamp_max as _foreach_clamp_max
from ._tensor.foreach import _foreach_clamp_max_ as _foreach_clamp_max_
from ._tensor.foreach import _foreach_clamp_min as _foreach_clamp_min
from ._tensor.foreach import _foreach_clamp_min_ as _foreach_clamp_min_
from ._tensor.foreach import _foreach_clone as _foreach_clone
from ._tensor.foreach import _foreach_copy_ as _foreach_copy_
from ._tensor.foreach import _foreach_cos as _foreach_cos
from ._tensor.foreach import _foreach_cos_ as _foreach_cos_
from ._tensor.foreach import _foreach_cosh as _foreach_cosh
from ._tensor.foreach import _foreach_cosh_ as _foreach_cosh_
from ._tensor.foreach import _foreach_div as _foreach_div
from ._tensor.foreach import _foreach_div_ as _foreach_div_
from ._tensor.foreach import _foreach_erf as _foreach_erf
from ._tensor.foreach import _foreach_erf_ as _foreach_erf_
from ._tensor.foreach import _foreach_erfc as _foreach_erfc
from ._tensor.foreach import _foreach_erfc_ as _foreach_erfc_
from ._tensor.foreach import _foreach_exp as _foreach_exp
from ._tensor.foreach import _foreach_exp_ as _foreach_exp_
from ._tensor.foreach import _foreach_expm1 as _foreach_expm1
from ._tensor.foreach import _foreach_expm1_ as _foreach_expm1_
from ._tensor.foreach import _foreach_floor as _foreach_floor
from ._tensor.foreach import _foreach_floor_ as _foreach_floor_
from ._tensor.foreach import _foreach_frac as _foreach_frac
from ._tensor.foreach import _foreach_frac_ as _foreach_frac_
from ._tensor.foreach import _foreach_lerp as _foreach_lerp
from ._tensor.foreach import _foreach_lerp_ as _foreach_lerp_
from ._tensor.foreach import _foreach_lgamma as _foreach_lgamma
from ._tensor.foreach import _foreach_lgamma_ as _foreach_lgamma_
from ._tensor.foreach import _foreach_log as _foreach_log
from ._tensor.foreach import _foreach_log1p as _foreach_log1p
from ._tensor.foreach import _foreach_log1p_ as _foreach_log1p_
from ._tensor.foreach import _foreach_log2 as _foreach_log2
from ._tensor.foreach import _foreach_log2_ as _foreach_log2_
from ._tensor.foreach import _foreach_log10 as _foreach_log10
from ._tensor.foreach import _foreach_log10_ as _foreach_log10_
from ._tensor.foreach import _foreach_log_ as _foreach_log_
from ._tensor.foreach import _foreach_max as _foreach_max
from ._tensor.foreach import _foreach_maximum as _foreach_maximum
from ._tensor.foreach import _foreach_maximum_ as _foreach_maximum_
from ._tensor.foreach import _foreach_minimum as _foreach_minimum
from ._tensor.foreach import _foreach_minimum_ as _foreach_minimum_
from ._tensor.foreach import _foreach_mm as _foreach_mm
from ._tensor.foreach import _foreach_mul as _foreach_mul
from ._tensor.foreach import _foreach_mul_ as _foreach_mul_
from ._tensor.foreach import _foreach_neg as _foreach_neg
from ._tensor.foreach import _foreach_neg_ as _foreach_neg_
from ._tensor.foreach import _foreach_norm as _foreach_norm
from ._tensor.foreach import _foreach_pow as _foreach_pow
from ._tensor.foreach import _foreach_pow_ as _foreach_pow_
from ._tensor.foreach import _foreach_powsum as _foreach_powsum
from ._tensor.foreach import _foreach_reciprocal as _foreach_reciprocal
from ._tensor.foreach import _foreach_reciprocal_ as _foreach_reciprocal_
from ._tensor.foreach import _foreach_round as _foreach_round
from ._tensor.foreach import _foreach_round_ as _foreach_round_
from ._tensor.foreach import _foreach_rsqrt as _foreach_rsqrt
from ._tensor.foreach import _foreach_rsqrt_ as _foreach_rsqrt_
from ._tensor.foreach import _foreach_sigmoid as _foreach_sigmoid
from ._tensor.foreach import _foreach_sigmoid_ as _foreach_sigmoid_
from ._tensor.foreach import _foreach_sign as _foreach_sign
from ._tensor.foreach import _foreach_sign_ as _foreach_sign_
from ._tensor.foreach import _foreach_sin as _foreach_sin
from ._tensor.foreach import _foreach_sin_ as _foreach_sin_
from ._tensor.foreach import _foreach_sinh as _foreach_sinh
from ._tensor.foreach import _foreach_sinh_ as _foreach_sinh_
from ._tensor.foreach import _foreach_sqrt as _foreach_sqrt
from ._tensor.foreach import _foreach_sqrt_ as _foreach_sqrt_
from ._tensor.foreach import _foreach_sub as _foreach_sub
from ._tensor.foreach import _foreach_sub_ as _foreach_sub_
from ._tensor.foreach import _foreach_tan as _foreach_tan
from ._tensor.foreach import _foreach_tan_ as _foreach_tan_
from ._tensor.foreach import _foreach_tanh as _foreach_tanh
from ._tensor.foreach import _foreach_tanh_ as _foreach_tanh_
from ._tensor.foreach import _foreach_trunc as _foreach_trunc
from ._tensor.foreach import _foreach_trunc_ as _foreach_trunc_
from ._tensor.foreach import _foreach_zero_ as _foreach_zero_
from ._torch import _C as _C
from ._torch import __config__ as __config__
from ._torch import __future__ as __future__
from ._torch import _absent_device as _absent_device
from ._torch import _classes as _classes
from ._torch import _cuda_graphs as _cuda_graphs
from ._torch import _dispatched as _dispatched
from ._torch import _functorch as _functorch
from ._torch import _higher_order_ops as _higher_order_ops
from ._torch import _inductor as _inductor
from ._torch import _jit_types as _jit_types
from ._torch import _lobpcg as _lobpcg
from ._torch import _logging as _logging
from ._torch import _lowrank as _lowrank
from ._torch import _present_device as _present_device
from ._torch import _private as _private
from ._torch import _rare as _rare
from ._torch import _tensor_str as _tensor_str
from ._torch import _torchvision as _torchvision
from ._torch import _utils as _utils
from ._torch import accelerator as accelerator
from ._torch import ao as ao
from ._torch import compiler as compiler
from ._torch import export as export
from ._torch import functional as functional
from ._torch import futures as futures
from ._torch import hub as hub
from ._torch import jit as jit
from ._torch import library as library
from ._torch import monitor as monitor
from ._torch import nested as nested
from ._torch import opencl as opencl
from ._torch import quasirandom as quasirandom
from ._torch import torch_version as torch_version
from ._torch import types as types
from ._torch import version as version
from ._torch._absent_device import Event as Event
from ._torch._absent_device import Stream as Stream
from ._torch._C import DisableTorchFunction as DisableTorchFunction
from ._torch._C import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from ._torch._C import StorageBase as StorageBase
from ._torch._classes import classes as classes
from ._torch._higher_order_ops import cond as cond
from ._torch._higher_order_ops import while_loop as while_loop
from ._torch._lobpcg import lobpcg as lobpcg
from ._torch._lowrank import pca_lowrank as pca_lowrank
from ._torch._lowrank import svd_lowrank as svd_lowrank
from ._torch._private import _assert as _assert
from ._torch._private import _assert_async as _assert_async
from ._torch._private import _cast_Byte as _cast_Byte
from ._torch._private import _cast_Char as _cast_Char
from ._torch._private import _cast_Double as _cast_Double
from ._torch._private import _cast_Float as _cast_Float
from ._torch._private import _cast_Half as _cast_Half
from ._torch._private import _cast_Int as _cast_Int
from ._torch._private import _cast_Long as _cast_Long
from ._torch._private import _cast_Short as _cast_Short
from ._torch._private import _check as _check
from ._torch._private import _check_index as _check_index
from ._torch._private import _check_is_size as _check_is_size
from ._torch._private import _check_not_implemented as _check_not_implemented
from ._torch._private import _check_tensor_all as _check_tensor_all
from ._torch._private import _check_tensor_all_with as _check_tensor_all_with
from ._torch._private import _check_type as _check_type
from ._torch._private import _check_value as _check_value
from ._torch._private import _check_with as _check_with
from ._torch._private import _chunk_cat as _chunk_cat
from ._torch._private import _convert_indices_from_coo_to_csr as _convert_indices_from_coo_to_csr
from ._torch._private import _convert_indices_from_csr_to_coo as _convert_indices_from_csr_to_coo
from ._torch._private import _log_softmax_backward_data as _log_softmax_backward_data
from ._torch._private import _native_batch_norm_legit as _native_batch_norm_legit
from ._torch._private import _safe_softmax as _safe_softmax
from ._torch._private import _scaled_mm as _scaled_mm
from ._torch._private import _shape_as_tensor as _shape_as_tensor
from ._torch._private import _softmax_backward_data as _softmax_backward_data
from ._torch._private import _unsafe_masked_index as _unsafe_masked_index
from ._torch._private import (
    _unsafe_masked_index_put_accumulate as _unsafe_masked_index_put_accumulate,
)
from ._torch._rare import LoggerBase as LoggerBase
from ._torch._rare import from_file as from_file
from ._torch._rare import get_device_module as get_device_module
from ._torch._rare import get_file_path as get_file_path
from ._torch._rare import jagged as jagged
from ._torch._rare import mkldnn_convolution as mkldnn_convolution
from ._torch._rare import per_channel_affine as per_channel_affine
from ._torch._rare import per_channel_affine_float_qparams as per_channel_affine_float_qparams
from ._torch._rare import per_channel_symmetric as per_channel_symmetric
from ._torch._rare import per_tensor_affine as per_tensor_affine
from ._torch._rare import per_tensor_symmetric as per_tensor_symmetric
from ._torch._rare import qint8 as qint8
from ._torch._rare import qint32 as qint32
from ._torch._rare import qscheme as qscheme
from ._torch._rare import quint2x4 as quint2x4
from ._torch._rare import quint4x2 as quint4x2
from ._torch._rare import quint8 as quint8
from ._torch._rare import sym_constrain_range as sym_constrain_range
from ._torch._rare import sym_constrain_range_for_size as sym_constrain_range_for_size
from ._torch._rare import sym_float as sym_float
from ._torch._rare import sym_int as sym_int
from ._torch._rare import sym_ite as sym_ite
from ._torch._rare import sym_max as sym_max
from ._torch._rare import sym_min as sym_min
from ._torch._rare import sym_not as sym_not
from ._torch._rare import sym_sqrt as sym_sqrt
from ._torch._rare import sym_sum as sym_sum
from ._torch._utils import classproperty as classproperty
from ._torch.compiler import compile as compile
from ._torch.futures import Future as Future
from ._torch.jit import fork as fork
from ._torch.jit import wait as wait
from ._torch.quasirandom import _sobol_engine_draw as _sobol_engine_draw
from ._torch.quasirandom import _sobol_engine_ff_ as _sobol_engine_ff_
from ._torch.quasirandom import _sobol_engine_initialize_state_ as _sobol_engine_initialize_state_
from ._torch.quasirandom import _sobol_engine_scramble_ as _sobol_engine_scramble_
from .amp import GradScaler as GradScaler
from .amp.autocast_mode import autocast as autocast
from .amp.autocast_mode import autocast_decrement_nesting as autocast_decrement_nesting
from .amp.autocast_mode import autocast_increment_nesting as autocast_increment_nesting
from .amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from .amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from .amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from .amp.autocast_mode import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from .amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from .amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from .amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from .amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from .amp.autocast_mode import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from .amp.autocast_mode import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from .amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
from .amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
from .amp.autocast_mode import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from .autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from .explain._magics import load_ipython_extension as load_ipython_extension
from .func import vmap as vmap
from .serialization import load as load
from .serialization import save as save
from .sparse._convert import _indices_copy as _indices_copy
from .sparse._convert import _values_copy as _values_copy
from .sparse._convert import ccol_indices_copy as ccol_indices_copy
from .sparse._convert import col_indices_copy as col_indices_copy
from .sparse._convert import crow_indices_copy as crow_indices_copy
from .sparse._convert import indices_copy as indices_copy
from .sparse._convert import resize_as_sparse_ as resize_as_sparse_
from .sparse._convert import row_indices_copy as row_indices_copy
from .sparse._convert import values_copy as values_copy
from .sparse._making import sparse_bsc_tensor as sparse_bsc_tensor
from .sparse._making import sparse_bsr_tensor as sparse_bsr_tensor
from .sparse._making import sparse_compressed_tensor as sparse_compressed_tensor
from .sparse._making import sparse_coo_tensor as sparse_coo_tensor
from .sparse._making import sparse_csc_tensor as sparse_csc_tensor
from .sparse._making import sparse_csr_tensor as sparse_csr_tensor
from .sparse._products import dsmm as dsmm
from .sparse._products import hsmm as hsmm
from .sparse._products import hspmm as hspmm
from .sparse._products import saddmm as saddmm
from .sparse._products import smm as smm
from .sparse._products import spmm as spmm
from .sparse._products import sspaddmm as sspaddmm

AVG: Any
AggregationType: Any
AliasDb: Any
AnyType: Any
Argument: Any
ArgumentSpec: Any
AwaitType: Any
BenchmarkConfig: Any
BenchmarkExecutionStats: Any
Block: Any
BoolType: Any
BufferDict: Any
CallStack: Any
Capsule: Any
ClassType: Any
Code: Any
CompilationUnit: Any
CompleteArgumentSpec: Any
ComplexType: Any
ConcreteModuleType: Any
ConcreteModuleTypeBuilder: Any
DeepCopyMemoTable: Any
DeserializationStorageContext: Any
DeviceObjType: Any
DictType: Any
DispatchKey: Any
DispatchKeySet: Any
EnumType: Any
ErrorReport: Any
ExcludeDispatchKeyGuard: Any
ExecutionPlan: Any
FatalError: Any
FileCheck: Any
FloatType: Any
FunctionSchema: Any
FutureType: Any
Gradient: Any
Graph: Any
GraphExecutorState: Any
IODescriptor: Any
InferredType: Any
IntType: Any
InterfaceType: Any
JITException: Any
ListType: Any
LiteScriptModule: Any
LockingLogger: Any
ModuleDict: Any
Node: Any
NoneType: Any
NoopLogger: Any
NumberType: Any
OperatorInfo: Any
OptionalType: Any
PRIVATE_OPS: Any
ParameterDict: Any
PyObjectType: Any
PyTorchFileReader: Any
PyTorchFileWriter: Any
QInt32Storage: Any
QInt8Storage: Any
QUInt2x4Storage: Any
QUInt4x2Storage: Any
QUInt8Storage: Any
RRefType: Any
SUM: Any
ScriptClass: Any
ScriptClassFunction: Any
ScriptDict: Any
ScriptDictIterator: Any
ScriptDictKeyIterator: Any
ScriptFunction: Any
ScriptList: Any
ScriptListIterator: Any
ScriptMethod: Any
ScriptModule: Any
ScriptModuleSerializer: Any
ScriptObject: Any
ScriptObjectProperty: Any
SerializationStorageContext: Any
StaticModule: Any
StreamObjType: Any
StringType: Any
SymBool: Any
SymBoolType: Any
SymFloat: Any
SymInt: Any
SymIntType: Any
TYPE_CHECKING: Any
Tag: Any
TensorType: Any
ThroughputBenchmark: Any
TracingState: Any
TupleType: Any
Type: Any
USE_GLOBAL_DEPS: Any
USE_RTLD_GLOBAL_WITH_LIBTORCH: Any
UnionType: Any
Use: Any
Value: Any
_VF: Any
_compile: Any
_custom_ops: Any
_dynamo: Any
_environment: Any
_generator: Any
_grouped_mm: Any
_guards: Any
_is_all_true: Any
_is_any_true: Any
_jit_internal: Any
_library: Any
_linalg_utils: Any
_make_per_tensor_quantized_tensor: Any
_nested_compute_contiguous_strides_offsets: Any
_nested_view_from_buffer: Any
_nnpack_available: Any
_ops: Any
_prims_common: Any
_segment_reduce: Any
_subclasses: Any
_torch_alias: Any
_vmap_internals: Any
batch_norm_backward_elemt: Any
batch_norm_backward_reduce: Any
batch_norm_elemt: Any
batch_norm_gather_stats: Any
batch_norm_gather_stats_with_counts: Any
batch_norm_stats: Any
choose_qparams_optimized: Any
compiled_with_cxx11_abi: Any
cpu: Any
cudnn_affine_grid_generator: Any
cudnn_batch_norm: Any
cudnn_convolution: Any
cudnn_convolution_add_relu: Any
cudnn_convolution_relu: Any
cudnn_convolution_transpose: Any
cudnn_grid_sampler: Any
cudnn_is_acceptable: Any
empty_quantized: Any
fbgemm_linear_fp16_weight: Any
fbgemm_linear_fp16_weight_fp32_activation: Any
fbgemm_linear_int8_weight: Any
fbgemm_linear_int8_weight_fp32_activation: Any
fbgemm_linear_quantize_weight: Any
fbgemm_pack_gemm_matrix_fp16: Any
fbgemm_pack_quantized_matrix: Any
get_autocast_ipu_dtype: Any
get_autocast_xla_dtype: Any
has_lapack: Any
has_mkl: Any
has_openmp: Any
has_spectral: Any
import_ir_module: Any
import_ir_module_from_buffer: Any
init_num_threads: Any
int_repr: Any
is_autocast_ipu_enabled: Any
is_autocast_xla_enabled: Any
is_vulkan_available: Any
merge_type_from_type_comment: Any
miopen_batch_norm: Any
miopen_convolution: Any
miopen_convolution_add_relu: Any
miopen_convolution_relu: Any
miopen_convolution_transpose: Any
miopen_ctc_loss: Any
miopen_depthwise_convolution: Any
miopen_rnn: Any
mkldnn_adaptive_avg_pool2d: Any
mkldnn_linear_backward_weights: Any
mkldnn_max_pool2d: Any
mkldnn_max_pool3d: Any
mkldnn_rnn_layer: Any
mps: Any
mtia: Any
native_norm: Any
numa: Any
onnx: Any
package: Any
parse_ir: Any
parse_schema: Any
parse_type_comment: Any
prepare_multiprocessing_environment: Any
profiler_allow_cudagraph_cupti_lazy_reinit_cuda12: Any
q_per_channel_axis: Any
q_per_channel_scales: Any
q_per_channel_zero_points: Any
q_scale: Any
q_zero_point: Any
quantization: Any
quantize_per_channel: Any
quantize_per_tensor: Any
quantize_per_tensor_dynamic: Any
quantized_batch_norm: Any
quantized_gru: Any
quantized_gru_cell: Any
quantized_lstm: Any
quantized_lstm_cell: Any
quantized_max_pool1d: Any
quantized_max_pool2d: Any
quantized_max_pool3d: Any
quantized_rnn_relu_cell: Any
quantized_rnn_tanh_cell: Any
set_autocast_ipu_dtype: Any
set_autocast_ipu_enabled: Any
set_autocast_xla_dtype: Any
set_autocast_xla_enabled: Any
sym_fresh_size: Any
thread_safe_generator: Any
unify_type_list: Any
xpu: Any
