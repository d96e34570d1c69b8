"""Containers of modules and parameters."""

from collections import OrderedDict

import pytest

from _subject import torch

nn = torch.nn


def names(module):
    return [type(m).__name__ for m in module]


def test_sequential_runs_in_order():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    x = torch.tensor([[1.0, -1.0]])
    expected = torch.relu(x @ net[0].weight.T + net[0].bias)
    assert torch.allclose(net(x), expected)
    named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    assert list(named._modules) == ["a", "b"] and named.b is named[1]


def test_sequential_as_a_list():
    net = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    assert len(net) == 3 and isinstance(net[-1], nn.Sigmoid)
    assert names(net[1:]) == ["Tanh", "Sigmoid"] and isinstance(net[1:], nn.Sequential)
    del net[0]
    assert list(net._modules) == ["0", "1"] and isinstance(net[0], nn.Tanh)
    net.append(nn.ReLU()).extend([nn.GELU()]).insert(0, nn.ELU())
    assert names(net) == ["ELU", "Tanh", "Sigmoid", "ReLU", "GELU"]
    assert isinstance(net.pop(-1), nn.GELU)
    net[1] = nn.SiLU()
    assert names(net) == ["ELU", "SiLU", "Sigmoid", "ReLU"]
    assert names(net[:1] + net[2:]) == ["ELU", "Sigmoid", "ReLU"]
    assert names(net[:1] * 2) == names(2 * net[:1]) == ["ELU", "ELU"]
    net += net[:1]
    assert len(net) == 5 and net[4] is net[0]
    with pytest.raises(IndexError, match="index 5 is out of range"):
        net[5]
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        nn.Sequential(3)
    with pytest.raises(ValueError, match="add operator supports only objects of Sequential"):
        net + 3


def test_module_list():
    layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
    assert len(list(layers.parameters())) == 6
    layers.append(nn.ReLU())
    layers.insert(0, nn.Tanh())
    layers += [nn.ReLU()]
    assert names(layers) == ["Tanh", "Linear", "Linear", "Linear", "ReLU", "ReLU"]
    assert repr(layers) == (
        "ModuleList(\n"
        "  (0): Tanh()\n"
        "  (1-3): 3 x Linear(in_features=2, out_features=2, bias=True)\n"
        "  (4-5): 2 x ReLU()\n"
        ")"
    )
    assert isinstance(layers[1:3], nn.ModuleList) and len(layers[1:3]) == 2
    del layers[1:4]
    assert names(layers) == ["Tanh", "ReLU", "ReLU"]
    assert isinstance(layers.pop(0), nn.Tanh) and list(layers._modules) == ["0", "1"]
    with pytest.raises(NotImplementedError, match=r"Module \[ModuleList\] is missing"):
        layers(1)


def test_module_dict():
    layers = nn.ModuleDict({"a": nn.ReLU()})
    layers["b"] = nn.Linear(1, 1)
    layers.update([("c", nn.Tanh())])
    assert list(layers) == list(layers.keys()) == ["a", "b", "c"] and "a" in layers
    assert names(layers.values()) == ["ReLU", "Linear", "Tanh"] and len(layers) == 3
    assert isinstance(layers.pop("a"), nn.ReLU) and "a" not in layers
    del layers["b"]
    assert repr(layers) == "ModuleDict(\n  (c): Tanh()\n)"
    layers.clear()
    assert len(layers) == 0
    with pytest.raises(ValueError, match="element #0 has length 1; 2 is required"):
        nn.ModuleDict([(1,)])


def test_parameter_list_and_dict():
    values = nn.ParameterList([torch.ones(2), nn.Parameter(torch.ones(2, 3)), 3])
    assert isinstance(values[0], nn.Parameter) and values[-1] == 3 and len(values) == 3
    assert [n for n, _ in values.named_parameters()] == ["0", "1"]
    values.append(torch.zeros(1)).extend([torch.zeros(1)])
    assert len(values) == 5 and len(values[3:]) == 2
    with pytest.raises(IndexError, match="index 9 is out of range"):
        values[9]
    table = nn.ParameterDict({"a": torch.ones(2)})
    table["b"] = torch.zeros(3)
    assert list(table.keys()) == ["a", "b"] and isinstance(table["b"], nn.Parameter)
    assert table.get("z") is None and "a" in table and table.pop("a").shape == (2,)
    assert (table | {"c": torch.ones(1)}).keys() == {"b": 0, "c": 0}.keys()
    assert [n for n, _ in table.named_parameters()] == ["b"]


def test_the_order_that_a_parameter_dict_takes():
    """Keys of a plain dict are sorted, as in PyTorch; other mappings and pairs have an order."""
    items = {"b": torch.ones(1), "a": torch.ones(2)}
    for given, order in (
        (items, ["a", "b"]),
        (OrderedDict(items), ["b", "a"]),
        (list(items.items()), ["b", "a"]),
        (nn.ParameterDict(OrderedDict(items)), ["b", "a"]),
    ):
        table = nn.ParameterDict({"z": torch.ones(3)})
        table.update(given)
        assert list(table.keys()) == ["z", *order]
        assert [name for name, _ in table.named_parameters()] == ["z", *order]
