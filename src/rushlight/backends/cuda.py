"""torch.backends.cuda: its switches, kept and without effect; CUDA is not here."""

from __future__ import annotations

from .._missing import missing_name as _missing_name


class _Matmul:
    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul = _Matmul()


def is_built() -> bool:
    """False: CUDA is not here.

    >>> torch.backends.cuda.is_built() and torch.cuda.is_available()
    False
    """
    return False


__getattr__ = _missing_name(__name__)
