"""Checkpoint files that are damaged or made to do harm, by the thousand.

`run` makes them from a seed: honest ones with changed bytes, with changed instructions in their
pickle or a changed archive, and pickles drawn from a grammar of what a hostile file would try. Each
is loaded with `weights_only=True`, in this process, and must load or end in `UnpicklingError` or
`RuntimeError`, in little time and memory, and must leave everything else as it was.

A file that does worse is in the folder `keep` under its seed; one that takes the process along, or
hangs, is `last.pt` there, and was made by the file's number `last.txt`. So run it in a process of
its own: `python -c "from files import run; print(run(0, 1000, 600, '/tmp/kept'))"`.
"""

import collections
import copy
import enum
import faulthandler
import io
import itertools
import pickle
import pickletools
import random
import resource
import struct
import sys
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

import rushlight as torch
from rushlight._base import dtypes
from rushlight.serialization import _pickler, _safe, safe_globals
from rushlight.storage import content_of

# What a file may take: so much, and so much for each byte of its pickle.
SECONDS = 2, 3e-6
BYTES = 200 << 20, 400
HANGS = 120  # seconds after which the process ends with a traceback

# --- pickles by hand ------------------------------------------------------------------------------


def text(value):
    encoded = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<L", len(encoded)) + encoded


def name(module, name):
    return f"c{module}\n{name}\n".encode()


def number(value):
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


ZERO, CPU = text("0"), text("cpu")
SET = name("builtins", "set")
ORDERED = name("collections", "OrderedDict")
REBUILD = name("torch._utils", "_rebuild_tensor_v2")


def storage(kind="FloatStorage", key=ZERO, location=CPU, count=b"K\x04"):
    named = name("torch.storage" if kind == "UntypedStorage" else "torch", kind)
    return b"(" + text("storage") + named + key + location + count + b"tQ"


def tensor(shape=b"K\x02\x85", strides=b"K\x01\x85", offset=b"K\x00", flag=b"\x89", of=None):
    return REBUILD + b"(" + (of or storage()) + offset + shape + strides + flag + ORDERED + b")RtR"


# --- what no file may change ----------------------------------------------------------------------


class Canary:
    rate = 0.5

    def sing(self):
        return "sings"


class Slotted:
    __slots__ = ("value",)


class Listening:
    def __setstate__(self, state):
        self.state = state


class Level(enum.Enum):
    LOW = 1


class Kind(torch.Tensor):
    pass


def helper(first="first", second="second"):
    return first


ALIVE = Canary()
REGISTRY = {"kept": [1, 2]}


def alive():
    return ALIVE


def registry():
    return REGISTRY


def numbers():
    return REGISTRY["kept"]


ADDED = [Canary, Slotted, Listening, Level, Kind, helper, alive, registry, numbers]
FUNCTIONS = [each for each in {*_safe._OWN.values()} if hasattr(each, "__defaults__")]
STORAGES = [each for each in _safe._OWN.values() if isinstance(each, _pickler.Global)]


def state_of_the_process():
    """Copies of all that a file might have changed."""
    kinds = [Canary, Slotted, Listening, Level, Kind, torch.Tensor, torch.nn.Parameter]
    functions = [*FUNCTIONS, *(each for each in ADDED if hasattr(each, "__defaults__"))]
    return [
        *(dict(vars(kind)) for kind in kinds),
        *((vars(each).copy(), each.__defaults__, each.__code__) for each in functions),
        [vars(ALIVE).copy(), vars(Level.LOW).copy(), copy.deepcopy(REGISTRY)],
        [(each.name, each.itemsize, each.numpy) for each in dtypes.ALL],
        _safe._OWN.copy(),
        _safe._INSTRUCTIONS.copy(),
        [each.dtype for each in _safe._OWN.values() if hasattr(each, "dtype")],
        torch.serialization.get_safe_globals(),
        sorted(sys.modules),
    ]


# --- honest files -------------------------------------------------------------------------------


def honest(rng):
    """What programs save: tensors of all dtypes, in containers of all kinds."""
    pool = [some_tensor(rng) for _ in range(rng.randint(1, 4))]
    plain = [None, True, 7, -(2**40), 2**70, 0.5, 1j, "text", "é", b"bytes", bytearray(b"more")]
    plain += [torch.Size([2, 3]), torch.float16, torch.device("cuda:1"), torch.strided, {1, 2}]

    def value(depth):
        kind = rng.choice(["tensor", "tensor", "plain", "list", "tuple", "dict", "ordered", "own"])
        if depth == 0 or kind == "plain":
            return rng.choice(plain)
        several = [value(depth - 1) for _ in range(rng.randint(0, 4))]
        if kind == "tensor":
            return rng.choice(pool)
        if kind in ("list", "tuple"):
            return several if kind == "list" else tuple(several)
        if kind == "own":
            made = rng.choice([Canary, Slotted, Listening])()
            made.value = several
            return made
        keys = [rng.choice(["key", f"key{n}", n, (n, "key"), 2.5]) for n in range(len(several))]
        made = dict(zip(keys, several, strict=True))
        if kind == "dict":
            return made
        ordered = collections.OrderedDict(made)
        ordered._metadata = {"version": 1}
        return rng.choice([ordered, collections.Counter("some letters")])

    return value(3)


def some_tensor(rng):
    dtype = rng.choice(dtypes.ALL)
    shape = rng.choice([(), (3,), (2, 3), (0,), (2, 1, 2)])
    made = torch.ones(shape, dtype=dtype)
    if rng.random() < 0.3:
        made = made.t() if len(shape) == 2 else made.expand(2, *shape)
    if dtype.is_floating_point and rng.random() < 0.4:
        made = torch.nn.Parameter(made, rng.random() < 0.5)
    if rng.random() < 0.3:
        made.note = "a note"
    return made


def pickled(obj):
    """The pickle of an object, and its storages."""
    file = io.BytesIO()
    pickler = _pickler.Pickler(file, 2)
    pickler.dump(obj)
    return file.getvalue(), [content_of(each) for each in pickler.storages]


def archive(rng, data, storages):
    """The file of today: a zip archive."""
    records = {"data.pkl": data, "byteorder": sys.byteorder.encode(), "version": b"3\n"}
    records.update({f"data/{n}": each for n, each in enumerate(storages)})
    if rng.random() < 0.002:
        key = rng.choice(["data.pkl", "data/0"])
        records[key] = b"\x80\x02" + b"]" * (300 << 20)
    if rng.random() < 0.05:
        key = rng.choice(list(records))
        records[key] = rng.choice([b"", b"\0", b"middle", b"big", b"11", records[key] * 2])
    if rng.random() < 0.02:
        del records[rng.choice(list(records))]
    if rng.random() < 0.02:
        records[rng.choice(["data/../version", "constants.pkl", "data/9", "é"])] = b"x"
    file = io.BytesIO()
    methods = [zipfile.ZIP_STORED] * 18 + [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]
    method = rng.choice(methods) if sum(map(len, records.values())) < 1 << 20 else 8
    with zipfile.ZipFile(file, "w") as opened, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for key, content in records.items():
            opened.writestr(f"x/{key}", content, method)
            if rng.random() < 0.01:
                opened.writestr(f"x/{key}", content)
    return file.getvalue()


def stream(rng, data, storages):
    """The file of before PyTorch 1.6."""
    parts = [pickle.dumps(each, 2) for each in (0x1950A86A20F9469CFC6C, 1001, {"little": True})]
    parts += [data, pickle.dumps([str(n) for n in range(len(storages))], 2)]
    counts = [len(each) // rng.choice([1, 2, 4, 4, 4, 8]) for each in storages]
    for count, each in zip(counts, storages, strict=True):
        parts.append(struct.pack("<Q", count) + each)
    return b"".join(parts)


# --- changes ------------------------------------------------------------------------------------

EDGES = [0, 1, 2, 4, 63, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 2, 2**32 - 1]


def changed_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        way = rng.randrange(6)
        if way == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif way == 1:
            data[at : at + 4] = struct.pack("<L", rng.choice(EDGES))
        elif way == 2:
            del data[at : at + rng.randint(1, 40)]
        elif way == 3:
            data[at:at] = data[at : at + rng.randint(1, 40)]
        elif way == 4:
            data[at:at] = rng.randbytes(rng.randint(1, 8))
        elif rng.random() < 0.2:
            del data[at:]
    return bytes(data)


def instructions(data):
    places = [at for _, _, at in pickletools.genops(data)] + [len(data)]
    return [data[a:b] for a, b in itertools.pairwise(places)]


def changed_instructions(rng, data):
    """A pickle with instructions left out, doubled, exchanged or put in."""
    parts = instructions(data)
    for _ in range(rng.randint(1, 5)):
        at, other = rng.randrange(len(parts)), rng.randrange(len(parts))
        way = rng.randrange(7)
        if way == 0 and len(parts) > 1:
            del parts[at]
        elif way == 1:
            parts.insert(at, parts[other])
        elif way == 2:
            parts[at], parts[other] = parts[other], parts[at]
        elif way == 3:
            parts[at:at] = [parts[other]] * rng.choice([2, 10, 1000])
        elif way == 4:
            parts[at:at] = parts[other : other + rng.randint(2, 30)]
        elif way == 5:
            parts[at] = value(rng, 2)
        else:
            parts.insert(at, value(rng, 3) if rng.random() < 0.5 else opcode(rng))
    return b"".join(parts)


def changed_archive(rng, data):
    """An archive with other numbers in its directory, its headers or its end."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        mark = rng.choice([b"PK\x01\x02", b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"])
        places = [n for n in range(len(data) - 3) if data[n : n + 4] == mark]
        if not places:
            continue
        at = rng.choice(places)
        new = rng.choice([*EDGES, len(data), len(data) - at, at])
        if rng.random() < 0.5:
            at += rng.randrange(0, 46, 2)
            data[at : at + 2] = struct.pack("<H", new & 0xFFFF)
        else:
            at += rng.choice([10, 12, 14, 16, 18, 20, 22, 24, 42])
            data[at : at + 4] = struct.pack("<L", new & 0xFFFFFFFF)
    if rng.random() < 0.1:
        end = max(bytes(data).rfind(b"PK\x05\x06"), 0)
        fields = [rng.choice([0, end, len(data), 2**63, 2**64 - 1]) for _ in range(2)]
        record = b"PK\x06\x06" + bytes(36) + struct.pack("<QQ", *fields)
        data[end:end] = record + b"PK\x06\x07" + bytes(16)
    if rng.random() < 0.1:
        data += rng.randbytes(rng.choice([1, 30, 70000]))
    if rng.random() < 0.1:
        del data[rng.randrange(len(data)) :]
    return bytes(data)


# --- a grammar of hostile pickles ---------------------------------------------------------------

OWN = [each.rpartition(".") for each in _safe._OWN]
OTHERS = [
    *(("os", "system"), ("builtins", "eval"), ("builtins", "getattr"), ("sys", "modules")),
    *(("torch._utils", "_rebuild_sparse_tensor"), ("torch._utils", "_rebuild_qtensor")),
    *(("torch", "load"), ("collections", "defaultdict"), ("", ""), ("x" * 300, "y")),
]
ATTRIBUTES = ["sing", "rate", "value", "__class__", "__dict__", "__defaults__", "__code__", "items"]
ATTRIBUTES += [
    "backward",
    "_hooks",
    "data",
    "grad",
    "requires_grad",
    "note",
    "_value_",
    "__setstate__",
]


def opcode(rng):
    """An instruction by itself, with whatever follows it as its argument."""
    known = rng.choice([*_safe._INSTRUCTIONS, b"Q", b".", bytes([rng.randrange(256)])])
    return known + rng.randbytes(rng.choice([0, 0, 1, 4]))


def integer(rng):
    edges = [*EDGES, -1, 2**61 - 1, 2**61, 2**63 - 1, 2**63, 2**64, 2**2000, -(2**63), 10**6]
    return rng.choice([b"K" + rng.randbytes(1), number(rng.choice(edges)), b"M" + rng.randbytes(2)])


def global_(rng):
    way = rng.randrange(10)
    if way == 0:
        return name(*rng.choice(OTHERS))
    if way < 5:
        return name(__name__, rng.choice(ADDED).__qualname__)
    module, _, each = rng.choice(OWN)
    return name(module, each)


def atom(rng):
    way = rng.randrange(12)
    if way < 3:
        return integer(rng)
    if way < 5:
        return text(
            rng.choice([*ATTRIBUTES, "cpu", "storage", "latin1", "0", "x" * 5000, "\ud800"])
        )
    if way == 5:
        return b"U\x03abc"
    if way == 6:
        return b"h" + bytes([rng.randrange(4)])
    if way == 7:
        return global_(rng)
    return rng.choice([b"N", b"\x88", b"\x89", b")", b"]", b"}", b"\x8f", b"G" + rng.randbytes(8)])


def value(rng, depth):
    """Instructions that leave one value more on the stack, mostly."""
    if depth <= 0:
        return atom(rng)

    def some(most=3):
        return b"".join(value(rng, depth - 1) for _ in range(rng.randint(0, most)))

    def one():
        return value(rng, depth - 1)

    def pairs():
        return b"".join(key() + one() for _ in range(rng.randint(0, 3)))

    def key():
        return text(rng.choice(ATTRIBUTES)) if rng.random() < 0.6 else one()

    def arguments():
        return rng.choice([lambda: b"(" + some() + b"t", lambda: one() + b"\x85", lambda: b")"])()

    def shape():
        return b"(" + b"".join(integer(rng) for _ in range(rng.choice([0, 1, 1, 2, 70]))) + b"t"

    def some_storage():
        kind = rng.choice(["FloatStorage", "ByteStorage", "ComplexDoubleStorage", "UntypedStorage"])
        return storage(
            kind,
            rng.choice([ZERO, text("1"), one()]),
            rng.choice([CPU, CPU, text("cuda:0"), one()]),
            rng.choice([b"K\x04", integer(rng), one()]),
        )

    def some_tensor():
        flag = rng.choice([b"\x88", b"\x89", one()])
        of = rng.choice([some_storage(), storage(), one()])
        return tensor(shape(), shape(), integer(rng), flag, of)

    def again():
        """One value many times, or many values of values."""
        count = rng.choice([10, 40, 1000])
        step = rng.choice(
            [b"q\0h\0\x86", b"q\0h\0h\0\x87", b"\x85", b"q\0}Nh\0s", b"q\0]h\0a", b"h\0"]
        )
        return one() + step * count

    ways = {
        atom: 4,
        lambda rng: b"](" + some() + b"e": 3,
        lambda rng: b"]" + one() + b"a": 2,
        lambda rng: b"(" + some() + b"t": 3,
        lambda rng: b"}(" + pairs() + b"u": 4,
        lambda rng: b"}" + key() + one() + b"s": 3,
        lambda rng: global_(rng) + arguments() + b"R": 8,
        lambda rng: global_(rng) + arguments() + b"\x81": 4,
        lambda rng: one() + arguments() + b"R": 1,
        lambda rng: one() + b"}(" + pairs() + b"ub": 5,
        lambda rng: one() + b"N}(" + pairs() + b"u\x86b": 5,
        lambda rng: one() + one() + b"b": 2,
        lambda rng: one() + key() + one() + b"s": 3,
        lambda rng: one() + b"(" + pairs() + b"u": 3,
        lambda rng: one() + one() + b"a": 2,
        lambda rng: one() + b"(" + some() + b"e": 2,
        lambda rng: SET + b"](" + some() + b"e\x85R": 2,
        lambda rng: one() + b"q" + bytes([rng.randrange(4)]): 4,
        lambda rng: again(): 2,
        lambda rng: some_storage(): 1,
        lambda rng: some_tensor(): 4,
        lambda rng: (
            name("torch._utils", "_rebuild_parameter_with_state")
            + b"("
            + some_tensor()
            + b"\x89N}("
            + pairs()
            + b"utR"
        ): 2,
        lambda rng: (
            name("torch._tensor", "_rebuild_from_type_v2")
            + b"("
            + rng.choice([REBUILD, global_(rng)])
            + global_(rng)
            + arguments()
            + one()
            + b"tR"
        ): 2,
        lambda rng: one() + opcode(rng): 1,
    }
    (way,) = rng.choices([*ways], [*ways.values()])
    return way(rng)


# --- attacks: pickles that are right but for one thing --------------------------------------------


def call(function, *arguments):
    return name(__name__, function.__qualname__) + b"(" + b"".join(arguments) + b"tR"


TARGETS = [
    *(call(each) for each in (alive, registry, numbers, Canary, Slotted, Listening)),
    *(name(__name__, each.__qualname__) for each in (Canary, Level, helper)),
    *(name(__name__, each.__qualname__) + b")\x81" for each in (Canary, Slotted, Listening)),
    call(Level, b"K\x01"),
    *(b"]", b"}", b"\x8f", ORDERED + b")R", name("collections", "Counter") + b")R"),
    *(tensor(), name("torch._utils", "_rebuild_parameter") + b"(" + tensor() + b"\x89NtR"),
    *(name("torch", each) for each in ("float32", "FloatStorage", "Size", "Tensor")),
]


def write(rng):
    """A write to what may be written to, or may not."""
    key = text(rng.choice([*ATTRIBUTES, "kept", "rate"]))
    one = rng.choice([b"N", b"K\x01", text("changed"), b"]", name(__name__, "helper")])
    ways = [key + one + b"s", b"(" + key + one + b"u", one + b"a", b"(" + one + one + b"e"]
    ways += [b"}" + key + one + b"sb", b"N}" + key + one + b"s\x86b"] * 2
    return rng.choice(TARGETS) + rng.choice(ways)


def long_key(rng):
    """Keys that would take long to hash or to compare, in any container."""
    count = rng.choice([5, 40, 20000])
    keys = rng.choice(
        [
            [b")" + b"\x85" * rng.choice([10, 1100, 300000])],
            [b")" + b"q\0h\0\x86" * rng.choice([5, 12, 40])],
            [b"(" + b"K\1" * rng.choice([900, 3000]) + b"t"],
            [number(k * (2**61 - 1) + 1) for k in range(count)],
            [number(k * (2**61 - 1) + 1) + b"\x85" for k in range(count)],
            [b"K\1\x85"] * count,
        ]
    )
    counter = name("collections", "Counter")
    ways = [
        b"}(" + b"".join(key + b"N" for key in keys) + b"u",
        b"}" + b"".join(key + b"Ns" for key in keys),
        SET + b"](" + b"".join(keys) + b"e\x85R",
        counter + b"}(" + b"".join(key + b"K\1" for key in keys) + b"u\x85R",
        ORDERED + b"](" + b"".join(key + b"N\x86" for key in keys) + b"e\x85R",
    ]
    return rng.choice(ways)


def long_work(rng):
    """Many calls with one large value."""
    count = rng.choice([10, 1000, 100000])
    large = [b"](" + b"K\1" * count + b"e", b"(" + b"K\1" * count + b"t", text("x" * count)]
    large += [b"}(" + b"".join(text(str(n)) + b"N" for n in range(count)) + b"u"]
    ways = [
        SET + b"q\1" + b"h\1h\0\x85R",
        name("_codecs", "encode") + b"q\1" + text("latin1") + b"q\2" + b"h\1h\0h\2\x86R",
        name("builtins", "bytearray") + b"q\1" + text("latin1") + b"q\2" + b"h\1h\0h\2\x86R",
        name("torch", "Size") + b"q\1" + b"h\1h\0\x85R",
        name("collections", "Counter") + b"q\1" + b"h\1h\0\x85R",
        ORDERED + b"q\1" + b"h\1)Rh\0b",
        name(__name__, "Canary") + b"q\1" + b"h\1)\x81h\0b",
    ]
    named, call = rng.choice(ways).rsplit(b"h\1", 1)
    return rng.choice(large) + b"q\0" + named + (b"h\1" + call) * rng.choice([2, count])


def near_tensor(rng):
    """A tensor that lies in its storage, or almost."""
    count = rng.choice([0, 1, 2, 3, 4, 4, 5])
    kind = rng.choice(
        ["FloatStorage", "FloatStorage", "ByteStorage", "DoubleStorage", "BoolStorage"]
    )
    shape = [rng.choice([0, 1, 2, 2, 3, 5, 2**40]) for _ in range(rng.choice([0, 1, 2, 3, 65]))]
    strides = [rng.choice([0, 0, 1, 1, 2, 3, -1, 2**62]) for _ in shape]
    where = [b"(" + b"".join(map(number, each)) + b"t" for each in (shape, strides)]
    flag = rng.choice([b"\x88", b"\x89", b"\x89"])
    of = storage(kind, rng.choice([ZERO, text("1")]), CPU, number(count))
    made = tensor(*where, number(rng.choice([0, 0, 0, 1, 3, -1])), flag, of)
    if rng.random() < 0.3:
        made = name("torch._utils", "_rebuild_parameter") + b"(" + made + b"\x89NtR"
    if rng.random() < 0.3:
        state = b"}" + text(rng.choice(ATTRIBUTES)) + b"Ns"
        named = name("torch._utils", "_rebuild_parameter_with_state")
        made = named + b"(" + made + b"\x89N" + state + b"tR"
    return made


def absurd(rng):
    """A few bytes that name gigabytes, or values that would never be printed."""
    thrice = b"]" + b"q\0h\0h\0\x87" * rng.choice([1, 20])
    large = rng.choice([thrice, number(3 << 30), number(2**2000), text("x" * 10**5)])
    ways = [
        name("builtins", "bytearray") + large + b"\x85R",
        name("torch", "Size") + large + b"\x85R",
        name("torch", "device") + large + b"\x85R",
        name("torch.serialization", "_get_layout") + large + b"\x85R",
        name("builtins", "complex") + large + b"\x85R",
        *(storage(count=large), storage(key=large), storage(location=large)),
        *(tensor(shape=large), tensor(offset=large), tensor(flag=large), tensor(of=large)),
        *(large + b"Q", large + b")R", large + b")\x81", large + b"Nb", large + b"Na"),
        *(b"}" + large + b"Ns", b"X\xff\xff\xff\xff", b"\x96" + bytes(4) + b"\xff" * 4),
    ]
    return rng.choice(ways)


def attack(rng):
    """Some attacks one after the other; mostly one, as what is refused ends the file."""
    ways = {write: 6, near_tensor: 4, absurd: 3, long_key: 1, long_work: 0.5}
    chosen = rng.choices([*ways], [*ways.values()], k=rng.choice([1, 1, 1, 4]))
    return b"](" + b"".join(way(rng) for way in chosen) + b"e"


# --- the run --------------------------------------------------------------------------------------


def made(rng):
    """One file, and the size of its pickle."""
    way = rng.choices(["hostile", "instructions", "bytes", "file"], [4, 3, 1, 2])[0]
    if way == "hostile":
        program = attack(rng) if rng.random() < 0.5 else value(rng, 6)
        data, storages = b"\x80\x02" + program + b".", [bytes(16), rng.randbytes(7)]
    else:
        data, storages = pickled(honest(rng))
    if way == "instructions":
        data = changed_instructions(rng, data)
    if way == "bytes":
        data = changed_bytes(rng, data)
    if rng.random() < 0.25:
        content, changes = stream(rng, data, storages), [changed_bytes]
    else:
        content, changes = archive(rng, data, storages), [changed_bytes, changed_archive]
    if way == "file":
        content = rng.choice(changes)(rng, content)
    return content, len(data)


def used(result):
    """Computes a little with the tensors of a result: that they lie in memory that exists."""
    waiting = [result]
    for _ in range(200):
        if not waiting:
            return
        each = waiting.pop()
        if isinstance(each, torch.Tensor):
            assert not [name for name in vars(each) if hasattr(torch.Tensor, name)]
            if each.numel() < 10**5:
                # Types of 8 bits and complex32 have no sums.
                (
                    each.detach().clone().to(torch.complex128)
                    if each.is_complex()
                    else each.double()
                ).sum()
                repr(each)
        elif type(each) in (list, tuple, set):
            waiting.extend(each)
        elif isinstance(each, dict):
            waiting.extend(dict.values(each))
            assert not [name for name in getattr(each, "__dict__", ()) if hasattr(type(each), name)]


def outcome(path, content, size, from_path):
    """What is wrong with how a file loads, or nothing."""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    said = ""
    try:
        result = torch.load(path if from_path else io.BytesIO(content), weights_only=True)
    except (pickle.UnpicklingError, RuntimeError) as error:
        if type(error) not in (pickle.UnpicklingError, RuntimeError):
            return f"ends in {type(error).__name__}: {error}"
        said = str(error)
    except EOFError as error:
        said = str(error)
        if content:
            return f"ends in EOFError: {error}"
    except Exception as error:
        return f"ends in {type(error).__name__}: {str(error)[:500]}"
    took = time.process_time() - begun
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) * (
        1 if sys.platform == "darwin" else 1024
    )
    if took > SECONDS[0] + SECONDS[1] * size:
        return f"took {took:.1f} s"
    if grown > BYTES[0] + BYTES[1] * size:
        return f"took {grown >> 20} MB"
    if len(said) > 2000 or "memory" in said:
        return f"said {said[:3000]}"
    if not said:
        try:
            used(result)
        except Exception as error:
            return f"loads, but a tensor of it cannot be used: {type(error).__name__}: {error}"
    return None


def run(seed, count, seconds, keep=None):
    """Loads up to `count` files, for up to so many seconds; how many. What is wrong is raised."""
    folder = Path(keep or tempfile.mkdtemp(prefix="files-"))
    folder.mkdir(parents=True, exist_ok=True)
    path, end = folder / "last.pt", time.monotonic() + seconds
    with safe_globals(ADDED), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # What is imported late, by `random` as well, and what pickle notes on classes.
        data, _ = pickled([torch.ones(2), Canary(), Slotted(), Listening()])
        outcome(path, archive(random.Random(0), data, [bytes(8)]), len(data), False)
        repr(torch.ones(2))
        len(torch.ops.OPS)  # every file of the table is read
        random.Random("a text")
        before = state_of_the_process()
        for index in range(count):
            if time.monotonic() > end:
                return index
            content, size = made(random.Random(f"{seed} {index}"))
            path.write_bytes(content)
            faulthandler.dump_traceback_later(HANGS, exit=True)
            wrong = outcome(path, content, size, index % 2)
            faulthandler.cancel_dump_traceback_later()
            after = state_of_the_process() if wrong is None else before
            if after != before:
                changed = [a for a, b in zip(after, before, strict=True) if a != b]
                wrong = f"changed the program: {str(changed)[:1000]}"
            if wrong is not None:
                kept = folder / f"{seed}-{index}.pt"
                path.rename(kept)
                raise AssertionError(f"{kept} {wrong}")
    return count
