"""The pages of the API reference, made from what `help()` shows: signature, docstring, example.

    python tools/api_pages.py DIR     write them there as Markdown

The table's functions are made from statements when the library is imported, so no reader of sources
sees them; here the library is imported and asked. The site's build calls `pages()` (site_hooks.py).
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import rushlight as torch

len(torch.ops.OPS)  # every file of the table is read
WIDTH = 88

# The groups of names on the pages, in their order, and where the names of each are stated: the room
# and the file of a function of the table, the file of another, or `name()` of a single one.
GROUPS = """
Modules and containers: module container
Parameters: parameter
Making tensors: making.creation making.from_data making.copies making.factory making.casts
Arithmetic: elementwise.arithmetic
Powers and roots: elementwise.powers
Comparison, logic, bits: elementwise.comparison
Choosing elements: elementwise.selection
Complex numbers: elementwise.complex_numbers
Elementary functions: elementwise.elementary sigmoid() tanh()
Special functions: elementwise.special elementwise.incomplete_gamma
Bessel functions: elementwise.bessel
Orthogonal polynomials: elementwise.polynomials
Sizes: layout.shape
Order of dimensions: layout.transposes
Parts: layout.slices
Joining and splitting: layout.joining
Rearranging: layout.rearrange
By strides: layout.strided
Views as copies: layout.view_copies
Random numbers: random.samples random.families random.fills
Products: matrix.products matrix.fused_products matrix.einsum
Norms and distances: matrix.norms distance
Solving, inverses, determinants: matrix.solving matrix.matrix_functions
Factorizations: matrix.decompositions matrix.factors matrix.reflections
Older names: matrix.removed
Sums and means: reduction.reductions
Extremes: reduction.extremes
Scans: reduction.scans
Sorting and searching: reduction.sorting
Statistics: reduction.statistics
Take and put: indexing.take indexing.subscript indexing.segments
Gather and scatter: indexing.scatter
Along a dimension: indexing.index_select
Frames of a signal: spectral.short_time
Windows: spectral.windows windows
Linear: linear linear() bilinear()
Convolution: conv layers.conv conv_tbc() convolution()
Pooling: pooling layers.pooling layers.average_pooling layers.adaptive_pooling
    layers.fractional_pooling
Padding: padding layers.padding
Images: upsampling pixelshuffle channelshuffle layers.interpolation
    affine_grid_generator() grid_sampler() grid_sampler_2d() grid_sampler_3d()
    native_channel_shuffle() channel_shuffle() pixel_shuffle() pixel_unshuffle()
Reshaping: flatten fold layers.unfold
Activation: activation layers.activation layers.softmax
Normalization: batchnorm instancenorm normalization layers.normalization native_batch_norm()
    native_group_norm() batch_norm_update_stats()
Dropout: dropout layers.dropout native_dropout() alpha_dropout() feature_alpha_dropout()
    feature_dropout()
Recurrent: rnn layers.recurrent
Attention and transformers: transformer MultiheadAttention() layers.attention layers.multi_head
Embedding: sparse layers.embedding embedding_bag() embedding_renorm_()
Losses: loss adaptive linear_cross_entropy_options layers.class_loss layers.loss layers.margin_loss
    layers.ctc layers.linear_loss layers.torch_forms
Rounding as small integers: layers.fake_quantization
Gradients: grad_mode anomaly_mode _vmap _engine graph gradcheck function variable
Sizes, memory, values: core
Types and devices: rushlight dtypes device _tensor
Settings: _root printing threads _alias
Seeds: random
Files and exchange: serialization dlpack
Errors: errors linalg
Other members: rare
Older types: torch storage
Sparse tensors: sparse_methods _products
"""


class Page(NamedTuple):
    """A page of the reference: its title, an opening sentence, and its parts.

    A part is a namespace, or those of its groups that stand behind a colon.
    """

    title: str
    opening: str
    parts: tuple[str, ...]


def _groups() -> dict[str, str]:
    """The group by home and name."""
    found: dict[str, str] = {}
    for line in GROUPS.strip().replace("\n    ", " ").splitlines():
        title, _, homes = line.partition(": ")
        found |= dict.fromkeys(homes.split(), title)
    return found


GROUP = _groups()
ORDER = ["Attributes", *dict.fromkeys(GROUP.values())]

# Pages of torch, torch.nn and torch.nn.functional: the end of the file's name, the title, groups.
SPLIT = {
    "torch": """
making: Making tensors, random numbers | Making tensors; Random numbers
arithmetic: Arithmetic, comparison | Arithmetic; Powers and roots; Comparison, logic, bits;
    Choosing elements; Complex numbers
elementary: Elementary and special functions | Elementary functions; Special functions
layout: Shapes, views, joins | Sizes; Order of dimensions; Parts; Joining and splitting;
    Rearranging; By strides; Views as copies
matrix: Matrices | Products; Norms and distances; Solving, inverses, determinants; Factorizations;
    Older names
reduction: Sums, extremes, sorting | Sums and means; Extremes; Scans; Sorting and searching;
    Statistics
indexing: Indexing | Take and put; Gather and scatter; Along a dimension
layers: Functions of layers | Linear; Convolution; Pooling; Padding; Images; Activation;
    Normalization; Dropout; Recurrent; Embedding; Losses; Rounding as small integers
types: Types, devices, storages | Types and devices; Errors; Older types
other: Modes, settings, seeds, files, signals | Gradients; Settings; Seeds; Files and exchange;
    Frames of a signal; Windows; Other members
""",
    "nn": """
modules: Modules and containers | Modules and containers; Parameters
linear: Linear, dropout, embedding, reshaping | Linear; Dropout; Embedding; Reshaping; Images
convolution: Convolution, pooling, padding | Convolution; Pooling; Padding
activation: Activation | Activation
normalization: Normalization | Normalization
recurrent: Recurrent layers, attention, transformers | Recurrent; Attention and transformers
losses: Losses and distances | Losses; Norms and distances
""",
    "functional": """
convolution: Convolution, pooling, padding, images | Convolution; Pooling; Padding; Reshaping;
    Images
activation: Activation, normalization, dropout | Activation; Elementary functions; Normalization;
    Dropout
losses: Losses and distances | Losses; Norms and distances
linear: Linear, attention, embedding | Linear; Attention and transformers; Embedding
""",
}


def split(stem: str, namespace: str) -> dict[str, Page]:
    """The pages of a namespace that has several, by the names of their files."""
    found = {}
    for line in SPLIT[stem].strip().replace("\n    ", " ").splitlines():
        end, _, rest = line.partition(": ")
        title, _, groups = rest.partition(" | ")
        whole = "torch" if namespace == "torch" else f"torch.{namespace}"
        found[f"{stem}-{end}"] = Page(
            f"{whole}: {title[0].lower()}{title[1:]}", "", (f"{namespace}:{groups}",)
        )
    return found


PAGES = {
    "tensor": Page(
        "torch.Tensor",
        "Members of tensors, and the methods that are functions of torch.",
        ("Tensor:Attributes; Sizes, memory, values; Gradients; Types and devices",),
    ),
    "tensor-more": Page(
        "torch.Tensor: conversion, filling, sparse tensors",
        "Conversion to other types, filling, members of sparse tensors, and rare ones.",
        (
            "Tensor:Making tensors; Choosing elements; Sizes; Parts; Rearranging; By strides; "
            "Random numbers; Sums and means; Take and put; Other members; Older types; "
            "Sparse tensors",
        ),
    ),
    **split("torch", "torch"),
    "autograd": Page(
        "torch.autograd",
        "Backpropagation, which is automatic differentiation in reverse mode: backward and "
        "gradients, modes, the graph and its hooks.",
        (
            "autograd",
            "autograd.graph",
            "autograd.grad_mode",
            "autograd.anomaly_mode",
        ),
    ),
    "autograd-more": Page(
        "torch.autograd: functions, forward mode, profiler",
        "What a custom function is given, Jacobians, forward mode, the profiler.",
        (
            "autograd.function",
            "autograd.functional",
            "autograd.forward_ad",
            "autograd.profiler",
        ),
    ),
    "func": Page("torch.func", "Transforms of functions: grad, vmap, jvp, vjp.", ("func",)),
    **split("nn", "nn"),
    "nn-init": Page("torch.nn.init", "How parameters start.", ("nn.init",)),
    "nn-utils": Page(
        "torch.nn.utils, torch.nn.parameter",
        "Clipping of gradients, packed sequences, weights in another form.",
        ("nn.utils", "nn.utils.rnn", "nn.parameter"),
    ),
    **split("functional", "nn.functional"),
    "optim": Page("torch.optim", "Optimizers.", ("optim",)),
    "optim-schedules": Page(
        "torch.optim.lr_scheduler, torch.optim.swa_utils",
        "Schedules of the learning rate, averages of the weights.",
        ("optim.lr_scheduler", "optim.swa_utils"),
    ),
    "linalg": Page("torch.linalg", "Linear algebra.", ("linalg",)),
    "fft": Page(
        "torch.fft, torch.signal",
        "Discrete Fourier transforms, windows.",
        ("fft", "signal.windows"),
    ),
    "special": Page("torch.special", "Special functions.", ("special",)),
    "distributions": Page("torch.distributions", "Random variables.", ("distributions",)),
    "data": Page(
        "torch.utils.data", "Data sets, samplers, and the loader of batches.", ("utils.data",)
    ),
    "utils": Page(
        "torch.utils",
        "Checkpointing, exchange of memory, hooks.",
        ("utils.checkpoint", "utils.dlpack", "utils.hooks"),
    ),
    "sparse": Page(
        "torch.sparse, torch.masked", "Sparse and masked tensors.", ("sparse", "masked")
    ),
    "fx": Page("torch.fx", "Programs traced into graphs.", ("fx",)),
    "more": Page(
        "More namespaces",
        "Saving, overrides, profiling.",
        ("serialization", "overrides", "profiler", "quasirandom", "memory"),
    ),
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
}


@functools.cache
def public(part: str) -> dict[str, Any]:
    """The functions and classes of a part of a page, by name; of Tensor its members."""
    namespace, _, groups = part.partition(":")
    if namespace == "Tensor":
        tensor = torch.Tensor
        found = {n: inspect.getattr_static(tensor, n) for n in dir(tensor) if not n.startswith("_")}
        own = {n: v for n, v in found.items() if n not in shared() and not is_in_place(n, found)}
        return {n: v for n, v in own.items() if group_of(n, v) in groups.split("; ")}
    module = torch if namespace == "torch" else importlib.import_module(f"rushlight.{namespace}")
    found = {n: getattr(module, n) for n in module.__all__ if not n.startswith("_")}
    found = {n: v for n, v in found.items() if is_ours(v)}
    if groups:
        found = {n: v for n, v in found.items() if group_of(n, v) in groups.split("; ")}
    return dict(sorted(found.items(), key=lambda item: (item[0].lower(), item[0])))


def is_ours(value: Any) -> bool:
    """Whether a value is a function or class of the library: no module, no import of its own."""
    home = getattr(value, "__module__", None) or "rushlight"
    return callable(value) and home.startswith(("rushlight", "torch"))


def home(value: Any) -> str:
    """Where a value is stated: "layers.conv" of a function of the table, else the file."""
    target = value if isinstance(value, type) else inspect.unwrap(value)
    entry = getattr(target, "entry", None) or getattr(getattr(target, "base", None), "entry", None)
    if entry is not None and entry.place:
        path = Path(entry.place[0])
        return f"{path.parent.name}.{path.stem}"
    words = (getattr(target, "__module__", None) or "core").split(".")
    return ".".join(words[-2:] if "ops" in words else words[-1:])


def group_of(name: str, value: Any) -> str:
    """The title of the group that a value belongs to; "" where it has none."""
    if not callable(value):
        return "Attributes"
    return GROUP.get(f"{name}()") or GROUP.get(home(value), "")


def full_name(namespace: str, name: str) -> str:
    """`torch.nn.Linear`; what only rushlight has is `rushlight.explain.svg`."""
    whole = namespace.partition(":")[0]
    own = whole in ("explain", "devices") or name == "install_as_torch"
    path = [] if whole == "torch" else [whole]
    return ".".join(["rushlight" if own else "torch", *path, name])


# ---- one name


def entry(full: str, value: Any, level: int) -> str:
    """Heading, signature, text and example of one name."""
    called, doc = usage(full.rpartition(".")[2], value)
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


def usage(name: str, value: Any) -> tuple[list[str], str]:
    """The calls of a value, in the words of its docstring or else as it is declared; the rest of
    the docstring."""
    called, doc = split_usage(name, inspect.getdoc(value) or "")
    if not callable(value):
        called = []
    return called or signature(name, value) * callable(value), doc


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
    """One page: for each part the names it has, then an entry for each."""
    title, opening, parts = PAGES[name]
    text = [f"# {title}", opening]
    for part in parts:
        found = public(part)
        if len(parts) > 1:
            text.append(f"## torch.{part}")
        names = {full_name(part, n): v for n, v in found.items()}
        text += listing(names, len(parts) == 1)
    if name == "tensor":
        text.insert(2, "Methods that are functions of torch, too: [below](#as-functions-of-torch).")
        text += methods()
    return "\n\n".join(piece for piece in text if piece) + "\n"


def listing(names: dict[str, Any], grouped: bool) -> list[str]:
    """Names in columns, then an entry for each; an in-place form is told in the entry of the name
    without `_`. grouped: by groups, where each name has one and there are several."""
    entries = {n: v for n, v in names.items() if not (n.endswith("_") and n[:-1] in names)}
    groups: dict[str, list[str]] = {}
    for full, value in entries.items():
        groups.setdefault(group_of(full.rpartition(".")[2], value), []).append(full)
    if not grouped or "" in groups:
        groups = {"": list(entries)}
    several = len(groups) > 1
    top, below = [], []
    for heading in sorted(groups, key=["", *ORDER].index):
        mark = re.sub(r"\W+", "-", heading.lower())
        columns = links(groups[heading])
        top.append(f"[**{heading}**](#{mark})\n\n{columns}" if several else columns)
        if several:
            below.append(f"## {heading} {{#{mark} data-search-exclude}}")
        for full in groups[heading]:
            text = entry(full, entries[full], 3)
            if f"{full}_" in names:
                last = full.rpartition(".")[2]
                text += f"\n\nIn place: [`{last}_`](#{full}_){{#{full}_}}."
            below.append(text)
    return top + below


def links(names: Iterable[str]) -> str:
    """Names in columns, each of which leads to its entry on this page."""
    last = {full: full.rpartition(".")[2] for full in names}
    wide = " wide" * any(len(name) > 20 for name in last.values())
    shown = [f"[`{name}`](#{full})" for full, name in last.items()]
    return f'<div class="names{wide}" markdown>\n' + "\n".join(shown) + "\n</div>"


@functools.cache
def shared() -> dict[str, str]:
    """The methods of Tensor that are functions of torch, and the page of each."""
    parts = {part: name for name, page in PAGES.items() for part in page.parts}
    places = {n: name for part, name in parts.items() if part[:6] == "torch:" for n in public(part)}
    return {n: p for n, p in places.items() if hasattr(torch.Tensor, n) and not n.endswith("_")}


def is_in_place(name: str, members: Container[str]) -> bool:
    """Whether a member of Tensor is told by the name before its `_`."""
    return name.endswith("_") and (name[:-1] in members or hasattr(torch, name))


def methods() -> list[str]:
    """The members of Tensor whose entries are elsewhere."""
    groups: dict[str, list[str]] = {}
    for name in sorted(shared()):
        groups.setdefault(group_of(name, getattr(torch, name)), []).append(name)
    members = dir(torch.Tensor)
    in_place = [n for n in members if n[0] != "_" and is_in_place(n, members)]
    return [
        "## As functions of torch",
        "`x.name(...)` is `torch.name(x, ...)`, where signature and example are.",
        *(
            f"**{title}**: "
            + " ".join(f"[`{n}`]({shared()[n]}.md#torch.{n})" for n in groups[title])
            for title in sorted(groups, key=ORDER.index)
        ),
        "## In place",
        "A name with `_` at its end is the method of the name before it, and writes the result "
        "into the tensor itself:",
        " ".join(f"`{n}`" for n in in_place),
    ]


def index() -> str:
    """The first page of the reference."""
    rows = [f"| [{p.title}]({name}.md) | {contents(p)} |" for name, p in PAGES.items()]
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


def contents(page: Page) -> str:
    """A page in a few words: its opening sentence, its groups, or the first names of few groups."""
    if page.opening:
        return page.opening
    groups = page.parts[0].partition(":")[2].split("; ")
    if len(groups) > 3:
        return ", ".join([groups[0], *(each.lower() for each in groups[1:])])
    names = [n for n in public(page.parts[0]) if not n.endswith("_")]
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


def anchors(made: dict[str, str]) -> dict[str, str]:
    """Where each name has its entry in these pages: `torch.fft.fft` -> `api/fft.md#...`."""
    found: dict[str, str] = {}
    for path, text in made.items():
        for name in re.findall(r"\{#((?:torch|rushlight)\.[\w.]+)\}", text):
            found.setdefault(name, f"{path}#{name}")
    return found


def main() -> None:
    """Write the pages into the folder that is named."""
    target = Path(sys.argv[1])
    for path, text in pages().items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
