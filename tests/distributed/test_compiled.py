"""torch.compile of a model in DistributedDataParallel: the bits of the same training without."""

from _jobs import run

PROGRAM = """
import warnings
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

warnings.simplefilter("ignore")
dist.init_process_group()
rank = dist.get_rank()


def trained(wrap):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 2))
    model = wrap(net)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    torch.manual_seed(rank + 1)
    for _ in range(10):
        opt.zero_grad()
        model(torch.randn(6, 4)).square().mean().backward()
        opt.step()
    return torch.cat([p.detach().flatten() for p in net.parameters()]), model


plain, _ = trained(DDP)
inside, model = trained(lambda net: DDP(torch.compile(net)))
around, _ = trained(lambda net: torch.compile(DDP(net)))
same = torch.equal(plain, inside), torch.equal(plain, around)
print(rank, *same, "captured run 1" in model.module.explain())
dist.destroy_process_group()
"""


def test_parameters_after_ten_steps(tmp_path):
    done = run(tmp_path, PROGRAM, "run", "--nproc", "2")
    assert not done.code, done.err
    assert sorted(done.out.split("\n")[:-1]) == ["0 True True True", "1 True True True"]
