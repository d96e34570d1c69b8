"""Function transforms: grad, vjp, jvp, vmap and what is made of them; they nest in any order."""

from __future__ import annotations

from .._base.missing import missing_name as _missing_name

_FILES = {
    "_forward": "jvp",
    "_functional_call": "functional_call stack_module_state",
    "_jacobians": "hessian jacfwd jacrev",
    "_reverse": "grad grad_and_value linearize vjp",
    "_tools": "debug_unwrap functionalize replace_all_batch_norm_modules_",
    "_vmap": "vmap",
}
_LATE = {name: file for file, names in _FILES.items() for name in names.split()}

__all__ = sorted(_LATE)

__getattr__ = _missing_name(__name__, late=_LATE)
