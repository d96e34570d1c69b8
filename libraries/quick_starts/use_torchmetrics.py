"""Metrics over batches, as modules and as functions."""

import torch
import torchmetrics

torch.manual_seed(0)
metric = torchmetrics.classification.Accuracy(task="multiclass", num_classes=5)
auroc = torchmetrics.AUROC(task="multiclass", num_classes=5)
f1 = torchmetrics.F1Score(task="multiclass", num_classes=5, average="macro")
for _ in range(10):
    preds = torch.randn(10, 5).softmax(dim=-1)
    target = torch.randint(5, (10,))
    for one in (metric, auroc, f1):
        one(preds, target)
print(metric.compute().item(), auroc.compute().item(), f1.compute().item())
error = torchmetrics.functional.mean_squared_error(torch.arange(4.0), torch.ones(4))
matrix = torchmetrics.functional.confusion_matrix(preds, target, task="multiclass", num_classes=5)
print(error.item(), *matrix.flatten().tolist())
