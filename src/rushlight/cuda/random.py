"""`torch.cuda.random`: the random functions of `torch.cuda` under their module's name."""

from .._missing import missing_name as _missing_name
from . import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all"]
__all__ += ["seed", "seed_all", "set_rng_state", "set_rng_state_all"]

__getattr__ = _missing_name(__name__)
