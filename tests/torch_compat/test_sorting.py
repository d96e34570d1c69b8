"""sort, argsort, topk, kthvalue, searchsorted: values, indices, ties, errors."""

import pytest
from compat import cases, check, check_second_order, second_order

CASES = cases("""
t.sort(x)                         # ordered
x.sort()                          # real
x.sort(0)                         # f i64
x.sort(1)                         # f i64
x.sort(-1, descending=True)       # ordered
x.sort(dim=0, descending=True)    # f i64
x.sort(descending=True)           # f i64
x.sort(1, True)                   # f
t.sort(x, 1)                      # f
t.sort(x, dim=0)                  # f
t.sort(x, descending=True)        # f
t.sort(v)                         # f i64
t.sort(v, 0, True)                # f
t.sort(x).values                  # f
t.sort(x)[1]                      # f
x.sort(1).indices                 # f
x.sort(1)[0]                      # f
t.sort(tiesv, stable=True)        # real
t.sort(tiesv, stable=True, descending=True)    # f i64
t.sort(special)                   # f
t.sort(special, descending=True).values        # f
s.sort()                          # f
e.sort()                          # f
e0.sort()                         # f
nc.sort(0)                        # f
wide.sort(1)                      # real
wide.sort(1, descending=True)     # f
x.sort(2)                         # raises
x.sort()                          # c64 raises
t.sort(3)                         # raises
x.argsort()                       # f i64
t.argsort(x, 1)                   # f i64
t.argsort(x, dim=0, descending=True)   # f i64
t.argsort(v)                      # f
t.argsort(tiesv, stable=True)     # f i64
x.argsort(dim=-1, descending=True)     # f
t.msort(x)                        # f
x.msort()                         # f
t.topk(x, 2)                      # real
x.topk(2)                         # f i64
x.topk(1, 1)                      # f i64
x.topk(2, dim=0)                  # f i64
x.topk(3, -1, largest=False)      # f i64
x.topk(2, dim=1, largest=True, sorted=True)    # f
t.topk(v, 2)                      # f i64
t.topk(v, k=2)                    # f
t.topk(x, 2, 0, False)            # f
x.topk(2)[1]                      # f
x.topk(2).values                  # f
x.topk(4)                         # f
x.topk(0)                         # f
line.topk(5)                      # f i64
special.topk(3)                   # f
x.topk(5)                         # raises
x.topk(-1)                        # raises
x.topk(1, 2)                      # raises
s.topk(1)                         # f
x.topk(1.5)                       # raises
x.kthvalue(2)                     # f i64
t.kthvalue(x, 1, dim=0)           # f
x.kthvalue(9)                     # raises
t.searchsorted(inc, x)            # f
t.searchsorted(inc, x, right=True)     # f
t.searchsorted(inc, 0.5)          # f
t.bucketize(x, inc)               # f
t.isin(cls, idx)
t.isin(x, y)                      # i64
x.sort(1)[0].sum(0)               # f
x.sort(1)[0] * v                  # f
x[x[:, 0].sort()[1]]              # f
x[t.argsort(x[:, 1])]             # f
x.topk(2, 1)[0].mean()            # f
t.unique(cls2)
t.unique(cls2, dim=0)
t.flip(t.sort(v)[0], [0])         # f
""")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)


@pytest.mark.parametrize("case", second_order(CASES), ids=str)
def test_second_order(case):
    check_second_order(case)
