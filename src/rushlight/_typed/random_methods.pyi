"""ops/random/: methods of Tensor. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from typing import Any

from .._core import Tensor
from .._devices.generator import Generator as _Generator

class RandomMethods:
    def bernoulli(self, p: Any = None, *, generator: _Generator | None = None) -> Tensor: ...
    def bernoulli_(
        self, p: Tensor | _float = 0.5, *, generator: _Generator | None = None
    ) -> Tensor: ...
    def cauchy_(
        self, median: _float = 0.0, sigma: _float = 1.0, *, generator: _Generator | None = None
    ) -> Tensor: ...
    def exponential_(
        self, lambd: _float = 1.0, *, generator: _Generator | None = None
    ) -> Tensor: ...
    def geometric_(self, p: _float, *, generator: _Generator | None = None) -> Tensor: ...
    def log_normal_(
        self, mean: _float = 1.0, std: _float = 2.0, *, generator: _Generator | None = None
    ) -> Tensor: ...
    def multinomial(
        self, num_samples: _int, replacement: _bool = False, *, generator: _Generator | None = None
    ) -> Tensor: ...
    def normal_(
        self, mean: _float = 0.0, std: _float = 1.0, *, generator: _Generator | None = None
    ) -> Tensor: ...
    def random_(
        self, from_: _int | None = None, to: _int = ..., *, generator: _Generator | None = None
    ) -> Tensor: ...
    def uniform_(
        self, from_: _float = 0.0, to: _float = 1.0, *, generator: _Generator | None = None
    ) -> Tensor: ...
