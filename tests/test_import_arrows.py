"""The rooms of the package and the arrows between them, held by reading every source file.

A module may import from its own room and from rooms further left in ORDER, never from one to the
right, and no less so inside a function or by a text: there such an import hides a cycle. The few
that stand are listed in HIDDEN and BY_TEXT with their reasons. ARCHITECTURE.md shows the same
order.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "rushlight"


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All within a node but expressions, in which no import stands and most of the time goes."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child
            yield from statements(child)


def imports_of_torch(program: str) -> list[int]:
    """The lines where a program imports PyTorch: a `torch` not made rushlight by then."""
    made, found = [], []
    for node in statements(ast.parse(program)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            name = getattr(node.value.func, "attr", "")
            made += [node.lineno] if name == "install_as_torch" else []
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
        if any(module.partition(".")[0] == "torch" for module in modules):
            found.append(node.lineno)
    return [line for line in found if not any(earlier < line for earlier in made)]


def test_imports_of_torch_are_found():
    program = "import os, torch.nn as nn\ndef f():\n    from torch import tensor\n"
    assert imports_of_torch(program + "import torchvision, rushlight as torch\n") == [1, 3]
    assert imports_of_torch("rushlight.install_as_torch()\n" + program) == []


# The rooms from left to right, those within a line too; a module belongs to the longest prefix of
# its name that is listed. "" is the package itself, the facade of facades.
ORDER = [
    "_core",  # native: it imports nothing
    *("_levels.running", "_levels.opaque_array"),  # they import nothing
    *(
        "_base",
        "_alias.metadata",
        "_alias.stubs",
        "_alias.as_torch",
        "_torch.torch_version",
        "_torch.version",
    ),
    *("_torch", "return_types", "utils.hooks", "backends", "_devices"),
    *("ops.table", "ops.making", "ops.elementwise", "ops.layout", "ops.random", "ops.matrix"),
    *("ops.reduction", "ops.indexing", "ops.spectral", "ops.layers", "ops"),
    *("_devices.there", "_devices.launch"),  # asked for when a tensor is on an accelerator
    *("_devices.complex", "ops.making.there", "ops.random.there", "ops.layout.there"),
    *("ops.indexing.there", "ops.layout.there.strided", "ops.elementwise.there"),
    *("ops.reduction.there", "ops.matrix.there"),
    *("ops.spectral.there", "ops.layers.there", "optim._there", "_devices.complex_parts"),
    *("storage", "_tensor.rebuilding", "_tensor.sparse_methods", "_tensor", "_tensor.rare"),
    *("random", "_levels.settling", "_levels.structure", "_levels.batching"),
    *("_levels.batching_dims", "ops.elementwise.batching", "ops.layout.batching"),
    *("ops.indexing.batching", "ops.matrix.batching", "ops.reduction.batching"),
    *("ops.layers.batching", "_levels", "autograd"),
    "_root",  # torch's root namespace without the rooms built on it
    "_torch.functional",
    *("nn", "optim", "func", "nn.utils.stateless", "nn.utils._per_sample_grad"),
    *("_torch._functorch", "nn.attention.flex_attention", "_torch.__future__"),
    *("_tensor.foreach", "sparse"),
    *("_torch._tensor_str", "_torch._absent_device", "_torch._present_device", "_torch.opencl"),
    *("_torch.accelerator", "_torch.__config__"),
    *("memory", "devices", "linalg", "fft", "special", "signal", "serialization"),
    *("_torch._lowrank", "_torch._lobpcg", "_torch._dispatched", "amp"),
    *("_torch._cuda_graphs", "cuda"),
    *("_torch._private", "_torch._utils", "_torch.futures"),
    *("distributed", "distributed.algorithms.join", "utils"),  # a sampler asks for the rank
    *("nn.parallel._uneven", "nn.parallel.distributed"),
    *("_torch.types", "_torch.jit", "_torch.nested", "_capture", "_torch.compiler"),
    *("testing", "_torch.hub"),
    *("_torch.library", "multiprocessing", "cuda.amp"),
    *("_torch._torchvision", "overrides", "_records", "profiler", "_trace_calls"),
    *("distributions", "masked"),
    *("_torch.quasirandom", "explain", "_alias.spelling"),
    *("fx._compatibility", "fx.immutable_collections", "fx"),
    *("utils._python_dispatch", "utils._device", "utils.flop_counter"),
    "utils.tensorboard",
    "distributed.algorithms",
    *("distributed.optim", "distributed.tensor", "distributed.checkpoint", "distributed.fsdp"),
    "distributed.nn",
    *("_torch.export", "_torch.ao", "_torch._logging", "_torch._inductor", "_torch.monitor"),
    *("_torch._jit_types", "_torch._higher_order_ops", "_torch._classes", "_torch._rare"),
    "_callbacks",  # what the native core calls back into, from all of the above
    *("_torch._C", "_alias", ""),
    *("_alias.child", "_cli", "__main__", "_frozen"),
    "distributed._rank",  # a program of its own, that starts the command in a process of a job
]
# Modules whose texts name other modules in ways that no reader of files can follow, with reasons.
BY_TEXT: dict[str, str] = {
    "_torch._C": "its parts are modules that it enters",
    "_torch": "it imports what the rows of names.txt name",
    "_devices.there": "it imports the files that hold kernels",
    "_base.late": "it imports what `_callbacks` connects, which is read there",
    "_base.missing": "it imports what the module that asks it lists",
    "_base.pickled": "a file says of which module its objects are",
    "_alias": "it answers every import of torch",
    "fx.graph_module": "a pickled module of generated code",
    "nn.modules.module": "the module of a class that a program has written",
    "_callbacks": "it imports what the core asks for, which `_FOUND` lists",
    "ops.table.names": "it imports the room of a name, as the index has it",
    "return_types": "it imports the file that makes a class, as the op table says",
    "ops.table.statement": "the module of a function that a program has written",
    "utils.tensorboard.summary": "tensorboard's messages",
}
# The folder rooms/ has what few programs need. Nothing of the base imports from there: what shows
# programs the whole does.
ROOMS = {path.stem for path in (SOURCE / "rooms").iterdir()}
SHOWS_ALL = {"", "_alias", "_callbacks", "_cli", "_torch"}
# Imports of one of these rooms, from another or from a file of the base, with reasons.
ACROSS: dict[str, str] = {
    "nn.parallel._uneven -> distributed": "DistributedDataParallel",
    "nn.parallel.distributed -> distributed": "DistributedDataParallel",
    "serialization._unpickler -> sparse": "a file has a sparse tensor",
    "utils.data.distributed -> distributed": "a sampler asks for the rank",
    "distributed -> sparse": "a sparse gradient is gathered from all processes",
    "_trace_calls -> _records": "steps of optimizers have lines",
    "explain -> _records": "a report is made of records",
    "explain -> _trace_calls": "places of programs are shown alike",
    "multiprocessing -> distributed": "a process that fails says so to the others of a job",
}
# Imports that point to the right: "module -> imported": reason.
HIDDEN: dict[str, str] = {}
# Imports inside functions that close a circle of files, each within one room, and the reasons.
CLOSING: dict[str, str] = {
    "autograd.function -> autograd._custom_function": "what transforms do with a Function",
    "distributed._groups -> distributed._objects": "the first store's place is sent as an object",
    "explain._graph -> explain._drawing": "a graph shows itself in a notebook",
    "explain._graph -> explain._why": "an error says why there is no graph",
    "explain._profile -> explain._profile_page": "a profile writes its page",
    "explain._live -> explain._live_server": "a live page starts its server",
    "explain._watch -> explain._live": "a watch opens its page",
    "explain._watch -> explain._watch_table": "a watch prints itself",
    "explain._watch -> explain._watch_view": "a watch opens its view",
    "fx.graph -> fx._symbolic_trace": "generated code wraps the functions that the program wrapped",
    "fx.graph_module -> fx._symbolic_trace": "a pickled module is traced when it is read",
}


def room(module: str) -> str:
    """The room of a module, named from inside the package ("nn.init")."""
    found = [r for r in ORDER if module == r or (r and module.startswith(f"{r}."))]
    assert found, f"rushlight.{module} is in no room: give it one in ORDER of {Path(__file__).name}"
    return max(found, key=len)


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    parts = parts[parts[0] == "rooms" :]  # whose modules are the package's own
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules() -> dict[str, Path]:
    return {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


KNOWN = modules()


# A call of one of these with a text is an import of the module that the text names.
_IMPORTERS = {"import_module", "__import__", "imported"}
ANYTHING = "any module"  # a name that is put together at run time


def named(node: ast.expr, package: str) -> str | None:
    """The module that an expression names, from inside the package; None: of another package."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
        if text.startswith("."):
            return f"{package}{text}".lstrip(".")
        known = text == "rushlight" or text.startswith("rushlight.")
        return text.removeprefix("rushlight").removeprefix(".") if known else None
    if isinstance(node, ast.Name) and node.id in ("__name__", "__package__"):
        return None  # the file's own
    if isinstance(node, ast.JoinedStr):
        first = node.values[0]
        if isinstance(first, ast.Constant) and not str(first.value).startswith(("rushlight", ".")):
            return None
    return ANYTHING


def texts(tree: ast.AST, package: str) -> Iterator[tuple[str, int]]:
    """The modules of the package that texts name: in calls that import, in `sys.modules`."""
    for node in ast.walk(tree):
        found = None
        if isinstance(node, ast.Call) and node.args:
            called = ast.unparse(node.func)
            if called.rpartition(".")[2] in _IMPORTERS or called == "sys.modules.get":
                found = node.args[0]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
            found = node.slice
        if found is not None and (module := named(found, package)) is not None:
            yield module, node.lineno


def imports(path: Path, module: str) -> Iterator[tuple[str, int, bool]]:
    """What a file imports from the package: module, line, whether inside a function.

    What only type checkers read (`if TYPE_CHECKING:`) is no arrow.
    """
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))

    def targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            base = node.module or ""
            if node.level:
                parts = package.split(".") if package else []
                parts = parts[: len(parts) - (node.level - 1)]
                base = ".".join(filter(None, ["rushlight", *parts, base]))
            # `from rushlight import nn` imports the module nn; `from rushlight.nn import Linear`
            # the module rushlight.nn.
            names = [
                f"{base}.{alias.name}" if is_module(f"{base}.{alias.name}") else base
                for alias in node.names
            ]
        for name in names:
            if name == "rushlight" or name.startswith("rushlight."):
                yield name.removeprefix("rushlight").removeprefix(".")

    def walk(node: ast.AST, inside: bool) -> Iterator[tuple[str, int, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                for target in targets(child):
                    yield target, child.lineno, inside
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for other in child.orelse:
                    yield from walk(other, inside)
            elif not isinstance(child, ast.expr):
                function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                yield from walk(child, inside or function)

    yield from walk(tree, False)
    for target, line in texts(tree, package):
        yield target, line, True


def is_module(dotted: str) -> bool:
    inner = dotted.removeprefix("rushlight").removeprefix(".")
    return inner in KNOWN or inner == "_core" or inner.startswith("_core.")


def test_no_import_points_to_the_right() -> None:
    wrong = []
    every = (
        (module, path, *found) for module, path in KNOWN.items() for found in imports(path, module)
    )
    for module, path, target, line, inside in every:
        if target == ANYTHING:
            if module not in BY_TEXT:
                wrong.append(
                    f"{path.relative_to(ROOT)}:{line} imports a module by a text made there"
                )
            continue
        here, there = room(module), room(target)
        hidden = inside and f"{module} -> {target}" in HIDDEN
        if ORDER.index(there) > ORDER.index(here) and not hidden:
            whole = ".".join(filter(None, ["rushlight", target]))
            how = ", inside a function," if inside else ""
            wrong.append(
                f"{path.relative_to(ROOT)}:{line} imports {whole}{how} from the room "
                f"'{there or 'rushlight'}', to the right of its own, '{here}'"
            )
    assert not wrong, "\n".join(wrong)


def test_rooms_stand_on_the_base_alone() -> None:
    wrong, across = [], set()
    for module, path in KNOWN.items():
        for target, line, _ in imports(path, module):
            here, there = module.partition(".")[0], target.partition(".")[0]
            if there not in ROOMS or here == there or here in SHOWS_ALL:
                continue
            arrow = f"{here if here in ROOMS else module} -> {there}"
            across.add(arrow)
            if arrow not in ACROSS:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports the room {there}")
    assert not wrong, "\n".join(wrong)
    assert ACROSS.keys() <= across, "an exception in ACROSS stands for no import any more"


def taken(path: Path, module: str) -> Iterator[tuple[str, str, int]]:
    """The private names that a file takes from others: the other module, the name, the line.

    By `from ... import`, or as attributes of modules that it imports.
    """
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom):
            continue
        parts = package.split(".") if package else []
        inside = ".".join(
            [*parts[: len(parts) - (node.level - 1)], *(node.module or "").split(".")]
        )
        if not node.level:
            if not f"{node.module}.".startswith("rushlight."):
                continue
            inside = (node.module or "").removeprefix("rushlight")
        inside = inside.strip(".")
        for alias in node.names:
            whole = f"{inside}.{alias.name}".strip(".")
            if is_module(f"rushlight.{whole}"):
                modules[alias.asname or alias.name] = whole
            elif alias.name.startswith("_") and not alias.name.startswith("__"):
                yield inside, alias.name, node.lineno
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            private = node.attr.startswith("_") and not node.attr.startswith("__")
            if private and node.value.id in modules:
                where = modules[node.value.id]
                if where != "_core" and not is_module(f"rushlight.{where}.{node.attr}"):
                    yield where, node.attr, node.lineno


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Files that import one another, in a circle; none where there is no circle."""
    done: set[str] = set()

    def search(module: str, way: list[str]) -> list[str]:
        if module in way:
            return way[way.index(module) :]
        for other in sorted(graph[module] - done):
            if found := search(other, [*way, module]):
                return found
        done.add(module)
        return []

    return next((found for module in graph if (found := search(module, []))), [])


def test_circles_are_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_file_is_in_a_circle() -> None:
    graph: dict[str, set[str]] = {module: set() for module in KNOWN}
    arrows = set()
    for module, path in KNOWN.items():
        for target, _, _ in imports(path, module):
            arrows.add(arrow := f"{module} -> {target}")
            if target in graph and target != module and arrow not in CLOSING.keys() | HIDDEN.keys():
                graph[module].add(target)
    assert not circle(graph)
    assert CLOSING.keys() <= arrows, "an exception in CLOSING stands for no import any more"
    across = [a for a in CLOSING if len({room(m) for m in a.split(" -> ")}) > 1]
    assert not across, "a circle of several rooms"


def test_what_is_asked_of_the_right_is_connected() -> None:
    from rushlight._base.late import Late, late

    assert vars(late).keys() == Late.__annotations__.keys()


def test_files_of_ops_share_public_names_only() -> None:
    """A name that begins with an underscore is for one file; modules may have such names."""
    private = [
        f"{path.relative_to(ROOT)}:{line} takes {name} from {where}"
        for module, path in KNOWN.items()
        if module.startswith("ops.") and not {"there", "batching"} & {*module.split(".")}
        for where, name, line in taken(path, module)
    ]
    assert not private, "\n".join(private)


def test_the_exceptions_are_needed() -> None:
    free = {m for m, path in KNOWN.items() if ANYTHING in {t for t, *_ in imports(path, m)}}
    assert not BY_TEXT.keys() - free, "an exception in BY_TEXT stands for no text any more"
    found = {
        f"{module} -> {target}"
        for module in {name.partition(" -> ")[0] for name in HIDDEN} & KNOWN.keys()
        for target, _, inside in imports(KNOWN[module], module)
        if inside
    }
    assert not set(HIDDEN) - found, "an exception in HIDDEN stands for no import any more"


@pytest.mark.parametrize("folder", ["src", "native"])
def test_nothing_imports_pytorch(folder: str) -> None:
    """Neither the package nor its native part needs PyTorch."""
    wrong = []
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix == ".py":
            lines = imports_of_torch(path.read_text(encoding="utf-8"))
            wrong += [f"{path.relative_to(ROOT)}:{line}" for line in lines]
        elif path.suffix in (".cpp", ".h"):
            for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                code = text.split("//")[0]
                named = '"torch"' in code and path.name != "pytorch.cpp"  # tells types by name
                imported = re.search(r'PyImport_Import\w*\([^)]*"torch|import torch|<torch/', code)
                if named or imported:
                    wrong.append(f"{path.relative_to(ROOT)}:{number}")
    assert not wrong, wrong


def test_the_suite_is_collected_without_pytorch() -> None:
    """A test file reaches for PyTorch with `pytest.importorskip`, or inside a function."""
    bare = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == "torch" for name in names):
                bare.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not bare
