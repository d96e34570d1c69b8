"""Elements by index or mask: subscripts, take, gather and scatter, index_select."""

from . import (  # noqa: F401  importing a module enters its ops
    index_select,
    scatter,
    segments,
    subscript,
    take,
)
