"""`Module`: registration, attributes, iteration, printing, state and hooks."""

import copy
import gc
import io
import pickle
import warnings
import weakref
from collections import OrderedDict

import pytest

from _subject import NAME, torch

nn = torch.nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Linear(3, 1, bias=False)
        self.register_buffer("scale", torch.tensor([2.0]))

    def forward(self, x):
        return self.second(self.first(x).relu()) * self.scale


def test_members_are_listed_in_order_of_registration():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["first.weight", "first.bias", "second.weight"]
    assert [n for n, _ in net.named_parameters(recurse=False)] == []
    assert next(iter(net.named_parameters(prefix="net")))[0] == "net.first.weight"
    assert [n for n, _ in net.named_buffers()] == ["scale"]
    assert [n for n, _ in net.named_modules()] == ["", "first", "second"]
    assert [n for n, _ in net.named_children()] == ["first", "second"]
    assert list(net.children()) == [net.first, net.second]
    assert list(net.parameters()) is not None and len(list(net.parameters())) == 3


def test_shared_members_are_listed_once():
    net = nn.Module()
    net.a = nn.Linear(2, 2)
    net.b = net.a
    net.c = nn.Linear(2, 2)
    net.c.weight = net.a.weight
    assert [n for n, _ in net.named_modules()] == ["", "a", "c"]
    assert [n for n, _ in net.named_modules(remove_duplicate=False)] == ["", "a", "b", "c"]
    assert [n for n, _ in net.named_parameters()] == ["a.weight", "a.bias", "c.bias"]
    names = [n for n, _ in net.named_parameters(remove_duplicate=False)]
    assert names == ["a.weight", "a.bias", "b.weight", "b.bias", "c.weight", "c.bias"]


def test_assigning_moves_a_name_between_the_registries():
    net = nn.Module()
    net.x = nn.Parameter(torch.ones(2))
    assert list(net._parameters) == ["x"]
    with pytest.raises(TypeError, match=r"cannot assign 'torch.FloatTensor' as parameter 'x'"):
        net.x = torch.ones(2)
    with pytest.raises(TypeError, match=r"cannot assign 'int' as parameter 'x'"):
        net.x = 3
    net.x = None
    assert net.x is None and list(net._parameters) == ["x"] and list(net.parameters()) == []
    del net.x
    assert not hasattr(net, "x")

    net.y = nn.ReLU()
    net.y = nn.Parameter(torch.ones(1))
    assert list(net._modules) == [] and list(net._parameters) == ["y"]
    net.register_buffer("z", torch.ones(1), persistent=False)
    net.z = torch.zeros(1)
    assert net._buffers["z"] is net.z and "z" in net._non_persistent_buffers_set
    with pytest.raises(TypeError, match="as buffer 'z'"):
        net.z = "no"
    net.z = nn.Parameter(torch.ones(1))
    assert "z" not in net._buffers and "z" not in net._non_persistent_buffers_set
    net.w = 3
    net.w = nn.Linear(1, 1)
    assert "w" in net._modules
    with pytest.raises(TypeError, match="as child module 'w'"):
        net.w = 3
    net.w = None
    assert net.w is None and list(net.children()) == []


def test_attributes_follow_the_registries():
    """Writing to `_parameters`, `_buffers` and `_modules` directly shows in the attributes."""
    net = Net()
    new = nn.Parameter(torch.zeros(3, 2))
    net.first._parameters["weight"] = new
    assert net.first.weight is new
    del net.first._parameters["weight"]
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'weight'"):
        _ = net.first.weight
    net.first.weight = torch.ones(3, 2)  # now a plain attribute
    assert "weight" not in net.first._parameters
    assert net._modules.pop("second") is not None and not hasattr(net, "second")
    net._buffers.update(scale=torch.tensor([5.0]))
    assert net.scale.item() == 5.0
    net._buffers.clear()
    assert not hasattr(net, "scale")
    net._parameters.setdefault("extra", nn.Parameter(torch.ones(1)))
    assert net.extra.requires_grad
    net._parameters = {"other": nn.Parameter(torch.ones(1))}
    assert not hasattr(net, "extra") and net.other.shape == (1,)


def test_an_entry_of_the_instance_dict_shadows_a_member():
    layer = nn.Linear(2, 2)
    weight = layer.weight
    layer.__dict__["weight"] = "shadow"
    assert layer.weight == "shadow" and layer._parameters["weight"] is weight
    del layer.__dict__["weight"]
    assert layer.weight is weight


def test_members_are_in_their_registries_alone():
    net = Net()
    assert not {"first", "second", "scale"} & set(vars(net))
    assert not {"weight", "bias"} & set(vars(net.first))
    assert {"first", "scale", "training"} <= set(dir(net))
    for clone in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert not {"first", "second", "scale"} & set(vars(clone))
        assert torch.equal(clone.first.weight, net.first.weight)


def test_a_state_with_members_in_the_instance_dict():
    """As version 0.2 pickled modules."""
    if NAME == "torch":
        pytest.skip("a matter of rushlight's old files")
    layer, read = nn.Linear(2, 3), nn.Linear(1, 1)
    read.__setstate__({**vars(layer), **layer._parameters})
    assert not {"weight", "bias"} & set(vars(read))
    read._parameters["weight"] = None
    assert read.weight is None and read.bias is layer.bias


class Doubling(nn.Module):
    """Shows its parameter twice as large, its buffer negated, and its child in training."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, 2.0]))
        self.register_buffer("b", torch.tensor([3.0]))
        self.child = nn.Linear(1, 1)
        self.read = []

    def __getattr__(self, name):
        value = super().__getattr__(name)
        self.read.append(name)
        return {"w": lambda: 2 * value, "b": lambda: -value}.get(name, lambda: value)()


def test_an_overridden_getattr_is_called_for_members():
    net = Doubling()
    net.read.clear()
    for _ in range(3):
        assert net.w.tolist() == [2, 4] and net.b.tolist() == [-3]
        assert net.child.in_features == 1
        with pytest.raises(AttributeError, match="'Doubling' object has no attribute 'other'"):
            _ = net.other
    assert net.read == ["w", "b", "child"] * 3
    net.w.sum().backward()
    assert net._parameters["w"].grad.tolist() == [2, 2]

    class Below(Doubling):
        pass

    assert Below().w.tolist() == [2, 4]


def test_getattr_put_on_a_class_later():
    """On a class or on one of its bases, after its instances were read; and taken off again."""

    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.tensor([1.0]))

    class Mixin:
        pass

    class Below(Mixin, Base):
        pass

    def doubled(self, name):
        return 2 * nn.Module.__getattr__(self, name)

    net = Below()
    assert net.w.item() == 1
    for cls in (Base, Below, Mixin):
        cls.__getattr__ = doubled
        assert net.w.item() == 2
        del cls.__getattr__
        assert net.w.item() == 1
    Below.__getattribute__ = lambda self, name: (
        "all" if name == "w" else object.__getattribute__(self, name)
    )
    assert net.w == "all"
    del Below.__getattribute__
    assert net.w.item() == 1

    original = nn.Module.__getattr__
    nn.Module.__getattr__ = lambda self, name: (original(self, name), "seen")
    try:
        assert net.w[1] == "seen" and net.w[0].item() == 1

        class New(Base):
            def __init__(self):
                nn.Module.__init__(self)
                self._parameters["w"] = nn.Parameter(torch.tensor([1.0]))

        new = New()
        assert new.w[1] == new.w[1] == "seen"
    finally:
        nn.Module.__getattr__ = original
    assert net.w.item() == new.w.item() == 1


def test_a_registry_of_another_class_is_asked_by_its_methods():
    class Gathering(dict):
        def __getitem__(self, name):
            return 10 * super().__getitem__(name)

    layer = nn.Linear(1, 1)
    plain = layer.weight.item()
    layer._parameters = Gathering(layer._parameters)
    for _ in range(2):
        assert layer.weight.item() == pytest.approx(10 * plain)


def test_what_the_class_has_goes_before_members():
    class Named(nn.Module):
        kind = "of the class"

        @property
        def size(self):
            return self.width  # AttributeError: Module.__getattr__ is asked for "size" then

    net = Named()
    net._buffers["kind"] = torch.ones(1)
    for _ in range(2):
        assert net.kind == "of the class"
        with pytest.raises(AttributeError, match="'Named' object has no attribute 'size'"):
            _ = net.size
    net._buffers["size"] = torch.ones(2)
    assert net.size.shape == (2,)
    net.width = 3
    assert net.size == 3


def test_other_bases_take_part_in_setting_attributes():
    class Noting:
        def __setattr__(self, name, value):
            self.__dict__.setdefault("noted", []).append(name)
            super().__setattr__(name, value)

    class Net(nn.Module, Noting):
        def __init__(self):
            super().__init__()
            self.x = 3
            self.w = nn.Parameter(torch.ones(1))

    net = Net()
    assert "x" in net.noted and "w" not in net.noted and net.x == 3


def test_before_init():
    class Early(nn.Module):
        def __init__(self, value):
            self.member = value
            super().__init__()

    assert Early(3).member == 3
    with pytest.raises(AttributeError, match=r"cannot assign module before Module.__init__\(\)"):
        Early(nn.ReLU())
    with pytest.raises(AttributeError, match=r"cannot assign parameters before Module.__init__"):
        Early(nn.Parameter(torch.ones(1)))
    with pytest.raises(AttributeError, match=r"cannot assign buffer before Module.__init__"):
        Early(nn.Buffer(torch.ones(1)))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda m: m.register_buffer("a.b", None), KeyError, 'buffer name can\'t contain "."'),
        (lambda m: m.register_buffer("", None), KeyError, "buffer name can't be empty string"),
        (
            lambda m: m.register_buffer(3, None),
            TypeError,
            "buffer name should be a string. Got int",
        ),
        (
            lambda m: m.register_buffer("weight", None),
            KeyError,
            "attribute 'weight' already exists",
        ),
        (
            lambda m: m.register_buffer("x", 3),
            TypeError,
            "cannot assign 'int' object to buffer 'x'",
        ),
        (
            lambda m: m.register_parameter("x", torch.ones(1)),
            TypeError,
            "torch.nn.Parameter or None",
        ),
        (lambda m: m.register_parameter("forward", None), KeyError, "'forward' already exists"),
        (lambda m: m.add_module("a.b", nn.ReLU()), KeyError, 'can\'t contain ".", got: a.b'),
        (lambda m: m.add_module("x", 3), TypeError, "int is not a Module subclass"),
        (lambda m: m.add_module("bias", nn.ReLU()), KeyError, "attribute 'bias' already exists"),
        (lambda m: m.get_parameter("nope"), AttributeError, "Linear has no attribute `nope`"),
        (
            lambda m: m.get_parameter("training"),
            AttributeError,
            "`training` is not an nn.Parameter",
        ),
        (lambda m: m.get_submodule("weight"), AttributeError, "`weight` is not an nn.Module"),
        (lambda m: m.get_buffer("weight"), AttributeError, "`weight` is not a buffer"),
        (lambda m: m.train("yes"), ValueError, "training mode is expected to be boolean"),
        (lambda m: m.to(torch.int64), TypeError, "nn.Module.to only accepts floating point"),
        (lambda m: nn.Module(1), TypeError, "takes 1 positional argument but 2 were given"),
        (lambda m: nn.Module(a=1), TypeError, "got an unexpected keyword argument 'a'"),
        (lambda m: nn.Module()(1), NotImplementedError, 'missing the required "forward" function'),
        (lambda m: m.load_state_dict([1]), TypeError, "Expected state_dict to be dict-like"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error) as caught:
        call(nn.Linear(2, 2))
    assert text in str(caught.value.args[0])


def test_a_parameter_must_be_a_leaf():
    leaf = nn.Parameter(torch.ones(2))
    assert leaf.is_leaf and leaf.requires_grad and isinstance(leaf, torch.Tensor)
    assert not isinstance(torch.ones(2), nn.Parameter)
    assert type(leaf * 2) is torch.Tensor
    assert not nn.Parameter(torch.ones(2), requires_grad=False).requires_grad
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype"):
        nn.Parameter(torch.tensor([1]))


def test_a_parameter_shares_memory_and_prints_as_one():
    data = torch.zeros(2)
    parameter = nn.Parameter(data)
    data[0] = 5.0
    assert parameter[0].item() == 5.0
    expected = "Parameter containing:\ntensor([5., 0.], requires_grad=True)"
    assert repr(parameter) == expected
    assert repr(copy.deepcopy(parameter)) == expected
    assert type(pickle.loads(pickle.dumps(parameter))) is nn.Parameter


def test_a_parameter_keeps_the_attributes_that_a_program_sets():
    """By pickle and copy.copy; deepcopy drops them, as in PyTorch."""

    class Slotted(nn.Parameter):
        __slots__ = ("place",)

    net, slotted = nn.Linear(2, 2), Slotted(torch.ones(2))
    net.weight.decay, slotted.place, slotted.decay = 0.5, 3, 0.25
    for protocol in range(6):
        assert pickle.loads(pickle.dumps(net, protocol)).weight.decay == 0.5
    shared = copy.copy(net.weight)
    assert shared.decay == 0.5 and shared.data_ptr() == net.weight.data_ptr()
    assert not hasattr(copy.deepcopy(net.weight), "decay")
    back = pickle.loads(pickle.dumps(slotted))
    assert (type(back), back.place, back.decay) == (nn.Parameter, 3, 0.25)


def test_a_shallow_copy_has_the_same_hooks():
    net, calls = nn.Linear(1, 1), []
    shared = copy.copy(net)
    shared.register_forward_hook(lambda *_: calls.append("after"))
    net.register_forward_pre_hook(lambda *_: calls.append("before"))
    for module in (net, shared, pickle.loads(pickle.dumps(nn.Linear(1, 1)))):
        module(torch.ones(1, 1))
    assert calls == ["before", "after"] * 2


@pytest.mark.parametrize("layer", ["LazyLinear(3)", "LazyBatchNorm1d()", "LazyConv1d(2, 1)"])
def test_lazy_modules_are_saved_before_their_first_call(layer):
    lazy = eval(f"nn.{layer}")
    with io.BytesIO() as file:
        torch.save([lazy, lazy.state_dict()], file)
        file.seek(0)
        back, state = torch.load(file, weights_only=False)
    named = [*lazy.named_parameters(), *lazy.named_buffers()]
    assert {name: type(state[name]) for name, _ in named} == {n: type(t) for n, t in named}
    fresh = eval(f"nn.{layer}")
    fresh.load_state_dict(state)
    for each in (back, fresh):
        each(torch.ones(2, 4, 5)[:, :, 0] if "Conv" not in layer else torch.ones(2, 4, 5))
        assert type(each).__name__ == type(lazy).__name__.removeprefix("Lazy")


def test_repr():
    assert repr(Net()) == (
        "Net(\n"
        "  (first): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (second): Linear(in_features=3, out_features=1, bias=False)\n"
        ")"
    )
    assert repr(nn.Module()) == "Module()"
    nested = nn.Sequential(nn.Sequential(nn.ReLU(inplace=True)), nn.Dropout(0.1))
    assert repr(nested) == (
        "Sequential(\n"
        "  (0): Sequential(\n"
        "    (0): ReLU(inplace=True)\n"
        "  )\n"
        "  (1): Dropout(p=0.1, inplace=False)\n"
        ")"
    )

    class Wordy(nn.Module):
        def extra_repr(self):
            return "one\ntwo"

    assert repr(Wordy()) == "Wordy(\n  one\n  two\n)"


def test_modes_and_flags_reach_all_modules():
    net = nn.Sequential(Net(), nn.Dropout())
    assert net.eval() is net
    assert [m.training for m in net.modules()] == [False] * 5
    net.train()
    assert all(m.training for m in net.modules())
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    seen = []
    assert net.apply(lambda m: seen.append(type(m).__name__)) is net
    assert seen == ["Linear", "Linear", "Net", "Dropout", "Sequential"]


def test_zero_grad():
    net = Net()
    net(torch.ones(1, 2)).sum().backward()
    grads = [p.grad for p in net.parameters()]
    assert all(g is not None for g in grads)
    net.zero_grad(set_to_none=False)
    assert all(p.grad is g and not g.any() for p, g in zip(net.parameters(), grads, strict=True))
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_casting_keeps_the_parameters_and_casts_only_floats():
    net = nn.BatchNorm1d(2)
    weight = net.weight
    weight.grad = torch.ones(2)
    assert net.double() is net
    assert net.weight is weight and weight.dtype == torch.float64
    assert weight.grad.dtype == torch.float64
    assert net.running_mean.dtype == torch.float64
    assert net.num_batches_tracked.dtype == torch.int64
    assert net.to(torch.float32).weight.dtype == torch.float32
    assert net.to("cpu", torch.float16).bias.dtype == torch.float16
    assert net.to(torch.ones(1, dtype=torch.float64)).bias.dtype == torch.float64
    assert net.half().weight.dtype == torch.float16 and net.float().weight.dtype == torch.float32


@pytest.mark.parametrize(
    ("args", "options", "error", "text"),
    [
        (("cpu", True), {}, TypeError, "combination of arguments - got (str, bool), but expected"),
        ((torch.float64, "cpu"), {}, TypeError, "got (torch.dtype, str), but expected one of"),
        (("cpu",), {"device": "cpu"}, TypeError, "got (str, device=str), but expected one of"),
        ((), {"non_blocking": 1}, TypeError, "got (non_blocking=int, ), but expected one of"),
        ((), {"other": torch.ones(1)}, TypeError, "got (other=Tensor, ), but expected one of"),
        (("cpu",), {"memory_format": 3}, TypeError, "got (str, memory_format=int), but expected"),
        ((), {"copy": True}, RuntimeError, ".to() does not accept copy argument"),
        ((torch.float64, True, False), {}, RuntimeError, ".to() does not accept copy argument"),
        ((torch.int64,), {}, TypeError, "nn.Module.to only accepts floating point or complex"),
        ((1, 2, 3, 4, 5), {}, TypeError, "to() takes from 0 to 4 positional arguments but 5 were"),
    ],
)
def test_arguments_that_to_refuses(args, options, error, text):
    layer = nn.Linear(1, 1)
    with pytest.raises(error) as caught:
        layer.to(*args, **options)
    assert text in str(caught.value) and layer.weight.dtype == torch.float32


@pytest.mark.parametrize(
    ("args", "options"),
    [
        ((torch.float64,), {}),
        ((torch.float64, True), {}),
        (("cpu", torch.float64, True), {}),
        ((None, torch.float64), {}),
        ((torch.ones(1, dtype=torch.float64), True), {}),
        ((), {"tensor": torch.ones(1, dtype=torch.float64)}),
        (("cpu",), {"dtype": float}),
    ],
)
def test_arguments_that_to_takes(args, options):
    layer = nn.Conv2d(1, 1, 1)
    assert layer.to(*args, **options) is layer
    assert layer.weight.dtype == layer.bias.dtype == torch.float64


def test_to_takes_a_memory_format_for_images():
    net = nn.Conv2d(2, 3, 2).to(memory_format=torch.channels_last)
    assert net.weight.is_contiguous(memory_format=torch.channels_last)
    x = torch.ones(1, 2, 3, 3)
    twin = copy.deepcopy(net).to(memory_format=torch.contiguous_format)
    assert twin.weight.is_contiguous() and torch.allclose(net(x), twin(x))


def test_a_complex_module_comes_with_a_warning():
    with pytest.warns(UserWarning, match="Complex modules are a new feature under active develop"):
        assert nn.Linear(1, 1).to(torch.complex64).weight.dtype == torch.complex64


def test_state_dict_round_trip():
    torch.manual_seed(0)
    net, other = Net(), Net()
    state = net.state_dict()
    assert list(state) == ["scale", "first.weight", "first.bias", "second.weight"]
    assert not any(t.requires_grad for t in state.values())
    assert state["first.weight"].data_ptr() == net.first.weight.data_ptr()
    assert dict(state._metadata) == {k: {"version": 1} for k in ("", "first", "second")}
    weight = other.first.weight
    assert str(other.load_state_dict(state)) == "<All keys matched successfully>"
    assert other.first.weight is weight  # copied in place
    x = torch.ones(4, 2)
    assert torch.equal(net(x), other(x))
    assert net.state_dict(prefix="a.", keep_vars=True)["a.first.bias"] is net.first.bias


def test_loading_a_state_that_does_not_fit():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    state = {"0.weight": torch.ones(2, 2), "0.bias": torch.ones(3), "extra": torch.ones(1)}
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "1.weight", "1.bias". \n'
        '\tUnexpected key(s) in state_dict: "extra". \n'
        "\tsize mismatch for 0.bias: copying a param with shape torch.Size([3]) from checkpoint, "
        "the shape in current model is torch.Size([2])."
    )
    result = net.load_state_dict({"0.weight": torch.ones(2, 2), "x": torch.ones(1)}, strict=False)
    assert result.missing_keys == ["0.bias", "1.weight", "1.bias"]
    assert result.unexpected_keys == ["x"]
    assert repr(result).startswith("_IncompatibleKeys(missing_keys=['0.bias',")


def test_loading_leaves_no_cycles():
    net = nn.Sequential(nn.LSTM(2, 3), nn.Linear(3, 2))
    state = net.state_dict()
    net.load_state_dict(state)
    gc.collect()
    gc.disable()
    try:
        net.load_state_dict(state)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_loading_by_assignment():
    net = nn.Linear(2, 2)
    state = {"weight": torch.zeros(2, 2), "bias": torch.ones(2)}
    net.load_state_dict(state, assign=True)
    assert net.weight.data_ptr() == state["weight"].data_ptr()
    assert isinstance(net.weight, nn.Parameter) and net.weight.requires_grad


def test_extra_state():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def get_extra_state(self):
            return {"n": self.n}

        def set_extra_state(self, state):
            self.n = state["n"]

    net = Counter()
    net.n = 7
    other = Counter()
    other.load_state_dict(net.state_dict())
    assert other.n == 7
    with pytest.raises(RuntimeError, match='Missing key\\(s\\) in state_dict: "_extra_state"'):
        other.load_state_dict({})


def test_copies_are_independent():
    net = Net()
    twin = copy.deepcopy(net)
    assert torch.equal(net.first.weight, twin.first.weight)
    assert twin.first.weight is not net.first.weight
    twin.first.weight = nn.Parameter(torch.zeros(3, 2))
    assert net.first.weight is not twin.first.weight
    twin._buffers["scale"] = torch.tensor([9.0])
    assert twin.scale.item() == 9.0 and net.scale.item() == 2.0
    assert [n for n, _ in twin.named_parameters()] == [n for n, _ in net.named_parameters()]


def test_pickling():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    back = pickle.loads(pickle.dumps(net))
    assert repr(back) == repr(net)
    for a, b in zip(net.state_dict().values(), back.state_dict().values(), strict=True):
        assert torch.equal(a, b)
    back[0]._parameters["weight"] = nn.Parameter(torch.zeros(3, 2))
    assert not back[0].weight.any()


def test_a_module_is_freed_at_once():
    gc.disable()
    try:
        net = Net()
        gone = weakref.ref(net)
        del net
        assert gone() is None
    finally:
        gc.enable()


def test_replacing_a_submodule():
    net = nn.Sequential(Net(), nn.ReLU())
    net.set_submodule("0.first", nn.Linear(2, 3, bias=False))
    assert net.get_submodule("0.first").bias is None
    assert net.get_submodule("") is net
    assert net.get_parameter("0.second.weight") is net[0].second.weight
    assert net.get_buffer("0.scale") is net[0].scale
    with pytest.raises(AttributeError, match="Net has no attribute `third`"):
        net.set_submodule("0.third", nn.ReLU(), strict=True)


# --- hooks ---


def test_forward_hooks_see_and_replace():
    layer = nn.Identity()
    calls = []
    first = layer.register_forward_pre_hook(lambda m, args: calls.append("pre") or (args[0] + 1,))
    second = layer.register_forward_hook(lambda m, args, out: calls.append("post") or out * 10)
    layer.register_forward_pre_hook(lambda m, args: calls.append("earliest"), prepend=True)
    assert layer(torch.tensor(1.0)).item() == 20.0
    assert calls == ["earliest", "pre", "post"]
    first.remove()
    second.remove()
    second.remove()  # nothing to do
    assert layer(torch.tensor(1.0)).item() == 1.0
    with layer.register_forward_hook(lambda m, args, out: out * 2):
        assert layer(torch.tensor(3.0)).item() == 6.0
    assert layer(torch.tensor(3.0)).item() == 3.0


def test_hooks_with_kwargs():
    class Scale(nn.Module):
        def forward(self, x, factor=1.0):
            return x * factor

    layer = Scale()
    layer.register_forward_pre_hook(lambda m, a, k: (a, {"factor": 3.0}), with_kwargs=True)
    layer.register_forward_hook(lambda m, a, k, out: out + k["factor"], with_kwargs=True)
    assert layer(torch.tensor(2.0), factor=7.0).item() == 9.0
    layer.register_forward_pre_hook(lambda m, a, k: 5, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple"):
        layer(torch.tensor(1.0))


def test_always_called_hooks_run_when_the_call_fails():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    layer = Fails()
    calls = []
    layer.register_forward_hook(lambda m, a, out: calls.append("plain"))
    layer.register_forward_hook(lambda m, a, out: calls.append(out), always_call=True)
    with pytest.raises(ValueError, match="no"):
        layer(1)
    assert calls == [None]


def test_hooks_set_directly_in_the_mapping():
    layer = nn.Identity()
    layer._forward_hooks[0] = lambda m, args, out: out + 1
    assert layer(torch.tensor(1.0)).item() == 2.0
    layer._forward_hooks.clear()
    assert layer(torch.tensor(1.0)).item() == 1.0


def test_global_forward_hook():
    from _subject import submodule

    register = submodule("nn.modules.module").register_module_forward_hook
    names = []
    with register(lambda m, args, out: names.append(type(m).__name__)):
        nn.Sequential(nn.Identity(), nn.ReLU())(torch.ones(1))
    nn.Identity()(torch.ones(1))
    assert names == ["Identity", "ReLU", "Sequential"]


def test_state_dict_hooks():
    net = nn.Linear(1, 1)
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop("bias"))
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        net.state_dict()
    other = nn.Linear(1, 1)

    def rename(module, state, prefix, *rest):
        assert module is other
        state[prefix + "weight"] = state.pop(prefix + "kernel")

    other.register_load_state_dict_pre_hook(rename)
    other.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    other.load_state_dict({"kernel": torch.full((1, 1), 4.0)})
    assert other.weight.item() == 4.0


def test_full_backward_hooks():
    layer = nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[2.0, 3.0]]))
    seen = []
    layer.register_full_backward_pre_hook(lambda m, out: (out[0] * 10,))
    layer.register_full_backward_hook(lambda m, gin, gout: seen.append((gin, gout)))
    layer.register_full_backward_hook(lambda m, gin, gout: (gin[0] + 1,))
    x = torch.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    (grad_in, grad_out) = seen[0]
    assert grad_out[0].tolist() == [[10.0]]
    assert grad_in[0].tolist() == [[20.0, 30.0]]
    assert x.grad.tolist() == [[21.0, 31.0]]
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
        layer.register_backward_hook(lambda *a: None)


def test_full_backward_hook_without_inputs_that_require_grad():
    layer = nn.Linear(2, 1)
    seen = []
    layer.register_full_backward_hook(lambda m, gin, gout: seen.append((gin, gout[0].tolist())))
    layer(torch.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1.0]])]


@pytest.mark.parametrize("name", ["torch.tanh", "torch.relu", "torch.sum", "F.gelu", "F.softplus"])
def test_a_function_kept_in_a_class_is_no_method(name):
    """`class Net: act = torch.tanh` and `self.act(x)`: the function is called without self."""
    room, _, function = name.partition(".")
    function = getattr(torch if room == "torch" else nn.functional, function)
    net = type("Net", (nn.Module,), {"act": function})()
    x = torch.tensor([0.5, -1.0])
    assert torch.equal(net.act(x), function(x))


class Running(nn.Module):
    """A module whose forward is given."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


@pytest.mark.parametrize(
    ("function", "wrap", "text"),
    [
        (lambda x: x.relu(), lambda x: x, None),
        (lambda x: x.relu().exp(), lambda x: x, "when the forward contains multiple autograd Node"),
        (lambda x: (x.relu(), x.exp()), lambda x: x, "outputs are generated by different autograd"),
        (lambda x: [x.relu()], lambda x: x, "on a Module that does not return a single Tensor or"),
        (lambda x: x[0].relu(), lambda x: [x], "a Module that does not take as input a single Ten"),
    ],
    ids=["one node", "two nodes", "two results", "a list", "from a list"],
)
def test_an_old_backward_hook_says_what_it_misses(function, wrap, text):
    net = Running(function)
    net.register_backward_hook(lambda module, grads_in, grads_out: None)
    x = torch.ones(2, requires_grad=True) * 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net(wrap(x))
    if text is None:
        assert not caught
    else:
        assert [w.category for w in caught] == [FutureWarning]
        assert str(caught[0].message).startswith("Using ") and text in str(caught[0].message)


def test_hooks_in_a_mapping_of_the_programs_own():
    """Assigned, deleted, or brought along by a pickle: calls see it."""
    seen = []

    def hook(module, args):
        seen.append(module)

    net = nn.ReLU()
    net._forward_pre_hooks = OrderedDict()
    net.register_forward_pre_hook(hook)
    net(torch.ones(1))
    assert seen == [net]
    del net._forward_pre_hooks
    del net._state_dict_hooks, net._load_state_dict_pre_hooks, net._non_persistent_buffers_set
    again = pickle.loads(pickle.dumps(net))
    again.register_forward_pre_hook(hook)
    again(torch.ones(1))
    assert seen == [net, again]
    state = {**vars(nn.ReLU()), "_forward_pre_hooks": OrderedDict({0: hook})}
    read = nn.ReLU()
    read.__setstate__(state)
    read(torch.ones(1))
    assert seen == [net, again, read]


class _Chosen(nn.Linear):
    def __getstate__(self):
        return {**self.__dict__, "chosen": True}


def test_a_deep_copy_is_of_the_state_that_a_class_chooses():
    plain, chosen = nn.Linear(2, 2), _Chosen(2, 2)
    again = copy.deepcopy([plain, plain, chosen])
    assert again[0] is again[1] is not plain
    assert again[2].chosen and not hasattr(chosen, "chosen")
    calls = []
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(lambda m, args, out: calls.append(m))
    twin = copy.deepcopy(layer)
    twin(torch.ones(1, 2))
    assert calls == [twin] and not torch.equal(twin.weight, torch.zeros(2, 2))
    twin.weight.data.zero_()
    assert layer.weight.abs().sum() > 0 and twin._forward_hooks is not layer._forward_hooks
