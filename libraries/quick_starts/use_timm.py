"""Image models by name, their features, and a few steps of timm's optimizers and losses."""

import timm
import torch
from timm.loss import LabelSmoothingCrossEntropy
from timm.optim import create_optimizer_v2
from timm.utils import accuracy

torch.manual_seed(0)
for name in ("resnet18", "convnext_atto", "mobilenetv3_small_050", "vit_tiny_patch16_224"):
    size = {"img_size": 64} if name.startswith("vit") else {}
    model = timm.create_model(name, num_classes=5, **size).eval()
    print(*model(torch.randn(1, 3, 64, 64))[0].tolist())
features = timm.create_model("resnet18", features_only=True)(torch.rand(1, 3, 64, 64))
print(*(n for map in features for n in map.shape))
x, y = torch.randn(8, 6), torch.randint(5, (8,))
for name in ("adamw", "lamb", "lion", "adafactor", "rmsproptf", "adopt"):
    torch.manual_seed(1)
    model = torch.nn.Linear(6, 5)
    optimizer = create_optimizer_v2(model, opt=name, lr=0.01, weight_decay=0.05)
    for _ in range(3):
        loss = LabelSmoothingCrossEntropy()(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item(), *(part.item() for part in accuracy(model(x), y, topk=(1, 3))))
