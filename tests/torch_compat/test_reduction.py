"""Sums, means, extrema, norms, cumulative sums: over everything, over dims, empty, 0-d, dtypes."""

import pytest
from compat import cases, check, check_second_order, second_order

CASES = cases("""
# sum and mean
t.sum(x)                          # all
x.sum()                           # all
x.sum(0)                          # all
x.sum(1)                          # mix
x.sum(-1, keepdim=True)           # all
x.sum((0, 1))                     # mix
x.sum(dim=(0,), keepdim=True)     # mix
h4.sum((1, 3))                    # mix
h4.sum((-1, 0), keepdim=True)     # mix
h4.sum([1, 2])                    # f i64
h4.sum(())                        # f
t.sum(x, 0)                       # mix
t.sum(x, dim=1)                   # mix
t.sum(x, dim=1, keepdim=True)     # mix
t.sum(x, axis=1)                  # f
x.sum(axis=0)                     # f
x.sum(dtype=t.float64)            # mix
x.sum(0, dtype=t.float32)         # mix
x.sum(dtype=t.int32)              # i64 u8
s.sum()                           # mix
s.sum(0)                          # f i64
s.sum(-1)                         # f
e.sum()                           # mix
e.sum(0)                          # mix
e.sum(1)                          # mix
e0.sum()                          # all
nc.sum(0)                         # mix
step.sum(1)                       # mix
x.t().sum(0)                      # mix
x.expand(2, 3, 4).sum(0)          # f
line.sum()                        # mix
wide.sum()                        # mix
wide.sum(0)                       # mix
wide.sum(1)                       # mix
msk.sum()
msk.sum(0)
(x > 0).sum()                     # f
(x > 0).sum(1)                    # f
x.mean()                          # fc
x.mean(0)                         # fc
x.mean(1, keepdim=True)           # fc
x.mean((0, 1))                    # fc
x.mean(dim=-1)                    # fc
h4.mean((2, 3))                   # fc
h4.mean((2, 3), keepdim=True)     # f
t.mean(x)                         # fc
t.mean(x, 0)                      # f
t.mean(x, dim=1, keepdim=True)    # f
t.mean(x, dim=[0, 1])             # f
x.mean()                          # i64 raises
x.mean()                          # bool raises
x.mean(dtype=t.float32)           # mix
s.mean()                          # fc
e.mean()                          # f
e.mean(0)                         # f
e.mean(1)                         # f
wide.mean()                       # fc
(x > 0).float().mean()            # f
t.nanmean(special)                # f
t.nansum(special)                 # f
# prod
x.prod()                          # num
x.prod(0)                         # num
x.prod(1, keepdim=True)           # f
t.prod(prod1)                     # mix
t.prod(prod1, 1)                  # mix
t.prod(zeros34)                   # f
t.prod(zeros34, 1)                # f
e.prod()                          # f i64
msk.prod()
x.prod(dtype=t.float64)           # f32 i64
# var and std
x.var()                           # fc
x.var(0)                          # f
x.var(1, unbiased=False)          # f
x.var(unbiased=False)             # fc
x.var(dim=1, keepdim=True)        # f
x.var((0, 1), correction=0)       # f
x.var(0, correction=2)            # f
x.std()                           # fc
x.std(0)                          # fc
x.std(0, unbiased=False)          # f
x.std(1, keepdim=True)            # f
x.std((0, 1))                     # f
x.std(dim=-1, correction=0)       # f
t.std(x)                          # f
t.std(x, 1)                       # f
t.std(x, dim=0, keepdim=True)     # f
t.var(x, dim=1, unbiased=False)   # f
t.var_mean(x, 0)                  # f
t.std_mean(x, dim=1)              # f
one.std()                         # f
one.var(unbiased=False)           # f
x.std()                           # i64 raises
t.ones(4, dtype=dt).std()         # f
# max and min
x.max()                           # ordered
x.min()                           # ordered
t.max(x)                          # ordered
t.min(x)                          # ordered
x.max(0)                          # ordered
x.max(1)                          # f i64
x.max(1)[0]                       # f i64
x.max(1)[1]                       # f i64
x.max(1).values                   # f i64
x.max(1).indices                  # f i64
x.max(-1, keepdim=True)           # f i64
x.max(dim=0, keepdim=True)[0]     # f
x.min(0)                          # ordered
x.min(1, keepdim=True)            # f i64
t.max(x, 1)                       # f i64
t.max(x, dim=1)                   # f i64
t.min(x, dim=0)                   # f i64
t.max(x, -1, keepdim=True)        # f i64
ties.max()                        # f
ties.min()                        # f
ties.max(1)                       # f
ties.max(0).values                # f
ties.amax(1)                      # f i64
ties.amin(0)                      # f i64
ties.amax()                       # f
x.amax((0, 1))                    # ordered
x.amin(1, keepdim=True)           # ordered
t.amax(x, 0)                      # f
t.aminmax(x)                      # f
t.aminmax(x, dim=1)               # f
special.max()                     # f
special.min()                     # f
special[3:].max()                 # f
special.max(0)                    # f
special.argmax()                  # f
special[1:].argmin()              # f
s.max()                           # f i64
s.max(0)                          # f i64
x.max()                           # c64 raises
e.max()                           # f raises
e.max(0)                          # f raises
e.max(1)                          # f
e0.min()                          # raises
msk.max()
msk.max(1)
# argmax and argmin
x.argmax()                        # real
x.argmax(0)                       # real
x.argmax(1)                       # real
x.argmax(-1, keepdim=True)        # f i64
x.argmax(dim=1)                   # f i64
t.argmax(x)                       # f i64
t.argmax(x, 1)                    # f i64
t.argmax(x, dim=-1)               # f i64
t.argmax(x, dim=1, keepdim=True)  # f
x.argmin()                        # real
x.argmin(0)                       # f i64
t.argmin(x, dim=1)                # f i64
ties.argmax()                     # f
ties.argmax(1)                    # f
tiesv.argmin()                    # f
e.argmax()                        # raises
e.argmax(1)                       # f
s.argmax()                        # f
x.argmax(1)                       # bool raises
nc.argmax(0)                      # f
# all and any
x.all()                           # all
x.all(0)                          # mix
zeros34.all(1)                    # all
zeros34.all(1, keepdim=True)      # mix
zeros34.any()                     # all
zeros34.any(0)                    # all
zeros34.any(dim=1)                # mix
t.all(zeros34)                    # mix
t.all(zeros34, 1)                 # mix
t.any(zeros34)                    # mix
t.any(zeros34, dim=0)             # mix
t.any(zeros34, dim=0, keepdim=True)   # mix
(x == x).all()                    # all
(x > y).any()                     # f
e.all()                           # mix
e.any()                           # mix
e.any(0)                          # mix
t.all(x > -100)                   # f
t.all(h4, (0, 1))                 # f
t.isnan(special).any()            # f
t.count_nonzero(zeros34)          # all
t.count_nonzero(zeros34, dim=0)   # mix
# norms
x.norm()                          # fc
x.norm(2)                         # fc
x.norm(1)                         # fc
x.norm(p=2, dim=1)                # fc
x.norm(dim=0)                     # f
x.norm(2, 1)                      # f
x.norm(2, -1, True)               # f
x.norm(p=1, dim=1, keepdim=True)  # f
x.norm(p=3)                       # f
x.norm(float('inf'))              # f
x.norm(-float('inf'))             # f
x.norm(0)                         # f
x.norm(p=0.5)                     # f
x.norm('fro')                     # f
x.norm(dim=(0, 1))                # f
t.norm(x)                         # fc
t.norm(x, 2)                      # f
t.norm(x, p=1)                    # f
t.norm(x, dim=1)                  # f
t.norm(x, p=2, dim=1)             # f
t.norm(x, p='fro', dim=(0, 1))    # f
t.norm(x - y, 2, 1)               # f
t.norm(t.zeros(3, dtype=dt, requires_grad=True))   # f
zeros34.norm(dim=1)               # f
x.norm()                          # i64 raises
s.norm()                          # f
e.norm()                          # f
linalg.norm(x)                    # fc
linalg.norm(x, dim=1)             # f
linalg.norm(x, ord=1)             # f
linalg.norm(x, ord=float('inf'))  # f
linalg.norm(v, ord=3)             # f
linalg.norm(sq, 'nuc')            # f loose
linalg.vector_norm(x)             # f
linalg.vector_norm(x, 1, dim=0)   # f
linalg.matrix_norm(x)             # f
t.dist(x, y)                      # f
t.dist(x, y, 1)                   # f
t.cdist(x, y)                     # f loose
# cumulative
x.cumsum(0)                       # all
x.cumsum(1)                       # mix
x.cumsum(-1)                      # f i64
t.cumsum(x, 0)                    # mix
t.cumsum(x, dim=1)                # mix
t.cumsum(x, dim=1, dtype=t.float64)   # f32 i64
t.cumsum(v, 0)                    # mix
s.cumsum(0)                       # f
e.cumsum(0)                       # f
t.cumprod(prod1, 0)               # mix
prod1.cumprod(1)                  # f i64
zeros34.cumprod(1)                # f
t.cummax(x, 0)                    # f i64
x.cummax(1)                       # f
t.cummin(x, 1)                    # f i64
t.logcumsumexp(x, 1)              # f
t.diff(v6)                        # f i64
t.diff(x, dim=0)                  # f
# logsumexp and friends
t.logsumexp(x, 1)                 # f
t.logsumexp(x, dim=0, keepdim=True)   # f
x.logsumexp((0, 1))               # f
special.logsumexp(0)              # f
# mode, median, quantile, unique, bincount
ties.mode()                       # real
ties.mode(0)                      # f i64
t.mode(ties, 1)                   # f i64
t.mode(ties, dim=1, keepdim=True) # f
x.median()                        # real
x.median(1)                       # f i64
t.median(x, dim=0)                # f
t.median(v6)                      # f
t.nanmedian(special)              # f
t.quantile(x, 0.5)                # f
t.quantile(x, 0.25, dim=1)        # f
t.quantile(x, t.tensor([0.1, 0.9], dtype=dt), dim=0)   # f
t.unique(ties)                    # real
t.unique(ties, return_counts=True)    # f i64
t.unique(ties, return_inverse=True)   # i64
t.unique(ties, sorted=True, return_inverse=True, return_counts=True)   # i64
ties.unique()                     # f i64
t.unique_consecutive(tiesv)       # f i64
t.bincount(idx4)
t.bincount(idx4, minlength=6)
t.bincount(idx4, weights=v)       # f
t.histc(x, 4, -4, 4)              # f
t.trace(sq)                       # f i64
sq.trace()                        # f
# compositions
x.sum().item()                    # some
x.mean().item()                   # f
x.max().item()                    # f i64
(x - x.mean(0)).pow(2).mean(0)    # f
(x - x.max(1, keepdim=True)[0]).exp().sum(1)   # f
x.sum(0).sum(0)                   # f
x.sum(1).mean()                   # f
((x - y) ** 2).mean()             # f
(x.argmax(1) == y.argmax(1)).float().mean()    # f
(x.argmax(1) == cls).sum().item() # f
# errors
x.sum(2)                          # raises
x.sum(-3)                         # raises
x.sum((0, 0))                     # raises
x.sum('a')                        # raises
x.max(2)                          # raises
x.argmax(5)                       # raises
x.cumsum()                        # raises
x.cumsum(2)                       # raises
x.mean(3)                         # raises
x.std(4)                          # raises
x.norm(dim=7)                     # raises
x.all(3)                          # raises
t.sum()                           # raises
t.sum(3)                          # raises
t.max(3, 4)                       # raises
t.mean([1.0])                     # raises
""")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)


@pytest.mark.parametrize("case", second_order(CASES), ids=str)
def test_second_order(case):
    check_second_order(case)
