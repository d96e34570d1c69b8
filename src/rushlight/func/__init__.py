"""Function transforms: grad, vjp, jvp, vmap and what is made of them; they nest in any order."""

from __future__ import annotations

from .. import base as _base
from . import (
    _batching,
    _batching_rules,
    _composites,
    _custom_function,
    _jvp,
    _printing,
    _randomness,
    _subscripts,
    transforms,
)
from ._batching import unbatched_ops
from ._functional_call import functional_call, stack_module_state
from .transforms import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)

__all__ = [
    "functional_call",
    "stack_module_state",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "unbatched_ops",
    "vjp",
    "vmap",
]
