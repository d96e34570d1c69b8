"""The setting of `use_deterministic_algorithms`, and its effects: operators that are refused, and
new memory that is filled."""

from __future__ import annotations

from .errors import warn

level = 0  # 0: off, 1: warns, 2: on
warn_only = False  # as it was set last, also with the rest off
fills = True  # `torch.utils.deterministic.fill_uninitialized_memory`

_FILE = "file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding "
_FILE += "deterministic support for this operation."


def alert(operator: str) -> None:
    """An error, or a warning, for an operator that PyTorch calls not deterministic."""
    if level == 0:
        return
    said = f"{operator} does not have a deterministic implementation, but you set "
    if level == 1:
        said += f"'torch.use_deterministic_algorithms(True, warn_only=True)'. You can {_FILE}"
        warn(said)
        return
    raise RuntimeError(
        f"{said}'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for "
        "this operation, or you can use the 'warn_only=True' option, if that's acceptable for your "
        f"application. You can also {_FILE}"
    )
