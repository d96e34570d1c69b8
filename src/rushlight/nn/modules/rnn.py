"""Recurrent layers: `RNN`, `LSTM`, `GRU` and their cells: parameters, checks and states; what they
compute is in ops/layers/recurrent.py.
"""

from __future__ import annotations

import math
from typing import Any

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base import dtypes
from ..._base.device import DeviceLike
from ..._base.errors import taking_pytorchs, warn
from ...ops.layers.recurrent import STEPS, Shape, Step, Weights, run
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

_FLAT = ("_flat_weights_names", "_flat_weights")


class RNNBase(Module):
    """Parameters, checks and the loop over layers and directions of `RNN`, `LSTM` and `GRU`.

    >>> isinstance(nn.LSTM(4, 8), nn.RNNBase)
    True
    >>> [name for name, _ in nn.RNNBase("GRU", 4, 8).named_parameters()]
    ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__()
        if (
            isinstance(dropout, bool)
            or not isinstance(dropout, (int, float))
            or not 0 <= dropout <= 1
        ):
            raise ValueError(
                "dropout should be a number in range [0, 1] "
                "representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warn(
                "dropout option adds dropout after all but last "
                "recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}"
            )
        if not isinstance(input_size, int):
            raise TypeError(f"input_size should be of type int, got: {type(input_size).__name__}")
        if not isinstance(hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
        if input_size <= 0:
            raise ValueError("input_size must be greater than zero")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in STEPS:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout: float = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size

        rows = STEPS[mode][1] * hidden_size
        out_size = proj_size or hidden_size
        directions = 2 if bidirectional else 1
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            in_size = input_size if layer == 0 else out_size * directions
            for suffix in ("", "_reverse")[:directions]:
                shapes: dict[str, tuple[int, ...]] = {
                    f"weight_ih_l{layer}{suffix}": (rows, in_size),
                    f"weight_hh_l{layer}{suffix}": (rows, out_size),
                }
                if bias:
                    shapes[f"bias_ih_l{layer}{suffix}"] = (rows,)
                    shapes[f"bias_hh_l{layer}{suffix}"] = (rows,)
                if proj_size > 0:
                    shapes[f"weight_hr_l{layer}{suffix}"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, name, Parameter(rl.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(list(shapes))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the starting values anew: uniform on [-k, k), k = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing to do: weights need no special layout here."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[object]:
        return [getattr(self, name, None) for name in self._flat_weights_names]

    def _init_flat_weights(self) -> None:
        """Nothing to do: the flat weights are read when they are asked for."""

    _update_flat_weights = _init_flat_weights

    def __getstate__(self) -> dict[str, Any]:
        """With the lists of weights that PyTorch's forward reads."""
        return {**self.__dict__, **{name: getattr(self, name) for name in _FLAT}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: v for name, v in state.items() if name not in _FLAT})

    def _weights(self, place: int) -> Weights:
        """The weights of layer and direction number `place`."""
        values = [getattr(self, name) for name in self._all_weights[place]]
        projection = values.pop() if self.proj_size > 0 else None
        w_ih, w_hh, *biases = values
        b_ih, b_hh = biases or (None, None)
        return Weights(w_ih, w_hh, b_ih, b_hh, projection)

    def _zeros(self, input: Tensor, batch: int) -> tuple[Tensor, ...]:
        """The state to start from where none is given."""
        count = len(self._all_weights)
        sizes = [self.proj_size or self.hidden_size]
        if self.mode == "LSTM":
            sizes.append(self.hidden_size)
        return tuple(
            rl.zeros(count, batch, size, dtype=input.dtype, device=input.device) for size in sizes
        )

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raises where dtype, dimensions or size of the input do not fit."""
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype != weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                f"Convert input: input.to({weight.dtype}), or convert model: "
                f"model.to({input.dtype}){taking_pytorchs(input)}"
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. "
                f"Expected {self.input_size}, got {input.shape[-1]}"
            )

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, ...],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raises where a state tensor has not the expected size."""
        if tuple(hx.shape) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The size of the state h for an input: layers and directions, batch, features."""
        return self._state_size(self._batch(input, batch_sizes))

    def _state_size(self, batch: int) -> tuple[int, int, int]:
        return len(self._all_weights), batch, self.proj_size or self.hidden_size

    def _batch(self, input: Tensor, batch_sizes: Tensor | None) -> int:
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.size(0 if self.batch_first else 1)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raises where input and state do not fit the layer, or each other."""
        self.check_input(input, batch_sizes)
        state = (hidden[0], hidden[1]) if self.mode == "LSTM" else (hidden,)
        self._check_state(state, self._batch(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its batch in another order."""
        if permutation is None:
            return hx
        if self.mode == "LSTM":
            return tuple(s.index_select(1, permutation) for s in hx)
        return hx.index_select(1, permutation)

    def _check_state(self, state: tuple[Tensor, ...], batch: int) -> None:
        size = self._state_size(batch)
        if self.mode != "LSTM":
            self.check_hidden_size(state[0], size)
            return
        self.check_hidden_size(state[0], size, "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(
            state[1], (*size[:2], self.hidden_size), "Expected hidden[1] size {}, got {}"
        )

    def _unbatched_state(self, hx: Any, batched: bool) -> tuple[Tensor, ...]:
        """The given state as a tuple of 3-D tensors."""
        state: tuple[Tensor, ...] = (hx[0], hx[1]) if self.mode == "LSTM" else (hx,)
        want = 3 if batched else 2
        if any(s.dim() != want for s in state):
            kind = f"For {'batched 3' if batched else 'unbatched 2'}-D input, "
            if self.mode == "LSTM":
                raise RuntimeError(
                    f"{kind}hx and cx should also be {want}-D but got "
                    f"({state[0].dim()}-D, {state[1].dim()}-D) tensors"
                )
            raise RuntimeError(
                f"{kind}hx should also be {want}-D but got {state[0].dim()}-D tensor"
            )
        return state if batched else tuple(s.unsqueeze(1) for s in state)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            name = self._get_name()
            raise ValueError(
                f"{name}: Expected input to be 2D or 3D, got {input.dim()}D tensor instead"
            )
        batched = input.dim() == 3
        steps = input if batched else input.unsqueeze(1)
        if batched and self.batch_first:
            steps = steps.transpose(0, 1)
        given = None if hx is None else self._unbatched_state(hx, batched)
        self.check_input(steps, None)
        if not steps.shape[0]:
            raise RuntimeError(
                "Expected sequence length to be larger than 0 in RNN\n"
                f"The input has shape {tuple(input.shape)}."
            )
        batch = steps.shape[1]
        state = self._zeros(steps, batch) if given is None else given
        self._check_state(state, batch)
        output, state = self._run(steps, state, None)
        if not batched:
            output = output.squeeze(1)
            state = tuple(s.squeeze(1) for s in state)
        elif self.batch_first:
            output = output.transpose(0, 1)
        return output, state if self.mode == "LSTM" else state[0]

    def _forward_packed(self, input: PackedSequence, hx: Any) -> Any:
        data, batch_sizes, sorted_indices, unsorted_indices = input
        sizes = [int(size) for size in batch_sizes]
        if hx is None:
            state = self._zeros(data, sizes[0])
        else:
            state = (hx[0], hx[1]) if self.mode == "LSTM" else (hx,)
            if sorted_indices is not None:
                state = tuple(s.index_select(1, sorted_indices) for s in state)
        self.check_input(data, batch_sizes)
        self._check_state(state, sizes[0])
        data, state = self._run(data, state, sizes)
        if unsorted_indices is not None:
            state = tuple(s.index_select(1, unsorted_indices) for s in state)
        output = PackedSequence(data, batch_sizes, sorted_indices, unsorted_indices)
        return output, state if self.mode == "LSTM" else state[0]

    def _run(
        self, x: Tensor, state: tuple[Tensor, ...], sizes: list[int] | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """All layers and directions over (T, N, in), or over packed data where `sizes` is given."""
        shape = Shape(self.num_layers, self.dropout, self.training, self.bidirectional)
        return run(self.mode, x, state, self._weights, shape, sizes)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        ):
            value = getattr(self, name)
            if value != default:
                text += f", {name}={value}"
        return text


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu; input (T, N, in), output (T, N, hidden)
    and h_n.

    Arguments: input_size, hidden_size, num_layers=1, nonlinearity="tanh", then as `RNNBase`.

    >>> output, h = nn.RNN(4, 8, bidirectional=True)(torch.zeros(5, 3, 4))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 16]), torch.Size([2, 3, 8]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity: Any = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory: input (T, N, in), output (T, N, hidden) and (h_n, c_n).

    Arguments as `RNNBase`; with `proj_size` the hidden state is projected to that size.

    >>> output, (h, c) = nn.LSTM(4, 8, batch_first=True)(torch.zeros(3, 5, 4))
    >>> output.shape, h.shape, c.shape
    (torch.Size([3, 5, 8]), torch.Size([1, 3, 8]), torch.Size([1, 3, 8]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The size of the state c for an input: layers and directions, batch, features."""
        return len(self._all_weights), self._batch(input, batch_sizes), self.hidden_size


class GRU(RNNBase):
    """Gated recurrent unit: input (T, N, in), output (T, N, hidden) and h_n. Arguments as
    `RNNBase`.

    >>> output, h = nn.GRU(4, 8, num_layers=2)(torch.zeros(5, 3, 4))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 8]), torch.Size([2, 3, 8]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """Parameters and checks of the cells: one step of the layer of the same name.

    >>> nn.RNNCellBase(4, 8, bias=True, num_chunks=3).weight_ih.shape
    torch.Size([24, 4])
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter
    bias_hh: Parameter

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size

        def empty(*shape: int) -> Parameter:
            return Parameter(rl.empty(shape, device=device, dtype=dtype))

        self.weight_ih = empty(rows, input_size)
        self.weight_hh = empty(rows, hidden_size)
        self.register_parameter("bias_ih", empty(rows) if bias else None)
        self.register_parameter("bias_hh", empty(rows) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the starting values anew: uniform on [-k, k), k = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _step(self, step: Step, input: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Checks sizes and runs one step; 1-D input is a batch of one."""
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, s in enumerate(state):
            if s.dim() not in (1, 2):
                place = f"hx[{i}]" if len(state) > 1 else "hidden"
                raise ValueError(f"{name}: Expected {place} to be 1D or 2D, got {s.dim()}D instead")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            state = tuple(s.unsqueeze(0) if s.dim() == 1 else s for s in state)
        if input.shape[1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.shape[1]} "
                f"expected {self.input_size}"
            )
        if not state:
            zeros = rl.zeros(
                input.shape[0], self.hidden_size, dtype=input.dtype, device=input.device
            )
            state = (zeros, zeros) if step is STEPS["LSTM"][0] else (zeros,)
        for i, s in enumerate(state):
            if s.shape[0] != input.shape[0]:
                raise RuntimeError(
                    f"Input batch size {input.shape[0]} doesn't match hidden{i} "
                    f"batch size {s.shape[0]}"
                )
            if s.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {s.shape[1]}, "
                    f"expected {self.hidden_size}"
                )
        weights = Weights(self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        state = step(F.linear(input, self.weight_ih, self.bias_ih), state, weights)
        return state if batched else tuple(s.squeeze(0) for s in state)


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu; input (N, in) or (in,).

    >>> nn.RNNCell(4, 8, nonlinearity="relu")(torch.zeros(3, 4)).shape
    torch.Size([3, 8])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        mode = f"RNN_{self.nonlinearity.upper()}"
        if mode not in ("RNN_TANH", "RNN_RELU"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(STEPS[mode][0], input, () if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """One LSTM step: input (N, in) or (in,), state (h, c); returns the new (h, c).

    >>> h, c = nn.LSTMCell(4, 8)(torch.zeros(3, 4))
    >>> h.shape, c.shape
    (torch.Size([3, 8]), torch.Size([3, 8]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        if isinstance(hx, rl.Tensor):
            raise TypeError(
                "lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor"
            )
        h, c = self._step(STEPS["LSTM"][0], input, () if hx is None else tuple(hx))
        return h, c


class GRUCell(RNNCellBase):
    """One GRU step: input (N, in) or (in,), state h; returns the new h.

    >>> cell, h = nn.GRUCell(4, 8), torch.zeros(3, 8)
    >>> for x in torch.zeros(5, 3, 4):
    ...     h = cell(x, h)
    >>> h.shape
    torch.Size([3, 8])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(STEPS["GRU"][0], input, () if hx is None else (hx,))[0]
