"""PyTorch's own table of operators, `op_db`, run on both libraries.

    python tests/torch_compat/op_db.py [--dtype float64 ...] [--only NAME ...] [--samples 12] [-v]
    python tests/torch_compat/op_db.py --write     # makes op_db_known.toml anew

The table is part of PyTorch's testing tools: about 700 entries, each with a callable and a
generator of arguments. For each entry and element type, some of these arguments (evenly chosen,
`--samples` of them) are rebuilt as tensors of the library: the same memory, strides and
requires_grad. The callable's counterpart is found by its place (`torch.linalg.svd` is
`rushlight.linalg.svd`); a callable that PyTorch's table wraps in a Python function is that function
over this library's names.

Compared are structure, dtype, shape and values; where the type has derivatives, the gradients of
all leaves for random cotangents, and the gradients of those gradients (also by the cotangents);
then the method and the in-place variant. Where PyTorch itself raises, there is nothing to compare,
except that a variant that raises there must raise here. Calls that draw random numbers start from
the same seed.

An entry agrees if all its samples do. `op_db_known.toml` lists those that do not, by reason.
"""

import argparse
import contextlib
import functools
import importlib
import math
import random
import re
import sys
import time
import tomllib
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import rushlight as subject

oracle: Any = importlib.import_module("torch")

SAMPLES = 12  # of each entry in each type
OTHERS = ("complex64", "int32", "int16", "int8", "uint8", "bool")
MISSING = "A name is missing."
KNOWN = Path(__file__).with_name("op_db_known.toml")
DTYPES = ("float64", "float32", "complex128", "int64", "bfloat16", "float16")

# Relative to the largest element of what is compared. In 16-bit types most ops round once, at the
# end, but where a function is a chain of ops each step rounds.
TOLERANCE = {"float64": 1e-9, "float32": 3e-5, "bfloat16": 0.03, "float16": 0.004}
TOLERANCE |= {"complex128": 1e-9, "complex64": 3e-5, "complex32": 0.004}
# Second derivatives through singular vectors of random projections lose more on some processors.
LOST = {"svd_lowrank": 2.5}


class Absent(Exception):
    """The library has no such name."""


# From PyTorch's objects to the library's


def counterpart(path: str) -> Any:
    """The object at `torch.<path>` in the library."""
    found: Any = subject
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except Exception as error:
            raise Absent(f"torch.{path}") from error
    return found


@functools.cache
def places() -> dict[int, str]:
    """Where PyTorch's callables stand, by their id: the shortest public path."""
    found: dict[int, str] = {}
    modules = ["", "Tensor", "nn.functional", "linalg", "fft", "special", "sparse", "masked",
               "nested", "nn", "nn.init", "_C._nn", "_C._linalg", "_C._special", "_C._fft", "_C",
               "_VF", "autograd", "nn.utils.rnn", "_foreach", "signal.windows"]  # fmt: skip
    for module in modules:
        try:
            space = functools.reduce(getattr, filter(None, module.split(".")), oracle)
        except AttributeError:
            continue
        for name in dir(space):
            with contextlib.suppress(Exception):
                value = getattr(space, name)
                where = f"{module}.{name}".lstrip(".")
                private = found.get(id(value), "._").rpartition(".")[2].startswith("_")
                if callable(value) and private:
                    found[id(value)] = where
    return found


def place(value: Any) -> str | None:
    """`linalg.svd` for torch.linalg.svd, None for what has no place in PyTorch's namespaces."""
    known = places().get(id(value))
    if known is not None:
        return known
    module, name = getattr(value, "__module__", None) or "", getattr(value, "__qualname__", "")
    if type(value).__name__ in ("method_descriptor", "wrapper_descriptor", "getset_descriptor"):
        return f"Tensor.{value.__name__}"
    if type(value).__name__ in ("OpOverloadPacket", "OpOverload"):
        return f"ops.{value!s}"
    inside = module.startswith(("torch.testing", "torch._internal"))
    if module.startswith("torch.") and not inside and name and "<" not in name:
        return f"{module.removeprefix('torch.')}.{name}"
    return None


@contextlib.contextmanager
def _kept_random_state() -> Iterator[None]:
    state = subject.get_rng_state()
    try:
        yield
    finally:
        subject.set_rng_state(state)


def _names(code: types.CodeType) -> set[str]:
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner)) if inner else set(code.co_names)


class Translation:
    """The library's counterparts of PyTorch's objects; tensors that are one object stay one."""

    def __init__(self) -> None:
        self.done: dict[int, Any] = {}
        self.leaves: list[tuple[Any, Any]] = []

    def of(self, value: Any) -> Any:
        """The counterpart of any value."""
        if value is None or isinstance(value, (bool, int, float, complex, str, np.ndarray, slice)):
            if isinstance(value, slice):
                return slice(*map(self.of, (value.start, value.stop, value.step)))
            return value
        if id(value) in self.done:
            return self.done[id(value)]
        made = self._make(value)
        self.done[id(value)] = made
        self.done[-id(value)] = value  # keeps the id in use
        return made

    def _make(self, value: Any) -> Any:
        if isinstance(value, oracle.Tensor):
            return self.tensor(value)
        if isinstance(value, oracle.dtype):
            return counterpart(str(value).removeprefix("torch."))
        if isinstance(value, (oracle.layout, oracle.memory_format)):
            return counterpart(str(value).removeprefix("torch."))
        if isinstance(value, oracle.device):
            return subject.device(str(value))
        if isinstance(value, oracle.Size):
            return subject.Size(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self.of, value))
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.of, value))
        if isinstance(value, dict):
            return {key: self.of(item) for key, item in value.items()}
        if isinstance(value, types.ModuleType):
            name = value.__name__
            if name == "torch" or name.startswith("torch."):
                try:
                    return importlib.import_module(name.replace("torch", subject.__name__, 1))
                except ImportError as error:
                    raise Absent(name) from error
            return value
        if callable(value):
            return self.function(value)
        return value

    def function(self, value: Any) -> Any:
        """The library's function at the same place, or the same Python code over its names."""
        if getattr(value, "__name__", "") == "freeze_rng_state":
            return _kept_random_state
        if value is oracle.Tensor:
            return subject.Tensor
        where = place(value)
        if where is not None:
            return counterpart(where)
        if isinstance(value, functools.partial):
            return functools.partial(
                self.of(value.func), *map(self.of, value.args), **self.of(value.keywords)
            )
        if isinstance(value, types.FunctionType):
            space = dict(value.__globals__)
            for name in _names(value.__code__) & space.keys():
                space[name] = self.of(space[name])
            closure = value.__closure__
            cells = closure and tuple(types.CellType(self.of(c.cell_contents)) for c in closure)
            made = types.FunctionType(
                value.__code__, space, value.__name__, self.of(value.__defaults__), cells
            )
            made.__kwdefaults__ = self.of(value.__kwdefaults__)
            return made
        if isinstance(value, (type, types.BuiltinFunctionType)):
            return value
        if getattr(value, "__module__", "") in ("operator", "_operator", "builtins", "math"):
            return value
        if type(value).__module__.startswith("torch.testing"):  # an op_db entry as a default
            return value
        if isinstance(value, oracle.nn.Module):
            return self.function(type(value))()
        raise Absent(f"{type(value).__name__} {getattr(value, '__qualname__', value)}")

    def tensor(self, value: Any) -> Any:
        """A tensor of the library over a copy of the same memory."""
        made = from_oracle(value) if value.layout is oracle.strided else compressed(value)
        if value.requires_grad:
            made.requires_grad_()
            self.leaves.append((value, made))
        return made


def from_oracle(value: Any) -> Any:
    """The library's tensor with the same memory, strides and lazy bits."""
    plain = value.detach()
    conj, neg = plain.is_conj(), plain.is_neg()
    if conj:
        plain = plain.conj()
    if neg:
        plain = plain.resolve_neg()
    kind = str(plain.dtype).removeprefix("torch.")
    want = counterpart(kind)
    size = plain.untyped_storage().nbytes() // plain.element_size()
    memory, offset = plain.as_strided((size,), (1,), 0), plain.storage_offset()
    if kind == "bfloat16":
        made = subject.from_numpy(memory.view(oracle.int16).numpy().copy()).view(want)
    elif kind == "complex32":
        pairs = oracle.view_as_real(memory).numpy().copy()
        made = subject.view_as_complex(subject.from_numpy(pairs))
    elif kind.startswith("float8"):
        raise Absent(f"torch.{kind}")
    else:
        made = subject.from_numpy(memory.numpy().copy())
    made = made.as_strided(tuple(plain.shape), plain.stride(), offset).detach()
    return made.conj() if conj else made


def compressed(value: Any) -> Any:
    """The library's sparse tensor with the same rows."""
    if value.layout is not oracle.sparse_csr:
        raise Absent(f"layout {value.layout}")
    plain = value.detach()
    parts = plain.crow_indices(), plain.col_indices(), plain.values()
    return subject.sparse_csr_tensor(*map(from_oracle, parts), size=tuple(plain.shape))


def dense(value: Any) -> Any:
    """A tensor without a sparse layout."""
    return value if "strided" in str(value.layout) else value.to_dense()


def to_numpy(value: Any) -> Any:
    """The values of a tensor of either library; 16-bit floats as float32."""
    value = value.detach()
    kind = str(value.dtype).rpartition(".")[2]
    if kind == "bfloat16":
        value = value.float()
    if kind == "complex32":
        library = oracle if isinstance(value, oracle.Tensor) else subject
        value = value.to(library.complex64)
    if getattr(value, "_is_zerotensor", bool)():
        value = value.clone()
    return value.resolve_conj().resolve_neg().numpy()


# Comparing


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of either library."""
    return isinstance(value, (oracle.Tensor, subject.Tensor))


def flat(value: Any) -> list[Any]:
    """The tensors in a result, in order."""
    if is_tensor(value):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in flat(item)]
    return []


def different(
    want: Any, have: Any, values: bool = True, scale: float = 0.0, wide: float = 1.0
) -> str:
    """How two results differ, "" if they do not."""
    if is_tensor(want):
        if not is_tensor(have):
            return f"{type(have).__name__} for a tensor"
        kind = str(want.dtype).rpartition(".")[2]
        if kind != str(have.dtype).rpartition(".")[2]:
            return f"dtype {have.dtype} for {want.dtype}"
        if tuple(want.shape) != tuple(have.shape):
            return f"shape {tuple(have.shape)} for {tuple(want.shape)}"
        if str(want.layout) != str(have.layout).replace(subject.__name__, "torch"):
            return f"layout {have.layout} for {want.layout}"
        if not values:
            return ""
        arrays = to_numpy(dense(want.detach())), to_numpy(dense(have.detach()))
        return different_values(*arrays, kind, scale, wide)
    if isinstance(want, (tuple, list)):
        if not isinstance(have, (tuple, list)):
            return f"{type(have).__name__} for {type(want).__name__}"
        if len(want) != len(have):
            return f"{len(have)} results for {len(want)}"
        for a, b in zip(want, have, strict=True):
            if found := different(a, b, values, scale, wide):
                return found
        return ""
    if isinstance(want, float) and isinstance(have, float):
        return different_values(np.asarray(want), np.asarray(have), "float64", 0.0, wide)
    if isinstance(want, (oracle.dtype, oracle.device, oracle.layout)):
        same = str(want) == str(have).replace(subject.__name__, "torch")
    else:
        same = type(want).__name__ == type(have).__name__ and want == have
    return "" if same or not values else f"{have!r} for {want!r}"


def different_values(want: Any, have: Any, kind: str, scale: float, wide: float) -> str:
    """How two arrays differ beyond the tolerance of their type."""
    if kind not in TOLERANCE:
        count = int((want != have).sum())
        return f"{count} of {want.size} values" if count else ""
    with np.errstate(all="ignore"):
        finite = np.abs(want[np.isfinite(want)])
        size = max(float(finite.max()) if finite.size else 0.0, scale)
        close = np.isclose(have, want, rtol=0.0, atol=wide * TOLERANCE[kind] * size, equal_nan=True)
        if close.all():
            return ""
        if not (np.isnan(want) == np.isnan(have)).all():
            return f"nan in {int((np.isnan(want) != np.isnan(have)).sum())} of {want.size} values"
        off = np.abs(have - want)[~close]
        worst = float(off.max()) / (size or 1.0)
    return f"values, by {worst:.1g}" if math.isfinite(worst) else "values, infinite"


# Running


def first_sentence(error: BaseException) -> str:
    """Type and first words of an error, without numbers."""
    text = str(error).split("\n")[0].split(". ")[0]
    return f"{type(error).__name__}: {text[:110]}"


def cotangents(outs: list[Any], order: int) -> list[tuple[Any, Any]]:
    """Random cotangents of both libraries for PyTorch's results."""
    generator, found = np.random.default_rng(order), []
    for out in outs:
        values = generator.uniform(-1, 1, tuple(out.shape))
        if out.dtype.is_complex:
            values = values + 1j * generator.uniform(-1, 1, tuple(out.shape))
        want = oracle.from_numpy(np.asarray(values)).to(out.dtype)
        found.append((want.requires_grad_(), from_oracle(want).requires_grad_()))
    return found


def seeded(library: Any, call: Callable[[], Any]) -> Any:
    """The call's result, from a fixed state of the default generator."""
    library.default_generator.manual_seed(0)
    return call()


Pairs = list[tuple[Any, Any]]


def gradients(
    library: Any, side: int, outs: Pairs, leaves: Pairs, weights: Pairs, graph: bool
) -> list[Any]:
    """The gradients of one library's results for its cotangents."""
    of = [[pair[side] for pair in pairs] for pairs in (outs, leaves, weights)]
    library.default_generator.manual_seed(0)
    found = library.autograd.grad(*of, allow_unused=True, create_graph=graph)
    return [gradient if gradient is None else dense(gradient) for gradient in found]


def samples_of(entry: Any, kind: str, requires_grad: bool, reference: bool = False) -> list[Any]:
    """PyTorch's samples, the same each time; `reference`: the larger set, with extreme values."""
    random.seed(0)
    np.random.seed(0)
    make = (reference and entry.reference_inputs_func) or entry.sample_inputs_func
    dtype = getattr(oracle, kind)
    return seeded(oracle, lambda: list(make(entry, "cpu", dtype, requires_grad)))


@dataclass
class Outcome:
    """What became of one entry in one type."""

    samples: int = 0
    compared: int = 0
    wrong: list[str] = field(default_factory=list)
    missing: str = ""


# Results that are not determined by the arguments: a vector's factor of modulus one is free, say.
# There PyTorch's table has a function of the result that is.
GAUGE = {
    "linalg.eig",
    "linalg.eigh",
    "linalg.svd",
    "svd",
    "linalg.qr",
    "svd_lowrank",
    "pca_lowrank",
}


def leafed(value: Any) -> Any:
    """PyTorch's arguments with tensors of a history as leaves, and views made without one, whose
    gradient PyTorch loses."""
    if isinstance(value, oracle.Tensor):
        fresh = value.grad_fn is not None or value._is_view()
        return value.detach().requires_grad_(value.requires_grad) if fresh else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return value
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(leafed, value))
    if isinstance(value, dict):
        return {key: leafed(item) for key, item in value.items()}
    return value


def compare(entry: Any, call: Any, sample: Any, derivatives: int, mode: str = "function") -> str:
    """Runs one sample on both; how they differ, "" if they do not, "-" if PyTorch raises."""
    arguments = (leafed(sample.input), *leafed(sample.args))
    keywords = leafed(sample.kwargs)
    translation = Translation()
    try:
        ours = translation.of(call)
        process = translation.of(sample.output_process_fn_grad)
        have_arguments, have_keywords = translation.of(arguments), translation.of(keywords)
    except Absent as absent:
        return f"missing {absent}"
    theirs, copied = call, mode == "in-place"

    def forward(function: Any, given: Any, named: Any) -> Any:
        if copied:
            given = (given[0].clone(), *given[1:])
        return function(*given, **named)

    try:
        want = seeded(oracle, lambda: forward(theirs, arguments, keywords))
    except Exception as error:
        if mode == "function":
            return "-"
        try:
            seeded(subject, lambda: forward(ours, have_arguments, have_keywords))
        except Exception as own:
            same = any(type(error).__name__ == base.__name__ for base in type(own).__mro__)
            return "" if same else f"{first_sentence(own)} for {first_sentence(error)}"
        return f"no error for {first_sentence(error)}"
    try:
        have = seeded(subject, lambda: forward(ours, have_arguments, have_keywords))
    except Exception as error:
        if isinstance(error, AttributeError) and "has no attribute" in str(error):
            return f"missing {error}"
        if isinstance(error, KeyError):  # an operator of torch.ops that has no kernel here
            return f"missing {error}"
        return first_sentence(error)
    unset = getattr(entry, "has_nondeterministic_output", False)
    if entry.name in GAUGE:
        try:
            want, have = sample.output_process_fn_grad(want), process(have)
        except Exception as error:
            return f"process {first_sentence(error)}"
    if found := different(want, have, not unset):
        return f"value: {found}"
    if not derivatives or unset:
        return ""
    if entry.name not in GAUGE:
        want, have = sample.output_process_fn_grad(want), process(have)
    outs = list(zip(flat(want), flat(have), strict=True))
    for a, b in outs:
        if a.requires_grad != b.requires_grad:
            return f"requires_grad {b.requires_grad}"
    outs = [(a, b) for a, b in outs if a.requires_grad]
    leaves = translation.leaves
    if not outs or not leaves:
        return ""
    # Values smaller than the arguments and cotangents come from cancellation.
    for order in range(1, derivatives + 1):
        weights = cotangents([a for a, _ in outs], order)
        deeper = order < derivatives
        try:
            wants = gradients(oracle, 0, outs, leaves, weights, deeper)
        except Exception:
            return ""
        try:
            haves = gradients(subject, 1, outs, leaves, weights, deeper)
        except Exception as error:
            return f"gradient {order}: {first_sentence(error)}"
        pairs = []
        largest = max(
            [1.0] + [float(abs(a.detach()).max()) for a in wants if a is not None and a.numel()]
        )
        largest = largest if math.isfinite(largest) else 1.0
        for a, b in zip(wants, haves, strict=True):
            if a is None or b is None:
                # A gradient that is zero may be said to be none.
                given = a if b is None else b
                if given is not None:
                    bound = TOLERANCE[str(given.dtype).rpartition(".")[2]] * largest
                    if given.numel() and float(abs(given.detach()).max()) > bound:
                        return f"gradient {order}: {'none' if b is None else 'one'}"
                continue
            wide = 10.0 ** (order - 1) * (LOST.get(entry.name, 1.0) if order > 1 else 1.0)
            if found := different(a, b, scale=largest, wide=wide):
                return f"gradient {order}: {found}"
            pairs.append((a, b))
        if not deeper:
            break
        # Each library says in its own way which gradients are constant: by what needs no gradient.
        kept = [(a, b) for a, b in pairs if a.requires_grad and b.requires_grad]
        outs, leaves = kept, leaves + weights
        if not outs:
            break
    return ""


def variants(entry: Any) -> list[tuple[str, Any]]:
    """The method and the in-place variant."""
    found = []
    for mode, what in (("method", entry.method_variant), ("in-place", entry.inplace_variant)):
        if callable(what):
            found.append((mode, what))
    return found


def chosen(samples: list[Any], bound: int) -> list[Any]:
    """At most `bound` of the samples, evenly spread."""
    if len(samples) <= bound:
        return samples
    return [samples[i * len(samples) // bound] for i in range(bound)]


def run(entry: Any, kind: str, bound: int, reference: bool = False) -> Outcome:
    """All comparisons of one entry in one type."""
    outcome = Outcome()
    dtype = getattr(oracle, kind)
    backward = dtype in entry.supported_backward_dtypes("cpu") and entry.supports_autograd
    derivatives = (2 if entry.supports_gradgrad else 1) if backward else 0
    try:
        samples = samples_of(entry, kind, backward, reference)
    except Exception:
        try:
            samples = samples_of(entry, kind, False, reference)
        except Exception:
            return outcome
    outcome.samples = len(samples)
    picked = chosen(samples, bound)
    for mode, call in [("function", entry.op), *variants(entry)]:
        for i, sample in enumerate(picked if mode == "function" else chosen(picked, 4)):
            order = derivatives if mode == "function" else min(derivatives, 1)
            try:
                found = compare(entry, call, sample, order, mode)
                if "gradient" in found and has_wrapper(entry):
                    wrapped = functools.partial(entry.gradcheck_wrapper, call)
                    found = compare(entry, wrapped, sample, order, mode)
            except Exception as error:  # the comparison itself
                found = f"comparison {first_sentence(error)}"
            if found == "-":
                continue
            outcome.compared += 1
            if found.startswith("missing "):
                outcome.missing = outcome.missing or found.removeprefix("missing ")
                outcome.wrong.append(found)
                break
            if found:
                label = f"{mode}: {found}" if mode != "function" else found
                outcome.wrong.append(f"{label}\0{i}")
    return outcome


def has_wrapper(entry: Any) -> bool:
    """Whether the table says that a part of the arguments is ignored, the upper triangle say: what
    the gradient is there is left open, so gradients are taken through the wrapper that drops it."""
    from torch.testing._internal.opinfo.core import OpInfo

    return entry.gradcheck_wrapper is not OpInfo.gradcheck_wrapper


def title(entry: Any) -> str:
    """`div(floor_rounding)`."""
    variant = entry.variant_test_name
    return f"{entry.name}({variant})" if variant else entry.name


def table() -> list[Any]:
    """The entries that can be run here: those without a compiler for CUDA."""
    module = "torch.testing._internal.common_methods_invocations"
    op_db = importlib.import_module(module).op_db
    return [entry for entry in op_db if not entry.name.startswith("jiterator")]


def sweep(
    kinds: list[str], only: list[str], bound: int, reference: bool = False
) -> dict[str, dict[str, Outcome]]:
    """Outcomes by type and entry."""
    oracle.set_num_threads(1)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _sweep(kinds, only, bound, reference)


def _sweep(
    kinds: list[str], only: list[str], bound: int, reference: bool
) -> dict[str, dict[str, Outcome]]:
    found: dict[str, dict[str, Outcome]] = {}
    for kind in kinds:
        found[kind] = {}
        dtype = getattr(oracle, kind)
        for entry in table():
            if only and title(entry) not in only and entry.name not in only:
                continue
            if not entry.supports_dtype(dtype, "cpu"):
                continue
            outcome = run(entry, kind, bound, reference)
            if outcome.compared:
                found[kind][title(entry)] = outcome
    return found


def listed() -> tuple[dict[str, dict[str, str]], dict[str, int], str]:
    """The list: reasons by type and entry, how many entries agree by type, PyTorch's version."""
    reasons: dict[str, dict[str, str]] = {kind: {} for kind in DTYPES}
    if not KNOWN.exists():
        return reasons, {}, ""
    tables = tomllib.loads(KNOWN.read_text(encoding="utf-8"))
    for part in tables["difference"]:
        for kind in part["dtypes"]:
            reasons[kind].update(dict.fromkeys(part["ops"], part["reason"]))
    return reasons, tables["agree"], tables["pytorch"]


def version() -> str:
    """`2.13` of PyTorch 2.13.0+cpu."""
    return ".".join(oracle.__version__.split(".")[:2])


def reason(outcome: Outcome) -> str:
    """The most frequent difference."""
    texts = [text.partition("\0")[0] for text in outcome.wrong]
    return max(texts, key=texts.count)


def write(found: dict[str, dict[str, Outcome]]) -> None:
    """Makes the list anew; an entry that still differs keeps its reason."""
    before = listed()[0]
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for kind, outcomes in found.items():
        for name, outcome in outcomes.items():
            if outcome.missing:
                groups[MISSING, name].append(kind)
            elif outcome.wrong:
                old = before[kind].get(name, MISSING)
                why = kind_of(reason(outcome)) if old == MISSING else old
                groups[why, name].append(kind)
    counts = {kind: sum(not o.wrong for o in outcomes.values()) for kind, outcomes in found.items()}
    save(groups, counts)


def save(groups: dict[tuple[str, str], list[str]], counts: dict[str, int]) -> None:
    """Writes the list: the types in which an entry differs for a reason; how many entries agree."""
    blocks: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (why, name), kinds in groups.items():
        blocks[why, tuple(kinds)].append(name)
    lines = [
        "# Entries of PyTorch's op_db that do not agree, by reason, and how many do agree.",
        "# `op_db.py --write` makes the list anew and keeps reasons; test_op_db.py holds to it.",
        "",
        f"pytorch = {toml(version())}",
        "",
        "[agree]",
        *(f"{kind} = {count}" for kind, count in counts.items()),
    ]
    for (why, kinds_of), names in sorted(blocks.items()):
        lines += ["", "[[difference]]", f"reason = {toml(why)}", f"dtypes = {toml(list(kinds_of))}"]
        lines += ["ops = [", *(f"  {toml(name)}," for name in sorted(names)), "]"]
    KNOWN.write_text("\n".join(lines) + "\n", encoding="utf-8")


def toml(value: Any) -> str:
    """A string or a list of strings in TOML."""
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def kind_of(text: str) -> str:
    """A difference without its numbers, to group by."""
    text = text.partition("\0")[0]
    return re.sub(r"-?\d[\d.e+-]*", "N", text)[:100]


def report(found: dict[str, dict[str, Outcome]], verbose: bool) -> None:
    """Counts by type, then what differs, grouped."""
    for kind, outcomes in found.items():
        wrong = {name: outcome for name, outcome in outcomes.items() if outcome.wrong}
        samples = sum(outcome.compared for outcome in outcomes.values())
        absent = [name for name, outcome in wrong.items() if outcome.missing]
        print(f"{kind}: {len(outcomes) - len(wrong)} of {len(outcomes)} entries agree "
              f"({samples} comparisons); {len(absent)} miss a name")  # fmt: skip
        for name in absent:
            print(f"  missing {wrong[name].missing}  [{name}]")
        groups: dict[str, list[str]] = defaultdict(list)
        for name, outcome in wrong.items():
            if not outcome.missing:
                groups[kind_of(reason(outcome))].append(
                    f"{name} {len(outcome.wrong)}/{outcome.compared}"
                )
        for group, names in sorted(groups.items(), key=lambda pair: -len(pair[1])):
            print(f"  {group}\n      {', '.join(names)}")
        if verbose:
            for name, outcome in wrong.items():
                for text in outcome.wrong:
                    message, _, sample = text.partition("\0")
                    print(f"    {name} #{sample}: {message}")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--dtype", nargs="+", default=["float64"], choices=[*DTYPES, *OTHERS, "all"]
    )
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--reference", action="store_true", help="the larger set of arguments")
    parser.add_argument("--write", action="store_true", help=f"make {KNOWN.name} anew, all types")
    parser.add_argument("-v", action="store_true", help="each difference")
    given = parser.parse_args()
    kinds = list(DTYPES) if given.write or "all" in given.dtype else given.dtype
    start = time.time()
    found = sweep(kinds, given.only, given.samples, given.reference)
    report(found, given.v)
    print(f"{time.time() - start:.0f} s")
    if given.write:
        write(found)


if __name__ == "__main__":
    sys.exit(main())
