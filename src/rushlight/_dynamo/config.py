"""`torch._dynamo.config`: settings of PyTorch's compiler, kept as programs set them; nothing reads
them."""

from ..backends._switches import patcher as _patcher

cache_size_limit = 8
accumulated_cache_size_limit = 256
recompile_limit = 8
suppress_errors = False
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
dynamic_shapes = True
assume_static_by_default = True
automatic_dynamic_shapes = True
optimize_ddp = True
inline_inbuilt_nn_modules = True
verbose = False
disable = False
skip_fwd_side_effects_in_bwd_under_checkpoint = False
reorderable_logging_functions: set[object] = set()

patch = _patcher(globals())
