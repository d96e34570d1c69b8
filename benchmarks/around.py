"""What programs do around the ops, timed on rushlight and on torch: optimizers, schedules, modules
and their state, files, loaders, transforms, distributions, sparse products and the rest.

    python benchmarks/around.py [the options of compare.py]

compare.py measures and shows these rows as its own; a whole run is kept as
benchmarks/results/around-DATE.json. Every row should be at least 1. `make bench-around` runs it.
"""

from __future__ import annotations

import copy
import importlib
import io
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from workloads import Step, Workloads, fill, random
from workloads import workload as workload_of

WORKLOADS: Workloads = {}
workload = partial(workload_of, WORKLOADS)


def named(name: str, setup: Callable[..., Step], *arguments: Any, **options: Any) -> None:
    """A row of a set-up that serves several."""

    def row(torch: Any) -> Step:
        return setup(torch, *arguments)

    row.__name__ = name
    workload(**options)(row)


def part(torch: Any, name: str) -> Any:
    """A module that `import torch` need not load."""
    return importlib.import_module(f"{torch.__name__}.{name}")


def network(torch: Any, depth: int = 6, width: int = 128) -> Any:
    nn = torch.nn
    return fill(
        torch,
        nn.Sequential(
            *(each for _ in range(depth) for each in (nn.Linear(width, width), nn.LayerNorm(width)))
        ),
    )


def with_gradients(torch: Any) -> Any:
    found = network(torch)
    for number, parameter in enumerate(found.parameters()):
        parameter.grad = torch.from_numpy(random(*parameter.shape, seed=100 + number, scale=0.01))
    return found


def f32(torch: Any, *shape: int, seed: int = 0) -> Any:
    return torch.from_numpy(random(*shape, seed=seed))


# --- optimizers, over six times Linear and LayerNorm of 128
# -----------------------------------------------------------------------------------------------


def optimizer(torch: Any, name: str, settings: dict[str, Any]) -> Step:
    found = with_gradients(torch)
    parameters = list(found.parameters())
    if name == "Muon":
        parameters = [each for each in parameters if each.ndim == 2]
    steps = getattr(torch.optim, name)(parameters, **settings)

    def step() -> Any:
        steps.step()
        return parameters[0]

    return step


# Of each optimizer its settings, and what it has besides the default way.
OPTIMIZERS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "sgd": ("SGD", {"lr": 1e-3}, ("foreach", "fused")),
    "sgd_nesterov": (
        "SGD",
        {"lr": 1e-3, "momentum": 0.9, "nesterov": True},
        ("foreach", "fused"),
    ),
    "sgd_decay": ("SGD", {"lr": 1e-3, "momentum": 0.9, "weight_decay": 1e-4}, ()),
    "adam": ("Adam", {}, ("foreach", "fused")),
    "adam_amsgrad": ("Adam", {"amsgrad": True}, ("foreach", "fused")),
    "adamw": ("AdamW", {}, ("foreach", "fused")),
    "adamax": ("Adamax", {}, ("foreach",)),
    "nadam": ("NAdam", {}, ("foreach",)),
    "radam": ("RAdam", {}, ("foreach",)),
    "adagrad": ("Adagrad", {}, ("foreach", "fused")),
    "adadelta": ("Adadelta", {}, ("foreach",)),
    "adafactor": ("Adafactor", {}, ("foreach",)),
    "asgd": ("ASGD", {}, ("foreach",)),
    "rmsprop": ("RMSprop", {}, ("foreach",)),
    "rmsprop_centered": ("RMSprop", {"momentum": 0.9, "centered": True}, ("foreach",)),
    "rprop": ("Rprop", {}, ("foreach",)),
    "muon": ("Muon", {}, ()),
}
for _name, (_class, _settings, _ways) in OPTIMIZERS.items():
    named(f"optim_{_name}", optimizer, _class, _settings)
    for _way in _ways:
        named(f"optim_{_name}_{_way}", optimizer, _class, _settings | {_way: True})


@workload()
def optim_sparse_adam(torch: Any) -> Step:
    embedding = fill(torch, torch.nn.Embedding(1000, 32, sparse=True))
    steps = torch.optim.SparseAdam(embedding.parameters())
    index = torch.from_numpy(np.random.default_rng(0).integers(0, 1000, 64))

    def step() -> Any:
        steps.zero_grad()
        embedding(index).sum().backward()
        steps.step()
        return embedding.weight

    return step


@workload()
def optim_lbfgs(torch: Any) -> Step:
    start = f32(torch, 20)
    weights = torch.linspace(1.0, 3.0, 20)

    def step() -> Any:
        x = start.clone().requires_grad_()
        steps = torch.optim.LBFGS([x], max_iter=10)

        def closure() -> Any:
            steps.zero_grad()
            loss = (weights * x * x).sum()
            loss.backward()
            return loss

        steps.step(closure)
        return x

    return step


@workload()
def optim_make_adam(torch: Any) -> Step:
    parameters = list(network(torch).parameters())
    return lambda: len(torch.optim.Adam(parameters).param_groups)


@workload()
def optim_state_dict(torch: Any) -> Step:
    found = with_gradients(torch)
    steps = torch.optim.Adam(found.parameters())
    steps.step()
    return lambda: steps.state_dict()["state"][0]["exp_avg"]


@workload()
def optim_load_state_dict(torch: Any) -> Step:
    found = with_gradients(torch)
    steps = torch.optim.Adam(found.parameters())
    steps.step()
    state = steps.state_dict()

    def step() -> Any:
        steps.load_state_dict(state)
        return len(steps.state)

    return step


def zero_grad(torch: Any, to_none: bool, of_optimizer: bool) -> Step:
    found = with_gradients(torch)
    gradients = [each.grad for each in found.parameters()]
    owner = torch.optim.SGD(found.parameters(), lr=0.1) if of_optimizer else found

    def step() -> Any:
        for each, gradient in zip(found.parameters(), gradients, strict=True):
            each.grad = gradient
        owner.zero_grad(set_to_none=to_none)
        return len(gradients)

    return step


named("zero_grad", zero_grad, True, True)
named("zero_grad_in_place", zero_grad, False, True)
named("zero_grad_module", zero_grad, True, False)


def clip(torch: Any, name: str, value: Any, settings: dict[str, Any]) -> Step:
    found = with_gradients(torch)
    parameters = list(found.parameters())
    function = getattr(torch.nn.utils, name)

    def step() -> Any:
        function(parameters, value, **settings)
        return parameters[0].grad

    return step


named("clip_grad_norm", clip, "clip_grad_norm_", 1.0, {})
named("clip_grad_norm_inf", clip, "clip_grad_norm_", 1.0, {"norm_type": float("inf")})
named("clip_grad_norm_foreach", clip, "clip_grad_norm_", 1.0, {"foreach": True})
named("clip_grad_value", clip, "clip_grad_value_", 0.005, {})


@workload()
def parameters_to_vector_and_back(torch: Any) -> Step:
    parameters = list(network(torch).parameters())
    utils = torch.nn.utils

    def step() -> Any:
        vector = utils.parameters_to_vector(parameters)
        utils.vector_to_parameters(vector.detach(), parameters)
        return vector

    return step


# --- schedules
# ------------------------------------------------------------------------------


def schedule(torch: Any, make: Callable[[Any, Any], Any]) -> Step:
    steps = torch.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=0.1, momentum=0.9)
    steps.step()
    rule = make(torch.optim.lr_scheduler, steps)

    def step() -> Any:
        rule.step()
        return steps.param_groups[0]["lr"]

    return step


SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "step": lambda s, o: s.StepLR(o, 30),
    "multi_step": lambda s, o: s.MultiStepLR(o, [30, 80]),
    "constant": lambda s, o: s.ConstantLR(o),
    "linear": lambda s, o: s.LinearLR(o),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.99999),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 100),
    "cosine_restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 10),
    "polynomial": lambda s, o: s.PolynomialLR(o, 100),
    "lambda": lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 1.0),
    "one_cycle": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=1_000_000_000),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.001, 0.1),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o), s.CosineAnnealingLR(o, 100)], milestones=[10]
    ),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o), s.ExponentialLR(o, 0.99999)]),
}
for _name, _make in SCHEDULES.items():
    named(f"schedule_{_name}", schedule, _make)


@workload()
def schedule_plateau(torch: Any) -> Step:
    steps = torch.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=0.1)
    rule = torch.optim.lr_scheduler.ReduceLROnPlateau(steps)

    def step() -> Any:
        rule.step(1.0)
        return len(steps.param_groups)

    return step


# --- moving averages of weights
# -------------------------------------------------------------------------------


def average(torch: Any, way: str) -> Step:
    mean, found = list(network(torch).parameters()), list(network(torch).parameters())
    foreach_mul, foreach_add = torch._foreach_mul_, torch._foreach_add_
    foreach_lerp = torch._foreach_lerp_

    @torch.no_grad()
    def step() -> Any:
        if way == "mul_add":
            for a, b in zip(mean, found, strict=True):
                a.mul_(0.99).add_(b, alpha=0.01)
        elif way == "lerp":
            for a, b in zip(mean, found, strict=True):
                a.lerp_(b, 0.01)
        elif way == "copy":
            for a, b in zip(mean, found, strict=True):
                a.copy_(0.99 * a + 0.01 * b)
        elif way == "data":
            for a, b in zip(mean, found, strict=True):
                a.data.mul_(0.99).add_(b.data, alpha=0.01)
        elif way == "foreach":
            foreach_mul(mean, 0.99)
            foreach_add(mean, found, alpha=0.01)
        else:
            foreach_lerp(mean, found, 0.01)
        return mean[0]

    return step


for _name in ("mul_add", "lerp", "copy", "data", "foreach", "foreach_lerp"):
    named(f"ema_{_name}", average, _name)


@workload()
def ema_averaged_model(torch: Any) -> Step:
    swa = part(torch, "optim.swa_utils")
    found = network(torch)
    mean = swa.AveragedModel(found, multi_avg_fn=swa.get_ema_multi_avg_fn(0.99))

    def step() -> Any:
        mean.update_parameters(found)
        return next(mean.parameters())

    return step


def foreach_pair(torch: Any, name: str) -> Step:
    function = getattr(torch, f"_foreach_{name}")
    a, b = ([each.detach().abs() + 0.1 for each in network(torch).parameters()] for _ in range(2))
    arguments = {"sqrt": (a,), "norm": (a,), "addcmul": (a, b, b)}.get(name, (a, b))
    return lambda: function(*arguments)[0]


for _name in ("add", "mul", "div", "sqrt", "norm", "addcmul", "maximum"):
    named(f"foreach_{_name}", foreach_pair, _name)


# --- modules
# -----------------------------------------------------------------------------


def small_net(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)
    )


MODULES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda torch: torch.nn.Linear(32, 32),
    "mlp": small_net,
    "mlp_large": lambda torch: torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4))),
    "transformer_layer": lambda torch: torch.nn.TransformerEncoderLayer(128, 4),
    "lstm": lambda torch: torch.nn.LSTM(32, 64, 2),
    "resnet_convs": lambda torch: torch.nn.Sequential(
        *(
            each
            for width in (16, 32, 64, 64)
            for each in (
                torch.nn.Conv2d(width, width, 3, padding=1, bias=False),
                torch.nn.BatchNorm2d(width),
                torch.nn.ReLU(),
            )
        )
    ),
    "embedding": lambda torch: torch.nn.Embedding(1000, 64),
    "relu": lambda torch: torch.nn.ReLU(),
}


def make_module(torch: Any, make: Callable[[Any], Any]) -> Step:
    torch.manual_seed(0)

    def step() -> Any:
        return next(make(torch).parameters(), 0)

    return step


for _name, _make in MODULES.items():
    named(f"make_{_name}", make_module, _make)


@workload()
def make_own_module(torch: Any) -> Step:
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, width: int) -> None:
            super().__init__()
            self.first = nn.Linear(width, width)
            self.second = nn.Linear(width, width)
            self.scale = nn.Parameter(torch.ones(width))
            self.register_buffer("mean", torch.zeros(width))

    torch.manual_seed(0)
    return lambda: Block(16).first.weight


def initialise(torch: Any, name: str) -> Step:
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.zeros(64, 64))
    function = getattr(torch.nn.init, name)
    arguments = {"constant_": (1.0,)}.get(name, ())
    return lambda: function(weight, *arguments)


for _name in (
    "zeros_",
    "constant_",
    "uniform_",
    "normal_",
    "trunc_normal_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "eye_",
):
    named(f"init_{_name.strip('_')}", initialise, _name)


@workload()
def module_call(torch: Any) -> Step:
    """A call of a module that does nothing: what nn.Module itself takes."""
    module, x = torch.nn.Identity(), torch.ones(2)
    return lambda: module(x)


@workload()
def module_call_sequential(torch: Any) -> Step:
    module, x = torch.nn.Sequential(*(torch.nn.Identity() for _ in range(10))), torch.ones(2)
    return lambda: module(x)


@workload()
def state_dict(torch: Any) -> Step:
    found = network(torch)
    return lambda: found.state_dict()["0.weight"]


@workload()
def load_state_dict(torch: Any) -> Step:
    found, state = network(torch), network(torch).state_dict()

    def step() -> Any:
        found.load_state_dict(state)
        return found[0].weight

    return step


@workload()
def deepcopy_module(torch: Any) -> Step:
    found = network(torch)
    return lambda: copy.deepcopy(found)[0].weight


@workload()
def deepcopy_tensor(torch: Any) -> Step:
    x = f32(torch, 16, 16)
    return lambda: copy.deepcopy(x)


def moved(torch: Any, name: str) -> Step:
    found = network(torch)

    def step() -> Any:
        return next(getattr(found, name)().float().parameters())

    return step


for _name in ("double", "half", "bfloat16"):
    named(f"module_to_{_name}_and_back", moved, _name)


@workload()
def module_to_same(torch: Any) -> Step:
    found = network(torch)
    return lambda: next(found.to("cpu").parameters())


def walked(torch: Any, name: str) -> Step:
    found = network(torch)
    return lambda: len(list(getattr(found, name)()))


for _name in (
    "parameters",
    "named_parameters",
    "modules",
    "named_modules",
    "children",
    "buffers",
):
    named(f"walk_{_name}", walked, _name)


@workload()
def module_train_and_eval(torch: Any) -> Step:
    found = network(torch)
    return lambda: int(found.eval().train().training)


@workload()
def module_requires_grad(torch: Any) -> Step:
    found = network(torch)
    return lambda: len(found.requires_grad_(False).requires_grad_(True))


@workload()
def module_apply(torch: Any) -> Step:
    found = network(torch)
    return lambda: len(found.apply(lambda module: None))


@workload()
def module_repr(torch: Any) -> Step:
    found = network(torch)
    return lambda: len(repr(found))


@workload()
def count_parameters(torch: Any) -> Step:
    found = network(torch)
    return lambda: sum(each.numel() for each in found.parameters() if each.requires_grad)


# --- files
# ----------------------------------------------------------------------------


def big_state(torch: Any) -> dict[str, Any]:
    return {f"weight{number}": f32(torch, 1024, 2560, seed=number) for number in range(10)}


def saved(torch: Any, make: Callable[[Any], Any], in_memory: bool = False) -> Step:
    state = make(torch)
    folder = tempfile.TemporaryDirectory()

    def step() -> Any:
        file: Any = io.BytesIO() if in_memory else f"{folder.name}/state.pt"
        torch.save(state, file)
        return 1

    return step


def loaded(torch: Any, make: Callable[[Any], Any], settings: dict[str, Any]) -> Step:
    folder = tempfile.TemporaryDirectory()
    file = f"{folder.name}/state.pt"
    torch.save(make(torch), file)

    def step() -> Any:
        assert folder
        return next(iter(torch.load(file, **settings).values()))

    return step


def small_state(torch: Any) -> Any:
    return network(torch).state_dict()


def checkpoint_of_training(torch: Any) -> dict[str, Any]:
    found = with_gradients(torch)
    steps = torch.optim.Adam(found.parameters())
    steps.step()
    weight = found[0].weight.detach()
    return {"weight": weight, "model": found.state_dict(), "optim": steps.state_dict(), "epoch": 3}


named("save_small", saved, small_state)
named("save_small_in_memory", saved, small_state, True)
named("save_checkpoint", saved, checkpoint_of_training)
named("save_tensor", saved, lambda torch: f32(torch, 16, 16), True)
named("save_100MB", saved, big_state)
named("load_small", loaded, small_state, {})
named("load_small_anything", loaded, small_state, {"weights_only": False})
named("load_checkpoint", loaded, checkpoint_of_training, {})
named("load_100MB", loaded, big_state, {})
named("load_100MB_mmap", loaded, big_state, {"mmap": True})


# --- data
# ---------------------------------------------------------------------------


def table(torch: Any, rows: int = 2000) -> Any:
    data = part(torch, "utils.data")
    return data.TensorDataset(f32(torch, rows, 16), torch.arange(rows))


def python_dataset(torch: Any, rows: int = 500) -> Any:
    class Items(part(torch, "utils.data").Dataset):  # type: ignore[misc]
        def __init__(self) -> None:
            self.x, self.y = f32(torch, rows, 16), torch.arange(rows)

        def __len__(self) -> int:
            return rows

        def __getitem__(self, index: int) -> Any:
            return self.x[index], self.y[index]

    return Items()


def array_dataset(torch: Any, rows: int = 500) -> Any:
    class Items(part(torch, "utils.data").Dataset):  # type: ignore[misc]
        def __init__(self) -> None:
            self.x = random(rows, 16)

        def __len__(self) -> int:
            return rows

        def __getitem__(self, index: int) -> Any:
            return {"x": self.x[index], "y": index, "weight": 0.5}

    return Items()


def stream(torch: Any, rows: int = 500) -> Any:
    class Stream(part(torch, "utils.data").IterableDataset):  # type: ignore[misc]
        def __init__(self) -> None:
            self.x = f32(torch, rows, 16)

        def __iter__(self) -> Any:
            return iter(self.x)

    return Stream()


def loader(torch: Any, make: Callable[[Any], Any], settings: dict[str, Any]) -> Step:
    torch.manual_seed(0)
    loader = part(torch, "utils.data").DataLoader(make(torch), **settings)

    def step() -> Any:
        return sum(1 for _ in loader)

    return step


named("loader_tensors", loader, table, {"batch_size": 32})
named("loader_tensors_shuffled", loader, table, {"batch_size": 32, "shuffle": True})
named("loader_python", loader, python_dataset, {"batch_size": 32, "shuffle": True})
named("loader_arrays", loader, array_dataset, {"batch_size": 32, "shuffle": True})
named("loader_stream", loader, stream, {"batch_size": 32})
named("loader_single", loader, python_dataset, {"batch_size": None})
named(
    "loader_collate", loader, python_dataset, {"batch_size": 32, "collate_fn": lambda items: items}
)
named("loader_workers", loader, python_dataset, {"batch_size": 32, "num_workers": 2})


@workload()
def loader_workers_persistent(torch: Any) -> Step:
    settings = {"batch_size": 32, "num_workers": 1, "persistent_workers": True}
    return loader(torch, python_dataset, settings)


@workload()
def loader_subset(torch: Any) -> Step:
    torch.manual_seed(0)
    data = part(torch, "utils.data")
    first, _ = data.random_split(python_dataset(torch), [400, 100])
    found = data.DataLoader(first, batch_size=32, shuffle=True)
    return lambda: sum(1 for _ in found)


@workload()
def random_split(torch: Any) -> Step:
    torch.manual_seed(0)
    data, rows = part(torch, "utils.data"), table(torch)
    return lambda: len(data.random_split(rows, [0.8, 0.2])[0])


SAMPLERS: dict[str, Callable[[Any, Any], Any]] = {
    "random": lambda d, rows: d.RandomSampler(rows),
    "random_replacement": lambda d, rows: d.RandomSampler(rows, replacement=True),
    "weighted": lambda d, rows: d.WeightedRandomSampler([0.1, 0.9] * 500, 1000),
    "sequential": lambda d, rows: d.SequentialSampler(rows),
    "subset": lambda d, rows: d.SubsetRandomSampler(range(1000)),
    "batch": lambda d, rows: d.BatchSampler(d.RandomSampler(rows), 32, False),
    "distributed": lambda d, rows: part_of_distributed(d, rows),
}


def part_of_distributed(data: Any, rows: Any) -> Any:
    return importlib.import_module(f"{data.__name__}.distributed").DistributedSampler(rows, 2, 0)


def sampler(torch: Any, make: Callable[[Any, Any], Any]) -> Step:
    torch.manual_seed(0)
    found = make(part(torch, "utils.data"), range(1000))
    return lambda: sum(1 for _ in found)


for _name, _make in SAMPLERS.items():
    named(f"sampler_{_name}", sampler, _make)

COLLATED: dict[str, Callable[[Any], Any]] = {
    "tensors": lambda torch: [f32(torch, 16, seed=seed) for seed in range(32)],
    "pairs": lambda torch: [(f32(torch, 16), seed) for seed in range(32)],
    "dicts": lambda torch: [{"x": random(16), "y": 1.0, "z": "name"} for _ in range(32)],
    "arrays": lambda torch: [random(16) for _ in range(32)],
    "numbers": lambda torch: [0.5] * 32,
}


def collate(torch: Any, make: Callable[[Any], Any]) -> Step:
    data, items = part(torch, "utils.data"), make(torch)
    return lambda: len(data.default_collate(items))


for _name, _make in COLLATED.items():
    named(f"collate_{_name}", collate, _make)


@workload()
def replay_buffer(torch: Any) -> Step:
    """A batch of 32 transitions, stacked."""
    items = [(f32(torch, 4, seed=n), n % 2, 1.0, f32(torch, 4, seed=n + 1)) for n in range(32)]

    def step() -> Any:
        states, actions, rewards, after = zip(*items, strict=True)
        torch.stack(after), torch.tensor(actions), torch.tensor(rewards)
        return torch.stack(states)

    return step


# --- transforms of functions
# ---------------------------------------------------------------------------


def transform(torch: Any, name: str) -> Step:
    func = part(torch, "func")
    w, b = f32(torch, 8, 8), f32(torch, 8, seed=1)
    x, batch = f32(torch, 8, seed=2), f32(torch, 64, 8, seed=3)

    def loss(w: Any, x: Any) -> Any:
        return torch.tanh(x @ w + b).pow(2).sum()

    def layer(x: Any) -> Any:
        return torch.tanh(x @ w + b)

    def hessian_product() -> Any:
        return func.jvp(func.grad(loss), (w, x), (w, x))[1]

    per_sample = func.vmap(func.grad(loss), (None, 0))
    steps: dict[str, Step] = {
        "grad": lambda: func.grad(loss)(w, x),
        "grad_and_value": lambda: func.grad_and_value(loss)(w, x)[0],
        "vmap": lambda: func.vmap(layer)(batch),
        "vmap_grad": lambda: per_sample(w, batch),
        "jvp": lambda: func.jvp(layer, (x,), (x,))[1],
        "vjp": lambda: func.vjp(layer, x)[1](x)[0],
        "jacrev": lambda: func.jacrev(layer)(x),
        "jacfwd": lambda: func.jacfwd(layer)(x),
        "hessian": lambda: func.hessian(lambda x: loss(w, x))(x),
        "hvp": hessian_product,
        "linearize": lambda: func.linearize(layer, x)[1](x),
        "autograd_jacobian": lambda: torch.autograd.functional.jacobian(layer, x),
        "autograd_hessian": lambda: torch.autograd.functional.hessian(lambda x: loss(w, x), x),
    }
    return steps[name]


for _name in (
    "grad",
    "grad_and_value",
    "vmap",
    "vmap_grad",
    "jvp",
    "vjp",
    "jacrev",
    "jacfwd",
    "hessian",
    "hvp",
    "linearize",
    "autograd_jacobian",
    "autograd_hessian",
):
    named(f"func_{_name}", transform, _name)


@workload()
def func_functional_call(torch: Any) -> Step:
    func, found, x = part(torch, "func"), network(torch, 2, 16), f32(torch, 8, 16)
    parameters = dict(found.named_parameters())
    return lambda: func.functional_call(found, parameters, (x,))


@workload()
def func_ensemble(torch: Any) -> Step:
    func, x = part(torch, "func"), f32(torch, 8, 16)
    several = [network(torch, 2, 16) for _ in range(5)]
    parameters, buffers = func.stack_module_state(several)

    def one(parameters: Any, buffers: Any, x: Any) -> Any:
        return func.functional_call(several[0], (parameters, buffers), (x,))

    return lambda: func.vmap(one, (0, 0, None))(parameters, buffers, x)


@workload()
def func_per_sample_gradients(torch: Any) -> Step:
    func, found = part(torch, "func"), network(torch, 2, 16)
    x = f32(torch, 32, 16)
    parameters = {name: each.detach() for name, each in found.named_parameters()}

    def loss(parameters: Any, x: Any) -> Any:
        return func.functional_call(found, parameters, (x,)).pow(2).sum()

    gradients = func.vmap(func.grad(loss), (None, 0))
    return lambda: gradients(parameters, x)["0.weight"]


# --- distributions
# ---------------------------------------------------------------------------


def matrix_of(torch: Any) -> Any:
    return torch.eye(4) + 0.1


DISTRIBUTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "normal": lambda torch, d, p: d.Normal(p - 0.5, p),
    "uniform": lambda torch, d, p: d.Uniform(p - 2, p),
    "exponential": lambda torch, d, p: d.Exponential(p),
    "laplace": lambda torch, d, p: d.Laplace(p - 0.5, p),
    "gamma": lambda torch, d, p: d.Gamma(p, p),
    "beta": lambda torch, d, p: d.Beta(p, p),
    "dirichlet": lambda torch, d, p: d.Dirichlet(p),
    "student": lambda torch, d, p: d.StudentT(p + 3),
    "log_normal": lambda torch, d, p: d.LogNormal(p - 0.5, p),
    "mvn": lambda torch, d, p: d.MultivariateNormal(p[:, :4] - 0.5, matrix_of(torch)),
    "mvn_tril": lambda torch, d, p: d.MultivariateNormal(
        p[:, :4] - 0.5, scale_tril=matrix_of(torch).tril()
    ),
    "independent": lambda torch, d, p: d.Independent(d.Normal(p - 0.5, p), 1),
    "categorical": lambda torch, d, p: d.Categorical(logits=p),
    "one_hot": lambda torch, d, p: d.OneHotCategorical(logits=p),
    "bernoulli": lambda torch, d, p: d.Bernoulli(logits=p),
    "binomial": lambda torch, d, p: d.Binomial(10, logits=p),
    "poisson": lambda torch, d, p: d.Poisson(p),
    "geometric": lambda torch, d, p: d.Geometric(logits=p),
    "multinomial": lambda torch, d, p: d.Multinomial(10, logits=p),
}
DISCRETE = (
    "categorical",
    "one_hot",
    "bernoulli",
    "binomial",
    "poisson",
    "geometric",
    "multinomial",
)
NO_ENTROPY = ("poisson", "multinomial", "binomial")


def distribution(torch: Any, name: str, doing: str) -> Step:
    d = part(torch, "distributions")
    torch.manual_seed(0)
    p = torch.from_numpy(np.random.default_rng(0).uniform(0.5, 2, (64, 8)).astype("float32"))

    def make() -> Any:
        return DISTRIBUTIONS[name](torch, d, p)

    if doing == "make":
        return lambda: len(make().batch_shape)
    found = make()
    if doing in ("sample", "rsample", "entropy"):
        return getattr(found, doing)  # type: ignore[no-any-return]
    if doing == "log_prob":
        value = found.sample()
        return lambda: found.log_prob(value)
    other = DISTRIBUTIONS[name](torch, d, p + 0.25)
    return lambda: d.kl_divergence(found, other)


for _name in DISTRIBUTIONS:
    for _doing in ("make", "sample", "rsample", "log_prob", "entropy", "kl"):
        if _doing == "rsample" and _name in DISCRETE:
            continue
        if _doing == "entropy" and _name in NO_ENTROPY:
            continue
        if _doing == "kl" and _name in ("student", "one_hot", "multinomial", "binomial"):
            continue
        named(f"dist_{_name}_{_doing}", distribution, _name, _doing)


@workload()
def dist_normal_gradient(torch: Any) -> Step:
    d = part(torch, "distributions")
    torch.manual_seed(0)
    mean, scale = f32(torch, 64, 8).requires_grad_(), torch.ones(64, 8, requires_grad=True)

    def step() -> Any:
        mean.grad = scale.grad = None
        posterior = d.Normal(mean, scale)
        z = posterior.rsample()
        loss = z.pow(2).sum() + d.kl_divergence(posterior, d.Normal(0.0, 1.0)).sum()
        loss.backward()
        return scale.grad

    return step


@workload()
def dist_transformed(torch: Any) -> Step:
    d = part(torch, "distributions")
    torch.manual_seed(0)
    base = d.Normal(torch.zeros(64, 8), torch.ones(64, 8))

    def step() -> Any:
        found = d.TransformedDistribution(base, [d.TanhTransform(cache_size=1)])
        return found.log_prob(found.rsample())

    return step


@workload()
def dist_mixture(torch: Any) -> Step:
    d = part(torch, "distributions")
    torch.manual_seed(0)
    found = d.MixtureSameFamily(
        d.Categorical(torch.ones(5)), d.Normal(torch.arange(5.0), torch.ones(5))
    )
    x = f32(torch, 64)
    return lambda: found.log_prob(x)


@workload()
def policy_step(torch: Any) -> Step:
    """An action of a policy for one observation."""
    d = part(torch, "distributions")
    torch.manual_seed(0)
    found, x = fill(torch, small_net(torch)), f32(torch, 4)

    def step() -> Any:
        policy = d.Categorical(logits=found(x))
        action = policy.sample()
        return policy.log_prob(action)

    return step


# --- sparse tensors
# ---------------------------------------------------------------------------


def random_sparse(torch: Any, size: int = 1000, count: int = 5000, doubles: bool = False) -> Any:
    draw = np.random.default_rng(0)
    index = torch.from_numpy(draw.integers(0, size, (2, count)))
    numbers = torch.from_numpy(
        draw.standard_normal(count).astype("float64" if doubles else "float32")
    )
    return torch.sparse_coo_tensor(index, numbers, (size, size))


def sparse(torch: Any, name: str, size: int = 1000, doubles: bool = False) -> Step:
    loose = random_sparse(torch, size, 5 * size, doubles)
    coo = loose.coalesce()
    csr = coo.to_sparse_csr()
    wide, vector = f32(torch, size, 32), f32(torch, size)
    matrix = coo.to_dense()
    if doubles:
        wide, vector = wide.double(), vector.double()
    recorded = wide.clone().requires_grad_()
    numbers = coo.values().clone().requires_grad_()
    index = coo.indices()

    def backward(product: Callable[[], Any]) -> Any:
        recorded.grad = numbers.grad = None
        product().sum().backward()
        return recorded.grad

    def through_values() -> Any:
        made = torch.sparse_coo_tensor(index, numbers, (size, size))
        return torch.sparse.mm(made, recorded)

    steps: dict[str, Step] = {
        "coo_mm": lambda: torch.sparse.mm(coo, wide),
        "coo_matmul": lambda: coo @ wide,
        "coo_mv": lambda: coo @ vector,
        "csr_mm": lambda: csr @ wide,
        "csr_mv": lambda: csr @ vector,
        "coo_mm_backward": lambda: backward(lambda: torch.sparse.mm(coo, recorded)),
        "csr_mm_backward": lambda: backward(lambda: csr @ recorded),
        "coo_mm_backward_values": lambda: backward(through_values),
        "make_coo": lambda: torch.sparse_coo_tensor(index, numbers.detach(), (size, size)).shape[0],
        "coalesce": lambda: loose.coalesce().values(),
        "coo_to_dense": lambda: coo.to_dense(),
        "csr_to_dense": lambda: csr.to_dense(),
        "dense_to_coo": lambda: matrix.to_sparse().values(),
        "dense_to_csr": lambda: matrix.to_sparse_csr().values(),
        "coo_to_csr": lambda: coo.to_sparse_csr().values(),
        "csr_to_coo": lambda: csr.to_sparse_coo().values(),
        "coo_add": lambda: (coo + coo).coalesce().values(),
        "coo_mul_number": lambda: (coo * 2.0).values(),
        "coo_transpose": lambda: coo.t().shape[0],
        "coo_sum": lambda: torch.sparse.sum(coo),
        "coo_sum_rows": lambda: torch.sparse.sum(coo, 1).to_dense(),
        "coo_sparse_product": lambda: torch.sparse.mm(coo, coo).shape[0],
        "coo_softmax": lambda: torch.sparse.softmax(coo, 1).values(),
    }
    return steps[name]


SPARSE = (
    "coo_mm",
    "coo_matmul",
    "coo_mv",
    "csr_mm",
    "csr_mv",
    "coo_mm_backward",
    "csr_mm_backward",
    "coo_mm_backward_values",
    "make_coo",
    "coalesce",
    "coo_to_dense",
    "csr_to_dense",
    "dense_to_coo",
    "dense_to_csr",
    "coo_to_csr",
    "csr_to_coo",
    "coo_add",
    "coo_mul_number",
    "coo_transpose",
    "coo_sum",
    "coo_sum_rows",
    "coo_sparse_product",
    "coo_softmax",
)
for _name in SPARSE:
    named(f"sparse_{_name}", sparse, _name)
for _name in ("coo_mm", "csr_mm", "csr_mv", "coo_mm_backward", "coalesce"):
    named(f"sparse_{_name}_small", sparse, _name, 20)
    named(f"sparse_{_name}_double", sparse, _name, 1000, True)


@workload()
def sparse_embedding_backward(torch: Any) -> Step:
    embedding = fill(torch, torch.nn.Embedding(1000, 32, sparse=True))
    index = torch.from_numpy(np.random.default_rng(0).integers(0, 1000, 64))

    def step() -> Any:
        embedding.weight.grad = None
        embedding(index).sum().backward()
        return embedding.weight.grad.coalesce().values()

    return step


@workload()
def message_passing(torch: Any) -> Step:
    """A layer of a graph network: gathered, mapped, summed at the target nodes."""
    draw = np.random.default_rng(0)
    source, target = torch.from_numpy(draw.integers(0, 500, (2, 3000)))
    nodes, layer = f32(torch, 500, 32), fill(torch, torch.nn.Linear(32, 32))

    def step() -> Any:
        layer.weight.grad = layer.bias.grad = None
        messages = layer(nodes)[source]
        sums = torch.zeros(500, 32).scatter_add(0, target[:, None].expand(-1, 32), messages)
        sums.pow(2).sum().backward()
        return layer.weight.grad

    return step


@workload()
def message_passing_index_add(torch: Any) -> Step:
    draw = np.random.default_rng(0)
    source, target = torch.from_numpy(draw.integers(0, 500, (2, 3000)))
    nodes, layer = f32(torch, 500, 32), fill(torch, torch.nn.Linear(32, 32))

    def step() -> Any:
        layer.weight.grad = layer.bias.grad = None
        sums = torch.zeros(500, 32).index_add(0, target, layer(nodes)[source])
        sums.pow(2).sum().backward()
        return layer.weight.grad

    return step


# --- sequences
# ---------------------------------------------------------------------------


def sequences(torch: Any, name: str) -> Step:
    rnn = torch.nn.utils.rnn
    lengths = [20, 17, 12, 9, 9, 5, 3, 1]
    items = [f32(torch, length, 16, seed=length) for length in lengths]
    padded = rnn.pad_sequence(items)
    packed = rnn.pack_padded_sequence(padded, lengths)
    lstm = fill(torch, torch.nn.LSTM(16, 32))
    cell = fill(torch, torch.nn.LSTMCell(16, 32))

    def through_cells() -> Any:
        lstm.zero_grad()
        h = c = torch.zeros(8, 32)
        for x in padded:
            h, c = cell(x, (h, c))
        h.sum().backward()
        return h

    steps: dict[str, Step] = {
        "pad": lambda: rnn.pad_sequence(items),
        "pack": lambda: rnn.pack_padded_sequence(padded, lengths).data,
        "pack_unsorted": lambda: rnn.pack_sequence(items[::-1], enforce_sorted=False).data,
        "unpack": lambda: rnn.pad_packed_sequence(packed)[0],
        "lstm_packed": lambda: lstm(packed)[0].data,
        "lstm_cells": through_cells,
    }
    return steps[name]


for _name in ("pad", "pack", "pack_unsorted", "unpack", "lstm_packed", "lstm_cells"):
    named(f"sequence_{_name}", sequences, _name)


# --- tensors and Python
# ---------------------------------------------------------------------------


PRINTED: dict[str, Callable[[Any], Any]] = {
    "number": lambda torch: torch.tensor(1.5),
    "vector": lambda torch: f32(torch, 10),
    "matrix": lambda torch: f32(torch, 20, 20),
    "large": lambda torch: f32(torch, 1000, 1000),
    "integers": lambda torch: torch.arange(100).reshape(10, 10),
    "bools": lambda torch: f32(torch, 10, 10) > 0,
}


def printed(torch: Any, make: Callable[[Any], Any]) -> Step:
    x = make(torch)
    return lambda: len(repr(x))


for _name, _make in PRINTED.items():
    named(f"print_{_name}", printed, _make)


def indexing(torch: Any, name: str) -> Step:
    x = f32(torch, 32, 32)
    index, mask = torch.arange(0, 32, 2), f32(torch, 32) > 0

    def put(key: Any) -> Any:
        x[key] = 1.0
        return x

    steps: dict[str, Step] = {
        "row": lambda: x[3],
        "element": lambda: x[3, 4],
        "item": lambda: x[3, 4].item(),
        "slice": lambda: x[2:8, ::2],
        "none": lambda: x[:, None],
        "ellipsis": lambda: x[..., 0],
        "index": lambda: x[index],
        "index_list": lambda: x[[1, 2, 3]],
        "mask": lambda: x[mask],
        "put_slice": lambda: put(slice(2, 8)),
        "put_index": lambda: put(index),
        "put_mask": lambda: put(mask),
        "loop": lambda: sum(row[0].item() for row in x),
        "unpack": lambda: [*x][-1],
    }
    return steps[name]


for _name in (
    "row",
    "element",
    "item",
    "slice",
    "none",
    "ellipsis",
    "index",
    "index_list",
    "mask",
    "put_slice",
    "put_index",
    "put_mask",
    "loop",
    "unpack",
):
    named(f"index_{_name}", indexing, _name)


def python_values(torch: Any, name: str) -> Step:
    x, array = f32(torch, 16, 16), random(16, 16)
    numbers, nested = [0.5] * 100, [[0.5] * 10] * 10
    integers, one = list(range(100)), torch.tensor(2.5)
    steps: dict[str, Step] = {
        "tensor_number": lambda: torch.tensor(1.5),
        "tensor_list": lambda: torch.tensor(numbers),
        "tensor_nested": lambda: torch.tensor(nested),
        "tensor_integers": lambda: torch.tensor(integers),
        "tensor_array": lambda: torch.tensor(array),
        "as_tensor": lambda: torch.as_tensor(array),
        "from_numpy": lambda: torch.from_numpy(array),
        "to_numpy": lambda: x.numpy(),
        "numpy_and_back": lambda: torch.from_numpy(x.numpy()),
        "detach_cpu_numpy": lambda: x.detach().cpu().numpy(),
        "tolist": lambda: len(x.tolist()),
        "float": lambda: float(one),
        "bool": lambda: int(bool(one)),
        "item": one.item,
        "shape": lambda: x.shape[0],
        "dtype": lambda: int(x.dtype == torch.float32),
        "isinstance": lambda: int(isinstance(x, torch.Tensor)),
        "stack_numbers": lambda: torch.stack([one] * 10),
        "numpy_array": lambda: np.asarray(x),
    }
    return steps[name]


for _name in (
    "tensor_number",
    "tensor_list",
    "tensor_nested",
    "tensor_integers",
    "tensor_array",
    "as_tensor",
    "from_numpy",
    "to_numpy",
    "numpy_and_back",
    "detach_cpu_numpy",
    "tolist",
    "float",
    "bool",
    "item",
    "shape",
    "dtype",
    "isinstance",
    "stack_numbers",
    "numpy_array",
):
    named(f"python_{_name}", python_values, _name)


# --- what programs do with the graph
# -----------------------------------------------------------------------------


@workload()
def no_grad_block(torch: Any) -> Step:
    def step() -> Any:
        with torch.no_grad():
            return 1

    return step


def autocast(torch: Any, kind: str, batch: int) -> Step:
    nn = torch.nn
    found = fill(
        torch,
        nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.Linear(256, 10)),
    )
    x, dtype = f32(torch, batch, 256), getattr(torch, kind)

    def step() -> Any:
        found.zero_grad()
        with torch.autocast("cpu", dtype=dtype):
            y = found(x)
        y.float().pow(2).mean().backward()
        return 1

    return step


named("autocast_bfloat16", autocast, "bfloat16", 64)
named("autocast_bfloat16_small", autocast, "bfloat16", 1)


@workload()
def hooks_of_modules(torch: Any) -> Step:
    found, x = network(torch, 3, 16), f32(torch, 4, 16)
    seen = []
    for module in found:
        module.register_forward_hook(lambda module, inputs, output: seen.append(output.shape))
    return lambda: found(x)


@workload()
def hooks_backward(torch: Any) -> Step:
    found, x = network(torch, 3, 16), f32(torch, 4, 16)
    for module in found:
        module.register_full_backward_hook(lambda module, inputs, outputs: None)

    def step() -> Any:
        found.zero_grad()
        found(x).sum().backward()
        return found[0].weight.grad

    return step


@workload()
def hooks_of_tensors(torch: Any) -> Step:
    x = f32(torch, 4, 4).requires_grad_()

    def step() -> Any:
        x.grad = None
        y = x * 2
        y.register_hook(lambda gradient: gradient * 2)
        y.retain_grad()
        y.sum().backward()
        return x.grad

    return step


@workload()
def custom_function(torch: Any) -> Step:
    class Cube(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            return gradient * 3 * x**2

    x = f32(torch, 8, 8).requires_grad_()

    def step() -> Any:
        x.grad = None
        Cube.apply(x).sum().backward()
        return x.grad

    return step


@workload()
def checkpointed(torch: Any) -> Step:
    checkpoint = part(torch, "utils.checkpoint").checkpoint
    found, x = network(torch, 4, 32), f32(torch, 16, 32).requires_grad_()

    def step() -> Any:
        x.grad = None
        found.zero_grad()
        y = x
        for number in range(0, 8, 2):
            y = checkpoint(found[number : number + 2], y, use_reentrant=False)
        y.sum().backward()
        return x.grad

    return step


@workload()
def gradcheck(torch: Any) -> Step:
    x = f32(torch, 3, 3).double().requires_grad_()
    return lambda: int(torch.autograd.gradcheck(lambda x: torch.tanh(x @ x), (x,)))


@workload()
def grad_of_grad(torch: Any) -> Step:
    x = f32(torch, 8).requires_grad_()
    grad = torch.autograd.grad

    def step() -> Any:
        (first,) = grad((x**3).sum(), x, create_graph=True)
        return grad(first.sum(), x)[0]

    return step


@workload()
def saved_tensor_hooks(torch: Any) -> Step:
    x = f32(torch, 8).requires_grad_()
    hooks = torch.autograd.graph.saved_tensors_hooks

    def step() -> Any:
        x.grad = None
        with hooks(lambda t: t, lambda t: t):
            y = x.exp().sin()
        y.sum().backward()
        return x.grad

    return step


@workload()
def anomaly_mode(torch: Any) -> Step:
    x = f32(torch, 8).requires_grad_()

    def step() -> Any:
        x.grad = None
        with torch.autograd.detect_anomaly(check_nan=False):
            x.exp().sin().sum().backward()
        return x.grad

    return step


@workload()
def fx_trace(torch: Any) -> Step:
    fx, found = part(torch, "fx"), network(torch, 3, 16)
    return lambda: len(fx.symbolic_trace(found).graph.nodes)


def parametrized(torch: Any, name: str) -> Step:
    nn = torch.nn
    x = f32(torch, 4, 32)
    torch.manual_seed(0)
    layer = getattr(nn.utils.parametrizations, name)(fill(torch, nn.Linear(32, 32)))

    def step() -> Any:
        layer.zero_grad()
        layer(x).sum().backward()
        return 1

    return step


for _name in ("weight_norm", "spectral_norm", "orthogonal"):
    named(f"parametrized_{_name}", parametrized, _name)


@workload()
def pruned(torch: Any) -> Step:
    prune, x = part(torch, "nn.utils.prune"), f32(torch, 4, 32)
    layer = prune.l1_unstructured(fill(torch, torch.nn.Linear(32, 32)), "weight", 0.3)
    return lambda: layer(x)


@workload()
def training_step_small(torch: Any) -> Step:
    """What a loop does for each batch, all together."""
    found = fill(torch, small_net(torch))
    steps = torch.optim.Adam(found.parameters())
    rule = torch.optim.lr_scheduler.LinearLR(steps)
    x, y = f32(torch, 32, 4), f32(torch, 32, 2)

    def step() -> Any:
        steps.zero_grad()
        loss = torch.nn.functional.mse_loss(found(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(found.parameters(), 1.0)
        steps.step()
        rule.step()
        return loss.item()

    return step


if __name__ == "__main__":
    import compare

    compare.main(WORKLOADS, "around")
