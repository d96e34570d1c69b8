"""Recurrent layers as functions: what `nn.RNN`, `nn.LSTM`, `nn.GRU` and their cells run, and
torch's functions of these names.

`_steps` is the definition of a layer in one direction: the input's part of the gates is one matrix
product over all steps, a loop does the hidden part. Packed sequences (of different lengths, longest
first) run step by step on the sequences that are still going. `LAYERS` has an op for each mode
that does the same in one native call, and its gradients in another; it serves wherever nobody looks
at the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..._levels.running import state as levels
from ..elementwise.elementary import sigmoid, tanh
from ..layout.joining import cat, stack
from ..matrix.products import linear
from ..table.kinds import general
from ..table.reference import alias
from ..table.signature import Tensor
from .activation import relu
from .dropout import dropout

# One step: the input's gates, the state (h,) or (h, c), and a direction's weights -> the new state.
Step = Callable[[Tensor, tuple[Tensor, ...], "Weights"], tuple[Tensor, ...]]


class Weights:
    """The parameters of one layer in one direction; biases and projection may be None."""

    __slots__ = ("b_hh", "b_ih", "w_hh", "w_hr", "w_ih")

    def __init__(self, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any, w_hr: Any = None) -> None:
        self.w_ih = w_ih
        self.w_hh = w_hh
        self.b_ih = b_ih
        self.b_hh = b_hh
        self.w_hr = w_hr


def _tanh_step(gates: Tensor, state: tuple[Tensor, ...], w: Weights) -> tuple[Tensor, ...]:
    return (tanh(gates + linear(state[0], w.w_hh, w.b_hh)),)


def _relu_step(gates: Tensor, state: tuple[Tensor, ...], w: Weights) -> tuple[Tensor, ...]:
    return (relu(gates + linear(state[0], w.w_hh, w.b_hh)),)


def _lstm_step(gates: Tensor, state: tuple[Tensor, ...], w: Weights) -> tuple[Tensor, ...]:
    h, c = state
    i, f, g, o = (gates + linear(h, w.w_hh, w.b_hh)).chunk(4, -1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
    if w.w_hr is not None:
        h = linear(h, w.w_hr)
    return h, c


def _gru_step(gates: Tensor, state: tuple[Tensor, ...], w: Weights) -> tuple[Tensor, ...]:
    h = state[0]
    reset, update, new = gates.chunk(3, -1)
    h_reset, h_update, h_new = linear(h, w.w_hh, w.b_hh).chunk(3, -1)
    reset = sigmoid(reset + h_reset)
    update = sigmoid(update + h_update)
    new = tanh(new + reset * h_new)
    return (new + update * (h - new),)


STEPS: dict[str, tuple[Step, int]] = {  # mode -> step, gates
    "RNN_TANH": (_tanh_step, 1),
    "RNN_RELU": (_relu_step, 1),
    "LSTM": (_lstm_step, 4),
    "GRU": (_gru_step, 3),
}


def _scan(
    step: Step, input: Tensor, state: tuple[Tensor, ...], w: Weights, reverse: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Runs (T, N, in) through a layer in one direction: outputs (T, N, out) and the last state."""
    gates = linear(input, w.w_ih, w.b_ih).unbind(0)
    outputs = []
    for gate in reversed(gates) if reverse else gates:
        state = step(gate, state, w)
        outputs.append(state[0])
    if reverse:
        outputs.reverse()
    return stack(outputs), state


def _scan_packed(
    step: Step,
    data: Tensor,
    sizes: list[int],
    state: tuple[Tensor, ...],
    w: Weights,
    reverse: bool,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """As `_scan` for packed data, `sizes[t]` rows at step t (never growing with t)."""
    gates = linear(data, w.w_ih, w.b_ih).split(sizes)
    outputs: list[Tensor] = []
    if reverse:  # short sequences join on the way
        first = state
        state = tuple(s[: sizes[-1]] for s in first)
        for gate, size in zip(reversed(gates), reversed(sizes), strict=True):
            have = state[0].shape[0]
            if size > have:
                state = tuple(cat([s, s0[have:size]]) for s, s0 in zip(state, first, strict=True))
            state = step(gate, state, w)
            outputs.append(state[0])
        outputs.reverse()
        return cat(outputs), state
    done: list[tuple[Tensor, ...]] = []  # short sequences leave on the way
    for gate, size in zip(gates, sizes, strict=True):
        if size < state[0].shape[0]:
            done.append(tuple(s[size:] for s in state))
            state = tuple(s[:size] for s in state)
        state = step(gate, state, w)
        outputs.append(state[0])
    done.append(state)
    return cat(outputs), tuple(cat(list(parts)) for parts in zip(*reversed(done), strict=True))


def _steps(
    mode: str,
    input: Tensor,
    state: tuple[Tensor, ...],
    w: Weights,
    reverse: bool,
    sizes: list[int] | None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A layer in one direction: outputs and the last state."""
    step = STEPS[mode][0]
    if sizes is None:
        return _scan(step, input, state, w, reverse)
    return _scan_packed(step, input, sizes, state, w, reverse)


# ---- a layer in one direction as one op


def _states(h: object, c: object) -> tuple[Any, ...]:
    return (h,) if c is None else (h, c)


def _on(mode: str, tensors: Sequence[Any], reverse: bool, sizes: Any) -> tuple[Tensor, ...]:
    """The results of the steps on the tensors that the op takes."""
    x, h, c, *weights = tensors
    out, last = _steps(mode, x, _states(h, c), Weights(*weights), reverse, sizes)
    return out, *last


def _whole(found: Sequence[Any]) -> tuple[Any, ...]:
    """As many results as the op has: None for those that the steps do not make."""
    return *found, *[None] * (4 - len(found))


def _rule(mode: str) -> Callable[..., tuple[Tensor | None, ...]]:
    """The gradients through the steps, which run again: these are ops, and so are their own."""

    def gradients(
        gs: Any,
        input: Tensor,
        h0: Tensor,
        c0: Any,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Any,
        b_hh: Any,
        reverse: bool,
        sizes: Any,
        needs: tuple[int, ...],
    ) -> tuple[Tensor | None, ...]:
        recording = _core.set_grad_enabled(True)
        try:
            given = (input, h0, c0, w_ih, w_hh, b_ih, b_hh)
            again = [_start(t, recording) if n else t for t, n in zip(given, needs, strict=True)]
            results = _on(mode, again, reverse, sizes)
            pairs = [(y, g) for y, g in zip(results, gs, strict=False) if g is not None]
            roots, grads = (tuple(p[i] for p in pairs) for i in (0, 1))
            wanted = tuple(t for t, n in zip(again, needs, strict=True) if n)
            found = iter(_core.run_backward(roots, grads, recording, recording, wanted))
        finally:
            _core.set_grad_enabled(recording)
        return tuple(next(found) if n else None for n in needs)

    return gradients


def _start(t: Tensor, recording: bool) -> Tensor:
    """A tensor of these values to differentiate by, with their history if that is wanted."""
    if recording and t.requires_grad:
        return t.view_as(t)
    return t.detach().requires_grad_()


def _layer_op(mode: str) -> Any:
    name = f"{mode.lower()}_layer"
    lstm = mode == "LSTM"
    # An LSTM's states are its output, as in PyTorch; others keep theirs apart, as a program may
    # write to the output.
    reads = f"g g1 g2 input h0 c0 w_ih w_hh {'out' if lstm else 'out3'} out3 reverse sizes needs"
    return general(
        f"_{name}(input: Tensor, h0: Tensor, c0: Tensor | None, w_ih: Tensor, w_hh: Tensor, "
        "b_ih: Tensor | None, b_hh: Tensor | None, reverse: Any, sizes: Any)",
        is_=lambda *args: _whole(_on(mode, args[:7], *args[7:])),
        native=getattr(_core.kernels, name),
        vjp={"input, h0, c0, w_ih, w_hh, b_ih, b_hh": _rule(mode)},
        backward=(getattr(_core.kernels, f"{name}_backward"), reads),
        node="MkldnnRnnLayerBackward0" if lstm else "StackBackward0",
        method=False,
        formula=dict.fromkeys(
            ("input", "h0", "c0", "w_ih", "w_hh", "b_ih", "b_hh"),
            "g through every step, last to first",
        ),
        doc="A recurrent layer in one direction: outputs, the last state, what the gradient reads.",
    )


LAYERS = {mode: _layer_op(mode) for mode in STEPS}


def _layer(
    mode: str,
    input: Tensor,
    state: tuple[Tensor, ...],
    w: Weights,
    reverse: bool,
    sizes: list[int] | None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A layer in one direction, by one op where no transform, mode or class looks at its steps."""
    if (
        w.w_hr is not None
        or levels.stack
        or _core.has_torch_function_variadic(input, *state, w.w_ih, w.w_hh, w.b_ih, w.b_hh)
    ):
        return _steps(mode, input, state, w, reverse, sizes)
    h, c = state if len(state) == 2 else (state[0], None)
    out, h, c, _ = LAYERS[mode](input, h, c, w.w_ih, w.w_hh, w.b_ih, w.b_hh, reverse, sizes)
    return out, _states(h, c)


# ---- networks


class Shape:
    """How many layers a network has, in which directions, and the dropout between them."""

    __slots__ = ("bidirectional", "dropout", "num_layers", "training")

    def __init__(
        self, num_layers: int, dropout: float, training: bool, bidirectional: bool
    ) -> None:
        self.num_layers = num_layers
        self.dropout = dropout
        self.training = training
        self.bidirectional = bidirectional


def run(
    mode: str,
    x: Tensor,
    state: tuple[Tensor, ...],
    weights: Callable[[int], Weights],
    shape: Shape,
    sizes: list[int] | None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """All layers and directions over (T, N, in), or over packed data where `sizes` is given."""
    directions = 2 if shape.bidirectional else 1
    last: list[tuple[Tensor, ...]] = []
    for layer in range(shape.num_layers):
        outputs = []
        for direction in range(directions):
            place = layer * directions + direction
            start = tuple(s[place] for s in state)
            out, end = _layer(mode, x, start, weights(place), direction == 1, sizes)
            outputs.append(out)
            last.append(end)
        x = outputs[0] if directions == 1 else cat(outputs, -1)
        if shape.dropout > 0 and shape.training and layer < shape.num_layers - 1:
            x = dropout(x, shape.dropout, True)
    return x, tuple(stack(list(parts)) for parts in zip(*last, strict=True))


# ---- torch's functions


def _weights_of(params: Sequence[Tensor], biases: bool, count: int) -> Callable[[int], Weights]:
    """The weights by place in a flat list: w_ih, w_hh, b_ih, b_hh and, of an LSTM, w_hr."""
    each, rest = divmod(len(params), max(count, 1))
    if rest or each not in ((4, 5) if biases else (2, 3)):
        raise RuntimeError(
            "got an incorrect number of RNN parameters\n"
            f"{count} layers and directions {'with' if biases else 'without'} biases take "
            f"{4 if biases else 2} tensors each, and {len(params)} were given."
        )

    def weights(place: int) -> Weights:
        values = list(params[place * each : (place + 1) * each])
        projection = values.pop() if each % 2 else None
        b_ih, b_hh = values[2:] if biases else (None, None)
        return Weights(values[0], values[1], b_ih, b_hh, projection)

    return weights


def _network(mode: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Tensor, ...]:
    """torch.lstm and its kin: of (input, hx, params, has_biases, num_layers, dropout, train,
    bidirectional, batch_first), or of packed (data, batch_sizes, hx, params, ...)."""
    name = mode.lower()
    packed = "batch_sizes" in named or (
        len(args) > 2 and isinstance(args[1], Tensor) and args[1].dtype.name == "int64"
    )
    how = "num_layers dropout train bidirectional".split()
    names = ["data", "batch_sizes"] if packed else ["input"]
    names += ["hx", "params", "has_biases", *how] + ([] if packed else ["batch_first"])
    given = dict(zip(names, args, strict=False)) | named
    missing = [n for n in names if n not in given]
    if missing or len(args) > len(names) or len(given) > len(names):
        raise TypeError(
            f"{name}() received an invalid combination of arguments; it takes {', '.join(names)}"
            + (f", and {', '.join(missing)} is missing" if missing else "")
        )
    hx, x = given["hx"], given[names[0]]
    state = tuple(hx) if mode == "LSTM" else (hx,)
    if mode == "LSTM" and len(state) != 2:
        raise RuntimeError("lstm expects two hidden states")
    shape = Shape(*[given[n] for n in how])
    count = shape.num_layers * (2 if shape.bidirectional else 1)
    weights = _weights_of(given["params"], given["has_biases"], count)
    if packed:
        output, last = run(mode, x, state, weights, shape, given["batch_sizes"].tolist())
        return output, *last
    across = bool(given["batch_first"])
    output, last = run(mode, x.transpose(0, 1) if across else x, state, weights, shape, None)
    return output.transpose(0, 1) if across else output, *last


def _functions(mode: str, states: str) -> None:
    """torch's functions of a kind of network: the whole, and a cell."""

    def network(*args: object, **named: object) -> tuple[Tensor, ...]:
        return _network(mode, args, named)

    def cell(
        input: Tensor,
        hx: Any,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Any:
        state = tuple(hx) if mode == "LSTM" else (hx,)
        end = STEPS[mode][0](linear(input, w_ih, b_ih), state, Weights(w_ih, w_hh, b_ih, b_hh))
        return end if mode == "LSTM" else end[0]

    name = mode.lower()
    state = "hx: Sequence[Tensor]" if mode == "LSTM" else "hx: Tensor"
    how = (
        "params: Sequence[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, "
    )
    network.overloads = (  # type: ignore[attr-defined]
        f"(input: Tensor, {state}, {how}bidirectional: bool, batch_first: bool)",
        f"(data: Tensor, batch_sizes: Tensor, {state}, {how}bidirectional: bool)",
    )
    network.__doc__ = f"All layers of a network, without a module: the outputs{states}."
    cell.__doc__ = f"One step of a network{states.replace('the last', 'the next')}."
    for called, function in ((name, network), (f"{name}_cell", cell)):
        function.__name__ = function.__qualname__ = called
        alias(called, function, method=False)


for _mode in STEPS:
    _functions(_mode, ", the last hidden and cell state" if _mode == "LSTM" else ", the last state")
