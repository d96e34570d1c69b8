"""`explain.saved`: what a graph keeps. Sizes are computed by hand, and counted by hooks of saved
tensors that run over the same program."""

import re

import pytest

from _subject import torch

nn = torch.nn
explain = torch.explain


def leaf(*shape):
    return torch.ones(*shape, requires_grad=True)


def lines(table):
    return str(table).splitlines()


def sums(table):
    return (table.total, table.unique, table.parameters, table.variables, table.freed)


def test_a_network_by_hand():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    x, target = torch.randn(5, 4), torch.randn(5, 1)
    table = explain.saved(((net(x) - target) ** 2).mean())
    found = {(row.op, row.what, row.label): row.bytes for row in table.rows}
    assert found == {
        ("linear", "input", "x"): 5 * 4 * 4,
        ("tanh", "out", ""): 5 * 8 * 4,
        ("linear", "input", ""): 5 * 8 * 4,  # the same memory as the tanh
        ("linear", "weight", "2.weight"): 8 * 4,
        ("pow", "input", ""): 5 * 4,
    }
    assert sums(table) == (452, 292, 32, 80, 180)
    assert [row.bytes for row in table.rows] == sorted(row.bytes for row in table.rows)[::-1]
    assert [row.op for row in table.rows if row.shared] == ["tanh"]


def counted_by_hooks(program):
    """Bytes of the distinct memory that a program saves, as its hooks are shown it."""
    kept = {}

    def pack(t):
        kept[t.untyped_storage().data_ptr()] = t.untyped_storage()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        result = program()
    return sum(storage.nbytes() for storage in kept.values()), result


def attention():
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(2, 5, 8, requires_grad=True)
    return lambda: layer(x, x, x, need_weights=False)[0].square().sum()


def convolution():
    net = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    )
    image = torch.randn(2, 1, 8, 8)
    return lambda: nn.functional.cross_entropy(net(image), torch.tensor([1, 2]))


def recurrent():
    cell, x = nn.GRUCell(3, 4), torch.randn(2, 3)

    def run():
        h = torch.zeros(2, 4)
        for _ in range(3):
            h = cell(x, h)
        return h.norm()

    return run


def views():
    w = leaf(10, 10)

    def run():
        h = w * 2
        return (h[0] * h[:, 1]).sum() + h.t().exp().sum() + torch.cat([h[2], h[3]]).prod()

    return run


@pytest.mark.parametrize("make", [attention, convolution, recurrent, views])
def test_unique_bytes_are_what_hooks_count(make):
    program = make()
    expected, hooked = counted_by_hooks(program)
    del hooked
    table = explain.saved(program())
    assert table.unique == expected > 0


def test_a_view_keeps_the_whole_memory():
    big = leaf(1_000_000)
    h = big * 2
    part = h[:10]
    y = (part * part).sum()
    del h
    table = explain.saved(y)
    assert [(row.bytes, row.keeps) for row in table.rows] == [(40, 4_000_000)] * 2
    assert (table.total, table.unique) == (80, 4_000_000)
    assert "keeps 4.0 MB" in lines(table)[1]


def test_parameters_and_variables_are_summed_apart():
    w, factor = leaf(100), torch.ones(100)
    y = ((w * w) * factor).exp().sum()
    table = explain.saved(y)
    held = {(row.op, row.label, row.held) for row in table.rows}
    assert held == {("mul", "w", "parameter"), ("mul", "factor", "variable"), ("exp", "", "")}
    assert sums(table) == (4 * 400, 3 * 400, 400, 400, 400)


def test_lines():
    w = leaf(1000)
    text = lines(explain.saved((w * w).exp().sum()))
    assert text[0].split() == ["op", "saved", "name", "tensor", "bytes", "line"]
    assert text[1].split()[:4] == ["exp", "out", "float32[1000]", "4.0"]
    assert text[2].split()[:3] == ["mul", "other", "w"] and "parameter" in text[2]
    assert "parameter, counted above" in text[3]
    assert "test_saved.py:" in text[1]
    assert [line.split("  ")[0].strip() or line.split("  ")[1] for line in text[5:]] == [
        "total",
        "unique",
        "parameters",
        "variables",
        "freed by backward",
    ]
    assert "12.0 kB" in text[5] and "8.0 kB" in text[6]


def test_a_long_table_is_cut():
    w = leaf(130)
    h = w
    for n in range(130):
        h = h[n > 0 :].exp()
    table = explain.saved(h)
    assert len(table.rows) == 130 and len(lines(table)) == 1 + 100 + 1 + 1 + 5
    rest = sum(4 * n for n in range(1, 31))
    assert lines(table)[101] == f"… 30 more, of {rest / 1000:.1f} kB together"


def test_equal_rows_are_one_line():
    h = leaf(5)
    for _ in range(130):
        h = h.exp()
    y = h.sum()
    del h
    table = explain.saved(y)
    assert len(table.rows) == 130 and len(lines(table)) == 1 + 1 + 1 + 5
    assert "2.6 kB  130 x 20 B" in lines(table)[1]


def test_rows_say_where():
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    row = next(r for r in explain.saved(net(leaf(1, 2))).rows if r.op == "linear")
    assert row.scope == ("net", "0")
    assert row.place.file == __file__ and "net(leaf(1, 2))" in row.place.code


def test_what_was_changed_is_said():
    w = leaf(2)
    h = w.exp()
    y = h.sum()
    with torch.no_grad():
        h.zero_()
    table = explain.saved(y)
    assert [row.state for row in table.rows] == ["changed"]
    assert "changed since: backward refuses" in str(table)


def test_hooks_are_shown_and_not_run():
    ran = []
    w = leaf(2)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: (t.shape, "on disk"), lambda packed: ran.append(packed) or w
    ):
        y = w.exp()
    table = explain.saved(y)
    (row,) = table.rows
    assert (row.state, row.shape, row.dtype, row.bytes, row.kind) == (
        "packed",
        None,
        None,
        0,
        "tuple",
    )
    assert table.packed == 1 and ran == []
    assert "packed by a hook" in str(table)
    assert lines(table)[-1] == "1 value packed by hooks: sizes are not known"


def test_checkpoint_and_save_on_cpu():
    w = leaf(3)
    ran = []
    function = lambda t: ran.append(1) or t.exp()
    y = torch.utils.checkpoint.checkpoint(function, w, use_reentrant=False)
    assert explain.saved(y).packed == 1 and ran == [1]
    with torch.autograd.graph.save_on_cpu():
        z = w.exp()
    assert [row.state for row in explain.saved(z).rows] == ["packed"]


def test_a_custom_function():
    class Kept(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(x, out)
            return out

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[1]

    w = leaf(10)
    table = explain.saved(Kept.apply(w))
    assert {(row.op, row.what, row.label) for row in table.rows} == {
        ("Kept", "", "w"),
        ("Kept", "", ""),
    }
    assert sums(table) == (80, 80, 40, 0, 40)


def test_sparse_tensors_count_what_they_hold():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, sparse, x):
            ctx.save_for_backward(sparse)
            return torch.sparse.mm(sparse, x)

        @staticmethod
        def backward(ctx, g):
            return None, torch.sparse.mm(ctx.saved_tensors[0].t(), g)

    eye, w = torch.eye(100).to_sparse(), leaf(100, 1)
    (row,) = explain.saved(Product.apply(eye, w)).rows
    assert (row.label, row.shape) == ("eye", (100, 100))
    assert row.bytes == 100 * 4 + 2 * 100 * 8  # the values, and two indices each


def test_nothing_is_saved():
    assert str(explain.saved(leaf(2) + 1)) == "no tensors are saved"


def test_a_freed_graph():
    w = leaf(2)
    y = (w * w).sum()
    y.backward()
    text = str(explain.saved(y))
    assert text.startswith("no tensors are saved: a backward at ") and "test_saved.py" in text


def test_in_a_notebook():
    w = leaf(2)
    table = explain.saved(w * w, names={"<b>": w})
    assert "<b>" not in table._repr_html_() and "&lt;b&gt;" in table._repr_html_()
    assert repr(table) == str(table)


def test_rounds_that_a_name_holds_are_named():
    w, total, losses = leaf(2), 0, []
    for _ in range(20):
        loss = (w * 2).exp().sum()
        total = total + loss
        losses.append(loss)
    line = test_rounds_that_a_name_holds_are_named.__code__.co_firstlineno + 3
    table = explain.saved(total)
    assert lines(table)[-1] == table.rounds
    assert re.fullmatch(
        rf"20 rounds of \S*test_saved.py:{line + 1} are held by `total`; use .item\(\) .*",
        table.rounds,
    )
    assert f"20 rounds of {explain.saved(losses).rows[0].place} are held by `losses`; use" in (
        str(explain.saved(losses))
    )
    total = torch.zeros(())
    for _ in range(4):
        total += (w * 2).exp().sum()
    assert explain.saved(total).rounds.startswith("4 rounds of ")


def test_a_holder_without_a_name_is_no_name():
    class Run:
        total, losses = 0, []

    run, w = Run(), leaf(2)
    for _ in range(4):
        run.total = run.total + (w * 2).exp().sum()
        run.losses.append((w * 2).exp().sum())
    assert " held by a sum; use" in explain.saved(run.total).rounds
    assert " held by a list; use" in explain.saved(run.losses).rounds


def test_rounds_of_other_sums_and_of_outputs():
    w, total, left, outs = leaf(2), torch.zeros(1), 0, []
    for _ in range(4):
        total += (w * 2).exp().sum()
        left = left - (w * 2).exp().sum()
        outs.append(w * 2)
    assert "held by `total`; use .item()" in explain.saved(total).rounds
    assert "held by `left`; use .item()" in explain.saved(left).rounds
    assert "held by `outs`; use .detach() where only the values" in explain.saved(outs).rounds
    make = lambda: w.exp()
    anchor, near, far = make(), make(), make()
    assert explain.saved([anchor, near, far]).rounds == ""
    assert explain.saved([make(), make(), make()]).rounds == ""


def test_rounds_are_named_where_backward_has_freed_them():
    model, total = nn.Linear(2, 1), 0
    for _ in range(20):
        loss = model(torch.ones(3, 2)).pow(2).mean()
        loss.backward()
        total = total + loss
    first, second = lines(explain.saved(total))
    assert first.startswith("no tensors are saved: a backward at ")
    assert second.startswith("20 rounds of ") and "held by `total`; use .item()" in second


def test_sums_that_are_meant_have_no_sentence():
    w = leaf(2)
    state, total = w, 0
    for _ in range(5):  # a state that each step makes anew, and the loss of all steps
        state = (state * 2).tanh()
        total = total + state.sum()
    assert explain.saved(total).rounds == "" == explain.saved(state.sum() + 1 + 2).rounds
    assert explain.saved(sum([(w * n).exp().sum() for n in range(5)])).rounds == ""
    trunk, heads = w.exp(), 0
    for n in range(5):
        heads = heads + (trunk * n).sum()
    assert explain.saved(heads).rounds == ""
    a, b, c, d = (leaf(2) for _ in range(4))
    one = a.exp().sum() + a.sin().sum() + a.cos().sum() + a.tanh().sum()  # no loop
    assert explain.saved(one).rounds == ""
    assert explain.saved([a.exp().sum(), a.exp().sum(), a.exp().sum()]).rounds == ""
    penalty = 0
    for p in (a, b, c, d):
        penalty = penalty + p.pow(2).sum()
    assert explain.saved(penalty).rounds == ""
