"""PoCL for the tests: the driver that runs OpenCL on any processor.

Its LLVM may be older than the processor: it then calls it "generic", and cannot compile for that
name. `prepare` gives such a device the name of an old processor instead.
"""

import ctypes
import importlib.util
import os
import struct
from pathlib import Path


def library():
    """The path of PoCL's library, the one that is named or that of the package, or None."""
    named = os.environ.get("RUSHLIGHT_OPENCL_LIBRARY", "")
    if "pocl" in Path(named).name:
        return named
    found = importlib.util.find_spec("pocl_binary_distribution")
    if found is None:
        return None
    folder = Path(found.origin).parent.parent / "pyopencl" / ".libs"
    return next(iter(sorted(map(str, folder.glob("libpocl*.so*")))), None)


def _old():
    """The name of an old processor with vectors as long as here: LLVM breaks on some with less."""
    try:
        longer = "avx2" in Path("/proc/cpuinfo").read_text()
    except OSError:
        longer = False
    return b"x86-64-v3" if longer else b"x86-64-v2"


_name = ctypes.create_string_buffer(_old())


def prepare():
    """Make PoCL's devices of this process compile; before rushlight opens it."""
    path = library()
    if path is None:
        return
    os.environ["RUSHLIGHT_OPENCL_LIBRARY"] = path
    pocl = ctypes.CDLL(path)
    find = pocl.clGetExtensionFunctionAddress
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    ask = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)
    platform = ctypes.c_void_p()
    ask(find(b"clIcdGetPlatformIDsKHR"))(1, ctypes.byref(platform), None)
    table = ctypes.cast(
        ctypes.cast(platform, ctypes.POINTER(ctypes.c_void_p))[0], ctypes.POINTER(ctypes.c_void_p)
    )
    devices = ctypes.CFUNCTYPE(
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_ulong,
        ctypes.c_uint,
        ctypes.c_void_p,
        ctypes.c_void_p,
    )(table[2])
    ids, count = (ctypes.c_void_p * 8)(), ctypes.c_uint()
    devices(platform, 0xFFFFFFFF, 8, ids, ctypes.byref(count))
    memory = os.open("/proc/self/mem", os.O_RDWR)
    for device in ids[: count.value]:
        for i, word in enumerate(struct.unpack("256Q", os.pread(memory, 2048, device))):
            try:
                if os.pread(memory, 8, word) == b"generic\0":
                    os.pwrite(memory, struct.pack("Q", ctypes.addressof(_name)), device + 8 * i)
            except (OSError, OverflowError):
                pass  # no address
    os.close(memory)
