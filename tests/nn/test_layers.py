"""Layers and losses: what they compute, by NumPy or by hand, and how they are set up."""

import math

import numpy as np
import pytest

from _subject import submodule, torch

nn = torch.nn
F = submodule("nn.functional")


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def close(tensor, expected, tolerance=1e-5):
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def test_linear():
    layer = nn.Linear(3, 2)
    x = array(5, 3)
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    close(layer(torch.from_numpy(x)), x @ weight.T + bias)
    bound = 1 / math.sqrt(3)
    assert weight.shape == (2, 3) and np.abs(weight).max() <= bound and np.abs(bias).max() <= bound
    assert nn.Linear(3, 2, bias=False).bias is None
    assert nn.Linear(3, 2, dtype=torch.float64).weight.dtype == torch.float64


def test_linear_gradients():
    layer = nn.Linear(3, 2)
    x = torch.from_numpy(array(5, 3)).requires_grad_()
    layer(x).sum().backward()
    weight = layer.weight.detach().numpy()
    close(layer.weight.grad, np.tile(x.detach().numpy().sum(0), (2, 1)))
    close(layer.bias.grad, np.full(2, 5.0))
    close(x.grad, np.tile(weight.sum(0), (5, 1)))


def test_bilinear():
    layer = nn.Bilinear(2, 3, 4)
    a, b = array(5, 2), array(5, 3, seed=1)
    expected = np.einsum("ni,oij,nj->no", a, layer.weight.detach().numpy(), b)
    close(layer(torch.from_numpy(a), torch.from_numpy(b)), expected + layer.bias.detach().numpy())


def erf(x):
    return np.vectorize(math.erf)(x)


ACTIVATIONS = [
    (nn.ReLU(), lambda x: np.maximum(x, 0)),
    (nn.Tanh(), np.tanh),
    (nn.Sigmoid(), lambda x: 1 / (1 + np.exp(-x))),
    (nn.LeakyReLU(0.2), lambda x: np.where(x > 0, x, 0.2 * x)),
    (nn.GELU(), lambda x: x * (1 + erf(x / math.sqrt(2))) / 2),
    (
        nn.GELU("tanh"),
        lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    (nn.SiLU(), lambda x: x / (1 + np.exp(-x))),
    (nn.ELU(2.0), lambda x: np.where(x > 0, x, 2 * np.expm1(x))),
    (nn.Softplus(2.0), lambda x: np.log1p(np.exp(2 * x)) / 2),
    (nn.Softmax(-1), lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    (nn.LogSoftmax(0), lambda x: x - np.log(np.exp(x).sum(0, keepdims=True))),
    (nn.Hardtanh(-0.5, 0.7), lambda x: np.clip(x, -0.5, 0.7)),
    (nn.ReLU6(), lambda x: np.clip(x, 0, 6)),
]


@pytest.mark.parametrize(("layer", "expected"), ACTIVATIONS, ids=[repr(a[0]) for a in ACTIVATIONS])
def test_activations(layer, expected):
    x = array(4, 5)
    close(layer(torch.from_numpy(x)), expected(x))


def test_an_inplace_activation_overwrites_its_input():
    x = torch.tensor([-1.0, 2.0])
    assert nn.ReLU(inplace=True)(x) is x
    assert x.tolist() == [0.0, 2.0]


def test_dropout():
    torch.manual_seed(0)
    layer = nn.Dropout(0.25)
    y = layer(torch.ones(10000))
    kept = y != 0
    assert abs(kept.float().mean().item() - 0.75) < 0.02
    close(y[kept], np.float32(1 / 0.75))
    assert layer.eval()(y) is y or torch.equal(layer(y), y)
    with pytest.raises(
        ValueError, match="dropout probability has to be between 0 and 1, but got 2"
    ):
        nn.Dropout(2)


def test_flatten_and_identity():
    x = torch.zeros(2, 3, 4)
    assert nn.Flatten()(x).shape == (2, 12)
    assert nn.Flatten(0, 1)(x).shape == (6, 4)
    assert nn.Unflatten(1, (3, 1))(x).shape == (2, 3, 1, 4)
    assert nn.Identity(54, unused=True)(x) is x


def test_embedding():
    layer = nn.Embedding(5, 3, padding_idx=-1)
    assert layer.padding_idx == 4 and not layer.weight[4].any()
    index = torch.tensor([[0, 4], [2, 0]])
    out = layer(index)
    close(out, layer.weight.detach().numpy()[index.numpy()])
    out.sum().backward()
    assert layer.weight.grad.sum(1).tolist() == [6.0, 0.0, 3.0, 0.0, 0.0]
    table = nn.Embedding.from_pretrained(torch.ones(2, 2))
    assert not table.weight.requires_grad
    with pytest.raises(AssertionError, match="Padding_idx must be within num_embeddings"):
        nn.Embedding(3, 2, padding_idx=3)


def conv2d(x, weight, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation written as loops over the output."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    n, _, height, width = x.shape
    out_channels, per_group, kh, kw = weight.shape
    rows = (height - dilation * (kh - 1) - 1) // stride + 1
    columns = (width - dilation * (kw - 1) - 1) // stride + 1
    out = np.zeros((n, out_channels, rows, columns), np.float64)
    for o in range(out_channels):
        start = o // (out_channels // groups) * per_group
        for i in range(rows):
            for j in range(columns):
                top, left = i * stride, j * stride
                patch = x[
                    :,
                    start : start + per_group,
                    top : top + dilation * kh : dilation,
                    left : left + dilation * kw : dilation,
                ]
                out[:, o, i, j] = (patch * weight[o]).sum((1, 2, 3))
    return out


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 2, "padding": 1},
        {"dilation": 2},
        {"groups": 2, "padding": 2},
    ],
    ids=str,
)
def test_conv2d(options):
    layer = nn.Conv2d(4, 6, 3, **options)
    x = array(2, 4, 7, 6)
    expected = conv2d(x, layer.weight.detach().numpy(), **options)
    bias = layer.bias.detach().numpy()[:, None, None]
    close(layer(torch.from_numpy(x)), expected + bias, 1e-4)
    assert layer(torch.from_numpy(x[0])).shape == expected.shape[1:]


def test_conv1d_and_padding_modes():
    layer = nn.Conv1d(2, 3, 3, padding="same")
    x = array(1, 2, 8)
    expected = conv2d(
        np.pad(x, ((0, 0), (0, 0), (1, 1)))[:, :, None], layer.weight.detach().numpy()[:, :, None]
    )
    close(
        layer(torch.from_numpy(x)), expected[:, :, 0] + layer.bias.detach().numpy()[:, None], 1e-4
    )
    circular = nn.Conv2d(1, 1, 3, padding=1, padding_mode="circular", bias=False)
    x = array(1, 1, 4, 4)
    wrapped = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="wrap")
    close(circular(torch.from_numpy(x)), conv2d(wrapped, circular.weight.detach().numpy()), 1e-4)


def test_conv_transpose_is_the_transpose_of_conv():
    layer = nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, bias=False)
    x, y = torch.from_numpy(array(1, 4, 3, 3)), torch.from_numpy(array(1, 3, 5, 5, seed=1))
    forward = conv2d(y.numpy(), layer.weight.detach().numpy(), stride=2, padding=1)
    assert math.isclose(
        (layer(x) * y).sum().item(), float((forward * x.numpy()).sum()), rel_tol=1e-3, abs_tol=1e-4
    )
    assert layer(x, output_size=(6, 6)).shape == (1, 3, 6, 6)
    with pytest.raises(ValueError, match="requested an output size of"):
        layer(x, output_size=(9, 9))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), "in_channels must be divisible by groups"),
        (lambda: nn.Conv2d(4, 3, 3, groups=2), "out_channels must be divisible by groups"),
        (lambda: nn.Conv2d(4, 4, 3, groups=0), "groups must be a positive integer"),
        (lambda: nn.Conv2d(4, 4, 3, padding="x"), "Invalid padding string 'x', should be one of"),
        (lambda: nn.Conv2d(4, 4, 3, 2, "same"), "padding='same' is not supported for strided"),
        (lambda: nn.Conv2d(4, 4, 3, padding_mode="x"), "padding_mode must be one of"),
        (lambda: nn.GroupNorm(3, 4), "num_channels (4) must be divisible by num_groups (3)"),
        (lambda: nn.BatchNorm2d(2)(torch.ones(2, 2)), "expected 4D input (got 2D input)"),
        (lambda: nn.BatchNorm1d(2)(torch.ones(2)), "expected 2D or 3D input (got 1D input)"),
        (lambda: nn.BatchNorm1d(2)(torch.ones(1, 2)), "Expected more than 1 value per channel"),
    ],
)
def test_bad_settings(make, text):
    with pytest.raises(ValueError) as caught:
        make()
    assert text in str(caught.value)


def test_pooling():
    x = array(1, 2, 6, 4)
    blocks = x.reshape(1, 2, 3, 2, 2, 2)
    t = torch.from_numpy(x)
    close(nn.MaxPool2d(2)(t), blocks.max((3, 5)))
    close(nn.AvgPool2d(2)(t), blocks.mean((3, 5)))
    close(nn.AdaptiveAvgPool2d(1)(t), x.mean((2, 3), keepdims=True))
    close(nn.AdaptiveAvgPool2d((3, None))(t), x.reshape(1, 2, 3, 2, 4).mean(3))
    assert nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True)(t).shape == (1, 2, 4, 3)
    values, indices = nn.MaxPool2d(2, return_indices=True)(t)
    close(t.flatten(2).gather(2, indices.flatten(2)), values.flatten(2).numpy())


def test_batch_norm():
    layer = nn.BatchNorm1d(3)
    x = array(8, 3) * 3 + 1
    mean, var = x.mean(0), x.var(0)
    close(layer(torch.from_numpy(x)), (x - mean) / np.sqrt(var + 1e-5))
    close(layer.running_mean, 0.1 * mean)
    close(layer.running_var, 0.9 + 0.1 * x.var(0, ddof=1))
    assert layer.num_batches_tracked.item() == 1
    layer.eval()
    running = (layer.running_mean.numpy(), layer.running_var.numpy())
    close(layer(torch.from_numpy(x)), (x - running[0]) / np.sqrt(running[1] + 1e-5))
    assert list(layer.state_dict()) == [
        "weight",
        "bias",
        "running_mean",
        "running_var",
        "num_batches_tracked",
    ]


@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 4), (2, 3, 0)])
@pytest.mark.parametrize("momentum", [0.1, None])
def test_batch_norm_of_nothing_changes_nothing(shape, momentum):
    layer = nn.BatchNorm1d(3, momentum=momentum)
    x = torch.zeros(shape, requires_grad=True)
    y = layer(x)
    (gx,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    y.sum().backward()
    assert y.shape == gx.shape == x.grad.shape == shape
    assert layer.running_mean.tolist() == [0, 0, 0] and layer.running_var.tolist() == [1, 1, 1]
    assert layer.weight.grad.tolist() == layer.bias.grad.tolist() == [0, 0, 0]
    assert layer.num_batches_tracked.item() == 1


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", ["running_mean", "running_var"])
@pytest.mark.parametrize("norm", ["batch_norm", "instance_norm"])
def test_running_statistics_that_require_grad_are_refused(training, name, norm):
    statistics = {"running_mean": torch.zeros(3), "running_var": torch.ones(3)}
    statistics[name].requires_grad_()
    flag = {"training" if norm == "batch_norm" else "use_input_stats": training}
    call = lambda: getattr(F, norm)(torch.ones(2, 3, 4), **statistics, **flag)
    with torch.no_grad():
        call()
    with pytest.raises(RuntimeError, match=f"with respect to argument '{name}'. This input cannot"):
        call()


def test_batch_norm_with_cumulative_average():
    layer = nn.BatchNorm1d(2, momentum=None, affine=False)
    batches = [array(6, 2, seed=i) for i in range(3)]
    for batch in batches:
        layer(torch.from_numpy(batch))
    close(layer.running_mean, np.mean([b.mean(0) for b in batches], 0))
    old = {k: v for k, v in layer.state_dict().items() if k != "num_batches_tracked"}
    layer.load_state_dict(old)  # checkpoints of old versions have no count


def test_batch_norm_over_images():
    layer = nn.BatchNorm2d(2, track_running_stats=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([2.0, 3.0]))
    x = array(3, 2, 4, 4)
    mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    scale = np.array([2.0, 3.0]).reshape(1, 2, 1, 1)
    close(layer.eval()(torch.from_numpy(x)), (x - mean) / np.sqrt(var + 1e-5) * scale)


def test_layer_norm():
    layer = nn.LayerNorm([4, 3])
    x = array(2, 4, 3)
    mean, var = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
    close(layer(torch.from_numpy(x)), (x - mean) / np.sqrt(var + 1e-5))
    with pytest.raises(RuntimeError, match=r"Given normalized_shape=\[5\], expected input with"):
        nn.LayerNorm(5)(torch.ones(2, 4))


def logits(seed=0):
    x = array(6, 4, seed=seed)
    return x, x - np.log(np.exp(x).sum(1, keepdims=True))


def test_classification_losses():
    x, logp = logits()
    target = np.array([0, 1, 2, 3, 1, 2], np.int64)
    picked = -logp[np.arange(6), target]
    t, y = torch.from_numpy(x), torch.from_numpy(target)
    close(nn.CrossEntropyLoss()(t, y), picked.mean())
    close(nn.CrossEntropyLoss(reduction="none")(t, y), picked)
    close(nn.NLLLoss(reduction="sum")(torch.from_numpy(logp), y), picked.sum())
    weight = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    w = weight[target]
    close(nn.CrossEntropyLoss(torch.from_numpy(weight))(t, y), (picked * w).sum() / w.sum())
    close(nn.CrossEntropyLoss(ignore_index=1)(t, y), picked[target != 1].mean())
    smooth = 0.9 * picked - 0.1 * logp.mean(1)
    close(nn.CrossEntropyLoss(label_smoothing=0.1)(t, y), smooth.mean())
    probabilities = np.full((6, 4), 0.25, np.float32)
    close(nn.CrossEntropyLoss()(t, torch.from_numpy(probabilities)), -logp.mean())


def test_regression_losses():
    a, b = array(5), array(5, seed=1)
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    d = a - b
    close(nn.MSELoss()(x, y), (d**2).mean())
    close(nn.L1Loss(reduction="sum")(x, y), np.abs(d).sum())
    huber = np.where(np.abs(d) < 0.5, d**2, np.abs(d) - 0.25)
    close(nn.SmoothL1Loss(reduction="none", beta=0.5)(x, y), huber)
    close(
        nn.HuberLoss(delta=0.5)(x, y),
        np.where(np.abs(d) < 0.5, d**2 / 2, 0.5 * (np.abs(d) - 0.25)).mean(),
    )


def test_binary_losses():
    x = array(5)
    p = 1 / (1 + np.exp(-x))
    y = np.array([0, 1, 1, 0, 1], np.float32)
    expected = -(y * np.log(p) + (1 - y) * np.log(1 - p))
    target = torch.from_numpy(y)
    close(nn.BCELoss()(torch.from_numpy(p), target), expected.mean())
    close(nn.BCEWithLogitsLoss(reduction="none")(torch.from_numpy(x), target), expected)
    weighted = -(3 * y * np.log(p) + (1 - y) * np.log(1 - p))
    loss = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([3.0]))
    close(loss(torch.from_numpy(x), target), weighted.mean())
    assert list(loss.state_dict()) == ["pos_weight"]


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (lambda: nn.Conv2d(3, 4, 3), "Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1))"),
        (
            lambda: nn.Conv2d(4, 4, (3, 2), 2, 1, 2, 2, False, "circular"),
            "Conv2d(4, 4, kernel_size=(3, 2), stride=(2, 2), padding=(1, 1), dilation=(2, 2), "
            "groups=2, bias=False, padding_mode=circular)",
        ),
        (
            lambda: nn.ConvTranspose2d(3, 4, 3, 2, output_padding=1),
            "ConvTranspose2d(3, 4, kernel_size=(3, 3), stride=(2, 2), output_padding=(1, 1))",
        ),
        (
            lambda: nn.MaxPool2d(2),
            "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
        ),
        (
            lambda: nn.BatchNorm2d(3),
            "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, "
            "track_running_stats=True)",
        ),
        (lambda: nn.LayerNorm(3), "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=True)"),
        (lambda: nn.Embedding(3, 4, padding_idx=-1), "Embedding(3, 4, padding_idx=2)"),
        (
            lambda: nn.LSTM(3, 4, 2, bidirectional=True),
            "LSTM(3, 4, num_layers=2, bidirectional=True)",
        ),
        (lambda: nn.RNNCell(3, 4, nonlinearity="relu"), "RNNCell(3, 4, nonlinearity=relu)"),
        (lambda: nn.GELU(), "GELU(approximate='none')"),
        (lambda: nn.Softmax(1), "Softmax(dim=1)"),
        (lambda: nn.LeakyReLU(0.1, True), "LeakyReLU(negative_slope=0.1, inplace=True)"),
        (lambda: nn.CrossEntropyLoss(), "CrossEntropyLoss()"),
    ],
)
def test_repr(layer, text):
    assert repr(layer()) == text


# --- recurrent layers ---


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn_step(layer, suffix, x, state):
    """One step of a recurrent layer in NumPy."""
    get = lambda name: getattr(layer, f"{name}{suffix}").detach().numpy()
    gi = x @ get("weight_ih").T + get("bias_ih")
    gh = state[0] @ get("weight_hh").T + get("bias_hh")
    if isinstance(layer, (nn.LSTM, nn.LSTMCell)):
        i, f, g, o = np.split(gi + gh, 4, -1)
        c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    if isinstance(layer, (nn.GRU, nn.GRUCell)):
        (ir, iz, inew), (hr, hz, hnew) = np.split(gi, 3, -1), np.split(gh, 3, -1)
        z = sigmoid(iz + hz)
        new = np.tanh(inew + sigmoid(ir + hr) * hnew)
        return ((1 - z) * new + z * state[0],)
    return (np.tanh(gi + gh),)


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_two_bidirectional_layers(kind):
    layer = kind(3, 4, 2, bidirectional=True)
    x = array(5, 2, 3)
    sequence, last = x, []
    for level in range(2):
        outputs = []
        for suffix in ("", "_reverse"):
            state = (np.zeros((2, 4), np.float32),) * 2
            steps = []
            for t in range(5) if not suffix else range(4, -1, -1):
                state = rnn_step(layer, f"_l{level}{suffix}", sequence[t], state)
                steps.append(state[0])
            outputs.append(np.stack(steps[::-1] if suffix else steps))
            last.append(state)
        sequence = np.concatenate(outputs, -1)
    output, hidden = layer(torch.from_numpy(x))
    close(output, sequence)
    hidden = hidden if kind is nn.LSTM else (hidden,)
    for i, part in enumerate(hidden):
        close(part, np.stack([state[i] for state in last]))


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.filterwarnings("ignore:Complex modules")
def test_complex_numbers_that_are_real(kind):
    """The gradients are those of real numbers."""
    real, x = kind(3, 4), torch.from_numpy(array(5, 2, 3))
    layer = kind(3, 4).to(torch.complex64)
    layer.load_state_dict(real.state_dict())
    output, wanted = layer(x.cfloat())[0], real(x)[0]
    close(output.real, wanted.detach().numpy())
    output.real.sum().backward()
    wanted.sum().backward()
    for found, plain in zip(layer.parameters(), real.parameters(), strict=True):
        close(found.grad.real, plain.grad.numpy())
        assert not found.grad.imag.any()


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.LSTMCell, nn.GRUCell])
def test_cells(kind):
    cell = kind(3, 4)
    x, h, c = array(2, 3), array(2, 4, seed=1), array(2, 4, seed=2)
    expected = rnn_step(cell, "", x, (h, c))
    state = (torch.from_numpy(h), torch.from_numpy(c))
    out = cell(torch.from_numpy(x), state if kind is nn.LSTMCell else state[0])
    out = out if kind is nn.LSTMCell else (out,)
    for part, value in zip(out, expected, strict=True):
        close(part, value)
    zeros = (np.zeros((2, 4), np.float32),) * 2
    fresh = cell(torch.from_numpy(x))
    close(fresh[0] if kind is nn.LSTMCell else fresh, rnn_step(cell, "", x, zeros)[0])
    with pytest.raises(RuntimeError, match="input has inconsistent input_size: got 2 expected 3"):
        cell(torch.ones(1, 2))


def test_batch_first_and_unbatched_input():
    layer = nn.GRU(3, 4)
    first = nn.GRU(3, 4, batch_first=True)
    first.load_state_dict(layer.state_dict())
    x = torch.from_numpy(array(5, 2, 3))
    output, hidden = layer(x)
    other, other_hidden = first(x.transpose(0, 1))
    close(other.transpose(0, 1), output.detach().numpy())
    close(other_hidden, hidden.detach().numpy())
    single, single_hidden = layer(x[:, 0])
    close(single, output[:, 0].detach().numpy())
    assert single_hidden.shape == (1, 4)


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_packed_sequences_run_as_if_alone(kind):
    rnn = submodule("nn.utils.rnn")
    layer = kind(3, 4, 2, bidirectional=True)
    sequences = [torch.from_numpy(array(n, 3, seed=n)) for n in (2, 5, 3)]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    output, hidden = layer(packed)
    padded, lengths = rnn.pad_packed_sequence(output)
    assert lengths.tolist() == [2, 5, 3]
    hidden = hidden[0] if kind is nn.LSTM else hidden
    for i, sequence in enumerate(sequences):
        alone, alone_hidden = layer(sequence)
        close(padded[: len(sequence), i], alone.detach().numpy())
        assert not padded[len(sequence) :, i].any()
        alone_hidden = alone_hidden[0] if kind is nn.LSTM else alone_hidden
        close(hidden[:, i], alone_hidden.detach().numpy())


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: nn.RNN(3, 4)(torch.ones(5, 2, 2)), RuntimeError, "Expected 3, got 2"),
        (lambda: nn.RNN(3, 4)(torch.ones(1)), ValueError, "Expected input to be 2D or 3D, got 1D"),
        (
            lambda: nn.RNN(3, 4)(torch.ones(5, 2, 3), torch.ones(1, 3, 4)),
            RuntimeError,
            "Expected hidden size (1, 2, 4), got [1, 3, 4]",
        ),
        (
            lambda: nn.RNN(3, 4)(torch.ones(5, 2, 3), torch.ones(3, 4)),
            RuntimeError,
            "For batched 3-D input, hx should also be 3-D but got 2-D tensor",
        ),
        (lambda: nn.RNN(3, 4, nonlinearity="x"), ValueError, "Unknown nonlinearity 'x'."),
        (lambda: nn.GRU(3, 4, dropout=2), ValueError, "dropout should be a number in range [0, 1]"),
        (lambda: nn.GRU(3, 0), ValueError, "hidden_size must be greater than zero"),
        (lambda: nn.GRU(3, "a"), TypeError, "hidden_size should be of type int, got: str"),
        (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "proj_size has to be smaller than"),
        (lambda: nn.GRU(3, 4, proj_size=2), ValueError, "only supported for LSTM, not RNN or GRU"),
    ],
)
def test_recurrent_errors(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)
