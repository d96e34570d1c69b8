"""`rushlight run SCRIPT` against `python SCRIPT`: real processes, and the same things to see."""

import os
import signal
import subprocess
import sys
import textwrap
import zipfile

import pytest

import rushlight
from _alone import PATIENCE
from rushlight import _cli

VERSION = rushlight.__version__


@pytest.fixture
def folder(tmp_path):
    """A folder of scripts, written by name."""

    class Folder:
        path = tmp_path

        def write(self, name, text):
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text), encoding="utf-8")
            return str(file)

        def python(self, *arguments, **options):
            return start([sys.executable, *arguments], tmp_path, **options)

        def run(self, *arguments, **options):
            return start(
                [sys.executable, "-m", "rushlight", "run", *arguments], tmp_path, **options
            )

    return Folder()


def start(command, folder, stdin=None, **environment):
    return subprocess.run(
        command,
        cwd=folder,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=os.environ | environment,
    )


def out(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


def last_line(done):
    return done.stderr.strip().splitlines()[-1]


# --- torch is rushlight -------------------------------------------------------------------------


def test_every_spelling_of_an_import_gives_the_same_module(folder):
    folder.write(
        "s.py",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        from torch import nn as nn2, optim
        from torch.nn import functional as F2
        from torch.utils.data import DataLoader
        import torch.utils.data
        import rushlight, rushlight.nn.functional, sys

        assert torch.Tensor is rushlight.Tensor and nn is nn2 is rushlight.nn
        assert F is F2 is rushlight.nn.functional
        assert optim is rushlight.optim
        assert DataLoader is rushlight.utils.data.DataLoader
        for name, module in list(sys.modules.items()):
            if name.startswith("torch."):
                assert module is sys.modules["rushlight" + name[5:]], name
                assert module.__name__ == module.__spec__.name == "rushlight" + name[5:], name
        print(float((torch.ones(2) * 3).sum()))
        """,
    )
    assert out(folder.run("s.py")) == "6.0\n"


def test_the_root_has_torchs_name_and_version(folder):
    code = """
    import rushlight, importlib.metadata
    rushlight.install_as_torch()
    import torch
    print(torch.__name__, torch.__version__, type(torch.__version__).__name__)
    print(torch.version.__version__, importlib.metadata.version("torch"))
    print(rushlight.__name__, rushlight.__version__)
    print(torch.save is rushlight.save, "save" in vars(torch))
    """
    assert out(folder.python("-c", textwrap.dedent(code))).split("\n") == [
        "torch 2.13.0+rushlight TorchVersion",
        "2.13.0+rushlight 2.13.0+rushlight",
        f"rushlight {VERSION}",
        "True True",
        "",
    ]


def test_a_started_python_knows_the_version_before_it_imports_torch(folder):
    code = "import importlib.metadata as m, sys; print(m.version('torch'), 'torch' in sys.modules)"
    folder.write(
        "s.py", f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {code!r}])"
    )
    assert out(folder.run("s.py")) == "2.13.0+rushlight False\n"


def test_install_as_torch_twice_is_once(folder):
    code = """
    import rushlight, sys
    rushlight.install_as_torch()
    finders = list(sys.meta_path)
    rushlight.install_as_torch()
    assert sys.meta_path == finders
    import torch.nn
    assert torch.Tensor is rushlight.Tensor and torch.nn is rushlight.nn
    """
    out(folder.python("-c", textwrap.dedent(code)))


def test_install_as_torch_refuses_where_torch_is_imported_already(folder):
    folder.write("torch.py", "")
    done = folder.python("-c", "import torch, rushlight; rushlight.install_as_torch()")
    assert done.returncode == 1
    assert last_line(done).startswith(
        "RuntimeError: install_as_torch: PyTorch itself is imported already ("
    )


# --- missing names ------------------------------------------------------------------------------


# Names that PyTorch has and that are far from what rushlight is for.
@pytest.mark.parametrize(
    "code, line",
    [
        (
            "import torch; torch.zzz_no_such_name",
            "AttributeError: module 'torch' has no attribute 'zzz_no_such_name'",
        ),
        (
            "from torch import nobody_has_this",
            "ImportError: cannot import name 'nobody_has_this' from 'torch'",
        ),
        (
            "import torch.nobody_has_this",
            "ModuleNotFoundError: No module named 'torch.nobody_has_this'",
        ),
        (
            "import torch; torch.nativert",
            "AttributeError: module 'torch' has no attribute 'nativert' "
            f"(rushlight {VERSION} does not have torch.nativert yet)",
        ),
        (
            "from torch import nativert",
            "ImportError: cannot import name 'nativert' from 'torch' "
            f"(rushlight {VERSION} does not have torch.nativert yet)",
        ),
        (
            "import torch.nativert",
            "ModuleNotFoundError: No module named 'torch.nativert' "
            f"(rushlight {VERSION} does not have torch.nativert yet)",
        ),
        (
            "import torch.nativert.backends as s",
            "ModuleNotFoundError: No module named 'torch.nativert' "
            f"(rushlight {VERSION} does not have torch.nativert yet)",
        ),
        (
            "import torch.nn as nn; nn.quantizable",
            "AttributeError: module 'torch.nn' has no attribute 'quantizable' "
            f"(rushlight {VERSION} does not have torch.nn.quantizable yet)",
        ),
        (
            "from torch.autograd import is_view_replay_enabled",
            "ImportError: cannot import name 'is_view_replay_enabled' from 'torch.autograd' "
            f"(rushlight {VERSION} does not have torch.autograd.is_view_replay_enabled yet)",
        ),
    ],
)
def test_a_missing_name_fails_in_one_sentence(folder, code, line):
    folder.write("s.py", code)
    done = folder.run("s.py")
    assert done.returncode == 1
    assert last_line(done) == line
    assert done.stderr.count("  File ") == 1, done.stderr  # the user's frame and nothing of ours


def test_missing_names_can_be_probed_for(folder):
    folder.write(
        "s.py",
        """
        import importlib.util
        import torch
        assert not hasattr(torch, "nativert")
        assert getattr(torch, "nobody_has_this", 7) == 7
        assert importlib.util.find_spec("torch.nativert") is None
        assert importlib.util.find_spec("torch.nn") is not None
        try:
            from torch import nativert
        except ImportError:
            pass
        try:
            import torch.nativert
        except ModuleNotFoundError as error:
            assert error.name == "torch.nativert"
        """,
    )
    out(folder.run("s.py"))


def test_an_import_error_inside_the_library_is_not_taken_for_a_missing_name(folder):
    folder.write("s.py", "import torch.nobody_has_this.nor_this")
    assert last_line(folder.run("s.py")).startswith(
        "ModuleNotFoundError: No module named 'torch.nobody"
    )


# --- as python has it ---------------------------------------------------------------------------

ENVIRONMENT = """
import sys, __main__
import sibling
print(sys.argv)
print(__name__, __file__, __spec__, __package__, __cached__, type(__loader__).__name__)
print(__main__.__dict__ is globals(), sys.modules["__main__"] is __main__)
print(sys.path[0], sorted(globals()), __builtins__)
print(sibling.VALUE)
if __name__ == "__main__":
    print("main")
"""


@pytest.mark.parametrize("spelling", ["s.py", "./s.py", "sub/../s.py", "link.py", "sub/t.py"])
def test_a_script_sees_what_python_shows_it(folder, spelling):
    folder.write("s.py", ENVIRONMENT)
    folder.write("sub/t.py", ENVIRONMENT)
    folder.write("sibling.py", "VALUE = 5")
    folder.write("sub/sibling.py", "VALUE = 6")
    (folder.path / "link.py").symlink_to("sub/t.py")
    arguments = (spelling, "a", "--b", "-c", "-")
    assert out(folder.run(*arguments)) == out(folder.python(*arguments))


def test_code_and_module_and_standard_input(folder):
    folder.write("sibling.py", "VALUE = 5")
    folder.write("package/__init__.py", "")
    folder.write("package/inner.py", "from . import sibling\n" + SHOW_MODULE)
    folder.write("package/sibling.py", "")
    folder.write("package/__main__.py", SHOW_MODULE)
    show = (
        "import sys, sibling\n"
        "print(sys.argv, sys.path[0], __name__, __package__, '__file__' in vars())"
    )
    assert out(folder.run("-c", show, "x")) == out(folder.python("-c", show, "x"))
    assert out(folder.run("-m", "package.inner", "x")) == out(
        folder.python("-m", "package.inner", "x")
    )
    assert out(folder.run("-m", "package", "x")) == out(folder.python("-m", "package", "x"))
    with_input = "import sys; print(sys.argv, sys.path[0], __name__, repr(sys.stdin.read()))"
    assert out(folder.run("-", "x", stdin=with_input)) == out(
        folder.python("-", "x", stdin=with_input)
    )


SHOW_MODULE = """
import sys
print(sys.argv, sys.path[0], __name__, __package__, __spec__.name, __file__, __cached__)
"""


def test_a_folder_and_a_zip_file_with_a_main(folder):
    folder.write("program/__main__.py", "import sys, near; print(sys.argv, __name__, near.VALUE)")
    folder.write("program/near.py", "VALUE = 4")
    with zipfile.ZipFile(folder.path / "program.zip", "w") as archive:
        for name in ("__main__.py", "near.py"):
            archive.write(folder.path / "program" / name, name)
    for program in ("program", "program.zip"):
        assert out(folder.run(program, "x")) == out(folder.python(program, "x"))


def test_classes_of_main_can_be_pickled(folder):
    folder.write(
        "s.py",
        """
        import inspect, pickle
        class Thing:
            pass
        assert type(pickle.loads(pickle.dumps(Thing()))) is Thing
        assert inspect.getsource(Thing).startswith("class Thing")
        """,
    )
    out(folder.run("s.py"))


@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.exit()",
        "import sys; sys.exit(7)",
        "import sys; sys.exit('in words')",
        "raise SystemExit(None)",
        "import os; os._exit(9)",
        "import atexit; atexit.register(print, 'bye'); print('hello'); 1 / 0",
        "def f():\n    raise ValueError('deep')\n"
        "try:\n    f()\nexcept ValueError as e:\n    raise KeyError(1) from e",
        "x = (",
        "# -*- coding: utf-8 -*-\nprint(ascii('schön'), __doc__)\nraise OSError(2, 'größer')",
        "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__, a[2].tb_next)\n1 / 0",
        "import sys\nsys.excepthook = lambda *a: sys.exit(5)\n1 / 0",
        "raise ExceptionGroup('two', [ValueError(1), TypeError(2)])",
        "import threading, time\ndef late():\n    time.sleep(0.2)\n    print('thread')\n"
        "threading.Thread(target=late).start()\n1 / 0",
        "import nowhere_to_be_found",
        "from sys import nowhere_to_be_found",
    ],
)
def test_exit_codes_and_tracebacks(folder, code):
    folder.write("s.py", code)
    ours, pythons = folder.run("s.py"), folder.python("s.py")
    assert (ours.returncode, ours.stdout, ours.stderr) == (
        pythons.returncode,
        pythons.stdout,
        pythons.stderr,
    )


def test_a_file_that_is_not_there(folder):
    done = folder.run("nowhere.py")
    assert done.returncode == folder.python("nowhere.py").returncode == 2
    assert "can't open file" in last_line(done) and "No such file or directory" in last_line(done)
    done = folder.run("-m", "nowhere_to_be_found")
    assert done.returncode == 1 and "No module named nowhere_to_be_found" in last_line(done)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_keyboard_interrupt(folder):
    folder.write("s.py", "import atexit\natexit.register(print, 'bye')\nraise KeyboardInterrupt")
    ours, pythons = folder.run("s.py"), folder.python("s.py")
    assert ours.returncode == pythons.returncode == -signal.SIGINT
    assert (ours.stdout, ours.stderr) == (pythons.stdout, pythons.stderr)
    shell = f"'{sys.executable}' -m rushlight run s.py; exit $?"
    assert start(["sh", "-c", shell], folder.path).returncode == 130


def test_the_console_script_runs_a_script(folder):
    script = os.path.join(os.path.dirname(sys.executable), "rushlight")
    if not os.path.exists(script):
        pytest.skip("rushlight is not installed with its command here")
    folder.write("s.py", "import sys, torch; print(sys.argv, sys.path[0], torch.__name__)")
    assert out(start([script, "run", "s.py", "x"], folder.path)) == (
        f"['s.py', 'x'] {folder.path} torch\n"
    )


# --- processes that the script starts -----------------------------------------------------------

SPAWN = """
import multiprocessing, sys
import torch
import torch.nn as nn

class Result:
    def __init__(self, value):
        self.value = value

def work(x):
    return Result((torch.__name__, nn.__name__, x * 2))

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(1) as pool:
        result = pool.apply(work, (4,))
    assert type(result) is Result
    print(result.value)
"""


@pytest.mark.skipif(os.name == "nt", reason="fork")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(folder, method):
    folder.write("s.py", SPAWN)
    assert out(folder.run("s.py", method)) == "('torch', 'rushlight.nn', 8)\n"
    folder.write("package/__init__.py", "")
    folder.write("package/s.py", SPAWN)
    assert out(folder.run("-m", "package.s", method)) == "('torch', 'rushlight.nn', 8)\n"


def test_a_python_started_by_the_script_finds_the_alias_too(folder):
    folder.write(
        "s.py",
        """
        import subprocess, sys
        code = "import sys, torch.nn as n; print(n.__name__, ['_alias' in p for p in sys.path])"
        sys.exit(subprocess.run([sys.executable, "-c", code]).returncode)
        """,
    )
    assert out(folder.run("s.py")).startswith("rushlight.nn [False")


def test_an_environments_own_sitecustomize_still_runs(folder):
    folder.write("own/sitecustomize.py", "print('own', flush=True)")
    folder.write(
        "s.py",
        "import subprocess, sys\n"
        "code = 'import torch; print(torch.__name__)'\n"
        "subprocess.run([sys.executable, '-c', code])",
    )
    path = os.pathsep.join(filter(None, [str(folder.path / "own"), os.environ.get("PYTHONPATH")]))
    assert out(folder.run("s.py", PYTHONPATH=path)) == "own\nown\ntorch\n"


# --- the command itself -------------------------------------------------------------------------


def test_usage_and_version(folder):
    command = [sys.executable, "-m", "rushlight"]
    assert out(start([*command, "--version"], folder.path)) == f"rushlight {VERSION}\n"
    assert out(start([*command, "--help"], folder.path)).startswith("usage: rushlight COMMAND")
    assert out(start([*command, "run", "--help"], folder.path)).startswith("usage: rushlight run")


@pytest.mark.parametrize(
    ("given", "usage", "said"),
    [
        ("--help", "usage: rushlight COMMAND ...", "as-torch"),
        ("--help", "usage: rushlight COMMAND ...", "exit codes:"),
        ("run --help", "usage: rushlight run [OPTIONS]", "--watch [FILE.png]"),
        ("run --trace --help", "usage: rushlight run [OPTIONS]", "--nproc N"),
        ("explain --help", "usage: rushlight explain [OPTIONS]", "--step N"),
        ("torchrun --help", "usage: rushlight torchrun ", "--nproc-per-node"),
        ("as-torch --help", "usage: rushlight as-torch ", "on|off|status"),
    ],
)
def test_help(capsys, given, usage, said):
    with pytest.raises(SystemExit) as end:
        _cli.main(given.split())
    out, err = capsys.readouterr()
    assert end.value.code == 0 and not err
    assert out.startswith(usage) and said in out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "the command is missing: run, torchrun, explain, profile, doctor, as-torch"),
        ("--vers", "unknown option --vers; did you mean --version?"),
        ("runn s.py", "there is no command runn; did you mean run?"),
        (
            "walk",
            "there is no command walk; there are run, torchrun, explain, profile, doctor, as-torch",
        ),
        ("run", "the program is missing: SCRIPT, -m MODULE, -c CODE or -"),
        ("run -m", "the program is missing: SCRIPT, -m MODULE, -c CODE or -"),
        ("run -q s.py", "unknown option -q"),
        ("run --device_as-cuda s.py", "unknown option --device_as-cuda; did you mean"),
        ("run --trac s.py --lr 3", "unknown option --trac; did you mean --trace?"),
        ("run --watched=f.png s.py", "unknown option --watched=f.png; did you mean --watch?"),
        ("run --nproc", "argument --nproc: expected one argument"),
        ("explain --steps 3 s.py", "unknown option --steps; did you mean --step?"),
        ("torchrun --nprocs-per-node=2 s.py", "did you mean --nproc-per-node?"),
        ("explian s.py", "there is no command explian; did you mean explain?"),
        ("torchrun", "training_script"),
        ("as-torch", "the action is missing: on, off, status"),
        ("as-torch of", "there is no action of; did you mean off?"),
    ],
)
def test_what_is_misspelt_is_said_with_the_nearest(capsys, given, said):
    with pytest.raises(SystemExit) as end:
        _cli.main(given.split())
    out, err = capsys.readouterr()
    assert end.value.code == 2 and not out
    first, rest = err.split("\n", 1)
    assert first.startswith("rushlight") and said in first
    assert rest == first.split(":")[0] + " --help says more.\n"


@pytest.mark.parametrize(
    ("options", "program"),
    [
        ("", "s.py --trace --watch --watch=x -m a -- --nproc 2 -h -V -"),
        ("--trace", "s.py -- --trace"),
        ("--watch --trace", "s.py --watch"),
        ("--watch=x.png", "-m module --watch -- -c"),
        ("", "-c pass -m -- --help"),
        ("", "- --version"),
    ],
)
def test_behind_the_program_every_word_is_the_programs(monkeypatch, options, program):
    handed = []
    monkeypatch.setattr(_cli, "_run", lambda options, words: handed.append((options, words)))
    _cli.main(["run", *options.split(), *program.split()])
    ((found, words),) = handed
    assert words == program.split()
    assert found.trace == ("--trace" in options)
    assert found.watch == ("x.png" if "=x" in options else "" if "--watch" in options else None)


def test_importing_a_module_keeps_the_function_of_its_name(folder):
    """`torch.autograd.gradcheck` is the function, whether or not its module is imported too."""
    script = folder.write(
        "program.py",
        """
        from torch.autograd.gradcheck import GradcheckError
        import torch.autograd.gradcheck
        from torch.autograd import gradcheck
        x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        print(gradcheck(torch.sin, x), torch.autograd.gradcheck is gradcheck)
        """,
    )
    result = folder.run(script)
    assert result.stdout.split() == ["True", "True"], result.stderr
