"""The state of the default generator of random numbers: torch.random."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ._base.missing import missing_name as _missing_name
from ._core import Tensor
from ._devices.generator import Generator, default_generator, seed_all, set_states, states

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


def manual_seed(seed: int) -> Generator:
    """Seed the default generators of the CPU, which is returned, and of all accelerators. One seed
    gives other numbers on an accelerator than on the CPU.

    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    return seed_all(seed)


def seed() -> int:
    """Seed the default generators from the system's entropy; returns the seed.

    >>> torch.seed() == torch.initial_seed()
    True
    """
    value = default_generator.seed()
    seed_all(value)
    return value


def initial_seed() -> int:
    """The default generator's seed.

    >>> _ = torch.manual_seed(7)
    >>> torch.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state.

    >>> state = torch.get_rng_state()
    >>> first = torch.rand(3)
    >>> torch.set_rng_state(state)
    >>> torch.equal(first, torch.rand(3))
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the default generator's state.

    >>> state = torch.Generator().manual_seed(1).get_state()
    >>> torch.set_rng_state(state)
    >>> torch.rand(1)
    tensor([0.7576])
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: Any = None,
) -> Iterator[None]:
    """Draw inside the block without the outside noticing, on accelerators too.

    >>> _ = torch.manual_seed(0)
    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(1)
    ...     inside = torch.rand(1)
    >>> torch.rand(1)
    tensor([0.4963])
    """
    before = states() if enabled else None
    try:
        yield
    finally:
        if before is not None:
            set_states(before)


__getattr__ = _missing_name(__name__)
