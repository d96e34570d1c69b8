"""Pipes of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, Samples, Source
from ..utils.common import get_file_binaries_from_pathnames, get_file_pathnames_from_root
from ..utils.common import validate_pathname_binary_tuple as _validate
from ..utils.decoder import Decoder, basichandlers, extension_extract_fn
from .utils import IterableWrapperIterDataPipe

__all__ = [
    "FileListerIterDataPipe",
    "FileOpenerIterDataPipe",
    "RoutedDecoderIterDataPipe",
    "StreamReaderIterDataPipe",
]


def _told(pipe: Any) -> int:
    if pipe.length == -1:
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")
    return int(pipe.length)


@functional_datapipe("list_files")
class FileListerIterDataPipe(IterDataPipe[str]):
    """The names of the files in folders."""

    abspath: bool
    datapipe: IterableWrapperIterDataPipe | IterDataPipe[Any]
    length: int
    masks: str | list[str]
    non_deterministic: bool
    recursive: bool

    def __init__(
        self,
        root: str | Sequence[str] | IterDataPipe[Any] = ".",
        masks: str | list[str] = "",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ) -> None:
        roots = [root] if isinstance(root, str) else root
        if not isinstance(roots, IterDataPipe):
            roots = IterableWrapperIterDataPipe(roots)
        self.datapipe, self.masks, self.recursive = roots, masks, recursive
        self.abspath, self.non_deterministic, self.length = abspath, non_deterministic, length

    def __iter__(self) -> Iterator[str]:
        for path in self.datapipe:
            yield from get_file_pathnames_from_root(
                path, self.masks, self.recursive, self.abspath, self.non_deterministic
            )

    __len__ = _told


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(IterDataPipe[Any]):
    """Names of files, each with the file, open."""

    datapipe: Source
    encoding: str | None
    length: int

    def __init__(
        self, datapipe: Source, mode: str = "r", encoding: str | None = None, length: int = -1
    ) -> None:
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.datapipe, self.mode, self.encoding, self.length = datapipe, mode, encoding, length

    def __iter__(self) -> Samples:
        yield from get_file_binaries_from_pathnames(self.datapipe, self.mode, self.encoding)

    __len__ = _told


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe[Any]):
    """Names, each with what its stream has: all of it, or pieces of a size."""

    chunk: int | None
    datapipe: Source

    def __init__(self, datapipe: Source, chunk: int | None = None) -> None:
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self) -> Samples:
        for name, stream in self.datapipe:
            while True:
                data = stream.read(self.chunk)
                if not data:
                    stream.close()
                    break
                yield name, data


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe[Any]):
    """Names, each with what the handlers make of its stream."""

    def __init__(
        self,
        datapipe: Any,
        *handlers: Callable[..., object],
        key_fn: Callable[[str], str] = extension_extract_fn,
    ) -> None:
        self.datapipe = datapipe
        self.decoder: Decoder = Decoder(*(handlers or (basichandlers,)), key_fn=key_fn)

    def add_handler(self, *handler: Callable[..., object]) -> None:
        """Add handlers, to be asked before all others."""
        self.decoder.add_handler(*handler)

    def __iter__(self) -> Samples:
        for data in self.datapipe:
            _validate(data)
            found = self.decoder(data)
            yield data[0], found[data[0]]

    def __len__(self) -> int:
        return len(self.datapipe)


# Where PyTorch has them, and its files look for them.
for _place, _pipe in (
    ("filelister", FileListerIterDataPipe),
    ("fileopener", FileOpenerIterDataPipe),
    ("streamreader", StreamReaderIterDataPipe),
    ("routeddecoder", RoutedDecoderIterDataPipe),
):
    _pipe.__module__ = f"{__package__}.{_place}"
