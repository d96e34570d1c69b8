"""Files of tensors, storages and optimizers: both ways with PyTorch, mapped into memory, and by
what programs set."""

from __future__ import annotations

import io
import mmap
import types
import warnings
import zipfile
from fractions import Fraction

import numpy as np
import pytest

import rushlight
from rushlight import serialization

try:
    import torch
except ImportError:
    torch = None
LIBRARIES = [rushlight] if torch is None else [rushlight, torch]


def content(library):
    """A trained model's state, storages and containers."""
    library.manual_seed(0)
    model = library.nn.Linear(2, 3)
    optimizer = library.optim.Adam(model.parameters(), lr=0.1)
    model(library.ones(4, 2)).sum().backward()
    optimizer.step()
    held = library.arange(4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # typed storages are deprecated
        typed = held.storage()
    return {
        "optimizer": optimizer.state_dict(),
        "parameter": library.nn.Parameter(library.ones(2)),
        "bytes": library.arange(3).untyped_storage(),
        "typed": typed,
        "view": held[1:],
        "nested": [({"a": (1, 2.5, None, True)},), library.float32, library.Size([2])],
    }


def facts(found):
    """What there is to know of it, in words that both libraries share."""
    state = found["optimizer"]["state"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "state": {k: [v[n].tolist() for n in sorted(v)] for k, v in state.items()},
            "groups": str(found["optimizer"]["param_groups"]),
            "parameter": (type(found["parameter"]).__name__, found["parameter"].tolist()),
            "bytes": (type(found["bytes"]).__name__, found["bytes"].tolist()),
            "typed": (type(found["typed"]).__name__, found["typed"].tolist()),
            "shares": found["typed"].data_ptr() == found["view"].untyped_storage().data_ptr(),
            "nested": str(found["nested"]),
        }


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("reader", LIBRARIES)
@pytest.mark.parametrize("writer", LIBRARIES)
def test_saved_with_one_and_loaded_with_another(writer, reader, weights_only):
    file = io.BytesIO()
    writer.save(content(writer), file)
    file.seek(0)
    found = facts(reader.load(file, weights_only=weights_only))
    file.seek(0)
    assert found == facts(writer.load(file, weights_only=weights_only))
    assert found["typed"] == ("TypedStorage", [0.0, 1.0, 2.0, 3.0]) and found["shares"]
    assert found["bytes"] == ("TypedStorage", list(np.arange(3, dtype=np.int64).view(np.uint8)))
    assert len(found["state"]) == 2


@pytest.mark.parametrize("writer", LIBRARIES)
@pytest.mark.parametrize("how", [None, mmap.MAP_PRIVATE, mmap.MAP_SHARED])
def test_mapped_files(tmp_path, writer, how):
    path = tmp_path / "file.pt"
    held = writer.arange(4.0)
    writer.save({"a": held, "b": held[2:], "none": writer.zeros(0)}, path)
    if how is None:
        found = rushlight.load(path, mmap=True)
    else:
        with serialization.set_default_mmap_options(how):
            found = rushlight.load(path, mmap=True)
    assert found["none"].tolist() == []
    found["b"][0] = 7
    assert found["a"].tolist() == [0, 1, 7, 3]  # they share the storage
    in_file = [0, 1, 7, 3] if how == mmap.MAP_SHARED else [0, 1, 2, 3]
    assert rushlight.load(path, mmap=True)["a"].tolist() == in_file
    kept = found["a"]
    path.unlink()
    assert kept.sum() == 11  # the mapping holds the file


def test_what_cannot_be_mapped(tmp_path):
    file = io.BytesIO()
    rushlight.save(rushlight.ones(2), file)
    file.seek(0)
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        rushlight.load(file, mmap=True)
    if torch is not None:
        path = tmp_path / "old"
        torch.save(torch.ones(2), path, _use_new_zipfile_serialization=False)
        with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
            rushlight.load(path, mmap=True)
    with pytest.raises(ValueError, match=r"expected mmap\.MAP_PRIVATE or"):
        serialization.set_default_mmap_options(5)
    cut = tmp_path / "cut"
    cut.write_bytes(file.getvalue()[:200])
    with pytest.raises(RuntimeError, match="failed finding central directory"):
        rushlight.load(cut, mmap=True)


def test_checksums_are_left_out():
    sums = {}
    for wanted in (True, False):
        serialization.set_crc32_options(wanted)
        try:
            file = io.BytesIO()
            rushlight.save(rushlight.ones(3), file)
        finally:
            serialization.set_crc32_options(True)
        sums[wanted] = {i.CRC for i in zipfile.ZipFile(file).infolist()}
        for library in LIBRARIES:
            file.seek(0)
            assert library.load(file).tolist() == [1, 1, 1]
    assert sums[False] == {0} and 0 not in sums[True]


def test_values_are_skipped():
    file, whole = io.BytesIO(), io.BytesIO()
    with serialization.skip_data():
        rushlight.save(rushlight.ones(3), file)
    rushlight.save(rushlight.ones(3), whole)
    assert len(file.getvalue()) == len(whole.getvalue())
    for library in LIBRARIES:
        file.seek(0)
        assert library.load(file).tolist() == [0, 0, 0]
    whole.seek(0)
    with serialization.skip_data():
        assert rushlight.load(whole).shape == (3,)


def test_files_that_do_not_say_their_byte_order():
    whole, bare = io.BytesIO(), io.BytesIO()
    rushlight.save(rushlight.tensor([1.0, 2.0]), whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(bare, "w") as new:
        for info in old.infolist():
            if not info.filename.endswith("byteorder"):
                data = old.read(info)
                if "/data/" in info.filename:
                    data = np.frombuffer(data, "<f4").astype(">f4").tobytes()
                new.writestr(info.filename, data)
    bare.seek(0)
    serialization.set_default_load_endianness(serialization.LoadEndianness.BIG)
    try:
        assert rushlight.load(bare).tolist() == [1, 2]
    finally:
        serialization.set_default_load_endianness(None)
    bare.seek(0)
    assert rushlight.load(bare).tolist() != [1, 2]
    with pytest.raises(TypeError, match="Invalid argument type"):
        serialization.set_default_load_endianness("big")


@pytest.mark.parametrize("library", LIBRARIES)
def test_names_that_are_not_safe(library, tmp_path):
    path = tmp_path / "file.pt"
    library.save({"part": Fraction(1, 3), "t": library.ones(2)}, path)
    unsafe = serialization.get_unsafe_globals_in_checkpoint
    assert unsafe(path) == ["fractions.Fraction"]
    with serialization.safe_globals([Fraction]):
        assert unsafe(io.BytesIO(path.read_bytes())) == []
    path.write_bytes(b"no checkpoint")
    with pytest.raises(ValueError, match=r"a checkpoint returned by torch\.save"):
        unsafe(path)


def test_places_of_storages(monkeypatch):
    file = io.BytesIO()
    rushlight.save(rushlight.ones(2), file)
    restore = serialization.default_restore_location

    def loaded(map_location):
        file.seek(0)
        return rushlight.load(file, map_location=map_location)

    assert loaded(lambda storage, location: restore(storage, "cpu")).tolist() == [1, 1]
    assert loaded(lambda storage, location: restore(storage, "meta")).is_meta
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        loaded("mine")
    monkeypatch.setattr(serialization._settings, "_packages", [])
    take = {"mine": lambda storage: storage}
    serialization.register_package(
        5, lambda storage: None, lambda storage, place: take.get(place, lambda s: None)(storage)
    )
    assert loaded("mine").tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        loaded("cuda:0")


def test_versions_of_modules():
    newer = serialization.check_module_version_greater_or_equal
    module = types.SimpleNamespace(__version__="2.10.3", __name__="module")
    assert newer(module, (2, 9, 9)) and not newer(module, (3,))
    module.__version__ = "2.x"
    with pytest.raises(RuntimeError, match="module version string is malformed"):
        newer(module, (2, 0))
    with pytest.warns(UserWarning, match="continuing assuming"):
        assert newer(module, (2, 0), error_if_malformed=False)


@pytest.mark.parametrize("far", [0xFFFFFFFF, 200])
@pytest.mark.parametrize("name", ["state.pt", "\N{GREEK SMALL LETTER ALPHA}.pt"])
def test_archives_of_any_size_are_read_by_others(tmp_path, monkeypatch, far, name):
    """Numbers that four bytes do not hold stand in fields of their own; 200 stands for 2**32."""
    from rushlight.serialization import _writer

    monkeypatch.setattr(_writer, "_FAR", far)
    state = {"a": rushlight.arange(100), "b": rushlight.ones(3), "c": rushlight.zeros(0)}
    rushlight.save(state, tmp_path / name)
    with zipfile.ZipFile(tmp_path / name) as archive:
        assert archive.testzip() is None
        names = [each.partition("/")[2] for each in archive.namelist()]
        assert names == ["data.pkl", "byteorder", "data/0", "data/1", "data/2", "version"]
        assert archive.read(archive.namelist()[2]) == np.arange(100, dtype=np.int64).tobytes()
        assert all(each.header_offset >= 0 for each in archive.infolist())
    loaded = rushlight.load(tmp_path / name)
    assert all(rushlight.equal(loaded[key], state[key]) for key in state)
    mapped = rushlight.load(tmp_path / name, mmap=True)
    assert mapped["a"].data_ptr() % 64 == 0
    assert rushlight.equal(mapped["a"], state["a"])
