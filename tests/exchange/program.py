"""Writes the corpus, or opens what was written: `write LIBRARY OUT` and `open LIBRARY IN OUT`.

LIBRARY is torch (PyTorch, in a process that cannot import rushlight), alias (rushlight as torch) or
own (rushlight by its name). What is written is {case: {writer: bytes}} and what the object gives
when it is called; what is found is, for each file, what it says once it was opened and written
again, and what the object gives then. The variable WRITERS names some of the writers.
"""

from __future__ import annotations

import copy
import importlib
import io
import os
import pickle
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import corpus
import symbols

PICKLES = (2, 3, 4, 5)


class _Without:
    """Finds no rushlight."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] == "rushlight":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def library(name: str) -> Any:
    if name == "torch":
        sys.meta_path.insert(0, _Without())
    if name == "alias":
        importlib.import_module("rushlight").install_as_torch()
    return importlib.import_module("rushlight" if name == "own" else "torch")


def writers(torch: Any, name: str) -> dict[str, Callable[[Any], bytes]]:
    def saved(obj: Any, **given: Any) -> bytes:
        file = io.BytesIO()
        torch.save(obj, file, **given)
        return file.getvalue()

    made: dict[str, Callable[[Any], bytes]] = {
        "save": saved,
        "save, protocol 4": lambda obj: saved(obj, pickle_protocol=4),
        "stream": lambda obj: saved(obj, _use_new_zipfile_serialization=False),
        "deepcopy": lambda obj: saved(copy.deepcopy(obj)),
        "copy": lambda obj: saved(copy.copy(obj)),
    }
    if name != "own":
        for protocol in PICKLES:
            made[f"pickle {protocol}"] = lambda obj, protocol=protocol: pickle.dumps(obj, protocol)
        # Python's own pickler, which other code than the fast one's writes.
        made["python"] = _by_python
        if find_spec("joblib"):
            made["joblib"] = _by_joblib
    wanted = os.environ.get("WRITERS")
    return {w: made[w] for w in wanted.split(",") if w in made} if wanted else made


def _by_python(obj: Any) -> bytes:
    file = io.BytesIO()
    pickle._Pickler(file, 4).dump(obj)  # type: ignore[attr-defined]
    return file.getvalue()


def _by_joblib(obj: Any) -> bytes:
    file = io.BytesIO()
    importlib.import_module("joblib").dump(obj, file)
    return file.getvalue()


def opened(torch: Any, writer: str, content: bytes) -> Any:
    if writer == "joblib":
        return importlib.import_module("joblib").load(io.BytesIO(content))
    if writer.startswith(("pickle", "python")):
        return pickle.loads(content)
    return torch.load(io.BytesIO(content), weights_only=False)


def write(torch: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for case in corpus.CASES:
        files = {}
        for writer, written in writers(torch, name).items():
            try:
                files[writer] = written(corpus.make(torch, case))
            except Exception as error:
                files[writer] = f"{type(error).__name__}: {error}"
        found[case] = files, corpus.results(torch, case, corpus.make(torch, case))
    return found


def reopen(torch: Any, name: str, found: dict[str, Any]) -> dict[str, Any]:
    again: dict[str, Any] = {}
    for case, (files, _) in found.items():
        for writer, content in files.items():
            if isinstance(content, bytes) and writer in writers(torch, name):
                try:
                    obj = opened(torch, writer, content)
                    file = io.BytesIO()
                    torch.save(obj, file)
                    again[case, writer] = (
                        symbols.said(file.getvalue()),
                        corpus.results(torch, case, obj),
                    )
                except Exception as error:
                    again[case, writer] = f"{type(error).__name__}: {error}"
    return again


def main(action: str, name: str, *files: str) -> None:
    warnings.simplefilter("ignore")
    torch = library(name)
    if action == "write":
        result = write(torch, name)
    else:
        with open(files[0], "rb") as file:
            result = reopen(torch, name, pickle.load(file))
    with open(files[-1], "wb") as file:
        pickle.dump(result, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
