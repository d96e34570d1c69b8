"""What a program frozen by PyInstaller needs of rushlight: modules that are imported when a program
names them, the files that they read, and the libraries that they open."""

from pathlib import Path

from PyInstaller.utils.hooks import collect_data_files, collect_dynamic_libs, get_package_paths

_parent, _folder = map(Path, get_package_paths("rushlight"))
_parts = [path.relative_to(_parent).with_suffix("").parts for path in _folder.rglob("*.py")]
hiddenimports = [".".join(p).removesuffix(".__init__") for p in _parts if "-" not in p[-1]]
hiddenimports += ["ml_dtypes", "numpy", "scipy_openblas32"]
datas = collect_data_files("rushlight", excludes=["**/*.pyi"])
datas += collect_data_files("rushlight", subdir="_torch", include_py_files=True)  # read from disk
binaries = collect_dynamic_libs("scipy_openblas32")
