"""Function transforms: grad, vjp, jvp, vmap and what is made of them; they nest in any order."""

from __future__ import annotations

from .._missing import missing_name as _missing_name
from ._forward import jvp
from ._functional_call import functional_call, stack_module_state
from ._jacobians import hessian, jacfwd, jacrev
from ._reverse import grad, grad_and_value, linearize, vjp
from ._tools import debug_unwrap, functionalize, replace_all_batch_norm_modules_
from ._vmap import vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]

__getattr__ = _missing_name(__name__)
