"""`torch.hub`: models from a local folder's hubconf.py, and state dicts from local files.

Nothing is downloaded: what is wanted from the network is named, with the place to put it.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import importlib.util
import os
import re
import sys
import urllib.parse
import urllib.request
import uuid
from types import ModuleType
from typing import Any, NoReturn

from .._base.missing import missing_name as _missing_name
from ..serialization import load as _load

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_hub_dir: str | None = None


def _get_torch_home() -> str:
    """$TORCH_HOME, or "torch" in the user's cache."""
    cache = os.getenv("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder for what is kept: as set, or "hub" in $TORCH_HOME, or in the user's cache."""
    if _hub_dir is not None:
        return _hub_dir
    return os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder for what is kept."""
    global _hub_dir
    _hub_dir = os.path.expanduser(os.fspath(d))


def _needs_network(url: str, place: str) -> NoReturn:
    raise RuntimeError(
        f"torch.hub would download {url} to {place}, and rushlight downloads nothing. Put the file "
        "there yourself and call again."
    )


def _local_folder(repo_or_dir: Any, source: str) -> str:
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "local":
        return os.path.expanduser(os.fspath(repo_or_dir))
    repo, _, ref = str(repo_or_dir).partition(":")
    known = [
        os.path.join(get_dir(), f"{repo.replace('/', '_')}_{name.replace('/', '_')}")
        for name in ([ref] if ref else ["main", "master"])
    ]
    for folder in known:
        if os.path.exists(folder):
            return folder
    _needs_network(f"the repository {repo_or_dir}", known[0])


def _hubconf(repo_or_dir: object, source: str) -> ModuleType:
    folder = _local_folder(repo_or_dir, source)
    sys.path.insert(0, folder)
    try:
        path = os.path.join(folder, "hubconf.py")
        spec = importlib.util.spec_from_file_location("hubconf", path)
        if spec is None or spec.loader is None:
            raise ImportError(f"cannot import {path}")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    missing = [
        name
        for name in getattr(module, "dependencies", ())
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module: ModuleType, model: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    entry = getattr(module, model, None)
    if entry is None or not callable(entry):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return entry


def list(
    github: object,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: object = "check",
    verbose: bool = True,
    source: str = "github",
) -> builtins.list[str]:
    """The names of the models that a folder's hubconf.py makes."""
    module = _hubconf(github, source)
    return [n for n, f in vars(module).items() if callable(f) and not n.startswith("_")]


def help(
    github: object,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: object = "check",
    source: str = "github",
) -> str | None:
    """The docstring of a model's function."""
    module = _hubconf(github, source)
    text: str | None = _entry(module, model).__doc__
    return text


def load(
    repo_or_dir: object,
    model: str,
    *args: object,
    source: str = "github",
    trust_repo: object = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: object,
) -> Any:
    """Call a model's function in the hubconf.py of a folder (`source="local"`), or of a repository
    that was put into `get_dir()`."""
    return _entry(_hubconf(repo_or_dir, source), model)(*args, **kwargs)


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Copy a local file (`file:` URL).

    hash_prefix: how its SHA-256 must begin. Raises RuntimeError where it does not, and for what is
    in the network.
    """
    if urllib.parse.urlparse(url).scheme != "file":
        _needs_network(url, dst)
    with urllib.request.urlopen(url) as source:
        data = source.read()
    digest = hashlib.sha256(data).hexdigest()
    if hash_prefix and not digest.startswith(hash_prefix):
        raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
    beside = f"{dst}.{uuid.uuid4().hex}.partial"  # a file that is there under its name is whole
    try:
        with open(beside, "xb") as file:
            file.write(data)
        os.replace(beside, dst)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: object = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """`torch.load` of a file that is in model_dir already, or that a `file:` URL names."""
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urllib.parse.urlparse(url).path)
    place = os.path.join(folder, name)
    if not os.path.exists(place):
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, place, found[1] if found else None)
    return _load(place, map_location=map_location, weights_only=weights_only)


__getattr__ = _missing_name(__name__)
