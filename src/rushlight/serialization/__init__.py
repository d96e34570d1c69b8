"""`save` and `load`: PyTorch's checkpoint files, both ways, without PyTorch.

A checkpoint is a zip archive of uncompressed records: `data.pkl` is the pickled object, in which
every tensor is a call of `torch._utils._rebuild_tensor_v2` on a storage named by a persistent id
`('storage', torch.FloatStorage, key, location, numel)`; `data/<key>` is that storage's memory;
`version` and `byteorder` say what they say. Tensors that share a storage name the same key, and so
share memory again when loaded. In files of the format before PyTorch 1.6 the storages come last, in
one stream with the pickles.

`_pickler` is how objects are written and `_writer` the file around them; `_unpickler` is what
PyTorch's names stand for when they are read, `_safe` what a file that is not trusted may do,
`_records` the archive, `_archive` both formats; `_tensors` is the only place that knows what a
tensor is made of. docs/design/0009-loading-files.md says why.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import IO, Any, TypeAlias

from rushlight.serialization._pickler import Pickler
from rushlight.serialization._unpickler import (
    FAILED,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from rushlight.serialization._unpickler import get_layout as _get_layout  # noqa: F401  files name it
from rushlight.serialization._writer import write_records as _write_records
from rushlight.serialization._writer import write_stream as _write_stream
from rushlight.storage import buffer_of as _buffer_of

from .._base.device import device
from .._tensor.rebuilding import STREAM_MAGIC as MAGIC_NUMBER  # noqa: F401  a name of PyTorch
from .._tensor.rebuilding import STREAM_VERSION as PROTOCOL_VERSION  # noqa: F401
from . import _settings
from ._settings import *  # noqa: F403  all of its __all__ is public here
from ._settings import settings as _set

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]
__all__ += _settings.__all__

File: TypeAlias = "str | os.PathLike[str] | IO[bytes]"
FILE_LIKE: TypeAlias = File  # PyTorch's names, for annotations
LONG_SIZE, INT_SIZE, SHORT_SIZE, STORAGE_KEY_SEPARATOR = 4, 4, 2, ","
DEFAULT_PROTOCOL = 2
MAP_LOCATION: TypeAlias = "Callable[[Any, str], Any] | device | str | dict[str, str] | None"


def save(
    obj: object,
    f: File,
    pickle_module: object = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
    *,
    names: str = "torch",
) -> None:
    """Writes `obj` to a path or a binary file, in a form that PyTorch's `torch.load` reads.

    Nothing is written when `obj` cannot be pickled.

    names: with "torch" the library's classes and functions go by PyTorch's names, so that PyTorch
        opens whole modules, and `load` does too; with "rushlight" by their own.
    _use_new_zipfile_serialization: with False, the format from before PyTorch 1.6.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save(nn.Linear(2, 1).state_dict(), file)
    >>> _ = file.seek(0)
    >>> list(torch.load(file))
    ['weight', 'bias']
    """
    if names not in ("torch", "rushlight"):
        raise ValueError(f"save(): names is 'torch' or 'rushlight', not {names!r}")
    path = os.fspath(f) if isinstance(f, str | os.PathLike) else None
    if path is None and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute, "
            f"but got {type(f).__name__}"
        )
    folder, name = os.path.split(path or "")
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")

    pickled = io.BytesIO()
    stream = not _use_new_zipfile_serialization
    pickler = Pickler(pickled, pickle_protocol, names == "torch", stream)
    pickler.dump(obj)
    if stream:
        with nullcontext(f) if path is None else open(path, "wb") as opened:
            _write_stream(opened, pickled.getbuffer(), pickler, pickle_protocol)
        return

    records: dict[str, object] = {
        "data.pkl": pickled.getbuffer(),
        **({} if _disable_byteorder_record else {"byteorder": sys.byteorder.encode()}),
        **{f"data/{key}": _content(data) for key, data in enumerate(pickler.storages)},
        "version": b"3\n",
    }
    if path is None:
        _write_records(f, "archive", records)
    else:
        with open(path, "wb") as opened:
            _write_records(opened, os.path.splitext(name)[0], records)


def _content(data: Any) -> object:
    """The content of a storage's record; zeros while records are written without data."""
    return bytes(data.nbytes()) if _set.without_data else _buffer_of(data)


def get_unsafe_globals_in_checkpoint(f: File) -> list[str]:
    """The names in a checkpoint that `load(..., weights_only=True)` refuses as things are.

    >>> import io
    >>> from fractions import Fraction
    >>> file = io.BytesIO()
    >>> torch.save(Fraction(1, 3), file)
    >>> _ = file.seek(0)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
    ['fractions.Fraction']
    """
    from rushlight.serialization._archive import unsafe_globals

    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as opened:
            return unsafe_globals(opened)
    return unsafe_globals(f)


def load(
    f: File,
    map_location: Any = None,
    pickle_module: object = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: object,
) -> Any:
    """Reads what `save`, here or in PyTorch, has written to a path or a seekable binary file.

    map_location: 'cpu' (or a device, a dict of locations, or a function of a storage and its
        location) for files whose tensors were on a GPU.
    weights_only: with True, the default, a file makes tensors, numbers, strings and their
        containers, and instances of the classes of `add_safe_globals`; it changes nothing that
        was there before. Everything else is refused with `pickle.UnpicklingError`, and what is
        damaged with `RuntimeError`. With False a file can run any code.
    mmap: with True, the tensors of a file given by its path are the file's own bytes, mapped into
        memory: read where they are used. See `set_default_mmap_options`.

    With `weights_only` time and memory grow with the file's size, not with what it claims. Refused
    are keys of dicts and elements of sets that are tuples of more than 1000 parts, more than 100
    keys of one hash in one container, calls whose arguments have more than 2 elements for each
    byte of the pickle (and 131072), and compressed records that unpack to more than 16 times the
    file (and 16 MiB). The pickle has to be one of protocol 2, as `save` writes.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"epoch": 3, "weight": torch.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'epoch': 3, 'weight': tensor([1., 1.])}
    """
    if weights_only is None:
        weights_only = True
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified; "
            "leave one of weights_only and pickle_module out."
        )
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as opened:
            path = os.fspath(f) if mmap else None
            return _load(opened, map_location, weights_only, pickle_load_args, path)
    for needed in ("read", "seek"):
        if not hasattr(f, needed):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{needed}'. You can only torch.load "
                "from a file that is seekable. Please pre-load the data into a buffer like "
                "io.BytesIO and try to load from it instead."
            )
    if isinstance(f, io.TextIOBase):
        raise TypeError("load() needs bytes, not str: open the file in binary mode ('rb')")
    if mmap:
        start = f.tell()
        magic = f.read(4)
        f.seek(start)
        if magic == b"PK\x03\x04":
            raise ValueError("f must be a file path in order to use the mmap argument")
        raise _no_mapping("")
    return _load(f, map_location, weights_only, pickle_load_args)


def _no_mapping(path: str) -> RuntimeError:
    return RuntimeError(
        f"mmap can only be used with files saved with `torch.save({path}"
        "_use_new_zipfile_serialization=True), please torch.save your checkpoint with this option "
        "in order to use mmap."
    )


def _load(
    file: IO[bytes],
    map_location: device | dict[str, str] | str | None,
    weights_only: bool,
    options: dict[str, object],
    path: str | None = None,
) -> object:
    from rushlight.serialization._archive import load_legacy, load_zip
    from rushlight.serialization._records import ZIP_MAGIC

    start = file.tell()
    magic = file.read(len(ZIP_MAGIC))
    file.seek(start)
    if not magic:
        raise EOFError("Ran out of input: the file is empty")
    try:
        if magic == ZIP_MAGIC:
            return load_zip(file, map_location, weights_only, options, path)
        if path is not None:
            raise _no_mapping(f"{path}, ")
        return load_legacy(file, map_location, weights_only, options)
    except pickle.UnpicklingError as error:
        if not weights_only or str(error).startswith(FAILED):
            raise
        raise pickle.UnpicklingError(
            f"{FAILED} The file is damaged or no checkpoint: {error}"
        ) from error
