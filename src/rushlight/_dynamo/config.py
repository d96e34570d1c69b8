"""`torch._dynamo.config`: settings of PyTorch's compiler, kept as programs set them; nothing reads
them."""

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
