"""`torch._dynamo.eval_frame`, as far as libraries name it."""

from . import OptimizedModule as OptimizedModule
from . import disable as disable
from . import is_dynamo_supported as is_dynamo_supported
from . import optimize as optimize
from . import reset as reset
