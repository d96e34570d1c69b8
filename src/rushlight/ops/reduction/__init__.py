"""Many elements to one or in order along dimensions: sums, extremes, scans, sorting."""

from . import (  # noqa: F401  importing a module enters its ops
    extremes,
    reductions,
    scans,
    sorting,
    statistics,
)
