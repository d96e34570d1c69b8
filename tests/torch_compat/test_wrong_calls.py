"""Everyday functions called wrongly: with strings, None, objects, lists, numbers out of range, too
many arguments or unknown names. The exception's type and first sentence are PyTorch's.
"""

import pytest
from compat import cases, check

CASES = cases("""
t.sum(x, 1, foo=1)  # raises
t.sum(x, 1, *[None] * 10)  # raises
t.sum(x, 1, [x])  # raises
t.sum(x, 1.5, True)  # raises
x.sum(1.5)  # raises
x.sum(-7)  # raises
t.mean(x, 1, *[None] * 10)  # raises
t.mean(x, x)  # raises
x.mean([x])  # raises
x.mean('a')  # raises
t.max(x, None)  # raises
t.max(2**70, 1)  # raises
t.argmax(-7, 1)  # raises
t.argmax(x, 1, foo=1)  # raises
x.argmax(1.5)  # raises
x.argmax({})  # raises
t.std([x], 1)  # raises
t.std(-7, 1)  # raises
t.var(x, {})  # raises
t.var(object(), 1)  # raises
x.std({})  # raises
x.std(-7)  # raises
t.prod(1.5, 1)  # raises
t.prod(2**70, 1)  # raises
t.cumsum(2**70, 1)  # raises
t.cumsum('a', 1)  # raises
x.cumsum(1.5)  # raises
x.cumsum([])  # raises
t.all(x, 1, foo=1)  # raises
t.all(x, {})  # raises
t.any(object(), 1)  # raises
t.any(x, [x])  # raises
t.amax([], 1)  # raises
t.amax(None, 1)  # raises
t.logsumexp(x, 2**70)  # raises
t.logsumexp(2**70, 1)  # raises
t.norm(x, 2, *[None] * 10)  # raises
t.norm(x, 'a')  # raises
t.median(object(), 1)  # raises
t.median(x, -7)  # raises
t.sort(x, 2**70)  # raises
t.sort(None, 1)  # raises
x.sort(-7)  # raises
x.sort(1, foo=1)  # raises
t.argsort(x, [x])  # raises
t.argsort(2**70, 1)  # raises
t.topk(x, 'a')  # raises
t.topk(None, 2)  # raises
x.topk(2, *[None] * 10)  # raises
x.topk(2, foo=1)  # raises
t.kthvalue(x, x)  # raises
t.kthvalue(x, {})  # raises
t.cat([x,y], x)  # raises
t.cat([x,y], 0, *[None] * 10)  # raises
t.stack(-7, 0)  # raises
t.stack([x,y], [])  # raises
t.split(x, object())  # raises
t.split(x, 2, foo=1)  # raises
x.split([])  # raises
x.split(object())  # raises
t.chunk(x, 1.5)  # raises
t.chunk(2**70, 2)  # raises
x.chunk()  # raises
x.chunk(-7)  # raises
t.unbind(x, 1.5)  # raises
t.unbind([x], 0)  # raises
t.squeeze(2**70, 0)  # raises
t.squeeze(None, 0)  # raises
x.squeeze('a')  # raises
x.squeeze(-7)  # raises
t.unsqueeze({}, 0)  # raises
t.unsqueeze(x)  # raises
x.unsqueeze({})  # raises
x.unsqueeze()  # raises
t.transpose(x, [], 1)  # raises
t.transpose(x, 0, x)  # raises
x.transpose([], 1)  # raises
x.transpose(0, -7)  # raises
t.permute(x, object())  # raises
t.permute(x)  # raises
x.permute(1, 0, *[None] * 10)  # raises
x.permute(x, 0)  # raises
t.reshape(None, (4,3))  # raises
t.reshape([x], (4,3))  # raises
x.reshape(4)  # raises
x.reshape(-7, 3)  # raises
x.view(None, 3)  # raises
x.view(4)  # raises
x.expand({}, 4)  # raises
x.expand(3, -7)  # raises
x.repeat(x, 1)  # raises
x.repeat(2, [])  # raises
t.tile(2**70, (2,))  # raises
t.tile(1.5, (2,))  # raises
t.flip(x, {})  # raises
t.flip(x, (0,), foo=1)  # raises
t.roll(object(), 1, 0)  # raises
t.roll(x, None, 0)  # raises
t.flatten(x, 0, 1, *[None] * 10)  # raises
t.flatten(x, [], 1)  # raises
x.flatten([])  # raises
x.flatten([x])  # raises
t.narrow({}, 0, 1, 2)  # raises
t.narrow(x, 0, 1, 2**70)  # raises
x.narrow(0, 1, 'a')  # raises
x.narrow(0, 1, 1.5)  # raises
t.select(x, 0, 1, *[None] * 10)  # raises
t.select(x, 0, 1, foo=1)  # raises
x.select([x], 1)  # raises
x.select(0, 1, foo=1)  # raises
t.index_select([], 0, idx)  # raises
t.index_select(x, None, idx)  # raises
x.index_select(0)  # raises
x.index_select(0, 'a')  # raises
t.gather(x, 0, gi, foo=1)  # raises
t.gather(x, 0, [x])  # raises
x.gather(0, 'a')  # raises
x.gather(0, None)  # raises
x.scatter(0, object(), y)  # raises
x.scatter([x], gi, y)  # raises
x.scatter_add(0, gi, y, foo=1)  # raises
x.scatter_add(0, object(), y)  # raises
t.masked_select(x)  # raises
t.masked_select(1.5, msk)  # raises
t.masked_fill({}, msk, 1.)  # raises
t.masked_fill(None, msk, 1.)  # raises
x.masked_fill(2**70, 1.)  # raises
x.masked_fill(msk, 1., foo=1)  # raises
t.where(msk, x, object())  # raises
t.where(msk, x, y, foo=1)  # raises
t.take(x)  # raises
t.take(x, [x])  # raises
t.nonzero(None)  # raises
t.nonzero(-7)  # raises
t.clamp(None, 0., 1.)  # raises
t.clamp(-7, 0., 1.)  # raises
x.clamp('a', 1.)  # raises
x.clamp(0., 1., foo=1)  # raises
t.add(x)  # raises
t.add(x, y, *[None] * 10)  # raises
x.add(None)  # raises
x.add('a')  # raises
x.add_(y, *[None] * 10)  # raises
x.add_({})  # raises
t.sub(x, y, foo=1)  # raises
t.sub('a', y)  # raises
t.mul(x, y, *[None] * 10)  # raises
t.mul(x, y, foo=1)  # raises
t.div({}, y)  # raises
t.div(x, y, *[None] * 10)  # raises
t.pow([], 2)  # raises
t.pow([x], 2)  # raises
t.exp({})  # raises
t.exp(x, *[None] * 10)  # raises
t.neg(x, foo=1)  # raises
t.neg(None)  # raises
t.mam_int64mum(object(), y)  # raises
t.mam_int64mum(x, y, *[None] * 10)  # raises
t.atan2(x, None)  # raises
t.atan2([x], y)  # raises
t.eq(1.5, y)  # raises
t.eq(x, y, foo=1)  # raises
t.lt({}, y)  # raises
t.lt(x, 'a')  # raises
t.lerp(object(), y, 0.5)  # raises
t.lerp(x, 1.5, 0.5)  # raises
t.addcmul(x, {}, y)  # raises
t.addcmul(x, y, [])  # raises
t.matmul(x, x)  # raises
t.matmul(x, None)  # raises
x.matmul(m, *[None] * 10)  # raises
x.matmul(x)  # raises
t.mm(x, m, foo=1)  # raises
t.mm(2**70, m)  # raises
t.bmm(b3, 'a')  # raises
t.bmm(b3, b3b.mT, foo=1)  # raises
t.mv(x, {})  # raises
t.mv(x, v, *[None] * 10)  # raises
t.dot(v, 'a')  # raises
t.dot(v, {})  # raises
t.outer(v, v, *[None] * 10)  # raises
t.outer(v, [])  # raises
t.addmm(t.ones(3,5), x, None)  # raises
t.addmm(t.ones(3,5), x, x)  # raises
t.einsum('ij,jk->ik', x, m, foo=1)  # raises
t.einsum('ij,jk->ik', x, m, *[None] * 10)  # raises
t.tensordot(x, m, [])  # raises
t.tensordot(x, m)  # raises
t.tril(1.5, 0)  # raises
t.tril(x, 2**70)  # raises
t.diag(v, 1.5)  # raises
t.diag([x], 0)  # raises
t.diagonal('a', 0)  # raises
t.diagonal(x, 0, foo=1)  # raises
t.trace('a')  # raises
t.trace(sq, foo=1)  # raises
t.inverse(x)  # raises
linalg.inv({})  # raises
linalg.inv(-7)  # raises
linalg.norm(x, 'a')  # raises
linalg.norm(x, -7)  # raises
linalg.solve(object(), sq)  # raises
linalg.solve(sq, 2**70)  # raises
linalg.svd(None)  # raises
linalg.svd(object())  # raises
linalg.eigh(sq, foo=1)  # raises
linalg.qr(sq, foo=1)  # raises
linalg.qr()  # raises
t.zeros(2, {})  # raises
t.zeros(2, 1.5)  # raises
t.zeros({})  # raises
t.zeros(object())  # raises
t.ones(2, *[None] * 10)  # raises
t.ones(2**70)  # raises
t.full('a', 1.)  # raises
t.full((2,), 1., foo=1)  # raises
t.empty('a')  # raises
t.empty()  # raises
t.rand(None)  # raises
t.rand({})  # raises
t.randn('a')  # raises
t.randn(None)  # raises
t.randint(0, object(), (2,))  # raises
t.randint(0, 5, None)  # raises
t.randperm(object())  # raises
t.randperm(3, foo=1)  # raises
t.arange(0, 3, x)  # raises
t.arange(0, 2**70, 1)  # raises
t.linspace(0, 1, 3, *[None] * 10)  # raises
t.linspace({}, 1, 3)  # raises
t.eye(None)  # raises
t.eye(object())  # raises
t.zeros_like(x, foo=1)  # raises
t.zeros_like([])  # raises
t.full_like(x, object())  # raises
t.full_like(x)  # raises
t.tensor('a')  # raises
t.tensor([1.], *[None] * 10)  # raises
t.as_tensor(2**70)  # raises
t.as_tensor()  # raises
t.from_numpy([])  # raises
t.from_numpy('a')  # raises
t.bernoulli(object())  # raises
t.bernoulli(t.ones(2), foo=1)  # raises
t.multinomial([], 2)  # raises
t.multinomial(t.ones(3), [x])  # raises
t.normal(0., 1., -7)  # raises
t.normal(0., -7, (2,))  # raises
x.to({})  # raises
x.to(t.float64, foo=1)  # raises
x.type('a')  # raises
x.fill_({})  # raises
x.fill_(1., foo=1)  # raises
x.copy_()  # raises
x.copy_(y, foo=1)  # raises
x.size(-7)  # raises
x.size('a')  # raises
x.stride(1.5)  # raises
x.stride('a')  # raises
x.new_full((2,), 2**70)  # raises
x.clone(*[None] * 10)  # raises
x.clone(foo=1)  # raises
x.requires_grad_('a')  # raises
x.requires_grad_(object())  # raises
x.backward()  # raises
x.backward(None)  # raises
x.item()  # raises
t.softmax(-7, 1)  # raises
t.softmax([x], 1)  # raises
x.softmax(-7)  # raises
x.softmax()  # raises
t.log_softmax(x, 1, foo=1)  # raises
t.log_softmax(x, None)  # raises
t.sigmoid(x, foo=1)  # raises
t.sigmoid()  # raises
t.tanh({})  # raises
t.tanh(x, foo=1)  # raises
t.relu()  # raises
t.relu(None)  # raises
F.relu(-7)  # raises
F.relu({})  # raises
F.leaky_relu(x, [x])  # raises
F.leaky_relu('a', 0.1)  # raises
F.elu(object(), 1.)  # raises
F.elu(x, [x])  # raises
F.gelu()  # raises
F.gelu(2**70)  # raises
F.softmax(x, 1, foo=1)  # raises
F.softmax(x, 1, *[None] * 10)  # raises
F.log_softmax(x, 2**70)  # raises
F.log_softmax(x, 1, *[None] * 10)  # raises
F.dropout(x, 0.5, foo=1)  # raises
F.dropout(2**70, 0.5)  # raises
F.linear(x, {}, t.ones(5))  # raises
F.linear(x, t.ones(5,4), t.ones(5), *[None] * 10)  # raises
F.mse_loss(x, y, foo=1)  # raises
F.mse_loss(x, y, *[None] * 10)  # raises
F.l1_loss(x, y, *[None] * 10)  # raises
F.l1_loss(x, y, foo=1)  # raises
F.cross_entropy(x, t.tensor([0,1,2]), foo=1)  # raises
F.cross_entropy(x, t.tensor([0,1,2]), *[None] * 10)  # raises
F.nll_loss(x, t.tensor([0,1,2]), *[None] * 10)  # raises
F.nll_loss(x, t.tensor([0,1,2]), foo=1)  # raises
F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), foo=1)  # raises
F.binary_cross_entropy(x.sigmoid(), x)  # raises
F.smooth_l1_loss(x, y, *[None] * 10)  # raises
F.smooth_l1_loss(x, y, foo=1)  # raises
F.kl_div(x, y, foo=1)  # raises
F.kl_div(-7, y)  # raises
F.embedding(idx, [])  # raises
F.embedding(idx, object())  # raises
F.one_hot(idx, [])  # raises
F.one_hot(idx, [x])  # raises
F.layer_norm({}, (4,))  # raises
F.layer_norm(x, -7)  # raises
F.batch_norm(x, t.zeros(4), t.ones(4), foo=1)  # raises
F.batch_norm({}, t.zeros(4), t.ones(4))  # raises
F.conv2d([], t.ones(3,2,3,3))  # raises
F.conv2d([x], t.ones(3,2,3,3))  # raises
F.conv1d(t.ones(1,2,5), t.ones(3,2,3), *[None] * 10)  # raises
F.conv1d(t.ones(1,2,5), t.ones(3,2,3), foo=1)  # raises
F.max_pool2d(t.ones(1,2,4,4), {})  # raises
F.max_pool2d(2**70, 2)  # raises
F.avg_pool2d(object(), 2)  # raises
F.avg_pool2d(t.ones(1,2,4,4), 2, *[None] * 10)  # raises
F.adaptive_avg_pool2d(t.ones(1,2,4,4), 2, foo=1)  # raises
F.adaptive_avg_pool2d(t.ones(1,2,4,4), 2, *[None] * 10)  # raises
F.interpolate(x, 8)  # raises
F.interpolate(t.ones(1,2,4,4))  # raises
F.pad([], (1,1))  # raises
F.pad(x, object())  # raises
F.normalize(x, 2., foo=1)  # raises
F.normalize(x, 2., *[None] * 10)  # raises
F.cosine_similarity(x)  # raises
F.cosine_similarity(2**70, y)  # raises
t.autograd.grad(x.sum(), -7)  # raises
t.autograd.grad(x.sum(), 2**70)  # raises
t.logical_and(msk, msk, *[None] * 10)  # raises
t.logical_and(msk, [x])  # raises
t.bitwise_and(1.5, m_int64)  # raises
t.bitwise_and(m_int64, m_int64, foo=1)  # raises
t.isnan([])  # raises
t.isnan(-7)  # raises
t.isclose(x, y, foo=1)  # raises
t.isclose(x, [x])  # raises
t.allclose(2**70, y)  # raises
t.allclose(x, y, foo=1)  # raises
t.equal(x, [])  # raises
t.equal(x)  # raises
t.floor_divide(x, [x])  # raises
t.floor_divide(x, object())  # raises
t.remainder(x)  # raises
t.remainder(None, y)  # raises
t.fmod([x], y)  # raises
t.fmod('a', y)  # raises
t.histc(x, {})  # raises
t.histc(x, 2**70)  # raises
t.bincount(idx, *[None] * 10)  # raises
t.bincount(idx, foo=1)  # raises
t.cdist(object(), y)  # raises
t.cdist(x, -7)  # raises
t.pdist(x[0])  # raises
t.pdist(x[None])  # raises
t.pdist(x, -1.0)  # raises
t.cross(x, t.ones(3))  # raises
t.cross(t.ones(3), {})  # raises
t.movedim('a', 0, 1)  # raises
t.movedim({}, 0, 1)  # raises
t.swapaxes(x, 0, 1, *[None] * 10)  # raises
t.swapaxes(x, 0, 2**70)  # raises
x.unfold(0, 2, -7)  # raises
x.unfold(0, {}, 1)  # raises
t.repeat_interleave(x, 2**70)  # raises
t.repeat_interleave(object(), 2)  # raises
t.searchsorted(v, [])  # raises
t.searchsorted('a', x)  # raises
t.bucketize(x, None)  # raises
t.bucketize({}, v)  # raises
t.meshgrid(v, v, foo=1)  # raises
t.broadcast_to(x, 'a')  # raises
t.broadcast_to(x, {})  # raises
t.broadcast_tensors(x, v, foo=1)  # raises
t.real(1.5)  # raises
t.real(m_complex64, foo=1)  # raises
t.conj([x])  # raises
t.conj([])  # raises
t.complex(x)  # raises
t.complex(x, 2**70)  # raises
t.polar(x, {})  # raises
t.polar(object(), y)  # raises
t.finfo(-7)  # raises
t.finfo({})  # raises
t.promote_types(2**70, t.int64)  # raises
t.promote_types(t.float32, 'a')  # raises
t.can_cast([], t.int64)  # raises
t.can_cast(t.float32, 2**70)  # raises
t.is_tensor()  # raises
t.is_tensor(x, *[None] * 10)  # raises
t.numel(x, foo=1)  # raises
t.numel(x, *[None] * 10)  # raises
t.index_add(x, 0, idx, [x])  # raises
t.index_add(x, -7, idx, y[:2])  # raises
t.index_fill(x, [x], idx, 1.)  # raises
t.index_fill(-7, 0, idx, 1.)  # raises
t.quantile(x, {})  # raises
t.quantile(object(), 0.5)  # raises
t.count_nonzero({}, 0)  # raises
t.count_nonzero(x, 0, *[None] * 10)  # raises
t.cumprod(x, 0, *[None] * 10)  # raises
t.cumprod(-7, 0)  # raises
t.diff(x, [])  # raises
t.diff({}, 1)  # raises
t.nan_to_num(-7, 0.)  # raises
t.nan_to_num([], 0.)  # raises
t.isin(m_int64, {})  # raises
t.isin(m_int64, [x])  # raises
t.hstack()  # raises
t.hstack(1.5)  # raises
t.vstack(1.5)  # raises
t.vstack([x,y], *[None] * 10)  # raises
t.block_diag(-7, y)  # raises
t.block_diag(x, y, *[None] * 10)  # raises
t.kron(x, [])  # raises
t.kron(x, m, *[None] * 10)  # raises
t.renorm(x, 2, 0, object())  # raises
t.renorm(x, [], 0, 1.)  # raises
t.logaddexp(x, None)  # raises
t.logaddexp(x, object())  # raises
t.hypot(None, y)  # raises
t.hypot('a', y)  # raises
t.heaviside(x, [x])  # raises
t.heaviside(-7, y)  # raises
t.trapezoid([x])  # raises
t.trapezoid(x, foo=1)  # raises
t.rot90(x, 1.5)  # raises
t.rot90(x, x)  # raises
t.square(x, *[None] * 10)  # raises
t.square(None)  # raises
t.sqrt(x, *[None] * 10)  # raises
t.sqrt([])  # raises
t.round({})  # raises
t.round(-7)  # raises
t.sign([x])  # raises
t.sign(object())  # raises
t.addbmm({}, b3, b3b.mT)  # raises
t.addbmm(t.ones(3,3), b3, b3b.mT, foo=1)  # raises
t.baddbmm(t.ones(2,3,3), 1.5, b3b.mT)  # raises
t.baddbmm(t.ones(2,3,3), [], b3b.mT)  # raises
# empty arguments, complex factors, sizes out of range
t.roll(x, ())  # raises
t.roll(x, (), (0,))  # raises
x.flip()  # raises
t.flip(x)  # raises
s.permute()  # raises
s.repeat()  # raises
x.tile()  # raises
x.sum_to_size()  # raises
t.set_num_interop_threads(-1)  # raises
t.set_num_interop_threads(0)  # raises
t.set_num_interop_threads('a')  # raises
t.add(x, y, alpha=1j)  # f32 i64 raises
t.sub(x, 1, alpha=1j)  # raises
t.rsub(x, y, alpha=1j)  # raises
o = x.clone(); o.add_(y, alpha=1j)  # raises
F.celu(x, 0)  # raises
F.celu_(x.clone(), 0.0)  # raises
F.embedding_bag(t.tensor([[3]]), x)  # f32 f64 raises
F.embedding_bag(t.tensor([0, 1, -5]), x, t.tensor([0, 2]), mode='max')  # raises
F.embedding_bag(t.tensor([[1]]), x, padding_idx=7)  # raises
nn.RNN(2, 2)(t.ones(0, 1, 2))  # raises nograd
nn.LSTM(2, 2)(t.ones(0, 2))  # raises nograd
F.interpolate(im, scale_factor=1e30)  # raises
F.interpolate(im, scale_factor=float('nan'))  # raises
F.adaptive_avg_pool1d(v, 1)  # raises
F.adaptive_avg_pool2d(x, (1, 2))  # raises
F.adaptive_max_pool2d(x, (1, 2))  # raises
F.adaptive_avg_pool3d(b3, (1, 2, 2))  # raises
F.adaptive_avg_pool2d(im, (1,))  # raises
F.adaptive_avg_pool2d(x, 1)
F.adaptive_avg_pool2d(t.ones(1, 1, 0, 2), 1)
t.tensor_split(v, t.ones(2))  # raises
t.tensor_split(v, t.tensor(2, dtype=t.int32))  # raises
t.tensor_split(v, t.ones(2, 2, dtype=t.int64))  # raises
t.polygamma(1 << 62, t.tensor(1.5))
x.new(size=(2,)).shape
x.new(size=(2, 3), device='cpu').shape
F.cosine_embedding_loss(x, v, t.ones(3))  # raises
F.cosine_embedding_loss(x, y, t.tensor(1.0))  # raises
F.cosine_embedding_loss(b3, b3, t.ones(2))  # raises
t.Size([1]) + type('R', (), {'__radd__': lambda self, other: (9, *other)})()
t.Size([1]) + 3  # raises
""")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)
