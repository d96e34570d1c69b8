"""The pages of the API reference, made from what `help()` shows: signature, docstring, example.

    python tools/api_pages.py DIR     write them there as Markdown

The table's functions are made from statements when the library is imported, so no reader of sources
sees them; here the library is imported and asked. The site's build calls `pages()` (site_hooks.py).
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
from public_stub import ROOMS, room_of

import rushlight as torch

len(torch.ops.OPS)  # every file of the table is read
WIDTH = 88

# The rooms of the table, as headings.
ROOM_TITLES = {
    "making": "Making tensors",
    "elementwise": "Element by element",
    "layout": "Shapes, views, joins",
    "random": "Random numbers",
    "matrix": "Matrices",
    "reduction": "Sums, extremes, sorting",
    "indexing": "Indexing",
    "spectral": "Fourier transforms, windows",
    "layers": "Functions of layers",
}


class Page(NamedTuple):
    """A page of the reference: its title, an opening sentence, and its namespaces.

    A namespace `torch:ROOM` is the part of torch whose functions that room of the table has.
    """

    title: str
    opening: str
    namespaces: tuple[str, ...]


PAGES = {
    "explain": Page(
        "rushlight.explain",
        "The graph as a person can read it: text, pictures, a page. Only rushlight has these.",
        ("explain",),
    ),
    "devices": Page(
        "rushlight.devices",
        "What runs on an accelerator, and what goes by way of the host. Only rushlight has these; "
        "what programs ask of an accelerator is torch.accelerator.",
        ("devices", "accelerator"),
    ),
    "autograd": Page(
        "torch.autograd",
        "Backward and gradients, modes, custom functions, the graph and its hooks.",
        (
            "autograd",
            "autograd.graph",
            "autograd.functional",
            "autograd.forward_ad",
            "autograd.grad_mode",
            "autograd.function",
            "autograd.anomaly_mode",
            "autograd.profiler",
        ),
    ),
    "func": Page("torch.func", "Transforms of functions: grad, vmap, jvp, vjp.", ("func",)),
    "tensor": Page("torch.Tensor", "Members of tensors.", ("Tensor",)),
    **{
        f"torch-{room}": Page(f"torch: {title.lower()}", "Functions of torch.", (f"torch:{room}",))
        for room, title in ROOM_TITLES.items()
    },
    "torch-other": Page(
        "torch: modes, types, settings",
        "What of torch computes nothing: modes, types, settings, saving.",
        ("torch:",),
    ),
    "nn": Page(
        "torch.nn",
        "Layers, losses, containers, and how their parameters start.",
        ("nn", "nn.init", "nn.parameter", "nn.utils", "nn.utils.rnn"),
    ),
    "functional": Page("torch.nn.functional", "Layers as functions.", ("nn.functional",)),
    "optim": Page(
        "torch.optim",
        "Optimizers, and schedules of their learning rates.",
        ("optim", "optim.lr_scheduler", "optim.swa_utils"),
    ),
    "linalg": Page("torch.linalg", "Linear algebra.", ("linalg",)),
    "fft": Page("torch.fft", "Discrete Fourier transforms.", ("fft",)),
    "special": Page(
        "torch.special, torch.signal", "Special functions, windows.", ("special", "signal.windows")
    ),
    "distributions": Page("torch.distributions", "Random variables.", ("distributions",)),
    "utils": Page(
        "torch.utils",
        "Data loading, checkpointing, exchange of memory, hooks.",
        ("utils.data", "utils.checkpoint", "utils.dlpack", "utils.hooks"),
    ),
    "more": Page(
        "More namespaces",
        "Sparse and masked tensors, saving, tracing, profiling.",
        (
            *("sparse", "masked", "serialization", "fx", "overrides", "profiler"),
            *("quasirandom", "memory"),
        ),
    ),
}


def public(namespace: str) -> dict[str, Any]:
    """The functions and classes of a namespace, by name; of Tensor its members."""
    if namespace == "Tensor":
        tensor = torch.Tensor
        return {n: inspect.getattr_static(tensor, n) for n in dir(tensor) if not n.startswith("_")}
    whole, colon, room = namespace.partition(":")
    module = torch if colon else importlib.import_module(f"rushlight.{whole}")
    listed: Iterable[str] = getattr(module, "__all__", None) or [
        n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__
    ]
    found = {n: getattr(module, n) for n in listed if not n.startswith("_")}
    found = {n: v for n, v in found.items() if is_ours(v)}
    if colon:
        found = {n: v for n, v in found.items() if room_of_any(v) == room}
    return dict(sorted(found.items(), key=lambda item: (item[0].lower(), item[0])))


def is_ours(value: Any) -> bool:
    """Whether a value is a function or class of the library: no module, no import of its own."""
    home = getattr(value, "__module__", None) or "rushlight"
    return callable(value) and home.startswith(("rushlight", "torch"))


def room_of_any(value: Any) -> str:
    """The room of a function of torch; "" for what is no function of the table."""
    if isinstance(value, type) or not hasattr(inspect.unwrap(value), "__module__"):
        return ""
    return room_of(value)


def full_name(namespace: str, name: str) -> str:
    """`torch.nn.Linear`; what only rushlight has is `rushlight.explain.svg`."""
    whole = namespace.partition(":")[0]
    own = whole in ("explain", "devices") or name == "install_as_torch"
    path = [] if whole == "torch" else [whole]
    return ".".join(["rushlight" if own else "torch", *path, name])


# ---- one name


def entry(full: str, value: Any, level: int) -> str:
    """Heading, signature, text and example of one name."""
    name = full.rpartition(".")[2]
    doc = inspect.getdoc(value) or ""
    called, doc = split_usage(name, doc)
    if isinstance(value, (property, types.GetSetDescriptorType, types.MemberDescriptorType)):
        called = []
    elif not called:
        called = signature(name, value)
    parts = [f"{'#' * level} {full} {{#{full}}}"]
    if isinstance(value, type):
        parts[0] = f"{'#' * level} class {full} {{#{full}}}"
    if called:
        parts.append("```python\n" + "\n".join(called) + "\n```")
    parts.append(markdown(doc))
    if isinstance(value, type) and full.startswith(("torch.", "rushlight.")):
        parts += [entry(f"{full}.{n}", v, level + 1) for n, v in sorted(members(value).items())]
    return "\n\n".join(part for part in parts if part)


def members(cls: type) -> dict[str, Any]:
    """The public methods and properties that a class itself states, where they say what they do."""
    if cls is torch.Tensor or issubclass(cls, tuple):
        return {}
    found = {}
    for name, value in vars(cls).items():
        plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        shown = inspect.isfunction(plain) or isinstance(plain, property)
        if not name.startswith("_") and shown and getattr(plain, "__doc__", None):
            found[name] = plain
    return found


def split_usage(name: str, doc: str) -> tuple[list[str], str]:
    """The calls with which a docstring of the table opens, and the rest of it."""
    lines = doc.splitlines()
    count = 0
    while count < len(lines) and re.match(rf"{re.escape(name)}_?\(.*\) -> ", lines[count]):
        count += 1
    return lines[:count], "\n".join(lines[count:]).strip()


def signature(name: str, value: Any) -> list[str]:
    """A call as it is declared, a parameter a line where one line is too long."""
    try:
        declared = inspect.signature(value)
    except (TypeError, ValueError):
        return []
    parameters = [p for p in declared.parameters.values() if p.name != "self"]
    texts = [plain(str(p)) for p in parameters]
    stars = [p.kind for p in parameters]
    keyword = inspect.Parameter.KEYWORD_ONLY
    if keyword in stars and inspect.Parameter.VAR_POSITIONAL not in stars:
        texts.insert(stars.index(keyword), "*")
    if inspect.Parameter.POSITIONAL_ONLY in stars:
        texts.insert(1 + max(i for i, k in enumerate(stars) if k is stars[0]), "/")
    result = declared.return_annotation
    arrow = ""
    if result is not inspect.Signature.empty and not isinstance(value, type):
        arrow = " -> " + plain(
            result if isinstance(result, str) else inspect.formatannotation(result)
        )
    line = f"{name}({', '.join(texts)}){arrow}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{name}(", *(f"    {text}," for text in texts), f"){arrow}"]


def plain(text: str) -> str:
    """A parameter without the quotes of its annotation, or the address of its default."""
    text = re.sub(r"(: |-> |^)'([^']*)'", r"\1\2", text)
    text = re.sub(r"<(?:function|class|built-in method) '?([\w.]+)(?:'| at| of)[^>]*>", r"\1", text)
    text = re.sub(r"<[^<>]*(?:<[\w.]+>[^<>]*)?at 0x\w+>", "...", text)
    return re.sub(r"\b(?:rushlight\.)?(?:dtypes|_dtypes|_core)\.(?=[a-zA-Z])", "", text)


# ---- a docstring as Markdown


def markdown(doc: str) -> str:
    """A docstring's paragraphs, indented blocks and examples."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(doc)) if doc else []:
        lines = paragraph.splitlines()
        first = next((i for i, line in enumerate(lines) if line.lstrip().startswith(">>>")), None)
        if first is None:
            parts.append(text_of(lines))
            continue
        if lines[:first]:
            parts.append(text_of(lines[:first]))
        example = inspect.cleandoc("\n".join(lines[first:])).splitlines()
        parts.append("\n".join(["```pycon", *example, "```"]))
    return "\n\n".join(parts)


def text_of(lines: list[str]) -> str:
    """A paragraph, or a block of code where all of it is indented."""
    if all(line.startswith("    ") for line in lines):
        return "\n".join(["```text", *(line[4:] for line in lines), "```"])
    return "\n".join(escaped(line.strip()) for line in lines)


def escaped(line: str) -> str:
    """A line whose signs mean nothing to Markdown, outside of `code`."""
    pieces = re.split(r"(``?[^`]+``?)", line)
    pieces[::2] = [re.sub(r"([\\*_<>\[\]#|{}~])", r"\\\1", piece) for piece in pieces[::2]]
    text = "".join(pieces).replace("\\<", "&lt;").replace("\\>", "&gt;")
    return re.sub(r"^(\d+)([.)]) |^([-+]) ", r"\1\\\2\3 ", text)


# ---- the pages


def pages() -> dict[str, str]:
    """All pages, by their path below docs/."""
    return {"api/index.md": index(), **{f"api/{name}.md": page(name) for name in PAGES}}


def page(name: str) -> str:
    """One page: for each namespace the names it has, then an entry for each."""
    title, opening, namespaces = PAGES[name]
    parts = ["---\nsearch:\n  boost: 0.5\n---", f"# {title}", opening]
    for namespace in namespaces:
        found = public(namespace)
        if namespace == "Tensor":
            parts += tensor(found)
            continue
        if len(namespaces) > 1:
            parts.append(f"## torch.{namespace}")
        names = {full_name(namespace, n): v for n, v in found.items()}
        parts.append(links(names))
        parts += [entry(full, value, 3) for full, value in names.items()]
    return "\n\n".join(parts) + "\n"


def links(names: Iterable[str]) -> str:
    """Names in columns, each of which leads to its entry on this page; in-place forms stand behind
    the names without `_`, and are left out."""
    every = list(names)
    kept = [full for full in every if not (full.endswith("_") and full[:-1] in every)]
    shown = [f"[`{full.rpartition('.')[2]}`](#{full})" for full in kept]
    return '<div class="names" markdown>\n' + "\n".join(shown) + "\n</div>"


def tensor(found: dict[str, Any]) -> list[str]:
    """The members of Tensor: in full only those that are not functions of torch too."""
    functions = {n for n in found if inspect.isroutine(getattr(torch, n, None))}
    in_place = {n for n in found if n.endswith("_") and n[:-1] in found and n not in functions} | {
        n for n in functions if n.endswith("_")
    }
    functions -= in_place
    own = {f"torch.Tensor.{n}": v for n, v in found.items() if n not in functions | in_place}
    shared = " ".join(f"`torch.{n}`" for n in sorted(functions))
    return [
        links(own),
        "## As functions of torch",
        "`x.name(...)` is `torch.name(x, ...)`, where their signature and example are:",
        shared,
        "## In place",
        "A name with `_` at its end is the method of the name before it, and writes the result "
        "into the tensor itself:",
        " ".join(f"`{n}`" for n in sorted(in_place)),
        "## Members",
        *(entry(full, value, 3) for full, value in own.items()),
    ]


def index() -> str:
    """The first page of the reference."""
    rows = [f"| [{p.title}]({n}.md) | {p.opening} |" for n, p in PAGES.items()]
    return "\n".join(
        [
            "# API reference",
            "",
            "Made from the docstrings, as `help()` shows them. In the examples `torch` is",
            "rushlight: `import rushlight as torch`, `from rushlight import nn`, and `F` is",
            "`nn.functional`. The tests run each example, on PyTorch too.",
            "",
            "| page | what is there |",
            "|---|---|",
            *rows,
            "",
        ]
    )


def anchors(made: dict[str, str]) -> dict[str, str]:
    """Where each name has its entry in these pages: `torch.fft.fft` -> `api/fft.md#...`."""
    found: dict[str, str] = {}
    for path, text in made.items():
        for name in re.findall(r"^#+ .*\{#([\w.]+)\}$", text, re.M):
            found.setdefault(name, f"{path}#{name}")
    return found


def main() -> None:
    """Write the pages into the folder that is named."""
    target = Path(sys.argv[1])
    for path, text in pages().items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(text, encoding="utf-8")


assert {*ROOMS} == {*ROOM_TITLES}

if __name__ == "__main__":
    main()
