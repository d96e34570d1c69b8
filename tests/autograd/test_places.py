"""Errors name lines: where a value was saved and where it was changed, where the graph was used
before, where a history ends.

PyTorch has no such lines, so what is expected is read off this file: a comment marks each place.
"""

import functools
import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from pathlib import Path

import pytest

from _subject import NAME, torch

pytestmark = pytest.mark.skipif(NAME == "torch", reason="beyond what PyTorch does")

HERE = Path(__file__)


def place(mark: str) -> str:
    """The line of this file that ends with a mark, as errors show it, without its function."""
    lines = HERE.read_text(encoding="utf-8").splitlines()
    found = [i for i, text in enumerate(lines, 1) if text.endswith(f"# {mark}")]
    assert len(found) == 1, (mark, found)
    return f'File "{HERE}", line {found[0]}, in '


def text_of(run, kind=RuntimeError) -> str:
    with pytest.raises(kind) as error:
        run()
    return str(error.value)


def leaf():
    return torch.tensor([1.0, 2.0], requires_grad=True)


# ---- in-place errors


def test_an_input_changed_in_place():
    x = leaf()
    y = x * 1
    z = y * y  # input saved
    y += 1  # input changed
    text = text_of(z.sum().backward)
    assert text.startswith("one of the variables needed for gradient computation has been modified")
    saved, changed = text.index(place("input saved")), text.index(place("input changed"))
    assert saved < changed
    assert "by MulBackward0" in text and "z = y * y" in text and "y += 1" in text


def test_a_result_changed_in_place():
    y = leaf().exp()  # result saved
    y[0] = 3.0  # result changed
    text = text_of(y.sum().backward)
    assert place("result saved") in text and place("result changed") in text


def test_of_two_writes_the_first_is_named():
    y = leaf() * 1
    z = y * y
    y.add_(1)  # first of two
    y.mul_(2)  # second of two
    text = text_of(z.sum().backward)
    assert place("first of two") in text and place("second of two") not in text


def test_of_many_writes_the_last_is_named_as_such():
    y = leaf() * 1
    z = y * y
    for _ in range(5):
        y.add_(1)  # one of many
    text = text_of(z.sum().backward)
    assert place("one of many") in text and "last changed" in text


def test_a_write_through_a_view():
    y = leaf() * 1
    z = y * y
    y[:1].zero_()  # through a view
    assert place("through a view") in text_of(z.sum().backward)


def test_an_optimizer_step_and_a_layer():
    layer = torch.nn.Linear(2, 2)
    step = torch.optim.SGD(layer.parameters(), lr=0.1).step
    out = layer(layer(torch.ones(1, 2))).sum()  # in the layer
    out.backward(retain_graph=True)
    step()  # the step
    text = text_of(out.backward)
    assert place("in the layer") in text and place("the step") in text
    assert "optimizer" in text


def test_a_custom_function():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = leaf() * 1
    y = Double.apply(x)  # applied
    x.add_(1)  # saved value changed
    text = text_of(y.sum().backward)
    assert place("applied") in text and place("saved value changed") in text
    assert "by DoubleBackward" in text


# ---- a second backward


def test_a_second_backward_names_the_first():
    y = (leaf() * leaf()).sum()  # recorded
    y.backward()  # first backward
    text = text_of(y.backward)
    assert text.startswith("Trying to backward through the graph a second time")
    assert place("first backward") in text and place("recorded") in text
    assert "retain_graph=True." in text.splitlines()[-1]


def test_a_graph_carried_along_a_loop():
    h = leaf()
    for _ in range(3):
        h = h * h
        try:
            h.sum().backward()  # in every round
        except RuntimeError as error:
            text = str(error)
            break
    assert place("in every round") in text
    assert "detach()" in text.splitlines()[-1] and "retain_graph" not in text.splitlines()[-1]


def test_grad_names_its_line_too():
    x = leaf()
    y = (x * x).sum()
    torch.autograd.grad(y, x)  # by grad
    assert place("by grad") in text_of(lambda: torch.autograd.grad(y, x))


def test_a_saved_value_read_after_backward():
    y = leaf().exp().sum()
    node = y.grad_fn.next_functions[0][0]
    y.backward()  # freed it
    assert place("freed it") in text_of(lambda: node._saved_result)


def test_a_backward_inside_a_backward():
    inner = (leaf() * leaf()).sum()
    x = leaf()

    def hook(g):
        inner.backward()  # the inner one

    y = x * 2
    y.register_hook(hook)
    y.sum().backward()  # the outer one
    text = text_of(inner.backward)
    assert place("the inner one") in text and place("the outer one") not in text


# ---- where a history ends


def cut_by(run) -> str:
    text = text_of(run)
    assert text.startswith("element 0 of tensors does not require grad and does not have a grad_fn")
    return text


def test_detach():
    h = (leaf() * 2).detach()  # detached
    text = cut_by((h * 3).sum().backward)
    assert place("detached") in text and "detach()" in text


def test_detach_in_place_and_data():
    h = leaf() * 2
    h.detach_()  # detached in place
    assert place("detached in place") in cut_by(h.sum().backward)
    d = leaf().data  # by data
    assert place("by data") in cut_by(d.sum().backward)


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_modes(mode):
    x = leaf()
    with getattr(torch, mode)():
        h = x * 2  # without gradients
    if mode == "inference_mode":
        h = h.clone()
    text = cut_by((h + 1).sum().backward)
    assert place("without gradients") in text and mode in text


@pytest.mark.parametrize(
    "end",
    [
        lambda x: x.long().float(),  # case 0
        lambda x: (x > 0).float(),  # case 1
        lambda x: x.argmax().float(),  # case 2
        lambda x: x.sort()[1].float(),  # case 3
        lambda x: x.max(0).indices.double(),  # case 4
    ],
)
def test_results_without_a_derivative(end, request):
    case = request.node.callspec.indices["end"]
    text = cut_by((end(leaf()) * 2).sum().backward)
    text = text.replace("\n      ", " ")
    lines = HERE.read_text(encoding="utf-8").splitlines()
    number = next(i for i, line in enumerate(lines, 1) if line.endswith(f"# case {case}"))
    assert f'File "{HERE}", line {number}, in ' in text and "no derivative" in text


@pytest.mark.parametrize("make", [torch.tensor, torch.Tensor, torch.as_tensor, torch.FloatTensor])
def test_a_new_tensor_of_data(make):
    loss = make([v.item() for v in leaf()])  # of data
    text = cut_by((loss * 2).sum().backward)
    assert place("of data") in text and "built from data" in text


def test_an_array_in_between():
    loss = torch.from_numpy((leaf() * 2).detach().numpy())  # of an array
    assert place("of an array") in cut_by(loss.sum().backward)


def test_of_data_and_a_cut_the_cut_is_named():
    data = torch.tensor([1.0, 2.0])
    cut = (leaf() * 2).detach()  # rather this
    for mixed in (data * cut, cut * data, torch.cat([data, cut]), torch.where(data > 1, data, cut)):
        assert place("rather this") in cut_by(mixed.sum().backward)


def test_a_sum_written_in_place():
    total = torch.zeros(2)
    total += (leaf() * 2).detach()  # into the sum
    assert place("into the sum") in cut_by(total.sum().backward)


def test_views_keep_the_place():
    h = (leaf() * 2).detach()  # before views
    for view in (h[0], h[None], h.view(2, 1), h[:1], h[torch.tensor([0])], h.T):
        assert place("before views") in cut_by(view.sum().backward)


def test_nothing_required_grad():
    text = cut_by(torch.ones(2).sum().backward)
    assert "requires_grad=True" in text and "File" not in text


def test_an_input_that_does_not_require_grad():
    x = leaf()
    text = text_of(lambda: torch.autograd.grad((x * 2).sum(), [x, x.detach()]))  # the input
    assert text.startswith("One of the differentiated Tensors does not require grad\n")
    assert "number 1 of the inputs" in text and place("the input") in text


def test_a_tensor_that_requires_grad_later_says_nothing_of_it():
    h = (leaf() * 2).detach().requires_grad_()
    (h * 3).sum().backward()
    assert h.grad.tolist() == [3.0, 3.0]


# ---- the programs behind the lines


def test_decorated_and_partial_functions_and_generators():
    @torch.no_grad()
    def decorated(x):
        return x * 2  # decorated

    def generator(x):
        with torch.no_grad():
            yield x * 2  # in a generator

    partial = functools.partial(torch.Tensor.detach, leaf())
    assert place("decorated") in cut_by(decorated(leaf()).sum().backward)
    assert place("in a generator") in cut_by(next(generator(leaf())).sum().backward)
    assert place("called partial") in cut_by(partial().sum().backward)  # called partial


def test_another_thread():
    x, said = leaf(), []

    def work():
        y = x * 1
        z = y * y  # in a thread
        y += 1
        said.append(text_of(z.sum().backward))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert place("in a thread") in said[0]


def test_programs_without_a_file():
    program = """
        import {name} as torch
        x = torch.ones(2, requires_grad=True)
        try:
            exec(compile("(x * 2).detach().sum().backward()", "<nowhere>", "exec"))
        except RuntimeError as error:
            print(error)
        try:
            (x * 2).detach().sum().backward()
        except RuntimeError as error:
            print(error)
    """
    source = textwrap.dedent(program).format(name=NAME)
    done = subprocess.run(
        [sys.executable, "-"], input=source, capture_output=True, text=True, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    assert 'File "<nowhere>", line 1, in <module>' in done.stdout
    assert 'File "<stdin>", line 9, in <module>' in done.stdout


def test_a_place_keeps_no_frame_alive():
    class Big:
        pass

    def make():
        big = Big()
        y = leaf() * 1
        z = y * y
        y += 1
        return z, weakref.ref(big)

    z, big = make()
    assert big() is None
    text_of(z.sum().backward)
    del z


def test_code_that_is_gone_is_let_go():
    space = {"torch": torch, "x": leaf()}
    exec("def f():\n    y = x * 1\n    y += 1\n    return y.detach()\n", space)
    cut = space["f"]()
    code = weakref.ref(space["f"].__code__)
    del space["f"]
    gc.collect()
    assert code() is not None
    del cut
    gc.collect()
    assert code() is None


CHANGED = """import rushlight as torch
def f(x):
    return x.exp()

x = torch.ones(2, requires_grad=True)
y = f(x)
y.add_(1)
y.sum().backward()
"""


def lines_shown(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.startswith("      ")]


def test_code_on_the_command_line_is_shown():
    done = subprocess.run([sys.executable, "-c", CHANGED], capture_output=True, text=True)
    assert lines_shown(done.stderr) == ["return x.exp()", "y.add_(1)"], done.stderr
    # Another text of the same name is no place to look: of that code the columns are known.
    hidden = f"exec(({CHANGED[::-1]!r})[::-1])"
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True)
    assert lines_shown(done.stderr) == ["(columns 12 to 18)", "(columns 1 to 9)"], done.stderr


@pytest.mark.parametrize("how", ["exec(text)", f"exec({CHANGED!r})"])
def test_code_given_to_exec_is_shown(how):
    """As long as a function that runs holds its text."""
    program = f"def run(text, _=None):\n    {how}\nrun({CHANGED!r})\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert lines_shown(done.stderr) == ["return x.exp()", "y.add_(1)"], done.stderr


def test_nothing_stays_alive_because_a_text_was_looked_for():
    big = torch.ones(3)
    gone = weakref.ref(big)
    with pytest.raises(RuntimeError):
        exec(
            "y = torch.ones(2, requires_grad=True).exp(); y += 1; y.sum().backward()", {**globals()}
        )
    del big
    assert gone() is None


def test_statements_of_one_line_are_told_apart():
    y = leaf().exp(); y += 1; end = y.sum()  # fmt: skip  # noqa: E702
    shown = lines_shown(text_of(end.backward))
    assert shown == ["y = leaf().exp()", "y += 1"]


@pytest.mark.parametrize(
    ("line", "saved", "changed"),
    [
        ("y = x.exp(); y.add_(1); y.sum().backward()", "y = x.exp()", "y.add_(1)"),
        ("if True: y = x.exp(); y.add_(1); y.sum().backward()", "y = x.exp()", "y.add_(1)"),
        ("é = x.exp(); é.add_(1); é.sum().backward()", "é = x.exp()", "é.add_(1)"),
        (
            "y = (x + 1).exp(); y.add_(1).sum().backward()",
            "y = (x + 1).exp()",
            "y.add_(1).sum().backward()",
        ),
    ],
)
def test_statements_of_one_line_of_a_console(line, saved, changed):
    """Python's `code.interact` compiles each line by itself."""
    import code

    console = code.InteractiveConsole({"x": leaf()})
    said = []
    console.write = said.append
    console.push(line + "\n")
    assert lines_shown("".join(said)) == [saved, changed], said


def test_what_was_typed_is_shown(tmp_path):
    """In Python's own console, where each statement is line 1 of <stdin>: read from the history."""
    typed = tmp_path / "typed"
    typed.write_text(CHANGED)
    program = (
        "import readline\nfrom rushlight._base import sources as _sources\n"
        f"readline.read_history_file({str(typed)!r})\n"
        "made = compile('def f(x):\\n    return x.exp()\\n', '<stdin>', 'single')\n"
        "print(_sources.line_of(compile('y.add_(1)', '<stdin>', 'single'), 1))\n"
        "print(_sources.line_of(made.co_consts[0], 2))\n"
        "print(repr(_sources.line_of(compile('y.add_({})'.format(2), '<stdin>', 'single'), 1)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["y.add_(1)", "return x.exp()", "''"], done.stderr


def test_a_file_name_at_the_address_of_an_earlier_one():
    """Code that is gone leaves its name's memory to other code, of the library or the program."""
    from rushlight import _core

    folder = os.path.dirname(torch.__file__)
    for n in range(40):
        own = n % 2 == 1
        name = (folder if own else "/" * len(folder)) + f"/made_{n}.py"
        scope = {"torch": torch}
        exec(compile("t = torch.tensor([1.0])", name, "exec"), scope)
        assert _core.cut_place(scope["t"])[0] == (str(HERE) if own else name)
        del scope, name
