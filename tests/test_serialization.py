"""Checkpoints: written and read here, and exchanged with PyTorch where it is installed.

The format is tested apart from the library's tensors, with a stand-in that has just what a file
describes; `_use_stand_ins` puts it in their place.
"""

import collections
import io
import os
import pickle
import sys
import zipfile

import numpy as np
import pytest

from rushlight import _core, serialization
from rushlight._base import dtypes
from rushlight._base.device import device, strided
from rushlight._base.size import Size
from rushlight.serialization import _pickler, _tensors, load, save
from rushlight.storage import bytes_of

try:
    import torch
except ImportError:
    torch = None
with_torch = pytest.mark.skipif(torch is None, reason="compares with PyTorch")


class StandIn:
    __slots__ = ("__dict__", "_array", "dtype", "lazy", "requires_grad")

    def __init__(self, array, dtype=None, requires_grad=False, lazy=(False, False)):
        self._array = array
        self.lazy = lazy
        self.dtype = dtype or dtypes.from_numpy_dtype(array.dtype)
        self.requires_grad = requires_grad


class StandInParameter(StandIn):
    __slots__ = ()


@pytest.fixture(autouse=True)
def _use_stand_ins(monkeypatch):
    def parts(tensor, copied=None):
        """The storage is the whole array under the view."""
        root = array = tensor._array
        while isinstance(root.base, np.ndarray):
            root = root.base
        item = array.itemsize
        start = array.ctypes.data - root.ctypes.data
        whole = root.flags.forc and not any(n % item or n < 0 for n in (start, *array.strides))
        if not whole or root.nbytes % item:  # no view that a file can describe: save a copy
            root = array = np.ascontiguousarray(array).reshape(array.shape)
            start = 0
        storage = _core.storage_of(_core.wrap_data(root.reshape(-1, order="A").view(np.uint8)))
        place = start // item, array.shape, tuple(step // item for step in array.strides)
        is_parameter = isinstance(tensor, StandInParameter)
        return _tensors.Parts(storage, tensor.dtype, *place, tensor.requires_grad, is_parameter)

    def make(parts):
        item, memory = parts.dtype.itemsize, bytes_of(parts.storage)._array
        strides, offset = [step * item for step in parts.strides], parts.offset * item
        place = 0 if 0 in parts.shape else offset, strides
        array = np.ndarray(parts.shape, parts.dtype.numpy, memory, *place)
        return StandIn(array, parts.dtype, parts.requires_grad, (parts.conj, parts.neg))

    def make_parameter(data, requires_grad):
        return StandInParameter(data._array, data.dtype, requires_grad)

    monkeypatch.setattr(_tensors, "is_tensor", lambda obj: isinstance(obj, StandIn))
    monkeypatch.setattr(_tensors, "tensor_type", lambda: StandIn)
    monkeypatch.setattr(_tensors, "parameter_type", lambda: StandInParameter)
    monkeypatch.setattr(_tensors, "tensor_parts", parts)
    monkeypatch.setattr(_tensors, "make_tensor", make)
    monkeypatch.setattr(_tensors, "make_parameter", make_parameter)


def tensor(values, name="float32", **given):
    return StandIn(np.array(values, getattr(dtypes, name).numpy), getattr(dtypes, name), **given)


def written(obj, **given):
    file = io.BytesIO()
    save(obj, file, **given)
    file.seek(0)
    return file


def written_by_torch(obj, **given):
    file = io.BytesIO()
    torch.save(obj, file, **given)
    file.seek(0)
    return file


def copied(obj, **given):
    return load(written(obj), **given)


def assert_same(a, b):
    assert type(a) is type(b)
    assert a.dtype is b.dtype
    assert a.requires_grad == b.requires_grad
    assert a._array.dtype == b._array.dtype
    assert a._array.shape == b._array.shape
    assert a._array.tobytes() == b._array.tobytes()


NAMES = [dtype.name for dtype in dtypes.ALL]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (0, 3), (2, 1, 4)])
def test_round_trip_of_a_tensor(name, shape):
    original = tensor(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7, name)
    again = copied(original)
    assert_same(original, again)
    assert again._array.flags.writeable


def test_round_trip_of_containers():
    original = {
        "numbers": [1, -5, 2.5, 1j, 2**100, True, None],
        "text": ("é", b"bytes", bytearray(b"more")),
        "set": {1, 2},
        "ordered": collections.OrderedDict(a=1, b=2),
        "counter": collections.Counter("aab"),
        "facts": [Size([2, 3]), dtypes.bfloat16, device("cuda:1"), strided],
    }
    again = copied(original)
    assert again == original
    assert type(again["ordered"]) is collections.OrderedDict
    assert type(again["facts"][0]) is Size
    assert again["facts"][1] is dtypes.bfloat16
    assert again["facts"][3] is strided


def test_attributes_of_an_ordered_dict_are_kept():
    state = collections.OrderedDict(weight=tensor([1.0]))
    state._metadata = collections.OrderedDict([("", {"version": 1})])
    assert copied(state)._metadata == state._metadata


def test_shared_storages_stay_shared_and_are_written_once():
    whole = np.arange(6, dtype=np.float32)
    views = [whole, whole.reshape(2, 3).T, whole[4:], whole[::2], np.broadcast_to(whole[1:2], (4,))]
    file = written([StandIn(view) for view in views])
    assert [n for n in zipfile.ZipFile(file).namelist() if "/data/" in n] == ["archive/data/0"]
    file.seek(0)
    again = load(file)
    for view, other in zip(views, again, strict=True):
        np.testing.assert_array_equal(view, other._array)
        assert np.shares_memory(again[0]._array, other._array)
    again[0]._array[5] = 100
    assert again[1]._array[2, 1] == 100


def test_the_same_tensor_stays_the_same_object():
    shared = tensor([1.0])
    a, b = copied([shared, shared])
    assert a is b


def test_strides_that_no_file_can_say_are_copied():
    reversed_ = StandIn(np.arange(4.0)[::-1])
    field = StandIn(np.zeros(3, [("a", "u1"), ("b", "f4")])["b"])
    for each in (reversed_, field):
        assert_same(each, copied(each))


def test_parameters_flags_and_attributes():
    data = tensor([1.0, 2.0], requires_grad=True)
    parameter = StandInParameter(np.ones(2, np.float32), requires_grad=True)
    frozen = StandInParameter(np.ones(2, np.float32))
    for each in (data, parameter, frozen):
        assert_same(each, copied(each))


def test_two_dtypes_of_one_storage_are_refused():
    whole = np.arange(4, dtype=np.float32)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        written([StandIn(whole), StandIn(whole.view(np.int32))])


def test_paths_and_files(tmp_path):
    for target in [tmp_path / "a.pt", str(tmp_path / "b"), os.fsencode(tmp_path / "c.pt").decode()]:
        save([tensor([1.0])], target)
        assert_same(load(target)[0], tensor([1.0]))
    assert zipfile.ZipFile(tmp_path / "a.pt").namelist()[0] == "a/data.pkl"
    with open(tmp_path / "a.pt", "rb") as file:
        assert_same(load(file)[0], tensor([1.0]))
    file = io.BytesIO()
    file.write(b"something else first")
    start = file.tell()
    save([tensor([1.0])], file)
    file.seek(start)
    assert_same(load(file)[0], tensor([1.0]))


def test_equal_objects_give_equal_bytes():
    first, second = ({"a": tensor([1.0, 2.0]), "b": [tensor([3], "int64")]} for _ in range(2))
    assert written(first).getvalue() == written(second).getvalue()


def test_storages_are_aligned():
    file = written([tensor(np.arange(n)) for n in range(1, 9)])
    for info in zipfile.ZipFile(file).infolist():
        length = int.from_bytes(file.getvalue()[info.header_offset + 28 :][:2], "little")
        name = int.from_bytes(file.getvalue()[info.header_offset + 26 :][:2], "little")
        assert (info.header_offset + 30 + name + length) % 64 == 0


def test_nothing_is_written_where_pickling_fails(tmp_path):
    path = tmp_path / "kept.pt"
    path.write_bytes(b"old")
    with pytest.raises((AttributeError, pickle.PicklingError)):
        save([tensor([1.0]), lambda: None], path)
    assert path.read_bytes() == b"old"


def test_the_other_byte_order_is_swapped():
    for name in ("float32", "complex128", "bfloat16", "int16"):
        original = tensor([1, 2, 3], name)
        swapped = io.BytesIO()
        with zipfile.ZipFile(written(original)) as old, zipfile.ZipFile(swapped, "w") as new:
            for entry in old.namelist():
                content = old.read(entry)
                if entry.endswith("byteorder"):
                    content = b"big" if sys.byteorder == "little" else b"little"
                if "/data/" in entry:
                    width = original._array.itemsize // (2 if name == "complex128" else 1)
                    flipped = np.frombuffer(content, np.uint8).reshape(-1, width)[:, ::-1]
                    content = flipped.tobytes()
                new.writestr(entry, content)
        swapped.seek(0)
        assert_same(original, load(swapped))


# --- errors -------------------------------------------------------------------------------------


def test_bad_targets():
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist\."):
        save(1, "/no such directory/x.pt")
    for bad in (3, None):
        with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like"):
            save(1, bad)
        with pytest.raises(AttributeError, match=r"has no attribute '.*'\. You can only torch"):
            load(bad)
    with pytest.raises(FileNotFoundError):
        load("/no such file")


def test_wrong_files(tmp_path):
    whole = written({"a": tensor(np.arange(100))}).getvalue()
    with pytest.raises(EOFError):
        load(io.BytesIO())
    for cut in (len(whole) // 2, len(whole) - 10, 60):
        with pytest.raises(RuntimeError, match="failed finding central directory"):
            load(io.BytesIO(whole[:cut]))
    for junk in (b"hello world this is junk", b"\0" * 100, bytes(range(256)), b"PK"):
        with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
            load(io.BytesIO(junk))
        with pytest.raises(pickle.UnpicklingError):
            load(io.BytesIO(junk), weights_only=False)
    with pytest.raises(RuntimeError, match="Invalid magic number; corrupt file"):
        load(io.BytesIO(pickle.dumps({"a": 1}, 2)))
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a/b", "c")
    other.seek(0)
    with pytest.raises(RuntimeError, match="Expected hasRecord"):
        load(other)
    (tmp_path / "text").write_text("abc")
    with open(tmp_path / "text") as text, pytest.raises(TypeError, match="binary"):
        load(text)


def test_damaged_records():
    original = written({"a": tensor(np.arange(100))})
    names = zipfile.ZipFile(original).namelist()
    whole = bytearray(original.getvalue())
    for name in names:
        info = zipfile.ZipFile(original).getinfo(name)
        damaged = whole.copy()
        at = info.header_offset + 30 + len(name) + 4
        damaged[at + int.from_bytes(whole[at - 2 : at], "little")] ^= 255
        with pytest.raises(RuntimeError, match="PytorchStreamReader failed reading file"):
            load(io.BytesIO(damaged))

    for missing, message in [("data.pkl", "failed locating"), ("data/0", "failed locating")]:
        less = io.BytesIO()
        with zipfile.ZipFile(less, "w") as archive:
            for name in names:
                if not name.endswith(missing):
                    archive.writestr(name, zipfile.ZipFile(original).read(name))
        less.seek(0)
        with pytest.raises(RuntimeError, match=message):
            load(less)


def forged(storage, *arguments, function=_pickler._TENSOR):
    """A file that describes a tensor of a storage of 4 floats in a way of its own."""
    file = io.BytesIO()

    class Forged:
        def __reduce__(self):
            return function, (storage, *arguments)

    pickled = io.BytesIO()
    _pickler.Pickler(pickled, 2).dump(Forged())
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x/data.pkl", pickled.getvalue())
        archive.writestr("x/version", "3\n")
        archive.writestr("x/data/0", bytes(16))
    file.seek(0)
    return file


def storage_id(count=4, key="0", kind="FloatStorage"):
    named = _pickler.Global("torch", kind)
    return _pickler.StorageId(("storage", named, key, "cpu", count))


@pytest.mark.parametrize(
    ("count", "offset", "shape", "strides"),
    [
        (4, 0, (5,), (1,)),
        (4, 1, (4,), (1,)),
        (4, 0, (2, 2), (3, 1)),
        (4, 0, (2,), (2**62,)),
        (4, 3, (2,), (-1,)),
        (4, -1, (2,), (1,)),
        (4, 0, (-1,), (1,)),
        (5, 0, (2,), (1,)),
        (2**60, 0, (2,), (1,)),
    ],
)
def test_tensors_outside_of_their_storage(count, offset, shape, strides):
    with pytest.raises(RuntimeError, match=r"out of bounds|need"):
        load(forged(storage_id(count), offset, shape, strides, False, None))


@pytest.mark.parametrize(
    "arguments",
    [
        (0, (2,), (1, 1), False, None),
        (0.5, (2,), (1,), False, None),
        (0, ("a",), (1,), False, None),
    ],
)
def test_tensors_of_nonsense(arguments):
    with pytest.raises(pickle.UnpicklingError):
        load(forged(storage_id(), *arguments))
    with pytest.raises(pickle.UnpicklingError):
        load(forged("no storage", 0, (2,), (1,), False, None))


class Own:
    def __eq__(self, other):
        return type(other) is Own


class Evil:
    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def test_weights_only_refuses_other_globals():
    message = "Weights only load failed.*GLOBAL .*Own was not an allowed global by default"
    with pytest.raises(pickle.UnpicklingError, match=message):
        copied(Own())
    assert copied(Own(), weights_only=False) == Own()
    for function, argument in [(eval, "1"), (os.system, "true"), (getattr, "x"), (print, "x")]:
        with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
            copied(Evil(function, argument))
    with pytest.raises(pickle.UnpicklingError, match=r"module (posix|nt) is blocked"):
        copied(Evil(os.system, "true"))
    with pytest.raises(RuntimeError, match="Can not safely load weights"):
        load(written(1), weights_only=True, pickle_module=pickle)


def test_weights_only_functions_cannot_be_altered():
    pickled = io.BytesIO()
    pickled.write(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(N}X\t\0\0\0_functionK\x01s")
    pickled.write(b"tb.")
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        archive.writestr("x/data.pkl", pickled.getvalue())
        archive.writestr("x/version", "3\n")
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"Can only build .* got <class 'func"):
        load(file)


def test_safe_globals():
    with serialization.safe_globals([Own]):
        assert copied(Own()) == Own()
    assert serialization.get_safe_globals() == []
    with pytest.raises(pickle.UnpicklingError):
        copied(Own())
    serialization.add_safe_globals([(Own, f"{__name__}.Own")])
    assert copied(Own()) == Own()
    serialization.clear_safe_globals()


def from_cuda():
    identity = ("storage", _pickler.Global("torch", "FloatStorage"), "0", "cuda:0", 4)
    return forged(_pickler.StorageId(identity), 0, (4,), (1,), False, None)


@pytest.mark.parametrize(
    "map_location",
    ["cpu", device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage],
)
def test_map_location(map_location):
    assert_same(load(from_cuda(), map_location), tensor(np.zeros(4)))


@pytest.mark.parametrize("map_location", [None, "cuda", {}, lambda storage, location: None])
def test_locations_that_do_not_exist(map_location):
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        load(from_cuda(), map_location)


def test_random_pickles_never_do_worse_than_raise():
    """Damage that the archive's checksums do not see: whatever it is, it ends in an exception."""
    rng = np.random.default_rng(0)
    pickled = io.BytesIO()
    pickler = _pickler.Pickler(pickled, 2)
    pickler.dump({"a": [tensor([1.0, 2.0]), b"x", {1}, dtypes.int8], "b": collections.Counter("a")})
    outcomes = collections.Counter()
    for _ in range(3000):
        forgery = bytearray(pickled.getvalue())
        for at in rng.integers(0, len(forgery), rng.integers(1, 4)):
            forgery[at] = rng.integers(256)
        with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
            archive.writestr("x/data.pkl", bytes(forgery))
            archive.writestr("x/version", "3\n")
            archive.writestr("x/data/0", bytes(8))
        file.seek(0)
        try:
            load(file)
            outcomes["loaded"] += 1
        except Exception as error:
            outcomes[type(error).__name__] += 1
    assert outcomes["UnpicklingError"] > 1000


# --- with PyTorch -------------------------------------------------------------------------------


def as_bits(name):
    """The integers that stand for elements which PyTorch does not exchange with NumPy."""
    if name == "bfloat16":
        return "int16"
    return "uint8" if name.startswith("float8") else "int32" if name == "complex32" else None


def torch_tensor(array, name):
    array = np.ascontiguousarray(array).reshape(array.shape)
    if as_bits(name):
        return torch.from_numpy(array.view(as_bits(name))).view(getattr(torch, name))
    return torch.from_numpy(array)


def assert_equals_torch(ours, theirs):
    bits = theirs.detach()
    kind = as_bits(repr(theirs.dtype).removeprefix("torch."))
    if kind:
        bits = bits.view(getattr(torch, kind))
    assert repr(ours.dtype) == repr(theirs.dtype)
    assert ours.requires_grad == theirs.requires_grad
    assert ours._array.shape == tuple(theirs.shape)
    assert ours._array.tobytes() == bits.numpy().tobytes()
    elements = tuple(n // ours._array.itemsize for n in ours._array.strides)
    assert elements == theirs.stride() or theirs.numel() < 2 or 1 in theirs.shape


@with_torch
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (0, 3), (2, 1, 4)])
def test_tensors_from_and_to_torch(name, shape):
    ours = tensor(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7, name)
    theirs = torch_tensor(ours._array, name)
    assert_equals_torch(load(written_by_torch(theirs)), theirs)
    assert_equals_torch(ours, torch.load(written(ours)))


@with_torch
@pytest.mark.parametrize("legacy", [False, True])
def test_a_checkpoint_from_torch(tmp_path, legacy):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(5, 3)).sum().backward()
    optimizer.step()
    base = torch.arange(12.0).reshape(3, 4)
    base.note = "attribute"
    theirs = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "parameter": model[0].weight,
        "views": [base, base.t(), base[1:, 1:], base[0].expand(2, 4)],
        "grad": torch.ones(2, requires_grad=True),
        "facts": [torch.Size([1, 2]), torch.float16, torch.device("cpu"), b"x", {1}, "é"],
    }
    path = tmp_path / "checkpoint.pt"
    torch.save(theirs, path, _use_new_zipfile_serialization=not legacy)
    ours = load(path)
    assert list(ours["model"]) == list(theirs["model"])
    assert ours["model"]._metadata == theirs["model"]._metadata
    for key, value in theirs["model"].items():
        assert_equals_torch(ours["model"][key], value)
    assert ours["optimizer"]["param_groups"] == theirs["optimizer"]["param_groups"]
    for key, state in theirs["optimizer"]["state"].items():
        for name, value in state.items():
            assert_equals_torch(ours["optimizer"]["state"][key][name], value)
    assert type(ours["parameter"]) is StandInParameter
    assert_equals_torch(ours["parameter"], theirs["parameter"])
    for a, b in zip(ours["views"], theirs["views"], strict=True):
        assert_equals_torch(a, b)
        assert np.shares_memory(a._array, ours["views"][0]._array)
    assert ours["views"][0].__dict__["note"] == "attribute"
    assert_equals_torch(ours["grad"], theirs["grad"])
    assert ours["facts"] == [Size([1, 2]), dtypes.float16, device("cpu"), b"x", {1}, "é"]


@with_torch
@pytest.mark.parametrize("weights_only", [True, False])
def test_a_checkpoint_to_torch(tmp_path, weights_only):
    whole = np.arange(12, dtype=np.float32)
    noted = StandIn(whole[3:])
    state = collections.OrderedDict(weight=StandIn(whole.reshape(3, 4)), bias=StandIn(whole[:3]))
    state._metadata = collections.OrderedDict([("", {"version": 1})])
    ours = {
        "state": state,
        "views": [StandIn(whole), StandIn(whole.reshape(3, 4).T), noted],
        "parameter": StandInParameter(np.ones(3, np.float32), requires_grad=True),
        "grad": tensor([1.0, 2.0], requires_grad=True),
        "facts": [Size([1, 2]), dtypes.float16, device("cpu"), strided, b"x", {1}, "é", 1j, 2**70],
        "step": 3,
    }
    path = tmp_path / "checkpoint.pt"
    save(ours, path)
    theirs = torch.load(path, weights_only=weights_only)
    assert theirs["state"]._metadata == state._metadata
    for a, b in zip(
        [*state.values(), *ours["views"]],
        [*theirs["state"].values(), *theirs["views"]],
        strict=True,
    ):
        assert_equals_torch(a, b)
    assert len({t.untyped_storage().data_ptr() for t in theirs["views"]}) == 1
    assert type(theirs["parameter"]) is torch.nn.Parameter
    assert_equals_torch(ours["parameter"], theirs["parameter"])
    assert_equals_torch(ours["grad"], theirs["grad"])
    facts = [torch.Size([1, 2]), torch.float16, torch.device("cpu"), torch.strided, b"x", {1}, "é"]
    assert theirs["facts"] == [*facts, 1j, 2**70]
    assert theirs["step"] == 3
    assert torch.load(path, mmap=True)["state"]["weight"].sum() == whole.sum()


@with_torch
def test_attributes_of_tensors_to_torch():
    noted, parameter = tensor([1.0]), StandInParameter(np.ones(2, np.float32), requires_grad=True)
    noted.note, parameter.note = "kept", "kept too"
    again = copied([noted, parameter])
    theirs = torch.load(written([noted, parameter]))
    assert [each.note for each in again] == [each.note for each in theirs] == ["kept", "kept too"]
    assert type(theirs[1]) is torch.nn.Parameter


@with_torch
def test_whole_objects_from_torch_name_what_is_missing():
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.nn\.modules\.linear\.Linear"):
        load(written_by_torch(torch.nn.Linear(1, 1)))


@with_torch
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"hello world this is junk"])
def test_the_same_kind_of_error_as_torch(content):
    for weights_only in (True, False):
        with pytest.raises(Exception) as theirs:
            torch.load(io.BytesIO(content), weights_only=weights_only)
        with pytest.raises(Exception) as ours:
            load(io.BytesIO(content), weights_only=weights_only)
        # PyTorch lets a KeyError of its own reader through.
        expected = pickle.UnpicklingError if theirs.type is KeyError else theirs.type
        assert ours.type is expected


@with_torch
@pytest.mark.parametrize("weights_only", [True, False])
def test_conjugate_and_negative_views_from_torch(weights_only):
    """PyTorch writes their memory as it is, and a note."""
    values = torch.tensor([1 + 2j, 3 - 1j])
    for view in (values.conj(), values.conj().imag, values.conj()[1:]):
        in_memory = view._neg_view() if view.is_neg() else view.conj()
        for zipped in (True, False):
            file = written_by_torch(view, _use_new_zipfile_serialization=zipped)
            ours = load(file, weights_only=weights_only)
            assert ours._array.tolist() == in_memory.tolist()
            assert ours.lazy == (view.is_conj(), view.is_neg())


@with_torch
def test_a_file_without_checksums_from_torch():
    before = torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(False)
    try:
        theirs = torch.arange(3.0)
        assert_equals_torch(load(written_by_torch(theirs)), theirs)
    finally:
        torch.serialization.set_crc32_options(before)


@with_torch
def test_numpy_s_arrays_from_torch_where_they_are_added():
    arrays = {"ints": np.arange(3), "float": np.float32(2.5), "table": np.ones((2, 3), "f4")}
    added = [np.ndarray, np.dtype, np.dtypes.Int64DType, np.dtypes.Float32DType]
    added += [np._core.multiarray._reconstruct, np._core.multiarray.scalar]
    with pytest.raises(pickle.UnpicklingError, match=r"numpy.* was not an allowed global"):
        load(written_by_torch(arrays))
    with serialization.safe_globals(added):
        again = load(written_by_torch(arrays))
    assert {key: each.tolist() for key, each in again.items()} == {
        "ints": [0, 1, 2],
        "float": 2.5,
        "table": [[1.0] * 3] * 2,
    }


@with_torch
@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_other_protocols_end_as_in_torch(protocol):
    ours = written({"a": tensor([1.0]), "b": b"bytes"}, pickle_protocol=protocol)
    with pytest.warns(UserWarning, match="protocol"), pytest.raises(Exception) as theirs:
        torch.load(ours)
    ours.seek(0)
    with pytest.raises(pickle.UnpicklingError) as caught:
        load(ours)
    assert theirs.type is pickle.UnpicklingError
    assert str(theirs.value).split("\n\n")[1] in str(caught.value)
    ours.seek(0)
    assert load(ours, weights_only=False)["b"] == b"bytes"
