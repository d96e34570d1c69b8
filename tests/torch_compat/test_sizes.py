"""Sizes that no memory or no 64 bits hold: the exception is of PyTorch's kind."""

from __future__ import annotations

import pytest

import rushlight

pytorch = pytest.importorskip("torch")

CASES = """F.interpolate(image, n)
F.interpolate(image, n, mode="bilinear")
m.hann_window(n)
m.linspace(0, 1, n)
m.tril_indices(n, 2)
m.histc(image, n)
m.diag(m.ones(2), n)
m.diag_embed(m.ones(2), n)
F.conv_transpose2d(image, image, stride=n)
F.conv_transpose2d(image, image, output_padding=-1)
F.affine_grid(m.ones(1, 2, 3), (1, 1, n, 2), align_corners=False)
F.fractional_max_pool2d(m.ones(1, 5, 5), 2, -1)
m.linalg.tensorinv(m.eye(4), -1)
m.nn.RNN(0, 2)
m.nn.LSTM("2", 2)
m.norm_except_dim(m.ones(2, 2), 2, 5)
R.pack_padded_sequence(m.ones(3, 1, 2), m.tensor([n]))
R.pad_packed_sequence(R.pack_padded_sequence(m.ones(3, 1, 2), m.tensor([2])), total_length=2**40)
F.embedding_bag(m.tensor([0, 1]), m.ones(3, 2), m.tensor([0, 5]))
m.UntypedStorage(2**63)
m.UntypedStorage(4).resize_(2**63)
m.ones(4).split(2**63)
m.ones(4).size(2**63)
m.ones(2, 2).scatter(2**63, m.tensor([[0]]), 1.0)
F.adaptive_avg_pool1d(m.ones(1, 1, 4), 2**63)""".splitlines()


@pytest.mark.parametrize("text", CASES)
def test_kind_of_exception(text: str) -> None:
    kinds = []
    for m in (rushlight, pytorch):
        names = {"m": m, "F": m.nn.functional, "R": m.nn.utils.rnn, "n": 2**63 - 1}
        with pytest.raises(Exception, match=r"\S") as caught:
            eval(text, names | {"image": m.ones(1, 1, 2, 2)})
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


@pytest.mark.parametrize("n", [2**31, 2**40, 2**63 - 1])
def test_a_stride_past_the_end_is_as_any_other(n: int) -> None:
    for m in (rushlight, pytorch):
        x, w = m.arange(16.0).reshape(1, 1, 4, 4).requires_grad_(), m.ones(1, 1, 2, 2)
        made = m.nn.functional.conv2d(x, w, stride=n)
        assert made.tolist() == [[[[10.0]]]]
        assert m.nn.functional.max_pool1d(x.detach()[0], 2, n).tolist() == [
            [[1.0], [5.0], [9.0], [13.0]]
        ]
        made.sum().backward()
        assert x.grad.sum() == 4
