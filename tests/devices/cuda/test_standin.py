"""The stand-in for CUDA itself: what kernels compute there, and that each error is told."""

import ctypes
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import _standin as standin
import numpy as np
import pytest
from _standin import call, compiled, fail, live, made, run

TOOLS = Path(__file__).parents[3] / "tools"
MODES = {"relaxed": 2, "global": 0}


def text(body, parameters="float *out", name="k"):
    """A kernel, the lines of whose body are counted from 2."""
    return f'#line 1\nextern "C" __global__ void {name}({parameters}) {{\n{body}\n}}\n'


# ---- what kernels compute


@pytest.mark.parametrize("threads", [32, 64, 1024])
def test_a_sum_over_a_block_by_barriers(threads):
    body = """
  __shared__ float part[1024];
  part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (int half = blockDim.x / 2; half; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (!threadIdx.x) out[blockIdx.x] = part[0];"""
    numbers, sums = np.arange(3 * threads, dtype="f"), np.zeros(3, "f")
    run(text(body, "const float *in, float *out"), "k", 3, threads, numbers, sums)
    np.testing.assert_array_equal(sums, numbers.reshape(3, threads).sum(1))


def test_without_its_barrier_a_kernel_gives_no_number():
    body = """
  __shared__ float part[64];
  part[threadIdx.x] = threadIdx.x;
  {} out[blockIdx.x * 64 + threadIdx.x] = part[63 - threadIdx.x];"""
    right, wrong = np.zeros((2, 64), "f"), np.zeros((2, 64), "f")
    run(text(body.format("__syncthreads();")), "k", 2, 64, right)
    np.testing.assert_array_equal(right, [np.arange(63, -1, -1)] * 2)
    run(text(body.format("")), "k", 2, 64, wrong)
    assert np.isnan(wrong[0, :32]).all()  # the first block begins at thread 0,
    assert np.isnan(wrong[1, 32:]).all()  # the second at thread 63


def test_the_last_block_is_the_first():
    body = "out[blockIdx.x] = atomicAdd(&out[3], 1);"
    found = np.zeros(4, "i")
    run(text(body, "int *out"), "k", 3, 1, found)
    assert found.tolist() == [2, 1, 0, 3]


def test_indices_in_three_dimensions():
    body = """
  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  int *at = out + 3 * (block * 24 + thread);
  at[0] = threadIdx.x, at[1] = threadIdx.y, at[2] = threadIdx.z;"""
    found = np.zeros((2, 2, 2, 4, 3, 2, 3), "i")
    run(text(body, "int *out"), "k", (2, 2, 2), (2, 3, 4), found)
    z, y, x = np.meshgrid(range(4), range(3), range(2), indexing="ij")
    np.testing.assert_array_equal(found, np.broadcast_to(np.stack([x, y, z], -1), found.shape))


LANES = np.arange(64)
SHUFFLES = {
    "__shfl_xor_sync(~0u, v, 5)": LANES ^ 5,
    "__shfl_xor_sync(~0u, v, 8, 8)": LANES,  # of another part: its own
    "__shfl_down_sync(~0u, v, 3)": np.where(LANES % 32 < 29, LANES + 3, LANES),
    "__shfl_down_sync(~0u, v, 3, 8)": np.where(LANES % 8 < 5, LANES + 3, LANES),
    "__shfl_up_sync(~0u, v, 2, 16)": np.where(LANES % 16 >= 2, LANES - 2, LANES),
    "__shfl_sync(~0u, v, 7)": LANES // 32 * 32 + 7,
    "__shfl_sync(~0u, v, 5, 4)": LANES // 4 * 4 + 1,
    "__any_sync(~0u, v == 40)": LANES // 32,
    "__all_sync(~0u, v >= 32)": LANES // 32,
}


@pytest.mark.parametrize("kind", ["int", "unsigned", "float", "double", "long long"])
def test_calls_of_a_warp(kind):
    stored = [f"out[{64 * i} + threadIdx.x] = {name};" for i, name in enumerate(SHUFFLES)]
    found = np.zeros((len(SHUFFLES), 64), "d")
    body = "\n".join([f"{kind} v = threadIdx.x;", *stored])
    run(text(body, "double *out"), "k", 1, 64, found)
    for name, row in zip(SHUFFLES, found, strict=True):
        np.testing.assert_array_equal(row, SHUFFLES[name], err_msg=name)


def test_votes():
    found = np.zeros(64, "u4")
    body = "out[threadIdx.x] = __ballot_sync(~0u, threadIdx.x % 3 == 0);"
    run(text(body, "unsigned *out"), "k", 1, 64, found)
    bits = [sum(1 << lane for lane in range(32) if (base + lane) % 3 == 0) for base in (0, 32)]
    np.testing.assert_array_equal(found, np.repeat(np.array(bits, "u4"), 32))


def test_half_a_warp_may_call_alone():
    found = np.zeros(32, "f")
    body = """
  unsigned mask = threadIdx.x < 16 ? 0xffffu : 0xffff0000u;
  float v = threadIdx.x;
  for (int by = threadIdx.x < 16 ? 8 : 4; by; by /= 2) v += __shfl_xor_sync(mask, v, by);
  out[threadIdx.x] = v;"""
    run(text(body), "k", 1, 32, found)
    sums = [sum(range(16))] * 16 + [sum(range(n, n + 8)) for n in (16, 24) for _ in range(8)]
    np.testing.assert_array_equal(found, sums)


def test_atomics_and_shared_memory_of_a_size_that_the_launch_says():
    body = """
  extern __shared__ float4 memory[];
  int *counts = (int *)memory;
  if (threadIdx.x < 8) counts[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&counts[threadIdx.x % 8], 1);
  atomicMax(&out[8], (int)threadIdx.x);
  int old = atomicCAS(&out[9], 0, 7);
  __syncthreads();
  if (threadIdx.x < 8) atomicAdd(&out[threadIdx.x], counts[threadIdx.x]);
  if (old == 0) atomicExch(&out[10], 5);"""
    found = np.zeros(11, "i")
    run(text(body, "int *out"), "k", 3, 100, found, shared=32)
    np.testing.assert_array_equal(found, [39] * 4 + [36] * 4 + [99, 7, 5])


# Tensor cores. All sums are whole numbers that float32 has: an element in a wrong place is seen.

MMA = """
typedef unsigned u32;
extern "C" __global__ void k(const u32 *left, const u32 *right, float *out) {
  const int group = threadIdx.x / 4, rest = threadIdx.x % 4;
  u32 a[4], b[2];
  for (int i = 0; i < 4; ++i) a[i] = left[(group + 8 * (i % 2)) * 8 + rest + 4 * (i / 2)];
  for (int i = 0; i < 2; ++i) b[i] = right[group * 8 + rest + 4 * i];
  float d[4] = {1, 1, 1, 1};
  NAME(d, a, b);
  for (int i = 0; i < 4; ++i) out[(group + 8 * (i / 2)) * 8 + 2 * rest + i % 2] = d[i];
}
"""


def _bfloat(values):
    return (values.view("u4") >> 16).astype("u2")


MMAS = {
    "mma_bf16": (16, _bfloat),
    "mma_half": (16, lambda values: values.astype("f2").view("u2")),
    "mma_tf32": (8, lambda values: values.view("u4") | 0x1FFF),  # whose last bits are not read
}


@pytest.mark.parametrize("name", MMAS)
def test_products_of_a_warp(name):
    # A word of a fragment is one of TF32's numbers, or two neighbours along k: rows of `left` and
    # columns of `right` are eight words long.
    k, stored = MMAS[name]
    draws = np.random.default_rng(0)
    left = draws.integers(-100, 100, (16, k)).astype("f")
    right = draws.integers(-100, 100, (k, 8)).astype("f")
    found = np.zeros((16, 8), "f")
    columns = stored(np.ascontiguousarray(right.T))
    run(MMA.replace("NAME", name), "k", 1, 32, stored(left), columns, found)
    np.testing.assert_array_equal(found, 1 + left.astype("d") @ right.astype("d"))


@pytest.mark.parametrize("turned", [False, True])
def test_matrices_from_shared_memory(turned):
    body = f"""
  __shared__ __align__(16) unsigned short rows[32 * 8];
  for (int i = threadIdx.x; i < 256; i += 32) rows[i] = i;
  __syncwarp();
  load_matrix_4{"t" if turned else ""}(out + 4 * threadIdx.x, rows + 8 * threadIdx.x);"""
    found = np.zeros((32, 4), "u4")
    run(text(body, "unsigned *out"), "k", 1, 32, found)
    matrices = np.arange(256).reshape(4, 8, 8)
    if turned:
        matrices = matrices.transpose(0, 2, 1)
    # A lane has two neighbours, the first in the low bits: of row lane / 4, from 2 (lane % 4) on.
    pairs = matrices.reshape(4, 32, 2)
    np.testing.assert_array_equal(found.T, pairs[..., 0] | pairs[..., 1] << 16)


def test_tf32_is_rounded_to_the_nearest():
    bits = np.array([0x3F800FFF, 0x3F801000, 0xBF801000, 0x3F802FFF, 0x7F800000, 0x7F7FFFFF], "u4")
    found = np.zeros(6, "u4")
    body = "out[threadIdx.x] = to_tf32(in[threadIdx.x]);"
    run(text(body, "const float *in, unsigned *out"), "k", 1, 6, bits.view("f"), found)
    expected = [0x3F800000, 0x3F802000, 0xBF802000, 0x3F802000, 0x7F800000, 0x7F800000]
    np.testing.assert_array_equal(found, np.array(expected, "u4"))


COPIES = """
  __shared__ __align__(16) float there[3][4];
  for (int i = 0; i < 3; ++i) {{
    copy_16(there[i], in + 4 * i);
    copy_commit();
  }}
  copy_wait({});
  for (int i = 0; i < 12; ++i) out[i] = there[i / 4][i % 4];"""


@pytest.mark.parametrize("newest", [0, 1, 2, 3])
def test_copies_are_done_at_the_wait_for_their_group(newest):
    numbers, found = np.arange(12, dtype="f"), np.zeros(12, "f")
    run(text(COPIES.format(newest), "const float *in, float *out"), "k", 1, 1, numbers, found)
    done = 4 * (3 - newest)
    np.testing.assert_array_equal(found[:done], numbers[:done])
    assert np.isnan(found[done:]).all()


def test_a_copy_spoils_what_was_there_until_the_wait():
    body = """
  __shared__ float4 there;
  there = float4{1, 2, 3, 4};
  copy_16(&there, in);
  out[0] = there.x;
  copy_commit();
  copy_wait(0);
  out[1] = there.x;"""
    found = np.zeros(2, "f")
    run(text(body, "const float *in, float *out"), "k", 1, 1, np.full(4, 7, "f"), found)
    assert np.isnan(found[0])
    assert found[1] == 7


def test_a_struct_as_a_parameter_and_a_part_of_a_warp():
    head = "struct Pair { int n; double by; };\n"
    body = "if (threadIdx.x < pair.n) out[threadIdx.x] = pair.by;"
    found = np.zeros(40, "d")
    pair = np.int32(33).tobytes() + b"\0" * 4 + np.float64(2.5).tobytes()
    run(head + text(body, "Pair pair, double *out"), "k", 1, 40, pair, found)
    np.testing.assert_array_equal(found, [2.5] * 33 + [0] * 7)


# ---- what kernels do wrong

WRONG = {
    "some leave": (
        "if (threadIdx.x < 3) return;\n__syncthreads();",
        "thread 3 waits for ever at the barrier of line 3: 3 threads of 64 left",
    ),
    "two barriers": (
        "if (threadIdx.x < 3)\n__syncthreads();\nelse\n__syncthreads();",
        "waits at the barrier of line 5, thread 0 at that of line 3",
    ),
    "a barrier and a warp": (
        "if (threadIdx.x < 32) __syncthreads();\nelse if (threadIdx.x < 40) __syncwarp();",
        "waits for ever",
    ),
    "a lane that left": (
        "if (threadIdx.x % 32 < 3) return;\nout[0] = __shfl_xor_sync(~0u, 1, 1);",
        "thread 3 waits for ever for lanes of its warp in line 3",
    ),
    "not of its mask": ("__shfl_xor_sync(0xffff, 1, 1);", "is none of those"),
    "two masks": (
        "__shfl_xor_sync(threadIdx.x % 2 ? ~0u : 0x55555555u, 1, 2);\n__syncthreads();",
        "calls in line 2 for lanes ffffffff, lane 0",
    ),
    "two calls": (
        "if (threadIdx.x % 2) out[0] = __shfl_xor_sync(~0u, 1, 1);\nelse\n"
        "out[1] = __shfl_xor_sync(~0u, 2, 1);",
        "calls in line 2 for lanes ffffffff, lane 0 in line 4",
    ),
    "behind the block": ("out[64 + threadIdx.x] = 1;", "an illegal address"),
    "far away": ("out[1 << 28] = 1;", "an illegal address"),
    "read behind": ("out[0] = out[1 << 20];", "an illegal address"),
    "no memory": ("*(float *)nullptr = 1;", "an illegal address"),
    "misaligned": ("*(float *)((char *)out + 2) = 1;", "a misaligned address, or none, in line 2"),
    "misaligned vector": ("((float4 *)(out + 1))[0] = float4{};", "a misaligned address"),
    "beyond an array": (
        "__shared__ float part[8][9];\npart[7][threadIdx.x % 10] = 1;\nout[0] = part[0][0];",
        "index 9 is beyond an array in line 3",
    ),
    "more than the launch's shared memory": (
        "extern __shared__ float memory[];\nmemory[threadIdx.x] = 1;",
        "an illegal address",
    ),
    "division": ("out[0] = (int)out[1] / ((int)threadIdx.x - 5);", "divides by zero"),
    "trap": ("if (threadIdx.x == 5) __trap();", "thread 5: calls __trap"),
    "copy from a misaligned place": (
        "__shared__ float4 part[4];\ncopy_16(part, out + 1);\nout[0] = part[0].x;",
        "a misaligned address in line 3",
    ),
    "copy to the block": ("copy_16(out, out + 4);", "is not shared memory"),
    "matrices of the block": (
        "unsigned d[4];\nload_matrix_4(d, out);\nout[0] = d[0];",
        "is not shared memory",
    ),
}


ALL_WRONG = "".join(text(body, name=f"k{i}") for i, (body, _) in enumerate(WRONG.values())) + text(
    "__syncthreads();\nout[threadIdx.x] = threadIdx.x;", name="right"
)


@pytest.mark.parametrize("number", range(len(WRONG)), ids=WRONG)
def test_what_a_kernel_does_wrong_is_told(number):
    found = np.zeros(64, "f")
    with pytest.raises(RuntimeError) as raised:
        run(ALL_WRONG, f"k{number}", 1, 64, found, shared=128)
    assert list(WRONG.values())[number][1] in str(raised.value)
    run(ALL_WRONG, "right", 1, 64, found)  # as if nothing had been
    np.testing.assert_array_equal(found, np.arange(64))


SHARED = "__shared__ float a[64];\nconst int t = threadIdx.x;\na[t] = 1;\n"
RACES = {
    "a barrier": ("__syncthreads();\nout[t] = a[63 - t];", None),
    "none": ("out[t] = a[63 - t];", "writes byte 124 of shared memory, which thread 32 has read"),
    "the second is missing": (
        "__syncthreads();\nconst float v = a[63 - t];\na[t] = v;\nout[t] = v;",
        "with no barrier between since line 5",
    ),
    "of a warp": ("__syncwarp();\nout[t] = a[t ^ 31];", None),
    "of a warp for another": ("__syncwarp();\nout[t] = a[t ^ 32];", "of shared memory"),
    "a shuffle is none": ("out[t] = __shfl_sync(~0u, t, 0);\nout[t] = a[t ^ 31];", "reads byte"),
    "atomics": (
        "__shared__ int n;\nif (!t) n = 0;\n__syncthreads();\natomicAdd(&n, 1);\n"
        "__syncthreads();\nout[t] = n - 63;",
        None,
    ),
    "a copy": (
        "__shared__ float4 b;\nif (!t) copy_16(&b, out), copy_commit(), copy_wait(0);\n"
        "out[t] = b.x;",
        "thread 0: writes byte",
    ),
}


@pytest.mark.parametrize("name", RACES)
def test_races_in_shared_memory(name, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_STANDIN_RACES", "1")
    body, words = RACES[name]
    found = np.zeros((2, 64), "f")
    whole = text(SHARED + body.replace("out[t]", "out[blockIdx.x * 64 + t]"))
    if words is None:
        run(whole, "k", 2, 64, found)
        np.testing.assert_array_equal(found, 1)
    else:
        with pytest.raises(RuntimeError, match=words):
            run(whole, "k", 2, 64, found)


@pytest.mark.parametrize("size", [4, 100, 4096 + 4])
@pytest.mark.parametrize("side", ["before", "behind"])
def test_bytes_around_a_block_are_told(size, side):
    place = np.int32(-1 if side == "before" else size)
    with pytest.raises(RuntimeError, match=f"bytes {side} the block"):
        run(text("out[at] = 1;", "char *out, int at"), "k", 1, 1, np.zeros(size, "i1"), place)


def test_memory_that_nobody_wrote_is_no_number():
    address, found = made("cuMemAlloc_v2", 400), np.zeros(100, "f")
    call("cuMemcpyDtoHAsync_v2", found.ctypes.data_as(ctypes.c_void_p), address, 400, 0)
    call("cuMemFree_v2", address)
    assert np.isnan(found).all()


# ---- the driver's calls

ADD = text("out[threadIdx.x] += by;", "float *out, float by")


@contextmanager
def told(words, code=None, count=1):
    """A violation with such words; code: the error of the call that ends the block."""
    before = standin.opened().standin_violations()
    if code is None:
        yield
    else:
        with pytest.raises(standin.Failed) as raised:
            yield
        assert raised.value.code == code
    assert standin.opened().standin_violations() == before + count, standin.said()
    assert words in standin.said()


@pytest.fixture(autouse=True)
def clean():
    """Every test leaves as many objects as it found, and a device that works."""
    call("cuInit", 0)
    call("cuCtxSetCurrent", standin.context())
    kinds = "blocks", "pinned", "streams", "events", "graphs", "executables"
    before = {kind: live(kind) for kind in kinds}
    yield
    standin.opened().standin_mend()
    assert {kind: live(kind) for kind in kinds} == before


@pytest.fixture
def stream():
    handle = made("cuStreamCreate", 1)
    yield handle
    call("cuStreamDestroy_v2", handle)


@pytest.fixture
def event():
    handle = made("cuEventCreate", 0)
    yield handle
    call("cuEventDestroy_v2", handle)


@pytest.fixture
def block():
    """Four floats of 0 on the device."""
    address = made("cuMemAlloc_v2", 16)
    call("cuMemcpyHtoDAsync_v2", address, bytes(16), 16, 0)
    call("cuStreamSynchronize", 0)
    yield address
    call("cuMemFree_v2", address)


@pytest.fixture
def pinned():
    """The address of four floats of 3 of the host's pinned memory."""
    address = made("cuMemAllocHost_v2", 16)
    ctypes.memmove(address, np.full(4, 3, "f").tobytes(), 16)
    yield address
    call("cuMemFreeHost", address)


def add(stream, block, by=1.0, threads=4):
    """Queue an addition to four floats."""
    function = made("cuModuleGetFunction", standin.module(ADD), b"k")
    values = ctypes.c_size_t(block), ctypes.c_float(by)
    addresses = (ctypes.c_void_p * 2)(*map(ctypes.addressof, values))
    call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, stream, addresses, None)


def content(block, stream=0):
    """Four floats, when all is done that the stream was given."""
    found = np.zeros(4, "f")
    call("cuMemcpyDtoHAsync_v2", found.ctypes.data_as(ctypes.c_void_p), block, 16, stream)
    return found.tolist()


def test_launches_are_done_in_order_at_the_wait(stream, block):
    before = standin.opened().standin_launches()
    add(stream, block, 2.0)
    call("cuMemsetD8Async", block, 0, 8, stream)
    add(stream, block, 1.0)
    assert content(block, 0) == [0] * 4  # another stream: nothing was done yet
    assert content(block, stream) == [1, 1, 3, 3]
    assert standin.opened().standin_launches() == before + 2


def test_work_is_done_at_once_where_that_is_asked_for():
    program = """
import os; os.environ["RUSHLIGHT_STANDIN_AT_ONCE"] = "1"
import test_standin as t, _standin as s
s.call("cuInit", 0); s.call("cuCtxSetCurrent", s.context())
stream, block = s.made("cuStreamCreate", 1), s.made("cuMemAlloc_v2", 16)
s.call("cuMemsetD8Async", block, 0, 16, stream)
t.add(stream, block)
print(t.content(block, 0))
"""
    assert _alone(program).strip() == "[1.0, 1.0, 1.0, 1.0]"


def _alone(program):
    """What a program of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pinned_memory_is_read_when_the_copy_is_done(stream, block, pinned):
    call("cuMemcpyHtoDAsync_v2", block, pinned, 16, stream)
    ctypes.memmove(pinned, np.full(4, 8, "f").tobytes(), 16)  # too early
    assert content(block, stream) == [8] * 4
    pageable = np.full(4, 5, "f")  # CUDA takes a copy of such memory
    call("cuMemcpyHtoDAsync_v2", block, pageable.ctypes.data_as(ctypes.c_void_p), 16, stream)
    pageable[:] = 6
    assert content(block, stream) == [5] * 4


def test_pinned_memory_is_written_when_the_copy_is_done(stream, block, pinned):
    call("cuMemcpyDtoHAsync_v2", pinned, block, 16, stream)
    assert np.frombuffer(ctypes.string_at(pinned, 16), "f").tolist() == [3] * 4
    call("cuStreamSynchronize", stream)
    assert np.frombuffer(ctypes.string_at(pinned, 16), "f").tolist() == [0] * 4


def test_one_who_asks_is_told_once_to_wait(stream, block, event):
    call("cuEventQuery", event)  # never recorded
    add(stream, block)
    call("cuEventRecord", event, stream)
    for name, handle in (("cuEventQuery", event), ("cuStreamQuery", stream)):
        add(stream, block)
        call("cuEventRecord", event, stream)
        with pytest.raises(standin.Failed) as raised:
            call(name, handle)
        assert raised.value.code == 600
        call(name, handle)
    call("cuEventSynchronize", event)


def test_a_stream_waits_for_an_event_of_another(stream, block, event):
    other = made("cuStreamCreate", 1)
    add(stream, block)
    call("cuEventRecord", event, stream)
    add(stream, block)
    call("cuStreamWaitEvent", other, event, 0)
    assert content(block, other) == [1] * 4
    call("cuStreamDestroy_v2", other)
    assert content(block, stream) == [2] * 4


def test_the_time_between_two_events(stream, block, event):
    later = made("cuEventCreate", 0)
    milliseconds = ctypes.c_float(-1)
    call("cuEventRecord", event, stream)
    for _ in range(100):
        add(stream, block)
    call("cuEventRecord", later, stream)
    with pytest.raises(standin.Failed) as raised:
        call("cuEventElapsedTime", ctypes.byref(milliseconds), event, later)
    assert raised.value.code == 600
    call("cuEventSynchronize", later)
    call("cuEventElapsedTime_v2", ctypes.byref(milliseconds), event, later)
    assert milliseconds.value > 0
    call("cuEventDestroy_v2", later)


@pytest.mark.parametrize("mode", MODES)
def test_a_graph_does_again_what_was_captured(stream, block, event, mode):
    other = made("cuStreamCreate", 1)
    call("cuStreamBeginCapture_v2", stream, MODES[mode])
    add(stream, block)
    call("cuEventRecord", event, stream)
    call("cuStreamWaitEvent", other, event, 0)
    add(other, block, 10.0)
    call("cuEventRecord", event, other)
    call("cuStreamWaitEvent", stream, event, 0)
    graph = _ended(stream)
    assert content(block) == [0] * 4  # nothing was done
    executable = made("cuGraphInstantiateWithFlags", graph, 0)
    call("cuGraphDestroy", graph)
    call("cuGraphLaunch", executable, stream)
    call("cuGraphLaunch", executable, stream)
    assert content(block, stream) == [22] * 4
    call("cuGraphExecDestroy", executable)
    call("cuStreamDestroy_v2", other)


def _ended(stream):
    graph = ctypes.c_size_t()
    call("cuStreamEndCapture", stream, ctypes.byref(graph))
    return graph.value


def _forbidden(stream, block, event, pinned):
    """What CUDA forbids while a stream captures."""
    page = ctypes.create_string_buffer(16)
    return {
        "cuStreamSynchronize": (stream,),
        "cuStreamQuery": (stream,),
        "cuCtxSynchronize": (),
        "cuEventQuery": (event,),
        "cuEventSynchronize": (event,),
        "cuMemcpyHtoDAsync_v2": (block, page, 16, stream),
        "cuMemcpyDtoHAsync_v2": (page, block, 16, stream),
        "cuStreamDestroy_v2": (stream,),
    }


@pytest.mark.parametrize("name", _forbidden(0, 0, 0, 0))
def test_what_a_capture_forbids(name, stream, block, event, pinned):
    call("cuStreamBeginCapture_v2", stream, 2)
    call("cuEventRecord", event, stream)
    call("cuMemFree_v2", made("cuMemAlloc_v2", 16))  # allowed
    call("cuMemcpyHtoDAsync_v2", block, pinned, 16, stream)
    arguments = _forbidden(stream, block, event, pinned)[name]
    with told(name.removesuffix("_v2"), 907 if "Event" in name else 900):
        call(name, *arguments)
    status = ctypes.c_int()
    call("cuStreamIsCapturing", stream, ctypes.byref(status))
    assert status.value == 2
    with pytest.raises(standin.Failed) as raised:
        _ended(stream)
    assert raised.value.code == 901
    call("cuStreamIsCapturing", stream, ctypes.byref(status))
    assert status.value == 0


def test_memory_is_taken_only_in_a_relaxed_capture(stream):
    call("cuStreamBeginCapture_v2", stream, 0)
    with told("cuMemAlloc: while a stream captures", 900):
        made("cuMemAlloc_v2", 16)
    with pytest.raises(standin.Failed):
        _ended(stream)


def test_captures_of_several_streams(stream, block, event):
    other = made("cuStreamCreate", 1)
    with told("stream 0 cannot capture", 900):
        call("cuStreamBeginCapture_v2", 0, 2)
    with told("does not capture", 1):
        _ended(stream)
    call("cuEventRecord", event, other)
    call("cuStreamBeginCapture_v2", stream, 2)
    with told("captures already", 1):
        call("cuStreamBeginCapture_v2", stream, 2)
    with told("waits for work outside", 905):
        call("cuStreamWaitEvent", stream, event, 0)
    with pytest.raises(standin.Failed):
        _ended(stream)
    call("cuStreamBeginCapture_v2", stream, 2)
    call("cuEventRecord", event, stream)
    call("cuStreamWaitEvent", other, event, 0)
    with told("another stream began", 903):
        _ended(other)
    add(other, block)
    with told("was not waited for", 904):
        _ended(stream)
    call("cuStreamDestroy_v2", other)


def test_memory_of_a_graph_must_stay(stream):
    block = made("cuMemAlloc_v2", 16)
    call("cuStreamBeginCapture_v2", stream, 2)
    add(stream, block)
    graph = _ended(stream)
    executable = made("cuGraphInstantiateWithFlags", graph, 0)
    call("cuMemFree_v2", block)
    call("cuGraphLaunch", executable, stream)
    with told("was given back before the work was done", 700):
        call("cuStreamSynchronize", stream)
    standin.opened().standin_mend()
    call("cuGraphDestroy", graph)
    call("cuGraphExecDestroy", executable)


def test_what_is_in_use_may_not_go(stream, block, pinned):
    taken = made("cuMemAlloc_v2", 16)
    add(stream, taken)
    with told("in use by k"):
        call("cuMemFree_v2", taken)
    page = made("cuMemHostAlloc", 16, 0)
    call("cuMemcpyHtoDAsync_v2", block, page, 16, stream)
    with told("in use by cuMemcpyHtoDAsync"):
        call("cuMemFreeHost", page)
    module = made("cuModuleLoadData", compiled(ADD))
    function = made("cuModuleGetFunction", module, b"k")
    values = ctypes.c_size_t(block), ctypes.c_float(1)
    addresses = (ctypes.c_void_p * 2)(*map(ctypes.addressof, values))
    call("cuLaunchKernel", function, 1, 1, 1, 4, 1, 1, 0, stream, addresses, None)
    with told("cuModuleUnload"):
        call("cuModuleUnload", module)
    with told("no function that is there", 400):
        call("cuLaunchKernel", function, 1, 1, 1, 4, 1, 1, 0, stream, addresses, None)


def test_wrong_places(stream, block, pinned):
    for size, at in ((17, 0), (16, 1), (16, -1), (2**64 - 8, 0)):
        with told("not in one block", 1):
            call("cuMemsetD8Async", block + at, 0, size, stream)
        with told("not in one block", 1):
            call("cuMemcpyHtoDAsync_v2", block + at, pinned, size, stream)
        with told("not in one block", 1):
            call("cuMemcpyDtoHAsync_v2", pinned, block + at, size, stream)
    with told("overlap", 1):
        call("cuMemcpyDtoDAsync_v2", block, block + 4, 12, stream)
    with told("not the host's", 1):
        call("cuMemcpyHtoDAsync_v2", block, block, 16, stream)
    with told("not the host's", 1):
        call("cuMemcpyDtoHAsync_v2", block, block, 16, stream)
    with told("no block begins", 1):
        call("cuMemFree_v2", block + 4)
    with told("no bytes", 1):
        made("cuMemAlloc_v2", 0)
    with told("no pinned memory begins", 1):
        call("cuMemFreeHost", pinned + 4)
    gone = made("cuMemAlloc_v2", 16)
    call("cuMemFree_v2", gone)
    with told("where no block is", 1):
        add(stream, gone)
    with told("no block begins", 1):
        call("cuMemFree_v2", gone)


def test_copies_between_blocks(stream, block):
    other = made("cuMemAlloc_v2", 16)
    add(stream, block, 4.0)
    call("cuMemcpyDtoDAsync_v2", other, block, 16, stream)
    add(stream, block, 1.0)
    assert (content(other, stream), content(block, stream)) == ([4] * 4, [5] * 4)
    call("cuMemFree_v2", other)


HANDLES = (
    *("cuStreamSynchronize", "cuStreamDestroy_v2", "cuEventRecord", "cuEventDestroy_v2"),
    *("cuEventQuery", "cuGraphDestroy", "cuGraphExecDestroy", "cuModuleUnload"),
)


@pytest.mark.parametrize("name", HANDLES)
def test_handles_that_are_not_there(name):
    stream, event = made("cuStreamCreate", 1), made("cuEventCreate", 2)
    call("cuStreamDestroy_v2", stream)
    call("cuEventDestroy_v2", event)
    handle = stream if "Stream" in name else event
    with told("that is there", 400):
        call(name, handle, 0)


def test_wrong_launches(stream, block):
    function = made("cuModuleGetFunction", standin.module(ADD), b"k")
    values = ctypes.c_size_t(block), ctypes.c_float(1)
    addresses = (ctypes.c_void_p * 2)(*map(ctypes.addressof, values))
    one = 1, 1, 1
    for grid, size in [
        ((0, 1, 1), one),
        ((1, 65536, 1), one),
        ((2**31, 1, 1), one),
        (one, (1025, 1, 1)),
        (one, (32, 32, 2)),
        (one, (1, 1, 65)),
        (one, (0, 1, 1)),
    ]:
        with told("a grid of" if size == one else "a block of", 1):
            call("cuLaunchKernel", function, *grid, *size, 0, stream, addresses, None)
    with told("shared memory", 1):
        call("cuLaunchKernel", function, *one, *one, 50 << 10, stream, addresses, None)
    call("cuFuncSetAttribute", function, 8, 60 << 10)
    call("cuLaunchKernel", function, *one, *one, 50 << 10, stream, addresses, None)
    with told("attribute 8", 1):
        call("cuFuncSetAttribute", function, 8, 228 << 10)
    addresses[1] = None
    with told("parameter 1 is missing", 1):
        call("cuLaunchKernel", function, *one, *one, 0, stream, addresses, None)
    with told("the module has no kernel other", 500):
        made("cuModuleGetFunction", standin.module(ADD), b"other")
    bounded = ADD.replace("void k", "void __launch_bounds__(64) k")
    function = made("cuModuleGetFunction", standin.module(bounded), b"k")
    assert made("cuFuncGetAttribute", 0, function) == 64
    with told("launch bounds", 1):
        call("cuLaunchKernel", function, *one, 65, 1, 1, 0, stream, addresses, None)


def test_an_error_of_a_kernel_stays_until_the_device_is_mended(stream, block):
    function = made("cuModuleGetFunction", standin.module(text("out[1 << 20] = 1;")), b"k")
    value = ctypes.c_size_t(block)
    addresses = (ctypes.c_void_p * 1)(ctypes.addressof(value))
    call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, stream, addresses, None)
    with told("an illegal address", 700):
        call("cuStreamSynchronize", stream)
    for _ in range(2):
        with pytest.raises(standin.Failed) as raised:
            add(stream, block)
        assert raised.value.code == 700
    standin.opened().standin_mend()
    add(stream, block)
    assert content(block, stream) == [1] * 4


def test_failures_that_were_ordered():
    fail("cuMemAlloc", 2, after=1)
    first = made("cuMemAlloc_v2", 16)
    with pytest.raises(standin.Failed) as raised:
        made("cuMemAlloc_v2", 16)
    assert raised.value.code == 2
    second = made("cuMemAlloc_v2", 16)
    for address in first, second:
        call("cuMemFree_v2", address)
    fail("nvrtcCompileProgram", 6)
    with pytest.raises(RuntimeError):
        compiled(ADD)
    compiled(ADD)
    fail("cuStreamCreate", 719)  # such an error stays
    for _ in range(2):
        with pytest.raises(standin.Failed) as raised:
            made("cuStreamCreate", 1)
        assert raised.value.code == 719


def test_a_limit_of_memory():
    taken = live("bytes")
    standin.opened().standin_memory(ctypes.c_size_t(taken + 1000))
    unused, total = ctypes.c_size_t(), ctypes.c_size_t()
    try:
        first = made("cuMemAlloc_v2", 600)
        with pytest.raises(standin.Failed) as raised:
            made("cuMemAlloc_v2", 600)
        assert raised.value.code == 2
        call("cuMemGetInfo_v2", ctypes.byref(unused), ctypes.byref(total))
        assert (unused.value, total.value) == (400, taken + 1000)
        call("cuMemFree_v2", first)
        call("cuMemFree_v2", made("cuMemAlloc_v2", 1000))
    finally:
        standin.opened().standin_memory(ctypes.c_size_t(8 << 30))


def test_every_thread_needs_its_context():
    codes = []

    def work():
        for name, arguments in (
            ("cuMemAlloc_v2", (ctypes.byref(ctypes.c_size_t()), 16)),
            ("cuCtxSetCurrent", (standin.context(),)),
            ("cuMemFree_v2", (0,)),
        ):
            codes.append(getattr(standin.opened(), name)(*map(_word, arguments)))

    with told("cuMemAlloc: no context is current"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert codes == [201, 0, 0]


def _word(value):
    return ctypes.c_size_t(value) if isinstance(value, int) else value


def test_contexts_of_two_devices_are_kept_apart():
    program = """
import os; os.environ["RUSHLIGHT_STANDIN_DEVICES"] = "2"
import ctypes, _standin as s
s.call("cuInit", 0)
assert s.made("cuDeviceGetCount") == 2
contexts = [s.made("cuDevicePrimaryCtxRetain", i) for i in range(2)]
s.call("cuCtxSetCurrent", contexts[0])
stream, event = s.made("cuStreamCreate", 1), s.made("cuEventCreate", 0)
block = s.made("cuMemAlloc_v2", 16)
s.call("cuCtxSetCurrent", contexts[1])
for name, *arguments in (
    ("cuStreamSynchronize", stream),
    ("cuEventRecord", event, 0),
    ("cuMemsetD8Async", block, 0, 16, 0),
):
    try:
        s.call(name, *arguments)
    except s.Failed as error:
        print(name, error.code, "another context" in s.said())
s.call("cuDevicePrimaryCtxRelease_v2", 1)
try:
    s.call("cuMemFree_v2", block)
except s.Failed as error:
    print(error.code)
"""
    lines = ["cuStreamSynchronize 400 True", "cuEventRecord 400 True"]
    assert _alone(program).splitlines() == [*lines, "cuMemsetD8Async 1 True", "201"]


def test_calls_that_come_too_early_or_after_a_fork():
    program = """
import os, _standin as s
codes = [s.opened().cuDeviceGetCount(None)]
s.call("cuInit", 0)
s.call("cuCtxSetCurrent", s.context())
if pid := os.fork():
    print(codes, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), s.opened().standin_violations())
else:
    os._exit(s.opened().cuStreamSynchronize(None))
"""
    assert _alone(program) == "[3] 3 1\n"


def test_a_machine_whose_cards_are_hidden():
    program = """
import os; os.environ["CUDA_VISIBLE_DEVICES"] = ""
import _standin as s
print(s.opened().cuInit(0))
"""
    assert _alone(program) == "100\n"


def test_facts_of_the_device():
    for which, value in {1: 1024, 10: 32, 16: 4, 75: 9, 76: 0, 97: 227 << 10}.items():
        found = ctypes.c_int()
        call("cuDeviceGetAttribute", ctypes.byref(found), which, 0)
        assert found.value == value
    name = ctypes.create_string_buffer(100)
    call("cuDeviceGetName", name, 100, 0)
    assert name.value == b"Stand-in for CUDA (the processor)"
    with told("attribute 9999", 1):
        call("cuDeviceGetAttribute", ctypes.byref(ctypes.c_int()), 9999, 0)
    with told("no device 1", 101):
        made("cuDeviceGet", 1)
    words = ctypes.c_char_p()
    call("cuGetErrorName", 700, ctypes.byref(words))
    assert words.value == b"CUDA_ERROR_ILLEGAL_ADDRESS"
    assert standin.opened().cuGetErrorString(12345, ctypes.byref(words)) == 1


# ---- NVRTC's


def test_the_compilers_words_name_the_text_and_the_line():
    with pytest.raises(RuntimeError, match=r"text:2:\d+: error: .*nothing_of_that_name"):
        compiled(text("nothing_of_that_name = 1;"))


def test_options():
    body = "#ifdef WIDTH\nout[0] = WIDTH;\n#endif"
    options = "--gpu-architecture=sm_90", "--std=c++17", "--fmad=false", "-DWIDTH=4"
    assert compiled(text(body), *options)[:4] == b"\x7fELF"
    assert compiled(text(body), "--gpu-architecture=compute_90") == b""
    with pytest.raises(RuntimeError, match="unknown option --use-magic"):
        compiled(text(body), "--use-magic")


def test_equal_texts_are_compiled_once(tmp_path, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_STANDIN_CACHE", str(tmp_path))
    first = compiled(ADD)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(first + b"kept")
    assert compiled(ADD) == first + b"kept"
    assert compiled(ADD, "-DOTHER") == first
    assert len(list(tmp_path.iterdir())) == 2


def test_a_binary_that_is_none():
    with pytest.raises(standin.Failed) as raised:
        made("cuModuleLoadData", b"no binary" * 20)
    assert raised.value.code == 200


def test_every_kernel_text_of_the_library_compiles():
    sys.path.insert(0, str(TOOLS))
    try:
        from cuda_check import texts
    finally:
        sys.path.remove(str(TOOLS))
    wrong = []
    for name, whole in texts():
        try:
            compiled(whole)
        except RuntimeError as error:
            wrong.append(f"{name}: {error}")
    assert not wrong, "\n".join(wrong)
