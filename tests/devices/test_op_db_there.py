"""The samples of PyTorch's own table of operators agree on the accelerator, but for the entries
that differ on the CPU too (op_db_known.toml) and those that cannot be there (op_db_there.py)."""

from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's table of operators needs it")

import op_db_there

from rushlight import _core

VERSION = op_db_there.op_db.listed()[2]
SAMPLES, PARTS = 4, 12  # of an entry, and of the table: each is a test

pytestmark = pytest.mark.skipif(
    op_db_there.op_db.version() != VERSION, reason=f"the list is that of PyTorch {VERSION}"
)


def wrong(names: list[str]) -> dict[str, str]:
    """How entries differ."""
    found = {
        name: outcome.wrong for name, (outcome, _) in op_db_there.sweep(names, SAMPLES).items()
    }
    return {name: found[name][0] for name in names if found.get(name)}


@pytest.mark.parametrize("part", range(PARTS))
def test_samples_agree(part: int) -> None:
    known = op_db_there.known()
    names = [name for name in op_db_there.titles() if name not in known][part::PARTS]
    assert len(names) > 40
    swept = op_db_there.sweep(names, SAMPLES)  # and other variants of these entries
    found = {name: swept[name] for name in names if name in swept}
    assert {name: outcome.wrong[0] for name, (outcome, _) in found.items() if outcome.wrong} == {}
    by_host = {name for name, (_, calls) in found.items() if calls}
    assert by_host == op_db_there.BY_HOST.intersection(names)


def test_most_entries_run_on_the_device_alone() -> None:
    assert len(op_db_there.BY_HOST) < 0.15 * len(op_db_there.titles())


def _unchanged(a: Any, *rest: Any) -> Any:
    return a


def _left_out(to: Any, x: Any) -> Any:
    return to


@pytest.mark.parametrize(
    ("entry", "file", "function", "replaced", "said"),
    [
        ("sum", "reduction.there.reductions", "reduce", _unchanged, "value: shape"),
        ("select_scatter", "layout.there.rearranging", "copied", _left_out, "value: values"),
        (
            "gather",
            "indexing.there.indexing",
            "scattered",
            lambda *rest: None,
            "gradient 1: values",
        ),
    ],
)
def test_a_wrong_kernel_is_seen(
    monkeypatch: pytest.MonkeyPatch,
    entry: str,
    file: str,
    function: str,
    replaced: Any,
    said: str,
) -> None:
    assert not wrong([entry])
    monkeypatch.setattr(f"rushlight.ops.{file}.{function}", replaced)
    _core.accelerator_forget_calls()
    assert wrong([entry])[entry].startswith(said)


def test_random_numbers_are_compared_by_type_and_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    entry, functional = "nn.functional.dropout", op_db_there.subject.nn.functional
    assert not wrong([entry])
    dropout = functional.dropout
    monkeypatch.setattr(functional, "dropout", lambda *given, **named: dropout(*given).sum())
    assert wrong([entry])[entry].startswith("value: shape")
    monkeypatch.setattr(functional, "dropout", lambda x, *given, **named: x * 2)
    assert wrong([entry])[entry].startswith("value: values"), "nothing was drawn"
