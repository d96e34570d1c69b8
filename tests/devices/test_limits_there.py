"""Where an accelerator ends: too little memory, another process, a type that it has not, no kernel;
and what a thread or a program without OpenCL sees."""

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import rushlight as torch
from _alone import PATIENCE
from rushlight import _core, devices

THERE = "opencl"
HERE = Path(__file__).resolve().parent


@pytest.fixture(autouse=True)
def named():
    gc.collect()  # what other tests left is not counted
    torch.ones(1, device=THERE)


def alone(program, prepare=True, **variables):
    """What a program prints in a process of its own, in which PoCL is prepared."""
    head = f"import sys; sys.path.insert(0, {str(HERE)!r}); import _pocl\n"
    head += "_pocl.prepare()\n" if prepare else ""
    head += "import rushlight as torch, os\n"
    done = subprocess.run(
        [sys.executable, "-c", head + program],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=os.environ | variables,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


class TestMemory:
    def test_too_little(self):
        x = torch.arange(5.0, device=THERE)
        before = torch.accelerator.memory_allocated()
        for call in (
            lambda: torch.empty(1 << 44, device=THERE),
            lambda: torch.zeros(1 << 44, device=THERE, dtype=torch.float64),
            lambda: x.expand(1 << 42, 5).clone(),
            lambda: x.expand(1 << 42, 5) + 1,
            lambda: x.resize_(1 << 44),
        ):
            with pytest.raises(
                torch.OutOfMemoryError, match=r"^OpenCL out of memory\. Tried to al"
            ):
                call()
        gc.collect()
        assert torch.accelerator.memory_allocated() == before
        assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]

    def test_the_error_names_sizes(self):
        with pytest.raises(torch.OutOfMemoryError) as raised:
            torch.empty(1 << 40, device=THERE)
        text = str(raised.value)
        assert "Tried to allocate 4194304 MiB" in text and "Device 0" in text
        assert "total capacity of" in text and "in use by tensors" in text

    def test_what_is_given_back_is_used_again(self):
        torch.accelerator.empty_cache()
        start = torch.accelerator.memory_reserved()
        for _ in range(10):
            x = torch.empty(1 << 20, device=THERE)
            del x
        assert torch.accelerator.memory_reserved() - start == 4 << 20
        torch.accelerator.empty_cache()
        assert torch.accelerator.memory_reserved() == start

    def test_counts(self):
        torch.accelerator.reset_peak_memory_stats()
        before = torch.accelerator.memory_allocated()
        x = torch.empty(1 << 20, device=THERE)
        view = x[5:]
        del x
        assert torch.accelerator.memory_allocated() - before == 4 << 20  # the view keeps it
        del view
        assert torch.accelerator.memory_allocated() == before
        assert torch.accelerator.max_memory_allocated() == before + (4 << 20)
        torch.accelerator.reset_peak_memory_stats()
        assert torch.accelerator.max_memory_allocated() == before

    def test_steps_of_training_keep_nothing(self):
        net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        net.to(THERE)
        optimizer = torch.optim.Adam(net.parameters())
        used = []
        for _ in range(6):
            optimizer.zero_grad()
            net(torch.ones(4, 8, device=THERE)).sum().backward()
            optimizer.step()
            gc.collect()
            used.append(torch.accelerator.memory_allocated())
        assert used[2] == used[-1]


class TestProcesses:
    def test_a_fork_has_no_device(self):
        said = alone(
            """
x = torch.ones(3, device="opencl")
calls = [lambda: torch.ones(2, device="opencl"), lambda: x + 1, lambda: x.cpu(), lambda: repr(x),
         lambda: x.sum(), lambda: x[0].item(), lambda: x.fill_(2), lambda: torch.manual_seed(1),
         torch.accelerator.synchronize]
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    for call in calls:
        try:
            call()
            os.write(w, b"nothing\\n")
        except RuntimeError as error:
            os.write(w, str(error).encode() + b"\\n")
    del x  # gives nothing back
    y = torch.ones(3) + 1  # the CPU goes on
    os.write(w, str(y.tolist()).encode())
    os._exit(0)
os.close(w)
print(open(r).read())
assert os.waitpid(pid, 0)[1] == 0
print(x.tolist())
"""
        ).splitlines()
        sentence = (
            "Cannot re-initialize OpenCL in forked subprocess. To use OpenCL with multiprocessing, "
            "you must use the 'spawn' start method"
        )
        assert said[:-2] == [sentence] * 7 + ["nothing", sentence]
        assert said[-2:] == ["[2.0, 2.0, 2.0]", "[1.0, 1.0, 1.0]"]

    def test_a_fork_while_a_thread_writes(self):
        said = alone(
            """
import signal, threading
x, large, forks = torch.ones(3, device="opencl").add_(1), torch.ones(1 << 22), []
large.to("opencl")
def write():
    while len(forks) < 20:
        large.to("opencl")
thread = threading.Thread(target=write)
thread.start()
while len(forks) < 20:
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)  # ends a child that waits for a lock of the thread's
        try:
            x.add_(1)
        except RuntimeError:
            os._exit(0)
        os._exit(1)
    forks.append(os.waitpid(pid, 0)[1])
    if forks[-1]:
        forks += [1] * 20
thread.join()
print(forks)
"""
        )
        assert said.strip() == str([0] * 20)

    def test_a_fork_before_the_first_use_has_one(self):
        said = alone(
            """
pid = os.fork()
if pid == 0:
    _pocl.prepare()
    print(torch.ones(2, device="opencl").tolist(), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
""",
            prepare=False,
        )
        assert said.strip() == "[1.0, 1.0]"

    def test_workers_of_a_loader_stay_on_the_host(self):
        said = alone(
            """
from torch.utils.data import DataLoader
x = torch.arange(6.0, device="opencl")
for batch in DataLoader(list(range(6)), batch_size=3, num_workers=1):
    print(x[batch].tolist())
""".replace("torch.utils", "rushlight.utils")
        )
        assert said.splitlines() == ["[0.0, 1.0, 2.0]", "[3.0, 4.0, 5.0]"]

    def test_it_ends_without_waiting_for_anybody(self):
        alone("x = torch.ones(3, device='opencl') * 2\nglobals()['keep'] = x")


class TestTypes:
    def test_a_device_without_float64(self):
        said = alone(
            """
F = torch.nn.functional
x = torch.ones(2, 2, device="opencl")
for call in (
    lambda: torch.ones(2, dtype=torch.float64, device="opencl"),
    lambda: torch.ones(2, dtype=torch.float64).to("opencl"),
    lambda: x.double(), lambda: x.to(torch.float64), lambda: x + x.double(),
    lambda: torch.nn.Linear(2, 2).double().to("opencl"),
    lambda: torch.ones(2, dtype=torch.complex128).to("opencl"),
):
    try:
        print(call())
    except TypeError as error:
        print(str(error).partition(" on ")[0])
from rushlight import devices
with devices.refuse_fallbacks():
    layers = torch.nn.Linear(2, 3), torch.nn.LayerNorm(3), torch.nn.GELU()
    net = torch.nn.Sequential(*layers).to("opencl")
    optimizer = torch.optim.Adam(net.parameters())
    loss = F.cross_entropy(net(x), torch.tensor([0, 2], device="opencl"))
    loss.backward()
    optimizer.step()
    y = (x > 0).sum() + x.int().float().mean() + torch.arange(3, device="opencl") * 0.5
    drawn = F.dropout(x, 0.5).shape, torch.randn(3, device="opencl").dtype
    print(y.tolist(), loss.item() > 0, *drawn)
""",
            RUSHLIGHT_OPENCL_DOUBLE="0",
        ).splitlines()
        refused = "Cannot convert a tensor to torch."
        assert said[:-1] == [f"{refused}float64"] * 6 + [f"{refused}complex128"]
        assert said[-1] == "[5.0, 5.5, 6.0] True torch.Size([2, 2]) torch.float32"


class TestByTheHost:
    def test_counted_by_name_and_refused(self):
        devices.forget_fallbacks()
        x = torch.tensor([[2.0, 1.0], [0.0, 3.0]], device=THERE)
        (x + 1).sum()
        assert devices.fallbacks() == {}
        values = torch.linalg.eigvals(x)
        assert sorted(values.real.tolist()) == [2.0, 3.0] and "eig" in devices.fallbacks()
        with (
            devices.refuse_fallbacks(),
            pytest.raises(NotImplementedError, match=r"^eig has no kernel on opencl:0"),
        ):
            torch.linalg.eigvals(x)
        torch.linalg.eigvals(x)
        assert devices.fallbacks()["eig"] == 2

    def test_what_the_host_writes_goes_back(self):
        """An op in place that has no kernel for an argument of more than six dimensions."""
        shape = (2,) * 8
        x = torch.arange(256.0).reshape(shape)
        there, order = x.to(THERE).permute(7, 1, 5, 3, 4, 2, 6, 0), (7, 1, 5, 3, 4, 2, 6, 0)
        there.mul_(2)
        assert there.cpu().equal(x.permute(order) * 2)


class TestReports:
    """Numbers that a kernel cannot use: the host raises when it next waits for the device."""

    @pytest.mark.parametrize(
        "op, what, number, size, call",
        [
            ("index", "index", 9, 4, lambda x, bad: x[bad]),
            ("index_put", "index", 9, 4, lambda x, bad: x.index_put((bad,), x[:2])),
            ("index_select", "index", 9, 4, lambda x, bad: x.index_select(0, bad)),
            ("index_add", "index", 9, 4, lambda x, bad: x.index_add(0, bad, x[:2])),
            ("index_copy", "index", 9, 4, lambda x, bad: x.index_copy(0, bad, x[:2])),
            ("gather", "index", 9, 4, lambda x, bad: x.gather(0, bad[:, None])),
            ("scatter", "index", 9, 4, lambda x, bad: x.scatter(0, bad[:, None], x[:2, :1])),
            ("scatter_add", "index", 9, 4, lambda x, bad: x.scatter_add(0, bad[:, None], x[:2])),
            ("take", "index", -13, 12, lambda x, bad: x.take(bad[:1] - 14)),
            ("embedding", "index", 9, 4, lambda x, bad: torch.nn.functional.embedding(bad, x)),
            ("nll_loss", "target", 9, 3, lambda x, bad: torch.nn.functional.nll_loss(x[:2], bad)),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_raised_at_the_next_wait(self, op, what, number, size, call):
        x = torch.arange(12.0, device=THERE).reshape(4, 3)
        bad = torch.tensor([1, 9], device=THERE)
        result = call(x, bad)
        with pytest.raises(torch.AcceleratorError) as raised:
            result.cpu()
        lines = str(raised.value).splitlines()
        assert lines[0] == (
            f"OpenCL error: device-side assert triggered. {op}() was given the {what} {number}, "
            f"which is out of bounds for a size of {size}:"
        )
        assert lines[1].strip().startswith(f'File "{__file__}", line ')
        assert "lambda" in lines[1]
        assert x.sum().item() == 66.0  # once raised, it is done with
        torch.accelerator.synchronize()

    def test_the_first_of_several(self):
        x = torch.arange(3.0, device=THERE)
        for number in (5, 7):
            x[torch.tensor([number], device=THERE)]
        with pytest.raises(torch.AcceleratorError, match="the index 5, which is out of bounds"):
            torch.accelerator.synchronize()
        torch.accelerator.synchronize()

    def test_backward(self):
        table = torch.ones(3, 2, device=THERE, requires_grad=True)
        taken = torch.nn.functional.embedding(torch.tensor([2, 3], device=THERE), table)
        taken.sum().backward()
        with pytest.raises(torch.AcceleratorError, match=r"embedding\(\) was given the index 3"):
            table.grad.tolist()
        assert table.grad.tolist() == [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]

    def test_what_is_left_out_on_purpose_is_not_told(self):
        x = torch.zeros(2, 3, device=THERE)
        target = torch.tensor([-100, 1], device=THERE)
        assert torch.nn.functional.cross_entropy(x, target).item() > 0
        rows = torch.nn.functional.embedding(target[1:], x, padding_idx=1)
        assert rows.tolist() == [[0.0, 0.0, 0.0]]


class TestThreads:
    def test_several_at_once(self):
        wrong = []

        def work(number):
            generator = torch.Generator().manual_seed(number)
            for _ in range(20):
                x = torch.randn(50, 20, generator=generator)
                y = x.to(THERE).requires_grad_()
                torch.softmax(y @ y.T, 1).sum(0).square().sum().backward()
                z = x.clone().requires_grad_()
                torch.softmax(z @ z.T, 1).sum(0).square().sum().backward()
                if not torch.allclose(y.grad.cpu(), z.grad, rtol=1e-3, atol=1e-3):
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


class TestWithoutOpenCL:
    def test_the_first_use_says_what_to_install(self):
        said = alone(
            """
import rushlight._devices.accelerators as opencl
opencl._KINDS = tuple(kind._replace(libraries=lambda: []) for kind in opencl._KINDS)
try:
    torch.ones(1).to("opencl")
except RuntimeError as error:
    print(error)
print(torch.accelerator.is_available(), torch.accelerator.current_accelerator(), torch.ones(1))
"""
        ).splitlines()
        assert said[0].startswith("no OpenCL device: no library of OpenCL was found.")
        assert "pip install pocl-binary-distribution" in said[0]
        assert said[1] == "False None tensor([1.])"

    def test_a_library_that_is_none(self, tmp_path):
        path = tmp_path / "libOpenCL.so"
        path.write_text("no library")
        said = alone(
            f"""
os.environ["RUSHLIGHT_OPENCL_LIBRARY"] = {str(path)!r}
try:
    torch.ones(1, device="opencl")
except RuntimeError as error:
    print(error)
"""
        )
        assert said.startswith(f"no OpenCL device: {path}: ")

    def test_nothing_of_it_is_imported_before_it_is_named(self):
        said = alone(
            """
torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
print([name for name in sys.modules if "opencl" in name or "_devices._kernels" in name])
maps = open("/proc/self/maps").read()
print("OpenCL" in maps)
""",
            RUSHLIGHT_CUDA="",
        )
        assert said.splitlines() == ["[]", "False"]


def test_an_address_is_none():
    """The number that stands for the memory is no address: what reads it would stop at once."""
    x = torch.ones(2, device=THERE)
    assert x.data_ptr() >> 62 == 1 and _core.storage_of(x).data_ptr() == x.data_ptr()
