"""`torch._dynamo.config`: settings of PyTorch's compiler, kept as programs set them; nothing reads
them."""

from contextlib import AbstractContextManager as _Context

from ..backends._switches import replaced as _replaced

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


def patch(
    arg1: str | dict[str, object] | None = None, arg2: object = None, **changes: object
) -> _Context[None]:
    """A block, or a decorated function, with other settings.

    >>> with torch._dynamo.config.patch(verbose=True):
    ...     torch._dynamo.config.verbose
    True
    """
    given = {arg1: arg2} if isinstance(arg1, str) else arg1 or {}
    return _replaced(globals(), {**given, **changes})
