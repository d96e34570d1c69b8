"""TorchVersion: text that compares as versions do (PEP 440's own example of an order)."""

import operator

import pytest
from rushlight.torch_version import TorchVersion

# From PEP 440, "Summary of permitted suffixes and relative ordering", and local versions.
ORDER = """1.dev0 1.0.dev456 1.0a1 1.0a2.dev456 1.0a12.dev456 1.0a12 1.0b1.dev456 1.0b2
1.0b2.post345.dev456 1.0b2.post345 1.0rc1.dev456 1.0rc1 1.0 1.0+abc.5 1.0+abc.7 1.0+5
1.0.post456.dev34 1.0.post456 1.1.dev1 1.10 2.13.0 2.13.0+cpu 1!0.1""".split()


@pytest.mark.parametrize("i", range(len(ORDER)))
def test_order(i):
    for j, other in enumerate(ORDER):
        for compare in ("lt", "le", "eq", "ne", "ge", "gt"):
            f = getattr(operator, compare)
            assert f(TorchVersion(ORDER[i]), other) is f(i, j), (ORDER[i], compare, other)


def test_spellings_of_one_version():
    for text in ("1.0", "1.0.0", "v1.0", " 1 "):
        assert TorchVersion(text) == "1.0"
    for text in ("1.0a1", "1.0.alpha-1", "1.0A1"):
        assert TorchVersion(text) == "1.0a1"


def test_tuples_and_lists():
    version = TorchVersion("2.13.0+rushlight")
    assert version > (2, 13) and version > [2, 13, 0] and version < (2, 14) and version < ("3",)


def test_numbers_are_refused():
    with pytest.raises(TypeError, match="'>' not supported between instances"):
        assert TorchVersion("2.13.0") > 2.0


def test_no_version_compares_as_text():
    assert not TorchVersion("2.1") > "parrot"
    assert TorchVersion("2.1") != "parrot"


def test_it_is_text():
    version = TorchVersion("2.13.0+rushlight")
    assert version.split("+")[0] == "2.13.0" and hash(version) == hash(str(version))
