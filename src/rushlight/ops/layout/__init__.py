"""The same elements in another shape or order: views, joins and rearrangements."""

from . import (  # noqa: F401  importing a module enters its ops
    joining,
    rearrange,
    shape,
    slices,
    strided,
    transposes,
    view_copies,
)
