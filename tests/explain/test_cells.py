"""Tensors and modules as a notebook's cell shows them: facts against NumPy, pictures read back."""

import base64
import re
import struct
import warnings
import zlib

import numpy as np
import pytest

from _subject import torch

nn = torch.nn


def picture(html, number=0):
    """The pixels of a picture in HTML, read by the PNG format: height x width x RGBA."""
    data = base64.b64decode(re.findall(r"data:image/png;base64,([^\"]+)", html)[number])
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body, check = data[at + 8 : at + 8 + size], data[at + 8 + size : at + 12 + size]
        assert zlib.crc32(kind + body) == struct.unpack(">I", check)[0]
        chunks[kind] = body
        at += 12 + size
    w, h = struct.unpack(">II", chunks[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(h, 1 + 4 * w)
    return rows[:, 1:].reshape(h, w, 4).astype(int)


def signs(pixels):
    """1 where a pixel is rather red, -1 where blue, 0 where nothing is to be seen."""
    return np.where(pixels[..., 3] == 0, 0, np.sign(pixels[..., 0] - pixels[..., 2]))


def test_a_tensor_says_what_it_is():
    values = np.array([[1.5, -2.0, 0.0], [3.0, 0.25, -1.0]], np.float32)
    html = torch.tensor(values)._repr_html_()
    assert "tensor([[ 1.5000, -2.0000,  0.0000]," in html
    for fact in (
        "float32[2, 3]",
        f"min {values.min():.4g}",
        f"max {values.max():.4g}",
        f"mean {values.mean():.4g}",
        f"std {values.std(ddof=1):.4g}",
    ):
        assert fact in html
    pixels = picture(html)
    assert (signs(pixels) == np.sign(values)).all()
    expected = np.floor(np.abs(values) / 3 * 255)
    assert (np.abs(pixels[..., 3] - expected) <= 1).all()


def test_values_that_are_no_numbers_stand_out():
    html = torch.tensor([1.0, float("nan"), float("inf"), -2.0])._repr_html_()
    assert "1 NaN" in html and "1 inf" in html and "min -2 " in html
    colours = picture(html)[0]
    assert (colours[1] == colours[2]).all() and colours[1][3] == 255
    assert not (colours[1][:3] == colours[0][:3]).all()


def test_a_gradient_is_drawn_beside_the_values():
    w = torch.tensor([[1.0, -2.0]], requires_grad=True)
    assert "gradient, norm" not in w._repr_html_() and "leaf with requires_grad" in w._repr_html_()
    (w * torch.tensor([[-3.0, 4.0]])).sum().backward()
    html = w._repr_html_()
    assert "gradient, norm 5" in html
    assert signs(picture(html, 0)).tolist() == [[1, -1]]
    assert signs(picture(html, 1)).tolist() == [[-1, 1]]


def test_a_result_says_where_it_was_computed():
    w = torch.ones(2, requires_grad=True)
    y = w * 2
    line = test_a_result_says_where_it_was_computed.__code__.co_firstlineno + 2
    assert re.search(rf"MulBackward0, \S*test_cells.py:{line}", y._repr_html_())


def test_one_bad_value_of_a_million_is_seen():
    big = torch.zeros(1000, 1000)
    big[777, 123] = -5
    pixels = picture(big._repr_html_())
    assert max(pixels.shape) <= 256 and (signs(pixels) == -1).sum() == 1
    ((y, x),) = np.argwhere(signs(pixels) == -1)
    assert (abs(y / pixels.shape[0] - 0.777) < 0.01) and (abs(x / pixels.shape[1] - 0.123) < 0.01)
    big[3, 3] = float("nan")
    assert (picture(big._repr_html_())[..., 3] == 255).sum() == 2


def test_matrices_of_more_dimensions_are_tiles():
    t = torch.stack([torch.full((4, 4), 1.0), torch.full((4, 4), -1.0)])
    seen = signs(picture(t._repr_html_()))
    assert (seen == 1).sum() == (seen == -1).sum() == 16
    assert seen.size - 32 == 4  # a line between them
    assert (signs(picture(torch.ones(30, 20, 3, 3)._repr_html_())) == 1).sum() == 30 * 20 * 9


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(0, 3),
        lambda: torch.zeros(()),
        lambda: torch.ones(3, dtype=torch.bool),
        lambda: torch.ones(3, dtype=torch.bfloat16),
        lambda: torch.ones(3, dtype=torch.complex64),
        lambda: torch.ones(3, dtype=torch.uint8),
        lambda: torch.ones(9_000_000),
        lambda: torch.full((2, 2), 1e300, dtype=torch.float64),
        lambda: nn.Parameter(torch.ones(2)),
        lambda: torch.ones(2, 3).T,
        lambda: torch.ones(1, 1, 1, 2000, 3),
    ],
)
def test_every_kind_of_tensor(make):
    t = make()
    html = t._repr_html_()
    assert str(t.dtype).removeprefix("torch.") in html
    if t.numel() > 1:
        assert picture(html)[..., 3].any()


def test_others_are_shown_by_their_text():
    assert torch.ones(2, device="meta")._repr_html_() is None
    assert torch.eye(2).to_sparse()._repr_html_() is None


def test_one_bad_value_in_any_tile_is_seen():
    t = torch.zeros(700, 30, 50)
    t[613, 29, 49] = -1
    pixels = signs(picture(t._repr_html_()))
    assert pixels.shape == (256, 256) and (pixels == -1).sum() == 1


def test_a_tensor_of_many_dimensions_is_cut():
    html = torch.zeros(1).expand([2] * 26)._repr_html_()
    assert len(html) < 100_000 and "of 2,097,152 of 67,108,864 elements" in html
    assert "tensor([[[[[[[[[[0." in torch.zeros([2] * 10)._repr_html_()


def test_a_module_that_fails_is_shown_by_its_text():
    class Unmade(nn.Module):
        def __init__(self):
            pass

    class Odd(nn.Module):
        def extra_repr(self):
            return self.nothing

    assert Unmade()._repr_html_() is None and Odd()._repr_html_() is None


def test_it_is_said_where_not_all_was_looked_at():
    t = torch.zeros(10_000_000)
    t[::2] = 4
    html = t._repr_html_()
    seen = int(re.search(r"of ([\d,]+) of 10,000,000 elements", html)[1].replace(",", ""))
    assert 2_000_000 < seen <= 4_000_000 and "max 4 " in html
    assert "elements" not in torch.zeros(4_000_000)._repr_html_()
    assert 'style="width: 256px; height: 12px"' in html  # a vector is a band


def test_complex_numbers_show_their_magnitudes():
    html = torch.tensor([3 + 4j, 0j])._repr_html_()
    assert "magnitudes: min 0 · mean 2.5 · max 5" in html and ">magnitudes<" in html


def test_a_result_that_keeps_its_gradient_shows_it():
    y = torch.ones(2, requires_grad=True) * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "gradient, norm" not in y._repr_html_()
    y.retain_grad()
    (y * torch.tensor([3.0, 4.0])).sum().backward()
    assert "gradient, norm 5" in y._repr_html_()


def test_names_cannot_leave_their_place():
    class Odd(nn.Module):
        def extra_repr(self):
            return "</div><script>"

    html = Odd()._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html


def test_looking_changes_nothing():
    w = torch.ones(3, requires_grad=True)
    y = (w * 2).exp()
    before = y._version
    y._repr_html_()
    y.sum().backward()
    assert y._version == before and w.grad is not None


def net():
    return nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ModuleDict({"<b>": nn.Linear(8, 2, bias=False)})
    )


def test_a_module_is_a_tree_with_shapes_and_counts():
    model = net()
    model[0].bias.requires_grad_(False)
    html = model._repr_html_()
    text = re.sub("<[^>]*>", "\n", html.split("</style>")[1])
    count = 4 * 8 + 8 + 8 + 8 + 16
    assert f"{count} parameters · {count * 4} B · training · 8 frozen" in html
    assert "0: Linear(in_features=4, out_features=8, bias=True)" in html
    assert "float32[8, 4] · 32" in text and "int64[] · buffer" in text
    assert "float32[8] · 8 · frozen" in text
    assert "<b>" not in html and "&lt;b&gt;: Linear" in html
    assert html.count("<details") == html.count("</details>") == 5


def test_a_tied_weight_counts_once_and_a_lazy_layer_is_said():
    model = nn.Module()
    model.a = nn.Linear(3, 3, bias=False)
    model.b = nn.Linear(3, 3, bias=False)
    model.b.weight = model.a.weight
    html = model._repr_html_()
    assert "9 parameters · 36 B" in html
    assert html.count("float32[3, 3]") == 1 and html.count("the same as a.weight") == 1
    html = nn.Sequential(nn.LazyLinear(3))._repr_html_()
    assert "2 tensors not made yet" in html and "shape not known before the first call" in html


def test_gradients_of_a_module_are_said():
    layer = nn.Linear(2, 1, bias=False)
    assert "gradient" not in layer._repr_html_()
    layer(torch.tensor([[3.0, 4.0]])).sum().backward()
    assert "gradient&#x27;s norm 5" in layer._repr_html_()


def test_gradients_that_are_sparse_or_complex_are_said():
    table = nn.Embedding(4, 2, sparse=True)
    (table(torch.tensor([2])) * torch.tensor([3.0, -4.0])).sum().backward()
    assert table.weight.grad.is_sparse
    assert "has a gradient" in table._repr_html_()
    w = nn.Parameter(torch.ones(2, dtype=torch.complex64))
    w.grad = torch.tensor([3j, 4.0], dtype=torch.complex64)
    assert "gradient, norm 5" in w._repr_html_()
    assert "gradient&#x27;s norm 5" in nn.ParameterList([w])._repr_html_()


def test_a_module_that_is_there_twice_is_written_once():
    model = nn.Sequential(nn.Linear(2, 3))
    model.append(model[0])
    model[0].whole = model  # a circle
    html = model._repr_html_()
    assert html.count("Linear(") == 1 and '1</code> <span class="soft">the same as 0<' in html
    assert 'whole</code> <span class="soft">the same as the whole<' in html
