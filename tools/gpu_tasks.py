"""The tasks of tools/gpu_check.py: what its workers check and time, one task after the other.

    python tools/gpu_tasks.py LIBRARY DEVICE [--quick]

A worker reads a task a line from standard input (JSON: name, arguments) and answers a line. Values
are checked by the tests of the repository, times are those of benchmarks/device.py.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import platform
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

PLACE = Path(__file__).resolve().parent
ROOT = PLACE if (PLACE / "tests").is_dir() else PLACE.parent
FOLDERS = [ROOT / name for name in ("tests/devices", "tests/table", "tests/torch_compat")]
FOLDERS += [ROOT / "benchmarks", PLACE]
OK, WRONG, FAILED, ABSENT = "ok", "wrong", "failed", "not here"
FOR_CUDA = "-DWARPS", "-DSTORED", "a program of"  # in the names of texts for CUDA alone
LONG = "pointwise.cl", "complex.cl", "fused_attention.cl"  # files that take many seconds each
ABSENT_KERNEL = re.compile(r"-46\b|not.found", re.I)  # the driver's words for such a name
Answer = dict[str, Any]
TASKS: dict[str, Callable[..., Answer]] = {}


def task(function: Callable[..., Answer]) -> Callable[..., Answer]:
    TASKS[function.__name__] = function
    return function


class Wrong(Exception):
    """A result is not what it must be."""


class Here:
    """A worker: a library and its device, opened when a task first asks."""

    def __init__(self, library: str, device: str, quick: bool) -> None:
        self.library, self.device, self.quick = library, device, quick
        self.ready: tuple[str, Any] = "", None

    @cached_property
    def programs(self) -> Any:
        return import_module("device")

    @cached_property
    def place(self) -> Any:
        if self.library == "torch":
            if importlib.util.find_spec("torch") is None:
                raise self.programs.NotHere("PyTorch")
            if not import_module("torch").cuda.is_available():
                self.device = "cpu"
        return self.programs.Place(self.library, self.device)

    @property
    def torch(self) -> Any:
        return self.place.torch

    @cached_property
    def known(self) -> Any:
        """The device as rushlight knows it."""
        return import_module("rushlight._devices").of(self.torch.empty(1, device=self.device))

    def healthy(self) -> bool:
        """Whether the device still computes, where a task has used one."""
        if "place" not in vars(self):
            return True
        try:
            return (self.torch.ones(2, device=self.device) + 1).tolist() == [2.0, 2.0]
        except Exception:
            return False


@task
def machine(here: Here) -> Answer:
    """The drivers, by their own numbers; no library of tensors."""
    import ctypes

    found: Answer = {"python": platform.python_version(), "cores": os.cpu_count()}
    number, second = ctypes.c_int(), ctypes.c_int()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(number))
        found["driver's CUDA"] = f"{number.value // 1000}.{number.value % 1000 // 10}"
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libOpenCL.so.1").clGetPlatformIDs(0, None, ctypes.byref(number))
        found["OpenCL's platforms"] = number.value
    paths = [p for folder in sys.path for p in Path(folder).glob("nvidia/c*/lib/libnvrtc.so.*")]
    for name in (*map(str, paths), "libnvrtc.so"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(name).nvrtcVersion(ctypes.byref(number), ctypes.byref(second))
            found["NVRTC"] = f"{number.value}.{second.value}"
            break
    return found


@task
def facts(here: Here) -> Answer:
    """A library, and what its device says of itself."""
    found: Answer = {"library": f"{here.library} {here.torch.__version__}"}
    if here.library == "rushlight":
        return found | {"device": here.known.name.type, **vars(here.known.facts)}
    cuda = here.torch.cuda
    if here.device == "cpu":
        return found | {"name": "the processor"}
    cudnn = here.torch.backends.cudnn.version()
    about = {"name": cuda.get_device_name(), "cuda": here.torch.version.cuda, "cudnn": cudnn}
    return found | about | {"capability": cuda.get_device_capability()}


@task
def round_trip(here: Here, kind: str) -> Answer:
    """Tensors of several sizes and strides go there and come back."""
    import numpy as np

    torch = here.torch
    dtype = getattr(torch, kind)
    for size in (0, 1, 1000, 1023, (1 << 16) + 3, 1 << (16 if here.quick else 24)):
        numbers = np.arange(size) % 97
        sent = torch.from_numpy(numbers).to(dtype)
        there = sent.to(here.device)
        same = (
            bool(torch.equal(there.cpu(), sent))
            and bool(torch.equal(there[1::3].cpu(), sent[1::3]))
            and there.clone().device == there.device
            and bool(torch.equal(there.clone().cpu(), sent))
        )
        if not same:
            raise Wrong(f"{size} numbers of {kind} are others when they come back")
    return {}


@task
def compiled(here: Here, number: int) -> Answer:
    """A kernel text is compiled; what comes of it stays on disk for all processes."""
    name, text = import_module("cuda_check").texts()[number]
    elsewhere = ["pointwise.cl"] if here.device == "cuda" else FOR_CUDA
    if any(word in name for word in elsewhere):
        return {"name": f"{name}, not for {here.device}"}
    build = import_module("rushlight._devices.accelerators").build
    device, said = here.torch.empty(1, device=here.device)._accelerator, []
    for kernel in re.findall(r"^KERNEL(?:_OF\(\w+\))? (\w+)\(", text, re.M):
        try:
            build(device, text, kernel)
        except RuntimeError as error:
            if not ABSENT_KERNEL.search(str(error)):  # the kernels of another type
                said.append(str(error))
        else:
            return {"name": name}
    if said:
        raise Wrong(f"{name}: {said[0]}")
    return {"name": f"{name}, no kernels"}


def _longest_first() -> list[int]:
    names = [name for name, _ in import_module("cuda_check").texts()]
    return sorted(range(len(names)), key=lambda number: not names[number].startswith(LONG))


@task
def op(here: Here, name: str) -> Answer:
    """All samples of an op agree with the CPU's, and their gradients."""
    sweep = import_module("sweep")
    sweep.DEVICE = here.device
    outcome = sweep.run(name)
    if outcome.wrong:
        raise Wrong(f"{len(outcome.wrong)} of {outcome.calls} calls, the first: {outcome.wrong[0]}")
    return {"calls": outcome.calls, "by host": sorted(outcome.by_host)}


def _entries(here: Here) -> Any:
    for name in ("torch", "expecttest"):
        if importlib.util.find_spec(name) is None:
            raise here.programs.NotHere(name)
    found = import_module("op_db_there")
    found.DEVICE = here.device
    return found


@task
def entry(here: Here, name: str) -> Answer:
    """An entry of PyTorch's table of operators."""
    entries = _entries(here)
    outcome, by_host = entries.sweep([name], 2 if here.quick else 4).get(name, (None, ()))
    if outcome is None or not outcome.wrong:
        return {"by host": sorted(by_host)}
    if name in entries.known():
        return {"said": f"known: {entries.known()[name]}"}
    raise Wrong(outcome.wrong[0].partition("\0")[0])


@task
def network(here: Here, name: str) -> Answer:
    """A network that trains there has the CPU's losses."""
    made = import_module("test_networks")
    there, cpu = (made.losses(getattr(made, name), device) for device in (here.device, "cpu"))
    apart = max(abs(a - b) / max(abs(b), 1e-30) for a, b in zip(there, cpu, strict=True))
    if not apart <= 1e-4:
        raise Wrong(f"losses differ by {apart:.1e}")
    return {"error": apart}


@task
def names(here: Here, part: str) -> Answer:
    """The names of a part's tasks."""
    found: dict[str, Callable[[], list[Any]]] = {
        "sweep": lambda: import_module("sweep").names(),
        # What new memory holds is not compared.
        "op_db": lambda: [t for t in _entries(here).titles() if "empty" not in t],
        "compile": _longest_first,
    }
    if part in found:
        return {"names": found[part]()[:: 40 if here.quick else 1]}
    return {"names": list(here.programs.groups(here.quick)[part])}


@task
def prepared(here: Here, group: str, name: str) -> Answer:
    """A program set up and warm: its result's values, and which calls went by way of the host."""
    module, program = here.programs, here.programs.groups(here.quick)[group][name]
    here.ready = "", None
    here.place.precise(program.kind)
    call = program.make(here.place)
    found: Answer = {"bytes": program.bytes, "operations": program.operations, "by host": []}
    found |= {"bound": module.ROUNDING[program.kind], "values": module.values(call())}
    if here.library == "rushlight":
        devices = import_module("rushlight.devices")
        devices.forget_fallbacks()
        call()
        found["by host"] = sorted(devices.fallbacks())
    module.measure(here.place, program, call, 0.02 if here.quick else 0.1)
    here.ready = name, call
    return found


@task
def timed(here: Here, group: str, name: str, seconds: float) -> Answer:
    """The times of a program that is prepared."""
    module, program = here.programs, here.programs.groups(here.quick)[group][name]
    times: Answer = module.measure(here.place, program, here.ready[1], seconds)
    return times


@task
def chosen(here: Here, most: float) -> Answer:
    """This device's row of the table of choices, as far as it is measured in so many seconds."""
    try:
        choices = import_module("rushlight._devices.choices")
    except ModuleNotFoundError:
        raise here.programs.NotHere("rushlight._devices.choices") from None
    seconds = 0.001 if here.quick else 0.05
    number, date = here.known.number, time.strftime("%Y-%m-%d")
    row = choices.measure(number, date, seconds=seconds, most=most)
    return {"row": choices.written(row), "said": row.how}


@task
def out_of_memory(here: Here) -> Answer:
    """Too large a tensor is an error with sizes, and so is too many; then small calls go on."""
    torch, facts = here.torch, here.known.facts
    total, kept, said = facts.total_memory, [], []
    fill = not here.quick and not facts.is_cpu
    for size, most in ((2 * total, 1), (total // 16, 20))[: 2 if fill else 1]:
        try:
            kept += [torch.zeros(size // 4, device=here.device) for _ in range(most)]
        except torch.OutOfMemoryError as error:
            said.append(str(error).partition("\n")[0])
        else:
            raise Wrong(f"{most} tensors of {size} bytes of {total} were made")
        kept.clear()
    if (torch.ones(1000, device=here.device) + 1).sum().item() != 2000:
        raise Wrong("a sum after the error")
    return {"said": said[0]}


@task
def index_out_of_bounds(here: Here) -> Answer:
    """The error of an index names the op and the line, and the device goes on."""
    torch = here.torch
    table = torch.ones(4, 3, device=here.device)
    found = torch.nn.functional.embedding(torch.tensor([1, 9]).to(here.device), table)
    try:
        found.cpu()
    except torch.AcceleratorError as error:
        said = str(error)
    else:
        raise Wrong("no error")
    if "embedding" not in said or Path(__file__).name not in said or table.sum().item() != 12:
        raise Wrong(said)
    return {"said": said.partition("\n")[0]}


@task
def fork(here: Here) -> Answer:
    """A forked process is told that it has no device; its parent goes on."""
    x = here.torch.ones(3, device=here.device)
    child = os.fork()
    if child == 0:
        try:
            x + 1
        except RuntimeError as error:
            os._exit(0 if "fork" in str(error) else 4)
        finally:
            os._exit(3)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code or (x + 1).tolist() != [2.0] * 3:
        raise Wrong(f"exit {code} of the forked process")
    return {}


@task
def threads(here: Here) -> Answer:
    """Threads that compute side by side find what each finds alone."""
    place, found = here.place, {}

    def work(number: int, into: dict[int, float]) -> None:
        x = place.numbers(96, 96, seed=number)
        for _ in range(20 if here.quick else 300):
            x = place.torch.tanh(x @ x * 0.1)
        into[number] = x.abs().sum().item()

    alone: dict[int, float] = {}
    for number in range(4):
        work(number, alone)
    running = [threading.Thread(target=work, args=(number, found)) for number in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if found != alone:
        raise Wrong(f"{found}, not {alone}")
    return {}


@task
def many_steps(here: Here) -> Answer:
    """10,000 training steps, and neither the device's memory nor the host's grows."""
    steps, torch = 200 if here.quick else 10_000, here.torch
    step = here.programs.groups(here.quick)["steps"]["MLP 4-64-64-2, Adam"].make(here.place)
    device, seen = torch.device(here.device), []
    for count in range(steps + 1):
        step()
        if count in (steps // 5, steps):
            here.place.wait()
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            counts = torch.accelerator.memory_allocated(device)
            kept = torch.accelerator.memory_reserved(device)
            seen.append((counts, kept, pages * os.sysconf("SC_PAGE_SIZE")))
    (used, kept, host), (used_last, kept_last, host_last) = seen
    said = (
        f"device {used_last - used:+}, kept {kept_last - kept:+}, host {host_last - host:+} bytes"
    )
    if used_last != used or kept_last != kept or host_last - host > 8 << 20:
        raise Wrong(said)
    return {"said": said}


@task
def hold(here: Here, size: int) -> Answer:
    """Take memory, and keep it."""
    here.ready = "hold", here.torch.zeros(size // 4, device=here.device)
    here.place.wait()
    return {}


def serve(library: str, device: str, quick: bool) -> None:
    """Answer tasks, a line of JSON each; whatever else is printed goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.path[:0] = map(str, FOLDERS)
    if library == "rushlight":
        import_module("_pocl").prepare()
    here = Here(library, device, quick)
    for line in sys.stdin:
        name, arguments = json.loads(line)
        answer: Answer = {"state": OK}
        try:
            module, _, inner = name.rpartition(".")
            function = getattr(import_module(module), inner) if module else TASKS[name]
            answer |= function(here, *arguments)
        except Wrong as error:
            answer = {"state": WRONG, "said": str(error)}
        except Exception as error:
            absent = type(error).__name__ == "NotHere"
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = "" if absent else f" ({Path(last.filename).name}:{last.lineno})"
            said = f"{'' if absent else type(error).__name__ + ': '}{error}{where}"
            answer = {"state": ABSENT if absent else FAILED, "said": said}
        if not here.healthy():
            said = f"{answer.get('said', '')} (then the device computed no more)"
            answer |= {"state": FAILED, "said": said, "last": True}
        print(json.dumps(answer), file=answers, flush=True)
        if "last" in answer:
            os._exit(3)


if __name__ == "__main__":
    serve(*sys.argv[1:3], quick="--quick" in sys.argv)
