"""The library under test, as `torch`.

Every test that is written in plain torch API imports it from here, so that the test itself can be
checked on PyTorch: `RUSHLIGHT_TEST_WITH=torch pytest tests/articles`.
"""

import importlib
import os

NAME = os.environ.get("RUSHLIGHT_TEST_WITH", "rushlight")
torch = importlib.import_module(NAME)


def submodule(path: str):
    """`submodule("nn.functional")`: the library's own submodule, imported by its full name."""
    return importlib.import_module(f"{NAME}.{path}")
