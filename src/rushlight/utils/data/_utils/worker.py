"""Questions that a worker can ask of itself."""

from __future__ import annotations

from typing import Any

from rushlight._base.missing import missing_name as _missing_name

from .. import _worker
from .._worker import WorkerInfo as WorkerInfo
from .._worker import get_worker_info as get_worker_info

HAS_NUMPY = True
IS_WINDOWS = False
MP_STATUS_CHECK_INTERVAL = 5.0


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four numbers for NumPy's generator in a worker."""
    numbers: list[int] = _worker._numpy_seed(base_seed, worker_id).tolist()
    return numbers


_missing = _missing_name(__name__)


def __getattr__(name: str) -> Any:
    return _worker._worker_info if name == "_worker_info" else _missing(name)
