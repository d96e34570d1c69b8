"""A graph convolution network on a random graph."""

import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, global_mean_pool

torch.manual_seed(0)
edges = torch.randint(0, 40, (2, 150))
data = Data(x=torch.randn(40, 8), edge_index=edges, y=torch.randint(0, 3, (40,)))


class GCN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GCNConv(8, 16)
        self.conv2 = GATConv(16, 3, heads=2, concat=False)

    def forward(self, data):
        x = F.relu(self.conv1(data.x, data.edge_index))
        return F.log_softmax(self.conv2(x, data.edge_index), dim=1)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for _ in range(5):
    optimizer.zero_grad()
    loss = F.nll_loss(model(data), data.y)
    loss.backward()
    optimizer.step()
    print(loss.item())
for batch in DataLoader([data, data], batch_size=2):
    print(global_mean_pool(model(batch), batch.batch).sum().item())
