"""Making tensors: of a size, of data, as copies, and in another element type."""

from . import (  # noqa: F401  importing a module enters its ops
    casts,
    copies,
    creation,
    from_data,
)
