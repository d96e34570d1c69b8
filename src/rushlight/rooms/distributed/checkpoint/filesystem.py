"""A checkpoint in a folder: files `__RANK_N.distcp` of values, and `.metadata`, which names them.

A save never touches the files of the checkpoint before it: it writes files of new names, and then
puts its own `.metadata` in the old one's place in one step. Whenever a process is killed, the
folder has the one checkpoint or the other. The next save removes files that no `.metadata` names.
"""

from __future__ import annotations

import dataclasses
import enum
import io
import os
import pathlib
import pickle
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import IO, Any, ClassVar, Self

from ... import serialization
from ..._base import dtypes
from ..._base.missing import missing_name as _missing_name
from ..._base.size import Size
from ...serialization._pickler import Pickler
from ...serialization._unpickler import PIECES
from . import metadata as _metadata
from .metadata import Metadata

METADATA = ".metadata"
_NEW = ".tmp"  # ends the names of files that are being written
_OURS = re.compile(r"__(\d+)_(\d+)\.distcp(\.tmp)?")
_HERE, _THERE = "rushlight", "torch"
_METADATA_MODULE = f"{_THERE}.distributed.checkpoint.metadata"


class SerializationFormat(enum.Enum):
    """How values lie in the files; SAFETENSORS is here by name only."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


@dataclass
class _StorageInfo:
    """Where a chunk or value lies: a whole file of `torch.save` within a file."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None


class _Folder:
    """A folder that checkpoints are written to or read from."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: pathlib.Path = pathlib.Path(path)

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    @classmethod
    def meant(cls, checkpoint_id: Any, given: object) -> Self:
        """The storage that is `given`, for this checkpoint; a new one if nothing is given.

        Raises RuntimeError where neither is told, NotImplementedError for other kinds of storage.
        """
        if given is None:
            if checkpoint_id is None:
                raise RuntimeError(
                    "`checkpoint_id` must be specified if storage_reader/storage_writer is None."
                )
            return cls(checkpoint_id)
        if not isinstance(given, cls):
            raise NotImplementedError(
                f"Checkpoints need a {cls.__name__}, not a {type(given).__name__}."
            )
        given.reset(checkpoint_id)
        return given

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Go on with another folder."""
        if checkpoint_id:
            self.path = pathlib.Path(checkpoint_id)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether this can be the folder of a checkpoint."""
        return isinstance(checkpoint_id, str | os.PathLike) and "://" not in str(checkpoint_id)


class FileSystemWriter(_Folder):
    """The folder that a checkpoint is written to: one file by each process.

    `sync_files` waits until the disk has what was written. `overwrite=False` makes a save fail
    where the folder has a checkpoint. The other settings are taken and change nothing.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Any = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:
        if _extensions or serialization_format.value != SerializationFormat.TORCH_SAVE.value:
            raise NotImplementedError(
                "FileSystemWriter() writes values as torch.save does: leave out _extensions and "
                "serialization_format."
            )
        super().__init__(path)
        self.sync_files = sync_files
        self.overwrite = overwrite

    def next_number(self) -> int:
        """The N that no file of the folder has yet; makes the folder."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.overwrite and (self.path / METADATA).exists():
            raise RuntimeError("Checkpoint already exists and self.overwrite=False.")
        found = map(_OURS.fullmatch, os.listdir(self.path))
        return max((int(match[2]) + 1 for match in found if match), default=0)

    def write_values(self, name: str, values: Iterable[Any]) -> list[_StorageInfo]:
        """Write values into one file, and where each is."""
        places = []
        with self._replaced(name) as file:
            for value in values:
                begin = file.tell()
                serialization.save(value, file)
                places.append(_StorageInfo(name, begin, file.tell() - begin))
        return places

    def write_metadata(self, content: Metadata) -> None:
        """Make the folder's checkpoint this one, and remove the files of those before."""
        with self._replaced(METADATA) as file:
            _MetadataPickler(file, 4).dump(content)
        kept = {info.relative_path for info in content.storage_data.values()}
        for name in os.listdir(self.path):
            if _OURS.fullmatch(name) and name not in kept:
                (self.path / name).unlink(missing_ok=True)

    @contextmanager
    def _replaced(self, name: str) -> Iterator[IO[bytes]]:
        """A new file that takes this name when all of it is written."""
        new = self.path / (name + _NEW)
        with open(new, "wb") as file:
            yield file
            file.flush()
            if self.sync_files:
                os.fsync(file.fileno())
        os.replace(new, self.path / name)
        if self.sync_files and os.name == "posix":  # Windows opens no folders
            self._sync_names()

    def _sync_names(self) -> None:
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class FileSystemReader(_Folder):
    """The folder that a checkpoint is read from."""

    def __init__(self, path: str | os.PathLike[str], _extension_registry: Any = None) -> None:
        super().__init__(path)

    def read_metadata(self) -> Metadata:
        """The checkpoint's table of contents.

        Raises FileNotFoundError where there is no checkpoint, pickle.UnpicklingError for a
        damaged one.
        """
        path = self.path / METADATA
        with open(path, "rb") as file:
            try:
                content = _MetadataUnpickler(file).load()
                _check(content)
            except Exception as error:  # whatever wrong bytes make of a pickle
                raise pickle.UnpicklingError(
                    f"{path} is damaged or no checkpoint: {type(error).__name__}: {error}"
                ) from error
        return content

    def read_values(self, places: Iterable[_StorageInfo], weights_only: bool) -> Iterator[Any]:
        """The values at these places. Keep places of one file together.

        Raises RuntimeError for a damaged file.
        """
        for name, infos in groupby(places, key=lambda info: info.relative_path):
            with open(self.path / name, "rb") as file:
                for info in infos:
                    yield self._value(file, info, weights_only)

    def _value(self, file: IO[bytes], info: _StorageInfo, weights_only: bool) -> object:
        where = f"{self.path / info.relative_path}, bytes {info.offset} to "
        where += f"{info.offset + info.length}"
        size = os.fstat(file.fileno()).st_size
        if info.offset + info.length > size:
            raise RuntimeError(f"{where}: the file ends at {size}. It is damaged: save again.")
        file.seek(info.offset)
        data = io.BytesIO(file.read(info.length))
        try:
            return serialization.load(data, map_location="cpu", weights_only=weights_only)
        except Exception as error:
            raise RuntimeError(f"{where}: no value can be read: {error}") from error


class _MetadataPickler(Pickler):
    """Writes the classes of this package under PyTorch's names."""

    def save_global(self, obj: object, name: str | None = None) -> None:
        module = getattr(obj, "__module__", "")
        if module.startswith(_HERE) and isinstance(obj, type):
            module = _THERE + module.removeprefix(_HERE)
            self._write_global(module, obj.__qualname__, obj)
        else:
            super().save_global(obj, name)


def _path(*parts: str) -> str:
    return os.path.join(*parts) if parts else ""


_READ: dict[str, object] = {
    **{f"torch.{dtype.name}": dtype for dtype in dtypes.ALL},
    "torch.serialization._get_layout": PIECES["torch.serialization._get_layout"],
    "torch.Size": Size,
    f"{_THERE}.distributed.checkpoint.filesystem._StorageInfo": _StorageInfo,
    **{f"{_METADATA_MODULE}.{name}": getattr(_metadata, name) for name in _metadata.__all__},
    f"{_METADATA_MODULE}._MEM_FORMAT_ENCODING": _metadata._MEM_FORMAT_ENCODING,
    "collections.OrderedDict": OrderedDict,
    **{
        f"{module}.{name}": _path
        for module in ("pathlib", "pathlib._local")
        for name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")
    },
}


_FIELDS = {
    kind: {field.name for field in dataclasses.fields(kind)}
    for kind in (*(getattr(_metadata, name) for name in _metadata.__all__), _StorageInfo)
}
# The pure-Python unpickler, whose instruction that sets attributes can be replaced.
_PythonUnpickler: Any = pickle._Unpickler


class _MetadataUnpickler(_PythonUnpickler):  # type: ignore[misc]
    """Reads the classes of metadata and no others. A file's names are not run, and only the fields
    of metadata are set."""

    dispatch: ClassVar[dict[int, object]] = dict(_PythonUnpickler.dispatch)

    def _build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if type(target) is _metadata.TensorProperties:
            target.__setstate__(state)
        elif (
            type(target) in _FIELDS
            and type(state) is dict
            and state.keys() <= _FIELDS[type(target)]
        ):
            vars(target).update(state)
        else:
            raise pickle.UnpicklingError(f"it sets attributes of a {type(target).__name__}")

    dispatch[pickle.BUILD[0]] = _build

    def find_class(self, module: str, name: str) -> object:
        found = _READ.get(f"{module}.{name}")
        if found is None:
            raise pickle.UnpicklingError(f"it names {f'{module}.{name}'[:200]!r}")
        return found


def _check(content: object) -> None:
    """Raises pickle.UnpicklingError unless the pieces are of their kinds."""
    if not isinstance(content, Metadata):
        raise pickle.UnpicklingError(f"it holds a {type(content).__name__}")
    for name, kind in content.state_dict_metadata.items():
        if not isinstance(
            kind, _metadata.TensorStorageMetadata | _metadata.BytesStorageMetadata
        ) or not isinstance(name, str):
            raise pickle.UnpicklingError(f"an entry is a {type(kind).__name__}")
    for info in content.storage_data.values():
        parts = pathlib.PurePath(info.relative_path)
        if parts.is_absolute() or ".." in parts.parts or min(info.offset, info.length) < 0:
            raise pickle.UnpicklingError(f"a value lies outside of the folder: {info!r:.200}")
        if info.transform_descriptors:
            raise pickle.UnpicklingError(
                f"values are transformed by {info.transform_descriptors!r:.200}, which cannot be "
                "read here"
            )


__getattr__ = _missing_name(__name__)
