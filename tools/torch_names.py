"""Write src/rushlight/_torch/torch_names.txt: which public names PyTorch has.

    python tools/torch_names.py        (in an environment with the PyTorch that rushlight follows)

With it, a name that rushlight lacks is told apart from a name that nobody has. One line a
namespace, its dotted name first and then its names; the line `modules` lists every public module.
Names only.
"""

import importlib
import pkgutil
import types
import warnings
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "src" / "rushlight" / "_torch" / "torch_names.txt"
# Namespaces whose every module is listed; of all others only that they exist, and their top
# module's names.
WHOLE = (
    "nn",
    "optim",
    "autograd",
    "utils.data",
    "distributions",
    "linalg",
    "fft",
    "special",
    "func",
)
CLASSES = ("torch.Tensor", "torch.nn.Module", "torch.nn.Parameter", "torch.optim.Optimizer")


def public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))


def own_names(namespace: object) -> list[str]:
    """The namespace's public names, without what it merely imported from elsewhere."""
    declared = set(getattr(namespace, "__all__", ()))

    def belongs(name: str) -> bool:
        value = getattr(namespace, name, None)
        if isinstance(value, types.ModuleType):
            return value.__name__.startswith("torch.")
        home = getattr(value, "__module__", None)
        return home is None or home.split(".")[0] in ("torch", "builtins")

    names = (name for name in dir(namespace) if public(name))
    return sorted(name for name in names if name in declared or belongs(name))


def main() -> None:
    warnings.simplefilter("ignore")
    torch = importlib.import_module("torch")
    found = pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None)
    modules = sorted({"torch", *(info.name for info in found if public(info.name))})
    lines = ["modules " + " ".join(modules)]
    for name in modules:
        inside = name.removeprefix("torch").removeprefix(".")
        if "." in inside and not any(f"{inside}.".startswith(f"{whole}.") for whole in WHOLE):
            continue
        try:
            namespace = importlib.import_module(name)
        except (
            Exception
        ):  # a module that needs something not installed here: its existence is all we say
            continue
        lines.append(" ".join([name, *own_names(namespace)]))
    for name in CLASSES:
        home, _, attribute = name.rpartition(".")
        lines.append(
            " ".join([name, *own_names(getattr(importlib.import_module(home), attribute))])
        )
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(modules)} modules, {sum(len(line.split()) - 1 for line in lines[1:])} names")


if __name__ == "__main__":
    main()
