"""Function transforms: grad, vjp, jvp, vmap and what is made of them; they nest in any order."""

from __future__ import annotations

from .. import _root as _base  # noqa: F401 - the functions that the rules below look up
from . import (  # noqa: F401 - importing them enters their rules
    _batching,
    _batching_places,
    _batching_rules,
    _composites,
    _custom_function,
    _jvp,
    _printing,
    _randomness,
)
from ._functional_call import functional_call, stack_module_state
from ._tools import debug_unwrap, functionalize, replace_all_batch_norm_modules_
from ._transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

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
