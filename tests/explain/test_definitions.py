"""`rushlight.explain.op`: every definition that it names stands where it says."""

import re
from pathlib import Path

import pytest

import rushlight as torch
from rushlight.ops.table.statement import OPS

SOURCE = Path(torch.__file__).parent


def rows(name: str) -> dict[str, str]:
    """What is said of an op, by title."""
    return dict(
        re.split(r"\s{2,}", line.strip(), maxsplit=1)
        for line in torch.explain.op(name).splitlines()[1:]
    )


def test_softmax() -> None:
    said = rows("softmax")
    assert said["statement"].startswith("general, ops/layers/softmax.py:")
    assert said["kernel of the CPU"] == "native softmax"
    assert said["all gradients"] == "native softmax_backward"
    assert said["on accelerators"].startswith("ops/layers/there/softmax.py:")
    assert said["autocast"] == "there: float32"


def test_what_is_defined_in_other_ops() -> None:
    said = rows("dist")
    assert said["in other ops"].startswith("ops/matrix/norms.py:")
    assert said["on accelerators"] == said["vmap"] == "in other ops"
    assert said["kernel of the CPU"] == said["with NumPy"] == "none"


def test_missing_definitions_are_said() -> None:
    said = rows("frexp")
    assert said["in place"] == said["all gradients"] == "none"
    said = rows("bincount")
    assert said["vmap"] == "once for each element"
    assert "gradient of input" not in said


def test_every_statement_is_found() -> None:
    """A kind of op is called there, or a function that calls the kind."""
    wrong = []
    for name in OPS:
        kind, _, place = rows(name)["statement"].partition(", ")
        file, _, line = place.partition(":")
        assert OPS[name].kind == kind
        text = (SOURCE / file).read_text(encoding="utf-8").splitlines()[int(line) - 1 :]
        if not any(
            re.search(
                r"\b(def|general|linear|bilinear|pointwise|constant|composite|composed|linear_kind)\b",
                t,
            )
            for t in text[:3]
        ):
            wrong.append(f"{name}: {place}: {text[0]}")
    assert not wrong, "\n".join(wrong)


def test_a_function_is_taken_too() -> None:
    assert torch.explain.op(torch.softmax) == torch.explain.op("softmax")


def test_a_wrong_name_gets_the_nearest() -> None:
    with pytest.raises(
        KeyError, match="no op of the table is called 'sofmax'; did you mean softmax"
    ):
        torch.explain.op("sofmax")
