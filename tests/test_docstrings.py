"""The examples of docstrings run, print what they say, and no public name is without one.

In an example `torch` is rushlight, `nn` and `F` are `torch.nn` and `torch.nn.functional`, `np` is
NumPy. Where PyTorch is installed, each example runs on it as well and must print the same there:
so what an example claims is checked by something other than the code it stands in. Those of what
only rushlight has are listed in OURS.
"""

import ast
import doctest
import importlib
import inspect
import pydoc
import subprocess
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from rushlight import _torch
from rushlight._base.device import accelerators
from test_import_arrows import imports_of_torch

SOURCE = Path(__file__).resolve().parent.parent / "src" / "rushlight"
TABLES = sorted((SOURCE / "ops").rglob("examples.txt"))

# Where what is public says it comes from: Tensor and the dtypes print as torch's.
OWN = ("rushlight", "torch")
# Modules of the library's own, whose examples use names of the module.
INTERNAL = {"_base.missing", "_base.printing", "_levels.batching_rule"}
# Rooms that PyTorch does not have.
BEYOND = {"explain", "opencl"}
# Examples of what PyTorch does not have, or of what rushlight does beyond PyTorch.
OURS: dict[str, str] = {
    "": "imports rushlight by its own name",
    "autograd.anomaly_mode.detect_anomaly": "check_forward is rushlight's",
    "autograd.graph.region_activation_memory_budget": "refused by PyTorch outside of its compiler",
    "_higher_order_ops.associative_scan.associative_scan": "PyTorch compiles it first",
    "compiler.compile": "PyTorch's compiled functions do not explain themselves so",
    "backends.cudnn.version": "PyTorch's CUDA builds have a version",
    "backends.mps.is_macos_or_newer": "only PyTorch's builds for macOS can say",
    "backends.mps.is_macos13_or_newer": "only PyTorch's builds for macOS can say",
    "backends.rushlight": "a module that PyTorch does not have",
    "explain._watch.watch": "PyTorch has no such module",
    "_root.set_num_interop_threads": "PyTorch can be told once a process, and counts",
    **{
        f"nn.utils.prune.{name}": "in PyTorch the module must be imported first"
        for name in (
            *("identity", "random_unstructured", "l1_unstructured", "random_structured"),
            *("ln_structured", "global_unstructured", "custom_from_mask", "remove", "is_pruned"),
        )
    },
    **{
        name: "in PyTorch the module must be imported first"
        for name in (
            *("distributed.device_mesh.init_device_mesh", "utils.flop_counter.FlopCounterMode"),
            *("utils.benchmark.utils.common.select_unit", "utils.benchmark.utils.timer.Timer"),
        )
    },
    "fx._symbolic_trace.wrap": "PyTorch looks for the wrapped name in all later traces",
    "nn.parallel.data_parallel.data_parallel": "PyTorch's wants a GPU",
    "nn.parallel.distributed.DistributedDataParallel": "PyTorch's wants a process group",
    "sparse._products.saddmm": "PyTorch's fails for all arguments",
    "torch.saddmm": "the same",
    "torch.Tensor.cuda": "worded so by PyTorch's CPU builds only",
    "torch.Tensor.has_names": "PyTorch's tensors have no named dimensions any more",
    "torch.Tensor.names": "PyTorch's tensors have no named dimensions any more",
    "torch.ComplexDoubleTensor": "PyTorch has no such type object",
    "torch.ComplexFloatTensor": "PyTorch has no such type object",
}
# What would change the process for all tests that follow: run in one of its own.
ALONE = "_alias"
# How many public names of a namespace have no example yet: these may only fall.
WITHOUT: dict[str, int] = {
    "rushlight.sparse": 6,  # refused: what only GPUs, or builds with other libraries, compute
    # Those written in C++ (native/core/tensor.cpp), whose text is there; index and record_stream.
    "rushlight.Tensor": 26,
}

NAMESPACES = (
    "rushlight",
    "rushlight.Tensor",
    *(
        f"rushlight.{name}"
        for name in ("autograd", "fft", "func", "fx", "linalg", "special", "nn", "optim")
    ),
    *(
        f"rushlight.{name}"
        for name in (
            "backends",
            "cuda",
            "memory",
            "overrides",
            "profiler",
            "serialization",
            "sparse",
        )
    ),
    *(f"rushlight.autograd.{name}" for name in ("anomaly_mode", "forward_ad", "function")),
    *(f"rushlight.autograd.{name}" for name in ("functional", "grad_mode", "graph", "profiler")),
    *(f"rushlight.nn.{name}" for name in ("functional", "init", "parameter", "utils")),
    "rushlight.nn.utils.rnn",
    *(
        "rushlight.masked",
        "rushlight.quasirandom",
        "rushlight.signal.windows",
        "rushlight.optim.lr_scheduler",
    ),
    *(f"rushlight.utils.{name}" for name in ("checkpoint", "data", "dlpack", "hooks")),
    *(f"rushlight.backends.{name}" for name in ("cuda", "cudnn", "mkldnn", "mps")),
)


def _steps(text: str) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(text)


class Example(NamedTuple):
    """A docstring, or a block of the table's examples."""

    name: str  # "nn.modules.linear.Linear", or "torch.add" of the table
    text: str
    path: Path
    line: int


def _docstrings(path: Path) -> Iterator[Example]:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    module = module.removeprefix("_torch.").removeprefix("rooms.")

    def visit(node: ast.AST, name: str) -> Iterator[Example]:
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(node, clean=False)
            if text and ">>>" in text:
                yield Example(name, text, path, node.body[0].lineno)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.expr, ast.Return, ast.Assign)):
                continue  # most of a file, without a class or a function in it
            inner = getattr(child, "name", "")
            yield from visit(child, f"{name}.{inner}".strip(".") if inner else name)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), module)


def _table() -> Iterator[Example]:
    for path in TABLES:
        line = 1
        for block in path.read_text(encoding="utf-8").rstrip().split("\n\n"):
            if not block.startswith("#"):
                yield Example(block.partition("\n")[0], block, path, line)
            line += block.count("\n") + 2


def _public(namespace: str) -> dict[str, Any]:
    """The functions and classes of a namespace; modules, dtypes and other values are none.

    Of Tensor: its methods and attributes.
    """
    if namespace.endswith(".Tensor"):
        rushlight = importlib.import_module("rushlight")
        tensor = rushlight.Tensor
        len(rushlight.ops.OPS)  # every file of the table is read
        return {n: inspect.getattr_static(tensor, n) for n in dir(tensor) if not n.startswith("_")}
    module = importlib.import_module(namespace)
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == namespace]
    rows = _torch.listed(namespace.removeprefix("rushlight."))  # these refuse, or answer a constant
    found = {n: getattr(module, n) for n in listed if not n.startswith("_") and n not in rows}
    return {
        name: value
        for name, value in found.items()
        # A module's own imports, such as typing.Any, are no names of the library.
        if callable(value) and getattr(value, "__module__", "rushlight").startswith(OWN)
    }


def _made_when_imported(known: list[Example]) -> Iterator[Example]:
    """Docstrings that are no literals of a `def` or a `class`."""
    steps = {step.source + step.want for e in known for step in _steps(e.text)}
    for namespace in NAMESPACES:
        for name, value in _public(namespace).items():
            text = getattr(value, "__doc__", None) or ""
            if any(step.source + step.want not in steps for step in _steps(text)):
                yield Example(
                    f"{namespace}.{name}".replace("rushlight", "torch", 1), text, SOURCE, 1
                )


EXAMPLES = [e for path in sorted(SOURCE.rglob("*.py")) for e in _docstrings(path)]
EXAMPLES += _table()
EXAMPLES += _made_when_imported(EXAMPLES)
EXAMPLES = [e for e in EXAMPLES if not e.name.startswith(ALONE)]
SHARED = [e for e in EXAMPLES if e.name not in OURS and e.name not in INTERNAL]
SHARED = [e for e in SHARED if e.name.rpartition(".")[0] not in INTERNAL]
SHARED = [e for e in SHARED if e.name.partition(".")[0] not in BEYOND]


def _names(library: str) -> dict[str, Any]:
    torch = importlib.import_module(library)
    assert torch.__name__ == library, "rushlight has been installed as torch in this process"
    # PyTorch imports some of its rooms only when asked.
    for room in ("autograd.forward_ad", "autograd.profiler", "func", "nn.utils.rnn"):
        importlib.import_module(f"{library}.{room}")
    for room in ("utils.checkpoint", "utils.data", "distributed.checkpoint"):
        importlib.import_module(f"{library}.{room}")
    importlib.import_module(f"{library}.distributed.elastic.multiprocessing.errors")
    return {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np}


def _settings(torch: Any) -> list[Any]:
    """What an example may change, and must put back."""
    ask = "get_default_dtype get_default_device get_num_threads is_grad_enabled is_anomaly_enabled"
    ask += " are_deterministic_algorithms_enabled"
    return [getattr(torch, name)() for name in ask.split()] + [repr(torch.tensor(1 / 3))]


def _check(example: Example, names: dict[str, Any]) -> None:
    torch = names["torch"]
    names = {**names, "__name__": "__main__"}
    test = doctest.DocTestParser().get_doctest(
        example.text, names, example.name, str(example.path), example.line - 1
    )
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    before, numbers = _settings(torch), torch.get_rng_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = runner.run(test, out=said.append)
    torch.set_rng_state(numbers)
    if result.failed:
        pytest.fail("".join(said), pytrace=False)
    assert _settings(torch) == before


@pytest.fixture(autouse=True)
def no_accelerator_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a fresh process, whatever tests before this one did there."""
    monkeypatch.setattr(type(accelerators), "wanted", False)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_example_prints_what_it_says(example: Example):
    names = _names("rushlight")
    module = example.name.rpartition(".")[0]
    if module in INTERNAL:
        names = {**vars(importlib.import_module(f"rushlight.{module}")), **names}
    _check(example, names)


def test_examples_that_need_a_process_of_their_own():
    program = f"import doctest, sys, rushlight.{ALONE} as m; sys.exit(doctest.testmod(m).failed)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("example", SHARED, ids=lambda e: e.name)
def test_example_prints_the_same_in_pytorch(example: Example):
    pytest.importorskip("torch")
    names = _names("torch")
    if (
        example.name.startswith(("cuda.", "backends."))
        and names["torch"].accelerator.is_available()
    ):
        pytest.skip("PyTorch sees a device here; rushlight has none")
    _check(example, names)


def test_every_example_shows_a_result():
    assert [e.name for e in EXAMPLES if not any(step.want for step in _steps(e.text))] == []


def test_no_example_imports_pytorch():
    """In an example `torch` is rushlight: an import would find PyTorch, or nothing."""
    every = [*EXAMPLES, *_docstrings(SOURCE / ALONE / "__init__.py")]
    programs = [(e.name, "".join(step.source for step in _steps(e.text))) for e in every]
    assert [name for name, program in programs if imports_of_torch(program)] == []


def test_blocks_are_in_order():
    """By namespace and name, each once: so that one finds them, and two branches agree."""
    for path in TABLES:
        names = [e.name for e in _table() if e.path == path]
        assert names == sorted(set(names), key=lambda name: name.rpartition(".")[::2])
    every = [e.name for e in _table()]
    assert sorted(every) == sorted(set(every))


# ---- every public name has one


def _has_example(function: Any, find: Callable[[str], Any]) -> bool:
    text = getattr(function, "__doc__", None) or ""
    if ">>>" in text:
        return True
    # In-place forms, functional aliases: what the function that they name does, they do.
    for words in ("In-place version of `", "Another name of `", "Deprecated name of `"):
        if text.startswith(words):
            named = find(text[len(words) :].partition("`")[0])
            return named is not None and named is not function and _has_example(named, find)
    return False


def _without(namespace: str) -> list[str]:
    public = _public(namespace)
    tensor = importlib.import_module("rushlight").Tensor

    def find(name: str) -> Any:
        return public.get(name) or getattr(tensor, name, None)

    return [name for name, value in public.items() if not _has_example(value, find)]


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_public_names_have_examples(namespace: str):
    missing = _without(namespace)
    assert len(missing) == WITHOUT.get(namespace, 0), (
        f"{namespace}: {len(missing)} names have a docstring without an example (ops: a block in "
        f"ops/examples.txt), {WITHOUT.get(namespace, 0)} are expected: {', '.join(missing)}"
    )


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_public_names_have_a_sentence(namespace: str):
    texts = {name: getattr(value, "__doc__", "") for name, value in _public(namespace).items()}
    bare = [n for n, text in texts.items() if not text or text.startswith((">>>", "None\n"))]
    assert not bare


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_help_shows_them(namespace: str):
    """`help(torch.zeros)` looks docstrings up in a way of its own."""
    public = _public(namespace)
    blind = [name for name, value in public.items() if not pydoc.getdoc(value)]
    assert not blind


def test_namespaces_are_those_of_the_package():
    """A namespace added to a package's `__all__` is added to NAMESPACES."""
    package = importlib.import_module("rushlight")
    modules = [getattr(package, name) for name in package.__all__]
    listed = {m.__name__ for m in modules if isinstance(m, types.ModuleType)}
    listed = {name for name in listed if name.startswith("rushlight.")}
    internal = {"base", "dtypes", "errors", "ops", "printing", "random", "size", "utils"}
    found = {n for n in listed if n.rpartition(".")[2] not in internal}
    assert not sorted(found - set(NAMESPACES))
