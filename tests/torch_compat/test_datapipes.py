"""torch.utils.data's pipes against PyTorch: what they yield, their lengths, what they refuse."""

from __future__ import annotations

import importlib
import pickle
import warnings
from typing import Any

import pytest

import rushlight

pytorch = pytest.importorskip("torch")

# Programs over p, a pipe of 0..9; m, a mapped one; i and d, the pipes' modules; t, the library.
PROGRAMS = """
list(p); len(p); list(p.map(str)); len(p.map(str)); list(p.batch(4)); len(p.batch(4)); p.nope
list(p.batch(4, drop_last=True)); len(p.batch(4, drop_last=True)); list(p.batch(3).batch(2)); p[0]
list(p.batch(3).batch(2).unbatch(-1)); list(p.batch(3).unbatch()); list(p.unbatch())
repr(p.map(str)); list(p.filter(lambda x: x % 3 == 0)); len(p.filter(bool))
list(p.filter(lambda x: x)); p.filter(3); list(p.zip(q)); len(p.zip(q)); list(p.concat(q))
len(p.concat(q)); list(p.mux(q)); len(p.mux(q)); [list(x) for x in p.fork(2)]; p.fork(0)
p.fork(2, copy='odd'); p.fork(1) is p; p.batch(0); [list(x) for x in p.demux(2, lambda x: x % 2)]
list(p.demux(2, lambda x: x)[0])
[list(x) for x in p.demux(2, lambda x: None if x > 4 else x % 2, drop_none=True)]
list(p.fork(2, buffer_size=2)[0]); list(p.groupby(lambda x: x % 3)); list(p.zip(p))
list(p.concat(p)); list(p.groupby(lambda x: x % 3, group_size=2, buffer_size=4))
p.groupby(str, group_size=0); list(p.groupby(lambda x: x % 3, keep_key=True))
list(p.shuffle().set_seed(3)); len(p.shuffle()); list(p.shuffle(buffer_size=3).set_seed(4))
list(p.shuffle().set_shuffle(False)); p.shuffle(buffer_size=0); list(p.shuffle())
list(p.batch(2).shuffle(unbatch_level=1).set_seed(1)); list(p.sharding_filter())
list(p.batch(2).collate()); list(p.collate()); i.Zipper(3); i.Concater(); i.Concater(3)
list(i.Sampler(p)); list(p.zip(q).map(lambda x: -x, input_col=1))
list(p.zip(q).map(lambda x: -x, 0, -1)); list(p.map(lambda: 1))
list(p.zip(q).map(lambda x, y: x + y, input_col=[0, 1])); p.map(str, None, 1)
list(p.map(lambda x: 1 // x)); list(m); m[1]; list(m.batch(2)); len(m.batch(2)); m.nope
list(m.zip(m)); list(m.concat(m)); len(m.concat(m)); list(m.shuffle().set_seed(3))
list(m.shuffle()); m.batch(2)[2]; m.concat(m)[9]; m.zip(m)[9]; d.map.Zipper()
isinstance(p, t.utils.data.IterableDataset); isinstance(m, t.utils.data.Dataset)
t.utils.data.DataChunk([1]); list(t.utils.data.DataLoader(p.shuffle(), batch_size=4, shuffle=True))
len(t.utils.data.DataLoader(p, 3))
list(t.utils.data.DataLoader(p.shuffle(), batch_size=None, shuffle=False))
list(pickle.loads(pickle.dumps(p)))
list(t.utils.data.DataLoader(p.shuffle().sharding_filter(), 2, num_workers=2, shuffle=True))
t.utils.data.functional_datapipe('x')(3); t.utils.data.functional_datapipe('map')(type(p))
list(m.map()); sum(1 for _ in i.FileLister(folder, '*.txt')); list(i.StreamReader(p))
list(i.FileOpener([3]))
[x for _, x in i.FileLister(folder, '*.txt').open_files().read_from_stream()]
i.FileOpener(p, mode='w')
[x for _, x in i.FileLister(folder, '*.txt').open_files('b').routed_decode()]
""".replace("\n", ";").split(";")


def answer(t: Any, program: str, folder: str) -> str:
    d = importlib.import_module(f"{t.__name__}.utils.data.datapipes")
    names = {"t": t, "d": d, "i": d.iter, "pickle": pickle, "folder": folder}
    names["p"], names["q"] = d.iter.IterableWrapper(range(10)), d.iter.IterableWrapper("abc")
    names["m"] = d.map.SequenceWrapper([5, 6, 7])
    t.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(eval(program, names))
        except Exception as error:
            return f"{type(error).__name__}: {error}".split(" at 0x")[0].replace(
                "rushlight", "torch"
            )


@pytest.mark.parametrize("program", [p.strip() for p in PROGRAMS if p.strip()])
def test_pipes_give_what_pytorchs_give(program: str, tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_text("first")
    (tmp_path / "b.txt").write_text("second")
    (tmp_path / "c.bin").write_text("third")
    folder = str(tmp_path)
    assert answer(rushlight, program, folder) == answer(pytorch, program, folder)
