"""nn.functional: activations, losses, convolution, pooling, norms, padding, resizing."""

import pytest
from compat import cases, check, check_second_order, second_order

CASES = cases("""
# activations
F.relu(x)                         # ordered
F.relu(special)                   # float
F.relu(x, inplace=True)           # f
F.relu6(x)                        # f
F.leaky_relu(x)                   # float
F.leaky_relu(x, 0.2)              # f
F.leaky_relu(x, negative_slope=0.1)   # f
F.elu(x)                          # float
F.elu(x, alpha=0.5)               # f
F.selu(x)                         # f
F.celu(x)                         # f
F.gelu(x)                         # float
F.gelu(x, approximate='tanh')     # f
F.silu(x)                         # float
F.mish(x)                         # f
F.hardtanh(x)                     # f
F.hardtanh(x, -0.5, 2)            # f
F.hardswish(x)                    # f
F.hardsigmoid(x)                  # f
F.softplus(x)                     # float
F.softplus(x * 20)                # f
F.softplus(x, beta=2)             # f
F.softplus(x, 1, 1)               # f
F.softsign(x)                     # f
F.tanhshrink(x)                   # f
F.softshrink(x)                   # f
F.hardshrink(x)                   # f
F.threshold(x, 0.1, -1)           # f
F.logsigmoid(x)                   # f
F.logsigmoid(special)             # f
F.sigmoid(x)                      # f
F.tanh(x)                         # f
F.glu(x)                          # f
F.glu(x, 1)                       # f
F.prelu(x, one)                   # f
F.prelu(x, v)                     # f
F.relu(x)                         # c64 raises
F.gelu(x)                         # i64 raises
# softmax family
F.softmax(x, dim=1)               # float
F.softmax(x, dim=-1)              # float
F.softmax(x, dim=0)               # float
F.softmax(x, 1)                   # f
F.softmax(v, 0)                   # f
F.softmax(s, 0)                   # f
F.softmax(b3, dim=1)              # f
F.softmax(h4, -1)                 # f
F.softmax(wide, 1)                # float
F.softmax(x * 1000, 1)            # f
F.softmax(x.masked_fill(msk, float('-inf')), 1)    # f
F.softmax(special[3:], 0)         # f
F.softmax(x.t(), 0)               # f
F.softmax(step, 1)                # f
F.softmax(e, 1)                   # f
F.softmax(x, 1, dtype=t.float64)  # f32
F.softmax(x, 1, dtype=t.float32)  # i64
F.softmax(x)                      # f
t.softmax(x, 1)                   # f
t.softmax(x, dim=-1)              # f
x.softmax(1)                      # f
x.softmax(dim=-1)                 # f
F.log_softmax(x, dim=1)           # float
F.log_softmax(x, -1)              # float
F.log_softmax(x, 0)               # f
F.log_softmax(h4, 1)              # f
F.log_softmax(x * 1000, 1)        # f
t.log_softmax(x, 1)               # f
x.log_softmax(-1)                 # f
F.softmin(x, 1)                   # f
F.softmax(x, 2)                   # raises
F.softmax(x, 1)                   # i64 raises
F.softmax(x, -3)                  # raises
F.log_softmax(x, 5)               # raises
t.softmax(x)                      # raises
t.sigmoid(x)                      # f
# losses
F.mse_loss(x, y)                  # fc
F.mse_loss(x, y, reduction='sum') # f
F.mse_loss(x, y, reduction='none')     # f
F.mse_loss(x, y.detach())         # f
F.mse_loss(x, r)                  # f
F.l1_loss(x, y)                   # f
F.l1_loss(x, y, reduction='sum')  # f
F.smooth_l1_loss(x, y)            # f
F.smooth_l1_loss(x, y, beta=0.5)  # f
F.huber_loss(x, y, delta=0.5)     # f
F.cross_entropy(x, cls)           # float
F.cross_entropy(x, cls, reduction='sum')   # f
F.cross_entropy(x, cls, reduction='none')  # f
F.cross_entropy(x, cls, weight=p[0].detach())      # f
F.cross_entropy(x, cls, ignore_index=0)    # f
F.cross_entropy(x, cls, label_smoothing=0.1)       # f
F.cross_entropy(x, cls, weight=p[0].detach(), label_smoothing=0.2)     # f
F.cross_entropy(x, F.softmax(y, 1))    # f
F.cross_entropy(v, t.tensor(2))   # f
F.cross_entropy(h4.permute(0, 2, 1, 3), t.ones(2, 3, 5).long())    # f
F.cross_entropy(wide, t.arange(7))     # f
F.cross_entropy(b3.view(-1, 4), cls2[:, :3].reshape(-1))   # f
F.cross_entropy(x, cls + 5)       # raises
F.cross_entropy(x, cls[:2])       # raises
F.cross_entropy(x, cls.float())   # raises
F.cross_entropy(x, cls, reduction='avg')   # raises
F.nll_loss(F.log_softmax(x, 1), cls)   # f
F.nll_loss(x, cls)                # f
F.nll_loss(x, cls, reduction='sum')    # f
F.nll_loss(x, cls, reduction='none')   # f
F.nll_loss(x, cls, ignore_index=3)     # f
F.nll_loss(x, cls, weight=p[0].detach())   # f
F.nll_loss(x, cls - 3)            # raises
F.binary_cross_entropy(prob, msk.to(dt))   # f loose
F.binary_cross_entropy(prob, unit.abs())   # f no2nd loose
F.binary_cross_entropy(prob, msk.to(dt), reduction='sum')  # f loose
F.binary_cross_entropy(prob, msk.to(dt), weight=p.detach())    # f loose
F.binary_cross_entropy(x, msk.to(dt))  # raises
F.binary_cross_entropy(prob, v)   # raises
F.binary_cross_entropy_with_logits(x, msk.to(dt))  # f
F.binary_cross_entropy_with_logits(x, unit.abs())  # f
F.binary_cross_entropy_with_logits(x, msk.to(dt), pos_weight=p[0].detach())    # f
F.binary_cross_entropy_with_logits(x * 100, msk.to(dt), reduction='none')      # f
F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction='batchmean')          # f
F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction='sum')    # f
F.kl_div(x, y, reduction='sum', log_target=True)   # f
F.cosine_similarity(x, y)         # f
F.cosine_similarity(x, y, dim=0)  # f
F.pairwise_distance(x, y)         # f
F.cosine_embedding_loss(x, y, t.tensor([1, -1, 1]))    # f
F.margin_ranking_loss(v, u, t.tensor([1, -1, 1, -1]))  # f
F.triplet_margin_loss(x, y, z)    # f
F.hinge_embedding_loss(x, t.where(msk, 1, -1))     # f
F.soft_margin_loss(x, t.where(msk, 1.0, -1.0).to(dt))  # f
F.poisson_nll_loss(x, p.detach()) # f
F.gaussian_nll_loss(x, y, p)      # f
F.multilabel_soft_margin_loss(x, msk.to(dt))       # f
F.mse_loss(x, x43)                # raises
F.mse_loss(x, y, reduction='avg') # raises
# convolution
F.conv2d(im, k2)                  # f loose
F.conv2d(im, k2, w)               # f loose
F.conv2d(im, k2, w, padding=1)    # f loose
F.conv2d(im, k2, stride=2)        # f loose
F.conv2d(im, k2, w, stride=(2, 1), padding=(1, 0))     # f loose
F.conv2d(im, k2, padding=2, dilation=2)    # f loose
F.conv2d(im, k2, w, 1, 1)         # f loose
F.conv2d(im, k2, padding='same')  # f loose
F.conv2d(im, k2, padding='valid') # f loose
F.conv2d(im[0], k2)               # f loose nonode
F.conv2d(im.repeat(1, 2, 1, 1), kg, groups=4)      # f loose
F.conv2d(im.repeat(3, 1, 1, 1), k2, w, padding=1)  # f loose
F.conv2d(im.transpose(2, 3), k2)  # f loose
F.conv2d(im, k2[:, :, :1, :1])    # f loose
F.conv1d(sig, k1)                 # f loose
F.conv1d(sig, k1, w, padding=1)   # f loose
F.conv1d(sig, k1, stride=2, dilation=2)    # f loose
F.conv3d(vol, k3)                 # f loose
F.conv3d(vol, k3, w, padding=1)   # f loose
F.conv_transpose2d(im, k2t)       # f loose
F.conv_transpose2d(im, k2t, w, stride=2)   # f loose
F.conv_transpose2d(im, k2t, stride=2, padding=1, output_padding=1)     # f loose
F.conv_transpose1d(sig, k1.transpose(0, 1))    # f loose
F.conv2d(im, k1)                  # raises
F.conv2d(im, kg)                  # raises
F.conv2d(x, k2)                   # raises
F.conv2d(im, k2, v)               # raises
F.conv2d(im, k2, stride=0)        # raises
F.conv2d(im, k2, padding=-1)      # raises
F.conv2d(im, k2.double())         # raises
F.conv2d(im[:, :, :2, :2], k2)    # raises
F.unfold(im, 3)                   # f
F.fold(F.unfold(im, 2, stride=2), (8, 8), 2, stride=2)     # f
# pooling
F.max_pool2d(im, 2)               # f
F.max_pool2d(im, 3, stride=2, padding=1)   # f
F.max_pool2d(im, kernel_size=(2, 1))       # f
F.max_pool2d(im, 2, return_indices=True)   # f
F.max_pool2d(im, 3, ceil_mode=True)        # f
F.max_pool2d(im, 2, dilation=2)   # f
F.max_pool2d(im[0], 2)            # f
F.max_pool1d(sig, 2)              # f nonode
F.max_pool3d(vol, 2)              # f
F.avg_pool2d(im, 2)               # f
F.avg_pool2d(im, 3, stride=1, padding=1)   # f
F.avg_pool2d(im, 3, padding=1, count_include_pad=False)    # f
F.avg_pool1d(sig, 2)              # f
F.adaptive_avg_pool2d(im, 1)      # f
F.adaptive_avg_pool2d(im, 3)      # f
F.adaptive_avg_pool2d(im, (2, 4)) # f
F.adaptive_avg_pool1d(sig, 3)     # f
F.adaptive_max_pool2d(im, 2)      # f
F.max_pool2d(im, 0)               # raises
F.max_pool2d(im, 2, padding=2)    # raises
F.max_pool2d(v, 2)                # raises
F.max_pool2d(im, 20)              # raises
F.avg_pool2d(im, 2, stride=0)     # raises
# norms
F.layer_norm(x, (4,))             # f loose
F.layer_norm(x, [4], v, u)        # f loose
F.layer_norm(b3, (3, 4))          # f loose
F.layer_norm(x, (4,), v)          # f loose
F.batch_norm(x, None, None, training=True)     # f loose
F.batch_norm(x, t.zeros(4, dtype=dt), t.ones(4, dtype=dt))     # f loose
F.batch_norm(im, None, None, v[:2], u[:2], training=True)      # f loose
a, b = t.zeros(4, dtype=dt), t.ones(4, dtype=dt); F.batch_norm(x, a, b, v, u, True); b  # f loose
F.group_norm(im, 1)               # f loose
F.group_norm(im, 2, v[:2], u[:2]) # f loose
F.instance_norm(im)               # f loose
F.rms_norm(x, (4,), v)            # f loose
F.local_response_norm(im, 2)      # f loose
F.normalize(x)                    # f
F.normalize(x, dim=0)             # f
F.normalize(x, p=1, dim=1)        # f
F.layer_norm(x, (3,))             # raises
F.batch_norm(v[None], None, None, training=True)   # raises
F.group_norm(im, 3)               # raises
# padding and resizing
F.pad(x, (1, 1))                  # mix
F.pad(x, (1, 2, 0, 1))            # f
F.pad(x, (1, 1), value=3)         # f
F.pad(x, (1, 1), 'constant', 0.5) # f
F.pad(x, [0, -1])                 # f
F.pad(x, (-1, 2))                 # f
F.pad(x, ())                      # f
F.pad(im, (1, 1, 1, 1))           # f
F.pad(im, (1, 1, 1, 1), mode='reflect')    # f
F.pad(im, (1, 1, 1, 1), mode='replicate')  # f
F.pad(im, (1, 1, 1, 1), mode='circular')   # f
F.pad(sig, (2, 2), mode='reflect')     # f
F.pad(x, (1,))                    # raises
F.pad(x, (1, 1, 1, 1, 1, 1))      # raises
F.pad(x, (1, 1), mode='nothing')  # raises
F.pad(x, (-5, 0))                 # raises
F.interpolate(im, scale_factor=2) # f
F.interpolate(im, size=(4, 4))    # f
F.interpolate(im, size=12)        # f
F.interpolate(im, scale_factor=2, mode='bilinear')     # f loose
F.interpolate(im, scale_factor=2, mode='bilinear', align_corners=True)     # f loose
F.interpolate(im, size=(5, 7), mode='bilinear')        # f loose
F.interpolate(im, scale_factor=0.5, mode='area')       # f
F.interpolate(sig, scale_factor=2, mode='linear')      # f loose
F.interpolate(im)                 # raises
F.pixel_shuffle(h4.reshape(1, 4, 6, 5), 2)     # f
F.upsample(im, scale_factor=2)    # f
# attention, embedding, distances
F.scaled_dot_product_attention(b3, b3b, b3)    # f loose nonode
F.scaled_dot_product_attention(b3, b3b, b3, is_causal=True)    # f loose nonode
F.embedding(ids, x)               # f
F.embedding(t.tensor(1), x)       # f
F.embedding(ids.float(), x)       # raises
F.one_hot(cls, num_classes=4)
""")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)


@pytest.mark.parametrize("case", second_order(CASES), ids=str)
def test_second_order(case):
    check_second_order(case)
