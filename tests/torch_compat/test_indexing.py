"""Indexing and assignment, gather and scatter, index_* and masked_*: values, views, bounds."""

import pytest
from compat import cases, check, check_second_order, second_order

CASES = cases("""
# basic indexing: views
x[0]                              # all
x[-1]                             # mix
x[1, 2]                           # all
x[1][2]                           # f
x[-1, -4]                         # f
x[:]                              # f
x[...]                            # f
x[1:]                             # mix
x[:2]                             # mix
x[1:2]                            # f
x[::2]                            # mix
x[1::2]                           # f
x[:-1]                            # f
x[-2:]                            # f
x[2:1]                            # f
x[5:]                             # f
x[-100:100]                       # f
x[:, 1]                           # mix
x[:, 1:3]                         # mix
x[:, ::2]                         # f
x[0:2, 1:]                        # f
x[0, :]                           # f
x[0, 1:3]                         # f
x[..., 0]                         # mix
x[..., -1:]                       # f
x[None]                           # mix
x[:, None]                        # mix
x[..., None]                      # f
x[None, :, None]                  # f
x[None, ..., None]                # f
x[1, None]                        # f
x[()]                             # f
h4[0]                             # f
h4[0, 1]                          # f
h4[:, 1, :, 2]                    # f
h4[..., 1, 0]                     # f
h4[0, ..., 0]                     # f
h4[:, :, 1:3, ::2]                # f
h4[1:, None, 0, ..., None]        # f
s[()]                             # f
s[...]                            # f
s[None]                           # f
v[0]                              # mix
v[1:3]                            # mix
v[np.int64(1)]                    # f
x[np.int32(1), np.int64(2)]       # f
x[True]                           # f i64
x[False]                          # f
s[True]                           # f
x[x.size(0) - 1]                  # f
x[slice(0, 2)]                    # f
x[(0, slice(1, 3))]               # f
x[idx[0]]                         # f
x[idx[0], idx[1]]                 # f
x[idx[0]:idx[1]]                  # f
x[:idx[1]]                        # f
x[1][1:][0]                       # f
x.t()[1]                          # f
x.t()[1:, 0]                      # f
nc[1]                             # f
step[:, 1]                        # f
e[:, 1]                           # f
e[0:0]                            # f
# advanced indexing: copies
x[idx]                            # all
x[[0, 2]]                         # mix
x[idx2]                           # mix
x[neg]                            # f
x[noidx]                          # f
x[[]]                             # f
x[:, idx]                         # mix
x[:, [0, 3]]                      # f
x[idx, 1]                         # f
x[1, idx]                         # f
x[idx, idx]                       # f
x[[0, 1], [2, 3]]                 # f
x[idx, :2]                        # f
x[:2, idx]                        # f
x[idx, None]                      # f
x[None, idx]                      # f
x[..., idx]                       # f
x[idx[:, None], neg]              # f
x[idx[:, None], idx4]             # f
x[idx2, idx2]                     # f
x[np.array([0, 2])]               # f
x[np.array([[0, 2], [1, 1]])]     # f
x[(0, 2), (1, 3)]                 # f
x[range(2)]                       # f
h4[:, idx]                        # f
h4[idx4[:2] - 1, :, idx]          # f
h4[0, :, [0, 3]]                  # f
h4[:, [0, 2], :, [1, 3]]          # f
h4[:, [0, 2], [1, 3]]             # f
h4[0, :, idx, 1]                  # f
h4[..., [0, 1], [1, 2]]           # f
h4[:, 0, idx]                     # f
h4[:, idx, 1:3, 0]                # f
h4[[1], :, 0]                     # f
h4[None, [0, 1]]                  # f
h4[:, None, [0, 1]]               # f
h4[[0, 1], None, [0, 1]]          # f
x[t.tensor(1)]                    # f
x[t.tensor([1])]                  # f
x[t.tensor([0, 1], dtype=t.int32)]     # f
x[t.tensor([0, 1], dtype=t.uint8)]     # raises
x[t.tensor([1, 0, 1], dtype=t.uint8)]  # f
v[idx4]                           # mix
v[idx2]                           # f
nc[idx]                           # f
step[idx, :]                      # f
x.t()[idx]                        # f
e[:, idx]                         # f
x[idx][0]                         # f
x[idx].sum()                      # f
x[gi]                             # f
v6[idx4].sum()                    # f
# boolean masks
x[msk]                            # all
x[x > 0]                          # ordered
x[~msk]                           # f
x[none34]                         # f
x[mskr]                           # mix
x[:, mskv]                        # mix
x[mskr, 0]                        # f
x[mskr, :2]                       # f
x[mskr, mskr]                     # raises
x[mskr, idx]                      # f
x[..., mskv]                      # f
x[None, mskr]                     # f
h4[:, msk]                        # f
h4[0, msk]                        # f
h4[:, msk, 1]                     # f
h4[0, mskr, :, [0, 1]]            # f
v[mskv]                           # f
v[[True, False, True, True]]      # f
x[msk].mean()                     # f
s[t.tensor(True)]                 # f
s[t.tensor(False)]                # f
x[msk & msk2]                     # f
x[msk.numpy()]                    # f
x[mskr.numpy()]                   # f
x[mskv]                           # raises
x[msk2.t()]                       # raises
v[msk]                            # raises
# errors
x[3]                              # raises
x[-4]                             # raises
x[0, 4]                           # raises
x[0, 0, 0]                        # raises
x[..., ...]
x[t.tensor([3])]                  # raises
x[[0, 5]]                         # raises
x[:, [4]]                         # raises
x[1.0]                            # raises
x['a']                            # raises
x[x]                              # raises
x[::-1]                           # raises
x[::0]                            # raises
x[1.5:]                           # raises
x[t.tensor([0.5])]                # raises
x[[0, 1], [0, 1, 2]]              # raises
x[{}]                             # raises
x[idx, idx, idx]                  # raises
s[0]                              # raises
s[0:1]                            # raises
v[0][0]                           # raises
e[0]                              # raises
x[None, 3]                        # raises
x[10**20]                         # raises
# assignment
o = x.clone(); o[0] = 1; o                          # all
o = x.clone(); o[0] = 1.5; o                        # all
o = x.clone(); o[0, 1] = 7; o                       # mix
o = x.clone(); o[-1] = v; o                         # mix
o = x.clone(); o[:, 0] = 0; o                       # mix
o = x.clone(); o[1:] = 3; o                         # f
o = x.clone(); o[:, ::2] = y[:, ::2]; o             # mix
o = x.clone(); o[:, 1:3] = w[:, None]; o            # f
o = x.clone(); o[...] = 2; o                        # f
o = x.clone(); o[:] = y; o                          # mix
o = x.clone(); o[()] = 2; o                         # f
o = x.clone(); o[:] = v; o                          # f
o = x.clone(); o[None] = y; o                       # f
o = x.clone(); o[0] = s; o                          # f
o = x.clone(); o[0] = one; o                        # f
o = x.clone(); o[0:2] = r; o                        # f
o = x.clone(); o[0] = [1, 2, 3, 4]; o               # raises
o = x.clone(); o[0] = t.tensor([1, 2, 3, 4]); o     # f
o = x.clone(); o[0] = np.arange(4); o               # raises
o = x.clone(); o[0, 0] = True; o                    # f
o = x.clone(); o[0] = m_int64[0]; o                 # f
o = x.clone(); o[0] = m_float64[0]; o               # f32 i64
o = x.clone(); o[idx] = 0; o                        # mix
o = x.clone(); o[idx] = y[:2]; o                    # mix
o = x.clone(); o[[0, 2]] = v; o                     # f
o = x.clone(); o[:, idx] = 5; o                     # f
o = x.clone(); o[:, idx] = y[:, :2]; o              # f
o = x.clone(); o[idx, 1] = 9; o                     # f
o = x.clone(); o[idx, idx] = v[:2]; o               # f
o = x.clone(); o[idx, :2] = y[:2, :2]; o            # f
o = x.clone(); o[1, idx] = -1; o                    # f
o = x.clone(); o[idx2, idx2] = 4; o                 # f
o = x.clone(); o[idx] += 1; o                       # mix
o = x.clone(); o[idx4] += 1; o                      # f
o = x.clone(); o[0] += 1; o                         # mix
o = x.clone(); o[0] *= y[1]; o                      # mix
o = x.clone(); o[:, 1] -= 2; o                      # f
o = x.clone(); o[1:, 2:] /= 2; o                    # f
o = x.clone(); o[msk] = 0; o                        # all
o = x.clone(); o[msk] = s; o                        # f
o = x.clone(); o[msk] = y[msk]; o                   # mix
o = x.clone(); o[o < 0] = 0; o                      # ordered
o = x.clone(); o[mskr] = 1; o                       # f
o = x.clone(); o[mskr] = y[:2]; o                   # f
o = x.clone(); o[mskr, 0] = 1; o                    # f
o = x.clone(); o[:, mskv] = y[:, :3]; o             # f
o = x.clone(); o[msk] += 1; o                       # f
o = x.clone(); o[msk] *= 2; o                       # f
o = x.clone(); o[none34] = 3; o                     # f
o = x.clone(); o[True] = 1; o                       # f
o = x.clone(); o[t.tensor(1)] = 0; o                # f
o = x.clone(); o.t()[0] = 1; o                      # f
o = x.clone(); o[0][1] = 5; o                       # f
o = x.clone(); o[1:][0] = 5; o                      # f
o = x.clone(); o.view(-1)[3] = 5; o                 # f
o = h4.clone(); o[:, idx, :, 1] = 3; o              # f
o = h4.clone(); o[0, :, idx] = 3; o                 # f
o = h4.clone(); o[..., 0] = 1; o                    # f
o = h4.clone(); o[:, msk] = 0; o                    # f
o = t.zeros(3, 4, dtype=dt); o[0] = v; o            # f i64
o = t.zeros(3, 4, dtype=dt); o[:, 1] = w; o         # f
o = t.zeros(3, 4, dtype=dt); o[idx] = x[:2]; o      # f
o = t.zeros(3, 4, dtype=dt); o[msk] = x[msk]; o     # f
o = t.zeros(3, dtype=dt); o[1] = s; o               # f
o = t.zeros(3, 4, dtype=dt); o[0, 0] = s; o[1, 1] = s2; o      # f
o = t.zeros(3, 4); o[t.arange(3), cls] = 1; o
x[0] = 1                                            # mix
x[0] = 1; x                                         # i64
o = x.clone(); o[3] = 1                             # raises
o = x.clone(); o[0] = w                             # raises
o = x.clone(); o[:2] = y                            # raises
o = x.clone(); o[idx] = w                           # raises
o = x.clone(); o[msk] = w                           # raises
o = x.clone(); o['a'] = 1                           # raises
o = x.clone(); o[0] = 'a'                           # raises
o = x.clone(); o[0] = None                          # raises
o = x.clone(); o[0, 0] = v                          # raises
o = x.clone(); o[[7]] = 1                           # raises
o = x.clone(); o[mskv] = 1                          # raises
o = x.clone(); del o[0]                             # raises
o = x.clone(); o[0] = 1j                            # raises
o = x.clone().long(); o[0] = float('nan')           # raises
# gather, scatter, take
t.gather(x, 0, gi)                # all
t.gather(x, 1, gj)                # mix
x.gather(1, gj)                   # mix
x.gather(0, gi)                   # f
x.gather(dim=1, index=gj)         # f
x.gather(1, cls.unsqueeze(1))     # f
x.gather(1, cls[:, None]).squeeze(1)   # f
x.gather(-1, gj)                  # f
v.gather(0, idx)                  # f
x.gather(1, gj[:0])               # f
s.gather(0, t.tensor(0))          # f
x.gather(1, gj + 9)               # raises
x.gather(1, -gj)                  # raises
x.gather(2, gj)                   # raises
x.gather(0, idx)                  # raises
x.gather(1, x)                    # raises
x.gather(1, gj.float())           # raises
v.gather(0, gj)                   # raises
x.gather(1, t.zeros(4, 1).long()) # raises
x.scatter(0, gi, y)               # mix nograd
x.scatter(1, gj, y)               # f
x.scatter(1, gj, 0)               # mix
x.scatter(1, gj, 1.5)             # f
x.scatter(1, gj, 9, reduce='add') # f nograd
o = x.clone(); o.scatter_(1, gj, y); o              # mix
o = x.clone(); o.scatter_(1, gj, 1); o              # mix
o = t.zeros(3, 4); o.scatter_(1, cls.unsqueeze(1), 1); o
t.zeros(3, 4).scatter_(1, cls[:, None], 1.0)
t.zeros(3, 4).scatter_(1, cls.view(-1, 1), t.ones(3, 1))
t.zeros(3, 4).scatter_(dim=1, index=cls[:, None], value=1)
x.clone().scatter_(1, gj, m_int64)                  # raises
x.scatter(1, gj + 9, y)           # raises
x.scatter(5, gj, y)               # raises
x.scatter(1, cls2.t(), y)         # raises
x.scatter_add(0, gi, y)           # num
x.scatter_add(1, gj, y)           # f
t.scatter_add(x, 0, gi, y)        # f
x.clone().scatter_add_(0, gi, y)  # f
x.scatter_reduce(0, gi, y, 'sum') # f
x.scatter_reduce(0, gi, y, 'amax')     # f
x.scatter_reduce(0, gi, y, 'mean')     # f
x.scatter_reduce(0, gi, y, 'prod')     # f
x.scatter_reduce(0, gi, y, 'amin', include_self=False)   # f
x.take(idx)                       # f
t.take(x, idx2)                   # f
t.take_along_dim(x, gj, 1)        # f
x.put(idx, v[:2])                 # f
# index_*
x.index_select(0, idx)            # all
x.index_select(1, idx4)           # mix
t.index_select(x, 0, idx4)        # f
t.index_select(x, dim=1, index=idx)    # f
x.index_select(-1, idx)           # f
x.index_select(0, noidx)          # f
x.index_select(0, idx2)           # raises
x.index_select(0, idx + 9)        # raises
x.index_select(2, idx)            # raises
x.index_select(0, idx.float())    # raises
x.index_add(0, idx, y[:2])        # num
x.index_add(1, idx, y[:, :2], alpha=2)     # f
x.clone().index_add_(0, idx4[:3], y)       # f
x.index_copy(0, idx, y[:2])       # f
x.clone().index_copy_(1, idx, y[:, :2])    # f
x.index_fill(0, idx, 1.0)         # f
x.clone().index_fill_(1, idx, -1) # mix
x.index_put((idx,), y[:2])        # f
x.index_put((idx, idx), v[:2])    # f
x.index_put((idx4,), r, accumulate=True)   # f
x.clone().index_put_((idx,), y[:2])        # f
x.index_put((msk,), s)            # f
x.index_add(0, idx, y)            # raises
x.index_add(0, idx + 7, y[:2])    # raises
# masked_*
x.masked_fill(msk, 0)             # all
x.masked_fill(msk, -1.5)          # mix
x.masked_fill(msk, float('-inf')) # fc
x.masked_fill(msk, -1e9)          # f
x.masked_fill(msk, s)             # f
x.masked_fill(mskv, 0)            # f
x.masked_fill(mskr[:, None], 0)   # f
x.masked_fill(msk == 0, -1e9)     # f
v.masked_fill(msk, 0)             # f
t.masked_fill(x, msk, 2)          # f
x.clone().masked_fill_(msk, 3)    # mix
x.masked_fill(x, 0)               # raises
x.masked_fill(msk, v)             # raises
x.masked_fill(msk2[:2], 0)        # raises
x.masked_fill(msk, 1j)            # raises
t.masked_select(x, msk)           # all
x.masked_select(msk)              # mix
x.masked_select(mskv)             # f
x.masked_select(x > 0)            # f
x.masked_select(idx)              # raises
x.masked_scatter(msk, y)          # f
t.nonzero(zeros34)                # all
zeros34.nonzero()                 # mix
t.nonzero(zeros34, as_tuple=True) # mix
msk.nonzero()
msk.nonzero(as_tuple=True)
(x > 0).nonzero().squeeze()       # f
s.nonzero()                       # f
e.nonzero()                       # f
t.argwhere(zeros34)               # f
# the rest
t.select_scatter(x, v, 0, 0)      # f
t.slice_scatter(x, y[:1], 0, 0, 1)     # f
t.diagonal_scatter(sq, v)         # f
x.fill_diagonal_(0)               # f nograd
sq.clone().fill_diagonal_(1)      # f
F.one_hot(cls)
F.one_hot(cls, 5)
F.one_hot(cls2, num_classes=4)
F.one_hot(cls, num_classes=4).float()
F.one_hot(cls, 2)                 # raises
F.one_hot(x)                      # raises
F.one_hot(-cls)                   # raises
F.embedding(ids, x)               # f
F.embedding(ids, x, padding_idx=0)     # f
F.embedding(ids + 7, x)           # raises
""")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)


@pytest.mark.parametrize("case", second_order(CASES), ids=str)
def test_second_order(case):
    check_second_order(case)
