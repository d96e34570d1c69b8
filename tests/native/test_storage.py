"""Storages: what programs see of the memory of tensors, against PyTorch's where it is installed."""

import copy
import gc
import io
import pickle
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight
from _alone import PATIENCE
from _subject import torch


def described(t):
    return tuple(t.shape), t.stride(), t.storage_offset(), t.untyped_storage().nbytes()


def run(source: str) -> str:
    """What a program prints, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- programs of both libraries, side by side


class Program:
    """Tensors of one library, and the arrays that it gave out."""

    def __init__(self, library):
        self.lib = library
        self.tensors = [library.arange(6.0)]
        self.arrays = []

    def grow(self, t, change):
        """A change that may make storages larger: new bytes are set, to compare them."""
        before = [(s, s.nbytes()) for s in (x.untyped_storage() for x in self.tensors)]
        place = t.untyped_storage(), t.storage_offset(), t.shape, t.stride()
        try:
            change()
        except RuntimeError:
            t.set_(*place)  # PyTorch leaves the tensor beyond its memory
            raise
        for storage, n in before:
            if storage.nbytes() > n:
                storage[n : storage.nbytes()] = 1

    def step(self, op, which, a, b):
        t = self.tensors[which % len(self.tensors)]
        other = self.tensors[a % len(self.tensors)]
        add = self.tensors.append
        if op == "new":
            add(self.lib.arange(float(a)))
        elif op == "narrow":
            start = min(a, t.shape[0])
            add(t.narrow(0, start, min(b, t.shape[0] - start)))
        elif op == "step":
            add(t[:: a + 1])
        elif op == "flat":
            add(t.view(-1))
        elif op == "fold":
            add(t.view(-1, a))
        elif op == "turn":
            add(t.t())
        elif op == "strided":
            add(t.as_strided((a,), (b,), a))
        elif op == "strided_":
            t.as_strided_((a, 2), (2, 1), b)
        elif op == "fill":
            t.fill_(a)
        elif op == "add":
            t.add_(b)
        elif op == "set item":
            t[a] = b
        elif op == "copy":
            t.copy_(other)
        elif op == "numpy":
            # Of an alias: PyTorch frees the memory of arrays when their tensor gets other memory.
            self.arrays.append(t.detach().numpy())
        elif op == "write array":
            if self.arrays:
                self.arrays[which % len(self.arrays)][...] = a
        elif op == "from_numpy":
            if self.arrays:
                add(self.lib.from_numpy(self.arrays[which % len(self.arrays)]))
        elif op == "resize":
            self.grow(t, lambda: t.resize_(a, b))
        elif op == "resize_as":
            self.grow(t, lambda: t.resize_as_(other))
        elif op == "grow storage":
            storage = t.untyped_storage()
            self.grow(t, lambda: storage.resize_(storage.nbytes() + 4 * a))
        elif op == "set nothing":
            t.set_()
        elif op == "set tensor":
            t.set_(other)
        elif op == "set storage":
            storage = other.untyped_storage()
            t.set_()  # a tensor of that size keeps its strides, in PyTorch beyond the storage
            t.set_(storage)
        elif op == "set place":
            storage = other.untyped_storage()

            def move():
                t.set_()  # PyTorch does not let the storage grow for a tensor of that layout
                t.set_(storage, b, (a,), (b + 1,))

            self.grow(t, move)
        elif op == "clone":
            add(t.clone(memory_format=self.lib.contiguous_format))
        elif op == "deepcopy":
            add(copy.deepcopy(t))
        elif op == "dlpack":
            t.numpy()  # PyTorch moves memory that was handed out by DLPack alone, and frees it
            add(self.lib.from_dlpack(t.detach()))
        elif op == "delete":
            if len(self.tensors) > 1:
                self.tensors.pop(which % len(self.tensors))
        elif op == "delete array" and self.arrays:
            self.arrays.pop(which % len(self.arrays))

    def state(self):
        places = [t.untyped_storage()._cdata for t in self.tensors]
        return {
            "tensors": [described(t) for t in self.tensors],
            "values": [t.tolist() for t in self.tensors],
            "arrays": [x.tolist() for x in self.arrays],
            "aliases": [places.index(p) for p in places],
            "resizable": [t.untyped_storage().resizable() for t in self.tensors],
            "set to": [t.is_set_to(self.tensors[0]) for t in self.tensors],
        }


OPS = [
    *("new", "narrow", "step", "flat", "fold", "turn", "strided", "strided_", "fill", "add"),
    *("set item", "copy", "numpy", "write array", "from_numpy", "resize", "resize_as"),
    *("grow storage", "set nothing", "set tensor", "set storage", "set place", "clone"),
    *("deepcopy", "dlpack", "delete", "delete array"),
]
SMALL = st.integers(0, 5)


# The same programs in every run: a search for new ones is `make fuzz`'s.
@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(OPS), SMALL, SMALL, SMALL), max_size=25))
def test_programs_have_the_memory_that_pytorch_gives_them(steps):
    pytorch = pytest.importorskip("torch")
    programs = [Program(pytorch), Program(rushlight)]
    for step in steps:
        raised = []
        for program in programs:
            try:
                program.step(*step)
                raised.append(None)
            except Exception as error:
                raised.append((type(error), str(error)[:20]))
        assert raised[0] == raised[1], step
        ours, theirs = programs[1].state(), programs[0].state()
        assert ours == theirs, step


# ---- the object that stands for a storage


def test_one_object_stands_for_a_storage_while_it_is_held():
    t = torch.arange(6.0)
    storage = t.untyped_storage()
    assert t[2:].untyped_storage() is storage and t.clone().untyped_storage() is not storage
    assert storage == t.untyped_storage() and storage._cdata == t[1:].untyped_storage()._cdata
    gone = weakref.ref(storage)
    del storage
    assert gone() is None
    assert t.untyped_storage().nbytes() == 24


def test_a_storage_outlives_its_tensors():
    t = torch.arange(3, dtype=torch.uint8)
    storage = t.untyped_storage()
    del t
    gc.collect()
    assert storage.tolist() == [0, 1, 2]


def test_a_weak_reference_that_is_told_does_not_bring_the_object_back():
    class Own(torch.UntypedStorage):
        pass

    seen = []
    for kind in (torch.UntypedStorage, Own):
        storage = kind([1, 2, 3, 4])
        t = torch.zeros(0, dtype=torch.uint8).set_(storage)
        told = weakref.ref(storage, lambda _, t=t: seen.append(t.untyped_storage()))
        del storage
        assert told() is None
        assert seen[-1] is t.untyped_storage() and seen[-1].tolist() == [1, 2, 3, 4]
    assert len(seen) == 2


def test_a_cycle_through_a_storage_is_collected():
    t = torch.zeros(4)
    storage = t.untyped_storage()
    storage.mine = storage
    gone = weakref.ref(storage)
    del storage
    gc.collect()
    assert gone() is None and t.tolist() == [0, 0, 0, 0]


def test_slices_share_and_outlive_a_resize():
    storage = torch.UntypedStorage(range(200))
    part = storage[2:4]
    part[0] = 77
    assert storage[2] == 77
    storage.resize_(100_000)
    storage[3] = 5
    assert part.tolist() == [77, 3]


def test_a_smaller_storage_keeps_the_memory_of_its_tensors():
    t = torch.arange(1000.0)
    t.untyped_storage().resize_(0)
    assert t.untyped_storage().nbytes() == 0 and t.untyped_storage().tolist() == []
    assert t.add(1).shape == (1000,)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 0"):
        t.as_strided((2,), (1,))


@pytest.mark.parametrize(
    "make", [pickle_copy := lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy]
)
def test_copies_of_storages(make):
    storage = torch.UntypedStorage([1, 2, 3])
    copied = make(storage)
    copied[0] = 9
    assert copied.tolist() == [9, 2, 3] and storage.tolist() == [1, 2, 3]


def test_a_copy_of_two_views_has_one_storage():
    base = torch.arange(4.0)
    a, b = copy.deepcopy((base[:3], base[1:]))
    a[1] = 50
    assert b.tolist() == [50, 2, 3] and base[1] == 1
    assert described(b) == ((3,), (1,), 1, 16)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_typed_storages():
    t = torch.arange(4)
    storage = t.storage()
    storage[1] = 70
    assert t.tolist() == [0, 70, 2, 3] == t[2:].storage().tolist()
    assert (len(storage), storage.nbytes(), storage.dtype) == (4, 32, torch.int64)
    assert isinstance(storage, torch.LongStorage) and not isinstance(storage, torch.FloatStorage)
    assert torch.FloatStorage([1, 2]).untyped().nbytes() == 8
    assert pickle.loads(pickle.dumps(storage)).tolist() == storage.tolist()
    assert torch.zeros(0, dtype=torch.int64).set_(storage).data_ptr() == t.data_ptr()


def test_resize_keeps_the_block_that_a_writer_without_the_gil_has():
    t = torch.zeros(1 << 20)
    array = t._array if torch is rushlight else None
    if array is None:
        pytest.skip("asks rushlight for its own array")
    t.resize_(1 << 21)
    array[...] = 3  # of the replaced block, which the array keeps
    assert t[: 1 << 20].sum() == 0 and array.sum() == 3 << 20


# ---- files


def test_views_of_one_storage_are_saved_once_and_loaded_as_views():
    base = torch.arange(50_000.0)
    file = io.BytesIO()
    torch.save({"all": base, "part": base[10:20], "turned": base.view(2, -1).t()}, file)
    assert len(file.getvalue()) < 300_000
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["part"].untyped_storage() is loaded["all"].untyped_storage()
    loaded["all"][10] = -1
    assert loaded["part"][0] == -1 and loaded["turned"][10, 0] == -1
    assert described(loaded["part"]) == described(base[10:20])


def test_pytorch_loads_what_was_saved_with_the_sharing(tmp_path):
    pytorch = pytest.importorskip("torch")
    base = rushlight.arange(6.0)
    rushlight.save([base, base[2:]], tmp_path / "ours")
    a, b = pytorch.load(tmp_path / "ours")
    assert a.untyped_storage()._cdata == b.untyped_storage()._cdata
    pytorch.save([a, b], tmp_path / "theirs")
    a, b = rushlight.load(tmp_path / "theirs")
    assert a.untyped_storage() is b.untyped_storage() and b.storage_offset() == 2


# ---- NumPy


def test_an_array_keeps_the_memory_of_its_tensor():
    array = torch.arange(1000.0).numpy()
    gc.collect()
    others = [torch.full((1000,), 7.0) for _ in range(4)]
    assert array.tolist() == list(range(1000)) and len(others) == 4


@pytest.mark.parametrize("make", ["from_numpy", "as_tensor", "asarray", "from_dlpack"])
def test_a_tensor_keeps_its_array_and_lets_go_of_it(make):
    class Array(np.ndarray):
        pass

    array = np.arange(100.0).view(Array)
    owner = weakref.ref(array.base)
    t = getattr(torch, make)(array)
    del array
    gc.collect()
    t[0] = 5
    assert owner() is not None and owner()[0] == 5
    view = t[10:]
    del t
    assert owner() is not None
    del view
    gc.collect()
    assert owner() is None


def test_an_array_is_a_storage_by_itself():
    array = np.arange(16.0).reshape(4, 4)
    t = torch.from_numpy(array[1:3, ::2])
    assert described(t) == ((2, 2), (4, 2), 0, 56)
    assert not t.untyped_storage().resizable()
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        t.resize_(100)
    again = torch.from_numpy(torch.arange(4.0)[1:].numpy())
    assert described(again) == ((3,), (1,), 0, 12)


def test_a_tensor_of_data_grows():
    for t in (torch.tensor([1.0, 2.0]), torch.zeros(2), torch.randn(2), torch.arange(2.0) * 2):
        assert t.resize_(2000).shape == (2000,)


def test_memory_that_is_read_only_is_not_written():
    if torch is not rushlight:
        pytest.skip("PyTorch writes it")
    array = np.arange(3.0)
    array.flags.writeable = False
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
            made = torch.from_numpy(array)
    finally:
        torch.set_warn_always(False)
    for t in (made, torch.from_dlpack(array)):
        with pytest.raises(RuntimeError, match="read-only"):
            t.add_(1)
        with pytest.raises(RuntimeError, match="read-only"):
            t.untyped_storage().fill_(1)
        assert not t.numpy().flags.writeable
    assert array.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.zeros(4)[::-1], "At least one stride in the given numpy array is negative"),
        (np.zeros(3, [("a", "f4"), ("b", "i1")])["a"], "given numpy array strides not a multiple"),
        (np.zeros(3, ">f4"), "given numpy array has byte order different"),
    ],
)
@pytest.mark.parametrize("make", ["from_numpy", "as_tensor", "tensor"])
def test_arrays_that_no_tensor_can_show_are_refused(array, text, make):
    with pytest.raises(ValueError, match=text):
        getattr(torch, make)(array)


# ---- DLPack


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_is_used_once(version):
    t = torch.arange(6.0).view(2, 3).t()
    capsule = t.__dlpack__(max_version=version)
    back = torch.from_dlpack(capsule)
    assert described(back) == described(t)
    back[0, 0] = 9
    assert t[0, 0] == 9
    with pytest.raises(RuntimeError, match="from_dlpack received an invalid capsule"):
        torch.from_dlpack(capsule)


def test_the_memory_lives_until_the_consumer_lets_go():
    t = torch.arange(1000.0)
    array = np.from_dlpack(t)
    storage = weakref.ref(t.untyped_storage())
    back = torch.from_dlpack(array)
    del t, array
    others = [torch.full((1000,), 7.0) for _ in range(4)]
    assert back.tolist() == list(range(1000)) and storage() is None and len(others) == 4


def test_a_capsule_that_nobody_used_gives_the_memory_back():
    if torch is not rushlight:
        pytest.skip("asks rushlight for its memory")
    before = rushlight.memory.allocated()
    capsules = [torch.ones(1 << 16).clone().__dlpack__(max_version=v) for v in (None, (1, 0))]
    assert rushlight.memory.allocated() - before >= 2 << 18
    capsules.clear()
    assert rushlight.memory.allocated() - before < 1 << 18


@pytest.mark.parametrize(
    "dtype",
    (
        "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 uint16 "
        "bfloat16"
    ).split(),
)
def test_pytorch_as_a_partner(dtype):
    pytorch = pytest.importorskip("torch")
    theirs = pytorch.arange(4).to(getattr(pytorch, dtype))
    ours = rushlight.from_dlpack(theirs)
    assert str(ours.dtype) == str(theirs.dtype) and ours.data_ptr() == theirs.data_ptr()
    back = pytorch.from_dlpack(ours)
    assert back.dtype is theirs.dtype and back.data_ptr() == theirs.data_ptr()
    del theirs, ours
    gc.collect()
    assert back.tolist() == pytorch.arange(4).to(getattr(pytorch, dtype)).tolist()


def test_what_dlpack_refuses():
    with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
        torch.zeros(1, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="Can't export tensors with the conjugate bit set"):
        torch.zeros(1, dtype=torch.complex64).conj().__dlpack__()
    with pytest.raises(AssertionError, match="stream should be None on cpu"):
        torch.zeros(1).__dlpack__(stream=1)
    if torch is rushlight:  # PyTorch ends the process
        with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
            torch.from_dlpack(np.zeros(3)[::-1])


def test_a_copy_for_dlpack_is_one():
    t = torch.zeros(3)
    copied = torch.from_dlpack(t, copy=True)
    copied += 1
    assert t.tolist() == [0, 0, 0]


# ---- the allocator


def test_threads_that_free_what_others_allocated():
    def work(seed):
        held = []
        for i in range(300):
            held.append(torch.full((17 * (i % 40) + 1,), float(seed * 1000 + i)))
            if len(held) > 12:
                place = boxes[(seed + i) % len(boxes)]
                with lock:
                    place.append(held.pop(0))
                    mine = boxes[seed].pop(0) if boxes[seed] else None
                if mine is not None and not bool((mine == mine[0]).all()):
                    broken.append(seed)
        broken.extend(seed for t in held if not bool((t == t[0]).all()))

    boxes, broken, lock = [[] for _ in range(4)], [], threading.Lock()
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not broken


def test_a_forked_child_computes():
    said = run(
        """
        import os, rushlight as torch
        x = torch.randn(300, 300)
        want = float((x @ x).sum())
        child = os.fork()
        if child == 0:
            good = [float((x @ x).sum()) == want for _ in range(3)]
            y = torch.zeros(1 << 20)
            os._exit(0 if all(good) and float(y.sum()) == 0 else 3)
        assert float((x @ x).sum()) == want
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert said == "0\n"


def test_out_of_memory_is_an_error_and_the_program_goes_on():
    said = run(
        """
        import resource, rushlight as torch
        x = torch.ones(1000)
        y = torch.arange(4.0)
        # Beyond what the process has mapped: a sanitizer alone maps terabytes of shadow.
        mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        limit = mapped + (2 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        big = 1 << 30  # elements, four times as many bytes
        makers = [
            lambda: torch.empty(big), lambda: x.expand(1 << 20, 1000).clone(),
            lambda: torch.zeros(3).resize_(big), lambda: torch.UntypedStorage(4 * big),
            lambda: y.untyped_storage().resize_(4 * big),
            lambda: x.expand(1 << 20, 1000) + 1,
        ]
        for make in makers * 3:
            try:
                make()
            except RuntimeError as error:
                assert "DefaultCPUAllocator: can't allocate memory" in str(error), error
            else:
                raise SystemExit("there was memory")
            assert (x + 1).sum() == 2000 and y.tolist() == [0, 1, 2, 3]
        print("done")
        """
    )
    assert said == "done\n"


def test_each_of_several_results_is_made_once():
    if torch is not rushlight:
        pytest.skip("PyTorch does not count the CPU's memory")
    x = torch.ones(256, 1024) * 2
    memory = rushlight.memory
    memory.reset_peak()
    before = memory.allocated()
    normed = torch.nn.functional.layer_norm(x, (1024,))  # with the means and the deviations
    assert memory.peak() - before < 1.5 * normed.nbytes


def test_more_elements_than_can_be_counted_are_refused():
    for sizes in ((2**62, 2), (2**40, 2**40, 2)):
        with pytest.raises(RuntimeError, match=r"^numel: integer multiplication overflow"):
            torch.ones(2).expand(*sizes)
    assert torch.ones(2, 0).expand(2**62, 2, 0).numel() == 0


def test_a_storage_is_on_the_device_that_is_named():
    assert torch.UntypedStorage(3, device="meta").device == torch.device("meta")
    assert torch.UntypedStorage(3, device="cpu").device == torch.device("cpu")
    with pytest.raises(RuntimeError, match=r"^Expected one of cpu, cuda"):
        torch.UntypedStorage(3, device="metal")


def test_memory_is_counted():
    if torch is not rushlight:
        pytest.skip("rushlight's own")
    memory = rushlight.memory
    memory.empty_cache()
    memory.reset_peak()
    before = memory.allocated()
    x = torch.ones(1 << 20).clone()
    assert memory.allocated() - before >= x.nbytes
    del x
    assert memory.allocated() == before
    assert memory.peak() - before >= 4 << 20
    assert memory.reserved() >= memory.allocated()
    assert torch.cuda.memory_allocated() == 0
