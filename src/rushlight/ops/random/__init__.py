"""Random numbers, equal to PyTorch's by seed: tensors filled in place, and new ones."""

from . import (  # noqa: F401  importing a module enters its ops
    families,
    fills,
    samples,
)
