# ruff: noqa: E501 - a case is one line
"""torch's own forms of functions of nn.functional: reductions and modes by number, more results."""

import pytest
from compat import cases, check

CASES = cases("""
# losses: 0 is 'none', 1 'mean', 2 'sum'
t.binary_cross_entropy_with_logits(x, p)               # f nonode
t.binary_cross_entropy_with_logits(x, p, p[0], p[1], 2)    # f nonode nograd
t.cosine_embedding_loss(x, y, t.tensor([1, -1, 1]), 0.1, 0)    # f nonode loose
t.cosine_embedding_loss(x, y, t.tensor([1, -1, 1]))    # f nonode loose
t.cosine_embedding_loss(x, y, t.tensor(1))             # raises
t.hinge_embedding_loss(x, y.sign())                    # f nonode nograd
t.ctc_loss(F.log_softmax(b3, 2), t.tensor([[1], [2], [3]]), [2, 2, 2], [1, 1, 1], 0, 2)  # f nonode loose
t.ctc_loss(F.log_softmax(b3, 2), t.tensor([[1], [2], [3]]), t.tensor([2, 2, 2]), t.tensor([1, 1, 1]))  # f nonode loose
t.hinge_embedding_loss(x, y.sign(), 0.5, 2)            # f nonode nograd
t.kl_div(x, p)                                         # f nonode
t.kl_div(x, y, 2, log_target=True)                     # f nonode
t.kl_div(x, p, 7)                                      # f nonode
t.kl_div(x, p, 'mean')                                 # raises
t.margin_ranking_loss(x, y, p.sign(), 0.5, 0)          # f nonode nograd
t.margin_ranking_loss(x, y, v)                         # f nonode nograd
t.poisson_nll_loss(x, p, True, False, 1e-8, 1)         # f nonode
t.poisson_nll_loss(p, q, False, True, 1e-8, 0)         # f nonode nograd
t.triplet_margin_loss(x, y, z)                         # f nonode loose
t.triplet_margin_loss(x, y, z, 2.0, 1.0, 1e-6, True, 2)    # f nonode loose
# grids
t.affine_grid_generator(b3[:, :2, :3], [2, 1, 3, 2], False)    # f nonode
t.grid_sampler(im, b4[:1, :, :4].reshape(1, 2, 4, 2) / 4, 0, 0, False)     # f nonode loose
t.grid_sampler(im, b4[:1, :, :4].reshape(1, 2, 4, 2) / 4, 2, 2, True)      # f nonode loose nograd
t.grid_sampler_2d(im, b4[:1, :, :4].reshape(1, 2, 4, 2) / 4, 1, 1, True)   # f nonode
t.grid_sampler_3d(vol, t.zeros(1, 1, 2, 2, 3, dtype=vol.dtype), 0, 1, False)   # f nonode
t.grid_sampler_3d(im, b4[:1, :, :4].reshape(1, 2, 4, 2), 0, 0, False)      # raises
# embeddings
t.embedding_bag(x, idx4, idx)                          # f nonode
t.embedding_bag(x, idx4, idx, False, 1)                # f nonode
t.embedding_bag(x, idx4, idx, False, 2)                # f nonode
t.embedding_bag(x, idx4, idx, False, 1, padding_idx=1, per_sample_weights=None, include_last_offset=False, sparse=False)    # f nonode
t.embedding_bag(x, idx4, t.tensor([0, 2, 4]), False, 1, False, None, True)     # f nonode
t.embedding_bag(x, idx4, idx, False, 0, False, x[0])   # f nonode
o = x.clone(); t.embedding_renorm_(o, idx, 1.0, 2.0)   # f nograd
o = x.clone(); t.embedding_renorm_(o, idx + 5, 1.0, 2.0)   # f raises notext
# convolutions
t.convolution(im, k2, w, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)     # f nonode loose
t.convolution(im, k2t, None, [2, 2], [0, 0], [1, 1], True, [1, 1], 1)  # f nonode loose
t.convolution(sig, k1, None, [1], [1], [1], False, [0], 1)     # f nonode loose
t.convolution(x, x, None, [1], [1], [1], False, [0], 1)        # raises
t.conv_tbc(b3, b4[:, :, :3], w, 1)                     # f nonode
F.conv_tbc(b3, b4[:, :, :3], w)                        # f nonode
t.conv_tbc(x, b4, w)                                   # raises
t.conv_tbc(b3, x, w)                                   # raises
t.conv_tbc(b3, b4, x)                                  # raises
t.conv_tbc(b3, b3, w)                                  # raises
t.conv_tbc(b3, b4, w)                                  # raises
# dropout
t.feature_dropout(im, 0.5, True)                       # f nonode
t.feature_dropout(v, 0.5, True)                        # raises
t.feature_dropout(im, 1.5, True)                       # raises
o = im * 1; t.feature_dropout_(o, 0.5, True); o        # f nonode
o = x * 1; t.alpha_dropout_(o, 0.3, True); o           # f nonode
t.feature_alpha_dropout(im, 0.5, True)                 # f nonode
o = im * 1; t.feature_alpha_dropout_(o, 0.5, True); o  # f nonode
t.feature_alpha_dropout(im, 0.5, False)                # f nonode
t.native_dropout(x, 0.5, True)                         # f nonode
t.native_dropout(x, 0.5, None)                         # f nograd
t.native_dropout(x, 0.5, False)                        # f nonode
t.native_dropout(x, 1.0, True)                         # f nonode
# normalization
t.native_batch_norm(x, v, u, None, None, True, 0.1, 1e-5)      # f nonode loose
t.native_batch_norm(x, None, None, v, u.abs() + 1, False, 0.1, 1e-5)   # f nonode nograd
t.native_group_norm(h4, w, w, 2, 3, 20, 3, 1e-5)       # f nograd loose
t.native_group_norm(h4, w, w, 2, 3, 20, 3, 1e-5)[0]    # f nonode loose
t.native_group_norm(h4, w, w, 2, 3, 20, 2, 1e-5)       # raises
o = v.clone(); q = u.abs(); t.batch_norm_update_stats(x, o, q, 0.1), o, q      # f nograd
t.native_channel_shuffle(h4.reshape(1, 4, 6, 5), 2)    # f nograd
F.native_channel_shuffle(h4.reshape(1, 4, 6, 5), 2)    # f nograd
# recurrent networks: input (2, 3, 4), hidden size 5
t.rnn_tanh(b3, b3.new_zeros(1, 3, 5), [w54, m.t() @ m, w5, w5], True, 1, 0.0, False, False, False)     # f nonode loose
t.rnn_relu(b3, b3.new_zeros(1, 2, 5), [w54, m.t() @ m], False, 1, 0.0, False, False, True)     # f nonode loose
t.gru(b3, b3.new_zeros(1, 3, 1), [w54[:3], w54[:3, :1], w5[:3], w5[:3]], True, 1, 0.0, False, False, False)   # f nonode loose
t.gru(b3, b3.new_zeros(2, 3, 1), [w54[:3], w54[:3, :1], w54[:3], w54[:3, 1:2]], False, 1, 0.0, False, True, False)   # f nonode loose
t.gru(x, t.tensor([2, 1]), b3.new_zeros(1, 2, 1), [w54[:3], w54[:3, :1]], False, 1, 0.0, False, False)   # f nonode loose
t.lstm(b3, [b3.new_zeros(1, 3, 1), b3.new_ones(1, 3, 1)], [sq, sq[:, :1], v, u], True, 1, 0.0, False, False, False)   # f nonode loose
t.lstm(b3, (b3.new_zeros(1, 3, 1),), [sq, sq[:, :1], v, u], True, 1, 0.0, False, False, False)     # raises
t.rnn_tanh_cell(x, x[:, :1], v[None], s.reshape(1, 1))     # f nonode loose
t.rnn_relu_cell(x, x[:, :1], v[None], s.reshape(1, 1), w[:1], w[1:2])  # f nonode loose
t.gru_cell(x, x[:, :1], w54[:3], w54[:3, :1], w, w)    # f nonode loose
t.lstm_cell(x, (x[:, :1], x[:, 1:2]), sq, sq[:, :1], v, u)     # f nonode loose
t._VF.lstm_cell(x, (x[:, :1], x[:, 1:2]), sq, sq[:, :1], v, u)     # f nonode loose
""")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)
