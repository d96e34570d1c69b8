"""`torch._inductor.config`: settings of PyTorch's compiler, kept as programs set them."""

import types

from ..._base.switches import patcher as _patcher

debug = False
max_autotune = False
max_autotune_gemm = False
coordinate_descent_tuning = False
epilogue_fusion = True
shape_padding = True
fx_graph_cache = True
freezing = False
fallback_random = False
force_fuse_int_mm_with_mul = False
use_mixed_mm = False
compile_threads = 1
cpp_wrapper = False
triton = types.SimpleNamespace(cudagraphs=False, unique_kernel_names=True, cudagraph_trees=True)
cpp = types.SimpleNamespace(threads=-1, simdlen=None)
cuda = types.SimpleNamespace()
trace = types.SimpleNamespace(enabled=False)
patch = _patcher(globals())
