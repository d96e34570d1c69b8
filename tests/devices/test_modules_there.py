"""Every layer, loss and utility of `nn` on the accelerator: outputs, gradients and buffers are the
CPU's, and no tensor stays on the CPU."""

import copy
import itertools

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F

THERE = "opencl"


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def whole(n, *shape):
    """Integers from 0 to n - 1."""
    return torch.tensor(np.random.default_rng(n).integers(0, n, shape))


def given(*shape, seed=3):
    """Numbers that no gradient is wanted of."""
    return torch.tensor(numbers(*shape, seed=seed)).float()


def above(*shape, low=0.1):
    return (given(*shape).abs() + low).requires_grad_()


def chances(*shape):
    return given(*shape).sigmoid().requires_grad_()


def signs(*shape):
    return given(*shape, seed=5).sign()


def packed(*lengths, width=4):
    sequences = [given(n, width, seed=n) for n in lengths]
    return nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)


def tensors(values):
    """The tensors in tuples and lists, in order."""
    if isinstance(values, torch.Tensor):
        return [values]
    if isinstance(values, nn.utils.rnn.PackedSequence):
        return [values.data]  # batch sizes are on the CPU
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        return [t for value in values for t in tensors(value)]
    return []


def agree(have, want, close=1e-5):
    have, want = tensors(have), tensors(want)
    assert len(have) == len(want)
    for h, w in zip(have, want, strict=True):
        assert h.device.type == THERE
        assert (h.dtype, h.shape, h.stride()) == (w.dtype, w.shape, w.stride())
        back, w = h.detach().cpu(), w.detach()
        if not w.dtype.is_floating_point:
            np.testing.assert_array_equal(back.numpy(), w.numpy())
            continue
        a, b = back.double().numpy(), w.double().numpy()
        most = np.abs(b[np.isfinite(b)]).max(initial=1e-30)
        np.testing.assert_allclose(a, b, rtol=0, atol=close * most)


def inputs_on(device, arguments):
    """A shape is an input that a gradient is wanted of; a tensor is as it is; others are kept."""
    made = []
    for seed, argument in enumerate(arguments):
        if isinstance(argument, tuple) and all(type(n) is int for n in argument):
            argument = torch.tensor(numbers(*argument, seed=seed)).float().requires_grad_()
        made.append(moved(argument, device))
    return made


def moved(value, device):
    if isinstance(value, torch.Tensor):
        return value.detach().to(device).requires_grad_(value.requires_grad)
    if isinstance(value, nn.utils.rnn.PackedSequence):
        return value.to(device)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(v, device) for v in value)
    if isinstance(value, dict):
        return {name: moved(v, device) for name, v in value.items()}
    return value


def trained(module, inputs):
    """Outputs, the gradients of all leaves, and buffers."""
    *inputs, options = inputs if inputs and isinstance(inputs[-1], dict) else (*inputs, {})
    out = module(*inputs, **options)
    results = [t for t in tensors(out) if t.requires_grad]
    parameters = [p for p in module.parameters() if p.requires_grad]
    leaves = [t for t in tensors(inputs) if t.requires_grad] + parameters
    seeds = [torch.tensor(numbers(*t.shape, seed=9)).float().to(t.device) for t in results]
    wanted = leaves if results else []
    grads = torch.autograd.grad(results, wanted, seeds, allow_unused=True) if wanted else ()
    return tensors(out), [g for g in grads if g is not None], list(module.buffers())


def built(make):
    torch.manual_seed(0)
    return make()


def check(make, arguments, close=1e-5):
    here, there = built(make), built(make).to(THERE)
    assert all(t.device.type == THERE for t in [*there.parameters(), *there.buffers()])
    want = trained(here, inputs_on("cpu", arguments))
    have = trained(there, inputs_on(THERE, arguments))
    for h, w in zip(have, want, strict=True):
        agree(h, w, close)


IMAGE, VOLUME, ROW = (2, 4, 8, 8), (2, 4, 5, 6, 7), (2, 4, 9)

HIDDEN = torch.arange(30).view(5, 6) % 4 == 1
PADDED = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])

SHAPES_OF = ((1, ROW), (2, IMAGE), (3, VOLUME))


def padding(kind, n):
    return getattr(nn, f"{kind}Pad{n}d")(1, *([2.5] if kind == "Constant" else []))


LAYERS = {
    # ---- linear
    "Linear": (lambda: nn.Linear(4, 3), (2, 4)),
    "Linear-row": (lambda: nn.Linear(4, 3), (4,)),
    "Linear-no-bias": (lambda: nn.Linear(4, 3, bias=False), (2, 5, 4)),
    "Bilinear": (lambda: nn.Bilinear(4, 3, 5), (2, 4), (2, 3)),
    "Identity": (lambda: nn.Identity(), (2, 4)),
    # ---- convolutions
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3, padding=1), ROW),
    "Conv1d-replicate": (lambda: nn.Conv1d(4, 6, 3, padding=1, padding_mode="replicate"), ROW),
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3, stride=2), IMAGE),
    "Conv2d-groups": (lambda: nn.Conv2d(4, 8, 3, groups=2, dilation=2), IMAGE),
    "Conv2d-depthwise": (lambda: nn.Conv2d(4, 4, 3, groups=4, padding="same"), IMAGE),
    "Conv2d-reflect": (lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), IMAGE),
    "Conv2d-circular": (lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular"), IMAGE),
    "Conv2d-one": (lambda: nn.Conv2d(4, 6, 3), (4, 8, 8)),
    "Conv3d": (lambda: nn.Conv3d(4, 3, 3, padding=1), VOLUME),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(4, 3, 3, stride=2, output_padding=1), ROW),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(4, 6, 3, groups=2, padding=1), IMAGE),
    "ConvTranspose3d": (lambda: nn.ConvTranspose3d(4, 3, 2), VOLUME),
    "Fold": (lambda: nn.Fold((4, 5), 2), (2, 8, 12)),
    "Unfold": (lambda: nn.Unfold(3, padding=1, stride=2), IMAGE),
    # ---- pooling
    "AvgPool1d": (lambda: nn.AvgPool1d(3, 2), ROW),
    "AvgPool2d": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGE),
    "AvgPool3d": (lambda: nn.AvgPool3d(2, ceil_mode=True), VOLUME),
    "MaxPool1d": (lambda: nn.MaxPool1d(3, 2, return_indices=True), ROW),
    "MaxPool2d": (lambda: nn.MaxPool2d(3, 2, 1), IMAGE),
    "MaxPool3d": (lambda: nn.MaxPool3d(2), VOLUME),
    "MaxPool2d-dilated": (lambda: nn.MaxPool2d(2, dilation=2, ceil_mode=True), IMAGE),
    "LPPool1d": (lambda: nn.LPPool1d(2, 3), ROW),
    "LPPool2d": (lambda: nn.LPPool2d(3, 2), above(*IMAGE)),
    "LPPool3d": (lambda: nn.LPPool3d(2, 2), VOLUME),
    "AdaptiveAvgPool1d": (lambda: nn.AdaptiveAvgPool1d(4), ROW),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((3, None)), IMAGE),
    "AdaptiveAvgPool3d": (lambda: nn.AdaptiveAvgPool3d(2), VOLUME),
    "AdaptiveMaxPool1d": (lambda: nn.AdaptiveMaxPool1d(4), ROW),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d(3, return_indices=True), IMAGE),
    "AdaptiveMaxPool3d": (lambda: nn.AdaptiveMaxPool3d(2), VOLUME),
    "FractionalMaxPool2d": (
        lambda: nn.FractionalMaxPool2d(2, 3, _random_samples=chances(2, 4, 2).detach()),
        IMAGE,
    ),
    "FractionalMaxPool3d": (
        lambda: nn.FractionalMaxPool3d(2, 3, _random_samples=chances(2, 4, 3).detach()),
        VOLUME,
    ),
    # ---- padding
    **{
        f"{kind}Pad{n}d": (
            lambda kind=kind, n=n: padding(kind, n),
            shape,
        )
        for kind in ("Constant", "Zero", "Reflection", "Replication", "Circular")
        for n, shape in SHAPES_OF
    },
    "ReflectionPad2d-uneven": (lambda: nn.ReflectionPad2d((1, 2, 0, 3)), IMAGE),
    "ZeroPad2d-less": (lambda: nn.ZeroPad2d((1, -2, 0, 3)), IMAGE),
    # ---- functions of elements
    **{
        name: (lambda name=name: getattr(nn, name)(), (3, 5))
        for name in (
            "CELU ELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish PReLU "
            "ReLU ReLU6 SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink GELU"
        ).split()
    },
    "GELU-tanh": (lambda: nn.GELU("tanh"), (3, 5)),
    "GLU": (lambda: nn.GLU(1), (3, 6)),
    "PReLU-channels": (lambda: nn.PReLU(4), IMAGE),
    "Threshold": (lambda: nn.Threshold(0.2, -1), (3, 5)),
    "RReLU-eval": (lambda: nn.RReLU().eval(), (3, 5)),
    "ReLU-inplace": (lambda: nn.Sequential(nn.Linear(5, 5), nn.ReLU(inplace=True)), (3, 5)),
    "Softmax": (lambda: nn.Softmax(1), (3, 5)),
    "Softmin": (lambda: nn.Softmin(0), (3, 5)),
    "LogSoftmax": (lambda: nn.LogSoftmax(-1), (3, 5, 2)),
    "Softmax2d": (lambda: nn.Softmax2d(), IMAGE),
    # ---- normalisation
    **{
        f"{kind}{n}d{suffix}": (
            lambda kind=kind, n=n, options=options: getattr(nn, f"{kind}{n}d")(4, **options),
            shape,
        )
        for n, shape in SHAPES_OF
        for kind, suffix, options in (
            ("BatchNorm", "", {}),
            ("BatchNorm", "-plain", {"affine": False, "track_running_stats": False}),
            ("BatchNorm", "-cumulative", {"momentum": None}),
            ("InstanceNorm", "", {}),
            ("InstanceNorm", "-tracked", {"affine": True, "track_running_stats": True}),
        )
    },
    "BatchNorm1d-rows": (lambda: nn.BatchNorm1d(4), (6, 4)),
    "BatchNorm2d-eval": (lambda: nn.BatchNorm2d(4).eval(), IMAGE),
    "InstanceNorm2d-eval": (
        lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True).eval(),
        IMAGE,
    ),
    "SyncBatchNorm-eval": (lambda: nn.SyncBatchNorm(4).eval(), IMAGE),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), IMAGE),
    "LayerNorm": (lambda: nn.LayerNorm([8, 8]), IMAGE),
    "LayerNorm-no-bias": (lambda: nn.LayerNorm(8, bias=False), IMAGE),
    "RMSNorm": (lambda: nn.RMSNorm(8), IMAGE),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(3, 0.1), IMAGE),
    "CrossMapLRN2d": (lambda: nn.CrossMapLRN2d(3, 0.1), IMAGE),
    # ---- recurrent
    **{
        f"{name}{suffix}": (
            lambda name=name, options=options: getattr(nn, name)(4, 3, **options),
            shape,
        )
        for name in ("RNN", "GRU", "LSTM")
        for suffix, options, shape in (
            ("", {}, (5, 2, 4)),
            ("-two", {"num_layers": 2, "bidirectional": True, "batch_first": True}, (2, 5, 4)),
            ("-no-bias", {"bias": False}, (5, 4)),
            ("-packed", {"bidirectional": True}, packed(3, 5, 1)),
        )
    },
    "RNN-relu": (lambda: nn.RNN(4, 3, nonlinearity="relu"), (5, 2, 4), (1, 2, 3)),
    "LSTM-projected": (lambda: nn.LSTM(4, 3, proj_size=2), (5, 2, 4)),
    "LSTM-states": (lambda: nn.LSTM(4, 3), (5, 2, 4), (above(1, 2, 3), above(1, 2, 3))),
    "RNNCell": (lambda: nn.RNNCell(4, 3), (2, 4), (2, 3)),
    "GRUCell": (lambda: nn.GRUCell(4, 3), (2, 4), (2, 3)),
    "LSTMCell": (lambda: nn.LSTMCell(4, 3), (2, 4), (above(2, 3), above(2, 3))),
    "LSTMCell-row": (lambda: nn.LSTMCell(4, 3, bias=False), (4,)),
    # ---- transformers
    "MultiheadAttention": (lambda: nn.MultiheadAttention(8, 2), (5, 2, 8), (6, 2, 8), (6, 2, 8)),
    "MultiheadAttention-other": (
        lambda: nn.MultiheadAttention(
            8, 2, kdim=6, vdim=4, add_bias_kv=True, add_zero_attn=True, batch_first=True
        ),
        (2, 5, 8), (2, 6, 6), (2, 6, 4),
    ),
    "MultiheadAttention-row": (lambda: nn.MultiheadAttention(8, 2), (5, 8), (6, 8), (6, 8)),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0, batch_first=True), (2, 5, 8),
    ),
    "TransformerEncoderLayer-gelu": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, 0, "gelu", norm_first=True, bias=False),
        (5, 2, 8),
    ),
    "TransformerEncoder": (
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, dropout=0, batch_first=True), 2, nn.LayerNorm(8)
        ),
        (2, 5, 8),
    ),
    "TransformerEncoder-eval": (
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, dropout=0, batch_first=True), 2
        ).eval(),
        (2, 5, 8),
    ),
    "TransformerDecoderLayer": (
        lambda: nn.TransformerDecoderLayer(8, 2, 16, dropout=0), (5, 2, 8), (6, 2, 8),
    ),
    "TransformerDecoder": (
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, dropout=0), 2),
        (5, 2, 8), (6, 2, 8),
    ),
    "Transformer": (
        lambda: nn.Transformer(8, 2, 1, 1, 16, dropout=0, batch_first=True), (2, 5, 8), (2, 6, 8),
    ),
    "MultiheadAttention-masks": (
        lambda: nn.MultiheadAttention(8, 2), (5, 2, 8), (6, 2, 8), (6, 2, 8),
        {"attn_mask": HIDDEN, "key_padding_mask": PADDED, "average_attn_weights": False},
    ),
    "MultiheadAttention-plain": (
        lambda: nn.MultiheadAttention(8, 2), (5, 2, 8), (6, 2, 8), (6, 2, 8),
        {"attn_mask": given(4, 5, 6), "need_weights": False},
    ),
    "TransformerEncoder-masks": (
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, dropout=0, batch_first=True), 2
        ),
        (2, 6, 8),
        {"mask": nn.Transformer.generate_square_subsequent_mask(6), "src_key_padding_mask": PADDED,
         "is_causal": True},
    ),
    "TransformerEncoder-eval-masks": (
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, dropout=0, batch_first=True), 2
        ).eval(),
        given(2, 6, 8), {"src_key_padding_mask": PADDED},
    ),
    "Transformer-masks": (
        lambda: nn.Transformer(8, 2, 1, 1, 16, dropout=0, batch_first=True), (2, 5, 8), (2, 6, 8),
        {"tgt_mask": nn.Transformer.generate_square_subsequent_mask(6),
         "tgt_key_padding_mask": PADDED, "tgt_is_causal": True},
    ),
    # ---- words
    "Embedding": (lambda: nn.Embedding(7, 3), whole(7, 2, 5)),
    "Embedding-padding": (lambda: nn.Embedding(7, 3, padding_idx=2), whole(7, 2, 5)),
    "Embedding-norm": (lambda: nn.Embedding(7, 3, max_norm=1.0), whole(7, 2, 5)),
    "Embedding-counted": (lambda: nn.Embedding(7, 3, scale_grad_by_freq=True), whole(7, 2, 5)),
    **{
        f"EmbeddingBag-{mode}": (lambda mode=mode: nn.EmbeddingBag(7, 3, mode=mode), whole(7, 2, 5))
        for mode in ("sum", "mean", "max")
    },
    "EmbeddingBag-offsets": (
        lambda: nn.EmbeddingBag(7, 3, mode="sum", padding_idx=1),
        whole(7, 10), torch.tensor([0, 3, 3, 8]), above(10),
    ),
    "EmbeddingBag-last": (
        lambda: nn.EmbeddingBag(7, 3, include_last_offset=True, max_norm=1.0),
        whole(7, 10), torch.tensor([0, 3, 10]),
    ),
    "EmbeddingBag-counted": (
        lambda: nn.EmbeddingBag(7, 3, scale_grad_by_freq=True), whole(7, 2, 5),
    ),
    # ---- shapes
    "Flatten": (lambda: nn.Flatten(), IMAGE),
    "Unflatten": (lambda: nn.Unflatten(1, (2, 2)), IMAGE),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), IMAGE),
    "PixelUnshuffle": (lambda: nn.PixelUnshuffle(2), IMAGE),
    "ChannelShuffle": (lambda: nn.ChannelShuffle(2), IMAGE),
    "Upsample-nearest": (lambda: nn.Upsample(scale_factor=2), IMAGE),
    "Upsample-linear": (lambda: nn.Upsample(size=5, mode="linear"), ROW),
    "Upsample-bicubic": (lambda: nn.Upsample(scale_factor=1.5, mode="bicubic"), IMAGE),
    "Upsample-trilinear": (
        lambda: nn.Upsample(size=(3, 4, 9), mode="trilinear", align_corners=True), VOLUME,
    ),
    "UpsamplingBilinear2d": (lambda: nn.UpsamplingBilinear2d(scale_factor=2), IMAGE),
    "UpsamplingNearest2d": (lambda: nn.UpsamplingNearest2d(size=(5, 3)), IMAGE),
    # ---- distances
    "CosineSimilarity": (lambda: nn.CosineSimilarity(), (3, 5), (3, 5)),
    "PairwiseDistance": (lambda: nn.PairwiseDistance(p=3, keepdim=True), (3, 5), (3, 5)),
    "LinearCrossEntropyLoss": (lambda: nn.LinearCrossEntropyLoss(4, 5), (3, 4), whole(5, 3)),
    # ---- containers
    "Sequential": (lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh()), (2, 4)),
    # ---- what is made when it is called
    "Dropout-eval": (lambda: nn.Dropout().eval(), (3, 5)),
    "AdaptiveLogSoftmaxWithLoss": (
        lambda: nn.AdaptiveLogSoftmaxWithLoss(5, 9, [3, 6], head_bias=True), (6, 5), whole(9, 6),
    ),
}  # fmt: skip

CODES = torch.log_softmax(given(7, 3, 5), 2).requires_grad_()
GIVEN = (whole(4, 3, 4) + 1, torch.tensor([7, 6, 7]), torch.tensor([4, 2, 3]))

LOSSES = {
    "BCELoss": ({}, chances(3, 5), chances(3, 5)),
    "BCELoss-weight": ({"weight": above(5).detach()}, chances(3, 5), chances(3, 5).detach()),
    "BCEWithLogitsLoss": ({}, (3, 5), chances(3, 5).detach()),
    "BCEWithLogitsLoss-weights": (
        {"weight": above(5).detach(), "pos_weight": above(5).detach()}, (3, 5), chances(3, 5),
    ),
    "CTCLoss": ({}, CODES, *GIVEN),
    "CTCLoss-zero": ({"zero_infinity": True, "blank": 2}, CODES, whole(2, 3, 4), *GIVEN[1:]),
    "CosineEmbeddingLoss": ({"margin": 0.1}, (3, 5), (3, 5), signs(3)),
    "CrossEntropyLoss": ({}, (3, 5), whole(5, 3)),
    "CrossEntropyLoss-smooth": (
        {"weight": above(5).detach(), "label_smoothing": 0.1, "ignore_index": 2},
        (3, 5, 4), whole(5, 3, 4),
    ),
    "CrossEntropyLoss-chances": ({}, (3, 5), chances(3, 5)),
    "GaussianNLLLoss": ({"full": True}, (3, 5), (3, 5), above(3, 5)),
    "HingeEmbeddingLoss": ({}, (3, 5), signs(3, 5)),
    "HuberLoss": ({"delta": 0.7}, (3, 5), (3, 5)),
    "KLDivLoss": ({}, (3, 5), chances(3, 5)),
    "KLDivLoss-log": ({"log_target": True}, (3, 5), (3, 5)),
    "L1Loss": ({}, (3, 5), (3, 5)),
    "MSELoss": ({}, (3, 5), (3, 5)),
    "MarginRankingLoss": ({"margin": 0.2}, (5,), (5,), signs(5)),
    "MultiLabelMarginLoss": (
        {}, (3, 4), torch.tensor([[3, 0, -1, 1], [-1, 0, 1, 2], [0, 1, 2, 3]]),
    ),
    "MultiLabelSoftMarginLoss": ({"weight": above(4).detach()}, (3, 4), whole(2, 3, 4).float()),
    "MultiMarginLoss": ({"p": 2, "margin": 0.6}, (3, 5), whole(5, 3)),
    "NLLLoss": ({}, (3, 5), whole(5, 3)),
    "NLLLoss-weight": ({"weight": above(5).detach(), "ignore_index": 1}, (3, 5, 2), whole(5, 3, 2)),
    "PoissonNLLLoss": ({"full": True}, (3, 5), above(3, 5, low=0.5).detach()),
    "PoissonNLLLoss-plain": ({"log_input": False}, above(3, 5), above(3, 5).detach()),
    "SmoothL1Loss": ({"beta": 0.5}, (3, 5), (3, 5)),
    "SoftMarginLoss": ({}, (3, 5), signs(3, 5)),
    "TripletMarginLoss": ({"swap": True, "p": 3}, (3, 5), (3, 5), (3, 5)),
    "TripletMarginWithDistanceLoss": ({}, (3, 5), (3, 5), (3, 5)),
}  # fmt: skip


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, *arguments = LAYERS[name]
    check(make, arguments)


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("how", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, how):
    options, *arguments = LOSSES[name]
    kind = getattr(nn, name.split("-")[0])
    check(lambda: kind(**options, reduction=how), arguments)


class Unpool(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.pool = getattr(nn, f"MaxPool{n}d")(2, return_indices=True)
        self.unpool = getattr(nn, f"MaxUnpool{n}d")(2)

    def forward(self, x):
        return self.unpool(*self.pool(x), output_size=x.shape)


class Named(nn.Module):
    """A dict and a list of layers, and one of parameters each."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"a": nn.Linear(4, 3), "b": nn.Tanh()})
        self.more = nn.ModuleList([nn.Linear(3, 3), nn.LayerNorm(3)])
        self.scales = nn.ParameterDict({"c": nn.Parameter(torch.ones(3))})
        self.shifts = nn.ParameterList([nn.Parameter(torch.zeros(3)) for _ in range(2)])

    def forward(self, x):
        for layer in (*self.layers.values(), *self.more):
            x = layer(x)
        return x * self.scales["c"] + self.shifts[0] - self.shifts[1]


def pruned():
    net = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3))
    nn.utils.prune.l1_unstructured(net[0], "weight", 0.5)
    nn.utils.prune.ln_structured(net[2], "weight", 0.5, 2, 1)
    return net


def tied():
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    net[2].weight = net[0].weight
    return net


MADE = {
    **{f"MaxUnpool{n}d": (lambda n=n: Unpool(n), shape) for n, shape in SHAPES_OF},
    "named": (Named, (2, 4)),
    "tied": (tied, (2, 4)),
    "DataParallel": (lambda: nn.DataParallel(nn.Linear(4, 3)), (2, 4)),
    "pruned": (pruned, (2, 6)),
    "weight_norm": (lambda: nn.utils.weight_norm(nn.Linear(4, 3)), (2, 4)),
    "weight_norm-parametrized": (
        lambda: nn.utils.parametrizations.weight_norm(nn.Conv2d(4, 3, 3), dim=1), IMAGE,
    ),
    "spectral_norm": (lambda: nn.utils.spectral_norm(nn.Linear(4, 3)), (2, 4)),
    "spectral_norm-parametrized": (
        lambda: nn.utils.parametrizations.spectral_norm(nn.Conv2d(4, 3, 3)), IMAGE,
    ),
    "orthogonal": (lambda: nn.utils.parametrizations.orthogonal(nn.Linear(4, 4)), (2, 4)),
    "orthogonal-cayley": (
        lambda: nn.utils.parametrizations.orthogonal(
            nn.Linear(4, 3), orthogonal_map="cayley"
        ), (2, 4),
    ),
    "orthogonal-householder": (
        lambda: nn.utils.parametrizations.orthogonal(
            nn.Linear(4, 3), orthogonal_map="householder"
        ), (2, 4),
    ),
}  # fmt: skip


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", MADE)
def test_layers_of_layers(name):
    make, *arguments = MADE[name]
    check(make, arguments)


LAZY = {
    "LazyLinear": ((3,), (2, 4)),
    **{
        f"Lazy{kind}{n}d": (arguments, shape)
        for n, shape in SHAPES_OF
        for kind, arguments in (
            ("Conv", (3, 2)), ("ConvTranspose", (3, 2)), ("BatchNorm", ()), ("InstanceNorm", ()),
        )
    },
}  # fmt: skip


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", LAZY)
def test_lazy_layers(name):
    arguments, shape = LAZY[name]
    there = getattr(nn, name)(*arguments).to(THERE)
    x = torch.tensor(numbers(*shape)).float()
    there(x.to(THERE))
    there.eval()
    plain = getattr(nn, name.removeprefix("Lazy"))
    options = {"affine": True, "track_running_stats": True} if "Norm" in name else {}
    here = plain(shape[-1] if name == "LazyLinear" else shape[1], *arguments, **options).train(
        False
    )
    here.load_state_dict(there.state_dict())
    agree(there(x.to(THERE)), here(x))


RANDOM = {
    "Dropout": (lambda: nn.Dropout(0.3), (40, 50)),
    "Dropout1d": (lambda: nn.Dropout1d(0.3), (40, 50, 3)),
    "Dropout2d": (lambda: nn.Dropout2d(0.3), (40, 50, 3, 2)),
    "Dropout3d": (lambda: nn.Dropout3d(0.3), (40, 50, 3, 2, 1)),
    "AlphaDropout": (lambda: nn.AlphaDropout(0.3), (40, 50)),
    "FeatureAlphaDropout": (lambda: nn.FeatureAlphaDropout(0.3), (40, 50, 3)),
}


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", RANDOM)
def test_random_layers(name):
    make, shape = RANDOM[name]
    x = torch.ones(shape).to(THERE).requires_grad_()
    y = make()(x)
    y.sum().backward()
    assert y.device.type == x.grad.device.type == THERE
    values, grads = y.detach().cpu().numpy(), x.grad.cpu().numpy()
    dropped = grads == 0
    assert abs(dropped.reshape(2000, -1)[:, 0].mean() - 0.3) < 0.05
    assert np.ptp(values[dropped]) == 0 and np.ptp(values[~dropped]) < 1e-6
    if "Alpha" not in name:
        np.testing.assert_allclose(values[~dropped], 1 / 0.7, rtol=1e-6)
    if name[-1] == "d" or "Feature" in name:  # whole channels
        np.testing.assert_array_equal(
            dropped.min((*range(2, len(shape)),)), dropped.max((*range(2, len(shape)),))
        )


@pytest.mark.usefixtures("refuse")
def test_rrelu_draws_slopes():
    x = torch.full((2000,), -1.0).to(THERE).requires_grad_()
    y = nn.RReLU(0.2, 0.6)(x)
    y.sum().backward()
    slopes = -y.detach().cpu().numpy()
    assert 0.2 <= slopes.min() < 0.21 and 0.59 < slopes.max() <= 0.6
    np.testing.assert_array_equal(x.grad.cpu().numpy(), slopes)


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_dropout_between_layers(kind):
    layer = kind(4, 6, 2, dropout=0.5, batch_first=True).to(THERE)
    y, _ = layer(torch.ones(2, 5, 4).to(THERE))
    y.sum().backward()
    assert all(p.grad.device.type == THERE for p in layer.parameters())


NOT_CALLED = set("Module Container RNNBase RNNCellBase".split())
IN_OTHERS = set("ModuleDict ModuleList ParameterDict ParameterList".split())


def test_every_layer_is_here():
    tables = LAYERS, LOSSES, MADE, LAZY, RANDOM
    tested = {name.split("-")[0] for table in tables for name in table}
    kinds = {
        name
        for name in nn.__all__
        if isinstance(getattr(nn, name), type) and issubclass(getattr(nn, name), nn.Module)
    }
    assert len(kinds) > 150
    assert kinds - tested - NOT_CALLED - IN_OTHERS == {"NLLLoss2d"}  # another name of NLLLoss


# ---- where parameters are made


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", [n for n, (make, *_) in LAYERS.items() if n == n.split("-")[0]])
def test_made_there(name):
    with torch.device(THERE):
        layer = LAYERS[name][0]()
    assert all(t.device.type == THERE for t in [*layer.parameters(), *layer.buffers()])
    assert all(t.isfinite().all() for t in layer.parameters())


CONSTRUCTED = {
    "Linear": (4, 3),
    "Bilinear": (4, 3, 5),
    "Conv1d": (4, 6, 3),
    "Conv2d": (4, 6, 3),
    "Conv3d": (4, 3, 3),
    "ConvTranspose2d": (4, 6, 3),
    "PReLU": (3,),
    "BatchNorm2d": (4,),
    "InstanceNorm2d": (4, 1e-5, 0.1, True, True),
    "GroupNorm": (2, 4),
    "LayerNorm": (4,),
    "RMSNorm": (4,),
    "RNN": (4, 3),
    "LSTM": (4, 3),
    "GRU": (4, 3),
    "RNNCell": (4, 3),
    "LSTMCell": (4, 3),
    "GRUCell": (4, 3),
    "MultiheadAttention": (8, 2),
    "TransformerEncoderLayer": (8, 2, 16),
    "TransformerDecoderLayer": (8, 2, 16),
    "Transformer": (8, 2, 1, 1, 16),
    "Embedding": (7, 3),
    "EmbeddingBag": (7, 3),
    "AdaptiveLogSoftmaxWithLoss": (5, 9, [3, 6]),
    "LazyLinear": (3,),
    "LazyConv2d": (3, 2),
    "SyncBatchNorm": (4,),
}


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", CONSTRUCTED)
def test_constructed_there(name):
    layer = getattr(nn, name)(*CONSTRUCTED[name], device=THERE, dtype=torch.float64)
    held = [*layer.parameters(), *layer.buffers()]
    assert all(t.device.type == THERE for t in held) and held
    assert all(t.dtype is torch.float64 for t in layer.parameters())
    if "Lazy" not in name:
        assert all(t.isfinite().all() for t in layer.parameters())
        empty = layer.to_empty(device="cpu").to_empty(device=THERE)
        assert [t.shape for t in empty.parameters()] == [t.shape for t in layer.parameters()]


# ---- utilities


def sequences(where):
    return [given(n, 3, seed=n).to(where).requires_grad_() for n in (3, 5, 1)]


SEQUENCES = {
    "pad_sequence": lambda s: nn.utils.rnn.pad_sequence(s, True, 2.5),
    "pad_left": lambda s: nn.utils.rnn.pad_sequence(s, padding_side="left"),
    "pack_sequence": lambda s: nn.utils.rnn.pack_sequence(s, enforce_sorted=False),
    "pad_packed": lambda s: nn.utils.rnn.pad_packed_sequence(
        nn.utils.rnn.pack_sequence(s, enforce_sorted=False), True, -1.0, 6
    )[0],
    "pack_padded": lambda s: nn.utils.rnn.pack_padded_sequence(
        nn.utils.rnn.pad_sequence(s), [3, 5, 1], enforce_sorted=False
    ),
    "unpad": lambda s: nn.utils.rnn.unpad_sequence(
        nn.utils.rnn.pad_sequence(s), torch.tensor([3, 5, 1])
    ),
    "unpack": lambda s: nn.utils.rnn.unpack_sequence(
        nn.utils.rnn.pack_sequence(s, enforce_sorted=False)
    ),
}


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name):
    found = []
    for where in ("cpu", THERE):
        s = sequences(where)
        outs = tensors(SEQUENCES[name](s))
        sum((t * t).sum() for t in outs).backward()
        found.append(outs + [t.grad for t in s])
    agree(found[1], found[0])


def with_gradients(where):
    net = built(lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))).to(where)
    net(given(5, 4).to(where)).square().sum().backward()
    return net


CLIPS = {
    "norm": lambda p: nn.utils.clip_grad_norm_(p, 0.1),
    "norm-each": lambda p: nn.utils.clip_grad_norm_(p, 0.1, foreach=False),
    "norm-3": lambda p: nn.utils.clip_grad_norm_(p, 0.1, 3.0),
    "norm-inf": lambda p: nn.utils.clip_grad_norm_(p, 0.1, float("inf"), True, True),
    "value": lambda p: nn.utils.clip_grad_value_(p, 0.05),
    "value-each": lambda p: nn.utils.clip_grad_value_(p, 0.05, foreach=False),
    "given": lambda p: nn.utils.clip_grads_with_norm_(
        p, 0.1, nn.utils.get_total_norm([q.grad for q in p])
    ),
    "vector": lambda p: nn.utils.parameters_to_vector(p),
    "from-vector": lambda p: nn.utils.vector_to_parameters(torch.arange(23.0).to(p[0].device), p),
}


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", CLIPS)
def test_parameters_and_gradients(name):
    found = []
    for where in ("cpu", THERE):
        parameters = list(with_gradients(where).parameters())
        result = tensors(CLIPS[name](parameters))
        found.append([*result, *parameters, *(p.grad for p in parameters)])
    agree(found[1], found[0])


@pytest.mark.usefixtures("refuse")
def test_functional_calls():
    from rushlight import func

    found = []
    for where in ("cpu", THERE):
        net, x = with_gradients(where), given(5, 4).to(where)
        held = {name: p.detach() * 2 for name, p in net.named_parameters()}

        def loss(held, x, net=net):
            return func.functional_call(net, held, (x,)).square().sum()

        stacked, _ = func.stack_module_state([net, net])
        each = func.vmap(lambda p, net=net, x=x: func.functional_call(net, p, (x,)))(stacked)
        rows = func.vmap(func.grad(loss), (None, 0))(held, x.unsqueeze(1))
        found.append(
            [
                nn.utils.stateless.functional_call(net, held, (x,)),
                func.grad(loss)(held, x), each, rows,
                func.jacrev(lambda x, net=net: net(x))(x),
                func.hessian(lambda x, held=held, loss=loss: loss(held, x))(x[:2]),
            ]
        )  # fmt: skip
    agree(found[1], found[0])


@pytest.mark.usefixtures("refuse")
def test_layers_fused_with_norms():
    for make, shape in (
        (lambda: (nn.Conv2d(4, 3, 3), nn.BatchNorm2d(3)), IMAGE),
        (lambda: (nn.Linear(4, 3), nn.BatchNorm1d(3)), (6, 4)),
    ):
        found = []
        for where in ("cpu", THERE):
            first, norm = (layer.to(where) for layer in built(make))
            norm(first(given(*shape, seed=4).to(where)))
            fuse = nn.utils.fusion.fuse_conv_bn_eval
            if isinstance(first, nn.Linear):
                fuse = nn.utils.fusion.fuse_linear_bn_eval
            found.append(fuse(first.eval(), norm.eval())(given(*shape).to(where)))
        agree(found[1], found[0])


PRUNINGS = {
    "l1": lambda m: nn.utils.prune.l1_unstructured(m, "weight", 5),
    "random": lambda m: nn.utils.prune.random_unstructured(m, "weight", 0.25),
    "structured": lambda m: nn.utils.prune.random_structured(m, "weight", 1, 0),
    "ln": lambda m: nn.utils.prune.ln_structured(m, "weight", 2, 1, 1),
    "global": lambda m: nn.utils.prune.global_unstructured(
        [(m, "weight"), (m, "bias")], nn.utils.prune.L1Unstructured, amount=0.3
    ),
    "custom": lambda m: nn.utils.prune.custom_from_mask(
        m, "bias", torch.tensor([1, 0, 1]).to(m.bias.device)
    ),
    "twice": lambda m: (
        nn.utils.prune.l1_unstructured(m, "weight", 3),
        nn.utils.prune.l1_unstructured(m, "weight", 3),
    ),
}


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", PRUNINGS)
def test_pruning(name):
    found = []
    for where in ("cpu", THERE):
        layer = built(lambda: nn.Linear(4, 3)).to(where)
        torch.manual_seed(1)
        PRUNINGS[name](layer)
        y = layer(given(2, 4).to(where))
        held = [*layer.buffers(), *layer.parameters(), y]
        for which in ("weight", "bias"):
            if hasattr(layer, f"{which}_mask"):
                nn.utils.prune.remove(layer, which)
        found.append([*held, *layer.parameters(), layer(given(2, 4).to(where))])
    if "random" in name or name == "structured":
        assert (found[1][0] == 0).sum().item() == (found[0][0] == 0).sum().item()
        assert all(t.device.type == THERE for t in found[1])
    else:
        agree(found[1], found[0])


# ---- initial values


FILLS = {
    "constant_": (lambda t: nn.init.constant_(t, 2.5), 2.5, 0),
    "ones_": (nn.init.ones_, 1, 0),
    "zeros_": (nn.init.zeros_, 0, 0),
    "normal_": (lambda t: nn.init.normal_(t, 1, 2), 1, 2),
    "uniform_": (lambda t: nn.init.uniform_(t, 0, 12**0.5), 3**0.5, 1),
    "trunc_normal_": (lambda t: nn.init.trunc_normal_(t, 0, 1, -2, 2), 0, 0.8796),
    "xavier_uniform_": (nn.init.xavier_uniform_, 0, 0.1),
    "xavier_normal_": (lambda t: nn.init.xavier_normal_(t, 2.0), 0, 0.2),
    "kaiming_uniform_": (lambda t: nn.init.kaiming_uniform_(t, 5**0.5), 0, 3**-0.5 / 10),
    "kaiming_normal_": (lambda t: nn.init.kaiming_normal_(t, mode="fan_out"), 0, 2**0.5 / 10),
    "orthogonal_": (nn.init.orthogonal_, 0, 0.1),
    "sparse_": (lambda t: nn.init.sparse_(t, 0.75, 1.0), 0, 0.5),
    "eye_": (nn.init.eye_, 0.01, 0.01**0.5),
}


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", FILLS)
def test_initial_values(name):
    fill, mean, deviation = FILLS[name]
    t = torch.empty(100, 100, device=THERE)
    assert fill(t) is t
    values = t.cpu().double().numpy()
    assert abs(values.mean() - mean) < 0.05 and abs(values.std() - deviation) < 0.05 * (
        deviation + 0.01
    )
    if name == "orthogonal_":
        np.testing.assert_allclose(values @ values.T, np.eye(100), atol=1e-5)
    if name == "sparse_":
        np.testing.assert_array_equal((values == 0).sum(0), np.full(100, 75))


@pytest.mark.usefixtures("refuse")
def test_dirac():
    for shape, groups in (((4, 2, 3), 1), ((4, 4, 3, 3), 2), ((2, 3, 3, 3, 3), 1)):
        have = nn.init.dirac_(torch.empty(shape, device=THERE), groups)
        agree(have, nn.init.dirac_(torch.empty(shape), groups))


# ---- optimizers

KINDS = """Adadelta Adagrad Adam AdamW Adamax ASGD NAdam RAdam RMSprop Rprop SGD
Adafactor""".split()
STEPS = {
    **{
        f"{kind}{'-' * bool(word)}{word}": (kind, options)
        for kind in KINDS
        for word, options in (
            ("", {}),
            ("foreach", {"foreach": True}),
            ("each", {"foreach": False}),
            ("maximize", {"maximize": True}),
            ("decay", {"weight_decay": 0.1}),
            ("capturable", {"capturable": True}),
            ("differentiable", {"differentiable": True}),
        )
        if not (kind in ("SGD", "Adagrad", "Adafactor") and word in ("capturable",))
        and not (kind == "Adafactor" and word in ("differentiable",))
        and not (kind == "Rprop" and word == "decay")
    },
    "Adam-fused": ("Adam", {"fused": True}),
    "Adam-fused-amsgrad": ("Adam", {"fused": True, "amsgrad": True, "weight_decay": 0.1}),
    "Adam-amsgrad": ("Adam", {"amsgrad": True, "foreach": True}),
    "Adam-lr": ("Adam", {"lr": torch.tensor(0.01)}),
    "Adam-decoupled": ("Adam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    "AdamW-fused": ("AdamW", {"fused": True}),
    "AdamW-amsgrad": ("AdamW", {"amsgrad": True}),
    "Adagrad-fused": ("Adagrad", {"fused": True, "lr_decay": 0.1}),
    "Adagrad-start": ("Adagrad", {"initial_accumulator_value": 0.5, "lr_decay": 0.1}),
    "Adadelta-rho": ("Adadelta", {"rho": 0.5}),
    "NAdam-decoupled": ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    "RAdam-decoupled": ("RAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    "RMSprop-centered": ("RMSprop", {"centered": True, "momentum": 0.9}),
    "SGD-fused": ("SGD", {"fused": True, "momentum": 0.9}),
    "SGD-momentum": ("SGD", {"momentum": 0.9, "nesterov": True, "foreach": True}),
    "SGD-dampening": ("SGD", {"momentum": 0.9, "dampening": 0.2, "foreach": False}),
    "ASGD-average": ("ASGD", {"t0": 2, "lambd": 0.1}),
    "Muon": ("Muon", {}),
    "Muon-nesterov": (
        "Muon",
        {"nesterov": False, "weight_decay": 0.1, "adjust_lr_fn": "match_rms_adamw"},
    ),
    "Adafactor-decay": ("Adafactor", {"weight_decay": 0.1, "d": 1.5}),
}


def stepped(where, kind, options, steps=5):
    shapes = [(4, 3), (2, 5)] if kind == "Muon" else [(4, 3), (5,), (), (2, 3, 2)]
    parameters = [nn.Parameter(given(*shape, seed=i).to(where)) for i, shape in enumerate(shapes)]
    if options.get("differentiable"):
        parameters = [p.clone() for p in parameters]
    groups = [{"params": parameters[:1]}, {"params": parameters[1:], "lr": 0.02}]
    optimizer = getattr(torch.optim, kind)(groups, **{"lr": 0.01, **options})
    for step in range(steps):
        for i, p in enumerate(parameters):
            p.grad = given(*p.shape, seed=10 * step + i + 1).to(where)
        optimizer.step()
    return parameters, optimizer


def state_of(optimizer):
    return [
        {k: v.detach().cpu() if isinstance(v, torch.Tensor) else v for k, v in s.items()}
        for s in optimizer.state_dict()["state"].values()
    ]


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", STEPS)
def test_optimizers(name):
    kind, options = STEPS[name]
    plain = {k: v for k, v in options.items() if k != "capturable"}  # the CPU has none
    want, of_want = stepped("cpu", kind, plain)
    have, of_have = stepped(THERE, kind, options)
    agree(have, want)
    for a, b in zip(state_of(of_have), state_of(of_want), strict=True):
        assert a.keys() == b.keys()
        for key, value in b.items():
            np.testing.assert_allclose(a[key], value, rtol=1e-4, atol=1e-6)
    for p in have:
        for key, value in of_have.state[p].items():
            if isinstance(value, torch.Tensor) and value.dim():
                assert value.device.type == THERE, key


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", [n for n in STEPS if n.count("-") == 0])
def test_states_that_move(name):
    """Saved here and loaded there, and back: the next steps are the same."""
    kind, options = STEPS[name]
    want, of_want = stepped("cpu", kind, options, 2)
    have, of_have = stepped(THERE, kind, options, 1)
    of_have.load_state_dict(copy.deepcopy(of_want.state_dict()))
    with torch.no_grad():
        for p, q in zip(have, want, strict=True):
            p.copy_(q)
    for parameters, optimizer in ((want, of_want), (have, of_have)):
        for i, p in enumerate(parameters):
            p.grad = given(*p.shape, seed=90 + i).to(p.device)
        optimizer.step()
    agree(have, want)
    of_want.load_state_dict(of_have.state_dict())
    for p in want:
        assert all(
            t.device.type == "cpu" for t in of_want.state[p].values() if isinstance(t, torch.Tensor)
        )


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs(search):
    found = []
    for where in ("cpu", THERE):
        net = built(lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))).to(where)
        x, y = given(6, 4).to(where), given(6, 1, seed=2).to(where)
        optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=4, line_search_fn=search)

        def closure(net=net, x=x, y=y, optimizer=optimizer):
            optimizer.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            return loss

        losses = [optimizer.step(closure) for _ in range(3)]
        assert losses[-1] < losses[0]
        found.append([*losses, *net.parameters()])
    agree(found[1], found[0], 1e-4)


SCHEDULES = {
    "StepLR": (2,), "MultiStepLR": ([1, 3],), "ExponentialLR": (0.5,), "CosineAnnealingLR": (3,),
    "CosineAnnealingWarmRestarts": (2,), "CyclicLR": (0.01, 0.1, 2), "OneCycleLR": (0.1, 6),
    "LinearLR": (), "ConstantLR": (), "PolynomialLR": (4,), "LambdaLR": (lambda n: 0.5**n,),
    "MultiplicativeLR": (lambda n: 0.5,),
}  # fmt: skip


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("as_tensor", [False, True])
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name, as_tensor):
    found = []
    for where in ("cpu", THERE):
        p = nn.Parameter(given(3).to(where))
        optimizer = torch.optim.SGD(
            [p], torch.tensor(0.1).to(where) if as_tensor else 0.1, momentum=0.5,
            foreach=True if as_tensor else None,
        )  # fmt: skip
        schedule = getattr(torch.optim.lr_scheduler, name)(optimizer, *SCHEDULES[name])
        for _ in range(5):
            p.grad = given(3, seed=4).to(where)
            optimizer.step()
            schedule.step()
        found.append([p, torch.tensor(float(optimizer.param_groups[0]["lr"])).to(where)])
    agree(found[1], found[0])


@pytest.mark.usefixtures("refuse")
def test_plateaus():
    rates = []
    for where in ("cpu", THERE):
        p = nn.Parameter(given(3).to(where))
        optimizer = torch.optim.SGD([p], 0.1)
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        for loss in (1.0, 1.0, 1.0, 0.5):
            schedule.step(torch.tensor(loss).to(where))
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == [0.01, 0.01] or rates[0] == rates[1] < 0.1


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("how", ["mean", "ema", "swa", "buffers"])
def test_averaged_models(how):
    from rushlight.optim import swa_utils

    found = []
    for where in ("cpu", THERE):
        net = built(lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))).to(where)
        options = {
            "mean": {},
            "ema": {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.9)},
            "swa": {"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()},
            "buffers": {"use_buffers": True},
        }[how]
        averaged = swa_utils.AveragedModel(net, where, **options)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        schedule = swa_utils.SWALR(optimizer, 0.01)
        data = [given(6, 4, seed=i).to(where) for i in range(3)]
        for x in data:
            optimizer.zero_grad()
            (net(x) * given(6, 3).to(where)).sum().backward()
            optimizer.step()
            averaged.update_parameters(net)
            schedule.step()
        swa_utils.update_bn(data, averaged)
        found.append([*averaged.parameters(), *averaged.buffers()])
    agree(found[1], found[0])


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_scaled_gradients(kind):
    found = []
    for where in ("cpu", THERE):
        net = built(lambda: nn.Linear(4, 3)).to(where)
        optimizer = getattr(torch.optim, kind)(net.parameters(), 0.1)
        scaler = torch.amp.GradScaler(where, init_scale=1024.0, growth_interval=2)
        for step in range(4):
            optimizer.zero_grad()
            loss = net(given(5, 4, seed=step).to(where)).square().sum()
            scaler.scale(loss * (float("inf") if step == 2 else 1)).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            scaler.step(optimizer)
            scaler.update()
        assert scaler.get_scale() == 1024.0
        found.append(list(net.parameters()))
    agree(found[1], found[0])


# ---- lists of tensors

UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p
log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc clone max norm
powsum zero""".split()
PAIRS = "add sub mul div clamp_max clamp_min maximum minimum pow copy mm".split()
TRIPLES = "addcmul addcdiv lerp".split()


def lists(where, dtype, n=1):
    shapes = [(3, 3), (5,), (), (2, 1, 4)]
    return [
        [(given(*s, seed=10 * k + i).sigmoid()).to(dtype).to(where) for i, s in enumerate(shapes)]
        for k in range(n)
    ]


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", UNARY)
def test_lists(name):
    found = []
    for where in ("cpu", THERE):
        (these,), made = lists(where, torch.float64), []
        if hasattr(torch, f"_foreach_{name}"):
            made = list(getattr(torch, f"_foreach_{name}")(these))
        if hasattr(torch, f"_foreach_{name}_"):
            getattr(torch, f"_foreach_{name}_")(these)
        found.append(made + these)
    agree(found[1], found[0], 1e-12)


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", PAIRS)
def test_lists_of_two(name):
    found = []
    for where in ("cpu", THERE):
        (these, those), made = lists(where, torch.float64, 2), []
        if name == "mm":
            found.append(torch._foreach_mm(these[:1], those[:1]))
            continue
        if name != "copy":
            function = getattr(torch, f"_foreach_{name}")
            made = [
                *function(these, those),
                *function(these, 0.5),
                *function(these, [0.5, 1.5, 2.0, 3.0]),
            ]
            if name in ("add", "mul", "div"):
                made += function(these, torch.tensor(0.5).to(where))
                made += function(these, torch.tensor(0.5)) if name != "add" else ()
            if name in ("add", "sub"):
                made += function(these, those, alpha=2)
            if name == "pow":
                made += function(2.0, these)
        getattr(torch, f"_foreach_{name}_")(these, those)
        found.append(made + these)
    agree(found[1], found[0], 1e-12)


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", TRIPLES)
def test_lists_of_three(name):
    found = []
    for where in ("cpu", THERE):
        a, b, c = lists(where, torch.float64, 3)
        function = getattr(torch, f"_foreach_{name}")
        if name == "lerp":
            made = [*function(a, b, c), *function(a, b, 0.3), *function(a, b, [0.1, 0.2, 0.3, 0.4])]
            torch._foreach_lerp_(a, b, 0.7)
        else:
            made = [*function(a, b, c), *function(a, b, c, 0.5), *function(a, b, c, [1, 2, 3, 4])]
            made += function(a, b, c, torch.tensor([1.0, 2, 3, 4]))
            getattr(torch, f"_foreach_{name}_")(a, b, c, value=0.5)
        found.append(made + a)
    agree(found[1], found[0], 1e-12)


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("order", [0, 1, 2, 3, float("inf")])
def test_norms_of_lists(order):
    found = [torch._foreach_norm(lists(where, torch.float32)[0], order) for where in ("cpu", THERE)]
    agree(found[1], found[0])


# ---- gradients of each sample, and derivatives of functions


def of_rows(f):
    """The gradient of f for each row, by a table that all share."""
    return lambda table, x, ids: torch.func.vmap(torch.func.grad(f), (None, 0, 0))(table, x, ids)


TABLE, ROWS, IDS = given(5, 3), given(4, 3, 5, seed=1), whole(5, 4, 3)
DERIVATIVES = {
    "product": of_rows(lambda t, x, i: (x @ t).square().sum()),
    "embedding": of_rows(lambda t, x, i: F.embedding(i, t).square().sum()),
    "padding": of_rows(lambda t, x, i: F.embedding(i, t, 1).square().sum()),
    "counted": of_rows(lambda t, x, i: F.embedding(i, t, scale_grad_by_freq=True).square().sum()),
    "take": of_rows(lambda t, x, i: torch.take(t, i).square().sum()),
    "cross_entropy": of_rows(lambda t, x, i: F.cross_entropy(x * t.t(), i)),
    "nll_loss": of_rows(lambda t, x, i: F.nll_loss(x * t.t(), i, reduction="sum")),
    "layer_norm": of_rows(lambda t, x, i: (F.layer_norm(x, (5,)) * t.t()).pow(3).sum()),
    "attention": of_rows(
        lambda t, x, i: F.scaled_dot_product_attention(x * t.t() / 4, x, x).square().sum()
    ),
    "masked_scatter": lambda t, x, i: torch.func.vmap(lambda x: x.masked_scatter(x > 0, x * 2))(x),
    "jacrev": lambda t, x, i: torch.func.jacrev(lambda t: (x @ t).tanh().sum(1))(t),
    "jacfwd": lambda t, x, i: torch.func.jacfwd(lambda t: (x @ t).tanh().sum(1))(t),
    "hessian": lambda t, x, i: torch.func.hessian(lambda t: t.tanh().prod())(t),
    "jacobian": lambda t, x, i: torch.autograd.functional.jacobian(
        lambda t, u: (t.tanh().sum(1), u * 2), (t, x[0]), vectorize=True
    ),
    "forward": lambda t, x, i: torch.autograd.functional.jacobian(
        lambda t: (t.tanh().sum(1), x[0]), t, vectorize=True, strategy="forward-mode"
    ),
    "hvp": lambda t, x, i: torch.autograd.functional.hvp(lambda t: t.tanh().prod(), t, t),
}


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    want, have = (
        DERIVATIVES[name](*(t.to(where) for t in (TABLE, ROWS, IDS))) for where in ("cpu", THERE)
    )
    agree(have, want)


# ---- ops that the audit found on the host


def whole_numbers(kind, where):
    a = torch.tensor([[-128, 3, 0, 5], [8, -2, 9, 1], [12, 18, -27, 127]])
    return a.to(kind).to(where), torch.tensor([2, -3, 4, -1]).to(kind).to(where)


DIVISIONS = {
    "floor_divide": (lambda a, b: a // b, np.floor_divide),
    "remainder": (lambda a, b: a % b, np.remainder),
    "fmod": (torch.fmod, np.fmod),
    "down": (lambda a, b: torch.div(a, b, rounding_mode="floor"), np.floor_divide),
    "towards_zero": (
        lambda a, b: torch.div(a, b, rounding_mode="trunc"),
        lambda a, b: np.trunc(a / b.astype(float)).astype(np.int64),
    ),
    "gcd": (torch.gcd, np.gcd),
    "lcm": (torch.lcm, np.lcm),
}


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("kind", [torch.int64, torch.int16, torch.uint8])
@pytest.mark.parametrize("name", DIVISIONS)
def test_divisions(name, kind):
    ours, plain = DIVISIONS[name]
    for of_both in (
        lambda a, b: (a, b),
        lambda a, b: (a[:, :3], b[:3].reshape(3, 1)),
        lambda a, b: (b, a[1:, :1] + 1),
        lambda a, b: (a.T, b[:3]),
    ):
        x, y = of_both(*whole_numbers(kind, THERE))
        u, v = of_both(*(t.numpy() for t in whole_numbers(kind, "cpu")))
        have = ours(x, y)
        assert have.dtype is kind and have.device.type == THERE
        np.testing.assert_array_equal(have.cpu().numpy(), plain(u, v).astype(u.dtype))
    a, b = whole_numbers(kind, THERE)
    assert ours(a.t(), b[:3].expand(4, 3)).stride() == (1, 4)
    if name in ("gcd", "lcm"):
        return
    for u, v in ((a, 3), (a, torch.tensor(3))) if name != "remainder" else ((a, 3), (7, b)):
        u_here, v_here = (t.cpu() if isinstance(t, torch.Tensor) else t for t in (u, v))
        np.testing.assert_array_equal(ours(u, v).cpu().numpy(), ours(u_here, v_here).numpy())
    for zero in (0, torch.zeros_like(b)):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            ours(a, zero)


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_divisions_of_halves(kind):
    """A double quotient is off by less than the distance of two halves, except near whole ones."""
    values = torch.linspace(-9, 9, 37).to(kind)
    a, b = values.reshape(-1, 1), values.reshape(1, -1) + 0.3
    for mode in ("floor", "trunc"):
        have = torch.div(a.to(THERE), b.to(THERE), rounding_mode=mode).cpu()
        np.testing.assert_array_equal(
            have.float().numpy(), torch.div(a, b, rounding_mode=mode).float().numpy()
        )
        exact = a.double() / b.double()
        rounded = exact.floor() if mode == "floor" else exact.trunc()
        clear = (exact - exact.round()).abs() > 0.1
        assert clear.sum() > 500 and bool(
            (have.double() == rounded)[clear & (exact.abs() < 64)].all()
        )


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("kind", [torch.int64, torch.uint8, torch.bool])
def test_integers_are_finite_and_whole(kind):
    here, there = whole_numbers(kind, "cpu")[0].t(), whole_numbers(kind, THERE)[0].t()
    functions = [torch.isnan, torch.isinf, torch.isposinf, torch.isneginf, torch.isfinite]
    functions += [lambda t: torch.fmax(t, t.flip(0)), lambda t: torch.fmin(t, t.flip(0))]
    if kind is not torch.bool:
        functions += [torch.floor, torch.ceil, torch.trunc, torch.round, torch.nan_to_num]
        functions += [torch.signbit]
    agree([f(there) for f in functions], [f(here) for f in functions])


@pytest.mark.usefixtures("refuse")
def test_one_hot():
    ids = torch.tensor([[0, 3, 1], [2, 2, 4]])
    for n in (-1, 5, 9):
        have = F.one_hot(ids.to(THERE), n)
        assert have.dtype is torch.int64 and have.device.type == THERE
        np.testing.assert_array_equal(have.cpu().numpy(), np.eye(max(n, 5), dtype=int)[ids.numpy()])
    assert F.one_hot(ids[:0].to(THERE), 3).shape == (0, 3, 3)


def test_one_hot_refuses():
    for ids, n, words in (
        ([0, 3], 3, "Class values must be smaller"),
        ([-1, 3], 5, "Class values must be non-negative"),
        ([], -1, "Can not infer"),
    ):
        with pytest.raises(RuntimeError, match=words):
            F.one_hot(torch.tensor(ids, dtype=torch.int64).to(THERE), n)


def all_alignments(log_probs, labels, blank):
    """The loss by its definition: the sum over all sequences that collapse to the labels."""
    time, classes = log_probs.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=time):
        merged = [c for i, c in enumerate(path) if i == 0 or c != path[i - 1]]
        if [c for c in merged if c != blank] == list(labels):
            total += np.exp(sum(log_probs[t, c] for t, c in enumerate(path)))
    return -np.log(total)


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("blank", [0, 2])
def test_ctc_loss_is_that_of_all_alignments(blank):
    log_probs = torch.tensor(numbers(5, 3, 3)).log_softmax(2)
    a, b = (1, 2) if blank == 0 else (0, 1)
    labels, steps = [(a, b), (a, a), (b,)], [5, 4, 3]
    padded = torch.tensor([[*each, a][:2] for each in labels])
    given = padded.to(THERE), torch.tensor(steps), torch.tensor([2, 2, 1])
    x = log_probs.to(THERE).requires_grad_()
    losses = F.ctc_loss(x, *given, blank, "none")
    want = [all_alignments(log_probs[:n, k].numpy(), labels[k], blank) for k, n in enumerate(steps)]
    np.testing.assert_allclose(losses.detach().cpu().numpy(), want, rtol=1e-12)


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("zero", [False, True])
def test_ctc_loss_of_any_lengths(kind, zero):
    """Layouts, labels that repeat, inputs too short for their labels, and none at all."""
    log_probs = torch.tensor(numbers(4, 7, 4)).to(kind).log_softmax(2).transpose(0, 1)
    targets = torch.tensor([[1, 1, 2], [3, 2, 1], [2, 2, 2], [1, 3, 1]])
    steps, lengths = torch.tensor([7, 5, 3, 0]), torch.tensor([3, 0, 3, 2])
    found = []
    for where in ("cpu", THERE):
        x = log_probs.to(where).requires_grad_()
        losses = F.ctc_loss(x, targets.to(where), steps, lengths, 0, "none", zero)
        found.append([losses, *torch.autograd.grad(losses.sum(), x)])
    agree(found[1], found[0], 1e-12 if kind is torch.float64 else 1e-5)
    assert bool(found[0][0].isinf().any()) is not zero


@pytest.mark.usefixtures("refuse")
@pytest.mark.parametrize("norm", [1, 2, float("inf")])
def test_rows_are_shortened(norm):
    table = torch.tensor(numbers(6, 4)).to(THERE)
    before, version = table.cpu().numpy(), table._version
    F.embedding(torch.tensor([[1, 4], [4, 0]]).to(THERE), table, max_norm=1.0, norm_type=norm)
    after, sizes = table.cpu().numpy(), np.linalg.norm(before, norm, axis=1)
    np.testing.assert_array_equal(after[[2, 3, 5]], before[[2, 3, 5]])
    shares = np.minimum(1, 1 / (sizes + 1e-7))[[0, 1, 4]]
    np.testing.assert_allclose(after[[0, 1, 4]], before[[0, 1, 4]] * shares[:, None], rtol=1e-12)
    assert table._version > version


@pytest.mark.usefixtures("refuse")
def test_copies_to_the_cpu():
    for source in (given(3), whole(5, 3), given(1), given(3).double(), given(3).to(torch.bfloat16)):
        here = torch.zeros(2, 3)
        assert here.copy_(source.to(THERE)) is here
        np.testing.assert_array_equal(here.numpy(), torch.zeros(2, 3).copy_(source).numpy())
    turned = torch.complex(given(3), given(3, seed=4)).to(THERE).conj()
    copied = torch.zeros(3, dtype=torch.complex64).copy_(turned)
    np.testing.assert_array_equal(copied.numpy(), turned.cpu().resolve_conj().numpy())


# ---- distributions


ONE, HALF, EYE = torch.ones(3), torch.full((3,), 0.5), torch.eye(3)
DISTRIBUTIONS = {
    "Bernoulli": (HALF,), "Beta": (ONE, HALF), "Binomial": (5, HALF), "Categorical": (HALF,),
    "Cauchy": (ONE, HALF), "Chi2": (ONE * 5,), "ContinuousBernoulli": (HALF - 0.2,),
    "Dirichlet": (ONE,), "Exponential": (HALF,), "FisherSnedecor": (ONE * 5, ONE * 5),
    "Gamma": (ONE, HALF), "GeneralizedPareto": (ONE, HALF, HALF / 5), "Geometric": (HALF,),
    "Gumbel": (ONE, HALF), "HalfCauchy": (HALF,), "HalfNormal": (HALF,),
    "InverseGamma": (ONE * 3, HALF), "Kumaraswamy": (ONE, HALF), "LKJCholesky": (3, HALF[0]),
    "Laplace": (ONE, HALF), "LogNormal": (ONE, HALF), "LogisticNormal": (ONE, HALF),
    "LowRankMultivariateNormal": (ONE, HALF.view(3, 1), HALF), "Multinomial": (5, HALF),
    "MultivariateNormal": (ONE, EYE * 2), "NegativeBinomial": (ONE, HALF), "Normal": (ONE, HALF),
    "OneHotCategorical": (HALF,), "Pareto": (ONE, HALF * 6), "Poisson": (ONE,),
    "RelaxedBernoulli": (HALF[:1], HALF), "RelaxedOneHotCategorical": (HALF[:1], HALF),
    "StudentT": (ONE * 5, HALF, 2.0), "Uniform": (-ONE, 3.0), "VonMises": (ONE, HALF),
    "Weibull": (ONE, HALF), "Wishart": (ONE[0] * 5, EYE),
}  # fmt: skip


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name):
    torch.manual_seed(0)
    kind = getattr(torch.distributions, name)
    there = kind(*(moved(p, THERE) for p in DISTRIBUTIONS[name]))
    here = kind(*DISTRIBUTIONS[name])
    drawn = there.rsample((4,)) if there.has_rsample else there.sample((4,))
    have, want = [there.log_prob(drawn)], [here.log_prob(drawn.cpu())]
    for told in ("mean", "variance", "entropy"):
        try:
            values = [getattr(d, told) for d in (there, here)]
            values = [v() if callable(v) else v for v in values]
        except NotImplementedError:
            continue
        have.append(values[0])
        want.append(values[1])
    if there.has_enumerate_support and name != "Binomial":
        have.append(there.enumerate_support())
        want.append(here.enumerate_support())
    assert drawn.device.type == THERE and drawn.isfinite().all()
    close(have, want)


def close(have, want):
    for h, w in zip(have, want, strict=True):
        assert h.device.type == THERE and (h.dtype, h.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(h.cpu().numpy(), w.numpy(), rtol=2e-4, atol=1e-5)
