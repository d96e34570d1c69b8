"""What a program frozen by PyInstaller needs of rushlight: rooms and libraries that are imported
when a program names them, and the files that rooms read."""

from PyInstaller.utils.hooks import collect_data_files, collect_dynamic_libs, collect_submodules

hiddenimports = collect_submodules("rushlight", on_error="ignore")
hiddenimports += ["ml_dtypes", "numpy", "scipy_openblas32"]
datas = collect_data_files("rushlight", excludes=["**/*.pyi"])
binaries = collect_dynamic_libs("scipy_openblas32")
