"""The samples of PyTorch's own table of operators agree, but for the entries that are listed.

`op_db_known.toml` has the list, with a reason for each; after a change of names or values,
`python tests/torch_compat/op_db.py --write` makes it anew.
"""

from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's table of operators needs it")

import op_db

REASONS, COUNTS, VERSION = op_db.listed()


@pytest.mark.skipif(op_db.version() != VERSION, reason=f"the list is that of PyTorch {VERSION}")
@pytest.mark.parametrize("kind", op_db.DTYPES)
def test_samples_agree(kind: str) -> None:
    found = op_db.sweep([kind], [], op_db.SAMPLES)[kind]
    wrong = {name: outcome.wrong[0] for name, outcome in found.items() if outcome.wrong}
    new = {name: text for name, text in wrong.items() if name not in REASONS[kind]}
    assert not new, "entries that agreed before"
    mended = sorted(REASONS[kind].keys() - wrong.keys())
    assert not mended, "entries to take off the list: op_db.py --write"
    assert len(found) - len(wrong) >= COUNTS[kind]


def entry(name: str) -> Any:
    return next(entry for entry in op_db.table() if op_db.title(entry) == name)


@pytest.mark.parametrize(
    ("name", "other", "said"),
    [
        ("sin", "cos", "value: values"),
        ("sinh", "arcsinh", "value: values"),
        ("add", "eq", "value: dtype"),
        ("hstack", "vstack", "value: shape"),
        ("std_mean", "var_mean", "value: values"),
        ("masked_select", "absent", "missing torch.masked_select"),
    ],
)
def test_a_wrong_op_is_seen(
    monkeypatch: pytest.MonkeyPatch, name: str, other: str, said: str
) -> None:
    subject = op_db.subject
    assert not op_db.run(entry(name), "float64", 6).wrong
    if hasattr(subject, other):
        monkeypatch.setattr(subject, name, getattr(subject, other))
    else:
        monkeypatch.setattr(op_db, "subject", object())
    assert any(text.startswith(said) for text in op_db.run(entry(name), "float64", 6).wrong)


@pytest.mark.parametrize(("order", "power"), [(1, 1), (2, 2)])
def test_a_wrong_gradient_is_seen(monkeypatch: pytest.MonkeyPatch, order: int, power: int) -> None:
    """The gradient of a term without a value, and the gradient of that gradient."""
    subject, sin = op_db.subject, op_db.subject.sin

    class Silent(subject.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.new_zeros(x.shape)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * (x if power == 1 else x - x.detach())

    monkeypatch.setattr(subject, "sin", lambda x: sin(x) + Silent.apply(x))
    assert f"gradient {order}: values" in op_db.run(entry("sin"), "float64", 6).wrong[0]
