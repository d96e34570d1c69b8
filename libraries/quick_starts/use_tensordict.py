"""A batch of named tensors through modules that read and write its keys, and an ensemble."""

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import nn

torch.manual_seed(0)
data = TensorDict({"a": torch.randn(3, 4), "b": {"c": torch.ones(3, 2)}}, batch_size=[3])
print(*torch.stack([data, data]).shape, data[0]["a"].sum().item(), data["b", "c"].sum().item())
net = TensorDictSequential(
    TensorDictModule(nn.Linear(4, 5), ["a"], ["hidden"]),
    TensorDictModule(nn.ReLU(), ["hidden"], ["out"]),
)
loss = net(data)["out"].square().mean()
loss.backward()
print(loss.item(), *(p.grad.norm().item() for p in net.parameters()))
model = nn.Linear(4, 2)
several = torch.stack([TensorDict.from_module(nn.Linear(4, 2)).data for _ in range(3)])


def call(params, x):
    with params.to_module(model):
        return model(x)


print(*torch.vmap(call, (0, None))(several, torch.ones(4)).flatten().tolist())
data.memmap_("saved")
print(TensorDict.load_memmap("saved")["a"].sum().item(), (data + 1)["a"].sum().item())
