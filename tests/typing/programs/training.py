"""A training run; each line marked `wrong` is a mistake."""

from typing import Any, assert_type

import rushlight as torch
import rushlight.nn as nn
import rushlight.nn.functional as F
from rushlight import Tensor, optim
from rushlight.optim.lr_scheduler import CosineAnnealingLR, StepLR
from rushlight.utils.data import DataLoader, Dataset, Subset, TensorDataset, random_split


class Squares(Dataset[tuple[Tensor, int]]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return torch.tensor([float(index)]), index * index


class Net(nn.Module):
    scale: Tensor

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.first = nn.Linear(4, width)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(width, 2))
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.rest(self.first(x))
        return F.log_softmax(y * self.scale, dim=-1)


squares = Squares()
loader = DataLoader(squares, batch_size=4, shuffle=True)
assert_type(loader, DataLoader[tuple[Tensor, int]])
assert_type(loader.dataset, Dataset[tuple[Tensor, int]])
some = Subset(squares, [0, 1])
assert_type(some[0], tuple[Tensor, int])
assert_type(DataLoader(some), DataLoader[tuple[Tensor, int]])
train, test = random_split(squares, [6, 2])
assert_type(train, Subset[tuple[Tensor, int]])
rows = TensorDataset(torch.randn(8, 4), torch.randint(0, 2, (8,)))
assert_type(rows[0], tuple[Tensor, ...])

net = Net()
block = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
assert_type(block[0], nn.Module)
assert_type(block[:1], nn.Sequential)
assert_type(net.first.weight, nn.Parameter)
assert_type(net.state_dict(), dict[str, Any])
optimizer = optim.Adam(net.parameters(), lr=1e-3, betas=(0.9, 0.99))
steps = StepLR(optimizer, step_size=2)
cosine = CosineAnnealingLR(optimizer, T_max=10)
assert_type(steps.get_last_lr(), list[float])
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
losses: list[float] = []
for _ in range(2):
    for x, y in DataLoader(rows, batch_size=4):
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    steps.step()
with torch.no_grad():
    best = net(torch.randn(2, 4)).argmax(-1)
torch.save(net.state_dict(), "net.pt")
net.load_state_dict(torch.load("net.pt"))
for name, parameter in net.named_parameters():
    assert_type(name, str)
    assert_type(parameter, nn.Parameter)
net.to("cpu").eval().requires_grad_(False)
gradients = torch.autograd.grad(net(torch.randn(2, 4)).sum(), list(net.parameters()))
assert_type(gradients, tuple[Tensor, ...])

nn.Linear("4", 8)  # wrong
nn.Linear(4)  # wrong
nn.Conv2d(3, 8)  # wrong
nn.LayerNorn(4)  # wrong
nn.Linear(4, 8, biass=False)  # wrong
nn.Dropout(p="half")  # wrong
optim.Adamm(net.parameters())  # wrong
optim.SGD(net.parameters(), lr="fast")  # wrong
optim.Adam(net.parameters(), beta=(0.9, 0.99))  # wrong
optim.AdamW()  # wrong
StepLR(optimizer)  # wrong
StepLR(net, step_size=2)  # wrong
optimizer.stepp()  # wrong
optimizer.param_groups["lr"]  # wrong
DataLoader(squares, batch_size="4")  # wrong
DataLoader(squares, shufle=True)  # wrong
loader.datasets  # wrong
some[0].sum()  # wrong
Net(width="8")  # wrong
F.cross_entropy(torch.randn(2, 3), [0, 1])  # wrong
F.relu(torch.randn(2), "inplace", 3)  # wrong
F.mse_loss(torch.randn(2))  # wrong
net.state_dict().foo  # wrong
net.load_state_dict("net.pt")  # wrong
losses.append("loss")  # wrong
net.first.weight.grad.zero_()  # wrong
torch.autograd.grad(torch.randn(1), 3)  # wrong
torch.save()  # wrong
nn.utils.clip_grad_norm_(net.parameters())  # wrong
nn.init.kaiming_uniforn_(net.first.weight)  # wrong
