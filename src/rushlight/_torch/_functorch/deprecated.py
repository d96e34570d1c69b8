"""`functorch`, the package: `torch.func` with a warning, and modules as functions."""

from __future__ import annotations

import functools
from collections.abc import Callable

from ... import func as _func
from ..._base.errors import warn
from ..._base.version import TORCH_VERSION as __version__  # noqa: F401
from . import make_functional as _modules
from .make_functional import FunctionalModule as FunctionalModule
from .make_functional import FunctionalModuleWithBuffers as FunctionalModuleWithBuffers


def _warning(function: Callable[..., object], new: str) -> Callable[..., object]:
    name = function.__name__

    @functools.wraps(function)
    def warns(*args: object, **kwargs: object) -> object:
        warn(
            "We've integrated functorch into PyTorch. As the final step of the integration, "
            f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future "
            f"version of PyTorch >= 2.3. Please use `{new}` instead; see the PyTorch 2.0 release "
            "notes and/or the `torch.func` migration guide for more details "
            "https://pytorch.org/docs/main/func.migrating.html",
            FutureWarning,
        )
        return function(*args, **kwargs)

    return warns


vmap = _warning(_func.vmap, "torch.vmap")
grad = _warning(_func.grad, "torch.func.grad")
grad_and_value = _warning(_func.grad_and_value, "torch.func.grad_and_value")
vjp = _warning(_func.vjp, "torch.func.vjp")
jvp = _warning(_func.jvp, "torch.func.jvp")
jacrev = _warning(_func.jacrev, "torch.func.jacrev")
jacfwd = _warning(_func.jacfwd, "torch.func.jacfwd")
hessian = _warning(_func.hessian, "torch.func.hessian")
functionalize = _warning(_func.functionalize, "torch.func.functionalize")
make_functional = _warning(_modules.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _warning(
    _modules.make_functional_with_buffers, "torch.func.functional_call"
)
combine_state_for_ensemble = _warning(
    _modules.combine_state_for_ensemble, "torch.func.stack_module_state"
)
