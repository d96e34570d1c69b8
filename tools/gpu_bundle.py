"""Collect what tools/gpu_check.py needs on a machine with a GPU: build/gpu-bundle.

    python tools/gpu_bundle.py WHEEL    # rushlight's wheel, for this Python; see `make gpu-bundle`

Beside the wheel the folder has those of packages that rushlight and its tests need, the tests and
the benchmarks that the check uses, and the check.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUNDLE = ROOT / "build" / "gpu-bundle"
MEGABYTES = 60
NEEDED = ("numpy", "ml_dtypes", "scipy-openblas32", "pytest", "expecttest")
AT_THE_TOP = "tools/gpu_check.py tools/gpu_tasks.py tools/cuda_check.py LICENSE".split()
FILES = (
    "tests/devices/_pocl.py tests/devices/sweep.py tests/devices/op_db_there.py "
    "tests/devices/test_networks.py tests/table/cases.py tests/table/composites.py "
    "tests/torch_compat/op_db.py tests/torch_compat/op_db_known.toml "
    "benchmarks/device.py benchmarks/workloads.py"
).split()


def collect(folder: Path, wheels: Iterable[Path]) -> int:
    """Make the folder anew; its bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    copies = {name: Path(name).name for name in AT_THE_TOP} | {name: name for name in FILES}
    copies |= {str(wheel): f"wheels/{wheel.name}" for wheel in wheels}
    for source, target in copies.items():
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / source, folder / target)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    with tempfile.TemporaryDirectory() as fetched:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "--only-binary=:all:", "-d", fetched, *NEEDED], check=True)
        size = collect(BUNDLE, [Path(sys.argv[1]).resolve(), *Path(fetched).glob("*.whl")]) / 1e6
    print(f"{BUNDLE}: {size:.1f} MB")
    if size > MEGABYTES:
        sys.exit(f"more than {MEGABYTES} MB")


if __name__ == "__main__":
    main()
