"""Runs as a Python process starts that a script under `rushlight run` has started: see
_torch_alias.py.

It sets up the alias only on the first `import torch`, leaves sys.path as it would be without it,
and hands on to the environment's own sitecustomize, if there is one. Of another environment's
Python it keeps its hands off.
"""

from __future__ import annotations

import os
import sys

# Every interpreter that the script starts runs this: nothing is imported for type names alone.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from importlib.metadata import Distribution, DistributionFinder
    from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))


class _AtFirstImport:
    """Puts the real finder in its own place once `torch` is asked for."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname not in ("torch", "functorch"):
            return None
        sys.meta_path.remove(self)
        from rushlight._alias import TorchFinder

        finder = TorchFinder()
        sys.meta_path.insert(0, finder)
        return finder.find_spec(fullname, path, target)

    def find_distributions(self, context: DistributionFinder.Context) -> Iterator[Distribution]:
        from rushlight._alias import TorchFinder

        return TorchFinder().find_distributions(context)


def _own_sitecustomize() -> None:
    """Import the sitecustomize that this one stands in front of."""
    this = sys.modules.pop(__name__, None)
    try:
        __import__("sitecustomize")  # the next one on the path
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        if this is not None:
            sys.modules[__name__] = this


sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _HERE]
if os.environ.get("RUSHLIGHT_AS_TORCH") == sys.prefix:
    sys.meta_path.insert(0, _AtFirstImport())
_own_sitecustomize()
