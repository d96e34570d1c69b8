"""Small classes that rows of named_only.txt name: libraries import them and use a little."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

try:
    tqdm: Any = import_module("tqdm").tqdm
except ImportError:

    class tqdm:  # type: ignore[no-redef]
        """A progress bar that writes how much is done, where the package tqdm is not installed."""

        def __init__(
            self, iterable: Iterable[Any] | None = None, total: int | None = None, **how: Any
        ) -> None:
            self._over, self.total, self.n = iterable, total, 0
            self.disable = bool(how.get("disable", False))

        def __iter__(self) -> Iterator[Any]:
            for value in self._over or ():
                yield value
                self.update(1)

        def update(self, n: int) -> None:
            """So much more is done."""
            self.n += n
            if not self.disable:
                of = f"{100 * self.n / self.total:.1f}%" if self.total else f"{self.n}"
                sys.stderr.write(f"\r{of}")
                sys.stderr.flush()

        def close(self) -> None:
            """Nothing more is done."""
            if not self.disable:
                sys.stderr.write("\n")
            self.disable = True

        def __enter__(self) -> tqdm:
            return self

        def __exit__(self, *exc: object) -> None:
            self.close()


class DispatchKeySet:
    """A set of dispatch keys; nothing is dispatched by them."""

    def __init__(self, *keys: Any) -> None:
        self._keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def has(self, key: Any) -> bool:
        """Whether a key is in it."""
        return key in self._keys

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(sorted(key.name for key in self._keys))})"


class _ExcludeDispatchKeyGuard:
    """A block without some dispatch keys: nothing is dispatched by them."""

    def __init__(self, keys: Any) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass
