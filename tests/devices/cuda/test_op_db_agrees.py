"""Samples of PyTorch's own table of operators agree on CUDA's device, which is the stand-in, as on
OpenCL's (test_op_db_there.py)."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's table of operators needs it")

import op_db_there
from test_op_db_there import PARTS, VERSION

SAMPLES = 2  # of an entry

pytestmark = pytest.mark.skipif(
    op_db_there.op_db.version() != VERSION, reason=f"the list is that of PyTorch {VERSION}"
)


@pytest.mark.parametrize("part", range(PARTS))
def test_samples_agree(part, monkeypatch):
    monkeypatch.setattr(op_db_there, "DEVICE", "cuda")
    known = op_db_there.known()
    names = [name for name in op_db_there.titles() if name not in known][part::PARTS]
    swept = op_db_there.sweep(names, SAMPLES)  # and other variants of these entries
    found = {name: swept[name] for name in names if name in swept}
    assert len(found) > 30
    assert {name: outcome.wrong[0] for name, (outcome, _) in found.items() if outcome.wrong} == {}
    by_host = {name for name, (_, calls) in found.items() if calls}
    assert by_host == op_db_there.BY_HOST.intersection(names)
