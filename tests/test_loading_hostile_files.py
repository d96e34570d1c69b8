"""Files made to do harm: with `weights_only` they can make data, and nothing else.

Each is written out as the instructions of its pickle. It is refused in bounded time and memory with
`UnpicklingError` or `RuntimeError`, in a text of bounded length that says what and where; and what
the program had before is as it was.
"""

import collections
import enum
import io
import pickle
import resource
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

import rushlight as torch
from _alone import PATIENCE
from fuzz.files import ORDERED, REBUILD, SET, name, number, storage, tensor, text
from rushlight._tensor.rebuilding import STREAM_MAGIC, STREAM_VERSION
from rushlight.serialization import _safe, safe_globals

RUN, POISONED = text("run"), text("poisoned")
# Values that are used over and over: 40 levels, each of the one before twice; 20, three times.
TWICE_40 = b")" + b"q\x00h\x00\x86" * 40
THRICE_20 = b"]" + b"q\x00h\x00h\x00\x87" * 20


def archive(pickled=None, compression=zipfile.ZIP_STORED, **records):
    """A checkpoint of this pickle with a storage of four floats, and other records."""
    file = io.BytesIO()
    given = {
        "data.pkl": b"\x80\x02N." if pickled is None else b"\x80\x02" + pickled + b".",
        "version": b"3\n",
        "byteorder": sys.byteorder.encode(),
        "data/0": np.arange(4, dtype=np.float32).tobytes(),
        **{key.replace("__", "/"): value for key, value in records.items()},
    }
    with zipfile.ZipFile(file, "w", compression) as opened:
        for key, value in given.items():
            opened.writestr(f"x/{key}", value)
    return file.getvalue()


def loaded(content):
    return torch.load(io.BytesIO(content))


def refusal(content, kind=pickle.UnpicklingError):
    """The text with which a file is refused, soon, with little memory, and in few words."""
    begun, memory = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises((pickle.UnpicklingError, RuntimeError)) as caught:
        loaded(content)
    assert caught.type is kind
    assert time.process_time() - begun < 5
    unit = 1 if sys.platform == "darwin" else 1024
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) * unit
    assert grown < 200 << 20
    assert len(str(caught.value)) < 2000
    return str(caught.value)


def refused(*pickled, kind=pickle.UnpicklingError):
    said = refusal(archive(b"".join(pickled)), kind)
    assert "byte" in said and "data.pkl" in said
    return said


# --- the program's own things stay as they are --------------------------------------------------


class Config:
    rate = 0.5

    def run(self):
        return "run"


def helper(first="first", second="second"):
    return first


class Level(enum.Enum):
    LOW = 1


class Slotted:
    __slots__ = ("value",)
    shared = 1


REGISTRY = {"kept": [1, 2]}
RECORDS = [1, 2]
ATTRIBUTES = collections.OrderedDict(kept=1)


def registry():
    return REGISTRY


def records():
    return RECORDS


def attributes():
    return ATTRIBUTES


def existing():
    return EXISTING


EXISTING = Config()
OWN = [Config, helper, Level, Slotted, registry, records, attributes, existing]


def own(value):
    return name(__name__, value.__name__)


def state(key=RUN, value=POISONED):
    return b"}" + key + value + b"s"


@pytest.mark.parametrize(
    "pickled",
    [
        own(Config) + b"N" + state() + b"\x86b",
        own(Config) + state() + b"b",
        own(helper) + b"N" + state(text("__defaults__"), b")") + b"\x86b",
        own(helper) + state() + b"b",
        own(Level) + b"K\x01\x85R" + state(text("_value_"), b"K\x07") + b"b",
        own(existing) + b")R" + state() + b"b",
        own(registry) + b")R" + text("kept") + b"Ns",
        own(registry) + b")R(" + text("new") + b"Nu",
        own(records) + b")RK\x03a",
        own(records) + b")R(K\x03K\x04e",
        own(attributes) + b")R" + text("new") + b"Ns",
        own(attributes) + b")R" + state() + b"b",
        own(Slotted) + b")\x81N" + state(text("__class__"), own(Config)) + b"\x86b",
        own(Slotted) + b")\x81N" + state(text("shared")) + b"\x86b",
        own(Config) + b")\x81" + state(b"K\x01") + b"b",
        # The classes and functions that every file may name.
        *(
            name(module, each) + b"N" + state() + b"\x86b"
            for module, each in [
                ("torch", "float32"),
                ("torch", "FloatStorage"),
                ("torch", "Size"),
                ("torch", "Tensor"),
                ("torch.nn.parameter", "Parameter"),
                ("torch._utils", "_rebuild_tensor_v2"),
                ("collections", "OrderedDict"),
                ("builtins", "set"),
            ]
        ),
        name("torch", "device") + text("cpu") + b"\x85R" + state(text("type")) + b"b",
        tensor() + state(text("backward"), b"N") + b"b",
        tensor() + b"N" + state(text("grad_dtype"), b"N") + b"\x86b",
        tensor() + state(text("requires_grad"), b"\x88") + b"b",
        ORDERED + b")R" + state(text("items"), b"N") + b"b",
        b"]" + state() + b"b",
    ],
)
def test_a_file_changes_nothing_but_what_it_has_made(pickled):
    before = [dict(vars(each)) for each in (Config, Level, Slotted, helper, EXISTING, Level.LOW)]
    with safe_globals(OWN):
        refused(pickled)
    after = [dict(vars(each)) for each in (Config, Level, Slotted, helper, EXISTING, Level.LOW)]
    assert before == after
    assert helper.__defaults__ == ("first", "second") and Level(1) is Level.LOW
    assert (REGISTRY, RECORDS, ATTRIBUTES) == ({"kept": [1, 2]}, [1, 2], {"kept": 1})
    assert vars(ATTRIBUTES) == {}


def stream(pickled):
    """The format before 1.6: pickles one after the other."""
    head = [STREAM_MAGIC, STREAM_VERSION, {"little_endian": True}]
    heads = b"".join(pickle.dumps(part, 2) for part in head)
    return heads + b"\x80\x02" + pickled + b"." + pickle.dumps([], 2)


def library_classes():
    """The public classes of the library, also those that only files of PyTorch name."""
    found = {}
    for space in (torch, torch.nn, torch.optim, torch.optim.lr_scheduler, torch.distributions):
        for key, value in vars(space).items():
            if isinstance(value, type):
                found[f"{space.__name__.replace('rushlight', 'torch')}.{key}"] = value
    return found


CLASSES = library_classes()
CHANGED = ["__init__", "__class__", "__call__", "numel"]


@pytest.mark.parametrize("named", sorted({*_safe._OWN, *CLASSES}))
def test_no_format_lets_a_file_set_what_a_name_stands_for(named):
    """By BUILD with each form of state, on the name, and on what calling or making it gives;
    whether the program has added the class to those that files may make or not."""
    module, _, attribute = named.rpartition(".")
    own_ones = [CLASSES[named]] if named in CLASSES else []
    kept = [*own_ones, _safe._OWN[named]] if named in _safe._OWN else own_ones
    before = [dict(vars(each)) for each in kept if hasattr(each, "__dict__")]
    for key in CHANGED:
        state = b"}" + text(key) + POISONED + b"s"
        for form in (state, b"N" + state + b"\x86", state + b"N\x86"):
            for made in (b"", b")R"):
                pickled = name(module, attribute) + made + form + b"b"
                for content in (archive(pickled), stream(pickled)):
                    for added in ([], own_ones):
                        with safe_globals(added):
                            try:
                                loaded(content)
                            except (pickle.UnpicklingError, RuntimeError):
                                continue
                            assert made and (added or named == "collections.OrderedDict"), (
                                f"{named} took {key}"
                            )
    assert [dict(vars(each)) for each in kept if hasattr(each, "__dict__")] == before


def test_a_file_builds_instances_of_classes_that_were_added():
    with safe_globals(OWN):
        made = loaded(archive(own(Config) + b")\x81" + state(text("rate"), b"K\x02") + b"b"))
        slotted = loaded(archive(own(Slotted) + b")\x81N" + state(text("value")) + b"\x86b"))
    assert (type(made), made.rate, made.run(), Config.rate) == (Config, 2, "run", 0.5)
    assert slotted.value == "poisoned"


@pytest.mark.parametrize("attribute", ["backward", "_hooks", "data", "grad_dtype", "__class__"])
def test_a_tensor_s_state_hides_nothing_of_the_tensor(attribute):
    made = b"}" + text(attribute) + b"Ns"
    parameter = name("torch._utils", "_rebuild_parameter_with_state")
    refused(parameter, b"(", tensor(), b"\x89N", made, b"tR")
    arguments = b"(" + storage() + b"K\x00K\x02\x85K\x01\x85\x89Nt"
    subclass = name("torch._tensor", "_rebuild_from_type_v2") + b"(" + REBUILD
    refused(subclass, name("torch", "Tensor"), arguments, made, b"tR")


@pytest.mark.parametrize(
    "pickled",
    [
        name("torch._tensor", "_rebuild_from_type_v2") + b"(" + name("builtins", "set") + b"N)}tR",
        name("torch._tensor", "_rebuild_from_type_v2") + b"q\x00(h\x00N(h\x00N(h\x00N)}t}t}tR",
        b"K\x01)R",
        b"K\x01)\x81",
        ORDERED + b")\x81",
        name("torch", "Tensor") + b")R",
        name("torch", "float32") + b")R",
        SET + b"]R",
    ],
)
def test_a_file_calls_only_what_it_has_named(pickled):
    refused(pickled)


# PyTorch's weights_only knows none of these instructions, and neither does this one.
@pytest.mark.parametrize(
    "pickled",
    [
        b"\x96" + struct.pack("<Q", 3 << 30),  # BYTEARRAY8
        b"\x8d" + struct.pack("<Q", 3 << 30),  # BINUNICODE8
        b"B" + struct.pack("<L", 3 << 30),  # BINBYTES
        b"\x8b" + struct.pack("<L", 3 << 30),  # LONG4
        b"\x82\x01",  # EXT1
        b"(i__main__\nConfig\n",  # INST
        b"(" + SET + b"o",  # OBJ
        text("os") + text("system") + b"\x93",  # STACK_GLOBAL
        b"\x8f(K\x01\x90",  # ADDITEMS
        b"(K\x01\x91",  # FROZENSET
        b"NN0",  # POP
        b"N2",  # DUP
        b"I1\n",  # INT
        b"P0\n",  # PERSID
        b"\x94",  # MEMOIZE
        b"\x95" + bytes(8),  # FRAME
        b"\xff",
    ],
)
def test_instructions_that_only_other_pickles_have(pickled):
    assert "Unsupported operand" in refused(pickled)


# --- time and memory ------------------------------------------------------------------------------


MANY = [number(k * (2**61 - 1) + 1) for k in range(1, 20000)]  # of one hash
COUNTER = name("collections", "Counter")


@pytest.mark.parametrize(
    ("says", "pickled"),
    [
        ("bytearray is never", name("builtins", "bytearray") + number(3 << 30) + b"\x85R"),
        ("cut short", b"X" + struct.pack("<L", 3 << 30)),
        ("1000 parts", b"}" + TWICE_40 + b"Ns"),
        ("1000 parts", b"}(" + TWICE_40 + b"Nu"),
        ("1000 parts", ORDERED + b")R" + TWICE_40 + b"Ns"),
        ("1000 parts", COUNTER + b")R(" + TWICE_40 + b"Nu"),
        ("1000 parts", SET + b"]" + TWICE_40 + b"a\x85R"),
        ("1000 parts", ORDERED + b"]" + TWICE_40 + b"N\x86a\x85R"),
        ("1000 parts", b"})" + b"\x85" * 300000 + b"Ns"),
        ("1000 parts", SET + b"])" + b"\x85" * 300000 + b"a\x85R"),
        # Keys that all have the same hash: each is compared with all others.
        ("the same hash", b"}(" + b"".join(key + b"N" for key in MANY) + b"u"),
        ("the same hash", b"}" + b"".join(key + b"Ns" for key in MANY)),
        ("the same hash", SET + b"](" + b"".join(MANY) + b"e\x85R"),
        ("the same hash", ORDERED + b"](" + b"".join(key + b"N\x86" for key in MANY) + b"e\x85R"),
        # Few bytes, and each time all of a long value.
        (
            "over and over",
            b"](" + b"K\x01" * 10**5 + b"eq\x00" + SET + b"q\x01" + b"h\x01h\x00\x85R" * 10**5,
        ),
        (
            "over and over",
            text("x" * 10**5) + b"q\x00" + name("_codecs", "encode") + b"q\x01"
            + text("latin1") + b"q\x02" + b"h\x01h\x00h\x02\x86R" * 10**5,
        ),
        (
            "over and over",
            b"}(" + b"".join(text(str(n)) + b"N" for n in range(1000)) + b"uq\x00"
            + ORDERED + b"q\x01" + b"h\x01)Rh\x00b" * 10**5,
        ),
        # Values that take for ever to print.
        ("storage cannot have (a tuple", storage(count=THRICE_20)),
        ("storage cannot be named", storage(key=THRICE_20)),
        ("Only persistent_load of storage", THRICE_20 + b"\x85Q"),
        ("tensor cannot have shape (a tuple", tensor(shape=THRICE_20)),
        ("tensor cannot have shape", tensor(offset=THRICE_20)),
        ("unrecognized function (a tuple", THRICE_20 + b")R"),
        ("create new object", THRICE_20 + b")\x81"),
        ("device cannot be made of", name("torch", "device") + THRICE_20 + b"\x85R"),
        ("unknown layout", name("torch.serialization", "_get_layout") + THRICE_20 + b"\x85R"),
        ("unhashable type", b"}]\x85\x85Ns"),
        ("unequal size length (60)", tensor(shape=b"(" + number(2**2000) * 60 + b"t")),
        ("has no end", name("torch", "x" * 10**6)),
        ("but got <class 'str'>: 'xxx", text("x" * 10**6) + b"Q"),
    ],
)  # fmt: skip
def test_few_bytes_do_not_make_much_work(says, pickled):
    assert says in refusal(archive(pickled))


@pytest.mark.parametrize("levels", [10, 10**5])
def test_depth_that_is_not_hashed_loads(levels):
    made = loaded(archive(b"]" * (levels + 1) + b"a" * levels))
    for _ in range(levels):
        (made,) = made
    assert made == []


def test_keys_of_many_kinds_load():
    keys = [(1, (2, 3)), 2**64 - 1, 1.5, True, None, b"x", "x", -1, 2**61, 2**61 - 1]
    pickled = io.BytesIO()
    torch.save({key: n for n, key in enumerate(keys)}, pickled)
    assert loaded(pickled.getvalue()) == {key: n for n, key in enumerate(keys)}
    tuples = {(n, n % 7): n for n in range(20000)}
    torch.save(tuples, pickled := io.BytesIO())
    assert loaded(pickled.getvalue()) == tuples


def test_a_deflated_record_has_a_limit():
    bomb = archive(tensor(), zipfile.ZIP_DEFLATED, data__0=bytes(100 << 20))
    assert "unpack to" in refusal(bomb, RuntimeError)
    assert torch.load(io.BytesIO(bomb), weights_only=False).tolist() == [0, 0]
    packed = archive(tensor(), zipfile.ZIP_DEFLATED, data__0=bytes(1 << 20))
    assert loaded(packed).tolist() == [0, 0]
    pickle_bomb = archive(b"N" * (100 << 20), zipfile.ZIP_DEFLATED)
    assert "unpack to" in refusal(pickle_bomb, RuntimeError)


# --- tensors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [b"N", text("float32"), storage(), b"K\x01", ORDERED + b")R"])
def test_only_dtypes_are_dtypes(dtype):
    rebuild = name("torch._utils", "_rebuild_tensor_v3")
    described = b"(" + storage() + b"K\x00K\x02\x85K\x01\x85\x89N" + dtype + b"tR"
    assert "dtype cannot be" in refused(rebuild, described)


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        (b"K\x05\x85", b"K\x01\x85", b"K\x00"),
        (b"K\x02\x85", b"K\x01\x85", number(-1)),
        (b"K\x02\x85", number(-1) + b"\x85", b"K\x01"),
        (number(-1) + b"\x85", b"K\x01\x85", b"K\x00"),
        (number(2**40) * 2 + b"\x86", b"K\x00K\x00\x86", b"K\x00"),
        (b"K\x00" + number(2**62) + b"\x86", number(2**70) + b"K\x01\x86", b"K\x00"),
        (b"K\x01\x85", number(2**62) + b"\x85", b"K\x00"),
        (b"(" + b"K\x01" * 65 + b"t", b"(" + b"K\x01" * 65 + b"t", b"K\x00"),
        (number(2**70) + b"\x85", b"K\x00\x85", b"K\x00"),
        (b"K\x02\x85", b"K\x01\x85", number(2**2000)),
        (b")", b")", number(2**63)),
    ],
)
def test_tensors_outside_of_their_storage(shape, strides, offset):
    refused(tensor(shape, strides, offset), kind=RuntimeError)


@pytest.mark.parametrize(
    "pickled",
    [
        tensor(strides=b"K\x01K\x01\x86"),
        tensor(shape=text("ab")),
        tensor(shape=b"\x88\x85"),
        tensor(flag=b"K\x01"),
        tensor(flag=text("yes")),
        tensor(of=b"N"),
        tensor(of=storage(count=b"G" + bytes(8))),
        tensor(of=storage(count=number(-1))),
        tensor(of=storage(key=b"K\x00")),
        tensor(of=storage(location=b"N")),
        name("torch._utils", "_rebuild_parameter") + b"(N\x89NtR",
        name("torch._utils", "_rebuild_parameter") + b"(" + tensor() + b"NNtR",
        name("torch._utils", "_rebuild_tensor_v2") + b")R",
        name("torch._utils", "_rebuild_sparse_tensor") + b"NN\x86R",
        name("torch._utils", "_rebuild_qtensor") + b")R",
        name("torch._utils", "_rebuild_meta_tensor_no_storage") + b")R",
        name("torch.serialization", "_get_layout") + text("round") + b"\x85R",
        name("torch", "device") + b"(NNNtR",
        name("torch", "Size") + text("ab") + b"\x85R",
        name("builtins", "complex") + text("1j") + b"\x85R",
        name("_codecs", "encode") + text("x") + text("zip") + b"\x86R",
        name("_codecs", "encode") + text("\u20ac") + text("latin1") + b"\x86R",
    ],
)
def test_pieces_of_nonsense(pickled):
    refused(pickled)


def test_a_parameter_takes_no_memory_of_its_own():
    """Its storage is no whole number of elements, and it shows one of them a terabyte long."""
    wide = tensor(number(2**38) + b"\x85", b"K\x00\x85")
    content = archive(
        name("torch._utils", "_rebuild_parameter") + b"(" + wide + b"\x89NtR", data__0=bytes(19)
    )
    assert loaded(content).shape == (2**38,)


def test_a_storage_without_a_type_is_of_bytes():
    made = loaded(archive(tensor(b"K\x04\x85", of=storage("UntypedStorage", count=b"K\x10"))))
    assert made.dtype is torch.uint8
    assert made.tolist() == list(np.arange(2, dtype=np.float32).tobytes()[:4])


def test_integers_cannot_require_a_gradient():
    refused(tensor(flag=b"\x88", of=storage("LongStorage", count=b"K\x02")), kind=RuntimeError)


@pytest.mark.parametrize(("order", "kind"), [(b"middle", RuntimeError), (b"", RuntimeError)])
def test_byte_orders_that_do_not_exist(order, kind):
    assert "Unknown endianness type" in refusal(archive(byteorder=order), kind)


# --- pickles that are broken ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "pickled",
    [b"", b"a", b"s", b"u", b"(Nu}", b"}(Nu", b"R", b"b", b"h\x00", b"j\0\0\0\0", b"t", b"\x85",
     b"K\x01\x86", b"q\x00", b"Q", b"\x81", b"cab", b"J\0", b"X\x01\0\0\0\xff", b"U\x01\xff",
     b"G\0", b"}]Ns", b"}}Ns", b"\x8fK\x01a", b"}(]NK\x01Nu", b"]Nb", b"(", b"NQ", b")Q",
     b"K\x01)\x86Q", SET + b"]]a\x85R", b"c\xff\n\n", ORDERED + b"]K\x01a\x85R"],
)  # fmt: skip
def test_broken_pickles(pickled):
    refusal(archive(pickled))


def test_errors_say_where():
    said = refused(text("a"), b"]", text("b"), b"K\x05a")
    assert (
        "Can only append to lists, but got <class 'str'> (opcode APPEND that ends at byte" in said
    )
    said = refused(b"K\x01" * 10, b"a")
    assert "(opcode APPEND that ends at byte 23 of data.pkl)" in said
    said = refused(tensor(b"K\x05\x85"), kind=RuntimeError)
    assert said.startswith("setStorage: sizes (5), strides (1), storage offset 0,")
    assert "opcode REDUCE" in said


# --- archives -------------------------------------------------------------------------------------


def directory_of(content):
    return content.index(b"PK\x01\x02")


def changed(content, at, new):
    return content[:at] + new + content[at + len(new) :]


HONEST = archive(tensor())
FIRST = directory_of(HONEST)
END = HONEST.index(b"PK\x05\x06")


@pytest.mark.parametrize(
    "content",
    [
        HONEST[:-1],
        HONEST[: END - 5] + HONEST[END:],
        HONEST[:FIRST] + HONEST[FIRST + 46 :],
        HONEST[:100],
        b"PK\x03\x04" + HONEST[END:],
        changed(HONEST, END + 12, struct.pack("<L", 2**32 - 2)),
        changed(HONEST, END + 16, struct.pack("<L", 2**32 - 2)),
        changed(HONEST, FIRST + 42, struct.pack("<L", 2**32 - 2)),
        changed(HONEST, FIRST + 42, struct.pack("<L", 3)),
        changed(HONEST, FIRST + 20, struct.pack("<LL", 2**32 - 2, 2**32 - 2)),
        changed(HONEST, FIRST + 20, struct.pack("<LL", 2**32 - 1, 2**32 - 1)),
        changed(HONEST, FIRST + 24, struct.pack("<L", 2**32 - 2)),
        changed(HONEST, FIRST + 16, b"\1\2\3\4"),
        changed(HONEST, FIRST + 8, b"\1"),
        changed(HONEST, FIRST + 10, b"\x0e"),
        changed(HONEST, FIRST + 10, b"\x08"),
        changed(HONEST, FIRST + 28, b"\xff\xff"),
        changed(HONEST, FIRST + 46, b"y"),
        changed(HONEST, 30, b"y"),
        changed(HONEST, 26, b"\xff\xff"),
        changed(HONEST, 28, b"\xff\xff"),
        HONEST[:END] + b"PK\x06\x07" + bytes(16) + HONEST[END:],
        HONEST[:END] + b"PK\x06\x06" + b"\xff" * 52 + b"PK\x06\x07" + bytes(16) + HONEST[END:],
        archive(version=b"9" * 10000),
        archive(version=b"-1"),
        archive(version=b""),
        archive(**{"constants.pkl": b""}),
        archive(tensor(of=storage(key=text("../version")))),
        archive(tensor(of=storage(key=text("\ud800")))),
        archive(tensor(of=storage(key=text("9" * 10**5)))),
        archive(tensor(), data__0=b"\0" * 15),
        archive(tensor(of=storage(location=text("cuda:0")))),
        archive(tensor(of=storage(location=text("x" * 10**5)))),
    ],
)
def test_broken_archives(content):
    refusal(content, RuntimeError)


def test_two_records_of_one_name():
    file = io.BytesIO(HONEST)
    with zipfile.ZipFile(file, "a") as opened, pytest.warns(UserWarning, match="Duplicate name"):
        opened.writestr("x/data.pkl", b"\x80\x02K\x07.")
    assert "two records are named" in refusal(file.getvalue(), RuntimeError)


def test_records_that_share_bytes():
    """A thousand storages of a megabyte each, which are the same megabyte of the file."""
    file = io.BytesIO()
    pickled = b"\x80\x02](" + b"".join(
        tensor(of=storage("ByteStorage", text(str(n)), count=number(1 << 20))) for n in range(1000)
    )
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr("x/data.pkl", pickled + b"e.")
        opened.writestr("x/version", b"3\n")
        opened.writestr("x/data/0", bytes(1 << 20))
        first = opened.getinfo("x/data/0")
        for n in range(1, 1000):
            other = zipfile.ZipInfo(f"x/data/{n}")
            for field in ("header_offset", "CRC", "compress_size", "file_size"):
                setattr(other, field, getattr(first, field))
            opened.filelist.append(other)
            opened.NameToInfo[other.filename] = other
    assert "share bytes" in refusal(file.getvalue(), RuntimeError)


def test_a_record_without_a_checksum_loads():
    """PyTorch writes 0 when it is told to compute none (set_crc32_options)."""
    at = FIRST
    content = HONEST
    while at < END:
        content = changed(content, at + 16, bytes(4))
        names, extras, comment = struct.unpack_from("<HHH", content, at + 28)
        at += 46 + names + extras + comment
    assert loaded(content).tolist() == [0, 1]


def test_an_archive_of_a_large_file_loads():
    """Sizes and positions in the extra fields, and a second end record before the end."""
    data = np.arange(4, dtype=np.float32).tobytes()
    content, directory = b"", b""
    for key, value in {
        "data.pkl": b"\x80\x02" + tensor() + b".",
        "version": b"3",
        "data/0": data,
    }.items():
        named = f"x/{key}".encode()
        fields = (zlib.crc32(value), 2**32 - 1, 2**32 - 1, len(named), 28)
        extra = struct.pack("<HHQQQ", 1, 24, len(value), len(value), len(content))
        directory += b"PK\x01\x02" + bytes(12) + struct.pack("<LLLHH", *fields)
        directory += bytes(10) + struct.pack("<L", 2**32 - 1) + named + extra
        content += b"PK\x03\x04" + bytes(22) + struct.pack("<HH", len(named), 0) + named + value
    end = struct.pack("<QQ", len(directory), len(content))
    end = b"PK\x06\x06" + bytes(36) + end + b"PK\x06\x07" + bytes(16)
    content += directory + end + b"PK\x05\x06" + bytes(8) + b"\xff" * 8 + bytes(2)
    assert zipfile.ZipFile(io.BytesIO(content)).read("x/data/0") == data
    assert loaded(content).tolist() == [0, 1]


# --- the format before PyTorch 1.6 ----------------------------------------------------------------


def old(*pickles, after=b""):
    head = [pickle.dumps(each, 2) for each in (0x1950A86A20F9469CFC6C, 1001, {})]
    return b"".join([*head, *(b"\x80\x02" + each + b"." for each in pickles), after])


def old_tensor(count=b"K\x04"):
    return tensor(of=storage(count=count).replace(b"tQ", b"NtQ"))


FLOATS = np.arange(4, dtype=np.float32).tobytes()
KEYS = b"]" + text("0") + b"a"


def test_an_old_file_loads():
    content = old(old_tensor(), KEYS, after=struct.pack("<Q", 4) + FLOATS)
    assert loaded(content).tolist() == [0, 1]


@pytest.mark.parametrize(
    "content",
    [
        old(old_tensor(), KEYS),
        old(old_tensor(), KEYS, after=struct.pack("<Q", 3) + FLOATS),
        old(old_tensor(), KEYS, after=struct.pack("<Q", 4) + FLOATS[:-1]),
        old(old_tensor(), b"]", after=struct.pack("<Q", 4) + FLOATS),
        old(old_tensor(), b"]" + text("1") + b"a", after=struct.pack("<Q", 4) + FLOATS),
        old(old_tensor(), b"N", after=struct.pack("<Q", 4) + FLOATS),
        old(old_tensor(), b"]" + old_tensor() + b"a", after=struct.pack("<Q", 4) + FLOATS),
        old(old_tensor(number(1 << 40)), KEYS, after=struct.pack("<Q", 1 << 40)),
        old(old_tensor(number(1 << 2000)), KEYS),
        pickle.dumps({"a": 1}, 2),
        b"\x80\x02" + tensor(of=storage(count=b"K\x10")) + b".",
        b"\x80\x02" + tensor(of=storage(count=b"K\x01")) + b".",
        old().replace(pickle.dumps(1001, 2), pickle.dumps(10**9, 2)),
        bytes(257) + b"ustar" + bytes(250),
    ],
)
def test_broken_old_files(content):
    refusal(content, RuntimeError)


@pytest.mark.parametrize("content", [old(), old(b"K\x01"), old(b"K"), old(b"X\xff\xff\xff\xff")])
def test_old_files_cut_short(content):
    assert "of the file)" in refusal(content)


# --- files by the thousand ------------------------------------------------------------------------


def test_mutated_files(tmp_path):
    """Some of what tests/fuzz/files.py makes; in a process of its own, which it may take along."""
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from fuzz import files; "
        f"print(files.run(1, 400, {PATIENCE}, {str(tmp_path)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) == 400
