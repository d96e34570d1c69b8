"""Each attribute of a layer is changed in turn: where the result differs, guards must not hold."""

from __future__ import annotations

import pytest

import rushlight as rl
from rushlight import nn
from rushlight._capture.calls import observe
from rushlight._capture.state import State

FLAT, STEPS, IMAGE = rl.rand(4, 6), rl.rand(2, 6, 6), rl.rand(2, 6, 8, 8)
LAYERS = [
    (lambda: nn.Conv2d(6, 6, 3, padding=1), IMAGE),
    (lambda: nn.BatchNorm2d(6), IMAGE),
    (lambda: nn.LayerNorm(6), FLAT),
    (lambda: nn.GroupNorm(2, 6), IMAGE),
    (lambda: nn.InstanceNorm2d(6, affine=True, track_running_stats=True), IMAGE),
    (lambda: nn.Dropout(0.5), FLAT),
    (lambda: nn.ELU(), FLAT - 0.5),
    (lambda: nn.GELU(), FLAT - 0.5),
    (lambda: nn.Softmax(-1), FLAT),
    (lambda: nn.MaxPool2d(2), IMAGE),
    (lambda: nn.LSTM(6, 6, 2, batch_first=True), STEPS),
    (lambda: nn.GRU(6, 6, bidirectional=True), STEPS),
    (lambda: nn.TransformerEncoderLayer(6, 2, 8), STEPS),
    (lambda: nn.Upsample(scale_factor=2), IMAGE),
    (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(6, 6)), FLAT),
    (lambda: nn.Sequential(nn.Linear(6, 6), nn.Softplus()), FLAT),
]


def variants(value):
    """Other values in the place of a setting."""
    if type(value) is bool:
        return [not value]
    if type(value) is int:
        return [value + 1, 0]
    if type(value) is float:
        return [value * 1.5 + 0.1, 0.0]
    if type(value) is str:
        return ["zeros", "reflect", "tanh", "bilinear"]
    if type(value) is tuple:
        return [tuple(e + 1 if type(e) is int else e for e in value), value[:-1]]
    return [1, 2.0] if value is None else []


def flat(out):
    if isinstance(out, tuple):
        return [flat(o) for o in out]
    return tuple(out.shape), out.reshape(-1).tolist()


@pytest.mark.parametrize(("make", "x"), LAYERS, ids=lambda v: "")
def test_attributes_of_layers(make, x):
    net = make()
    begun = [(t, t.detach().clone()) for t in [*net.buffers(), *net.parameters()]]

    def run():
        with rl.no_grad():
            for t, value in begun:
                t.copy_(value)
        rl.manual_seed(0)
        try:
            return repr(flat(net(x.clone())))  # some write it
        except Exception as error:
            return type(error).__name__

    run()
    made = State(net, (x,), {}, observe(net, (x,), {}))
    assert made.trouble is None, made.trouble
    usual, noticed = run(), 0
    for part in net.modules():
        settings = vars(part)
        for name in settings.keys() - {"_parameters", "_buffers", "_modules"}:
            kept = settings[name]
            for value in variants(kept):
                settings[name] = value
                holds = made.guards.check()
                assert run() == usual or not holds, (type(part).__name__, name, value)
                noticed += not holds
                settings[name] = kept
            assert made.guards.check()
    assert noticed
