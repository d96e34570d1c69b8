"""The CTC loss: a launch for each step, of all states of all samples."""

from __future__ import annotations

from typing import Any

from .... import _core
from ...._base import dtypes
from ...._core import Tensor
from ...._devices.accelerators import numbered
from ...._devices.launch import code, empty, rows, start
from ...._devices.there import struct_of, there
from .. import ctc

_FILE = "ctc.cl"
_CHAIN = struct_of(_FILE, "Chain")


class _Sequences:
    """The arguments of a loss as kernels take them."""

    def __init__(
        self,
        log_probs: Tensor,
        targets: Tensor,
        steps: Tensor,
        lengths: Tensor,
        blank: int,
        zero: bool,
    ) -> None:
        self.time, self.batch, self.classes = log_probs.shape
        self.states = 2 * targets.shape[1] + 1
        self.scores, self.like, self.zero = rows(log_probs), log_probs, int(zero)
        self.targets, self.steps, self.lengths = map(rows, (targets, steps, lengths))
        self.chain = _CHAIN.pack(
            batch=self.batch, classes=self.classes, longest=targets.shape[1], blank=blank
        )
        wide = numbered(log_probs._accelerator).facts.has_double
        self.wide = dtypes.float64 if wide else dtypes.float32

    def start(self, name: str, items: int, *arguments: Any) -> None:
        start(_FILE, name, items, self.like, *arguments, computes=self.wide.name)

    def table(self) -> Tensor:
        """A number for each state of each step."""
        return empty((self.time, self.batch, self.states), self.like, self.wide)

    def forwards(self) -> Tensor:
        alpha, items = self.table(), self.batch * self.states
        given = self.scores, self.targets, self.lengths, alpha, self.chain, code(self.like)
        for t in range(self.time):
            self.start("forward", items, *given, t, items)
        return alpha

    def backwards(self) -> Tensor:
        beta, items = self.table(), self.batch * self.states
        tensors = self.scores, self.targets, self.lengths, self.steps, beta
        for t in reversed(range(self.time)):
            given = *tensors, self.chain, code(self.like), t, self.time, items
            self.start("backward", items, *given)
        return beta

    def losses(self, alpha: Tensor, dtype: dtypes.dtype, zero: int) -> Tensor:
        out = empty((self.batch,), self.like, dtype)
        given = alpha, self.steps, self.lengths, out, self.chain, code(out), zero
        self.start("losses", self.batch, *given)
        return out


_TAKES = "real, targets: int64, steps: int64, lengths: int64"


@there(ctc._losses_op, _core.kernels.ctc_losses, takes=_TAKES)
def ctc_losses(
    log_probs: Tensor,
    targets: Tensor,
    steps: Tensor,
    lengths: Tensor,
    blank: int,
    zero_infinity: bool,
) -> Tensor:
    given = _Sequences(log_probs, targets, steps, lengths, blank, zero_infinity)
    return given.losses(given.forwards(), log_probs.dtype, given.zero)


@there(ctc._backward_op, _core.kernels.ctc_backward, takes=_TAKES)
def ctc_loss_backward(
    g: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    steps: Tensor,
    lengths: Tensor,
    blank: int,
    zero_infinity: bool,
) -> Tensor:
    given = _Sequences(log_probs, targets, steps, lengths, blank, zero_infinity)
    alpha, beta = given.forwards(), given.backwards()
    loss = given.losses(alpha, given.wide, 0)
    out, items = empty(log_probs.shape, log_probs), given.time * given.batch
    tensors = given.targets, given.lengths, given.steps, alpha, beta, loss, out
    numbers = given.chain, code(log_probs), code(g), given.zero, items
    given.start("gradient", items, rows(g), given.scores, *tensors, *numbers)
    return out
