"""The package carried elsewhere: a folder that nobody writes to, an archive, a frozen program."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import rushlight
from _alone import PATIENCE
from rushlight import _frozen

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = Path(rushlight.__file__).parent

# Rooms that are read late, files that they read, a library that is opened late, and NumPy.
PROGRAM = """
import rushlight as torch
from rushlight import explain, nn
from rushlight.utils.data import DataLoader, TensorDataset

net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters())
for x, y in DataLoader(TensorDataset(torch.ones(4, 3), torch.ones(4, 1)), batch_size=2):
    loss = (net(x) - y).square().mean()
    loss.backward()
    optimizer.step()
explain.page((net(x) - y).mean(), "page.html")
torch.save(net.state_dict(), "weights.pt")
net.load_state_dict(torch.load("weights.pt"))
assert torch.linalg.svd(torch.eye(3)).S.tolist() == [1, 1, 1]
assert torch.ones(200, 200).mm(torch.ones(200, 200)).numpy()[0, 0] == 200
from rushlight.distributions import Normal
from rushlight._utils import ExceptionWrapper
torch.install_as_torch()
assert __import__("torch").nn is nn
print(torch.__file__)
"""


def carry(folder):
    """The package in a folder, as a wheel has it; files are links."""
    rooms = PACKAGE / "rooms"
    left = shutil.ignore_patterns("__pycache__")
    kept = lambda place, names: {*left(place, names), *({"rooms"} if place == str(PACKAGE) else ())}
    shutil.copytree(PACKAGE, folder / "rushlight", ignore=kept, copy_function=os.symlink)
    if rooms.is_dir():
        shutil.copytree(
            rooms, folder / "rushlight", ignore=left, copy_function=os.symlink, dirs_exist_ok=True
        )
    return folder / "rushlight"


def run(command, folder, **environment):
    """What a command prints in a folder of its own."""
    folder.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    kept |= environment
    done = subprocess.run(
        command, cwd=folder, env=kept, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def files_of(folder):
    return sorted(str(path) for path in folder.rglob("*"))


@pytest.mark.parametrize("options", [("-B",), ("-B", "-OO")], ids=" ".join)
def test_a_folder_that_cannot_be_written_to(tmp_path, options):
    """Nor are there bytecode caches, or with -OO docstrings. Root may write anywhere: the list of
    files tells."""
    package = carry(tmp_path / "site")
    folders = [package, *(path for path in package.rglob("*") if path.is_dir())]
    before = files_of(package)
    try:
        for folder in folders:
            folder.chmod(0o555)
        command = [sys.executable, *options, "-c", PROGRAM]
        said = run(command, tmp_path / "run", PYTHONPATH=str(package.parent))
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert said == str(package / "__init__.py")
    assert files_of(package) == before


START = """
import os, runpy, sys, zipfile
site = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "unpacked")
if not os.path.exists(site):
    with zipfile.ZipFile(sys.argv[0]) as archive:
        archive.extractall(site)
sys.path.insert(0, os.path.join(site, "site"))
import program
"""


def test_an_archive_that_unpacks_itself(tmp_path):
    """A zip file with `__main__.py`, as shiv and pex make them."""
    package = carry(tmp_path / "site")
    archive = tmp_path / "program.pyz"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("__main__.py", START)
        file.writestr("site/program.py", PROGRAM)
        for path in package.rglob("*"):
            if path.is_file():
                file.write(path, path.relative_to(tmp_path))
    for turn in ("first", "second"):
        said = run([sys.executable, str(archive)], tmp_path / turn)
        assert said == str(tmp_path / "unpacked" / "site" / "rushlight" / "__init__.py")


def test_a_program_frozen_by_pyinstaller(tmp_path):
    pytest.importorskip("PyInstaller")
    package = carry(tmp_path / "site")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    options = ["--log-level=WARN", f"--additional-hooks-dir={package / '_frozen'}"]
    options += [f"--paths={package.parent}", *(f"--exclude-module={m}" for m in ("torch", "scipy"))]
    command = [sys.executable, "-m", "PyInstaller", *options, str(tmp_path / "program.py")]
    run(command, tmp_path / "made", PYTHONPATH=str(package.parent))
    made = tmp_path / "made" / "dist" / "program"
    said = run([str(made / "program")], tmp_path / "run")
    assert Path(said).parent == made / "_internal" / "rushlight"


def test_pyinstaller_is_told_where_the_hook_is():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert settings["entry-points"]["pyinstaller40"]["hook-dirs"] == "rushlight._frozen:folders"
    (folder,) = _frozen.folders()
    assert (Path(folder) / "hook-rushlight.py").is_file()


def test_links_of_the_description_work_on_an_index_page():
    """There no file of the repository is: each link and picture names a whole address."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    text = settings["readme"]["text"]
    links = re.findall(r"\]\(([^)]*)\)|(?:src|href)=[\"']?([^\"' >]+)", text)
    links += [(address,) for address in settings.get("urls", {}).values()]
    assert all("".join(link).startswith("https://") for link in links)
