"""Instances of the library's classes, and the attributes that programs see on them.

`python tests/instances.py --accept` writes PyTorch's attributes, for where it is not installed.
"""

from __future__ import annotations

import gzip
import importlib
import inspect
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "data" / "attributes.tsv.gz"

# Arguments of classes, where their names alone do not say what fits.
NUMBERS: dict[str, Any] = {
    **dict.fromkeys("in_features out_features in1_features in2_features input_size".split(), 4),
    **dict.fromkeys("hidden_size num_features num_channels in_channels out_channels".split(), 4),
    **dict.fromkeys("embed_dim d_model normalized_shape num_embeddings embedding_dim".split(), 4),
    **dict.fromkeys("kernel_size num_groups nhead num_heads num_layers upscale_factor".split(), 2),
    **dict.fromkeys(
        "output_size padding lower upper n_classes cutoffs size downscale_factor".split(), 2
    ),
    "cutoffs": [2],
    "min_val": -1.0,
    "max_val": 1.0,
    "threshold": 0.5,
    "value": 0.5,
    "unflattened_size": (2, 2),
    "dim": 0,
    "step_size": 2,
    "milestones": [1],
    "gamma": 0.5,
    "T_max": 4,
    "T_0": 4,
    "base_lr": 0.1,
    "max_lr": 0.2,
    "total_steps": 4,
    "n_classes": 4,
    "groups": 2,
    "norm_type": 2,
    "num_classes": 4,
    "bias": True,
    "num_chunks": 1,
}


def _modules(torch: Any) -> Iterator[tuple[str, Any]]:
    nn = torch.nn
    own = {
        "TransformerEncoder": lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(4, 2, batch_first=True), 1
        ),
        "TransformerDecoder": lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2), 1),
        "AdaptiveLogSoftmaxWithLoss": lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 4, [2]),
        "RNNBase": lambda: nn.RNNBase("GRU", 4, 4),
        "FractionalMaxPool2d": lambda: nn.FractionalMaxPool2d(2, 2),
        "FractionalMaxPool3d": lambda: nn.FractionalMaxPool3d(2, 2),
        "ConstantPad1d": lambda: nn.ConstantPad1d(1, 0.5),
        "Sequential": lambda: nn.Sequential(nn.ReLU()),
        "Upsample": lambda: nn.Upsample(scale_factor=2),
    }
    for name in sorted(set(dir(nn))):
        cls = getattr(nn, name)
        if not (isinstance(cls, type) and issubclass(cls, nn.Module)) or "Parallel" in name:
            continue
        yield f"nn.{name}", own.get(name) or (lambda cls=cls: cls(**_wanted(cls)))


def _wanted(cls: Any) -> dict[str, Any]:
    found = {}
    for p in inspect.signature(cls.__init__).parameters.values():
        plain = p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        if p.default is p.empty and plain and p.name != "self":
            found[p.name] = NUMBERS[p.name]
    return found or (dict(input_size=4, hidden_size=4) if cls.__name__ in RNNS else {})


RNNS = ("RNN", "LSTM", "GRU")


def _optimizers(torch: Any) -> Iterator[tuple[str, Any]]:
    def parameters() -> Any:
        return [torch.nn.Parameter(torch.ones(2, 2))]

    for name in sorted(dir(torch.optim)):
        cls = getattr(torch.optim, name)
        if isinstance(cls, type) and issubclass(cls, torch.optim.Optimizer) and name != "Optimizer":
            yield f"optim.{name}", lambda cls=cls: cls(parameters())
    schedulers = importlib.import_module(f"{torch.__name__}.optim.lr_scheduler")
    sgd = lambda: torch.optim.SGD(parameters(), lr=0.1, momentum=0.9)
    own = {
        "LambdaLR": {"lr_lambda": lambda e: 1.0},
        "MultiplicativeLR": {"lr_lambda": lambda e: 1.0},
    }
    for name in sorted(dir(schedulers)):
        cls = getattr(schedulers, name)
        base = schedulers.LRScheduler
        if (
            not isinstance(cls, type)
            or not issubclass(cls, base)
            or name in ("LRScheduler", "_LRScheduler")
        ):
            continue
        if name in ("ChainedScheduler", "SequentialLR"):

            def several(cls: Any = cls, name: str = name) -> Any:
                o = sgd()
                inner = [schedulers.ConstantLR(o), schedulers.StepLR(o, 1)]
                return cls(inner) if name[0] == "C" else cls(o, inner, [1])

            yield f"lr_scheduler.{name}", several
            continue

        def one(cls: Any = cls, name: str = name) -> Any:
            more = own.get(name)
            if more is None:
                names = inspect.signature(cls.__init__).parameters.values()
                more = {
                    p.name: NUMBERS[p.name]
                    for p in names
                    if p.default is p.empty and p.name not in ("self", "optimizer")
                }
            more = {**more, "total_steps": 4} if name == "OneCycleLR" else more
            return cls(sgd(), **more)

        yield f"lr_scheduler.{name}", one


def _others(torch: Any) -> Iterator[tuple[str, Any]]:
    data = importlib.import_module(f"{torch.__name__}.utils.data")
    one, two = torch.ones(2), torch.ones(2, 2)
    dataset = data.TensorDataset(two)
    yield "utils.data.DataLoader", lambda: data.DataLoader(dataset)
    yield "utils.data.DataLoader.iter", lambda: iter(data.DataLoader(dataset))
    yield "utils.data.TensorDataset", lambda: dataset
    yield "utils.data.Subset", lambda: data.Subset(dataset, [0])
    yield "utils.data.ConcatDataset", lambda: data.ConcatDataset([dataset])
    yield "utils.data.RandomSampler", lambda: data.RandomSampler(dataset)
    yield "utils.data.BatchSampler", lambda: data.BatchSampler([1], 1, False)
    yield "utils.data.WeightedRandomSampler", lambda: data.WeightedRandomSampler([1.0], 1)
    yield "Parameter", lambda: torch.nn.Parameter(two)
    yield "Tensor", lambda: two
    yield "Generator", torch.Generator
    yield "device", lambda: torch.device("cpu")
    yield "dtype", lambda: torch.float32
    yield "Size", lambda: torch.Size([1])
    yield "nn.utils.rnn.PackedSequence", lambda: torch.nn.utils.rnn.pack_sequence([one])
    yield "amp.GradScaler", lambda: torch.amp.GradScaler("cpu", enabled=False)
    of = importlib.import_module(f"{torch.__name__}.distributions")
    half = torch.full((2,), 0.5)
    made = {
        "Bernoulli": (half,),
        "Beta": (half, half),
        "Binomial": (2, half),
        "Categorical": (half,),
        "Cauchy": (half, half),
        "Chi2": (half,),
        "ContinuousBernoulli": (half,),
        "Dirichlet": (half,),
        "Exponential": (half,),
        "FisherSnedecor": (half, half),
        "Gamma": (half, half),
        "GeneralizedPareto": (half, half, half),
        "Geometric": (half,),
        "Gumbel": (half, half),
        "HalfCauchy": (half,),
        "HalfNormal": (half,),
        "InverseGamma": (half, half),
        "Kumaraswamy": (half, half),
        "LKJCholesky": (2,),
        "Laplace": (half, half),
        "LogNormal": (half, half),
        "LogisticNormal": (half, half),
        "LowRankMultivariateNormal": (half, two, half),
        "Multinomial": (2, half),
        "MultivariateNormal": (half, torch.eye(2)),
        "NegativeBinomial": (2, half),
        "Normal": (half, half),
        "OneHotCategorical": (half,),
        "OneHotCategoricalStraightThrough": (half,),
        "Pareto": (half, half),
        "Poisson": (half,),
        "RelaxedBernoulli": (half, half),
        "RelaxedOneHotCategorical": (half, half),
        "StudentT": (half,),
        "Uniform": (half, half + 1),
        "VonMises": (half, half),
        "Weibull": (half, half),
        "Wishart": (torch.tensor(3.0), torch.eye(2)),
    }
    for name, arguments in made.items():
        yield f"distributions.{name}", lambda name=name, a=arguments: getattr(of, name)(*a)


def attributes(torch: Any) -> dict[str, list[str]]:
    """Of each instance: its names that do not begin with two underscores."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in (_modules, _optimizers, _others):
            for name, make in kind(torch):
                made = make()
                found[name] = sorted(
                    n for n in dir(made) if not n.startswith(("__", "_is_protocol"))
                )
    return found


def read() -> dict[str, list[str]]:
    """PyTorch's, as kept: a line an instance, after the names that all of its kind have."""
    lines = gzip.decompress(FILE.read_bytes()).decode().splitlines()
    return {name: rest.split() for name, _, rest in (line.partition("\t") for line in lines)}


if __name__ == "__main__" and sys.argv[1:] == ["--accept"]:
    import torch

    text = "".join(f"{n}\t{' '.join(a)}\n" for n, a in attributes(torch).items())
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
