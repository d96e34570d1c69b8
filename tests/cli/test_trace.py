"""The trace of calls and nodes: real programs in processes of their own, and what they print."""

import os
import re
import subprocess
import sys
import textwrap
from typing import NamedTuple

import pytest

from _alone import PATIENCE


class Line(NamedTuple):
    direction: str
    depth: int
    name: str
    types: str
    path: str
    place: str


LINE = re.compile(
    r"(forward {3}|backward {2}|hook {6})((?:  )*)(\S+) {2,}(\S.*?) {2,}(\S.*?) {2,}"
    r"(\d+\.\d+) (?:us|ms|s)  (.*)"
)


def lines(text):
    """The lines of a trace; every line of the text must be one."""
    found = []
    for line in text.splitlines():
        parts = LINE.fullmatch(line)
        assert parts, f"no line of a trace: {line!r}"
        direction, indent, name, types, path, time, place = parts.groups()
        assert float(time) >= 0
        found.append(Line(direction.strip(), len(indent) // 2, name, types, path, place))
    return found


@pytest.fixture
def program(tmp_path):
    """Runs a program under RUSHLIGHT_TRACE=1, or as `trace=` says."""

    def run(text, *command, trace="1", **options):
        file = tmp_path / "prog.py"
        file.write_text("import rushlight as torch\n" + textwrap.dedent(text), encoding="utf-8")
        environment = {k: v for k, v in os.environ.items() if k != "RUSHLIGHT_TRACE"}
        if trace is not None:
            environment["RUSHLIGHT_TRACE"] = trace
        return subprocess.run(
            [sys.executable, *command, str(file)],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=options.pop("stderr", subprocess.PIPE),
            text=True,
            timeout=PATIENCE,
            **options,
        )

    return run


# For each line of its input it runs prog.py, and says on both streams when that has ended.
RUNNER = """
import runpy, sys, traceback
for line in sys.stdin:
    try:
        runpy.run_path("prog.py")
    except BaseException:
        traceback.print_exc(file=sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        print("the end", file=stream, flush=True)
"""


def said(stream):
    """What the process of RUNNER has said there of one program."""
    text = ""
    while (line := stream.readline()) != "the end\n":
        assert line, f"the process has ended: {text}"
        text += line
    return text


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """The trace of a program that ends well; one process under RUSHLIGHT_TRACE=1 runs them all."""
    folder = tmp_path_factory.mktemp("traced")
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER],
        cwd=folder,
        env=os.environ | {"RUSHLIGHT_TRACE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:

        def of(text):
            text = "import rushlight as torch\n" + textwrap.dedent(text)
            (folder / "prog.py").write_text(text, encoding="utf-8")
            print(file=process.stdin, flush=True)
            err = said(process.stderr)
            assert said(process.stdout) == ""
            return lines(err)

        yield of
        assert process.communicate(timeout=PATIENCE) == ("", "")


MUL = Line(
    "forward", 0, "mul", "float32[2], float32[2] -> float32[2]", "block function", "prog.py:3"
)


# --- the line -----------------------------------------------------------------------------------


def test_a_call(trace):
    assert trace("x = torch.ones(2)\nx * x") == [MUL]


@pytest.mark.parametrize("op", ["softmax", "log_softmax", "sum", "mean"])
def test_a_dtype_takes_the_same_kernel(trace, op):
    plain, typed = (
        trace(f"x = torch.empty(2, 3, dtype=torch.{a})\nx.{op}(1{b})")[-1]
        for a, b in [("float32", ""), ("float16", ", dtype=torch.float32")]
    )
    assert (typed.name, typed.path) == (plain.name, plain.path) == (op, "kernel")
    assert typed.types.endswith(plain.types.partition("->")[2])


@pytest.mark.parametrize(
    "call, types",
    [
        ("torch.softmax(x, 1)", "float32[2, 3], dim=1 -> float32[2, 3]"),
        ("x * 2.5", "float32[2, 3], 2.5 -> float32[2, 3]"),
        ("x.cumsum(dim=0)", "float32[2, 3], dim=0 -> float32[2, 3]"),
        ("x.clamp(min=0.5)", "float32[2, 3], min=0.5 -> float32[2, 3]"),
        ("x.sum()", "float32[2, 3] -> float32[]"),
        ("x.view(3, 2)", "float32[2, 3], size=[3, 2] -> float32[3, 2]"),
        ("x.expand(2, 2, 3)", "float32[2, 3], size=[2, 2, 3] -> float32[2, 2, 3]"),
        ("torch.cat([x, x])", "[float32[2, 3], float32[2, 3]] -> float32[4, 3]"),
        ("x.unbind()", "float32[2, 3] -> float32[3], float32[3]"),
        (
            "torch.cat([x] * 7)",
            "[float32[2, 3], float32[2, 3], float32[2, 3], float32[2, 3], and 3 more] "
            "-> float32[14, 3]",
        ),
        ("x > x", "float32[2, 3], float32[2, 3] -> bool[2, 3]"),
        ("x[1:, None]", "float32[2, 3], [1:, None] -> float32[1, 1, 3]"),
        ("x.add_(1)", "float32[2, 3], 1 -> float32[2, 3]"),
        ("x.t_()", "float32[2, 3] -> float32[3, 2]"),
        ("x.detach()", "float32[2, 3] -> float32[2, 3]"),
    ],
)
def test_types_and_arguments(trace, call, types):
    assert [line.types for line in trace(f"x = torch.ones(2, 3)\n{call}")] == [types]


def test_no_code_of_an_argument_runs(trace):
    """Of a class of the program only the name is shown, and its tensors are not asked."""
    found = trace(
        """
        class Mine(torch.Tensor):
            asked = 0
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                cls.asked += 1
                return super().__torch_function__(function, types, args, kwargs)
        class Two(int):
            def __repr__(self): raise SystemExit("asked")
        x = torch.ones(2).as_subclass(Mine)
        torch.mul(x, Two(2))
        assert Mine.asked == 1, Mine.asked
        """
    )
    assert [line.types for line in found if line.name == "mul"] == ["float32[2], Two -> float32[2]"]


# --- the paths of calls -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, path",
    [
        ("x * x", "block function"),  # same shapes, without gaps
        ("x * torch.ones(5000, 3)[0]", "strided loop"),  # broadcast
        ("x.t() * x", "strided loop"),
        ("torch.ones(6, 1000) * 2", "block machine"),  # whole, but more than one block
        ("x @ x", "kernel"),
        ("torch.softmax(x, 1)", "kernel"),
        ("torch.segment_reduce(x, 'sum', lengths=torch.tensor([3]))", "NumPy reference"),
        ("x.to(torch.complex64).logsumexp(0)", "NumPy fallback"),  # no kernel for complex numbers
        ("x.to(torch.complex64).conj_physical()", "composite"),  # defined in other ops there
        ("x.t()", "view"),
        ("x.view(9)", "view"),
        ("x[1:]", "view"),
        ("x.detach()", "view"),
        ("x.unbind()", "view"),
        ("x.to('meta') + 1", "shapes only"),
        ("x.to('meta').frexp()", "shapes only"),
    ],
)
def test_the_path_of_a_call(trace, call, path):
    assert trace(f"x = torch.ones(3, 3)\n{call}")[-1].path == path


def test_a_kernel_that_answers_not_implemented(trace):
    """The same op with a kernel and, for halves, without."""
    found = trace("a = torch.ones(2)\na.nextafter(a)\na.half().nextafter(a.half())")
    assert [line.path for line in found if "nextafter" in line.name] == [
        "block function",
        "NumPy fallback",
    ]


def test_the_notes_of_a_call_are_its_own(trace):
    """A call that notes nothing does not show what the one before has noted."""
    found = trace(
        "x = torch.ones(3)\nx * x\ntry: torch.mul(x, torch.ones(2))\nexcept RuntimeError: 0"
    )
    assert [line.path for line in found] == ["block function", "-"]


# --- nested calls -------------------------------------------------------------------------------


def tree(found):
    return [(line.depth, line.name, line.path) for line in found]


def test_calls_inside_a_composite(trace):
    found = trace("x = torch.ones(3, 3)\nmask = x > 0\nx[mask]")[1:]
    assert tree(found) == [(0, "getitem", "composite"), (1, "_index", "kernel")]
    assert {line.place for line in found} == {"prog.py:4"}


def test_vmap_and_jvp(trace):
    found = trace("x = torch.ones(3, 2)\ntorch.func.vmap(torch.sin)(x)")
    assert [line[:5] for line in found] == [
        ("forward", 0, "sin", "batched float32[2] -> batched float32[2]", "vmap"),
        ("forward", 1, "sin", "float32[3, 2] -> float32[3, 2]", "block function"),
    ]
    found = trace(
        "x = torch.ones(2)\ntorch.func.jvp(lambda a: torch.func.vmap(torch.exp)(a), (x,), (x,))"
    )
    calls = [line for line in found if line.name in ("exp", "mul")]
    assert tree(calls) == [
        (0, "exp", "vmap"),
        (1, "exp", "jvp"),
        (2, "exp", "block function"),
        (2, "mul", "block function"),
    ]


def test_inplace_and_out(trace):
    assert tree(trace("torch.nn.functional.relu(torch.ones(2), inplace=True)")) == [
        (0, "relu", "in-place form"),
        (1, "relu_", "block function"),
    ]
    found = trace("x = torch.ones(2)\ntorch.mul(x, 3, out=torch.empty(2))")
    assert tree(found) == [(0, "mul", "copied to out"), (1, "mul", "block function")]
    assert found[0].types == "float32[2], 3, out=float32[2] -> float32[2]"


# --- backward -----------------------------------------------------------------------------------


def test_backward(trace):
    found = trace(
        """
        x = torch.ones(2, 2, requires_grad=True)
        y = torch.softmax(x, 1)
        z = y * y.t()
        s = (z + 1).sum()
        s.backward()
        s = x * 2
        s.sum().backward()
        """
    )
    assert [line[2:] for line in found if line.direction == "backward"] == [
        ("SumBackward0", "float32[] -> float32[2, 2]", "fused kernel", "prog.py:6"),
        ("AddBackward0", "float32[2, 2] -> float32[2, 2], None", "passed on", "prog.py:6"),
        (
            "MulBackward0",
            "float32[2, 2] -> float32[2, 2], float32[2, 2]",
            "traced program",
            "prog.py:5",
        ),
        ("TBackward0", "float32[2, 2] -> float32[2, 2]", "fused kernel", "prog.py:5"),
        ("SoftmaxBackward0", "float32[2, 2] -> float32[2, 2]", "fused kernel", "prog.py:4"),
        ("AccumulateGrad", "float32[2, 2] -> .grad", "stored", "prog.py:7"),
        ("SumBackward0", "float32[] -> float32[2, 2]", "fused kernel", "prog.py:9"),
        ("MulBackward0", "float32[2, 2] -> float32[2, 2], None", "traced program", "prog.py:8"),
        ("AccumulateGrad", "float32[2, 2] -> .grad", "added", "prog.py:9"),
    ]


def test_the_ops_of_a_rule_are_inside_its_node(trace):
    """With a graph of the backward the rule runs, which is made of ops."""
    found = trace(
        """
        x = torch.ones(2, requires_grad=True)
        y = x.sin()
        torch.autograd.grad(y, x, torch.ones(2), create_graph=True)
        """
    )[1:]
    assert tree(found) == [
        (0, "SinBackward0", "Python rule"),
        (1, "cos", "block function"),
        (1, "mul", "block function"),
        (0, "AccumulateGrad", "captured"),
    ]
    assert [line.place for line in found] == ["prog.py:4", *["prog.py:5"] * 3]


def test_hooks_and_functions(trace):
    found = trace(
        """
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                return a * 2
            @staticmethod
            def backward(ctx, g):
                return g * 2
        x = torch.ones(3, requires_grad=True)
        y = Twice.apply(x)
        y.register_hook(lambda g: g.exp())
        y.backward(torch.ones(3))
        """
    )[1:]
    assert tree(found) == [
        (0, "TwiceBackward", "Function, hooks"),
        (1, "<lambda>", "of a tensor"),
        (2, "exp", "block function"),
        (1, "mul", "block function"),
        (0, "AccumulateGrad", "stored"),
    ]
    places = [line.place for line in found[:4]]
    assert places == ["prog.py:11", "prog.py:12", "prog.py:12", "prog.py:9"]


def test_hooks_have_their_names_and_the_lines_that_registered_them(trace):
    found = trace(
        """
        from functools import partial
        layer, x = torch.nn.Linear(2, 2), torch.ones(2, requires_grad=True)
        y = x.exp()
        def scale(by, g): return by * g
        y.register_hook(partial(scale, 2))
        def look(*given): pass
        y.grad_fn.register_prehook(look)
        y.grad_fn.register_hook(look)
        x.register_post_accumulate_grad_hook(look)
        layer.register_full_backward_hook(look)
        layer.register_full_backward_pre_hook(look)
        layer(y).backward(torch.ones(2))
        """
    )
    hooks = [line for line in found if line.direction == "hook"]
    assert [(line.name, line.path, line.place) for line in hooks] == [
        ("look", "of a module", "prog.py:13"),
        ("look", "of a module", "prog.py:12"),
        ("scale", "of a tensor", "prog.py:7"),
        ("look", "before the node", "prog.py:9"),
        ("look", "after the node", "prog.py:10"),
        ("look", "after the sum", "prog.py:11"),
    ]
    assert hooks[2].types == "float32[2] -> float32[2]"


def test_a_hook_of_before_the_trace_has_the_place_of_its_function(trace):
    found = trace(
        """
        from rushlight import _trace_calls
        _trace_calls.stop()
        x = torch.ones(2, requires_grad=True)
        def look(g): pass
        x.register_hook(look)
        _trace_calls.start()
        x.backward(torch.ones(2))
        """
    )
    assert [line.place for line in found if line.direction == "hook"] == ["prog.py:6"]


def test_backward_inside_backward(trace):
    found = trace(
        """
        x = torch.ones(3, requires_grad=True)
        y = x.sin()
        w = torch.ones(3, requires_grad=True)
        inner = w.exp().sum()
        y.register_hook(lambda g: inner.backward())
        y.backward(torch.ones(3))
        """
    )
    backward = [line for line in found if line.direction == "backward"]
    assert tree(backward) == [
        (0, "SinBackward0", "traced program, hooks"),
        (2, "SumBackward0", "fused kernel"),
        (2, "ExpBackward0", "traced program"),
        (2, "AccumulateGrad", "stored"),
        (0, "AccumulateGrad", "stored"),
    ]


def test_writing_through_a_view(trace):
    found = trace(
        """
        x = torch.ones(2, 2, requires_grad=True)
        y = x.clone()
        y[0].mul_(3)
        y.sum().backward()
        """
    )
    (node,) = [line for line in found if line.name == "CopySlices"]
    assert node[4:] == ("traced program, written view", "prog.py:5")


def test_many_backwards_in_each_other(trace):
    """They go on in a thread of their own, and their lines stay below what called them."""
    found = trace(
        """
        leaf = torch.ones(1, requires_grad=True)
        def nest(depth):
            with torch.enable_grad():
                y = leaf * 1
            if depth:
                y.register_hook(lambda g: nest(depth - 1))
            y.backward()
        nest(70)
        """
    )
    nodes = [line for line in found if line.name == "MulBackward0"]
    assert [line.depth for line in nodes] == list(range(0, 142, 2))  # a hook's line lies between


def test_the_graph_that_a_program_sees_is_the_same(program):
    text = """
        x, w, b = (torch.ones(2, 2, requires_grad=True) for _ in range(3))
        node = torch.nn.functional.linear(x, w, b[0]).grad_fn
        print(node.name(), [n.name() for n, _ in node.next_functions])
    """
    assert program(text).stdout == program(text, trace=None).stdout != ""


# --- errors -------------------------------------------------------------------------------------


def test_a_call_that_raises(program):
    done = program("x = torch.ones(2)\nx * torch.ones(3)")
    assert done.returncode == 1
    first, *error = done.stderr.splitlines(keepends=True)
    assert lines(first)[0][:4] == ("forward", 0, "mul", "float32[2], float32[3] -> RuntimeError")
    assert error[0] == "Traceback (most recent call last):\n"
    assert error[-1].startswith("RuntimeError: The size of tensor a (2) must match")


def test_a_node_that_raises(trace):
    found = trace(
        """
        class Bad(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                return a.exp()
            @staticmethod
            def backward(ctx, g):
                g.exp()
                raise KeyError("no")
        x = torch.ones(3, requires_grad=True)
        try:
            Bad.apply(x).backward(torch.ones(3))
        except KeyError:
            pass
        x * x
        """
    )
    assert tree(found) == [
        (0, "exp", "block function"),
        (0, "BadBackward", "Function"),
        (1, "exp", "block function"),
        (0, "mul", "block function"),
    ]
    assert found[1].types == "float32[3] -> KeyError"


def test_a_hook_that_raises(trace):
    found = trace(
        """
        def bad(g):
            raise LookupError
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        y.register_hook(bad)
        try:
            y.backward(torch.ones(3))
        except LookupError:
            x * x
        """
    )
    assert tree(found[1:]) == [
        (0, "ExpBackward0", "hooks"),
        (1, "bad", "of a tensor"),
        (0, "mul", "block function"),
    ]
    assert [line.types for line in found[1:3]] == ["float32[3] -> LookupError"] * 2


# --- where lines go -----------------------------------------------------------------------------

TWO = "x = torch.ones(2)\nx * x\nx.exp()\nprint('done')"


@pytest.mark.parametrize("value", [None, "", "0"])
def test_off(program, value):
    done = program(TWO, trace=value)
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


def test_by_the_command(program):
    done = program(TWO, "-m", "rushlight", "run", "--trace", trace=None)
    assert done.stdout == "done\n"
    assert lines(done.stderr)[0] == MUL
    assert len(lines(done.stderr)) == 2


def test_the_processes_that_a_traced_program_starts_are_traced(program):
    done = program(
        """
        import subprocess, sys
        code = "import torch; torch.ones(2).exp()"
        subprocess.run([sys.executable, "-c", code], check=True)
        """,
        *("-m", "rushlight", "run", "--trace"),
        trace=None,
    )
    assert [(line.name, line.place) for line in lines(done.stderr)] == [("exp", "<string>:1")]


def test_to_a_file(program, tmp_path):
    file = tmp_path / "lines"
    for times in (1, 2):  # it is appended to
        done = program(TWO, trace=str(file))
        assert (done.stdout, done.stderr) == ("done\n", "")
        assert [line.name for line in lines(file.read_text())] == ["mul", "exp"] * times


def test_to_a_file_that_cannot_be_opened(program, tmp_path):
    done = program(TWO, trace=str(tmp_path / "none" / "lines"))
    assert (done.stdout, done.returncode) == ("done\n", 0)
    assert re.fullmatch(r"rushlight: RUSHLIGHT_TRACE: can't open file '.*': .+\n", done.stderr)


def test_to_the_stderr_of_the_program(program):
    done = program(
        """
        import contextlib, io, sys
        x = torch.ones(2)
        with contextlib.redirect_stderr(io.StringIO()) as kept:
            x * x
        print(kept.getvalue(), end="")
        """
    )
    assert done.stderr == ""
    assert [line.name for line in lines(done.stdout)] == ["mul"]


def test_when_stderr_is_closed(program, tmp_path):
    """Its number may belong to a file of the program by then."""
    done = program(
        """
        x = torch.ones(2)
        x * x
        import os, sys
        kept = os.open("mine", os.O_WRONLY | os.O_CREAT)
        x.exp()
        print("done", kept)
        """,
        preexec_fn=lambda: os.close(2),
        stderr=None,
    )
    assert (done.returncode, done.stdout[:5]) == (0, "done ")
    assert (tmp_path / "mine").read_bytes() == b""


def test_when_nobody_reads_stderr(program):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = program(TWO, stderr=writer)
    finally:
        os.close(writer)
    assert (done.stdout, done.returncode) == ("done\n", 0)


def test_threads(program):
    """Lines stay whole, and those inside a call stay together below it."""
    done = program(
        """
        import threading
        def work():
            x = torch.ones(3, 3)
            for _ in range(200):
                x[x > 0]
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        """
    )
    found = lines(done.stderr)
    assert len(found) == 4 * 200 * 3
    assert {re.sub(r"\d+", "N", line.place) for line in found} == {"prog.py:N  thread N"}
    assert len({line.place for line in found}) == 4
    below = {"getitem": "_index", "_index": None, "gt": None}
    for line, following in zip(found, [*found[1:], None], strict=True):
        if below[line.name]:
            assert (following.name, following.place) == (below[line.name], line.place)


def test_workers_of_a_data_loader(program):
    done = program(
        """
        from rushlight.utils.data import DataLoader, Dataset
        class Data(Dataset):
            def __len__(self): return 8
            def __getitem__(self, i): return torch.ones(2).exp()
        for batch in DataLoader(Data(), batch_size=2, num_workers=2):
            pass
        """
    )
    assert done.returncode == 0, done.stderr
    places = [line.place for line in lines(done.stderr) if line.name == "exp"]
    assert len(places) == 8
    processes = {re.fullmatch(r"prog\.py:6  process (\d+)( thread \d+)?", p)[1] for p in places}
    assert len(processes) == 2


def test_the_context_manager(program):
    done = program(
        """
        from rushlight import _core, _trace_calls
        x = torch.ones(2)
        x.exp()
        with _trace_calls.traced():
            x.sin()
            with _trace_calls.traced("inner"):
                x.cos()
            x.tan()
        x.log()
        print(open("inner").read(), end="")
        """,
        trace=None,
    )
    assert [line.name for line in lines(done.stderr)] == ["sin", "tan"]
    assert [line.name for line in lines(done.stdout)] == ["cos"]


def test_the_trace_changes_no_gradient_that_is_written_over(trace):
    """It holds nothing that a call or a node is given: a gradient that only the engine has is still
    the memory of the next one. A reference too many would make `stored` a copy."""
    found = trace("x = torch.ones(3, requires_grad=True)\ny = x.exp().sin().sum()\ny.backward()")
    assert found[-1][2:5] == ("AccumulateGrad", "float32[3] -> .grad", "stored")


def test_beside_the_profiler_and_anomaly_mode(program):
    done = program(
        """
        import warnings
        warnings.simplefilter("ignore")
        x = torch.ones(2, requires_grad=True)
        with torch.autograd.profiler.profile() as seen, torch.autograd.detect_anomaly():
            x.exp().sum().backward()
        print(sorted({e.name for e in seen.function_events}))
        x * x
        """
    )
    assert "'aten::exp', 'aten::sum'" in done.stdout
    assert [line.name for line in lines(done.stderr)] == [
        "exp",
        "sum",
        "SumBackward0",
        "ExpBackward0",
        "AccumulateGrad",
        "mul",
    ]
