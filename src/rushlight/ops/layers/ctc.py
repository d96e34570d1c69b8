"""CTC loss: the likelihood of label sequences, summed over all their alignments with the input.

The labels with a blank before, between and behind them are the states of a chain. At each step an
alignment stays in its state, goes on to the next, or skips a blank between two different labels.
`_forwards` gives the log-probability of all ways that lead to a state (alpha), `_backwards` the
log-probability of all ways on from the state (beta); both count the state's own step. Arrays are
(time, batch, state), float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ... import _core
from ..._base.outside import np
from ..._devices import of
from ..._levels.running import answered
from ..elementwise.arithmetic import no_derivative
from ..table.arrays import Array, elements, refuse
from ..table.kinds import composite, general
from ..table.signature import Sizes, Tensor
from .loss import reduce_loss, reduction_asked

_kernels = _core.kernels
_CHECKING = "(while checking arguments for ctc_loss_allocate_outputs)"
_no_second_derivative = no_derivative("_ctc_loss_backward")


class _Chain(NamedTuple):
    """The arrays of the recursions: one row a sample."""

    states: Array  # (batch, state): the label of each state
    emitted: Array  # (time, batch, state): its log-probability at each step
    skips: Array  # (batch, state): 0 where it can be reached past a blank, else -inf
    steps: Array  # (batch,): how many steps the input has
    ends: Array  # (batch,): the last state


def _chain(log_probs: Array, targets: Array, steps: Array, lengths: Array, blank: int) -> _Chain:
    batch, longest = targets.shape
    states = np.full((batch, 2 * longest + 1), blank)
    within = np.arange(longest) < lengths[:, None]
    states[:, 1::2] = np.where(within, targets, blank)
    skips = np.full(states.shape, -np.inf)
    labels = states[:, 1::2]
    skips[:, 3::2][labels[:, 1:] != labels[:, :-1]] = 0.0
    wide = log_probs.astype(np.float64)
    emitted = np.take_along_axis(wide, np.broadcast_to(states, (len(wide), *states.shape)), 2)
    return _Chain(states, emitted, skips, steps, 2 * lengths)


def _shifted(a: Array, by: int) -> Array:
    """The values of the states `by` places before (negative: behind), -inf where there is none."""
    out = np.full(a.shape, -np.inf)
    if by > 0:
        out[:, by:] = a[:, :-by]
    else:
        out[:, :by] = a[:, -by:]
    return out


def _forwards(chain: _Chain) -> Array:
    alpha: Array = np.full(chain.emitted.shape, -np.inf)
    alpha[:1, :, :2] = chain.emitted[:1, :, :2]
    for t in range(1, len(alpha)):
        before = alpha[t - 1]
        ways = np.logaddexp(before, _shifted(before, 1))
        ways = np.logaddexp(ways, _shifted(before, 2) + chain.skips)
        alpha[t] = ways + chain.emitted[t]
    return alpha


def _backwards(chain: _Chain) -> Array:
    beta: Array = np.full(chain.emitted.shape, -np.inf)
    place = np.arange(beta.shape[2])
    last = (place == chain.ends[:, None]) | (place == chain.ends[:, None] - 1)
    after = np.full(beta.shape[1:], -np.inf)
    for t in reversed(range(len(beta))):
        ways = np.logaddexp(after, _shifted(after, -1))
        ways = np.logaddexp(ways, _shifted(after + chain.skips, -2))
        starts = last & (chain.steps == t + 1)[:, None]
        after = np.where(starts, 0.0, ways) + chain.emitted[t]
        beta[t] = after
    return beta


def _losses(chain: _Chain, alpha: Array) -> Array:
    """Minus the log-probability of ending in the last label or the blank behind it."""
    rows = np.arange(len(chain.steps))
    at = alpha[np.maximum(chain.steps - 1, 0), rows] if len(alpha) else alpha.sum(0)
    ends = chain.ends
    label = np.where(ends > 0, at[rows, np.maximum(ends - 1, 0)], -np.inf)
    total = np.logaddexp(at[rows, ends], label)
    return -np.where(chain.steps > 0, total, np.where(ends > 0, -np.inf, 0.0))


def _forward(
    log_probs: Array, targets: Array, steps: Array, lengths: Array, blank: int, zero_infinity: bool
) -> Array:
    with np.errstate(invalid="ignore"):
        chain = _chain(log_probs, targets, steps, lengths, blank)
        loss = _losses(chain, _forwards(chain))
    if zero_infinity:
        loss[np.isinf(loss)] = 0.0
    return loss.astype(log_probs.dtype)


def _gradient(
    g: Array,
    log_probs: Array,
    targets: Array,
    steps: Array,
    lengths: Array,
    blank: int,
    zero_infinity: bool,
) -> Array:
    """The probability of each class less its share of all alignments.

    The first is what log_softmax, of which the input is the result, adds to the derivative; PyTorch
    counts it here.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        chain = _chain(log_probs, targets, steps, lengths, blank)
        alpha = _forwards(chain)
        loss = _losses(chain, alpha)
        shares = np.exp(alpha + _backwards(chain) - chain.emitted + loss[:, None])
        shares[(chain.emitted == -np.inf) & np.isfinite(loss)[:, None]] = 0.0
        out = np.exp(log_probs.astype(np.float64))
        time, batch, classes = out.shape
        row = np.arange(time * batch).reshape(time, batch, 1) * classes
        place = (row + chain.states).ravel()
        out -= np.bincount(np.asarray(place, np.intp), shares.ravel(), out.size).reshape(out.shape)
        out *= g.astype(np.float64)[:, None]
    out[:, np.isinf(loss)] = 0.0 if zero_infinity else np.nan
    out[np.arange(time)[:, None] >= steps] = 0.0
    return out.astype(log_probs.dtype)


_ARGUMENTS = (
    "log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, "
    "blank: Any, zero_infinity: Any"
)
_backward_op = general(
    f"_ctc_loss_backward(grad: Tensor, {_ARGUMENTS})",
    _gradient,
    native=_kernels.ctc_backward,
    vjp={
        "grad": lambda g, grad: _no_second_derivative(grad),
        "log_probs": lambda g, log_probs: _no_second_derivative(log_probs),
    },
    method=False,
    doc="The gradient of the CTC loss.",
)


def _vjp(
    g: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    zero_infinity: bool,
) -> Tensor:
    return _backward_op(g, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)


_losses_op = general(
    f"_ctc_losses({_ARGUMENTS})",
    _forward,
    native=_kernels.ctc_losses,
    vjp={"log_probs": _vjp},
    node="CtcLossBackward0",
    method=False,
    formula={"log_probs": "ctc_loss_backward(g)"},
    doc="The CTC loss of each sample.",
)


def _lengths(given: Tensor | Sequence[int], name: str, batch: int, most: int) -> Array:
    """Lengths as an array, checked."""
    found = elements(given) if isinstance(given, _core.Tensor) else np.asarray(given, np.int64)
    if found.size and found.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral")
    found = found.reshape(-1).astype(np.int64)
    if found.size != batch:
        raise RuntimeError(f"{name} must be of size batch_size")
    if found.min() < 0:
        raise RuntimeError(
            f"Expected {name} to have value at least 0, but got value {found.min()} {_CHECKING}"
        )
    if name == "input_lengths" and found.max() > most:
        raise RuntimeError(
            f"Expected {name} to have value at most {most}, but got value {found.max()} {_CHECKING}"
        )
    return found


def _rows(targets: Array, lengths: Array) -> Array:
    """The targets as one row a sample, from rows or from all behind each other."""
    longest = int(lengths.max())
    if targets.ndim == 1:
        _expect_size(targets, 0, int(lengths.sum()))
        rows = np.zeros((lengths.size, longest), np.int64)
        rows[np.arange(longest) < lengths[:, None]] = targets
        return rows
    _expect_size(targets, 0, lengths.size)
    if targets.shape[1] < longest:
        raise RuntimeError(
            f"Expected tensor to have size at least {longest} at dimension 1, but got size "
            f"{targets.shape[1]} for argument #2 'targets' {_CHECKING}"
        )
    return targets[:, :longest].astype(np.int64)


def _expect_size(targets: Array, dim: int, size: int) -> None:
    if targets.shape[dim] != size:
        raise RuntimeError(
            f"Expected tensor to have size {size} at dimension {dim}, but got size "
            f"{targets.shape[dim]} for argument #2 'targets' {_CHECKING}"
        )


@composite(where="nn", autocast="float32 here")
@answered("by_element")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sizes,
    target_lengths: Tensor | Sizes,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The negative log-likelihood of label sequences over all their alignments with the input."""
    reduction = reduction_asked(None, None, reduction)
    alone = log_probs.ndim == 2
    if alone:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0)
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    if (
        isinstance(input_lengths, _core.Tensor)
        and isinstance(target_lengths, _core.Tensor)
        and log_probs.ndim == 3
        and log_probs.device.type == "cpu"
        and _kernels.ctc_in_order(log_probs, targets, input_lengths, target_lengths, blank) is True
    ):
        parts = targets, input_lengths, target_lengths
        loss = _losses_op(log_probs, *parts, blank, zero_infinity)
        if reduction == "mean":
            return (loss / target_lengths.clamp_min(1).to(loss.dtype)).mean()
        return reduce_loss(loss.squeeze(0) if alone else loss, reduction)
    time, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    steps = _lengths(input_lengths, "input_lengths", batch, time)
    lengths = _lengths(target_lengths, "target_lengths", batch, time)
    rows = _rows(elements(targets), lengths)
    wrong = (np.arange(rows.shape[1]) < lengths[:, None]) & ((rows < 0) | (rows >= classes))
    if wrong.any():
        raise RuntimeError(
            f"Expected targets to have values in [0, {classes}), but got value {rows[wrong][0]}"
        )
    refuse("ctc_loss_cpu", log_probs._form, "biuc", halves=True)
    there = of(log_probs).tensor  # targets and lengths may be on the host
    loss = _losses_op(log_probs, there(rows), there(steps), there(lengths), blank, zero_infinity)
    if reduction == "mean":
        return (loss / there(np.maximum(lengths, 1).astype(loss.dtype.numpy))).mean()
    return reduce_loss(loss.squeeze(0) if alone else loss, reduction)


__all__ = ["ctc_loss"]
