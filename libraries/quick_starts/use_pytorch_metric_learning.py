"""Losses on pairs and triplets of embeddings, a miner, and their gradients."""

import torch
from pytorch_metric_learning import distances, losses, miners

torch.manual_seed(0)
embeddings = torch.randn(12, 8, requires_grad=True)
labels = torch.arange(12) % 4
for loss_function in (
    losses.TripletMarginLoss(),
    losses.ContrastiveLoss(),
    losses.NTXentLoss(),
    losses.SupConLoss(),
    losses.MultiSimilarityLoss(),
    losses.CircleLoss(),
    losses.ArcFaceLoss(4, 8),
    losses.ProxyAnchorLoss(4, 8),
):
    embeddings.grad = None
    loss = loss_function(embeddings, labels)
    loss.backward()
    print(loss.item(), embeddings.grad.abs().sum().item())
triplets = miners.TripletMarginMiner()(embeddings, labels)
cosine = losses.TripletMarginLoss(distance=distances.CosineSimilarity())
print(len(triplets[0]), cosine(embeddings, labels, triplets).item())
