"""Products and convolutions by tiles, on the stand-in for CUDA's driver: against NumPy in float64,
within bounds that follow from how many numbers are rounded. See _products.py."""

import json
import os
import subprocess
import sys
from pathlib import Path

import _standin
import pytest
from _products import CONVOLUTIONS, KINDS, WAYS

pytestmark = pytest.mark.skipif(not _standin.compiler(), reason="no compiler (c++, CXX) is here")
HERE = Path(__file__).parent


def ran(what):
    """The answers of a child process: CUDA's devices are looked for once in a process."""
    done = subprocess.run(
        [sys.executable, str(HERE / "_products.py"), what],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def products():
    return ran("products")


@pytest.fixture(scope="module")
def convolutions():
    return ran("convolutions")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_products_of_any_transposition(products, kind, way):
    far, started = products[f"{kind} {way}"]
    assert far <= 1 and set(started) == {"product_tiles"}


MORE = ["wide", "pieces", "pieces added", "added", "stacks", "spread"]


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", MORE)
def test_products_with_more(products, kind, name):
    far, started = products[f"{kind} {name}"]
    kernels = {"product_tiles", "sum_pieces"} if "pieces" in name else {"product_tiles"}
    assert far <= 1 and set(started) == kernels


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_products_without_elements(products, kind):
    far, started = products[f"{kind} empty"]
    assert far == 0 and "product_tiles" not in started


@pytest.mark.parametrize(("kind", "geometry"), CONVOLUTIONS)
def test_convolutions(convolutions, kind, geometry):
    found = [convolutions[f"{kind} {geometry}{part}"] for part in ("", " input", " weight")]
    assert max(far for far, _ in found) <= 1
    gathered = {"convolve_tiles", "weight_tiles"}
    kernels = {"product_tiles"} if geometry == "single" else gathered  # of one tap: products
    assert set(found[0][1]) == kernels | {"sum_pieces"}
