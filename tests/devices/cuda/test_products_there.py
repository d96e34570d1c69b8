"""Products and convolutions by tiles, on the stand-in for CUDA's driver: against NumPy in float64,
within bounds that follow from how many numbers are rounded. See _products.py."""

import pytest
from _products import CONVOLUTIONS, KINDS, WAYS, computed


@pytest.fixture(scope="module")
def products():
    return computed("products")


@pytest.fixture(scope="module")
def convolutions():
    return computed("convolutions")


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
