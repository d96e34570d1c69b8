"""`torch.nn.functional`: the neural-network part of the op table under its public names.

Nothing is computed here. A name is the op of the same name in `rushlight.ops`, looked up when it is
first used and then kept, so that `F.linear` costs no more than the op itself.
"""

from __future__ import annotations

from typing import Any

from rushlight import base as rl


def __getattr__(name: str) -> Any:
    function = None if name.startswith("__") else getattr(rl._nn, name, None)
    if function is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *(name for name in dir(rl._nn) if not name.startswith("_"))})
