"""Random calls of every public name: what the op table's samples say, with something changed, or
arguments that fit the parameters' names, or anything.

Each step is one statement that does not depend on those before it.
"""

from __future__ import annotations

import importlib
import inspect
import random
import types
from collections.abc import Iterator
from typing import Any

import values
from values import anything, number, tensor, torch

MODULES = """torch torch.nn.functional torch.linalg torch.special torch.nn torch.nn.init torch.nn.utils
torch.nn.utils.rnn torch.autograd torch.autograd.functional torch.autograd.forward_ad torch.autograd.graph
torch.func torch.optim torch.optim.lr_scheduler torch.utils.data torch.utils.checkpoint torch.overrides
torch.fft torch.random torch.return_types torch.autograd.profiler torch.utils.dlpack torch.signal.windows
torch.distributions torch.distributions.transforms torch.distributions.constraints torch.distributions.kl
torch.distributions.utils torch.distributions.constraint_registry torch.sparse torch.masked
torch.quasirandom torch.fx torch.fx.node torch.fx.operator_schemas torch.amp torch.nn.attention
torch.nn.attention.flex_attention torch.nn.utils.parametrize torch.nn.utils.parametrizations
torch.nn.utils.prune torch.nn.utils.stateless torch.nn.utils.fusion torch.optim.swa_utils
torch.utils.data.datapipes.iter torch.utils.data.datapipes.map torch.utils.data.graph torch.library
torch.testing torch.serialization torch.nested torch.utils.hooks torch.utils.flop_counter
torch.utils._pytree""".split()
# Whose methods are called: what the public classes make, each as text.
OBJECTS = (
    [f"torch.distributions.{text}" for text in values.DISTRIBUTIONS]
    + [f"torch.distributions.{text}" for text in values.TRANSFORMS]
    + """torch.quasirandom.SobolEngine(3) torch.quasirandom.SobolEngine(2,True,7)
torch.masked.masked_tensor(t((2,3)),t((2,3),'bool')) torch.amp.GradScaler(enabled=True)
torch.fx.symbolic_trace(torch.nn.Linear(2,2)) torch.fx.symbolic_trace(torch.nn.Linear(2,2)).graph
list(torch.fx.symbolic_trace(torch.nn.Linear(2,2)).graph.nodes)[1] torch.fx.Graph() torch.fx.Tracer()
torch.optim.swa_utils.AveragedModel(torch.nn.Linear(2,2)) torch.Generator() t((2,3)).untyped_storage()
torch.utils.data.datapipes.iter.IterableWrapper([1,2,3])
torch.utils.data.datapipes.map.SequenceWrapper([1,2,3]) torch.nn.utils.prune.L1Unstructured(1)
torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2,2)) torch.Size([2,3])""".split()
    + [
        f"torch.optim.{name}([t((2, 3), 'float32', 'leaf')])"
        for name in torch.optim.__all__
        if name[0].isupper() and name not in ("Optimizer", "SparseAdam")
    ]
)

# Not called: they end, wait, start something, set or register what later steps would stumble over, take
# as many steps or make as many layers as they are told.
SKIPPED = """install_as_torch compile_extension set_flush_denormal set_num_threads set_num_interop_threads
set_printoptions load save DataLoader set_default_device set_detect_anomaly detect_anomaly seed
set_multithreading_enabled profile record_function emit_nvtx emit_itt _KinetoProfile
use_deterministic_algorithms set_anomaly_enabled annotations TYPE_CHECKING Any gradcheck gradgradcheck
get_testing_overrides get_overridable_functions get_ignored_functions set_autocast_enabled
set_autocast_cpu_enabled set_autocast_dtype set_autocast_cpu_dtype set_autocast_gpu_dtype
set_autocast_cache_enabled Transformer TransformerEncoder TransformerDecoder
register_kl set_crc32_options set_default_load_endianness set_default_mmap_options add_safe_globals
clear_safe_globals safe_globals register_package register_optimizer_step_pre_hook
register_optimizer_step_post_hook register_flop_formula register_pytree_node has_side_effect wrap
custom_op define impl impl_abstract register_autocast register_autograd register_fake register_kernel
register_torch_dispatch register_vmap triton_op wrap_triton Library check_sparse_tensor_invariants
fast_forward load_state_dict to_folder Forker Demultiplexer fork demux spectral_norm""".split()
SPECIAL = """__getitem__ __setitem__ __add__ __radd__ __sub__ __rsub__ __mul__ __truediv__ __floordiv__ __mod__
__pow__ __rpow__ __matmul__ __iadd__ __imul__ __itruediv__ __and__ __or__ __xor__ __lshift__ __eq__ __lt__
__ge__ __ne__ __neg__ __abs__ __invert__ __len__ __bool__ __float__ __int__ __index__ __contains__ __iter__
__reversed__ __array__ __dlpack__ __format__ __deepcopy__ __reduce_ex__ __dir__ __hash__ __repr__""".split()
KEPT = "torch.set_default_dtype(torch.float32); torch.set_grad_enabled(True); torch.manual_seed(0)"


class Name:
    """A public name: how it is written, what it is, and an example of its arguments."""

    def __init__(self, text: str, value: Any, method: bool = False, owner: str = "") -> None:
        self.text, self.value, self.method, self.owner = text, value, method, owner
        self.samples = _samples(value)
        try:
            self.parameters = list(inspect.signature(value).parameters.values())
        except (TypeError, ValueError):
            self.parameters = []


def _samples(value: Any) -> list[tuple[list[str], dict[str, str]]]:
    """The sample calls of an op, as text."""
    entry = getattr(value, "entry", None)
    samples = getattr(entry, "samples", None)
    if samples is None:
        return []

    def make(*shape: Any, **options: Any) -> Any:
        size = tuple(shape[0]) if shape and isinstance(shape[0], (tuple, list)) else shape
        return values.t(tuple(size), "float64")

    found = []
    try:
        for sample in samples(make):
            named = dict(sample[-1]) if sample and isinstance(sample[-1], dict) else {}
            given = sample[:-1] if named else sample
            found.append(([_text(a) for a in given], {k: _text(v) for k, v in named.items()}))
    except Exception:
        return []
    return found


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"t({tuple(value.shape)!r}, {str(value.dtype).removeprefix('torch.')!r})"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_text(v) for v in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    if isinstance(value, torch.dtype):
        return str(value)
    return repr(value)


def public_names() -> list[Name]:
    """Every public callable, method and attribute, in a fixed order."""
    found: list[Name] = []
    seen: set[int] = set()
    for path in MODULES:
        try:
            module = importlib.import_module(path.replace("torch", "rushlight", 1))
        except ImportError:
            continue
        for name in sorted(set(getattr(module, "__all__", dir(module)))):
            value = getattr(module, name, None)
            hidden = name.startswith("_") and not name.startswith("_foreach_")
            if hidden or name in SKIPPED or id(value) in seen:
                continue
            if isinstance(value, types.ModuleType) or not callable(value):
                continue
            seen.add(id(value))
            found.append(Name(f"{path}.{name}", value))
    for name in sorted(dir(torch.Tensor)):
        if (name.startswith("_") and name not in SPECIAL) or name in SKIPPED:
            continue
        value = inspect.getattr_static(torch.Tensor, name)
        found.append(Name(name, value, method=True))
    for text in OBJECTS:
        kind = type(eval(text, values.names()))
        for name in sorted(dir(kind)):
            if (
                not name.startswith("_")
                and name not in SKIPPED
                and not hasattr(torch.nn.Module, name)
            ):
                found.append(Name(name, inspect.getattr_static(kind, name), True, text))
    return found


BY_NAME = {
    "dim": "0 1 -1 2 -2 (0,) (0,1) [0] None 5 -7".split(),
    "dims": "0 1 -1 (0,) (0,1) (1,0) [0] None".split(),
    "dim0": "0 1 -1 2".split(),
    "dim1": "0 1 -1 2".split(),
    "size": values.LISTS,
    "shape": values.LISTS,
    "dtype": [f"torch.{d}" for d in values.DTYPES] + ["None", "float", "int"],
    "keepdim": ["True", "False"],
    "reduction": ["'sum'", "'mean'", "'none'", "'x'"],
    "device": ["'cpu'", "None", "'cuda'", "'meta'"],
    "generator": ["torch.Generator()", "None"],
    "kernel_size": "1 2 3 (2,2) [1] 0 -1 (1<<40) (2,1)".split(),
    "stride": "1 2 (2,1) 0 -1 None [1,1]".split(),
    "padding": "0 1 (1,1) -1 'same' (1<<40) [0]".split(),
    "dilation": "1 2 0 -40 (1,2)".split(),
    "groups": "1 2 0 -1 3".split(),
    "index": ["t((2,), 'int64')", "t((2, 3), 'int64')", "t((3,), 'bool')", "[0, 1]"],
    "indices": ["t((2,), 'int64')", "(t((2,), 'int64'),)"],
    "f": ["torch.sin", "(lambda x: x.sum())", "(lambda *a: a)", "torch.nn.Linear(3, 3)"],
    "func": ["torch.sin", "(lambda x: x.sum())", "(lambda *a: a)", "None"],
    "params": ["[t((2, 3), 'float32', 'leaf')]", "[]", "torch.nn.Linear(2, 2).parameters()"],
    "optimizer": ["torch.optim.SGD([t((2,), 'float32', 'leaf')], lr=0.1)"],
    "inplace": ["True", "False"],
    "base_distribution": [f"torch.distributions.{text}" for text in values.DISTRIBUTIONS],
    "base_dist": [f"torch.distributions.{text}" for text in values.DISTRIBUTIONS],
    "transforms": [f"[torch.distributions.{text}]" for text in values.TRANSFORMS] + ["[]"],
    "transform": [f"torch.distributions.{text}" for text in values.TRANSFORMS],
    "sample_shape": [*values.LISTS[:12], "torch.Size([2])", "3"],
    "p": ["0.5", "1", "-1", "2", *(f"torch.distributions.{x}" for x in values.DISTRIBUTIONS)],
    "q": [f"torch.distributions.{text}" for text in values.DISTRIBUTIONS],
    "validate_args": ["None", "False", "True"],
    "module": ["torch.nn.Linear(3, 2)", "torch.nn.Conv2d(1, 2, 2)", "torch.nn.ReLU()", "None"],
    "model": ["torch.nn.Linear(3, 2)", "torch.nn.Conv2d(1, 2, 2)", "torch.nn.ReLU()"],
    "root": ["torch.nn.Linear(3, 2)", "torch.sin", "(lambda x: x + 1)"],
    "name": ["'weight'", "'bias'", "'x'", "''", "None"],
    "amount": ["0", "1", "0.5", "-1", "2.0", "100"],
    "layout": ["torch.strided", "torch.sparse_coo", "torch.sparse_csr", "torch.sparse_bsc"],
    "datapipe": [
        "torch.utils.data.datapipes.iter.IterableWrapper([1, 2, 3])",
        "[1, 2]",
        "range(3)",
    ],
}
_TENSORS = frozenset(
    """input other self tensor x y a b weight target mask src source values vec mat mat1 mat2
vec1 vec2 batch1 batch2 A B L U x1 x2 tensor1 tensor2 end exponent input1 input2 bias anchor positive negative
grad_outputs grad tangent boxes sorted_sequence query key value condition mean std out""".split()
)


def _argument(draw: random.Random, name: str) -> str:
    if draw.random() < 0.12:
        return anything(draw)
    if name in BY_NAME:
        return draw.choice(BY_NAME[name])
    if name in _TENSORS:
        return tensor(draw)
    if name in ("tensors", "inputs", "outputs"):
        return f"[{', '.join(tensor(draw) for _ in range(draw.randint(0, 3)))}]"
    roll = draw.random()
    return number(draw) if roll < 0.45 else tensor(draw) if roll < 0.7 else anything(draw)


def _like(draw: random.Random, text: str) -> str:
    """A sample's argument, changed: another dtype, layout or shape, or something else."""
    roll = draw.random()
    if text.startswith("t(") and roll < 0.75:
        shape = eval(text[2 : text.index(")") + 1])
        if roll < 0.2:
            shape = draw.choice(values.SHAPES)
        elif roll < 0.3 and shape:
            at = draw.randrange(len(shape))
            shape = (*shape[:at], draw.choice((0, 1, 2)), *shape[at + 1 :])
        return tensor(draw, shape, None if draw.random() < 0.6 else "float64")
    if roll < 0.85 and not text.startswith(("t(", "'", "[", "(")):
        return number(draw)
    return anything(draw)


def call(draw: random.Random, name: Name) -> str:
    """One statement that calls a name or asks for it."""
    given: list[str]
    named: dict[str, str]
    if name.samples and draw.random() < 0.65:
        given, named = draw.choice(name.samples)
        given, named = list(given), dict(named)
        for _ in range(draw.choice((0, 1, 1, 1, 2))):
            at = draw.randrange(len(given) + len(named)) if given or named else 0
            if at < len(given):
                given[at] = _like(draw, given[at])
            elif named:
                key = sorted(named)[at - len(given)]
                named[key] = _like(draw, named[key])
    else:
        given, named = _arguments(draw, name)
    if draw.random() < 0.06:
        named["out"] = tensor(draw)
    arguments = given + [f"{k}={v}" for k, v in named.items()]
    if not name.method:
        return f"use({name.text}({', '.join(arguments)}))"
    if name.owner:
        if not callable(name.value):
            return f"use({name.owner}.{name.text})"
        return f"x = {name.owner}; use(x.{name.text}({', '.join(arguments)})); use(x)"
    if not callable(name.value) or isinstance(name.value, property):
        if draw.random() < 0.3:
            return f"x = {tensor(draw)}; x.{name.text} = {anything(draw)}; use(x)"
        return f"use({tensor(draw)}.{name.text})"
    subject = arguments.pop(0) if name.samples and arguments else tensor(draw)
    if "=" in subject.partition("(")[0]:
        subject = tensor(draw)
    return f"x = {subject}; use(x.{name.text}({', '.join(arguments)})); use(x)"


def _arguments(draw: random.Random, name: Name) -> tuple[list[str], dict[str, str]]:
    parameters = name.parameters[1:] if name.method else name.parameters
    given: list[str] = []
    named: dict[str, str] = {}
    if not parameters:
        return [anything(draw) for _ in range(draw.choice((0, 1, 1, 2, 3)))], {}
    for p in parameters:
        wanted = p.default is p.empty
        if not wanted and draw.random() < 0.6:
            continue
        if p.kind is p.VAR_POSITIONAL:
            given += [_argument(draw, p.name) for _ in range(draw.randint(0, 3))]
        elif p.kind is p.VAR_KEYWORD:
            continue
        elif p.kind is p.KEYWORD_ONLY or named or (not wanted and draw.random() < 0.5):
            named[p.name] = _argument(draw, p.name)
        else:
            given.append(_argument(draw, p.name))
    return given, named


def programs(seed: int) -> Iterator[list[str]]:
    """Programs without end: each is one call."""
    draw = random.Random(seed)
    known = public_names()
    while True:
        yield [call(draw, draw.choice(known))]
